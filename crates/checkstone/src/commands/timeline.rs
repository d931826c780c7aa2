//! `checkstone timeline`: what a transcript says about its last turn, as a table for people or as JSON.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agents::registration::settings;
use anstyle::Style;
use jiff::Timestamp;
use text::{counted, fit};
use transcript::{Agent, Call, Extent, Kind, Options, Outcome, Reading};
use unicode_width::UnicodeWidthStr;

use crate::agent_name::AgentName;
use crate::agent_session;
use crate::byte_size::byte_size;
use crate::error::CommandError;
use crate::journal_access;
use crate::printer::{BAD, DOUBTFUL, FAINT, GOOD, Printer, STRONG};
use crate::repository_argument::RepositoryArgument;

/// Show what an agent did in its last turn, according to its transcript
///
/// Reads the transcript backwards to the prompt that opened the last turn and lists the turn's tool calls,
/// each with its own result. By default the transcript is that of the session last seen in this repository, or the agent's
/// own if an agent asks. With --json the coverage reports what could not be read, and the exit code is
/// 0.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone timeline
  checkstone timeline --transcript ~/.claude/projects/my-project/SESSION.jsonl
  checkstone timeline --transcript rollout.jsonl --json | jq '.calls[] | select(.outcome == \"error\")'")]
pub(crate) struct TimelineArguments {
    /// The client that wrote the transcript; by default detected from its content
    #[arg(long, value_name = "AGENT")]
    agent: Option<AgentName>,
    /// The transcript; by default the agent's own if an agent asks, else the last one of the repository
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,
    #[command(flatten)]
    repository: RepositoryArgument,
    /// Print JSON (schemas/timeline.schema.json)
    #[arg(long)]
    json: bool,
    /// Print the conversation as plain text instead of a table
    #[arg(long, conflicts_with = "json")]
    plain: bool,
    /// Read at most this much from the end of the transcript
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = byte_size)]
    max_bytes: u64,
}

/// A person can wait the milliseconds that it takes to count the lines of such a file.
const COUNT_LINES_UP_TO: u64 = 64 * 1024 * 1024;

pub(crate) fn run(arguments: &TimelineArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let options = Options {
        max_bytes: arguments.max_bytes,
        count_lines_up_to: COUNT_LINES_UP_TO,
        ..gate::reading_options(arguments.agent.map(Agent::from))
    };
    let path = match &arguments.transcript {
        Some(path) => path.clone(),
        None => last_transcript(&arguments.repository)?,
    };
    let reading = transcript::read(&path, &options);
    if arguments.json {
        printer.json(&reading)?;
        return Ok(ExitCode::SUCCESS);
    }
    if reading.coverage.extent == Extent::Unavailable {
        return Err(unreadable(arguments, &path, &reading));
    }
    if arguments.plain {
        printer.data(&transcript::plain(&reading));
    } else {
        printer.text(&table(&reading, printer.width()));
    }
    Ok(ExitCode::SUCCESS)
}

/// That of the session which calls, or was last seen here.
fn last_transcript(repository: &RepositoryArgument) -> Result<PathBuf, CommandError> {
    let root = repository.find()?.root;
    let mut journal = journal_access::open_existing(&journal_access::state_directory()?)?;
    let found = journal.as_mut().and_then(|journal| agent_session::transcript(journal, &root));
    found.ok_or_else(|| {
        CommandError::not_found(format!("no session with a transcript was seen in `{}`", root.display()))
            .hint("name a transcript with `--transcript FILE`")
    })
}

fn unreadable(arguments: &TimelineArguments, path: &Path, reading: &Reading) -> CommandError {
    let reason = reading.coverage.reason.as_deref().unwrap_or("nothing was understood");
    if !path.exists() {
        return CommandError::not_found(format!("there is no transcript `{}`", path.display()));
    }
    let error = CommandError::usage(format!("nothing to show of `{}`: {reason}", path.display()));
    match (arguments.agent, reading.agent) {
        (Some(_), _) if reading.coverage.records > 0 => {
            error.hint("leave out `--agent` to detect the client from the content")
        }
        (None, None) if path.is_file() => {
            error.hint("if a client that checkstone knows wrote it, name that client with `--agent`")
        }
        _ => error,
    }
}

/// The turn for people: the prompt, one line a call, and how much of it was understood.
pub(crate) fn table(reading: &Reading, width: Option<usize>) -> String {
    let mut text = String::new();
    let began = reading.turn.as_ref().and_then(|turn| turn.started_at);
    let client = reading.agent.map_or("unknown client", settings::client);
    let _ = writeln!(text, "{STRONG}{client}{STRONG:#}, {}", summary(reading, began));
    if let Some(turn) = &reading.turn {
        let prompt = fit(&transcript::visible(&turn.prompt), width.map(|width| width.saturating_sub(2)));
        let _ = writeln!(text, "{FAINT}›{FAINT:#} {STRONG}{prompt}{STRONG:#}");
    }
    text.push('\n');
    let tools = reading.calls.iter().map(|call| tool(call).width()).max().unwrap_or_default().min(24);
    for call in &reading.calls {
        call_lines(&mut text, call, began, tools, width);
    }
    if !reading.calls.is_empty() {
        text.push('\n');
    }
    let _ = writeln!(text, "{FAINT}{}{FAINT:#}", footing(reading));
    text
}

fn summary(reading: &Reading, began: Option<Timestamp>) -> String {
    let mut summary = counted(reading.calls.len(), "call");
    let failed = reading.calls.iter().filter(|call| call.outcome == Outcome::Error).count();
    if failed > 0 {
        let _ = write!(summary, ", {BAD}{failed} failed{BAD:#}");
    }
    if let Some(began) = began {
        let last = reading.calls.iter().filter_map(|call| call.ended_at).max();
        if let Some(last) = last {
            let _ = write!(summary, ", in {}", seconds(began, last));
        }
        let _ = write!(summary, ", from {}", began.strftime("%Y-%m-%d %H:%M:%S UTC"));
    }
    summary
}

fn call_lines(text: &mut String, call: &Call, began: Option<Timestamp>, tools: usize, width: Option<usize>) {
    let (style, mark) = mark(call);
    let when = match (began, call.at) {
        (Some(began), Some(at)) => format!("+{}", seconds(began, at)),
        _ => String::new(),
    };
    let tool = fit(&tool(call), Some(tools));
    let pad = tools.saturating_sub(tool.width());
    let note = note(call);
    let what = match (&call.command, call.kind) {
        (Some(command), Kind::Shell) => transcript::visible(command),
        _ => transcript::visible(&call.paths.join(" ")),
    };
    let taken = 9 + 2 + tools + 2 + if note.is_empty() { 0 } else { note.width() + 2 };
    let what = fit(&what, width.map(|width| width.saturating_sub(taken).max(10)));
    let _ = write!(text, "{when:>8} {style}{mark}{style:#} {tool}{:pad$}  {what}", "");
    if !note.is_empty() {
        let _ = write!(text, "  {style}{note}{style:#}");
    }
    text.truncate(text.trim_end_matches(' ').len());
    text.push('\n');
    // The last line of an error is mostly the one that says what is wrong.
    let shown = call.snippet.as_deref().filter(|_| call.outcome == Outcome::Error && !call.user_stopped);
    if let Some(last) = shown.and_then(|snippet| snippet.lines().rev().find(|line| !line.trim().is_empty())) {
        let indent = 9 + 2 + tools + 2;
        let line =
            fit(transcript::visible(last).trim(), width.map(|width| width.saturating_sub(indent).max(10)));
        let _ = writeln!(text, "{:indent$}{FAINT}{line}{FAINT:#}", "");
    }
}

fn mark(call: &Call) -> (Style, char) {
    match call.outcome {
        Outcome::Ok => (GOOD, '✓'),
        Outcome::Error => (BAD, '✗'),
        Outcome::Unknown => (DOUBTFUL, '?'),
    }
}

fn tool(call: &Call) -> String {
    let tool = transcript::visible(&call.tool);
    if call.subagent.is_some() { format!("↳ {tool}") } else { tool }
}

fn note(call: &Call) -> String {
    match (call.user_stopped, call.exit_code) {
        (true, _) => "stopped by the user".to_owned(),
        (false, Some(code)) if code != 0 => format!("exit {code}"),
        (false, _) if call.outcome == Outcome::Unknown => "no result".to_owned(),
        _ => String::new(),
    }
}

fn footing(reading: &Reading) -> String {
    let coverage = &reading.coverage;
    let mut footing = format!("understood {} of {} records", coverage.understood, coverage.records);
    if let Some(reason) = &coverage.reason {
        let _ = write!(footing, "; {reason}");
    }
    if let Some(usage) = &reading.usage {
        let _ = write!(footing, "; context: {} tokens", grouped(usage.tokens));
        if let (Some(window), Some(percent)) = (usage.window, usage.percent) {
            let _ = write!(footing, " of {} ({percent} %)", grouped(window));
        }
    }
    footing
}

fn seconds(from: Timestamp, to: Timestamp) -> String {
    text::short_duration(to.duration_since(from).try_into().unwrap_or_default())
}

/// With commas between the thousands.
fn grouped(number: u64) -> String {
    match number / 1000 {
        0 => number.to_string(),
        thousands => format!("{},{:03}", grouped(thousands), number % 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_numbers_are_readable() {
        let at = |seconds: i64| Timestamp::from_second(seconds).unwrap();
        assert_eq!([seconds(at(0), at(61)), seconds(at(5), at(0))], ["1m01s", "0.0s"]);
        assert_eq!([grouped(0), grouped(999), grouped(1_000_000)], ["0", "999", "1,000,000"]);
    }
}
