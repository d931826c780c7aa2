//! `scripted-model`: plays a scenario file to a client, for people who want to see what their policy says to a given
//! course of work.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is a program for people at a terminal")]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use scripted_model::{Scenario, Server, ServerError, Settings};

/// Play a scenario as the model of an agent
///
/// Prints the address to give to the client, and serves until it is ended. Each request for the agent's next step is
/// answered with the scenario's next step.
#[derive(Parser)]
#[command(
    version,
    after_help = "A scenario:
  {\"steps\": [
    {\"text\": \"I look first.\", \"calls\": [{\"read\": \"calc.py\"}, {\"run\": \"git status\"}]},
    {\"calls\": [{\"edit\": {\"path\": \"calc.py\", \"old\": \"    return a - b\", \"new\": \"    return a + b\"}}]},
    {\"text\": \"Done.\", \"delay_ms\": 500}
  ]}

How a client is told the address, by the API that it calls:
  Anthropic         ANTHROPIC_BASE_URL=ADDRESS ANTHROPIC_API_KEY=none
  Gemini            GOOGLE_GEMINI_BASE_URL=ADDRESS GEMINI_API_KEY=none
  responses         a provider with base_url = \"ADDRESS/v1\", wire_api = \"responses\"
  chat completions  a provider or a variable such as OPENAI_BASE_URL with ADDRESS/v1"
)]
struct Arguments {
    /// The scenario to play, a JSON file
    #[arg(long, value_name = "FILE")]
    scenario: PathBuf,
    /// The port to listen on; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// The folder that the client works in; relative paths of the scenario lie in it
    #[arg(long, default_value = ".")]
    folder: PathBuf,
    /// Append every request to this file, one line of JSON each
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            if let Some(cause) = std::error::Error::source(&error) {
                eprintln!("caused by: {cause}");
            }
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<(), ServerError> {
    let scenario = Scenario::read(&arguments.scenario)?;
    let folder = std::path::absolute(&arguments.folder).unwrap_or(arguments.folder);
    let server = Server::start(scenario, &Settings { port: arguments.port, folder, log: arguments.log })?;
    println!("{}", server.address());
    server.serve();
    Ok(())
}
