//! A turn that never was, in each client's own words: the payloads that it would send to the hook, and the transcript
//! that it would write. The agent edits one Python file and runs its tests, or does not.

use std::path::Path;

use serde_json::{Value, json};
use transcript::Agent;

pub(crate) const PROMPT: &str = "Fix the bug in calc.py";
pub(crate) const FILE: &str = "calc.py";
const LAST_WORDS: &str = "The bug is fixed.";

/// Whether the tests ran after the edit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Tests {
    Passed,
    NeverRan,
}

impl Tests {
    /// Also the id of the session.
    pub(crate) fn session(self) -> &'static str {
        match self {
            Self::Passed => "doctor-tested",
            Self::NeverRan => "doctor-untested",
        }
    }
}

pub(crate) struct RehearsedTurn<'a> {
    pub(crate) agent: Agent,
    pub(crate) tests: Tests,
    pub(crate) repository: &'a Path,
    pub(crate) transcript: &'a Path,
    /// As the clients write times: to the millisecond.
    pub(crate) now: String,
}

impl RehearsedTurn<'_> {
    pub(crate) fn prompt_payload(&self) -> Value {
        let name = if self.agent == Agent::Gemini { "BeforeAgent" } else { "UserPromptSubmit" };
        let mut payload = self.payload(name);
        set(&mut payload, "prompt", json!(PROMPT));
        payload
    }

    pub(crate) fn stop_payload(&self) -> Value {
        let name = if self.agent == Agent::Gemini { "AfterAgent" } else { "Stop" };
        let mut payload = self.payload(name);
        set(&mut payload, "stop_hook_active", json!(false));
        match self.agent {
            Agent::Gemini => {
                set(&mut payload, "prompt", json!(PROMPT));
                set(&mut payload, "prompt_response", json!(LAST_WORDS));
            }
            Agent::Claude => {
                set(&mut payload, "last_assistant_message", json!(LAST_WORDS));
                set(&mut payload, "effort", json!({"level": "medium"}));
                set(&mut payload, "background_tasks", json!([]));
                set(&mut payload, "session_crons", json!([]));
            }
            Agent::Codex => set(&mut payload, "last_assistant_message", json!(LAST_WORDS)),
        }
        payload
    }

    fn payload(&self, event: &str) -> Value {
        let mut payload = json!({
            "session_id": self.tests.session(),
            "transcript_path": self.transcript.to_string_lossy(),
            "cwd": self.repository.to_string_lossy(),
            "hook_event_name": event,
        });
        match self.agent {
            Agent::Claude => {
                set(&mut payload, "prompt_id", json!(self.turn_id()));
                set(&mut payload, "permission_mode", json!("default"));
            }
            Agent::Gemini => set(&mut payload, "timestamp", json!(self.now)),
            Agent::Codex => {
                set(&mut payload, "turn_id", json!(self.turn_id()));
                set(&mut payload, "model", json!("gpt-5.5"));
                set(&mut payload, "permission_mode", json!("default"));
            }
        }
        payload
    }

    /// The transcript at the stop, one record a line.
    pub(crate) fn transcript(&self) -> String {
        let records = match self.agent {
            Agent::Claude => self.claude(),
            Agent::Gemini => self.gemini(),
            Agent::Codex => self.codex(),
        };
        records.iter().map(|record| format!("{record}\n")).collect()
    }

    fn tested(&self) -> bool {
        self.tests == Tests::Passed
    }

    fn turn_id(&self) -> String {
        format!("{}-turn", self.tests.session())
    }

    fn file(&self) -> String {
        self.repository.join(FILE).to_string_lossy().into_owned()
    }

    fn claude(&self) -> Vec<Value> {
        let record = |kind: &str, id: &str, message: Value, more: Value| {
            let mut record = json!({
                "parentUuid": null, "isSidechain": false, "type": kind, "uuid": id, "timestamp": self.now,
                "userType": "external", "cwd": self.repository.to_string_lossy(), "sessionId": self.tests.session(),
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
            let content =
                json!([{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": false}]);
            record(
                "user",
                &format!("result {id}"),
                json!({"role": "user", "content": content}),
                json!({"promptId": self.turn_id()}),
            )
        };
        let mut records = vec![
            record(
                "user",
                "prompt",
                json!({"role": "user", "content": PROMPT}),
                json!({"promptSource": "typed", "promptId": self.turn_id()}),
            ),
            call("toolu_1", "Write", json!({"file_path": self.file(), "content": "x = 1\n"})),
            result("toolu_1", "The file has been written."),
        ];
        if self.tested() {
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

    fn gemini(&self) -> Vec<Value> {
        let called = |id: &str, name: &str, arguments: Value, output: &str| {
            let result =
                json!([{"functionResponse": {"id": id, "name": name, "response": {"output": output}}}]);
            let record = json!({
                "id": format!("call {id}"), "timestamp": self.now, "type": "gemini", "content": "", "thoughts": [],
                "model": "gemini-3-pro", "toolCalls": [{
                    "id": id, "name": name, "args": arguments, "result": result, "status": "success",
                    "timestamp": self.now, "resultDisplay": "",
                }],
            });
            let again = json!({"id": format!("result {id}"), "timestamp": self.now, "type": "user", "content": result});
            [record, again]
        };
        let mut records = vec![
            json!({
                "sessionId": self.tests.session(), "projectHash": "0", "startTime": self.now, "lastUpdated": self.now,
                "kind": "main",
            }),
            json!({"id": "prompt", "timestamp": self.now, "type": "user", "content": [{"text": PROMPT}]}),
        ];
        let write = json!({"file_path": self.file(), "content": "x = 1\n"});
        records.extend(called("write_1", "write_file", write, "Successfully wrote the file"));
        if self.tested() {
            let output =
                "<untrusted_context>\nOutput: 1 passed in 0.01s\nProcess Group PGID: 1\n</untrusted_context>";
            records.extend(called("shell_1", "run_shell_command", json!({"command": "pytest"}), output));
        }
        records.push(json!({
            "id": "last", "timestamp": self.now, "type": "gemini", "content": LAST_WORDS, "thoughts": [],
            "model": "gemini-3-pro",
        }));
        records
    }

    fn codex(&self) -> Vec<Value> {
        let record =
            |kind: &str, payload: Value| json!({"timestamp": self.now, "type": kind, "payload": payload});
        let item = |item: Value| {
            let (thread, turn) = (self.tests.session(), self.turn_id());
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
                        "turn_id": self.turn_id(), "content_item_metadata": [{"provenance": {"type": role}}],
                    },
                }),
            )
        };
        let mut records = vec![
            record(
                "session_meta",
                json!({
                    "id": self.tests.session(), "timestamp": self.now, "cwd": self.repository.to_string_lossy(),
                    "cli_version": "0.166.0", "source": "exec",
                }),
            ),
            record("event_msg", json!({"type": "task_started", "turn_id": self.turn_id()})),
            message("user", "input_text", PROMPT),
            item(
                json!({"type": "UserMessage", "id": "prompt", "content": [{"type": "text", "text": PROMPT}]}),
            ),
            record(
                "response_item",
                json!({
                    "type": "custom_tool_call", "status": "completed", "call_id": "call_1", "name": "apply_patch",
                    "input": format!("*** Begin Patch\n*** Add File: {FILE}\n+x = 1\n*** End Patch\n"),
                }),
            ),
            item(json!({
                "type": "FileChange", "id": "call_1", "status": "completed",
                "changes": {self.file(): {"type": "add", "content": "x = 1\n"}}, "stdout": "Success.", "stderr": "",
            })),
            record(
                "response_item",
                json!({
                    "type": "custom_tool_call_output", "call_id": "call_1",
                    "output": format!("Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nA {FILE}\n"),
                }),
            ),
        ];
        if self.tested() {
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
}

fn set(record: &mut Value, name: &str, value: Value) {
    if let Some(record) = record.as_object_mut() {
        record.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use transcript::{Extent, Options};

    /// What doctor sends must be what a client would write, or it would prove nothing.
    #[test]
    fn every_record_of_a_rehearsal_is_understood() {
        for agent in Agent::ALL {
            for (tests, calls) in [(Tests::NeverRan, 1), (Tests::Passed, 2)] {
                let turn = RehearsedTurn {
                    agent,
                    tests,
                    repository: Path::new("/r"),
                    transcript: Path::new("/t"),
                    now: "2026-11-15T05:00:00.000Z".to_owned(),
                };
                let reading = transcript::read_bytes(
                    turn.transcript().as_bytes(),
                    &Options { agent: Some(agent), ..Options::default() },
                );
                assert_eq!(reading.coverage.extent, Extent::Complete, "{agent:?}");
                assert_eq!(reading.coverage.understood, reading.coverage.records, "{agent:?}");
                assert_eq!(reading.calls.len(), calls, "{agent:?} {:?}", reading.calls);
                assert_eq!(reading.turn.unwrap().prompt, PROMPT);
                assert_eq!(reading.last_assistant.as_deref(), Some(LAST_WORDS));
            }
        }
    }
}
