//! What the lines of Qwen Code say. Seen in 0.24.4: `provenance` says whose words a line is, a hold is not recorded, and the
//! exit status of a command stands in what the person is shown of it. By its source, a line that says that the conversation was rewound
//! has the same parent as the prompt from which on nothing counts any more.

use jiff::Timestamp;
use serde::Deserialize;

use crate::command_output::CommandOutput;
use crate::entry::{CallResult, ContextUse, Entry, LAST_TEXT, PROMPT, Prompt, Record, Said, Standing};
use crate::format::content::{self, Content};
use crate::format::early_type;
use crate::format::function_calls::{self, FunctionResponse};
use crate::json_reader::{self, RawJson};
use crate::json_text::{self, Text};
use crate::model::{Call, Kind, Outcome};

/// The type stands behind three ids and a time.
const EARLY: usize = 400;

/// And the kind of a system's line before what it says.
const REWOUND: &str = r#","subtype":"rewind""#;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct QwenLine<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    parent_uuid: Option<Text<'a>>,
    #[serde(default, deserialize_with = "content::instant")]
    timestamp: Option<Timestamp>,
    #[serde(borrow)]
    provenance: Option<Text<'a>>,
    #[serde(borrow)]
    cwd: Option<Text<'a>>,
    #[serde(borrow)]
    model: Option<Text<'a>>,
    #[serde(borrow)]
    message: Option<QwenMessage<'a>>,
    usage_metadata: Option<UsageMetadata>,
    #[serde(borrow)]
    tool_call_result: Option<ToolCallResult<'a>>,
}

#[derive(Deserialize)]
struct QwenMessage<'a> {
    #[serde(borrow, default)]
    parts: Content<'a, QwenPart<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct QwenPart<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(default)]
    thought: bool,
    #[serde(borrow)]
    function_call: Option<FunctionCall<'a>>,
    #[serde(borrow)]
    function_response: Option<FunctionResponse<'a>>,
}

#[derive(Deserialize)]
struct FunctionCall<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    args: Option<RawJson<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UsageMetadata {
    prompt_token_count: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolCallResult<'a> {
    #[serde(borrow)]
    call_id: Option<Text<'a>>,
    #[serde(borrow)]
    status: Option<Text<'a>>,
    #[serde(borrow)]
    result_display: Option<RawJson<'a>>,
}

/// What the person is shown of a command, or of a changed file.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ResultDisplay<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    exit_code: Option<i32>,
    #[serde(borrow)]
    outcome: Option<Text<'a>>,
    #[serde(borrow)]
    output: Option<RawJson<'a>>,
    #[serde(borrow)]
    file_path: Option<Text<'a>>,
}

/// What one line says.
pub(super) fn record(line: &str) -> Record {
    // Telemetry repeats every call and answer.
    let is_system = early_type(line, EARLY) == Some("system");
    if is_system && !line.split(r#""systemPayload""#).next().is_some_and(|head| head.contains(REWOUND)) {
        return Record::bookkeeping();
    }
    let Ok(line) = json_reader::from_str::<QwenLine<'_>>(line) else { return Record::not_understood() };
    match line.kind.as_str() {
        "user" => user(&line),
        "assistant" => assistant(&line),
        "tool_result" => tool_result(&line),
        // Without a parent it is the first prompt, and nothing is left.
        "system" if is_system => Record::of(Entry::Rewind(line.parent().unwrap_or_default())),
        "system" => Record::bookkeeping(),
        _ => Record::not_understood(),
    }
}

impl QwenLine<'_> {
    fn parent(&self) -> Option<String> {
        self.parent_uuid.as_ref().map(Text::owned)
    }

    fn parts(&self) -> &[QwenPart<'_>] {
        match self.message.as_ref().map(|message| &message.parts) {
            Some(Content::Blocks(parts)) => parts,
            _ => &[],
        }
    }

    /// What is said in the parts, without the agent's thoughts.
    fn said(&self) -> String {
        let parts = self.parts().iter().filter(|part| !part.thought);
        parts.filter_map(|part| part.text.as_ref()).map(Text::as_str).collect()
    }
}

fn user(line: &QwenLine<'_>) -> Record {
    // Older versions do not say whose words these are.
    let is_typed = line.provenance.as_ref().is_none_or(|whose| whose.as_str() == "real_user");
    let said = line.said();
    let typed = said.trim();
    if !is_typed || typed.is_empty() {
        return Record::bookkeeping();
    }
    let text = json_text::snippet(typed, PROMPT);
    let prompt = Prompt { text, at: line.timestamp, standing: Standing::Opens, is_planning: false };
    Record { key: line.parent(), ..Record::of(Entry::Prompt(prompt)) }
}

fn assistant(line: &QwenLine<'_>) -> Record {
    let mut record = Record::bookkeeping();
    let said = line.said();
    if !said.trim().is_empty() {
        let text = json_text::snippet(said, LAST_TEXT);
        record.entries.push(Entry::Said(Said { text, at: line.timestamp }));
    }
    let text = |text: &Option<Text<'_>>| text.as_ref().map(Text::owned).unwrap_or_default();
    for made in line.parts().iter().filter_map(|part| part.function_call.as_ref()) {
        let mut call: Call = function_calls::call(text(&made.id), text(&made.name), made.args, None);
        call.at = line.timestamp;
        if call.kind == Kind::Shell {
            call.cwd = line.cwd.as_ref().map(Text::owned);
        }
        record.entries.push(call.into());
    }
    let tokens = line.usage_metadata.as_ref().and_then(|usage| usage.prompt_token_count);
    if let Some(tokens) = tokens.filter(|tokens| *tokens > 0) {
        let model = line.model.as_ref().map(Text::owned);
        record.entries.push(Entry::Usage(ContextUse { tokens, answered: 0, window: None, model }));
    }
    record
}

fn tool_result(line: &QwenLine<'_>) -> Record {
    let Some(told) = &line.tool_call_result else { return Record::bookkeeping() };
    let response = line.parts().iter().find_map(|part| part.function_response.as_ref()?.response.as_ref());
    let (output, error) = response.map_or((None, None), |response| (response.output, response.error));
    let display = told.result_display;
    let shown = display.and_then(|display| json_reader::from_str::<ResultDisplay<'_>>(display.get()).ok());
    let shown = shown.unwrap_or_default();
    let is_shell = shown.kind.as_ref().is_some_and(|kind| kind.as_str() == "shell_result");
    let is_command = content::literal(output).is_some_and(|text| text.starts_with("\"Command: "));
    let printed = content::literal(shown.output.or(display)).filter(|text| text.len() > 2);
    let text = printed.or(content::literal(output)).or(content::literal(error));
    let mut result = CallResult {
        id: told.call_id.as_ref().map(Text::owned).unwrap_or_default(),
        at: line.timestamp,
        output: CommandOutput::of_literals(text.filter(|_| is_shell || is_command)),
        snippet: content::snippet(text),
        recorded: true,
        ..CallResult::default()
    };
    if let Some(path) = &shown.file_path {
        result.edits.extend(function_calls::edit(path.as_str(), display, [None; 3]));
    }
    match (told.status.as_ref().map(Text::as_str), shown.exit_code) {
        (Some("cancelled"), _) => {
            result.outcome = Outcome::Error;
            result.user_stopped = true;
        }
        (_, Some(code)) => {
            result.exit_code = Some(code);
            result.outcome = if code == 0 { Outcome::Ok } else { Outcome::Error };
        }
        // It was killed, or runs on in the background.
        (_, None) if is_shell => {
            let has_failed = shown.outcome.as_ref().is_some_and(|outcome| outcome.as_str() == "failed");
            result.outcome = if has_failed { Outcome::Error } else { Outcome::Unknown };
        }
        (Some("error"), None) => result.outcome = Outcome::Error,
        (Some("success") | None, None) if error.is_some() => result.outcome = Outcome::Error,
        // Sub-agents' files have no status.
        (Some("success") | None, None) => {
            (result.outcome, result.exit_code) = match is_command {
                true => function_calls::shell_outcome(output, display),
                false => (Outcome::Ok, None),
            };
        }
        _ => {}
    }
    Record::of(result.into())
}
