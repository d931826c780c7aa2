//! `checkstone workflow complete`

use std::process::ExitCode;

use jiff::Timestamp;
use text::counted;
use transcript::visible;

use super::{NameArguments, WorkflowCommonArguments, output, outside::Outside, warn};
use crate::error::CommandError;
use crate::printer::{GOOD, Printer};

/// Mark a workflow as complete; its remaining phases are dropped
///
/// With Linear switched on (docs/integrations.md), its issue is completed too, unless a workflow of the same feature that
/// began later is unfinished.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone workflow complete implement --feature parser")]
pub(super) struct CompleteArguments {
    #[command(flatten)]
    name: NameArguments,
    #[command(flatten)]
    common: WorkflowCommonArguments,
}

pub(super) fn run(arguments: &CompleteArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let name = arguments.name.name()?;
    let state = arguments.common.state()?;
    let saved = state.complete(&name, Timestamp::now())?;
    warn(&saved.warnings, printer);
    let output = output(&name, Some(&saved.path), &saved.workflow, &saved.warnings);
    printer.answer(arguments.common.json, &output, || {
        let dropped = match saved.before.as_ref().map_or(0, |before| before.file().state.pending_phases.len())
        {
            0 => String::new(),
            number => format!(", without {} that had not ended", counted(number, "phase")),
        };
        format!("{} is {GOOD}complete{GOOD:#}{dropped}\n", visible(&name.to_string()))
    })?;
    Outside::of(&state, &name, printer).tell_of_end(&saved.workflow);
    Ok(ExitCode::SUCCESS)
}
