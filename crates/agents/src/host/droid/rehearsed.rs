//! A turn that never was, in Droid's own words.

use serde_json::{Value, json};

use crate::rehearsed_turn::{LAST_WORDS, PROMPT, RehearsedTurn};

pub(super) fn payload(_turn: &RehearsedTurn<'_>) -> Value {
    json!({"permission_mode": "auto-high"})
}

pub(super) fn stop() -> Value {
    json!({"message_id": "last", "tool_execution_count": 0, "elapsed_time": 2399})
}

pub(super) fn records(turn: &RehearsedTurn<'_>) -> Vec<Value> {
    let message = |id: &str, role: &str, content: Value| json!({"type": "message", "id": id, "timestamp": turn.now, "message": {"role": role, "content": content}});
    let call = |id: &str, name: &str, input: Value| {
        let block = json!({"type": "tool_use", "id": id, "name": name, "input": input});
        message(&format!("call {id}"), "assistant", json!([block]))
    };
    let result = |id: &str, text: &str| {
        let block = json!({"type": "tool_result", "tool_use_id": id, "is_error": false, "content": text});
        message(&format!("result {id}"), "user", json!([block]))
    };
    let mut records = vec![
        json!({
            "type": "session_start", "id": turn.tests.session(), "title": PROMPT, "owner": "unknown", "version": 2,
            "cwd": turn.repository.to_string_lossy(), "hostId": "host",
        }),
        message(&turn.turn_id(), "user", json!([{"type": "text", "text": PROMPT}])),
        call("write_1", "Create", json!({"file_path": turn.file(), "content": "x = 1\n"})),
        result("write_1", "{\"success\":true}"),
    ];
    if turn.is_tested() {
        records.push(call("shell_1", "Execute", json!({"command": "pytest", "riskLevel": "low"})));
        records.push(result("shell_1", "1 passed in 0.01s\n\n\n[Process exited with code 0]"));
    }
    records.push(message("last", "assistant", json!([{"type": "text", "text": LAST_WORDS}])));
    records
}
