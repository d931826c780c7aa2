//! `checkstone workflow gate`

use std::path::Path;
use std::process::ExitCode;

use gate::Rule;
use jiff::Timestamp;
use journal::Of;
use stop::Record;
use text::wrap;
use transcript::visible;
use workflow::integrations::preview::Preview;
use workflow::output::GateOutput;
use workflow::{Name, ShipFacts, StateDirectory, Uncommitted, WorkflowFile, ship_gate};

use super::{NameArguments, WorkflowCommonArguments, warn};
use crate::environment;
use crate::error::{CommandError, Warning};
use crate::integrations::Integrations;
use crate::journal_access;
use crate::printer::{BAD, GOOD, Printer};

/// Check whether this may be shipped: if not, list every blocker and exit 1
///
/// Blockers are phases that failed or are missing, here and in other workflows of the same feature; commits since the
/// last phase; uncommitted changes; errors at the last stop; and, if there is no other blocker, a preview deployment that is
/// not ready (docs/integrations.md). The last phase, which is the shipping itself, need not be complete. The answer is kept in the workflow's file.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone workflow gate ship --feature parser && git push
  checkstone workflow gate ship --json | jq -r '.blockers[]'")]
pub(super) struct GateArguments {
    #[command(flatten)]
    name: NameArguments,
    #[command(flatten)]
    common: WorkflowCommonArguments,
}

pub(super) fn run(arguments: &GateArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let name = arguments.name.name()?;
    let state = arguments.common.state()?;
    let loaded = state.load(&name)?;
    let ship = loaded.workflow.ok_or_else(|| super::not_found(&state, &name, &loaded.warnings))?;
    // That HEAD moved is one of the blockers.
    let warnings: Vec<_> = loaded.warnings.into_iter().filter(|warning| !warning.is_stale()).collect();
    warn(&warnings, printer);
    let (listed, _) = state.list()?;
    let related: Vec<(Name, &WorkflowFile)> = listed
        .iter()
        .map(|one| (one.name(), one.workflow.file()))
        .filter(|(other, _)| *other != name && other.feature() == name.feature())
        .collect();
    let unresolved =
        state.repository().map_or_else(Vec::new, |repository| unresolved(&repository.root, printer));
    let facts = |preview| ShipFacts {
        head: state.head(),
        uncommitted: uncommitted(&state),
        unresolved: unresolved.clone(),
        preview,
    };
    let mut gate = ship_gate(ship.file(), &related, &facts(None));
    // Nobody waits for the preview of what may not be shipped anyway. What was true before the waiting is asked again.
    if gate.ship_allowed
        && let Some(preview) = preview(&state, printer)
    {
        gate = ship_gate(ship.file(), &related, &facts(Some(preview)));
    }
    state.record_gate(&name, &gate, Timestamp::now())?;
    let mut warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    if state.repository().is_none() {
        let unknown = "there is no git repository here: commits and uncommitted changes were not looked at";
        printer.warning(Warning::new(unknown));
        warnings.push(unknown.to_owned());
    }
    let output = GateOutput { name, gate, warnings };
    let (name, gate) = (visible(&output.name.to_string()), &output.gate);
    printer.answer(arguments.common.json, &output, || {
        let blocker = |blocker: &String| format!("  - {}\n", wrap(&visible(blocker), 4, printer.width()));
        match gate.ship_allowed {
            true => format!("{name} {GOOD}may be shipped{GOOD:#}\n"),
            false => {
                let blockers: String = gate.blockers.iter().map(blocker).collect();
                format!("{name} is {BAD}blocked{BAD:#}:\n{blockers}")
            }
        }
    })?;
    Ok(if gate.ship_allowed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Without a repository there is nothing to commit to.
fn uncommitted(state: &StateDirectory) -> Uncommitted {
    let Some(repository) = state.repository() else { return Uncommitted::default() };
    let changes = changes::start_in(repository.clone(), &environment::git())
        .and_then(|pending| pending.change_set(changes::Request::Worktree));
    match changes {
        Ok(changes) => {
            let path = |file: &change_set::ChangedFile| file.path.as_path().to_string_lossy().into_owned();
            Uncommitted::Files(changes.files.iter().map(path).collect())
        }
        Err(error) => Uncommitted::Unknown(error.to_string()),
    }
}

/// What the stop gate's last verdict in this repository left open. Where the journal cannot be read, nothing is known
/// against it, and the person is told.
fn unresolved(root: &Path, printer: &Printer) -> Vec<String> {
    let read = || -> Result<Option<Record>, CommandError> {
        let state = journal_access::state_directory()?;
        let Some(mut journal) = journal_access::open_existing(&state)? else { return Ok(None) };
        let inputs =
            journal.read(|reader| match reader.recent_verdicts(Of::Repository(root), 1)?.first() {
                Some(verdict) => reader.inputs(verdict.id),
                None => Ok(None),
            })?;
        Ok(inputs.and_then(|inputs| Record::read(&inputs.bytes)))
    };
    match read() {
        Ok(record) => record
            .into_iter()
            .flat_map(|record| record.verdict.observations)
            .filter(|seen| seen.rule == Rule::UnresolvedError)
            .map(|seen| seen.text)
            .collect(),
        Err(problem) => {
            printer.warning(problem);
            Vec::new()
        }
    }
}

/// The preview deployment, where the integrations say that shipping waits for one.
fn preview(state: &StateDirectory, printer: &Printer) -> Option<Preview> {
    let repository = state.repository()?;
    Integrations::read(&repository.root, printer).preview(&state.head()?, printer)
}
