//! What the lines of Droid say. Seen in 0.215.0: what hooks did, and what only the model or only the person sees, are messages of the
//! user that are marked as such; our hold is not marked. A sub-agent is a session of its own, which works in the background unless the
//! agent waits for it.

use jiff::Timestamp;
use serde::Deserialize;

use super::calls;
use crate::command_output::CommandOutput;
use crate::entry::{CallResult, Entry, LAST_TEXT, PROMPT, Prompt, Record, Said, Standing};
use crate::format::content::{self, Content, Present};
use crate::format::early_type;
use crate::json_reader::{self, RawJson};
use crate::json_text::{self, Text};
use crate::model::Outcome;

/// The kind is the first thing in a line.
const EARLY: usize = 80;

/// Lines that say nothing about a turn.
const BOOKKEEPING: &[&str] =
    &["agent_turn_outcome", "compaction_state", "session_end", "session_start", "todo_state"];

/// Blocks that the client puts beside what a person typed.
const BESIDE_PROMPT: &str = "<system-reminder>";

/// What the agent is told of a sub-agent that goes on by itself, and of its end; its id follows.
pub(super) const LAUNCHED: &str = "Task launched in background.";
pub(super) const ENDED: &str = "Background task completed.";

/// The tool that launches sub-agents.
const TASK: &str = "Task";

#[derive(Deserialize)]
struct DroidLine<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(default, deserialize_with = "content::instant")]
    timestamp: Option<Timestamp>,
    #[serde(borrow)]
    message: DroidMessage<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DroidMessage<'a> {
    #[serde(borrow)]
    role: Text<'a>,
    #[serde(borrow, default)]
    content: Content<'a, DroidBlock<'a>>,
    /// Who sees it, if not both the person and the model.
    visibility: Option<Present>,
}

#[derive(Deserialize)]
struct DroidBlock<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    text: Option<RawJson<'a>>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    input: Option<RawJson<'a>>,
    #[serde(borrow)]
    tool_use_id: Option<Text<'a>>,
    #[serde(borrow)]
    content: Option<RawJson<'a>>,
    is_error: Option<bool>,
}

/// What one line says.
pub(super) fn record(line: &str) -> Record {
    match early_type(line, EARLY) {
        Some("message") => match json_reader::from_str::<DroidLine<'_>>(line) {
            Ok(line) if line.message.role.as_str() == "assistant" => assistant(&line),
            Ok(line) if line.message.role.as_str() == "user" => user(&line),
            _ => Record::not_understood(),
        },
        Some(kind) if BOOKKEEPING.contains(&kind) => Record::bookkeeping(),
        _ => Record::not_understood(),
    }
}

impl DroidLine<'_> {
    fn blocks(&self) -> &[DroidBlock<'_>] {
        match &self.message.content {
            Content::Blocks(blocks) => blocks,
            Content::Text(_) => &[],
        }
    }
}

fn user(line: &DroidLine<'_>) -> Record {
    let mut record = Record::bookkeeping();
    let results = line.blocks().iter().filter(|block| block.kind.as_str() == "tool_result");
    for block in results {
        record.entries.extend(task(block.content, LAUNCHED).map(Entry::Launched));
        record.entries.push(result(line, block).into());
    }
    if line.message.visibility.is_some() {
        let ended = line.blocks().iter().filter_map(|block| task(block.text, ENDED));
        record.entries.extend(ended.map(Entry::Answered));
        return record;
    }
    if !record.entries.is_empty() {
        return record;
    }
    let texts = line.blocks().iter().filter_map(|block| content::string(block.text));
    let mut typed: Vec<String> = texts.filter(|text| !text.starts_with(BESIDE_PROMPT)).collect();
    if let Content::Text(text) = &line.message.content {
        typed.push(text.owned());
    }
    let typed = typed.join("\n");
    if !typed.trim().is_empty() {
        let text = json_text::snippet(typed.trim(), PROMPT);
        let prompt = Prompt { text, at: line.timestamp, standing: Standing::Opens, is_planning: false };
        record.entries.push(Entry::Prompt(prompt));
        record.turn = line.id.as_ref().map(Text::owned);
    }
    record
}

fn assistant(line: &DroidLine<'_>) -> Record {
    let mut record = Record::bookkeeping();
    let said =
        |text: String| Entry::Said(Said { text: json_text::snippet(text, LAST_TEXT), at: line.timestamp });
    if let Content::Text(text) = &line.message.content {
        record.entries.push(said(text.owned()));
    }
    let text = |text: &Option<Text<'_>>| text.as_ref().map(Text::owned).unwrap_or_default();
    for block in line.blocks() {
        match block.kind.as_str() {
            "text" => {
                let told = content::string(block.text).unwrap_or_default();
                record.entries.extend((!told.trim().is_empty()).then(|| said(told)));
            }
            "tool_use" => {
                let mut call = calls::call(text(&block.id), text(&block.name), block.input);
                call.at = line.timestamp;
                record.entries.extend((call.tool == TASK).then(|| Entry::SubAgent(call.id.clone())));
                record.entries.push(call.into());
            }
            _ => {}
        }
    }
    record
}

/// The sub-agent that a message of the client is about, if it begins so.
fn task(told: Option<RawJson<'_>>, begin: &str) -> Option<String> {
    let behind = content::literal(told)?.strip_prefix('"')?.strip_prefix(begin)?;
    let behind = json_text::decode(behind);
    let named = behind.trim_start().strip_prefix("task_id: ")?;
    named.lines().next().map(|id| id.trim().to_owned())
}

fn result(line: &DroidLine<'_>, block: &DroidBlock<'_>) -> CallResult {
    let literals = block.content.map(content::literals).unwrap_or_default();
    let exit_code = literals.last().copied().and_then(exit_code);
    let outcome = match (exit_code, block.is_error) {
        (Some(0), Some(false) | None) => Outcome::Ok,
        (Some(_), _) | (None, Some(true)) => Outcome::Error,
        (None, _) => Outcome::Unknown,
    };
    CallResult {
        id: block.tool_use_id.as_ref().map(Text::owned).unwrap_or_default(),
        at: line.timestamp,
        outcome,
        exit_code,
        // A command that does not say how it ended has not ended; for other tools it is no error.
        unmarked: exit_code.is_none() && block.is_error != Some(true),
        snippet: content::snippet(literals.iter().copied()),
        output: CommandOutput::of_literals(literals.iter().copied()),
        recorded: true,
        ..CallResult::default()
    }
}

/// The last line of a command's result is the client's own, whatever the program printed.
fn exit_code(literal: &str) -> Option<i32> {
    let tail = json_text::decode(json_text::literal_tail(literal, 200));
    let last = tail.trim_end().lines().next_back()?;
    last.strip_prefix("[Process exited with code ")?.strip_suffix(']')?.parse().ok()
}
