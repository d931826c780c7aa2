//! A session of a client: its transcript in the client's own record shapes, written as the work goes on, and the
//! payloads that it sends to the hook.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::world::{HookAnswer, World, answer};

pub(crate) const AGENTS: [&str; 3] = ["claude", "gemini", "codex"];

pub(crate) struct Session<'a> {
    pub(crate) world: &'a World,
    pub(crate) agent: &'static str,
    pub(crate) id: String,
    pub(crate) transcript: PathBuf,
    /// Where the agent works.
    pub(crate) folder: PathBuf,
    turn: u32,
    prompt: String,
    said: Vec<String>,
    records: u32,
}

impl<'a> Session<'a> {
    pub(crate) fn new(world: &'a World, agent: &'static str) -> Self {
        Self::named(world, agent, "0a1b")
    }

    pub(crate) fn named(world: &'a World, agent: &'static str, id: &str) -> Self {
        let transcript = world.home.join(format!("{agent}-{id}.jsonl"));
        let (prompt, said) = (String::new(), Vec::new());
        let folder = world.repository.clone();
        let mut session =
            Self { world, agent, id: id.to_owned(), transcript, folder, turn: 0, prompt, said, records: 0 };
        match agent {
            "gemini" => session.append(json!({
                "sessionId": id, "projectHash": "5a41fe7d", "startTime": now(), "lastUpdated": now(), "kind": "main",
            })),
            "codex" => session.append(json!({
                "timestamp": now(), "type": "session_meta",
                "payload": { "id": id, "timestamp": now(), "cwd": session.cwd(), "cli_version": "0.166.0", "source": "exec" },
            })),
            _ => {}
        }
        session
    }

    /// A person types: the transcript and the hook learn of it.
    pub(crate) fn prompt(&mut self, text: &str) {
        self.type_prompt(text);
        answer(self.world.hook(self.agent), &self.prompt_event(text)).passes();
    }

    /// A person types, and no hook is registered for it.
    pub(crate) fn type_prompt(&mut self, text: &str) {
        self.turn += 1;
        self.prompt = text.to_owned();
        self.said.clear();
        match self.agent {
            "claude" => self.claude(
                "user",
                json!({ "message": { "role": "user", "content": text }, "promptSource": "typed", "promptId": self.turn_id() }),
            ),
            "gemini" => self.gemini("user", json!({ "content": [{ "text": text }] })),
            _ => {
                self.codex_event(json!({ "type": "task_started", "turn_id": self.turn_id() }));
                self.append(json!({
                    "timestamp": now(), "type": "turn_context",
                    "payload": { "turn_id": self.turn_id(), "cwd": self.cwd(), "model": "gpt-5.5" },
                }));
                self.codex_said("user", text);
                self.codex_item(
                    json!({ "type": "UserMessage", "id": "u", "content": [{ "type": "text", "text": text }] }),
                );
            }
        }
    }

    /// The agent reads a file with its own tool, or through the shell where it has none.
    pub(crate) fn read(&mut self, path: &str) {
        let file = self.world.repository.join(path);
        let text = fs_err::read_to_string(&file).unwrap_or_default();
        match self.agent {
            "claude" => self.claude_tool("Read", json!({ "file_path": file }), &text, false),
            "gemini" => self.gemini_tool("read_file", json!({ "file_path": file }), &text, json!("")),
            _ => self.shell(&format!("cat {path}"), &text, 0),
        }
    }

    /// The agent reads a file and then changes it.
    pub(crate) fn edit(&mut self, path: &str, text: &str) {
        self.read(path);
        self.world.write(path, text);
        let file = self.world.repository.join(path);
        match self.agent {
            "claude" => self.claude_tool(
                "Edit",
                json!({ "file_path": file, "old_string": "a - b", "new_string": "a + b", "replace_all": false }),
                "The file has been updated successfully.",
                false,
            ),
            "gemini" => self.gemini_tool(
                "replace",
                json!({ "file_path": file, "old_string": "a - b", "new_string": "a + b" }),
                "Successfully modified file",
                json!({ "fileName": path }),
            ),
            _ => {
                let id = self.next("call");
                let patch = format!(
                    "*** Begin Patch\n*** Update File: {path}\n@@\n-    return a - b\n+    return a + b\n*** End Patch\n"
                );
                self.codex_response(json!({
                    "type": "custom_tool_call", "status": "completed", "call_id": id, "name": "apply_patch", "input": patch,
                }));
                self.codex_item(json!({
                    "type": "FileChange", "id": id, "status": "completed",
                    "changes": { file.to_str().unwrap(): { "type": "update", "unified_diff": "@@ -2 +2 @@\n-    return a - b\n+    return a + b\n", "move_path": null } },
                    "stdout": "Success.", "stderr": "",
                }));
                self.codex_response(json!({
                    "type": "custom_tool_call_output", "call_id": id,
                    "output": format!("Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nM {path}\n"),
                }));
            }
        }
    }

    /// The agent runs a command.
    pub(crate) fn shell(&mut self, command: &str, output: &str, exit: i32) {
        match self.agent {
            "claude" => {
                let text = if exit == 0 { output.to_owned() } else { format!("Exit code {exit}\n{output}") };
                self.claude_tool("Bash", json!({ "command": command }), &text, exit != 0);
            }
            "gemini" => {
                let code = if exit == 0 { String::new() } else { format!("Exit Code: {exit}\n") };
                let text = format!(
                    "<untrusted_context>\nOutput: {output}\n{code}Process Group PGID: 10385\n</untrusted_context>"
                );
                self.gemini_tool("run_shell_command", json!({ "command": command }), &text, json!(output));
            }
            _ => {
                let id = self.next("call");
                self.codex_response(json!({
                    "type": "function_call", "name": "exec_command", "call_id": id,
                    "arguments": json!({ "cmd": command }).to_string(),
                }));
                self.codex_item(json!({
                    "type": "CommandExecution", "id": id, "command": ["/bin/bash", "-lc", command],
                    "cwd": format!("file://{}", self.cwd()), "parsed_cmd": [{ "type": "unknown", "cmd": command }],
                    "status": if exit == 0 { "completed" } else { "failed" }, "aggregated_output": output, "exit_code": exit,
                }));
                self.codex_response(json!({
                    "type": "function_call_output", "call_id": id,
                    "output": format!("Chunk ID: c0b100\nWall time: 0.0000 seconds\nProcess exited with code {exit}\nOriginal token count: 6\nOutput:\n{output}\n"),
                }));
            }
        }
    }

    /// The tests run and pass.
    pub(crate) fn test(&mut self) {
        self.shell("pytest", "1 passed in 0.01s", 0);
    }

    pub(crate) fn say(&mut self, text: &str) {
        self.said.push(text.to_owned());
        match self.agent {
            "claude" => self.claude(
                "assistant",
                json!({ "message": { "id": "m", "role": "assistant", "content": [{ "type": "text", "text": text }] } }),
            ),
            "gemini" => self.gemini("gemini", json!({ "content": text, "thoughts": [], "model": "gemini-3.8-flash" })),
            _ => {
                self.codex_item(json!({ "type": "AgentMessage", "id": "m", "content": [{ "type": "Text", "text": text }] }));
                self.codex_said("assistant", text);
            }
        }
    }

    /// Claude Code hands context of the stop hook to the agent.
    pub(crate) fn receive_as_context(&mut self, text: &str) {
        let attachment = json!({
            "type": "hook_additional_context", "content": [text], "hookName": "Stop", "hookEvent": "Stop",
        });
        self.claude("attachment", json!({ "attachment": attachment, "promptId": self.turn_id() }));
    }

    /// The client hands the reason of a hold to the agent, and tells us of it as its events do.
    pub(crate) fn receive(&mut self, reason: &str) {
        match self.agent {
            "claude" => self.claude(
                "user",
                json!({
                    "message": { "role": "user", "content": format!("Stop hook feedback:\n{reason}") },
                    "isMeta": true, "promptId": self.turn_id(),
                }),
            ),
            "gemini" => {
                answer(self.world.hook(self.agent), &self.prompt_event(reason)).passes();
                self.gemini("user", json!({ "content": [{ "text": reason }] }));
            }
            _ => {
                let wrapped = format!(
                    "<hook_prompt hook_run_id=\"stop:12:/home/dev/.codex/hooks.json\">{reason}</hook_prompt>"
                );
                self.codex_said("user", &wrapped);
                self.codex_item(
                    json!({ "type": "HookPrompt", "id": "h", "fragments": [{ "text": reason }] }),
                );
            }
        }
    }

    /// Claude Code: the agent wants to run a command, and the person presses Esc.
    pub(crate) fn interrupt(&mut self, command: &str) {
        let refusal = "The user doesn't want to proceed with this tool use.";
        self.claude_tool("Bash", json!({ "command": command }), refusal, true);
    }

    /// The agent says its last words and wants to stop.
    pub(crate) fn stop(&mut self, last_words: &str) -> HookAnswer {
        self.say(last_words);
        answer(self.world.hook(self.agent), &self.stop_event())
    }

    /// As [`Self::stop`], in a changed environment.
    pub(crate) fn stop_with(&mut self, last_words: &str, change: impl FnOnce(&mut Command)) -> HookAnswer {
        self.say(last_words);
        let mut command = self.world.hook(self.agent);
        change(&mut command);
        answer(command, &self.stop_event())
    }

    pub(crate) fn prompt_event(&self, text: &str) -> Value {
        let mut event = self.event(if self.agent == "gemini" { "BeforeAgent" } else { "UserPromptSubmit" });
        event["prompt"] = json!(text);
        event
    }

    pub(crate) fn stop_event(&self) -> Value {
        let mut event = self.event(if self.agent == "gemini" { "AfterAgent" } else { "Stop" });
        event["stop_hook_active"] = json!(false);
        match self.agent {
            "gemini" => {
                event["prompt"] = json!(self.prompt);
                event["prompt_response"] = json!(self.said.join("\n"));
            }
            _ => event["last_assistant_message"] = json!(self.said.last()),
        }
        if self.agent == "claude" {
            event["effort"] = json!({ "level": "medium" });
            event["background_tasks"] = json!([]);
            event["session_crons"] = json!([]);
        }
        event
    }

    pub(crate) fn event(&self, name: &str) -> Value {
        let mut event = json!({
            "session_id": self.id, "transcript_path": self.transcript, "cwd": self.cwd(), "hook_event_name": name,
        });
        match self.agent {
            "claude" => {
                event["prompt_id"] = json!(self.turn_id());
                event["permission_mode"] = json!("bypassPermissions");
            }
            "gemini" => event["timestamp"] = json!(now()),
            _ => {
                event["turn_id"] = json!(self.turn_id());
                event["model"] = json!("gpt-5.5");
                event["permission_mode"] = json!("bypassPermissions");
            }
        }
        event
    }

    pub(crate) fn append(&mut self, record: Value) {
        let mut file = fs_err::OpenOptions::new().append(true).create(true).open(&self.transcript).unwrap();
        file.write_all(format!("{record}\n").as_bytes()).unwrap();
    }

    fn turn_id(&self) -> String {
        format!("{}-turn-{}", self.id, self.turn)
    }

    fn cwd(&self) -> &str {
        Path::to_str(&self.folder).unwrap()
    }

    fn next(&mut self, kind: &str) -> String {
        self.records += 1;
        format!("{kind}_{}", self.records)
    }

    fn claude(&mut self, kind: &str, fields: Value) {
        let uuid = self.next("uuid");
        let mut record = json!({
            "parentUuid": null, "isSidechain": false, "type": kind, "uuid": uuid, "timestamp": now(),
            "userType": "external", "entrypoint": "cli", "cwd": self.cwd(), "sessionId": self.id, "version": "2.1.325",
            "gitBranch": "main",
        });
        record.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.append(record);
    }

    fn claude_tool(&mut self, name: &str, input: Value, result: &str, is_error: bool) {
        let id = self.next("toolu");
        self.claude(
            "assistant",
            json!({ "message": {
                "id": "m", "role": "assistant", "stop_reason": "tool_use",
                "content": [{ "type": "tool_use", "id": id, "name": name, "input": input }],
            } }),
        );
        self.claude(
            "user",
            json!({
                "message": { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": id, "content": result, "is_error": is_error },
                ] },
                "promptId": self.turn_id(),
            }),
        );
    }

    fn gemini(&mut self, kind: &str, fields: Value) {
        let id = self.next("message");
        let mut record = json!({ "id": id, "timestamp": now(), "type": kind });
        record.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.append(record);
    }

    fn gemini_tool(&mut self, name: &str, arguments: Value, output: &str, display: Value) {
        let id = self.next(name);
        let response =
            json!([{ "functionResponse": { "id": id, "name": name, "response": { "output": output } } }]);
        self.gemini(
            "gemini",
            json!({ "content": "", "thoughts": [], "model": "gemini-3.8-flash", "toolCalls": [{
                "id": id, "name": name, "args": arguments, "result": response, "status": "success",
                "timestamp": now(), "resultDisplay": display,
            }] }),
        );
        self.gemini("user", json!({ "content": response }));
    }

    fn codex_event(&mut self, payload: Value) {
        self.append(json!({ "timestamp": now(), "type": "event_msg", "payload": payload }));
    }

    fn codex_item(&mut self, item: Value) {
        let event = json!({ "type": "item_completed", "thread_id": self.id, "turn_id": self.turn_id(), "item": item });
        self.codex_event(event);
    }

    fn codex_response(&mut self, mut payload: Value) {
        payload["internal_chat_message_metadata_passthrough"] = json!({ "turn_id": self.turn_id() });
        self.append(json!({ "timestamp": now(), "type": "response_item", "payload": payload }));
    }

    fn codex_said(&mut self, role: &str, text: &str) {
        let (kind, provenance) = match role {
            "assistant" => ("output_text", json!(null)),
            _ if text.starts_with("<hook_prompt") => {
                ("input_text", json!({ "type": "harness", "hook": true }))
            }
            _ => ("input_text", json!({ "type": "user" })),
        };
        let mut payload =
            json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] });
        payload["internal_chat_message_metadata_passthrough"] = json!({
            "turn_id": self.turn_id(), "content_item_metadata": [{ "provenance": provenance }],
        });
        self.append(json!({ "timestamp": now(), "type": "response_item", "payload": payload }));
    }
}

/// As the clients write times: to the millisecond.
fn now() -> String {
    format!("{:.3}", Timestamp::try_from(sandbox::now()).unwrap())
}
