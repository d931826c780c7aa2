//! Records as Gemini CLI writes them.

use proptest::prelude::*;
use serde_json::{Value, json};

pub(crate) fn header() -> Value {
    json!({ "sessionId": "s", "projectHash": "h", "startTime": "2026-01-01T10:00:00.000Z", "kind": "main" })
}

pub(crate) fn user(id: &str, text: &str) -> Value {
    json!({ "id": id, "timestamp": "2026-01-01T10:00:00.000Z", "type": "user", "content": [{ "text": text }] })
}

pub(crate) fn model(id: &str, text: &str, calls: Value) -> Value {
    json!({
        "id": id, "timestamp": "2026-01-01T10:00:01.000Z", "type": "gemini", "content": text,
        "model": "gemini-3", "tokens": { "input": 100 }, "toolCalls": calls,
    })
}

pub(crate) fn said(text: &str) -> Value {
    model("said", text, json!([]))
}

pub(crate) fn shell(id: &str, output: &str, display: &str) -> Value {
    json!({
        "id": id, "name": "run_shell_command", "args": { "command": "run it" }, "status": "success",
        "result": [{ "functionResponse": { "response": { "output": output } } }],
        "resultDisplay": display, "timestamp": "2026-01-01T10:00:02.000Z",
    })
}

/// The lines of one prompt.
pub(crate) fn prompt_lines(id: usize, text: &str) -> Vec<Value> {
    vec![header(), user(&id.to_string(), text)]
}

/// A prompt with a picture.
pub(crate) fn picture_lines(text: &str, picture: &str) -> Vec<Value> {
    let mut prompt = user("1", text);
    let image = json!({ "inlineData": { "mimeType": "image/png", "data": picture } });
    prompt["content"].as_array_mut().unwrap().push(image);
    vec![header(), prompt]
}

/// A command, and its end.
pub(crate) fn command_lines(id: &str, command: &str, end: super::CommandEnd<'_>) -> Vec<Value> {
    let footer = match end.exit_code {
        0 => String::new(),
        code => format!("Exit Code: {code}\n"),
    };
    let output = format!("Output: {}\n{footer}Process Group PGID: 1", end.output);
    let mut call = shell(id, &output, end.output);
    call["args"]["command"] = json!(command);
    vec![model(&format!("call {id}"), "", json!([call]))]
}

/// Any record, of a few ids and texts.
pub(crate) fn any_record() -> BoxedStrategy<Value> {
    let (id, text) = (super::ID, super::TEXT);
    prop_oneof![
        (id, text).prop_map(|(id, text)| user(&id, &text)),
        (id, text).prop_map(|(id, text)| model(&id, &text, json!([shell(&id, &text, "")]))),
        Just(json!({ "$set": { "lastUpdated": "x" } })),
        id.prop_map(|id| json!({ "$rewindTo": id })),
    ]
    .boxed()
}
