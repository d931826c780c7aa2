//! A turn that never was, in Qwen Code's own words.

use serde_json::{Value, json};

use crate::rehearsed_turn::{LAST_WORDS, PROMPT, RehearsedTurn, set};

pub(super) fn payload(turn: &RehearsedTurn<'_>) -> Value {
    json!({"timestamp": turn.now, "permission_mode": "yolo", "prompt_id": turn.turn_id()})
}

pub(super) fn stop() -> Value {
    json!({
        "last_assistant_message": LAST_WORDS, "background_tasks": [], "crons": [], "context_usage": 0.006,
        "context_limit": 200_000, "input_tokens": 1200,
    })
}

pub(super) fn records(turn: &RehearsedTurn<'_>) -> Vec<Value> {
    let record = |kind: &str, provenance: &str, id: &str, role: &str, parts: Value| {
        json!({
            "uuid": id, "parentUuid": null, "sessionId": turn.tests.session(), "timestamp": turn.now, "type": kind,
            "provenance": provenance, "cwd": turn.repository.to_string_lossy(), "version": "0.24.4",
            "message": {"role": role, "parts": parts},
        })
    };
    let call = |id: &str, name: &str, arguments: Value| {
        let parts = json!([{"functionCall": {"id": id, "name": name, "args": arguments}}]);
        record("assistant", "assistant_output", &format!("call {id}"), "model", parts)
    };
    let result = |id: &str, name: &str, output: &str, display: Value| {
        let parts = json!([{"functionResponse": {"id": id, "name": name, "response": {"output": output}}}]);
        let mut record = record("tool_result", "tool_result", &format!("result {id}"), "user", parts);
        let told = json!({"callId": id, "status": "success", "resultDisplay": display});
        set(&mut record, "toolCallResult", told);
        record
    };
    let write = json!({"file_path": turn.file(), "content": "x = 1\n"});
    let mut records = vec![
        record("user", "real_user", "prompt", "user", json!([{"text": PROMPT}])),
        call("write_1", "write_file", write),
        result("write_1", "write_file", "Successfully wrote the file", json!("")),
    ];
    if turn.is_tested() {
        let display = json!({
            "type": "shell_result", "version": 1, "exitCode": 0, "signal": null, "outcome": "completed",
            "output": "1 passed in 0.01s", "text": "1 passed in 0.01s",
        });
        records.push(call("shell_1", "run_shell_command", json!({"command": "pytest"})));
        records.push(result("shell_1", "run_shell_command", "Command: pytest\nExit Code: 0", display));
    }
    records.push(record("assistant", "assistant_output", "last", "model", json!([{"text": LAST_WORDS}])));
    records
}
