//! `checkstone serve`: the page that shows every session while it works.

use std::process::ExitCode;

use crate::error::CommandError;
use crate::printer::Printer;

/// Show every session, run and workflow in your browser, live
///
/// Serves a page on 127.0.0.1 alone, and prints its address with the token that opens it; the token is kept in a file that only
/// you can read. The page shows what each agent does, who waits for you and who was held, and what is unproven. Nothing
/// is loaded from elsewhere, and nothing leaves this machine. Ctrl-C ends it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone serve
  checkstone serve --open
  checkstone serve --port 8080
  ssh -L 4690:127.0.0.1:4690 workstation checkstone serve")]
pub(crate) struct ServeArguments {
    /// The port to listen on; 0 for any that is free
    #[arg(long, value_name = "NUMBER", default_value_t = 4690)]
    port: u16,
    /// Open the page in your browser
    #[arg(long)]
    open: bool,
}

#[cfg(feature = "serve")]
pub(crate) fn run(arguments: &ServeArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    crate::serve::serve(arguments.port, arguments.open, printer)
}

#[cfg(not(feature = "serve"))]
pub(crate) fn run(_: &ServeArguments, _: &Printer) -> Result<ExitCode, CommandError> {
    Err(CommandError::environment("this build of checkstone has no page to serve")
        .hint("install one that has: `cargo install --locked --path crates/checkstone --features full`"))
}
