//! Codex CLI: rollouts in JSON lines. `response_item` records are common to all versions; newer ones add
//! `item_completed` events with what a command or a patch really did, older ones other events.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::content::{self, Content, Present};
use super::patch::patched_files;
use crate::entry::{
    COMMAND, CallMade, CallResult, ContextUse, Entry, LAST_TEXT, OWN_PREFIX, PROMPT, Prompt, Record, SCRIPT,
    SNIPPET, Said, Standing, set_paths,
};
use crate::model::{Call, Kind, Outcome};
use crate::text::{self, Snippet, Text};

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
    "turn_aborted",
    "turn_complete",
    "turn_diff",
    "view_image_tool_call",
    "warning",
    "web_search_begin",
    "web_search_end",
];

const BOOKKEEPING_ITEMS: &[&str] = &[
    "additional_tools",
    "agent_message",
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

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    timestamp: Option<Text<'a>>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ResponseItem<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    role: Option<Text<'a>>,
    #[serde(borrow, default)]
    content: Option<Content<'a, TextBlock<'a>>>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    call_id: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow)]
    action: Option<&'a RawValue>,
    #[serde(borrow, rename = "internal_chat_message_metadata_passthrough")]
    metadata: Option<Metadata<'a>>,
}

#[derive(Deserialize)]
struct TextBlock<'a> {
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
    item: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    info: Option<&'a RawValue>,
    #[serde(borrow)]
    call_id: Option<Text<'a>>,
    success: Option<bool>,
    #[serde(borrow)]
    changes: Option<&'a RawValue>,
    #[serde(borrow)]
    stdout: Option<&'a RawValue>,
    #[serde(borrow)]
    stderr: Option<&'a RawValue>,
    exit_code: Option<i32>,
    #[serde(borrow)]
    aggregated_output: Option<&'a RawValue>,
    #[serde(borrow)]
    agent_thread_id: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow, default)]
    content: Option<Content<'a, TextBlock<'a>>>,
    #[serde(borrow)]
    status: Option<Text<'a>>,
    exit_code: Option<i32>,
    #[serde(borrow)]
    command: Option<&'a RawValue>,
    #[serde(borrow)]
    agent_thread_id: Option<Text<'a>>,
    #[serde(borrow)]
    aggregated_output: Option<&'a RawValue>,
    #[serde(borrow, default)]
    parsed_cmd: Option<Vec<ParsedCommand<'a>>>,
    #[serde(borrow)]
    changes: Option<&'a RawValue>,
    #[serde(borrow)]
    stdout: Option<&'a RawValue>,
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
    last_token_usage: Option<TokenUsage>,
    model_context_window: Option<u64>,
}

#[derive(Deserialize)]
struct TokenUsage {
    total_tokens: Option<u64>,
}

/// What one line says.
pub(crate) fn record(line: &str) -> Record {
    if super::early_type(line, 120).is_some_and(|kind| BOOKKEEPING.contains(&kind)) {
        return Record::bookkeeping();
    }
    let Ok(line) = serde_json::from_str::<Line<'_>>(line) else { return Record::not_understood() };
    let payload = line.payload.map(RawValue::get).unwrap_or_default();
    let at = line.timestamp.as_ref().map(Text::owned);
    match line.kind.as_str() {
        "response_item" => match serde_json::from_str::<ResponseItem<'_>>(payload) {
            Ok(item) => response_item(&item, at),
            Err(_) => Record::not_understood(),
        },
        "event_msg" => match serde_json::from_str::<Event<'_>>(payload) {
            Ok(event) => event_record(&event, at),
            Err(_) => Record::not_understood(),
        },
        kind if BOOKKEEPING.contains(&kind) => Record::bookkeeping(),
        _ => Record::not_understood(),
    }
}

fn response_item(item: &ResponseItem<'_>, at: Option<String>) -> Record {
    let mut record = match item.kind.as_str() {
        "message" if item.role.as_ref().is_some_and(|role| role.as_str() == "user") => {
            let mut record = Record::bookkeeping();
            let standing = match says_user(item) {
                Some(true) => Standing::UnlessEarlier,
                Some(false) => return record,
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
            Record::of(Entry::Call(Box::new(made)))
        }
        "function_call_output" | "custom_tool_call_output" => {
            let mut result = output(item.output);
            result.id = call_id(item);
            result.at = at;
            Record::of(result.into())
        }
        kind if BOOKKEEPING_ITEMS.contains(&kind) => Record::bookkeeping(),
        _ => Record::not_understood(),
    };
    record.turn = item.metadata.as_ref().and_then(|metadata| metadata.turn_id.as_ref()).map(Text::owned);
    record
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

fn joined(content: Option<&Content<'_, TextBlock<'_>>>) -> String {
    match content {
        Some(Content::Text(text)) => text.owned(),
        Some(Content::Blocks(blocks)) => {
            blocks.iter().filter_map(|block| block.text.as_ref()).map(Text::as_str).collect()
        }
        None => String::new(),
    }
}

fn prompt(typed: &str, at: Option<String>, standing: Standing) -> Option<Entry> {
    let typed = typed.trim();
    let injected = typed.is_empty()
        || typed.starts_with(OWN_PREFIX)
        || INJECTED.iter().any(|prefix| typed.starts_with(prefix));
    if injected {
        return None;
    }
    let text = text::snippet(typed, PROMPT);
    Some(Entry::Prompt(Prompt { text, at, standing }))
}

fn call_id(item: &ResponseItem<'_>) -> String {
    item.call_id.as_ref().or(item.id.as_ref()).map(Text::owned).unwrap_or_default()
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow, alias = "cmd")]
    command: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    path: Option<&'a RawValue>,
    session_id: Option<u64>,
    #[serde(borrow)]
    cell_id: Option<&'a RawValue>,
}

fn call(item: &ResponseItem<'_>) -> CallMade {
    let tool = match &item.name {
        Some(name) => name.owned(),
        None => item.kind.owned(),
    };
    let mut call = Call { id: call_id(item), tool, ..Call::default() };
    let mut polls = None;
    let arguments = match item.arguments.or(item.action) {
        Some(raw) if raw.get().starts_with('"') => text::decode(raw.get()),
        Some(raw) => raw.get().to_owned(),
        None => String::new(),
    };
    let arguments = serde_json::from_str::<Arguments<'_>>(&arguments).ok();
    match call.tool.as_str() {
        "exec_command" | "shell" | "shell_command" | "local_shell" | "local_shell_call"
        | "container.exec" | "unified_exec" => {
            call.kind = Kind::Shell;
            let command = arguments.as_ref().and_then(|arguments| arguments.command).and_then(command_line);
            if let Some(patch) = command.as_deref().filter(|command| carries_patch(command)) {
                edit(&mut call, patch);
            }
            call.command = command.map(|command| text::head(command, COMMAND));
        }
        "apply_patch" => {
            let patch = content::string(item.input)
                .or_else(|| arguments.as_ref().and_then(|arguments| content::string(arguments.input)));
            edit(&mut call, &patch.unwrap_or_default());
        }
        "read_file" | "view_image" => {
            call.kind = Kind::Read;
            let path = arguments.as_ref().and_then(|arguments| content::string(arguments.path));
            set_paths(&mut call, path.into_iter().collect());
        }
        // Looks after a session that an earlier call started; its command is that call's.
        "write_stdin" | "wait" => {
            polls =
                arguments.as_ref().and_then(|arguments| match (arguments.session_id, arguments.cell_id) {
                    (Some(session), _) => Some(session.to_string()),
                    (None, cell) => content::string(cell).map(|cell| script_task(&cell)),
                });
        }
        _ => {}
    }
    CallMade { call, polls }
}

/// The id under which a script that goes on is remembered; sessions have numbers of their own.
fn script_task(cell: &str) -> String {
    format!("{SCRIPT}{cell}")
}

/// The client does not run such a command: it applies the patch in it.
fn carries_patch(command: &str) -> bool {
    let first = match command.split_once("&&") {
        Some((cd, rest)) if cd.trim_start().starts_with("cd ") => rest,
        _ => command,
    };
    let first = first.trim_start();
    (first.starts_with("apply_patch ") || first.starts_with("apply_patch<<"))
        && first.contains("*** Begin Patch")
}

/// A patch edits files, unless all that it does is make new ones.
fn edit(call: &mut Call, patch: &str) {
    let files = patched_files(patch);
    let only_creates = !files.paths.is_empty() && files.paths == files.created;
    call.kind = if only_creates { Kind::Write } else { Kind::Edit };
    call.created = files.created;
    set_paths(call, files.paths);
}

/// The command as one would type it. Of `bash -lc SCRIPT` that is the script.
fn command_line(command: &RawValue) -> Option<String> {
    if let Some(line) = content::string(Some(command)) {
        return Some(line);
    }
    let words: Vec<String> = serde_json::from_str(command.get()).ok()?;
    if let [shell, flag, script] = words.as_slice() {
        let shell = shell.rsplit('/').next().unwrap_or(shell);
        if matches!(shell, "bash" | "sh" | "zsh" | "dash")
            && matches!(flag.as_str(), "-lc" | "-c" | "-ic" | "-lic")
        {
            return Some(script.clone());
        }
    }
    Some(words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "))
}

fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:=@%+,".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Older versions: the whole output is a JSON document in a string.
#[derive(Deserialize)]
struct OutputDocument<'a> {
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    metadata: OutputMetadata,
}

#[derive(Deserialize)]
struct OutputMetadata {
    exit_code: Option<i32>,
}

#[derive(Deserialize)]
struct OutputObject<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    success: Option<bool>,
}

fn output(raw: Option<&RawValue>) -> CallResult {
    let Some(raw) = raw else { return CallResult::default() };
    if raw.get().starts_with('{')
        && let Ok(OutputObject { content: Some(content), success }) = serde_json::from_str(raw.get())
    {
        let mut result = output(Some(content));
        if let (Some(success), true) = (success, result.unmarked) {
            result.outcome = if success { Outcome::Ok } else { Outcome::Error };
            result.unmarked = false;
        }
        return result;
    }
    let Some(literal) = content::first_literal(raw) else { return CallResult::default() };
    if literal.starts_with(r#""{\"output\""#) || literal.starts_with(r#""{\"metadata\""#) {
        let document = text::decode(literal);
        if let Ok(OutputDocument { output, metadata }) = serde_json::from_str(&document) {
            return CallResult {
                snippet: output.and_then(|output| content::snippet(output, SNIPPET)),
                ..exited(metadata.exit_code)
            };
        }
    }
    CallResult { snippet: printed(raw), ..header(&text::decode(text::literal_head(literal, HEADER))) }
}

/// The client's own lines above a command's output take no more than this.
const HEADER: usize = 2048;

/// What the program printed: the output without the client's own lines above it.
fn printed(raw: &RawValue) -> Option<String> {
    let mut snippet = Snippet::new(SNIPPET);
    let mut first = true;
    content::each_literal(raw, |literal| {
        let below = if std::mem::take(&mut first) { below_header(literal) } else { literal };
        snippet.push_literal(below);
    });
    Some(snippet.finish()).filter(|text| !text.is_empty())
}

fn below_header(literal: &str) -> &str {
    const OUTPUT: &str = r"\nOutput:\n";
    let head = text::literal_head(literal, HEADER);
    match head.find(OUTPUT).and_then(|at| literal.get(at + OUTPUT.len()..)) {
        Some(below) => below,
        None => literal,
    }
}

fn exited(exit_code: Option<i32>) -> CallResult {
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
            return CallResult { outcome: Outcome::Ok, ..CallResult::default() };
        }
        if line.starts_with("Script failed") {
            return CallResult { outcome: Outcome::Error, ..CallResult::default() };
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

fn event_record(event: &Event<'_>, at: Option<String>) -> Record {
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
        "task_started" | "turn_started" => Record::of(Entry::TurnStarts),
        "patch_apply_end" => {
            let outcome = event.success.map_or(Outcome::Unknown, succeeded);
            let snippet = if outcome == Outcome::Error { event.stderr } else { event.stdout };
            let mut result = file_change(event.changes, outcome);
            result.id = event.call_id.as_ref().map(Text::owned).unwrap_or_default();
            result.at = at;
            result.snippet = snippet.and_then(|text| content::snippet(text, SNIPPET));
            Record::of(result.into())
        }
        "exec_command_end" => {
            let mut result = exited(event.exit_code);
            result.id = event.call_id.as_ref().map(Text::owned).unwrap_or_default();
            result.at = at;
            result.recorded = true;
            result.snippet = event.aggregated_output.and_then(|text| content::snippet(text, SNIPPET));
            Record::of(result.into())
        }
        "item_completed" => match event.item.map(|item| serde_json::from_str::<Item<'_>>(item.get())) {
            Some(Ok(item)) => item_completed(&item, at),
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
fn unannounced(id: &str, call: Call) -> Option<Call> {
    id.starts_with("exec-").then(|| Call { id: id.to_owned(), ..call })
}

fn said(text: String, at: Option<String>) -> Record {
    Record::of(Entry::Said(Said { text: text::snippet(&text, LAST_TEXT), at }))
}

fn succeeded(success: bool) -> Outcome {
    if success { Outcome::Ok } else { Outcome::Error }
}

fn token_count(info: Option<&RawValue>) -> Record {
    let info = info.and_then(|info| serde_json::from_str::<TokenInfo>(info.get()).ok());
    let tokens = info.as_ref().and_then(|info| info.last_token_usage.as_ref()?.total_tokens);
    match tokens {
        Some(tokens) if tokens > 0 => {
            let window = info.and_then(|info| info.model_context_window);
            Record::of(Entry::Usage(ContextUse { tokens, window, model: None }))
        }
        _ => Record::bookkeeping(),
    }
}

fn item_completed(item: &Item<'_>, at: Option<String>) -> Record {
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
                command: item.command.and_then(command_line).map(|command| text::head(command, COMMAND)),
                at: at.clone(),
                ..Call::default()
            };
            result.unannounced = unannounced(&result.id, call);
            result.at = at;
            result.recorded = true;
            result.snippet = item.aggregated_output.and_then(|text| content::snippet(text, SNIPPET));
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
            let call =
                Call { tool: "apply_patch".to_owned(), kind: Kind::Edit, at: at.clone(), ..Call::default() };
            result.unannounced = unannounced(&result.id, call);
            result.at = at;
            result.snippet = item.stdout.and_then(|text| content::snippet(text, SNIPPET));
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
}

/// What a patch really changed, with absolute paths; also where a shell command carried the patch.
fn file_change(changes: Option<&RawValue>, outcome: Outcome) -> CallResult {
    let mut result = CallResult { outcome, recorded: true, kind: Some(Kind::Edit), ..CallResult::default() };
    let changes = changes.map(RawValue::get).unwrap_or_default();
    let changes: BTreeMap<String, Change<'_>> = serde_json::from_str(changes).unwrap_or_default();
    for (path, change) in changes {
        if change.kind.is_some_and(|kind| kind.as_str() == "add") {
            result.created.push(path.clone());
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

/// Whether a line looks like one of Codex's.
pub(crate) fn recognises(line: &str) -> bool {
    #[derive(Deserialize)]
    struct Shape {
        timestamp: Present,
        r#type: Present,
        payload: Present,
    }
    serde_json::from_str::<Shape>(line).is_ok_and(|shape| {
        let Shape { timestamp: Present, r#type: Present, payload: Present } = shape;
        true
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_become_a_command_line() {
        for (raw, expected) in [
            (r#""make test""#, "make test"),
            (r#"["bash","-lc","cd x && make"]"#, "cd x && make"),
            (r#"["/usr/bin/zsh","-c","ls"]"#, "ls"),
            (r#"["git","commit","-m","it's"]"#, r"git commit -m 'it'\''s'"),
            (r#"["printf",""]"#, "printf ''"),
        ] {
            let value: Box<RawValue> = serde_json::from_str(raw).unwrap();
            assert_eq!(command_line(&value).as_deref(), Some(expected));
        }
    }
}
