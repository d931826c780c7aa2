//! Which API a client speaks, whether it asks for the agent's next step, and the answer in that API's events.

mod anthropic;
mod chat;
mod gemini;
mod openai;

use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};

use crate::http::Answer;
use crate::scenario::{Call, Step};

/// The APIs that clients speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// Claude Code.
    Anthropic,
    /// Codex CLI.
    Openai,
    /// Gemini CLI.
    Gemini,
    /// Whatever can be pointed to chat completions.
    Chat,
}

/// What an answer is made with.
pub(crate) struct AnswerContext<'a> {
    /// The number of the request; ids are made of it.
    pub(crate) number: usize,
    pub(crate) folder: &'a Path,
}

impl AnswerContext<'_> {
    fn absolute(&self, path: &Path) -> String {
        self.folder.join(path).display().to_string()
    }

    /// Where a scenario does not say how long the conversation is, it grows with every request.
    fn tokens(&self, step: &Step) -> u64 {
        step.tokens.unwrap_or(1000 + 100 * self.number as u64)
    }
}

/// How many tokens every answer is said to have.
const ANSWER_TOKENS: u64 = 42;

/// What is answered to whatever is no request for the agent's next step, such as for a title or whether somebody is there.
pub(crate) fn side_answer(api: Option<Api>, path: &str, body: &Value) -> Answer {
    match api {
        Some(Api::Anthropic) => anthropic::side(path),
        Some(Api::Openai) => openai::side(path),
        Some(Api::Gemini) => gemini::side(path),
        Some(Api::Chat) => chat::side(path, body),
        // A list of models is asked for at times; an empty one leaves the client with those it knows.
        None => Answer::ok(json!({"models": []})),
    }
}

impl Api {
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        const PLACES: [(&str, Api); 6] = [
            ("/v1/messages", Api::Anthropic),
            ("/responses", Api::Openai),
            (":generateContent", Api::Gemini),
            (":streamGenerateContent", Api::Gemini),
            (":countTokens", Api::Gemini),
            ("/chat/completions", Api::Chat),
        ];
        PLACES.into_iter().find(|(place, _)| path.contains(place)).map(|(_, api)| api)
    }

    /// Whether the agent's next step is asked for.
    pub(crate) fn is_turn(self, path: &str, body: &Value) -> bool {
        match self {
            Self::Anthropic => anthropic::is_turn(path, body),
            Self::Openai => openai::is_turn(path, body),
            Self::Gemini => gemini::is_turn(path, body),
            Self::Chat => chat::is_turn(path, body),
        }
    }

    pub(crate) fn user_texts(self, body: &Value) -> Vec<String> {
        match self {
            Self::Anthropic => anthropic::user_texts(body),
            Self::Openai => openai::user_texts(body),
            Self::Gemini => gemini::user_texts(body),
            Self::Chat => chat::user_texts(body),
        }
    }

    pub(crate) fn answer(self, step: &Step, place: &AnswerContext<'_>, body: &Value) -> Answer {
        match self {
            Self::Anthropic => anthropic::answer(step, place, body),
            Self::Openai => openai::answer(step, place, body),
            Self::Gemini => gemini::answer(step, place),
            Self::Chat => chat::answer(step, place, body),
        }
    }
}

/// A call as the client's own tool: its name, which is one of those that run, read, write and edit, and its input.
fn tool(call: &Call, place: &AnswerContext<'_>, names: [&str; 4]) -> (String, Value) {
    let [run, read, write, edit] = names;
    let (name, input) = match call {
        Call::Run(command) => (run, json!({"command": command, "description": "Run a command"})),
        Call::Read(path) => (read, json!({"file_path": place.absolute(path)})),
        Call::Write { path, content } => {
            (write, json!({"file_path": place.absolute(path), "content": content}))
        }
        Call::Edit { path, old, new } => {
            (edit, json!({"file_path": place.absolute(path), "old_string": old, "new_string": new}))
        }
        Call::Tool { name, input, .. } => (name.as_str(), input.clone()),
    };
    (name.to_owned(), input)
}

/// What an object has under this name; null if there is none.
fn at<'a>(value: &'a Value, name: &str) -> &'a Value {
    value.get(name).unwrap_or(&Value::Null)
}

/// The elements of the list of this name; none where there is no list.
fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    elements(at(value, name))
}

fn elements(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The texts of a message: it is one text, or a list of parts that have some.
fn texts(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        parts => {
            elements(parts).iter().filter_map(|part| Some(part.get("text")?.as_str()?.to_owned())).collect()
        }
    }
}
