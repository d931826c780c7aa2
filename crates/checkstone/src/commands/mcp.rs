//! `checkstone mcp`: the server that agents ask and record by.

use std::process::ExitCode;

use crate::error::CommandError;
use crate::printer::Printer;
use crate::repository_argument::RepositoryArgument;

/// Serve agents over the Model Context Protocol, on stdin and stdout
///
/// A client starts and stops this; docs/mcp.md shows how to configure each one. Agents without hooks can ask what is required now,
/// what is unproven and where to resume, each with a tool that answers like the command with `--json`. Tools that
/// write are offered only with `write = true` in `[mcp]` of your own `config.toml`, and a snapshot is restored only after you
/// agree in the client. The project is that of `--repo`, else the client's first root, else the current folder.
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
