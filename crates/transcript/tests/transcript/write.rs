//! Small transcripts for cases that no sample shows: records in the clients' own shapes.

use serde_json::{Value, json};
use transcript::{Agent, Call, Options, Reading};

/// How the texts begin that the reader gives to agents.
pub(crate) const MARK: &str = "[checkstone]";

/// Lines of a transcript, each ended.
pub(crate) fn lines(records: &[Value]) -> Vec<u8> {
    records.iter().flat_map(|record| format!("{record}\n").into_bytes()).collect()
}

pub(crate) fn read(agent: Agent, records: &[Value]) -> Reading {
    transcript::read_bytes(&lines(records), &Options { agent: Some(agent), mark: MARK, ..Options::default() })
}

pub(crate) fn prompt_of(reading: &Reading) -> Option<&str> {
    reading.turn.as_ref().map(|turn| turn.prompt.as_str())
}

pub(crate) fn call<'a>(reading: &'a Reading, id: &str) -> &'a Call {
    reading.calls.iter().find(|call| call.id == id).unwrap_or_else(|| panic!("no call {id}: {reading:#?}"))
}

pub(crate) mod claude {
    use super::{Value, json};

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
}

pub(crate) mod gemini {
    use super::{Value, json};

    pub(crate) fn header() -> Value {
        json!({ "sessionId": "s", "projectHash": "h", "startTime": "2026-01-01T10:00:00.000Z", "kind": "main" })
    }

    pub(crate) fn user(id: &str, text: &str) -> Value {
        json!({ "id": id, "timestamp": "2026-01-01T10:00:00.000Z", "type": "user", "content": [{ "text": text }] })
    }

    pub(crate) fn model(id: &str, text: &str, calls: Value) -> Value {
        json!({
            "id": id, "timestamp": "2026-01-01T10:00:01.000Z", "type": "gemini", "content": text,
            "model": "gemini-3", "tokens": { "input": 100 }, "toolCalls": calls,
        })
    }

    pub(crate) fn shell(id: &str, output: &str, display: &str) -> Value {
        json!({
            "id": id, "name": "run_shell_command", "args": { "command": "run it" }, "status": "success",
            "result": [{ "functionResponse": { "response": { "output": output } } }],
            "resultDisplay": display, "timestamp": "2026-01-01T10:00:02.000Z",
        })
    }
}

pub(crate) mod codex {
    use super::{Value, json};

    pub(crate) fn event(payload: Value) -> Value {
        json!({ "timestamp": "2026-01-01T10:00:00.000Z", "type": "event_msg", "payload": payload })
    }

    pub(crate) fn item(payload: Value) -> Value {
        json!({ "timestamp": "2026-01-01T10:00:00.000Z", "type": "response_item", "payload": payload })
    }

    pub(crate) fn message(text: &str) -> Value {
        item(
            json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] }),
        )
    }

    pub(crate) fn prompt(text: &str) -> Value {
        event(json!({ "type": "user_message", "message": text }))
    }

    pub(crate) fn function(id: &str, name: &str, arguments: Value) -> Value {
        item(json!({
            "type": "function_call", "name": name, "arguments": arguments.to_string(), "call_id": id,
        }))
    }

    pub(crate) fn output(id: &str, output: Value) -> Value {
        item(json!({ "type": "function_call_output", "call_id": id, "output": output }))
    }
}

pub(crate) mod qwen {
    use super::{Value, json};

    pub(crate) fn record(kind: &str, provenance: &str, parts: Value) -> Value {
        json!({
            "uuid": "u", "parentUuid": null, "sessionId": "s", "timestamp": "2026-01-01T10:00:00.000Z", "type": kind,
            "provenance": provenance, "cwd": "/r", "message": { "role": "user", "parts": parts },
        })
    }

    pub(crate) fn prompt(text: &str) -> Value {
        record("user", "real_user", json!([{ "text": text }]))
    }

    pub(crate) fn said(text: &str) -> Value {
        record("assistant", "assistant_output", json!([{ "text": text }]))
    }

    pub(crate) fn call(id: &str, name: &str, arguments: Value) -> Value {
        let call = json!({ "functionCall": { "id": id, "name": name, "args": arguments } });
        record("assistant", "assistant_output", json!([call]))
    }

    pub(crate) fn result(id: &str, status: &str, output: &str, display: Value) -> Value {
        let parts = json!([{ "functionResponse": { "id": id, "response": { "output": output } } }]);
        let mut record = record("tool_result", "tool_result", parts);
        record["toolCallResult"] = json!({ "callId": id, "status": status, "resultDisplay": display });
        record
    }

    /// What the person is shown of a command.
    pub(crate) fn shell(exit_code: Value, outcome: &str, output: &str) -> Value {
        json!({ "type": "shell_result", "exitCode": exit_code, "outcome": outcome, "output": output })
    }
}

pub(crate) mod opencode {
    use super::{Value, json};

    const AT: i64 = 1_767_261_600_000;

    pub(crate) fn message(role: &str, parts: Value) -> Value {
        let info = json!({
            "role": role, "time": { "created": AT }, "agent": "build", "modelID": "m",
            "path": { "cwd": "/r", "root": "/r" },
        });
        json!({ "id": "msg_1", "info": info, "parts": parts })
    }

    pub(crate) fn prompt(text: &str) -> Value {
        message("user", json!([{ "type": "text", "text": text }]))
    }

    pub(crate) fn said(text: &str) -> Value {
        message("assistant", json!([{ "type": "text", "text": text, "time": { "start": AT, "end": AT } }]))
    }

    /// A call that has ended.
    pub(crate) fn tool(id: &str, name: &str, input: Value, metadata: Value) -> Value {
        let state = json!({
            "status": "completed", "input": input, "output": "done", "metadata": metadata, "title": name,
            "time": { "start": AT, "end": AT + 5 },
        });
        message("assistant", json!([{ "type": "tool", "callID": id, "tool": name, "state": state }]))
    }

    pub(crate) fn shell(id: &str, command: &str, exit: Value, output: &str) -> Value {
        let mut called = tool(id, "bash", json!({ "command": command }), json!({ "exit": exit }));
        called["parts"][0]["state"]["output"] = json!(output);
        called
    }
}
