//! A turn that never was, in Claude Code's own words.

use serde_json::{Value, json};

use crate::rehearsed_turn::{LAST_WORDS, PROMPT, RehearsedTurn, set};

pub(super) fn payload(turn: &RehearsedTurn<'_>) -> Value {
    json!({"prompt_id": turn.turn_id(), "permission_mode": "default"})
}

pub(super) fn stop() -> Value {
    json!({
        "last_assistant_message": LAST_WORDS, "effort": {"level": "medium"}, "background_tasks": [], "session_crons": [],
    })
}

pub(super) fn records(turn: &RehearsedTurn<'_>) -> Vec<Value> {
    let record = |kind: &str, id: &str, message: Value, more: Value| {
        let mut record = json!({
            "parentUuid": null, "isSidechain": false, "type": kind, "uuid": id, "timestamp": turn.now,
            "userType": "external", "cwd": turn.repository.to_string_lossy(), "sessionId": turn.tests.session(),
            "version": "2.1.325", "message": message,
        });
        for (name, value) in more.as_object().into_iter().flatten() {
            set(&mut record, name, value.clone());
        }
        record
    };
    let call = |id: &str, name: &str, input: Value| {
        let content = json!([{"type": "tool_use", "id": id, "name": name, "input": input}]);
        record(
            "assistant",
            &format!("call {id}"),
            json!({"id": id, "role": "assistant", "content": content}),
            json!({}),
        )
    };
    let result = |id: &str, text: &str| {
        let content = json!([{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": false}]);
        record(
            "user",
            &format!("result {id}"),
            json!({"role": "user", "content": content}),
            json!({"promptId": turn.turn_id()}),
        )
    };
    let mut records = vec![
        record(
            "user",
            "prompt",
            json!({"role": "user", "content": PROMPT}),
            json!({"promptSource": "typed", "promptId": turn.turn_id()}),
        ),
        call("toolu_1", "Write", json!({"file_path": turn.file(), "content": "x = 1\n"})),
        result("toolu_1", "The file has been written."),
    ];
    if turn.is_tested() {
        records.push(call("toolu_2", "Bash", json!({"command": "pytest"})));
        records.push(result("toolu_2", "1 passed in 0.01s"));
    }
    let content = json!([{"type": "text", "text": LAST_WORDS}]);
    records.push(record(
        "assistant",
        "last",
        json!({"id": "last", "role": "assistant", "content": content}),
        json!({}),
    ));
    records
}
