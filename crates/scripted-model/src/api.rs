//! Which API a client speaks, whether it asks for the agent's next step, and the answer in that API's events.

mod anthropic;
mod gemini;
mod openai;

use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};

use crate::http::Answer;
use crate::scenario::Step;

/// The APIs of the three clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// Claude Code.
    Anthropic,
    /// Codex CLI.
    Openai,
    /// Gemini CLI.
    Gemini,
}

/// What a request is about.
pub(crate) enum Asks {
    /// The agent's next step.
    Turn(Api),
    /// Something beside it, such as a title for the session.
    Side(Api),
    /// Anything else, such as whether somebody is there.
    Other,
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

pub(crate) fn asks(method: &str, path: &str, body: &Value) -> Asks {
    let api = if path.contains("/v1/messages") {
        Api::Anthropic
    } else if path.contains("/responses") {
        Api::Openai
    } else if path.contains(":generateContent")
        || path.contains(":streamGenerateContent")
        || path.contains(":countTokens")
    {
        Api::Gemini
    } else {
        return Asks::Other;
    };
    let is_turn = match api {
        Api::Anthropic => anthropic::is_turn(path, body),
        Api::Openai => openai::is_turn(path, body),
        Api::Gemini => gemini::is_turn(path, body),
    };
    if method == "POST" && is_turn { Asks::Turn(api) } else { Asks::Side(api) }
}

impl Asks {
    pub(crate) fn api(&self) -> Option<Api> {
        match self {
            Self::Turn(api) | Self::Side(api) => Some(*api),
            Self::Other => None,
        }
    }

    pub(crate) fn side_answer(&self, path: &str) -> Answer {
        match self.api() {
            Some(Api::Anthropic) => anthropic::side(path),
            Some(Api::Openai) => openai::side(path),
            Some(Api::Gemini) => gemini::side(path),
            // A list of models is asked for at times; an empty one leaves the client with those it knows.
            None => Answer::ok(json!({"models": []})),
        }
    }
}

impl Api {
    pub(crate) fn user_texts(self, body: &Value) -> Vec<String> {
        match self {
            Self::Anthropic => anthropic::user_texts(body),
            Self::Openai => openai::user_texts(body),
            Self::Gemini => gemini::user_texts(body),
        }
    }

    pub(crate) fn answer(self, step: &Step, place: &AnswerContext<'_>, body: &Value) -> Answer {
        match self {
            Self::Anthropic => anthropic::answer(step, place, body),
            Self::Openai => openai::answer(step, place, body),
            Self::Gemini => gemini::answer(step, place),
        }
    }
}

/// What an object has under this name; null where there is none.
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
