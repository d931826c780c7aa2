//! Records as Claude Code writes them.

use proptest::prelude::*;
use serde_json::{Value, json};

/// A record of the given type with the fields that every record has.
pub(crate) fn record(kind: &str, fields: Value) -> Value {
    let mut record = json!({
        "parentUuid": "p", "isSidechain": false, "type": kind, "uuid": "u", "sessionId": "s",
        "timestamp": "2026-01-01T10:00:00.000Z",
    });
    record.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    record
}

pub(crate) fn prompt(text: &str) -> Value {
    user(json!(text), json!({ "promptSource": "typed" }))
}

pub(crate) fn user(content: Value, more: Value) -> Value {
    let mut record = record("user", json!({ "message": { "role": "user", "content": content } }));
    record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    record
}

pub(crate) fn said(text: &str) -> Value {
    assistant(json!([{ "type": "text", "text": text }]))
}

pub(crate) fn assistant(content: Value) -> Value {
    record("assistant", json!({ "message": { "id": "m", "role": "assistant", "content": content } }))
}

pub(crate) fn tool(id: &str, name: &str, input: Value) -> Value {
    assistant(json!([{ "type": "tool_use", "id": id, "name": name, "input": input }]))
}

pub(crate) fn bash(id: &str, command: &str) -> Value {
    tool(id, "Bash", json!({ "command": command }))
}

pub(crate) fn result(id: &str, text: &str, is_error: bool) -> Value {
    user(
        json!([{ "type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error }]),
        json!({}),
    )
}

/// The lines of one prompt.
pub(crate) fn prompt_lines(_id: usize, text: &str) -> Vec<Value> {
    vec![prompt(text)]
}

/// A prompt with a picture.
pub(crate) fn picture_lines(text: &str, picture: &str) -> Vec<Value> {
    let image = json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": picture } });
    vec![user(json!([image, { "type": "text", "text": text }]), json!({ "promptSource": "typed" }))]
}

/// A command, and its end.
pub(crate) fn command_lines(id: &str, command: &str, end: super::CommandEnd<'_>) -> Vec<Value> {
    let text = match end.exit_code {
        0 => end.output.to_owned(),
        code => format!("Exit code {code}\n{}", end.output),
    };
    vec![bash(id, command), result(id, &text, end.exit_code != 0)]
}

/// Any record, of a few ids and texts.
pub(crate) fn any_record() -> BoxedStrategy<Value> {
    let (id, text) = (super::ID, super::TEXT);
    prop_oneof![
        text.prop_map(|text| prompt(&text)),
        text.prop_map(|text| said(&text)),
        (id, text).prop_map(|(id, text)| bash(&id, &text)),
        (id, text, any::<bool>()).prop_map(|(id, text, failed)| result(&id, &text, failed)),
        Just(json!({ "type": "mode", "mode": "normal", "sessionId": "s" })),
        Just(json!({ "type": "unheard-of", "uuid": "u" })),
    ]
    .boxed()
}
