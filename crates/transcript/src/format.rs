//! One normaliser per format: a line in, a [`Record`] out. They never fail; a line that they cannot read is a
//! record that is not understood.

pub(crate) mod claude;
mod claude_calls;
mod claude_line;
mod claude_result;
pub(crate) mod codex;
mod codex_calls;
mod codex_output;
mod codex_script;
pub(crate) mod content;
pub(crate) mod gemini;
pub(crate) mod gemini_document;
mod patch;

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde::Deserialize;
use text::WordFinder;

use self::content::Present;
use crate::entry::Record;
use crate::json_reader::{self, RawJson};
use crate::model::Agent;

/// What one line of `agent`'s transcript says.
pub(crate) fn record(agent: Agent, line: &[u8]) -> Record {
    let text = match std::str::from_utf8(line) {
        Ok(text) => Cow::Borrowed(text),
        // A program's output may have been cut inside a character; the rest of the record is sound.
        Err(_) => Cow::Owned(String::from_utf8_lossy(line).into_owned()),
    };
    // A list would pass for a record whose fields it holds in order.
    if !text.trim_start().starts_with('{') {
        return Record::not_understood();
    }
    match agent {
        Agent::Claude => claude::record(&text),
        Agent::Gemini => gemini::record(&text),
        Agent::Codex => codex::record(&text),
    }
}

/// Whether a prompt that a client submits is the client's own text, not a person's.
pub fn is_text_of_client(agent: Agent, prompt: &str) -> bool {
    let prompt = prompt.trim();
    match agent {
        Agent::Claude => prompt.starts_with(claude::TASK_NOTIFICATION),
        Agent::Gemini => gemini::is_injected(prompt),
        Agent::Codex => false,
    }
}

/// The keys by which the clients' lines are told apart.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LineShape<'a> {
    #[serde(borrow)]
    r#type: Option<RawJson<'a>>,
    timestamp: Option<Present>,
    payload: Option<Present>,
    session_id: Option<Present>,
    uuid: Option<Present>,
    leaf_uuid: Option<Present>,
    project_hash: Option<Present>,
    #[serde(rename = "$set")]
    set: Option<Present>,
    #[serde(rename = "$rewindTo")]
    rewind_to: Option<Present>,
}

/// The clients by which a line looks as if it was written.
pub(crate) fn possible_writers(line: &str) -> Vec<Agent> {
    let is_object = line.trim_start().starts_with('{');
    let Some(shape) = is_object.then(|| json_reader::from_str::<LineShape<'_>>(line).ok()).flatten() else {
        return Vec::new();
    };
    let is_typed = shape.r#type.is_some();
    Agent::ALL
        .into_iter()
        .filter(|agent| match agent {
            Agent::Claude => {
                let has_id = shape.session_id.is_some() || shape.uuid.is_some() || shape.leaf_uuid.is_some();
                is_typed && shape.payload.is_none() && has_id
            }
            Agent::Gemini => {
                shape.set.is_some()
                    || shape.rewind_to.is_some()
                    || shape.project_hash.is_some()
                    || (shape.uuid.is_none() && shape.r#type.is_some_and(|kind| kind.get() == r#""gemini""#))
            }
            Agent::Codex => is_typed && shape.timestamp.is_some() && shape.payload.is_some(),
        })
        .collect()
}

/// Whether a line before the turn can say something about it: files that the agent knows, sub-agents that it launched.
pub(crate) fn tells_of_session(agent: Agent, line: &[u8]) -> bool {
    static CLAUDE: LazyLock<WordFinder> = LazyLock::new(|| {
        WordFinder::new(&[
            r#""file_path":"#,
            r#""notebook_path":"#,
            r#""isAsync":true"#,
            "<task-notification>",
            r#""task_id":"#,
        ])
    });
    static GEMINI: LazyLock<WordFinder> = LazyLock::new(|| WordFinder::new(&[r#""toolCalls":"#]));
    static CODEX: LazyLock<WordFinder> = LazyLock::new(|| {
        WordFinder::new(&[
            "*** ",
            r#""changes":"#,
            r#""type":"read""#,
            r#"{\"task_name\":"#,
            r#"{\"agent_id\":"#,
            r#""agent_message","id":"#,
            "<subagent_notification>",
            "close_agent",
        ])
    });
    let signs = match agent {
        Agent::Claude => &CLAUDE,
        Agent::Gemini => &GEMINI,
        Agent::Codex => &CODEX,
    };
    signs.find(line, 0).is_some()
}

/// The value of the first `"type"` in the first bytes of a line. Formats that write their type before the
/// body let a reader pass over megabytes of bookkeeping without parsing them: an unescaped `"type":"` cannot
/// stand inside a JSON string.
pub(crate) fn early_type(line: &str, within: usize) -> Option<&str> {
    static TYPE: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(r#""type":""#));
    let head = line.get(..line.floor_char_boundary(within.min(line.len())))?;
    let after = head.get(TYPE.find(head.as_bytes())? + TYPE.needle().len()..)?;
    after.split_once('"').map(|(value, _)| value)
}
