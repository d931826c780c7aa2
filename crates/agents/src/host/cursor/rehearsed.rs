//! A turn that never was, in Cursor's own words.

use serde_json::{Value, json};

use crate::rehearsed_turn::{LAST_WORDS, PROMPT, RehearsedTurn};

/// There can be several folders.
pub(super) fn payload(turn: &RehearsedTurn<'_>) -> Value {
    json!({
        "generation_id": turn.turn_id(), "workspace_roots": [turn.repository.to_string_lossy()], "cursor_version": "3.7.21",
        "model": "default",
    })
}

pub(super) fn stop() -> Value {
    json!({"status": "completed", "loop_count": 0})
}

pub(super) fn records(turn: &RehearsedTurn<'_>) -> Vec<Value> {
    let message = |role: &str, block: Value| json!({"role": role, "message": {"content": [block]}});
    let call = |name: &str, input: Value| {
        message("assistant", json!({"type": "tool_use", "name": name, "input": input}))
    };
    let query = format!("<user_query>\n{PROMPT}\n</user_query>");
    let mut records = vec![
        message("user", json!({"type": "text", "text": query})),
        call("Write", json!({"path": turn.file(), "contents": "x = 1\n"})),
    ];
    if turn.is_tested() {
        records.push(call("Shell", json!({"command": "pytest"})));
    }
    records.push(message("assistant", json!({"type": "text", "text": LAST_WORDS})));
    records
}
