//! A turn that never was, in opencode's own words.

use serde_json::{Value, json};

use crate::rehearsed_turn::{LAST_WORDS, PROMPT, RehearsedTurn};

const MOMENT: i64 = 1_794_757_374_840;

pub(super) fn payload(turn: &RehearsedTurn<'_>) -> Value {
    json!({"prompt_id": turn.turn_id(), "permission_mode": "build"})
}

pub(super) fn stop() -> Value {
    json!({"last_assistant_message": LAST_WORDS})
}

pub(super) fn records(turn: &RehearsedTurn<'_>) -> Vec<Value> {
    let now = turn.now.parse().map_or(MOMENT, jiff::Timestamp::as_millisecond);
    let answer = |id: &str, parts: Value| {
        let folder = turn.repository.to_string_lossy();
        let info = json!({
            "role": "assistant", "time": {"created": now, "completed": now}, "parentID": turn.turn_id(), "mode": "build",
            "agent": "build", "path": {"cwd": folder, "root": folder}, "modelID": "rehearsed", "providerID": "checkstone",
        });
        json!({"id": id, "info": info, "parts": parts})
    };
    let called = |id: &str, tool: &str, input: Value, output: &str, metadata: Value| {
        let state = json!({
            "status": "completed", "input": input, "output": output, "metadata": metadata, "title": tool,
            "time": {"start": now, "end": now},
        });
        json!({"type": "tool", "callID": id, "tool": tool, "state": state})
    };
    let write = json!({"filePath": turn.file(), "content": "x = 1\n"});
    let written = called("write_1", "write", write, "Wrote file successfully.", json!({"exists": false}));
    let prompt = json!({"role": "user", "time": {"created": now}, "agent": "build"});
    let mut records = vec![
        json!({"id": turn.turn_id(), "info": prompt, "parts": [{"type": "text", "text": PROMPT}]}),
        answer("msg_write", json!([{"type": "step-start"}, written])),
    ];
    if turn.is_tested() {
        let run = json!({"command": "pytest", "description": "Runs the tests"});
        let output = "1 passed in 0.01s";
        let tested = called("shell_1", "bash", run, output, json!({"output": output, "exit": 0}));
        records.push(answer("msg_shell", json!([{"type": "step-start"}, tested])));
    }
    records.push(answer("msg_last", json!([{"type": "text", "text": LAST_WORDS}])));
    records
}
