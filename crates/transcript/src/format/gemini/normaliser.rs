//! Gemini CLI: an append-only log of records. The same id written again takes the place of the former
//! record, `$rewindTo` makes records void, `$set` patches state (its replaced history is lossy, and ignored).

use jiff::Timestamp;
use serde::Deserialize;

use crate::command_output::CommandOutput;
use crate::entry::{CallResult, ContextUse, Entry, LAST_TEXT, PROMPT, Prompt, Record, Said, Standing};
use crate::format::content::{self, Content, Present};
use crate::format::function_calls::{self, ResultPart};
use crate::json_reader::{self, RawJson};
use crate::json_text::{self, Text};
use crate::model::{Call, Kind, Outcome};

/// What the client says in the user's name.
const INJECTED: &[&str] = &[
    "<session_context>",
    "<state_snapshot>",
    "I ran the following shell command:",
    "System: ",
    // After a tool whose result the model has not answered, by itself or because the person interrupted it.
    "[System: You ",
    "[Function Response: ",
];

/// Whole texts that the client sends in the user's name.
const NUDGES: &[&str] = &["Please continue."];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GeminiLine<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(default, deserialize_with = "content::instant")]
    timestamp: Option<Timestamp>,
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow, default)]
    content: Content<'a, Part<'a>>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<ToolCall<'a>>>,
    tokens: Option<Tokens>,
    #[serde(borrow)]
    model: Option<Text<'a>>,
    #[serde(borrow, rename = "$rewindTo")]
    rewind_to: Option<Text<'a>>,
    #[serde(rename = "$set")]
    set: Option<Present>,
    session_id: Option<Present>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    function_response: Option<Present>,
}

#[derive(Deserialize)]
struct Tokens {
    input: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolCall<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    args: Option<RawJson<'a>>,
    #[serde(borrow)]
    result: Option<RawJson<'a>>,
    #[serde(borrow)]
    status: Option<Text<'a>>,
    #[serde(default, deserialize_with = "content::instant")]
    timestamp: Option<Timestamp>,
    #[serde(borrow)]
    result_display: Option<RawJson<'a>>,
    #[serde(borrow)]
    agent_id: Option<Text<'a>>,
}

/// What the client notes where the person interrupts the agent.
const CANCELLED: &str = "Request cancelled.";

/// What one line says.
pub(crate) fn record(line: &str) -> Record {
    // State patches repeat the whole history at every resumption; none of it is evidence.
    if line.starts_with(r#"{"$set":"#) {
        return Record::bookkeeping();
    }
    match json_reader::from_str::<GeminiLine<'_>>(line) {
        Ok(line) => message(&line),
        Err(_) => Record::not_understood(),
    }
}

/// What one message says; the old single document holds the same messages.
pub(crate) fn message(line: &GeminiLine<'_>) -> Record {
    if let Some(target) = &line.rewind_to {
        return Record::of(Entry::Rewind(target.owned()));
    }
    let mut record = match line.kind.as_ref().map(Text::as_str) {
        // Other clients have such types too, but no such ids.
        Some(_) if line.id.is_none() => Record::not_understood(),
        Some("user") => user(line),
        Some("gemini") => gemini(line),
        Some("info") if matches!(&line.content, Content::Text(text) if text.as_str() == CANCELLED) => {
            Record::of(Entry::Interrupted)
        }
        Some("info" | "error" | "warning") => Record::bookkeeping(),
        None if line.set.is_some() || line.session_id.is_some() => Record::bookkeeping(),
        _ => Record::not_understood(),
    };
    record.key = line.id.as_ref().map(Text::owned);
    record
}

fn user(line: &GeminiLine<'_>) -> Record {
    let mut typed = String::new();
    match &line.content {
        Content::Text(text) => typed.push_str(text.as_str()),
        Content::Blocks(parts) => {
            if parts.iter().any(|part| part.function_response.is_some()) {
                return Record::bookkeeping();
            }
            for text in parts.iter().filter_map(|part| part.text.as_ref()) {
                typed.push_str(text.as_str());
            }
        }
    }
    let typed = without_added_context(&typed).trim();
    if typed.is_empty() || is_injected(typed) {
        return Record::bookkeeping();
    }
    let at = line.timestamp;
    let text = json_text::snippet(typed, PROMPT);
    Record::of(Entry::Prompt(Prompt { text, at, standing: Standing::Opens, is_planning: false }))
}

/// Whether the client says this in the user's name.
pub(crate) fn is_injected(typed: &str) -> bool {
    NUDGES.contains(&typed) || INJECTED.iter().any(|prefix| typed.starts_with(prefix))
}

/// The prompt without what other programs put in front of it or behind it.
fn without_added_context(typed: &str) -> &str {
    const OPEN: &str = "<hook_context>";
    const CLOSE: &str = "</hook_context>";
    let mut rest = typed.trim();
    while let Some(after) = rest.strip_prefix(OPEN).and_then(|rest| rest.split_once(CLOSE)) {
        rest = after.1.trim_start();
    }
    if rest.ends_with(CLOSE)
        && let Some(start) = rest.rfind(OPEN)
        && let Some(before) = rest.get(..start)
    {
        rest = before;
    }
    rest
}

fn gemini(line: &GeminiLine<'_>) -> Record {
    let mut record = Record::bookkeeping();
    let mut said = String::new();
    match &line.content {
        Content::Text(text) => said.push_str(text.as_str()),
        Content::Blocks(parts) => {
            for text in parts.iter().filter_map(|part| part.text.as_ref()) {
                said.push_str(text.as_str());
            }
        }
    }
    let at = || line.timestamp;
    if !said.trim().is_empty() {
        record.entries.push(Entry::Said(Said { text: json_text::snippet(said, LAST_TEXT), at: at() }));
    }
    for tool_call in line.tool_calls.iter().flatten() {
        let text = |text: &Option<Text<'_>>| text.as_ref().map(Text::owned).unwrap_or_default();
        let (id, name) = (text(&tool_call.id), text(&tool_call.name));
        let mut call = function_calls::call(id, name, tool_call.args, tool_call.result_display);
        call.at = at();
        record.entries.extend(tool_call.agent_id.as_ref().map(|id| Entry::SubAgent(id.owned())));
        if tool_call.status.is_some() || tool_call.result.is_some() {
            let result = result(&call, tool_call);
            record.entries.extend([call.into(), result.into()]);
        } else {
            record.entries.push(call.into());
        }
    }
    if let Some(tokens) = line.tokens.as_ref().and_then(|tokens| tokens.input).filter(|tokens| *tokens > 0) {
        let model = line.model.as_ref().map(Text::owned);
        record.entries.push(Entry::Usage(ContextUse { tokens, answered: 0, window: None, model }));
    }
    record
}

fn result(call: &Call, tool_call: &ToolCall<'_>) -> CallResult {
    let parts = tool_call.result.map(RawJson::get);
    let parts = parts.and_then(|raw| json_reader::from_str::<Content<'_, ResultPart<'_>>>(raw).ok());
    let response = match parts {
        Some(Content::Blocks(parts)) => {
            parts.into_iter().filter_map(|part| part.function_response).find_map(|part| part.response)
        }
        _ => None,
    };
    let (output, error) = response.map_or((None, None), |response| (response.output, response.error));
    // What a command printed is shown to the person without the client's own words around it.
    let shown =
        tool_call.result_display.filter(|display| call.kind == Kind::Shell && display.get().len() > 2);
    let shown = shown.filter(|display| display.get().starts_with('"'));
    let mut result = CallResult {
        id: call.id.clone(),
        at: tool_call.timestamp,
        output: match call.kind {
            Kind::Shell => CommandOutput::of_literals(content::literal(shown.or(output))),
            _ => CommandOutput::default(),
        },
        snippet: content::snippet(shown.or(output).or(error).map(content::literals).into_iter().flatten()),
        recorded: true,
        ..CallResult::default()
    };
    match tool_call.status.as_ref().map(Text::as_str) {
        Some("error") => result.outcome = Outcome::Error,
        Some("cancelled") => {
            result.outcome = Outcome::Error;
            result.user_stopped = true;
        }
        Some("success") if error.is_some() => result.outcome = Outcome::Error,
        Some("success") if call.kind == Kind::Shell => {
            let (outcome, exit_code) = function_calls::shell_outcome(output, tool_call.result_display);
            result.outcome = outcome;
            result.exit_code = exit_code;
        }
        Some("success") => result.outcome = Outcome::Ok,
        _ => {}
    }
    result
}
