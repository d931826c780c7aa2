//! `checkstone serve`: the page that shows every session while it works.

use std::process::ExitCode;

use crate::error::CommandError;
use crate::printer::Printer;

/// Show every session, run and workflow in your browser, live
///
/// Serves a page on 127.0.0.1 only, and prints its address with the token that opens it; the token is kept in a file that only
/// you can read. The page shows what each agent is doing, which ones wait for you or were held, and what is unproven.
/// Nothing is loaded from elsewhere, and nothing leaves this machine; a team is shown from its database. Ctrl-C
/// stops it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone serve
  checkstone serve --open
  checkstone serve --port 8080
  checkstone serve --database postgres://ada@db.example/lab
  ssh -L 4690:127.0.0.1:4690 workstation checkstone serve")]
pub(crate) struct ServeArguments {
    /// The port to listen on; 0 for any free one
    #[arg(long, value_name = "NUMBER", default_value_t = 4690)]
    port: u16,
    /// Open the page in your browser
    #[arg(long)]
    open: bool,
    /// Also show the team in this PostgreSQL database; by default the one of `[team]` in your `config.toml`
    #[arg(long, value_name = "URL")]
    database: Option<String>,
}

#[cfg(feature = "serve")]
pub(crate) fn run(arguments: &ServeArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    crate::serve::serve(arguments.port, arguments.open, arguments.database.as_deref(), printer)
}

#[cfg(not(feature = "serve"))]
pub(crate) fn run(_: &ServeArguments, _: &Printer) -> Result<ExitCode, CommandError> {
    Err(CommandError::environment("this build of checkstone has no page to serve")
        .hint("install one that has: `cargo install --locked --path crates/checkstone --features full`"))
}
