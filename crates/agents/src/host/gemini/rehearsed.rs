//! A turn that never was, in Gemini CLI's own words.

use serde_json::{Value, json};

use crate::rehearsed_turn::{LAST_WORDS, PROMPT, RehearsedTurn};

pub(super) fn payload(turn: &RehearsedTurn<'_>) -> Value {
    json!({"timestamp": turn.now})
}

pub(super) fn stop() -> Value {
    json!({"prompt": PROMPT, "prompt_response": LAST_WORDS})
}

pub(super) fn records(turn: &RehearsedTurn<'_>) -> Vec<Value> {
    let called = |id: &str, name: &str, arguments: Value, output: &str| {
        let result = json!([{"functionResponse": {"id": id, "name": name, "response": {"output": output}}}]);
        let record = json!({
            "id": format!("call {id}"), "timestamp": turn.now, "type": "gemini", "content": "", "thoughts": [],
            "model": "gemini-3-pro", "toolCalls": [{
                "id": id, "name": name, "args": arguments, "result": result, "status": "success",
                "timestamp": turn.now, "resultDisplay": "",
            }],
        });
        let again =
            json!({"id": format!("result {id}"), "timestamp": turn.now, "type": "user", "content": result});
        [record, again]
    };
    let mut records = vec![
        json!({
            "sessionId": turn.tests.session(), "projectHash": "0", "startTime": turn.now, "lastUpdated": turn.now,
            "kind": "main",
        }),
        json!({"id": "prompt", "timestamp": turn.now, "type": "user", "content": [{"text": PROMPT}]}),
    ];
    let write = json!({"file_path": turn.file(), "content": "x = 1\n"});
    records.extend(called("write_1", "write_file", write, "Successfully wrote the file"));
    if turn.is_tested() {
        let output =
            "<untrusted_context>\nOutput: 1 passed in 0.01s\nProcess Group PGID: 1\n</untrusted_context>";
        records.extend(called("shell_1", "run_shell_command", json!({"command": "pytest"}), output));
    }
    records.push(json!({
        "id": "last", "timestamp": turn.now, "type": "gemini", "content": LAST_WORDS, "thoughts": [],
        "model": "gemini-3-pro",
    }));
    records
}
