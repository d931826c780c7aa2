//! A turn that never was, in Copilot CLI's own words.

use serde_json::{Value, json};

use crate::rehearsed_turn::{LAST_WORDS, PROMPT, RehearsedTurn, set};

pub(super) fn payload(turn: &RehearsedTurn<'_>) -> Value {
    json!({"timestamp": turn.now})
}

pub(super) fn stop() -> Value {
    json!({"stop_reason": "end_turn"})
}

pub(super) fn records(turn: &RehearsedTurn<'_>) -> Vec<Value> {
    let event = |kind: &str, data: Value| json!({"type": kind, "data": data, "id": format!("a {kind}"), "timestamp": turn.now, "parentId": null});
    let prompt = turn.turn_id();
    let said = |text: &str, requests: Value| {
        let data = json!({
            "messageId": "answer", "originatingMessageId": prompt, "content": text, "toolRequests": requests, "turnId": "0",
        });
        event("assistant.message", data)
    };
    let request = |id: &str, name: &str, arguments: Value| {
        said("", json!([{"toolCallId": id, "name": name, "arguments": arguments, "type": "function"}]))
    };
    let result = |id: &str, text: &str| {
        let data = json!({"toolCallId": id, "turnId": "0", "success": true, "result": {"content": text}});
        event("tool.execution_complete", data)
    };
    let context = json!({"cwd": turn.repository.to_string_lossy()});
    let mut records = vec![
        event("session.start", json!({"sessionId": turn.tests.session(), "version": 1, "context": context})),
        event(
            "user.message",
            json!({"content": PROMPT, "messageId": prompt, "delivery": "idle", "turnId": "0"}),
        ),
        request("write_1", "create", json!({"path": turn.file(), "file_text": "x = 1\n"})),
        result("write_1", "Created the file"),
    ];
    if turn.is_tested() {
        records.push(request("shell_1", "bash", json!({"command": "pytest", "mode": "sync"})));
        let mut ended = result("shell_1", "1 passed in 0.01s\n<shellId: 0 completed with exit code 0>");
        if let Some(data) = ended.get_mut("data") {
            set(data, "shellExecution", json!({"exitCode": 0}));
        }
        records.push(ended);
    }
    records.push(said(LAST_WORDS, json!([])));
    let input = json!({"sessionId": turn.tests.session(), "stopReason": "end_turn"});
    records.push(event(
        "hook.start",
        json!({"hookInvocationId": "hook", "hookType": "agentStop", "input": input}),
    ));
    records
}
