//! `checkstone mcp`: the server that agents ask and record by.

use std::process::ExitCode;

use crate::error::CommandError;
use crate::printer::Printer;
use crate::repository_argument::RepositoryArgument;

/// Serve agents over the Model Context Protocol, on stdin and stdout
///
/// A client starts this and ends it; docs/mcp.md says how each is told of it. Agents without hooks can ask what would be asked for
/// now, what is unproven and where work goes on, each by a tool that answers as the command does with `--json`. Tools that
/// write are offered only with `write = true` in `[mcp]` of your own `config.toml`, and a snapshot is restored only after you
/// said yes in the client. The project is that of `--repo`, else the client's first root, else the current folder.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone mcp
  checkstone mcp --repo ~/work/parser")]
pub(crate) struct McpArguments {
    #[command(flatten)]
    repository: RepositoryArgument,
}

#[cfg(feature = "mcp")]
pub(crate) fn run(arguments: &McpArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let named = arguments.repository.is_given();
    crate::mcp::serve(arguments.repository.folder()?, named, printer)
}

#[cfg(not(feature = "mcp"))]
pub(crate) fn run(_: &McpArguments, _: &Printer) -> Result<ExitCode, CommandError> {
    Err(CommandError::environment("this build of checkstone has no MCP server")
        .hint("install one that has: `cargo install --locked --path crates/checkstone --features full`"))
}
