//! A server of the Model Context Protocol on stdin and stdout. Each tool is one of this program's own commands, started as a
//! bounded child in the project's folder: what it prints with `--json` is the answer, so that an agent and a person are
//! told the same. Only this command and `serve` have an asynchronous runtime.

mod client_input;
mod consent;
mod mcp_server;
mod offered_tool;
mod project;
mod tool_calls;
mod tool_table;

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;

use rmcp::service::{QuitReason, ServerInitializeError};
use tokio::signal::unix::{SignalKind, signal};

use self::client_input::ClientInput;
use self::mcp_server::McpServer;
use crate::error::{CommandError, ErrorKind};
use crate::integrations;
use crate::mcp_settings::McpSettings;
use crate::printer::Printer;

/// Serves one client to its end. `folder` is the project where the client names none, or where it was `named` by the person.
pub(crate) fn serve(folder: PathBuf, named: bool, printer: &Printer) -> Result<ExitCode, CommandError> {
    let settings = McpSettings::read(&integrations::configuration(printer)).map_err(|problems| {
        CommandError::usage(format!("`[mcp]` of your `config.toml` has mistakes: {problems}"))
    })?;
    if std::io::stdin().is_terminal() {
        printer.progress("waiting for an MCP client on stdin; Ctrl-C stops this");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(until_the_end(McpServer::new(folder, named, &settings)));
    // A terminal that is still being read must not keep the process.
    runtime.shutdown_background();
    ended
}

async fn until_the_end(server: McpServer) -> Result<ExitCode, CommandError> {
    let calls = server.calls();
    let (input, output) = rmcp::transport::io::stdio_pipes();
    let input = ClientInput::new(input, calls.clone());
    let conversation = async {
        let running = match rmcp::serve_server(server, (input, output)).await {
            Ok(running) => running,
            // A client that went away before it said anything.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(ExitCode::SUCCESS),
            // The library would print the message as its own data structure.
            Err(ServerInitializeError::ExpectedInitializeRequest(_)) => {
                return Err(CommandError::failed(
                    "the MCP client did not begin with a valid `initialize` request",
                ));
            }
            Err(error) => return Err(CommandError::of(ErrorKind::Failed, &error)),
        };
        match running.waiting().await {
            Ok(QuitReason::JoinError(error)) | Err(error) => Err(CommandError::of(ErrorKind::Failed, &error)),
            Ok(_) => Ok(ExitCode::SUCCESS),
        }
    };
    let ended = tokio::select! {
        ended = conversation => ended,
        code = interrupted() => Ok(code?),
    };
    calls.end().await;
    ended
}

/// Ctrl-C, or the request to end that a client sends to a server that it no longer needs.
async fn interrupted() -> Result<ExitCode, CommandError> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(tokio::select! {
        _ = interrupt.recv() => ErrorKind::Interrupted.exit_code(),
        _ = terminate.recv() => ExitCode::SUCCESS,
        _ = hangup.recv() => ExitCode::SUCCESS,
    })
}
