//! `checkstone demo`: the whole story, in a scratch repository.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::demo;
use crate::error::CommandError;
use crate::printer::Printer;

/// Play the whole story in a scratch repository: a stop, a full context, a workflow, a run that hangs
///
/// Plays an agent's work at each of the four boundaries, with real git, processes and files, in a folder and a home
/// directory of its own. It needs git and the usual Unix tools (`sh`, `awk`, `seq`), no account and no network, takes
/// a few seconds, and checks itself: exit code 5 if anything is not as expected. The folder stays, so that you can look around in it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone demo
  checkstone demo --serve
  checkstone demo --folder /tmp/checkstone-demo")]
pub(crate) struct DemoArguments {
    /// The folder to play in, which must not exist yet; by default a new temporary one
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Show it live in your browser, on the page of `checkstone serve`, which stays until Ctrl-C
    #[arg(long)]
    serve: bool,
}

pub(crate) fn run(arguments: &DemoArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    demo::play(folder(arguments.folder.as_ref())?, arguments.serve, printer)?;
    Ok(ExitCode::SUCCESS)
}

fn folder(given: Option<&PathBuf>) -> Result<PathBuf, CommandError> {
    let Some(given) = given else {
        let made = tempfile::Builder::new().prefix("checkstone-demo-").tempdir()?;
        return Ok(made.keep());
    };
    if given.exists() {
        return Err(CommandError::refused(format!("`{}` already exists", given.display()))
            .hint("name a folder that does not exist yet"));
    }
    fs_err::create_dir(given).map_err(|error| {
        CommandError::from(error).hint("name a folder that does not exist yet, inside one that does")
    })?;
    given.canonicalize().map_err(CommandError::from)
}
