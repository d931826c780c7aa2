//! What the lines of Copilot CLI say. Seen in 1.0.102: a command that fails is a success of its tool, and its exit status stands beside
//! that; our hold is a plain message of the user; sub-agents write into the same file, with an id of their own.

use jiff::Timestamp;
use serde::Deserialize;

use super::calls::ToolRequest;
use crate::command_output::CommandOutput;
use crate::entry::{
    CallResult, ContextUse, Entry, LAST_TEXT, PROMPT, Prompt, Record, Said, Standing, TaskReport,
};
use crate::format::content;
use crate::format::early_type;
use crate::json_reader::{self, RawJson};
use crate::json_text::{self, Text};
use crate::model::Outcome;

/// The kind is the first thing in a line.
const EARLY: usize = 80;

/// Families of events that say nothing about a turn.
const BOOKKEEPING: &[&str] = &[
    "auto_mode_switch.",
    "capabilities.",
    "command.",
    "commands.",
    "elicitation.",
    "exit_plan_mode.",
    "external_tool.",
    "factory.",
    "hook.",
    "mcp.",
    "mcp_app.",
    "model.",
    "pending_messages.",
    "permission.",
    "sampling.",
    "session.",
    "session_limits_exhausted.",
    "skill.",
    "subagent.",
    "tool_search.",
    "ui.",
    "user_input.",
];

/// And single ones of the families that do.
const SILENT: &[&str] = &[
    "assistant.idle",
    "assistant.intent",
    "assistant.message_start",
    "assistant.reasoning",
    "assistant.turn_end",
    "assistant.turn_start",
    "assistant.usage",
    "system.message",
    "tool.execution_partial_result",
    "tool.execution_progress",
    "tool.execution_start",
    "tool.user_requested",
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EventLine<'a, Data> {
    data: Data,
    #[serde(default, deserialize_with = "content::instant")]
    timestamp: Option<Timestamp>,
    /// The sub-agent that it is about.
    #[serde(borrow)]
    agent_id: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UserMessage<'a> {
    #[serde(borrow)]
    content: Option<RawJson<'a>>,
    #[serde(borrow)]
    message_id: Option<Text<'a>>,
    /// Who put it there, if no person did.
    #[serde(borrow)]
    source: Option<Text<'a>>,
    #[serde(borrow)]
    delivery: Option<Text<'a>>,
    #[serde(borrow)]
    agent_mode: Option<Text<'a>>,
    #[serde(default)]
    is_autopilot_continuation: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AssistantMessage<'a> {
    #[serde(borrow)]
    content: Option<RawJson<'a>>,
    #[serde(borrow)]
    originating_message_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    tool_requests: Vec<ToolRequest<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolExecution<'a> {
    #[serde(borrow)]
    tool_call_id: Text<'a>,
    success: Option<bool>,
    #[serde(borrow)]
    result: Option<ToolOutput<'a>>,
    #[serde(borrow)]
    error: Option<ToolError<'a>>,
    shell_execution: Option<ShellExecution>,
    #[serde(borrow, default)]
    file_edits: Vec<ToolFile<'a>>,
}

#[derive(Deserialize)]
struct ToolOutput<'a> {
    #[serde(borrow)]
    content: Option<RawJson<'a>>,
}

#[derive(Deserialize)]
struct ToolError<'a> {
    #[serde(borrow)]
    message: Option<RawJson<'a>>,
    #[serde(borrow)]
    code: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ShellExecution {
    exit_code: Option<i32>,
}

#[derive(Deserialize)]
struct ToolFile<'a> {
    #[serde(borrow)]
    path: Text<'a>,
    #[serde(borrow)]
    kind: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct UsageRecord<'a> {
    #[serde(borrow)]
    usage: ResponseUsage<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResponseUsage<'a> {
    #[serde(borrow)]
    model: Option<Text<'a>>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    max_prompt_tokens: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Compaction {
    #[serde(default)]
    success: bool,
    post_compaction_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct Notified<'a> {
    #[serde(borrow)]
    kind: Option<EndedTask<'a>>,
}

/// What a notification of the client is about.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EndedTask<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    shell_id: Option<Text<'a>>,
    exit_code: Option<i32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HookCall<'a> {
    #[serde(borrow)]
    hook_type: Text<'a>,
    input: Option<HookInput>,
}

#[derive(Deserialize)]
struct HookInput {
    timestamp: Option<i64>,
}

/// What one line says.
pub(super) fn record(line: &str) -> Record {
    let Some(kind) = early_type(line, EARLY) else { return Record::not_understood() };
    let understood = match kind {
        "user.message" => json_reader::from_str(line).map(user_message),
        "assistant.message" => json_reader::from_str(line).map(assistant_message),
        "tool.execution_complete" => json_reader::from_str(line).map(tool_execution),
        "session.usage_record" => json_reader::from_str(line).map(usage_record),
        "session.compaction_complete" => json_reader::from_str(line).map(compaction),
        "system.notification" => json_reader::from_str(line).map(notification),
        "hook.start" => return hook_start(line),
        "abort" => return Record::of(Entry::Interrupted),
        _ if SILENT.contains(&kind) || BOOKKEEPING.iter().any(|family| kind.starts_with(family)) => {
            return Record::bookkeeping();
        }
        _ => return Record::not_understood(),
    };
    understood.unwrap_or_else(|_| Record::not_understood())
}

fn user_message(line: EventLine<'_, UserMessage<'_>>) -> Record {
    let message = line.data;
    let typed = content::string(message.content).unwrap_or_default();
    // What comes while the agent works belongs to its turn; what comes after it is a turn of its own.
    let is_steering = message.delivery.as_ref().is_some_and(|delivery| delivery.as_str() == "steering");
    let is_persons = message.source.as_ref().is_none_or(|source| source.as_str() == "user");
    let is_prompt = is_persons && !message.is_autopilot_continuation && line.agent_id.is_none();
    let mut record = Record::bookkeeping();
    if is_prompt && !is_steering && !typed.trim().is_empty() {
        let is_planning = message.agent_mode.as_ref().is_some_and(|mode| mode.as_str() == "plan");
        let text = json_text::snippet(typed.trim(), PROMPT);
        let prompt = Prompt { text, at: line.timestamp, standing: Standing::Opens, is_planning };
        record.entries.push(Entry::Prompt(prompt));
        record.turn = message.message_id.as_ref().map(Text::owned);
    }
    record
}

fn assistant_message(line: EventLine<'_, AssistantMessage<'_>>) -> Record {
    let message = line.data;
    let subagent = line.agent_id.as_ref().map(Text::owned);
    let mut record = Record::bookkeeping();
    record.turn = message.originating_message_id.as_ref().map(Text::owned).filter(|_| subagent.is_none());
    let said = content::string(message.content).unwrap_or_default();
    if subagent.is_none() && !said.trim().is_empty() {
        let text = json_text::snippet(said, LAST_TEXT);
        record.entries.push(Entry::Said(Said { text, at: line.timestamp }));
    }
    for request in &message.tool_requests {
        let mut made = request.call();
        made.call.at = line.timestamp;
        made.call.subagent.clone_from(&subagent);
        record.entries.push(Entry::Call(Box::new(made)));
    }
    record
}

fn tool_execution(line: EventLine<'_, ToolExecution<'_>>) -> Record {
    let ended = line.data;
    let text = ended.result.as_ref().and_then(|result| content::literal(result.content));
    let why = ended.error.as_ref().and_then(|error| content::literal(error.message));
    let mut result = CallResult {
        id: ended.tool_call_id.owned(),
        at: line.timestamp,
        snippet: content::snippet(text.or(why)),
        output: CommandOutput::of_literals(text),
        recorded: true,
        ..CallResult::default()
    };
    for file in &ended.file_edits {
        result.paths.push(file.path.owned());
        if file.kind.as_ref().is_some_and(|kind| kind.as_str() == "create") {
            result.created.push(file.path.owned());
        }
    }
    let told = text.map(shell_state).unwrap_or_default();
    let exit_code = ended.shell_execution.and_then(|shell| shell.exit_code).or(told.exit_code);
    match (exit_code, ended.success) {
        (Some(code), _) => {
            result.exit_code = Some(code);
            result.outcome = if code == 0 { Outcome::Ok } else { Outcome::Error };
        }
        (None, _) if told.running_as.is_some() => result.running_as = told.running_as,
        (None, Some(true)) => result.outcome = Outcome::Ok,
        (None, Some(false)) => {
            let code = ended.error.as_ref().and_then(|error| error.code.as_ref());
            result.outcome = Outcome::Error;
            result.user_stopped = code.is_some_and(|code| matches!(code.as_str(), "rejected" | "denied"));
        }
        (None, None) => {}
    }
    Record::of(result.into())
}

/// How the client says below the output of a command where it stands.
#[derive(Default)]
struct ShellState {
    exit_code: Option<i32>,
    running_as: Option<String>,
}

/// The last line of the output is the client's own, whatever the program printed.
fn shell_state(literal: &str) -> ShellState {
    let tail = json_text::decode(json_text::literal_tail(literal, 400));
    let last = tail.trim_end().lines().next_back().unwrap_or_default();
    let Some(inside) = last.strip_prefix('<').and_then(|last| last.strip_suffix('>')) else {
        return ShellState::default();
    };
    let exit_code = inside.rsplit_once(" with exit code ").and_then(|(_, code)| code.parse().ok());
    // `command started in background with shellId: 2`, or one that was waited for no longer.
    let shell = inside.rsplit_once("shellId: ").map(|(_, shell)| shell);
    let shell = shell.and_then(|shell| shell.split([' ', ',', ')']).next()).map(str::to_owned);
    ShellState { running_as: shell.filter(|_| exit_code.is_none()), exit_code }
}

fn usage_record(line: EventLine<'_, UsageRecord<'_>>) -> Record {
    let usage = line.data.usage;
    let answered = usage.output_tokens.unwrap_or_default();
    match usage.input_tokens {
        Some(input) if input > 0 && line.agent_id.is_none() => Record::of(Entry::Usage(ContextUse {
            tokens: input.saturating_add(answered),
            answered,
            window: usage.max_prompt_tokens,
            model: usage.model.as_ref().map(Text::owned),
        })),
        _ => Record::bookkeeping(),
    }
}

/// After a compaction the usage of earlier responses says nothing any more.
fn compaction(line: EventLine<'_, Compaction>) -> Record {
    match line.data {
        Compaction { success: true, post_compaction_tokens: Some(tokens) } if tokens > 0 => {
            Record::of(Entry::Usage(ContextUse { tokens, ..ContextUse::default() }))
        }
        _ => Record::bookkeeping(),
    }
}

/// What ended in the background.
fn notification(line: EventLine<'_, Notified<'_>>) -> Record {
    let Some(EndedTask { kind, shell_id: Some(shell), exit_code }) = line.data.kind else {
        return Record::bookkeeping();
    };
    if kind.as_str() != "shell_completed" {
        return Record::bookkeeping();
    }
    let outcome = match exit_code {
        Some(0) => Outcome::Ok,
        Some(_) => Outcome::Error,
        None => Outcome::Unknown,
    };
    let task = TaskReport {
        id: shell.owned(),
        outcome,
        exit_code,
        is_running: false,
        output: CommandOutput::default(),
    };
    let result = CallResult { task: Some(Box::new(task)), at: line.timestamp, ..CallResult::default() };
    Record::of(result.into())
}

/// The client writes down that it calls its hooks, ours among them, before it does.
fn hook_start(line: &str) -> Record {
    /// Ids and the kind of the hook stand before what it is told, which can be the whole output of a tool.
    const HEAD: usize = 300;
    let head = line.get(..line.floor_char_boundary(HEAD.min(line.len()))).unwrap_or_default();
    if !head.contains(r#""hookType":"agentStop""#) {
        return Record::bookkeeping();
    }
    let Ok(EventLine { data, timestamp, .. }) = json_reader::from_str::<EventLine<'_, HookCall<'_>>>(line)
    else {
        return Record::not_understood();
    };
    let told = data.input.and_then(|input| Timestamp::from_millisecond(input.timestamp?).ok());
    match told.or(timestamp) {
        Some(at) if data.hook_type.as_str() == "agentStop" => Record::of(Entry::StopAsked(at)),
        _ => Record::bookkeeping(),
    }
}
