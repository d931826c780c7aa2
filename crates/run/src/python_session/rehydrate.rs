//! Brings the run's last saved checkpoint back into a fresh kernel, and verifies that it is there.

use checkpoint::Depth;
use checkpoint::layout::Layout;
use checkpoint::manifest::{Manifest, Status};
use kernel::CellEnding;
use kernel::notebook::{self, NewCell, rehydration_cell_id};
use kernel::python_environment;
use kernel::rehydration::{self, Checkpoint, Pickles, SavedVariables};
use serde_json::{Value, json};
use supervise::{Controls, Limits};
use text::error_chain;

use super::{SHORT, SessionError, SharedSession, described, spool};
use crate::attempt::in_words;
use crate::executor::CellJob;

/// Python code that says which of the names in `NAMES` the session does not have.
const MISSING: &str = "
import json
RESULT = [name for name in json.loads(NAMES) if name not in get_ipython().user_ns]
";

impl SharedSession {
    /// Nothing where the run has saved no checkpoint and no cell of it was run before.
    pub(super) fn rehydrate(
        &mut self,
        cell_job: &CellJob<'_>,
        last_saved: LastSaved,
    ) -> Result<(), SessionError> {
        let (layout, warn) = (&cell_job.job.layout, cell_job.warn);
        last_saved.passed_over.into_iter().for_each(warn);
        let Some(manifest) = last_saved.manifest else {
            tell_where_it_goes_on(layout, warn);
            return Ok(());
        };
        let drift: Vec<String> = self
            .environment
            .iter()
            .flat_map(|now| python_environment::drift(&manifest.python_env, now))
            .collect();
        if !drift.is_empty() {
            let id = &manifest.checkpoint_id;
            warn(format!("the environment has changed since the checkpoint `{id}`: {}", drift.join("; ")));
        }
        let variables = match SavedVariables::index_of(&manifest) {
            Some(index) => Some(SavedVariables::read(layout.root(), index)?),
            None => None,
        };
        let pickles = if self.is_trusted { Pickles::Load } else { Pickles::for_trust(manifest.trust()) };
        let cell = rehydration::cell(&Checkpoint::of(&manifest, variables.as_ref()), pickles);
        let (unconfirmed, others): (Vec<_>, Vec<_>) =
            cell.withheld.iter().partition(|withheld| withheld.needs_trust());
        for withheld in others {
            warn(format!("{} is not loaded: {}", withheld.what, withheld.why));
        }
        if !unconfirmed.is_empty() {
            let what: Vec<&str> = unconfirmed.iter().map(|withheld| withheld.what.as_str()).collect();
            warn(format!(
                "not loaded, since the checkpoint `{}` is not this machine's own and loading can run code: {}; \
                 where you trust it, `checkstone resume {} --trust` loads all of it",
                manifest.checkpoint_id,
                what.join(", "),
                layout.run()
            ));
        }
        for unsaved in variables.iter().flat_map(|variables| &variables.unsaved) {
            warn(format!("the variable `{}` is not back: {}", unsaved.name, unsaved.why));
        }
        self.run_rehydration(cell_job, &manifest, &cell)
    }

    fn run_rehydration(
        &mut self,
        cell_job: &CellJob<'_>,
        manifest: &Manifest,
        cell: &rehydration::RehydrationCell,
    ) -> Result<(), SessionError> {
        let CellJob { job, stage, warn, .. } = *cell_job;
        let layout = &job.layout;
        let checkpoint = || manifest.checkpoint_id.clone();
        let failed = |why: String| SessionError::Rehydrate { checkpoint: checkpoint(), why };
        let kernel = self.kernel.as_mut().ok_or(SessionError::NoKernel)?;
        let limits = Limits { max_duration: Some(stage.max_duration), ..Limits::default() };
        let spool = spool(layout, &layout.kernel().join("rehydration.log"));
        let controls: &Controls = &job.controls;
        let executed = kernel
            .execute(&cell.text(), &spool, &limits, controls, &mut |_| {})
            .map_err(|error| failed(error_chain(&error)))?;
        let shown = NewCell {
            id: rehydration_cell_id(layout.run(), &manifest.checkpoint_id, &stage.id, job.attempt),
            source: cell.text(),
            ..NewCell::default()
        };
        self.note(shown, &executed, warn);
        if executed.ending != CellEnding::Finished {
            let (how, _, why) = described(&executed.ending, executed.elapsed);
            return Err(failed(why.unwrap_or_else(|| in_words(how, executed.elapsed))));
        }
        let marker = rehydration::marker(&manifest.checkpoint_id);
        let texts = executed.outputs.iter().filter_map(|output| output.get("text").and_then(Value::as_str));
        if !texts.flat_map(str::lines).any(|line| line == marker) {
            return Err(failed(format!("it did not print `{marker}`")));
        }
        let names: Vec<&str> = cell.variables.iter().map(|variable| variable.name.as_str()).collect();
        let kernel = self.kernel.as_mut().ok_or(SessionError::NoKernel)?;
        let missing = kernel
            .run_apart(MISSING, &[("NAMES", &json!(names).to_string())], SHORT)
            .map_err(|error| failed(error_chain(&error)))?;
        let missing: Vec<&str> = missing.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if missing.is_empty() {
            Ok(())
        } else {
            Err(failed(format!("`{}` is not there", missing.join("`, `"))))
        }
    }
}

fn tell_where_it_goes_on(layout: &Layout, warn: &dyn Fn(String)) {
    // A notebook that cannot be read is told when a cell is put into it.
    let last = notebook::last_executed(&layout.notebook()).unwrap_or_default();
    if let Some(last) = last.filter(|last| last.run.as_deref() == Some(layout.run())) {
        warn(format!(
            "there is no valid checkpoint to rehydrate: the session goes on after cell {} of `{}`, with none of its variables",
            last.place + 1,
            layout.relative(&layout.notebook())
        ));
    }
}

/// The newest valid checkpoint of a stage that completed; its artifacts are in their places then.
pub(super) struct LastSaved {
    manifest: Option<Manifest>,
    /// What is wrong with newer ones.
    passed_over: Vec<String>,
}

impl LastSaved {
    pub(super) fn find(layout: &Layout) -> Result<Self, SessionError> {
        let listing = checkpoint::list(layout.root(), Some(layout.title()), Some(layout.run()))?;
        let mut passed_over = Vec::new();
        for listed in listing.checkpoints.iter().filter(|listed| listed.status == Status::Saved) {
            let checked = checkpoint::validate(layout, &listed.checkpoint_id, Depth::Quick)?;
            let (usable, issues) = (checked.is_usable(), checked.issues);
            match checked.manifest {
                Some(sealed) if usable => {
                    checkpoint::restore(layout, &checked.to_restore)?;
                    return Ok(Self { manifest: Some(sealed.manifest), passed_over });
                }
                _ => {
                    let issues: Vec<String> = issues.iter().map(ToString::to_string).collect();
                    passed_over.push(format!(
                        "the checkpoint `{}` is not rehydrated: {}",
                        listed.checkpoint_id,
                        issues.join("; ")
                    ));
                }
            }
        }
        Ok(Self { manifest: None, passed_over })
    }
}
