//! `checkstone workflow show`

use std::process::ExitCode;

use jiff::Timestamp;
use serde_json::Value;
use workflow::{Name, Workflow};

use super::{WorkflowCommonArguments, output, picture, warn};
use crate::error::CommandError;
use crate::printer::Printer;

/// Show a workflow: its phases, when they were under way, and what they came to
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone workflow show implement --feature parser
  checkstone workflow show --archived review-parser.1769682600000 --json")]
pub(super) struct ShowArguments {
    /// The command of the workflow
    #[arg(required_unless_present = "archived")]
    command: Option<String>,
    /// The feature that it works on
    #[arg(long, value_name = "FEATURE")]
    feature: Option<String>,
    /// One in the archive, by the id that `list --archived` shows
    #[arg(long, value_name = "ID", conflicts_with_all = ["command", "feature"])]
    archived: Option<String>,
    #[command(flatten)]
    common: WorkflowCommonArguments,
}

pub(super) fn run(arguments: &ShowArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let state = arguments.common.state()?;
    let (name, path, workflow, warnings) = match (&arguments.archived, &arguments.command) {
        (Some(id), _) => {
            let content = state.archive_content(id)?;
            let workflow = Workflow::from_value(Value::Object(content.workflow))?;
            (workflow.name(), None, workflow, Vec::new())
        }
        (None, command) => {
            let name = Name::new(command.as_deref().unwrap_or_default(), arguments.feature.as_deref())?;
            let loaded = state.load(&name)?;
            let missing = || super::not_found(&state, &name, &loaded.warnings);
            let workflow = loaded.workflow.ok_or_else(missing)?;
            warn(&loaded.warnings, printer);
            (name, Some(loaded.path), workflow, loaded.warnings)
        }
    };
    if arguments.common.json {
        let output = output(&name, path.as_deref(), &workflow, &warnings);
        printer.json(&output)?;
    } else {
        printer.text(&picture::of(&name, &workflow, Timestamp::now(), printer.width()));
    }
    Ok(ExitCode::SUCCESS)
}
