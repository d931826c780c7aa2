//! Records as Codex CLI writes them.

use proptest::prelude::*;
use serde_json::{Value, json};

pub(crate) fn event(payload: Value) -> Value {
    json!({ "timestamp": "2026-01-01T10:00:00.000Z", "type": "event_msg", "payload": payload })
}

pub(crate) fn item(payload: Value) -> Value {
    json!({ "timestamp": "2026-01-01T10:00:00.000Z", "type": "response_item", "payload": payload })
}

pub(crate) fn message(text: &str) -> Value {
    item(json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] }))
}

pub(crate) fn prompt(text: &str) -> Value {
    event(json!({ "type": "user_message", "message": text }))
}

pub(crate) fn said(text: &str) -> Value {
    event(json!({ "type": "agent_message", "message": text }))
}

pub(crate) fn function(id: &str, name: &str, arguments: Value) -> Value {
    item(json!({
        "type": "function_call", "name": name, "arguments": arguments.to_string(), "call_id": id,
    }))
}

pub(crate) fn output(id: &str, output: Value) -> Value {
    item(json!({ "type": "function_call_output", "call_id": id, "output": output }))
}

/// The lines of one prompt.
pub(crate) fn prompt_lines(_id: usize, text: &str) -> Vec<Value> {
    vec![message(text), prompt(text)]
}

/// A prompt with a picture.
pub(crate) fn picture_lines(text: &str, picture: &str) -> Vec<Value> {
    let url = format!("data:image/png;base64,{picture}");
    vec![event(json!({ "type": "user_message", "message": text, "images": [url] }))]
}

/// A command, and its end.
pub(crate) fn command_lines(id: &str, command: &str, end: super::CommandEnd<'_>) -> Vec<Value> {
    let text = format!("Process exited with code {}\nOutput:\n{}", end.exit_code, end.output);
    vec![function(id, "exec_command", json!({ "cmd": command })), output(id, json!(text))]
}

/// Any record, of a few ids and texts.
pub(crate) fn any_record() -> BoxedStrategy<Value> {
    let (id, text) = (super::ID, super::TEXT);
    prop_oneof![
        text.prop_map(|text| prompt(&text)),
        text.prop_map(|text| message(&text)),
        id.prop_map(|id| function(&id, "shell", json!({ "command": ["ls"] }))),
        (id, text).prop_map(|(id, text)| output(&id, json!(format!("Exit code: 1\nOutput:\n{text}")))),
        Just(event(json!({ "type": "task_started" }))),
    ]
    .boxed()
}
