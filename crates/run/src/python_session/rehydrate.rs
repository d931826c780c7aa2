//! Brings the run's last saved checkpoint back into a fresh kernel, and verifies that it is there.

use std::collections::HashMap;
use std::path::Path;

use checkpoint::Depth;
use checkpoint::layout::Layout;
use checkpoint::manifest::{Artifact, Manifest, Status};
use kernel::CellEnding;
use kernel::notebook::{NewCell, rehydration_cell_id};
use kernel::python_environment;
use kernel::rehydration::{self, Checkpoint, Pickles, SavedVariables};
use serde_json::{Value, json};
use supervise::{Controls, Limits};
use text::error_chain;

use super::{SHORT, SessionError, SharedSession, described, spool};
use crate::attempt::{EarlierArtifact, SessionBefore, in_words};
use crate::planted_fault::{Oversight, overlooks};
use crate::stage_work::{CellJob, SessionSource};

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
        if let Some(before) = &cell_job.job.session
            && before.is_kept
            && !last_saved.has_session
            && cell_job.job.plan.python.saves_variables
        {
            return Err(SessionError::Lost { stage: before.stage_id.clone() });
        }
        last_saved.passed_over.into_iter().for_each(warn);
        let Some(mut manifest) = last_saved.manifest else {
            if let Some(cell) = super::last_executed_cell(layout) {
                warn(format!(
                    "there is no valid checkpoint to rehydrate: the session continues after {cell}, with none of its variables"
                ));
            }
            return Ok(());
        };
        self.counted_before = self.counted_before.max(manifest.execution_count);
        // What has been made anew since is not what it was then.
        let earlier = cell_job.job.earlier.iter();
        let earlier: HashMap<&Path, &str> =
            earlier.map(|earlier| (earlier.path.as_path(), earlier.sha256.as_str())).collect();
        let is_current = |artifact: &Artifact| {
            earlier.get(layout.root().join(&artifact.relative_path).as_path())
                == Some(&artifact.sha256.as_str())
        };
        manifest.artifacts.retain(is_current);
        let to_restore: Vec<Artifact> = last_saved.to_restore.into_iter().filter(is_current).collect();
        checkpoint::restore(layout, &to_restore)?;
        let before = cell_job.job.session.as_ref();
        let index = before.and_then(|before| SavedVariables::index_among(&manifest, &before.stage_id));
        let variables = index.map(|index| SavedVariables::read(layout.root(), index)).transpose()?;
        if let (Some(before), None) = (before, &variables) {
            warn(format!(
                "the session begins with the artifacts alone: the variables that `{}` left are not saved{}",
                before.stage_id,
                if cell_job.job.plan.python.saves_variables {
                    ""
                } else {
                    "; `variables = true` in the plan saves them"
                }
            ));
        }
        let is_nothing_to_load = {
            let checkpoint = Checkpoint::of(&manifest, None);
            checkpoint.artifacts.is_empty() && checkpoint.imports.is_empty()
        };
        if is_nothing_to_load {
            return Ok(());
        }
        let drift: Vec<String> = self
            .environment
            .iter()
            .flat_map(|now| python_environment::drift(&manifest.python_env, now))
            .collect();
        if !drift.is_empty() {
            let id = &manifest.checkpoint_id;
            warn(format!("the environment has changed since the checkpoint `{id}`: {}", drift.join("; ")));
        }
        // The plan may have another seed by now, and what runs from here on is filed under that one.
        manifest.python_env.random_seeds = self.environment.as_ref().and_then(|now| now.random_seeds.clone());
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
                 if you trust it, `checkstone resume {} --trust` loads all of it",
                manifest.checkpoint_id,
                what.join(", "),
                layout.run()
            ));
        }
        for unsaved in variables.iter().flat_map(|variables| &variables.unsaved) {
            warn(format!("the variable `{}` was not restored: {}", unsaved.name, unsaved.why));
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
        let (checkpoint, made_by) = (&manifest.checkpoint_id, &manifest.stage_id);
        let failed =
            |why| SessionError::Rehydrate { checkpoint: checkpoint.clone(), stage: made_by.clone(), why };
        let kernel = self.kernel.as_mut().ok_or(SessionError::NoKernel)?;
        let limits = Limits { max_duration: Some(stage.max_duration), ..Limits::default() };
        let spool = spool(layout, &job.kernel.join("rehydration.log"));
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

/// The newest valid checkpoint of a stage that completed; its artifacts are in their places then.
pub(super) struct LastSaved {
    manifest: Option<Manifest>,
    /// What is not in its place, and can be brought back.
    to_restore: Vec<Artifact>,
    /// Whether it holds what the stage before left in the session.
    has_session: bool,
    /// What is wrong with newer ones.
    passed_over: Vec<String>,
}

impl LastSaved {
    /// The newest that holds the variables which `before` left; where none does, the newest.
    pub(super) fn find(layout: &Layout, before: Option<&SessionBefore>) -> Result<Self, SessionError> {
        let listing = checkpoint::list(layout.root(), Some(layout.title()), Some(layout.run()))?;
        let mut last =
            Self { manifest: None, to_restore: Vec::new(), has_session: false, passed_over: Vec::new() };
        for listed in listing.checkpoints.iter().filter(|listed| listed.status == Status::Saved) {
            let checked = checkpoint::validate(layout, &listed.checkpoint_id, Depth::Quick)?;
            let (usable, issues) = (checked.is_usable(), checked.issues);
            match checked.manifest {
                Some(sealed) if usable => {
                    let manifest = sealed.manifest;
                    let has_session = before.is_none_or(|before| has_variables(layout, &manifest, before));
                    if has_session || last.manifest.is_none() {
                        (last.manifest, last.to_restore) = (Some(manifest), checked.to_restore);
                    }
                    if has_session {
                        last.has_session = true;
                        return Ok(last);
                    }
                }
                _ => {
                    let issues: Vec<String> = issues.iter().map(ToString::to_string).collect();
                    last.passed_over.push(format!(
                        "the checkpoint `{}` is not rehydrated: {}",
                        listed.checkpoint_id,
                        issues.join("; ")
                    ));
                }
            }
        }
        Ok(last)
    }

    pub(super) fn source(&self) -> SessionSource {
        match &self.manifest {
            None => SessionSource::NoCheckpoint,
            Some(_) if self.has_session => SessionSource::Checkpoint,
            Some(_) => SessionSource::OtherCheckpoint,
        }
    }
}

/// Variables are in several files, and all of them must be those that the stage left.
fn has_variables(layout: &Layout, manifest: &Manifest, before: &SessionBefore) -> bool {
    let is_there = |wanted: &EarlierArtifact| {
        let path = layout.relative(&wanted.path);
        let same = |held: &Artifact| held.relative_path == path && held.sha256 == wanted.sha256;
        manifest.artifacts.iter().any(same)
    };
    let is_whole = !before.variables.is_empty() && before.variables.iter().all(is_there);
    is_whole || overlooks(Oversight::CheckpointOfSession)
}
