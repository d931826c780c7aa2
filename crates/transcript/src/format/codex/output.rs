//! How Codex says that a call ended: a header above the output, a JSON document, or a sentence.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde::Deserialize;

use super::calls::script_task;
use super::script::Printed;
use crate::command_output::CommandOutput;
use crate::entry::{CallResult, SNIPPET};
use crate::format::content;
use crate::json_reader::{self, RawJson};
use crate::json_text::{self, Snippet};
use crate::model::Outcome;

/// Outputs that begin so are failures that the client itself reports.
const FAILURES: &[&str] = &[
    "apply_patch verification failed",
    "command timed out",
    "exec_command failed",
    "execution error",
    "failed to parse function arguments",
    "failed in sandbox",
    "sandbox error",
    "unsupported call",
    "unsupported custom tool call",
    "write_stdin failed",
];

/// Older versions: the whole output is a JSON document in a string.
#[derive(Deserialize)]
struct OutputDocument<'a> {
    #[serde(borrow)]
    output: Option<RawJson<'a>>,
    metadata: OutputMetadata,
}

#[derive(Deserialize)]
struct OutputMetadata {
    exit_code: Option<i32>,
}

#[derive(Deserialize)]
struct OutputObject<'a> {
    #[serde(borrow)]
    content: Option<RawJson<'a>>,
    success: Option<bool>,
}

pub(super) fn output(raw: Option<RawJson<'_>>) -> CallResult {
    let Some(raw) = raw else { return CallResult::default() };
    if raw.get().starts_with('{')
        && let Ok(OutputObject { content: Some(content), success }) = json_reader::from_str(raw.get())
    {
        let mut result = output(Some(content));
        if let (Some(success), true) = (success, result.unmarked) {
            result.outcome = if success { Outcome::Ok } else { Outcome::Error };
            result.unmarked = false;
        }
        return result;
    }
    let mut pieces = content::literals(raw);
    let Some(first) = pieces.first_mut() else { return CallResult::default() };
    let literal = *first;
    if literal.starts_with(r#""{\"output\""#) || literal.starts_with(r#""{\"metadata\""#) {
        let document = json_text::decode(literal);
        if let Ok(OutputDocument { output, metadata }) = json_reader::from_str(&document) {
            return CallResult {
                snippet: content::snippet(output.map(content::literals).into_iter().flatten()),
                output: CommandOutput::of_literals(content::literal(output)),
                ..exited(metadata.exit_code)
            };
        }
    }
    // What the program printed is the output without the client's own lines above it.
    let (above, below) = split_header(literal);
    let result = header(&json_text::decode(above));
    *first = below;
    if !result.is_status_hidden {
        let output = match result.unmarked {
            true => CommandOutput::default(),
            false => CommandOutput::of_literals(pieces.iter().copied()),
        };
        return CallResult { snippet: content::snippet(pieces), output, ..result };
    }
    // What a script printed of its commands says more than that the script itself has ended.
    let mut printed = Printed::default();
    let mut bytes = 0;
    for piece in pieces {
        bytes += piece.len();
        if bytes < LONGEST_ACCOUNT {
            printed.add(json_text::decode(piece));
        } else {
            // What was not read may tell of a failure.
            printed.has_plain_text = true;
        }
    }
    let mut snippet = Snippet::new(SNIPPET);
    printed.outputs.iter().for_each(|output| snippet.push(output));
    let snippet = Some(snippet.finish()).filter(|text| !text.is_empty());
    let status = if result.outcome == Outcome::Ok { printed.status() } else { result };
    CallResult { snippet, output: CommandOutput::of_texts(printed.outputs), ..status }
}

/// A longer account is not looked through for a status.
const LONGEST_ACCOUNT: usize = 1024 * 1024;

/// The client's own lines above a command's output take no more than this.
const HEADER: usize = 2048;

/// The client's own lines, or what may be such, and what the program printed.
fn split_header(literal: &str) -> (&str, &str) {
    static OUTPUT: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(r"\nOutput:\n"));
    let head = json_text::literal_head(literal, HEADER);
    let parts = OUTPUT.find(head.as_bytes()).and_then(|at| {
        let below = literal.get(at + OUTPUT.needle().len()..)?;
        Some((literal.get(..at)?, below))
    });
    parts.unwrap_or((head, literal))
}

pub(super) fn exited(exit_code: Option<i32>) -> CallResult {
    // The client writes -1 for a command that was ended with the session, before it could exit.
    let exit_code = exit_code.filter(|code| *code >= 0);
    let outcome = match exit_code {
        Some(0) => Outcome::Ok,
        Some(_) => Outcome::Error,
        None => Outcome::Unknown,
    };
    CallResult { outcome, exit_code, ..CallResult::default() }
}

/// The client's own lines above `Output:`. What stands below was printed by the program.
fn header(text: &str) -> CallResult {
    if FAILURES.iter().any(|failure| text.starts_with(failure)) {
        return CallResult { outcome: Outcome::Error, ..CallResult::default() };
    }
    for line in text.lines().take_while(|line| *line != "Output:") {
        if line.starts_with("aborted by user") || line == "aborted" {
            return CallResult { outcome: Outcome::Error, user_stopped: true, ..CallResult::default() };
        }
        let code =
            line.strip_prefix("Process exited with code ").or_else(|| line.strip_prefix("Exit code: "));
        if let Some(code) = code.and_then(|code| code.trim().parse().ok()) {
            return exited(Some(code));
        }
        if line.starts_with("Script completed") {
            return CallResult { outcome: Outcome::Ok, is_status_hidden: true, ..CallResult::default() };
        }
        if line.starts_with("Script failed") {
            return CallResult { outcome: Outcome::Error, is_status_hidden: true, ..CallResult::default() };
        }
        if let Some(cell) = line.strip_prefix("Script running with cell ID ") {
            return CallResult { running_as: Some(script_task(cell.trim())), ..CallResult::default() };
        }
        if let Some(session) = line.strip_prefix("Process running with session ID ") {
            return CallResult { running_as: Some(session.trim().to_owned()), ..CallResult::default() };
        }
    }
    CallResult { unmarked: true, ..CallResult::default() }
}
