//! Codex CLI: rollouts in JSON lines. `response_item` records are common to all versions; newer ones add
//! `item_completed` events with what a command or a patch really did, older ones other events.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;

use super::calls::{call, command_line};
use super::output::{exited, output};
use crate::command_output::CommandOutput;
use crate::entry::{
    COMMAND, CallResult, ContextUse, Entry, LAST_TEXT, PROMPT, Prompt, Record, SNIPPET, Said, Standing,
};
use crate::file_edit::FileEdit;
use crate::format::content::{self, Content, Present};
use crate::format::early_type;
use crate::json_reader::{self, RawJson};
use crate::json_text::{self, Text};
use crate::model::{Call, Kind, Outcome};

/// Record types that carry nothing about a turn; their type comes before their body.
const BOOKKEEPING: &[&str] = &[
    "compacted",
    "ghost_snapshot",
    "inter_agent_communication_metadata",
    "session_meta",
    "token_usage_record",
    "turn_context",
    "world_state",
];

/// Events and items that carry nothing about a turn.
const BOOKKEEPING_EVENTS: &[&str] = &[
    "agent_message_delta",
    "agent_reasoning",
    "agent_reasoning_raw_content",
    "background_event",
    "context_compacted",
    "entered_review_mode",
    "error",
    "exited_review_mode",
    "hook_completed",
    "hook_started",
    "item_started",
    "mcp_tool_call_begin",
    "mcp_tool_call_end",
    "plan_update",
    "stream_error",
    "task_complete",
    "thread_name_updated",
    "thread_rolled_back",
    "thread_settings_applied",
    "turn_complete",
    "turn_diff",
    "view_image_tool_call",
    "warning",
    "web_search_begin",
    "web_search_end",
];

const BOOKKEEPING_ITEMS: &[&str] = &[
    "additional_tools",
    "compaction",
    "compaction_summary",
    "ghost_snapshot",
    "image_generation_call",
    "other",
    "reasoning",
    "tool_search_call",
    "tool_search_output",
    "web_search_call",
];

/// What the client says in the user's name, where it does not mark it.
const INJECTED: &[&str] = &[
    "# AGENTS.md instructions",
    "<codex_internal_context",
    "<collaboration_mode>",
    "<environment_context>",
    "<goal",
    "<hook_prompt",
    "<model_switch>",
    "<permissions instructions>",
    "<personality_spec>",
    "<plugin",
    "<recommended_plugins>",
    "<skill",
    "<subagent_notification>",
    "<turn_aborted>",
    "<user_action>",
    "<user_instructions>",
    "<user_shell_command>",
    "Warning: apply_patch was requested via ",
];

#[derive(Deserialize)]
#[serde(bound(deserialize = "Payload: Deserialize<'de>"))]
struct CodexLine<'a, Payload> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(default, deserialize_with = "content::instant")]
    timestamp: Option<Timestamp>,
    payload: Option<Payload>,
}

#[derive(Deserialize)]
pub(super) struct ResponseItem<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    role: Option<Text<'a>>,
    #[serde(borrow)]
    author: Option<Text<'a>>,
    #[serde(borrow, default)]
    content: Option<Content<'a, CodexText<'a>>>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    call_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) arguments: Option<RawJson<'a>>,
    #[serde(borrow)]
    pub(super) input: Option<RawJson<'a>>,
    #[serde(borrow)]
    output: Option<RawJson<'a>>,
    #[serde(borrow)]
    pub(super) action: Option<RawJson<'a>>,
    #[serde(borrow, rename = "internal_chat_message_metadata_passthrough")]
    metadata: Option<Metadata<'a>>,
}

#[derive(Deserialize)]
struct CodexText<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Metadata<'a> {
    #[serde(borrow)]
    turn_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    content_item_metadata: Vec<ItemMetadata<'a>>,
}

#[derive(Deserialize)]
struct ItemMetadata<'a> {
    #[serde(borrow)]
    provenance: Option<Provenance<'a>>,
}

#[derive(Deserialize)]
struct Provenance<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    turn_id: Option<Text<'a>>,
    #[serde(borrow)]
    item: Option<RawJson<'a>>,
    #[serde(borrow)]
    message: Option<RawJson<'a>>,
    #[serde(borrow)]
    info: Option<RawJson<'a>>,
    #[serde(borrow)]
    call_id: Option<Text<'a>>,
    success: Option<bool>,
    #[serde(borrow)]
    changes: Option<RawJson<'a>>,
    #[serde(borrow)]
    stdout: Option<RawJson<'a>>,
    #[serde(borrow)]
    stderr: Option<RawJson<'a>>,
    exit_code: Option<i32>,
    #[serde(borrow)]
    aggregated_output: Option<RawJson<'a>>,
    #[serde(borrow)]
    agent_thread_id: Option<Text<'a>>,
    #[serde(borrow)]
    new_thread_id: Option<Text<'a>>,
    started_at_ms: Option<i64>,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow, default)]
    content: Option<Content<'a, CodexText<'a>>>,
    #[serde(borrow)]
    status: Option<Text<'a>>,
    exit_code: Option<i32>,
    #[serde(borrow)]
    command: Option<RawJson<'a>>,
    #[serde(borrow)]
    agent_thread_id: Option<Text<'a>>,
    #[serde(borrow)]
    aggregated_output: Option<RawJson<'a>>,
    #[serde(borrow, default)]
    parsed_cmd: Option<Vec<ParsedCommand<'a>>>,
    #[serde(borrow)]
    changes: Option<RawJson<'a>>,
    #[serde(borrow)]
    stdout: Option<RawJson<'a>>,
}

#[derive(Deserialize)]
struct ParsedCommand<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    path: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct TokenInfo {
    last_token_usage: Option<CodexTokens>,
    model_context_window: Option<u64>,
}

#[derive(Deserialize)]
struct CodexTokens {
    total_tokens: Option<u64>,
}

/// What one line says.
pub(crate) fn record(line: &str) -> Record {
    // Almost always the type comes first, and the line is parsed once.
    let early = early_type(line, 120);
    if let Some(record) = early.and_then(|kind| record_of_kind(kind, line)) {
        return record;
    }
    match json_reader::from_str::<CodexLine<'_, Present>>(line) {
        Ok(CodexLine { kind, .. }) => record_of_kind(kind.as_str(), line).unwrap_or_default(),
        Err(_) => Record::not_understood(),
    }
}

/// What a line of this type says; `None` if the type is not known.
fn record_of_kind(kind: &str, line: &str) -> Option<Record> {
    let is_bookkeeping = |types: &[&str]| early_payload(line).is_some_and(|kind| types.contains(&kind));
    match kind {
        "response_item" if is_bookkeeping(BOOKKEEPING_ITEMS) => Some(Record::bookkeeping()),
        "response_item" => Some(record_of_payload(line, response_item)),
        "event_msg" if is_bookkeeping(BOOKKEEPING_EVENTS) => Some(Record::bookkeeping()),
        "event_msg" => Some(record_of_payload(line, event_record)),
        kind => BOOKKEEPING.contains(&kind).then(Record::bookkeeping),
    }
}

/// The type of the payload, where that is what the payload begins with and the payload comes early.
fn early_payload(line: &str) -> Option<&str> {
    let head = line.get(..line.floor_char_boundary(200))?;
    let (_, kind) = head.split_once(r#""payload":{"type":""#)?;
    kind.split_once('"').map(|(kind, _)| kind)
}

fn record_of_payload<'a, Payload: Deserialize<'a>>(
    line: &'a str,
    record: impl FnOnce(&Payload, Option<Timestamp>) -> Record,
) -> Record {
    match json_reader::from_str::<CodexLine<'a, Payload>>(line) {
        Ok(CodexLine { timestamp, payload: Some(payload), .. }) => record(&payload, timestamp),
        _ => Record::not_understood(),
    }
}

fn response_item(item: &ResponseItem<'_>, at: Option<Timestamp>) -> Record {
    let mut record = match item.kind.as_str() {
        "message" if item.role.as_ref().is_some_and(|role| role.as_str() == "user") => {
            let mut record = Record::bookkeeping();
            let standing = match says_user(item) {
                Some(true) => Standing::UnlessEarlier,
                Some(false) => {
                    record.entries.extend(told_aside(joined(item.content.as_ref()).trim()));
                    return record;
                }
                None => Standing::IfNoneSurer,
            };
            record.entries.extend(prompt(&joined(item.content.as_ref()), at, standing));
            record
        }
        // What the agent said stands in an event too, which the summary of a compaction does not have.
        "message" => Record::bookkeeping(),
        "function_call" | "custom_tool_call" | "local_shell_call" => {
            let mut made = call(item);
            made.call.at = at;
            let closed = made.closes.take().map(Entry::Answered);
            let mut record = Record::of(Entry::Call(Box::new(made)));
            record.entries.extend(closed);
            record
        }
        "function_call_output" | "custom_tool_call_output" => {
            let mut result = output(item.output);
            result.id = call_id(item);
            result.at = at;
            let mut record = Record::of(result.into());
            record.entries.extend(item.output.and_then(launched));
            record
        }
        "agent_message" => answered(item.author.as_ref().map(Text::owned)),
        kind if BOOKKEEPING_ITEMS.contains(&kind) => Record::bookkeeping(),
        _ => Record::not_understood(),
    };
    record.turn = item.metadata.as_ref().and_then(|metadata| metadata.turn_id.as_ref()).map(Text::owned);
    record
}

#[derive(Deserialize)]
struct SpawnedAgent {
    #[serde(alias = "agent_id", alias = "task_name")]
    id: String,
}

/// The output of the call that launches a sub-agent is the sub-agent's name.
fn launched(output: RawJson<'_>) -> Option<Entry> {
    let literal = content::literal(Some(output))?;
    if !literal.starts_with(r#""{\"agent_id\""#) && !literal.starts_with(r#""{\"task_name\""#) {
        return None;
    }
    let spawned: SpawnedAgent = json_reader::from_str(&json_text::decode(literal)).ok()?;
    Some(Entry::Launched(spawned.id))
}

fn answered(agent: Option<String>) -> Record {
    agent.map_or_else(Record::bookkeeping, |agent| Record::of(Entry::Answered(agent)))
}

#[derive(Deserialize)]
struct SubagentNotification {
    agent_path: String,
}

/// `<subagent_notification>` and a JSON document with the sub-agent's name.
fn notified(typed: &str) -> Option<Entry> {
    let document = typed.trim().strip_prefix("<subagent_notification>")?;
    let mut documents = serde_json::Deserializer::from_str(document).into_iter::<SubagentNotification>();
    Some(Entry::Answered(documents.next()?.ok()?.agent_path))
}

/// Whether the client says that a message is the user's or its own.
fn says_user(item: &ResponseItem<'_>) -> Option<bool> {
    let mut kinds =
        item.metadata.iter().flat_map(|metadata| &metadata.content_item_metadata).filter_map(|content| {
            content.provenance.as_ref().and_then(|provenance| provenance.kind.as_ref())
        });
    let first = kinds.next()?;
    Some(first.as_str() == "user" || kinds.any(|kind| kind.as_str() == "user"))
}

fn joined(content: Option<&Content<'_, CodexText<'_>>>) -> String {
    match content {
        Some(Content::Text(text)) => text.owned(),
        Some(Content::Blocks(blocks)) => {
            blocks.iter().filter_map(|block| block.text.as_ref()).map(Text::as_str).collect()
        }
        None => String::new(),
    }
}

fn prompt(typed: &str, at: Option<Timestamp>, standing: Standing) -> Option<Entry> {
    let typed = typed.trim();
    if let Some(told) = told_aside(typed).or_else(|| notified(typed)) {
        return Some(told);
    }
    if typed.is_empty() || INJECTED.iter().any(|prefix| typed.starts_with(prefix)) {
        return None;
    }
    let text = json_text::snippet(typed, PROMPT);
    Some(Entry::Prompt(Prompt { text, at, standing, is_planning: false }))
}

/// What a program that the client asked said comes back in an element of the client's (T4).
fn told_aside(typed: &str) -> Option<Entry> {
    let (_, inside) = typed.strip_prefix("<hook_prompt")?.split_once('>')?;
    Some(Entry::ToldAside(json_text::snippet(inside.trim_start(), SNIPPET)))
}

pub(super) fn call_id(item: &ResponseItem<'_>) -> String {
    item.call_id.as_ref().or(item.id.as_ref()).map(Text::owned).unwrap_or_default()
}

fn event_record(event: &Event<'_>, at: Option<Timestamp>) -> Record {
    let mut record = match event.kind.as_str() {
        "user_message" => {
            let mut record = Record::bookkeeping();
            let message = content::string(event.message).unwrap_or_default();
            record.entries.extend(prompt(&message, at, Standing::UnlessEarlier));
            record
        }
        "agent_message" => said(content::string(event.message).unwrap_or_default(), at),
        "token_count" => token_count(event.info),
        "sub_agent_activity" => sub_agent(event.agent_thread_id.as_ref()),
        "collab_agent_spawn_end" => sub_agent(event.new_thread_id.as_ref()),
        kind if kind.starts_with("collab_") || kind.starts_with("dynamic_tool_call_") => {
            Record::bookkeeping()
        }
        "task_started" | "turn_started" => Record::of(Entry::TurnStarts),
        "turn_aborted" => Record::of(Entry::Interrupted),
        "patch_apply_end" => {
            let outcome = event.success.map_or(Outcome::Unknown, succeeded);
            let snippet = if outcome == Outcome::Error { event.stderr } else { event.stdout };
            let mut result = file_change(event.changes, outcome);
            result.id = event.call_id.as_ref().map(Text::owned).unwrap_or_default();
            result.unannounced = unannounced(&result.id, patch_call(at));
            result.at = at;
            result.snippet = content::snippet(snippet.map(content::literals).into_iter().flatten());
            Record::of(result.into())
        }
        "exec_command_end" => {
            let mut result = exited(event.exit_code);
            result.id = event.call_id.as_ref().map(Text::owned).unwrap_or_default();
            result.at = at;
            result.recorded = true;
            result.snippet =
                content::snippet(event.aggregated_output.map(content::literals).into_iter().flatten());
            result.output = CommandOutput::of_literals(content::literal(event.aggregated_output));
            Record::of(result.into())
        }
        "item_completed" => match event.item.map(|item| json_reader::from_str::<Item<'_>>(item.get())) {
            Some(Ok(item)) => {
                let began = event.started_at_ms.and_then(|started| Timestamp::from_millisecond(started).ok());
                item_completed(&item, began, at)
            }
            _ => Record::not_understood(),
        },
        kind if BOOKKEEPING_EVENTS.contains(&kind) => Record::bookkeeping(),
        _ => Record::not_understood(),
    };
    record.turn = event.turn_id.as_ref().map(Text::owned);
    record
}

fn sub_agent(thread: Option<&Text<'_>>) -> Record {
    thread.map_or_else(Record::bookkeeping, |thread| Record::of(Entry::SubAgent(thread.owned())))
}

/// A command or patch that a script ran: it has a result and an id, but no call of the model's own.
fn unannounced(id: &str, call: Call) -> Option<Box<Call>> {
    id.starts_with("exec-").then(|| Box::new(Call { id: id.to_owned(), ..call }))
}

fn patch_call(at: Option<Timestamp>) -> Call {
    Call { tool: "apply_patch".to_owned(), kind: Kind::Edit, at, ..Call::default() }
}

fn said(text: String, at: Option<Timestamp>) -> Record {
    Record::of(Entry::Said(Said { text: json_text::snippet(text, LAST_TEXT), at }))
}

fn succeeded(success: bool) -> Outcome {
    if success { Outcome::Ok } else { Outcome::Error }
}

fn token_count(info: Option<RawJson<'_>>) -> Record {
    let info = info.and_then(|info| json_reader::from_str::<TokenInfo>(info.get()).ok());
    let tokens = info.as_ref().and_then(|info| info.last_token_usage.as_ref()?.total_tokens);
    match tokens {
        Some(tokens) if tokens > 0 => {
            let window = info.and_then(|info| info.model_context_window);
            Record::of(Entry::Usage(ContextUse { tokens, answered: 0, window, model: None }))
        }
        _ => Record::bookkeeping(),
    }
}

fn item_completed(item: &Item<'_>, began: Option<Timestamp>, at: Option<Timestamp>) -> Record {
    let id = || item.id.as_ref().map(Text::owned).unwrap_or_default();
    match item.kind.as_str() {
        "UserMessage" => {
            let mut record = Record::bookkeeping();
            record.entries.extend(prompt(&joined(item.content.as_ref()), at, Standing::UnlessEarlier));
            record
        }
        "AgentMessage" => said(joined(item.content.as_ref()), at),
        "CommandExecution" => {
            let status = item.status.as_ref().map(Text::as_str);
            let mut result = exited(item.exit_code);
            if item.exit_code.is_none() && status == Some("failed") {
                result.outcome = Outcome::Error;
            }
            if status == Some("declined") {
                result.outcome = Outcome::Error;
                result.user_stopped = true;
            }
            let reads = item
                .parsed_cmd
                .iter()
                .flatten()
                .filter(|command| command.kind.as_ref().is_some_and(|kind| kind.as_str() == "read"));
            result.paths = reads.filter_map(|command| command.path.as_ref()).map(Text::owned).collect();
            result.id = id();
            let call = Call {
                tool: "exec_command".to_owned(),
                kind: Kind::Shell,
                command: item
                    .command
                    .and_then(command_line)
                    .map(|command| text::shortened_to_bytes(command, COMMAND)),
                at: began.or(at),
                ..Call::default()
            };
            result.unannounced = unannounced(&result.id, call);
            result.at = at;
            result.recorded = true;
            result.snippet =
                content::snippet(item.aggregated_output.map(content::literals).into_iter().flatten());
            result.output = CommandOutput::of_literals(content::literal(item.aggregated_output));
            Record::of(result.into())
        }
        "FileChange" => {
            let outcome = match item.status.as_ref().map(Text::as_str) {
                Some("completed") => Outcome::Ok,
                Some("failed" | "declined") => Outcome::Error,
                _ => Outcome::Unknown,
            };
            let mut result = file_change(item.changes, outcome);
            result.user_stopped = item.status.as_ref().is_some_and(|status| status.as_str() == "declined");
            result.id = id();
            result.unannounced = unannounced(&result.id, patch_call(began.or(at)));
            result.at = at;
            result.snippet = content::snippet(item.stdout.map(content::literals).into_iter().flatten());
            Record::of(result.into())
        }
        "SubAgentActivity" => sub_agent(item.agent_thread_id.as_ref()),
        "CollabAgentToolCall"
        | "HookPrompt"
        | "ContextCompaction"
        | "Reasoning"
        | "Plan"
        | "WebSearch"
        | "McpToolCall"
        | "ImageView"
        | "EnteredReviewMode"
        | "ExitedReviewMode" => Record::bookkeeping(),
        _ => Record::not_understood(),
    }
}

#[derive(Deserialize)]
struct Change<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    move_path: Option<Text<'a>>,
    #[serde(borrow)]
    unified_diff: Option<Text<'a>>,
    #[serde(borrow)]
    content: Option<RawJson<'a>>,
}

/// What a patch really changed, with absolute paths; also where a shell command carried the patch.
fn file_change(changes: Option<RawJson<'_>>, outcome: Outcome) -> CallResult {
    let mut result = CallResult { outcome, recorded: true, kind: Some(Kind::Edit), ..CallResult::default() };
    let changes = changes.map(RawJson::get).unwrap_or_default();
    let changes: BTreeMap<String, Change<'_>> = json_reader::from_str(changes).unwrap_or_default();
    for (path, change) in changes {
        if change.kind.is_some_and(|kind| kind.as_str() == "add") {
            result.created.push(path.clone());
            result.edits.extend(content::literal(change.content).map(|text| FileEdit::made(&path, text)));
        }
        if let Some(diff) = &change.unified_diff {
            result.edits.push(FileEdit::patched(&path, diff.as_str().lines()));
        }
        result.paths.push(path);
        if let Some(moved) = change.move_path {
            result.created.push(moved.owned());
            result.paths.push(moved.owned());
        }
    }
    if !result.paths.is_empty() && result.paths == result.created {
        result.kind = Some(Kind::Write);
    }
    result
}
