//! `checkstone demo`: what checkstone sees, on a recorded turn of a real client that comes with the program.

use std::process::ExitCode;

use transcript::{Extent, Options, Outcome};

use super::timeline;
use crate::error::CommandError;
use crate::printer::{Printer, STRONG};

/// Show, on a recorded turn, what checkstone sees of an agent's work
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone demo")]
pub(crate) struct DemoArguments {}

/// A turn as Claude Code recorded it: tests fail, the bug is fixed, tests pass, and a last command fails
/// while the agent says that all is done.
const TURN: &[u8] = include_bytes!("../../demo/turn.jsonl");

pub(crate) fn run(_arguments: &DemoArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let reading = transcript::read_bytes(TURN, &Options::default());
    let failed = reading.calls.iter().filter(|call| call.outcome == Outcome::Error).count();
    if reading.coverage.extent != Extent::Complete || (reading.calls.len(), failed) != (9, 4) {
        return Err(CommandError::new("the recorded turn was not read as expected; this build is broken"));
    }
    let said = reading.last_assistant.as_deref().unwrap_or_default();
    printer.text(&format!(
        "An agent ends its turn with the words {STRONG}“{said}”{STRONG:#}\n\
         This is what its transcript says that it did:\n\n{}\n\
         The agent's words are never evidence; what ran and how it ended is.\n\
         See a turn of your own: {STRONG}checkstone timeline --transcript FILE{STRONG:#}\n",
        timeline::table(&reading, printer.width()),
    ));
    Ok(ExitCode::SUCCESS)
}
