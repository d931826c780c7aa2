//! `checkstone workflow show`

use std::process::ExitCode;

use jiff::Timestamp;
use serde_json::Value;
use workflow::Workflow;

use super::{KeptWorkflow, WorkflowCommonArguments, output, picture, warn};
use crate::error::CommandError;
use crate::printer::Printer;

/// Show a workflow: its phases, their times and their results
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone workflow show implement --feature parser
  checkstone workflow show --archived review-parser.1769682600000 --json")]
pub(super) struct ShowArguments {
    #[command(flatten)]
    kept: KeptWorkflow,
    #[command(flatten)]
    common: WorkflowCommonArguments,
}

pub(super) fn run(arguments: &ShowArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let state = arguments.common.state()?;
    let (name, path, workflow, warnings) = match &arguments.kept.archived {
        Some(id) => {
            let content = state.archive_content(id)?;
            let workflow = Workflow::from_value(Value::Object(content.workflow))?;
            (workflow.name(), None, workflow, Vec::new())
        }
        None => {
            let name = arguments.kept.name()?;
            let loaded = state.load(&name)?;
            let missing = || super::not_found(&state, &name, &loaded.warnings);
            let workflow = loaded.workflow.ok_or_else(missing)?;
            warn(&loaded.warnings, printer);
            (name, Some(loaded.path), workflow, loaded.warnings)
        }
    };
    let output = output(&name, path.as_deref(), &workflow, &warnings);
    printer.answer(arguments.common.json, &output, || {
        picture::of(&name, &workflow, Timestamp::now(), printer.width())
    })
}
