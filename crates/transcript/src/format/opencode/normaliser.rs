//! What the messages of opencode say. Seen in 1.18.33: a call and its result are one part, which is written anew until the call has
//! ended; the exit status of a command is in its metadata; the client's own words in the person's name are marked as synthetic.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};

use crate::command_output::CommandOutput;
use crate::entry::{
    COMMAND, CallResult, ContextUse, Entry, LAST_TEXT, PROMPT, Prompt, Record, Said, Standing, set_paths,
};
use crate::file_edit::FileEdit;
use crate::format::content;
use crate::json_reader::{self, IfReadable, RawJson};
use crate::json_text::{self, Text};
use crate::model::{Call, Kind, Outcome};

#[derive(Deserialize)]
struct MessageLine<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    info: MessageInfo<'a>,
    #[serde(borrow, default)]
    parts: Vec<IfReadable<MessagePart<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MessageInfo<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    role: Text<'a>,
    time: Option<Times>,
    #[serde(borrow)]
    agent: Option<Text<'a>>,
    #[serde(borrow)]
    path: Option<Place<'a>>,
    #[serde(borrow, rename = "modelID")]
    model: Option<Text<'a>>,
    #[serde(borrow)]
    error: Option<MessageError<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Times {
    created: Option<i64>,
    start: Option<i64>,
    end: Option<i64>,
}

#[derive(Deserialize)]
struct Place<'a> {
    #[serde(borrow)]
    cwd: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct MessageError<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
}

/// Any part: which fields it has depends on its type.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MessagePart<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    text: Option<RawJson<'a>>,
    #[serde(default)]
    synthetic: bool,
    /// Shown to the person, and not sent to the model.
    #[serde(default)]
    ignored: bool,
    time: Option<Times>,
    #[serde(borrow)]
    tool: Option<Text<'a>>,
    #[serde(borrow, rename = "callID")]
    call: Option<Text<'a>>,
    #[serde(borrow)]
    state: Option<Box<ToolState<'a>>>,
    tokens: Option<MessageTokens>,
    /// Of a sub-agent that the person called.
    #[serde(borrow)]
    prompt: Option<RawJson<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ToolState<'a> {
    #[serde(borrow)]
    status: Text<'a>,
    #[serde(borrow)]
    input: IfReadable<ToolInput<'a>>,
    #[serde(borrow)]
    output: Option<RawJson<'a>>,
    #[serde(borrow)]
    error: Option<RawJson<'a>>,
    #[serde(borrow)]
    metadata: IfReadable<ToolMetadata<'a>>,
    time: Option<Times>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ToolInput<'a> {
    #[serde(borrow)]
    command: Option<RawJson<'a>>,
    #[serde(borrow)]
    workdir: Option<RawJson<'a>>,
    #[serde(borrow)]
    file_path: Option<RawJson<'a>>,
    #[serde(borrow)]
    old_string: Option<RawJson<'a>>,
    #[serde(borrow)]
    new_string: Option<RawJson<'a>>,
    #[serde(borrow)]
    content: Option<RawJson<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ToolMetadata<'a> {
    /// Null if the command was killed.
    #[serde(borrow, default, deserialize_with = "even_null")]
    exit: Option<RawJson<'a>>,
    /// The file was there before it was written.
    #[serde(borrow)]
    exists: Option<RawJson<'a>>,
    #[serde(borrow)]
    files: IfReadable<Vec<PatchedFile<'a>>>,
    /// Of a sub-agent.
    #[serde(borrow)]
    session_id: Option<RawJson<'a>>,
    #[serde(borrow)]
    background: Option<RawJson<'a>>,
    #[serde(borrow)]
    interrupted: Option<RawJson<'a>>,
}

/// A file of a patch.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PatchedFile<'a> {
    #[serde(borrow)]
    file_path: Option<Text<'a>>,
    #[serde(borrow)]
    move_path: Option<Text<'a>>,
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    patch: Option<Text<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct MessageTokens {
    input: u64,
    output: u64,
    reasoning: u64,
    cache: CachedTokens,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CachedTokens {
    read: u64,
    write: u64,
}

/// What one message says.
pub(super) fn record(line: &str) -> Record {
    let Ok(message) = json_reader::from_str::<MessageLine<'_>>(line) else { return Record::not_understood() };
    match message.info.role.as_str() {
        "user" => user(&message),
        "assistant" => assistant(&message),
        _ => Record::not_understood(),
    }
}

impl<'a> MessageLine<'a> {
    fn parts(&self) -> impl Iterator<Item = &MessagePart<'a>> {
        self.parts.iter().filter_map(|part| part.0.as_ref())
    }
}

fn instant(milliseconds: Option<i64>) -> Option<Timestamp> {
    Timestamp::from_millisecond(milliseconds?).ok()
}

fn user(message: &MessageLine<'_>) -> Record {
    let at = message.info.time.as_ref().and_then(|time| instant(time.created));
    let texts = |is_synthetic: bool| {
        let texts = message
            .parts()
            .filter(move |part| part.kind.as_str() == "text" && part.synthetic == is_synthetic);
        let said: Vec<String> =
            texts.filter(|part| !part.ignored).filter_map(|part| content::string(part.text)).collect();
        said.join("\n")
    };
    let asked = message.parts().filter(|part| part.kind.as_str() == "subtask");
    let asked: Vec<String> = asked.filter_map(|part| content::string(part.prompt)).collect();
    let typed = format!("{}{}", texts(false), asked.join("\n"));
    let has_attachment = message.parts().any(|part| part.kind.as_str() == "file" && !part.synthetic);
    if typed.trim().is_empty() && !has_attachment {
        return told(texts(true));
    }
    let prompt = Prompt {
        text: json_text::snippet(typed.trim(), PROMPT),
        at,
        standing: Standing::Opens,
        is_planning: message.info.agent.as_ref().is_some_and(|agent| agent.as_str() == "plan"),
    };
    let id = message.id.as_ref().or(message.info.id.as_ref()).map(Text::owned);
    Record { turn: id, ..Record::of(Entry::Prompt(prompt)) }
}

/// What was put before the agent in the person's name, by the client or by another program.
fn told(text: String) -> Record {
    let ended = text.strip_prefix("<task id=\"").and_then(|rest| rest.split_once('"'));
    match ended {
        Some((id, rest)) if !rest.starts_with(" state=\"running\"") => {
            Record::of(Entry::Answered(id.to_owned()))
        }
        _ if text.is_empty() => Record::bookkeeping(),
        _ => Record::of(Entry::ToldAside(text)),
    }
}

fn assistant(message: &MessageLine<'_>) -> Record {
    let info = &message.info;
    let mut record = Record::bookkeeping();
    let made = info.time.as_ref().and_then(|time| instant(time.created));
    for part in message.parts() {
        let began = part.time.as_ref().and_then(|time| instant(time.start)).or(made);
        match part.kind.as_str() {
            "text" if !part.ignored => {
                let text = part.text.map(|text| json_text::decode(text.get())).unwrap_or_default();
                if !text.trim().is_empty() {
                    let text = json_text::snippet(text, LAST_TEXT);
                    record.entries.push(Entry::Said(Said { text, at: began }));
                }
            }
            "tool" => tool(info, part, made, &mut record.entries),
            "step-finish" => {
                let Some(MessageTokens { input, output, reasoning, cache }) = &part.tokens else { continue };
                let answered = output.saturating_add(*reasoning);
                let tokens =
                    [*input, cache.read, cache.write, answered].into_iter().fold(0, u64::saturating_add);
                if tokens > 0 {
                    let model = info.model.as_ref().map(Text::owned);
                    record.entries.push(Entry::Usage(ContextUse { tokens, answered, window: None, model }));
                }
            }
            _ => {}
        }
    }
    let is_named = |error: &MessageError<'_>| {
        error.name.as_ref().is_some_and(|name| name.as_str() == "MessageAbortedError")
    };
    if info.error.as_ref().is_some_and(is_named) {
        record.entries.push(Entry::Interrupted);
    }
    record
}

fn tool(info: &MessageInfo<'_>, part: &MessagePart<'_>, made: Option<Timestamp>, entries: &mut Vec<Entry>) {
    let (Some(name), Some(state)) = (&part.tool, &part.state) else { return };
    let (no_input, no_metadata) = Default::default();
    let input = state.input.0.as_ref().unwrap_or(&no_input);
    let metadata = state.metadata.0.as_ref().unwrap_or(&no_metadata);
    let kind = match name.as_str() {
        "bash" => Kind::Shell,
        "read" => Kind::Read,
        "edit" | "multiedit" | "apply_patch" | "patch" => Kind::Edit,
        "write" => Kind::Write,
        _ => Kind::Other,
    };
    let time = |which: fn(&Times) -> Option<i64>| state.time.as_ref().and_then(|time| instant(which(time)));
    let id = part.call.as_ref().map(Text::owned).unwrap_or_default();
    let at = time(|time| time.start).or(made);
    let mut call = Call { id: id.clone(), tool: name.owned(), kind, at, ..Call::default() };
    match kind {
        Kind::Shell => {
            call.command = content::string(input.command).map(|text| text::shortened_to_bytes(text, COMMAND));
            let started_in = info.path.as_ref().and_then(|path| path.cwd.as_ref()).map(Text::owned);
            call.cwd = content::string(input.workdir).or(started_in);
        }
        Kind::Read | Kind::Edit | Kind::Write => named_files(&mut call, input, metadata),
        Kind::Other => {}
    }
    entries.push(call.into());
    let session = content::string(metadata.session_id);
    let is_background = is(metadata.background, "true");
    entries.extend(session.clone().map(Entry::SubAgent));
    if is_background {
        entries.extend(session.map(Entry::Launched));
    }
    if !matches!(state.status.as_str(), "completed" | "error") {
        return;
    }
    let text = content::literal(state.output).or(content::literal(state.error));
    let mut result = CallResult {
        id,
        at: time(|time| time.end),
        output: CommandOutput::of_literals(text.filter(|_| kind == Kind::Shell)),
        snippet: content::snippet(text),
        recorded: true,
        ..CallResult::default()
    };
    let exit: Option<i32> = metadata.exit.and_then(|exit| exit.get().parse().ok());
    (result.outcome, result.exit_code) = match (state.status.as_str(), kind, exit) {
        ("error", ..) => (Outcome::Error, None),
        (_, Kind::Shell, Some(0)) => (Outcome::Ok, Some(0)),
        (_, Kind::Shell, code @ Some(_)) => (Outcome::Error, code),
        // It was killed: by its time limit, or by the person.
        (_, Kind::Shell, None) if is(metadata.exit, "null") => (Outcome::Error, None),
        (_, Kind::Shell, None) => (Outcome::Unknown, None),
        // It will tell when it has ended.
        _ if is_background => (Outcome::Unknown, None),
        _ => (Outcome::Ok, None),
    };
    let end = text.map(|text| json_text::decode(json_text::literal_tail(text, 300))).unwrap_or_default();
    let is_aborted =
        is(metadata.exit, "null") && end.trim_end().ends_with("User aborted the command\n</shell_metadata>");
    let is_refused = state.status.as_str() == "error" && end.starts_with("The user rejected permission");
    result.user_stopped = is_aborted || is_refused || is(metadata.interrupted, "true");
    entries.push(result.into());
}

/// The files of a call, and what became of their texts.
fn named_files(call: &mut Call, input: &ToolInput<'_>, metadata: &ToolMetadata<'_>) {
    let path = content::string(input.file_path);
    let mut paths: Vec<String> = path.iter().cloned().collect();
    for file in metadata.files.0.iter().flatten() {
        let moved = file.move_path.as_ref().or(file.file_path.as_ref()).map(Text::owned);
        let Some(path) = moved.filter(|path| !paths.contains(path)) else { continue };
        if file.kind.as_ref().is_some_and(|kind| kind.as_str() == "add") {
            call.created.push(path.clone());
        }
        if let Some(patch) = &file.patch {
            call.edits.push(FileEdit::patched(&path, patched_lines(patch.as_str())));
        }
        paths.push(path);
    }
    if let (Some(path), true) = (&path, call.kind != Kind::Read) {
        let texts = [input.old_string, input.new_string, input.content].map(content::literal);
        let is_new = is(metadata.exists, "false");
        call.edits.extend(match texts {
            [_, _, Some(content)] if is_new => Some(FileEdit::made(path, content)),
            [_, _, Some(content)] => Some(FileEdit::written(path, None, content)),
            [Some("\"\""), Some(new), _] => Some(FileEdit::made(path, new)),
            [Some(old), Some(new), _] => Some(FileEdit::of_part(path, old, new)),
            _ => None,
        });
        if is_new {
            call.created.push(path.clone());
        }
    }
    set_paths(call, paths);
}

/// The lines of a unified diff that say what changes.
fn patched_lines(patch: &str) -> impl Iterator<Item = &str> {
    patch.lines().skip_while(|line| !line.starts_with("@@"))
}

fn is(value: Option<RawJson<'_>>, expected: &str) -> bool {
    value.is_some_and(|value| value.get() == expected)
}

/// A value that is there, also where it is null.
fn even_null<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RawJson<'a>>, D::Error> {
    RawJson::deserialize(deserializer).map(Some)
}
