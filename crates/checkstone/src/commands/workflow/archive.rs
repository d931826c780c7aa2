//! `checkstone workflow archive`

use std::process::ExitCode;

use jiff::Timestamp;
use transcript::visible;
use workflow::Name;
use workflow::output::ArchiveOutput;

use super::WorkflowCommonArguments;
use crate::error::CommandError;
use crate::printer::Printer;

/// Put complete workflows into the archive, each with all its saves in one compressed file
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone workflow archive
  checkstone workflow archive implement --feature parser")]
pub(super) struct ArchiveArguments {
    /// The command of one workflow; by default all that are complete
    command: Option<String>,
    /// The feature that it works on
    #[arg(long, value_name = "FEATURE", requires = "command")]
    feature: Option<String>,
    #[command(flatten)]
    common: WorkflowCommonArguments,
}

pub(super) fn run(arguments: &ArchiveArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let state = arguments.common.state()?;
    let now = Timestamp::now();
    let archived = match &arguments.command {
        None => state.archive_complete(now),
        Some(command) => {
            let name = Name::new(command, arguments.feature.as_deref())?;
            state.archive(&name, now).map(|archived| vec![archived])
        }
    };
    let output = ArchiveOutput { archived: archived? };
    printer.answer(arguments.common.json, &output, || match output.archived.is_empty() {
        true => "No workflow here is complete\n".to_owned(),
        false => output.archived.iter().map(|one| format!("Archived as {}\n", visible(&one.id))).collect(),
    })
}
