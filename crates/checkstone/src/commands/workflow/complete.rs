//! `checkstone workflow complete`

use std::process::ExitCode;

use jiff::Timestamp;
use text::counted;
use transcript::visible;

use super::{NameArguments, WorkflowCommonArguments, ended, output, warn};
use crate::error::CommandError;
use crate::printer::{GOOD, Printer};

/// Mark a workflow as complete; phases that were still to come are dropped
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
    if arguments.common.json {
        let output = output(&name, Some(&saved.path), &saved.workflow, &saved.warnings);
        printer.json(&output)?;
    } else {
        let dropped = saved.before.as_ref().map_or(0, |before| before.file().state.pending_phases.len());
        let dropped = match dropped {
            0 => String::new(),
            number => format!(", without {} that had not ended", counted(number, "phase")),
        };
        printer.text(&format!("{} is {GOOD}complete{GOOD:#}{dropped}\n", visible(&name.to_string())));
    }
    ended::tell_of_workflow(&state, &name, &saved.workflow, printer);
    Ok(ExitCode::SUCCESS)
}
