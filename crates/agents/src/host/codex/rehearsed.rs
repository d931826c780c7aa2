//! A turn that never was, in Codex's own words.

use serde_json::{Value, json};

use crate::rehearsed_turn::{FILE, LAST_WORDS, PROMPT, RehearsedTurn};

pub(super) fn payload(turn: &RehearsedTurn<'_>) -> Value {
    json!({"turn_id": turn.turn_id(), "model": "gpt-5.5", "permission_mode": "default"})
}

pub(super) fn stop() -> Value {
    json!({"last_assistant_message": LAST_WORDS})
}

pub(super) fn records(turn: &RehearsedTurn<'_>) -> Vec<Value> {
    let record =
        |kind: &str, payload: Value| json!({"timestamp": turn.now, "type": kind, "payload": payload});
    let item = |item: Value| {
        let (thread, turn) = (turn.tests.session(), turn.turn_id());
        record(
            "event_msg",
            json!({"type": "item_completed", "thread_id": thread, "turn_id": turn, "item": item}),
        )
    };
    let message = |role: &str, kind: &str, text: &str| {
        record(
            "response_item",
            json!({
                "type": "message", "role": role, "content": [{"type": kind, "text": text}],
                "internal_chat_message_metadata_passthrough": {
                    "turn_id": turn.turn_id(), "content_item_metadata": [{"provenance": {"type": role}}],
                },
            }),
        )
    };
    let mut records = vec![
        record(
            "session_meta",
            json!({
                "id": turn.tests.session(), "timestamp": turn.now, "cwd": turn.repository.to_string_lossy(),
                "cli_version": "0.166.0", "source": "exec",
            }),
        ),
        record("event_msg", json!({"type": "task_started", "turn_id": turn.turn_id()})),
        message("user", "input_text", PROMPT),
        item(json!({"type": "UserMessage", "id": "prompt", "content": [{"type": "text", "text": PROMPT}]})),
        record(
            "response_item",
            json!({
                "type": "custom_tool_call", "status": "completed", "call_id": "call_1", "name": "apply_patch",
                "input": format!("*** Begin Patch\n*** Add File: {FILE}\n+x = 1\n*** End Patch\n"),
            }),
        ),
        item(json!({
            "type": "FileChange", "id": "call_1", "status": "completed",
            "changes": {turn.file(): {"type": "add", "content": "x = 1\n"}}, "stdout": "Success.", "stderr": "",
        })),
        record(
            "response_item",
            json!({
                "type": "custom_tool_call_output", "call_id": "call_1",
                "output": format!("Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nA {FILE}\n"),
            }),
        ),
    ];
    if turn.is_tested() {
        records.push(record(
            "response_item",
            json!({
                "type": "function_call", "name": "exec_command", "call_id": "call_2",
                "arguments": json!({"cmd": "pytest"}).to_string(),
            }),
        ));
        records.push(item(json!({
            "type": "CommandExecution", "id": "call_2", "command": ["/bin/bash", "-lc", "pytest"],
            "status": "completed", "aggregated_output": "1 passed in 0.01s", "exit_code": 0,
            "parsed_cmd": [{"type": "unknown", "cmd": "pytest"}],
        })));
        records.push(record("response_item", json!({
            "type": "function_call_output", "call_id": "call_2",
            "output": "Chunk ID: 1\nWall time: 0.0 seconds\nProcess exited with code 0\nOutput:\n1 passed in 0.01s\n",
        })));
    }
    records.push(item(
        json!({"type": "AgentMessage", "id": "last", "content": [{"type": "Text", "text": LAST_WORDS}]}),
    ));
    records.push(message("assistant", "output_text", LAST_WORDS));
    records
}
