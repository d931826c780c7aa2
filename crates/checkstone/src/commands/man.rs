//! `checkstone man`: the manual pages, for those who make packages.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::error::CommandError;
use crate::printer::Printer;

/// Write the manual pages, one per command, into a folder
#[derive(Debug, clap::Args)]
#[command(
    hide = true,
    after_help = "Examples:
  checkstone man /usr/local/share/man/man1"
)]
pub(crate) struct ManArguments {
    /// An existing folder
    folder: PathBuf,
}

pub(crate) fn run(
    arguments: &ManArguments,
    whole: clap::Command,
    printer: &Printer,
) -> Result<ExitCode, CommandError> {
    let folder = &arguments.folder;
    clap_mangen::generate_to(whole, folder).map_err(|error| {
        CommandError::from(error).context(format!("cannot write the manual pages to `{}`", folder.display()))
    })?;
    printer.progress(&format!("written: `{}`", folder.join("checkstone.1").display()));
    Ok(ExitCode::SUCCESS)
}
