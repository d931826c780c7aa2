//! What the lines of Cursor say. A prompt stands in `<user_query>`, beside what the client adds in tags of its own; a follow-up that a
//! hook asked for is a prompt like any other.

use serde::Deserialize;

use super::calls;
use crate::entry::{Entry, LAST_TEXT, PROMPT, Prompt, Record, Said, Standing};
use crate::format::content::{self, Content};
use crate::json_reader::{self, RawJson};
use crate::json_text::{self, Text};

/// What stands around a person's words.
const QUERY_OPENS: &str = "<user_query>";
const QUERY_ENDS: &str = "</user_query>";

/// What stands for thoughts that are not shown.
const HIDDEN: &str = "[REDACTED]";

/// The person interrupted the agent.
const ABORTED: &str = "aborted";

#[derive(Deserialize)]
struct CursorLine<'a> {
    #[serde(borrow)]
    role: Option<Text<'a>>,
    #[serde(borrow)]
    message: Option<CursorMessage<'a>>,
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    error: Option<RawJson<'a>>,
}

#[derive(Deserialize)]
struct CursorMessage<'a> {
    #[serde(borrow, default)]
    content: Content<'a, CursorBlock<'a>>,
}

#[derive(Deserialize)]
struct CursorBlock<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    text: Option<RawJson<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    input: Option<RawJson<'a>>,
}

/// What one line says.
pub(super) fn record(line: &str) -> Record {
    let Ok(line) = json_reader::from_str::<CursorLine<'_>>(line) else { return Record::not_understood() };
    match (line.role.as_ref().map(Text::as_str), &line.message) {
        (Some("user"), Some(message)) => user(message),
        (Some("assistant"), Some(message)) => assistant(message),
        (None, None) if line.kind.as_ref().is_some_and(|kind| kind.as_str() == "turn_ended") => {
            let is_aborted = content::string(line.error).is_some_and(|error| error.contains(ABORTED));
            if is_aborted { Record::of(Entry::Interrupted) } else { Record::bookkeeping() }
        }
        _ => Record::not_understood(),
    }
}

impl CursorMessage<'_> {
    fn texts(&self) -> Vec<String> {
        match &self.content {
            Content::Text(text) => vec![text.owned()],
            Content::Blocks(blocks) => {
                blocks.iter().filter_map(|block| content::string(block.text)).collect()
            }
        }
    }
}

fn user(message: &CursorMessage<'_>) -> Record {
    let mut record = Record::bookkeeping();
    let texts = message.texts();
    let queries = texts.iter().filter_map(|text| {
        let (_, after) = text.split_once(QUERY_OPENS)?;
        Some(after.split_once(QUERY_ENDS).map_or(after, |(query, _)| query).trim().to_owned())
    });
    let mut typed: Vec<String> = queries.collect();
    if typed.is_empty() {
        // Older lines have the words alone; what begins with a tag is the client's.
        typed = texts.into_iter().map(|text| text.trim().to_owned()).collect();
        typed.retain(|text| !text.starts_with('<'));
    }
    let typed = typed.join("\n");
    if !typed.trim().is_empty() {
        let text = json_text::snippet(typed.trim(), PROMPT);
        let prompt = Prompt { text, at: None, standing: Standing::Opens, is_planning: false };
        record.entries.push(Entry::Prompt(prompt));
    }
    record
}

fn assistant(message: &CursorMessage<'_>) -> Record {
    let mut record = Record::bookkeeping();
    let said = |text: &str| {
        let text = text.trim().trim_end_matches(HIDDEN).trim_end();
        let said = || Entry::Said(Said { text: json_text::snippet(text, LAST_TEXT), at: None });
        (!text.is_empty()).then(said)
    };
    let blocks = match &message.content {
        Content::Text(text) => {
            record.entries.extend(said(text.as_str()));
            return record;
        }
        Content::Blocks(blocks) => blocks,
    };
    for block in blocks {
        match block.kind.as_str() {
            "text" => record.entries.extend(said(&content::string(block.text).unwrap_or_default())),
            "tool_use" => {
                let tool = block.name.as_ref().map(Text::owned).unwrap_or_default();
                record.entries.push(calls::call(tool, block.input).into());
            }
            _ => {}
        }
    }
    record
}
