//! Gemini CLI: an append-only log of records. The same id written again takes the place of the former
//! record, `$rewindTo` makes records void, `$set` patches state (its replaced history is lossy, and ignored).

use jiff::Timestamp;
use serde::Deserialize;

use super::content::{self, Content, Present};
use crate::command_output::CommandOutput;
use crate::entry::{
    COMMAND, CallResult, ContextUse, Entry, LAST_TEXT, PROMPT, Prompt, Record, Said, Standing, set_paths,
};
use crate::file_edit::FileEdit;
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

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResultPart<'a> {
    #[serde(borrow)]
    function_response: Option<FunctionResponse<'a>>,
}

#[derive(Deserialize)]
struct FunctionResponse<'a> {
    #[serde(borrow)]
    response: Option<Response<'a>>,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    output: Option<RawJson<'a>>,
    #[serde(borrow)]
    error: Option<RawJson<'a>>,
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
        record.entries.push(Entry::Said(Said { text: json_text::snippet(&said, LAST_TEXT), at: at() }));
    }
    for tool_call in line.tool_calls.iter().flatten() {
        let mut call = call(tool_call);
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

#[derive(Deserialize)]
struct GeminiArguments<'a> {
    #[serde(borrow)]
    command: Option<RawJson<'a>>,
    #[serde(borrow)]
    file_path: Option<RawJson<'a>>,
    #[serde(borrow)]
    absolute_path: Option<RawJson<'a>>,
    #[serde(borrow)]
    paths: Option<RawJson<'a>>,
    #[serde(borrow)]
    include: Option<RawJson<'a>>,
    #[serde(borrow)]
    old_string: Option<RawJson<'a>>,
    #[serde(borrow)]
    new_string: Option<RawJson<'a>>,
    #[serde(borrow)]
    content: Option<RawJson<'a>>,
}

/// What is shown to the person of a changed file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ShownFile<'a> {
    #[serde(borrow)]
    original_content: Option<RawJson<'a>>,
    #[serde(borrow)]
    new_content: Option<RawJson<'a>>,
}

fn call(tool_call: &ToolCall<'_>) -> Call {
    let tool = tool_call.name.as_ref().map(Text::owned).unwrap_or_default();
    let kind = match tool.as_str() {
        "run_shell_command" => Kind::Shell,
        "read_file" | "read_many_files" => Kind::Read,
        "replace" | "edit" => Kind::Edit,
        "write_file" => Kind::Write,
        _ => Kind::Other,
    };
    let id = tool_call.id.as_ref().map(Text::owned).unwrap_or_default();
    let mut call = Call { id, tool, kind, ..Call::default() };
    let arguments =
        tool_call.args.and_then(|args| json_reader::from_str::<GeminiArguments<'_>>(args.get()).ok());
    let Some(arguments) = arguments else { return call };
    match kind {
        Kind::Shell => {
            call.command =
                content::string(arguments.command).map(|text| text::shortened_to_bytes(text, COMMAND));
        }
        Kind::Other => {}
        Kind::Read | Kind::Edit | Kind::Write => {
            let mut paths: Vec<String> = [arguments.file_path, arguments.absolute_path]
                .into_iter()
                .filter_map(content::string)
                .collect();
            for list in [arguments.paths, arguments.include].into_iter().flatten() {
                paths.extend(json_reader::from_str::<Vec<String>>(list.get()).unwrap_or_default());
            }
            let texts = [arguments.old_string, arguments.new_string, arguments.content].map(content::literal);
            let path = paths.first().filter(|_| kind != Kind::Read);
            call.edits.extend(path.and_then(|path| edit(path, tool_call.result_display, texts)));
            set_paths(&mut call, paths);
        }
    }
    call
}

/// What the call did to the text of a file: by the whole text before and after, or by what the agent asked for.
fn edit(path: &str, display: Option<RawJson<'_>>, asked: [Option<&str>; 3]) -> Option<FileEdit> {
    let shown = display.and_then(|display| json_reader::from_str::<ShownFile<'_>>(display.get()).ok());
    let (original, new) = shown.map_or((None, None), |shown| {
        (content::literal(shown.original_content), content::literal(shown.new_content))
    });
    match ((original, new), asked) {
        ((None | Some("\"\""), Some(new)), _) => Some(FileEdit::made(path, new)),
        ((original, Some(new)), _) => Some(FileEdit::written(path, original, new)),
        (_, [Some(old), Some(new), _]) => Some(FileEdit::of_part(path, old, new)),
        (_, [_, _, Some(content)]) => Some(FileEdit::written(path, None, content)),
        _ => None,
    }
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
            let (outcome, exit_code) = shell_outcome(output, tool_call.result_display);
            result.outcome = outcome;
            result.exit_code = exit_code;
        }
        Some("success") => result.outcome = Outcome::Ok,
        _ => {}
    }
    result
}

/// A failing command has status `success`; the truth stands in a footer that the client puts under the
/// output. A program may print the same words, but then they are also in the display, which has no footer.
fn shell_outcome(output: Option<RawJson<'_>>, display: Option<RawJson<'_>>) -> (Outcome, Option<i32>) {
    let Some(output) = output.and_then(|output| content::literals(output).first().copied()) else {
        return (Outcome::Unknown, None);
    };
    let head = json_text::decode(json_text::literal_head(output, 200));
    let head = head.strip_prefix("<untrusted_context>\n").unwrap_or(&head);
    if head.starts_with("Command moved to background") {
        return (Outcome::Unknown, None);
    }
    let tail = json_text::decode(json_text::literal_tail(output, 4096));
    let mut lines = tail.trim_end().lines().rev().peekable();
    while lines.next_if(|line| is_footer(line)).is_some() {}
    let signal = lines.next_if(|line| line.starts_with("Signal: "));
    let code = lines.next_if(|line| line.starts_with("Exit Code: "));
    // Printed and really so: then the line stands there twice.
    let topmost = code.or(signal);
    let shown = display.and_then(last_line);
    let above = lines.next().map(|line| line.strip_prefix("Output: ").unwrap_or(line));
    let printed = topmost.is_some() && shown.as_deref() == topmost && above != topmost;
    let (signal, code) = match (signal, code) {
        (signal, Some(_)) if printed => (signal, None),
        (Some(_), None) if printed => (None, None),
        both => both,
    };
    let killed = signal.is_some_and(|line| !matches!(line, "Signal: 0" | "Signal: (none)"));
    match code.and_then(|line| line.strip_prefix("Exit Code: ")?.trim().parse().ok()) {
        Some(0) | None if killed => (Outcome::Error, None),
        Some(0) | None => (Outcome::Ok, Some(0)),
        code => (Outcome::Error, code),
    }
}

fn is_footer(line: &str) -> bool {
    line == "</untrusted_context>"
        || line.starts_with("Process Group PGID: ")
        || line.starts_with("Background PIDs: ")
}

/// The last line of what was shown to the person: a string, or rows of styled pieces.
fn last_line(display: RawJson<'_>) -> Option<String> {
    let raw = display.get();
    if raw.starts_with('"') {
        let tail = json_text::decode(json_text::literal_tail(raw, 4096));
        return tail.trim_end().lines().next_back().map(str::to_owned);
    }
    let rows: Vec<Vec<Part<'_>>> = json_reader::from_str(raw).ok()?;
    let shown = rows
        .iter()
        .rev()
        .map(|row| row.iter().filter_map(|piece| piece.text.as_ref()).map(Text::as_str).collect::<String>());
    shown.map(|row| row.trim_end().to_owned()).find(|row| !row.is_empty())
}
