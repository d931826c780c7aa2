//! An agent that is played. What it does is done for real; what its client would write into the transcript is written
//! as it goes, in Claude Code's records, and the hook is told as Claude Code tells it.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::error::CommandError;

use super::scratch::{DemoFolder, ProgramOutput};

pub(super) struct PlayedAgent<'a> {
    scratch: &'a DemoFolder,
    session: String,
    turn: usize,
    calls: usize,
    /// The tokens that the client reports with every answer.
    pub(super) tokens: u64,
    lines: String,
}

impl<'a> PlayedAgent<'a> {
    pub(super) fn new(scratch: &'a DemoFolder, session: &str) -> Self {
        Self { scratch, session: session.to_owned(), turn: 0, calls: 0, tokens: 30_000, lines: String::new() }
    }

    /// A person asks for something.
    pub(super) fn prompt(&mut self, text: &str) -> Result<(), CommandError> {
        self.turn += 1;
        let told = self.tell_hook("UserPromptSubmit", json!({"prompt": text}))?;
        super::expect(told.stdout.is_empty(), "a prompt was answered", &told.stdout)?;
        let message = json!({"role": "user", "content": text});
        self.record("user", message, json!({"promptSource": "typed", "promptId": self.turn_id()}));
        Ok(())
    }

    /// The agent writes a file.
    pub(super) fn write(&mut self, file: &str, text: &str) -> Result<(), CommandError> {
        let path = self.scratch.repository().join(file);
        self.scratch.write(&format!("repository/{file}"), text)?;
        self.call("Write", json!({"file_path": path.to_string_lossy(), "content": text}), "written", false);
        Ok(())
    }

    /// The agent runs a command.
    pub(super) fn run(&mut self, command: &str) -> Result<ProgramOutput, CommandError> {
        let said = self.scratch.shell(command)?;
        let failed = said.code != Some(0);
        let output = match said.code {
            Some(0) => said.stdout.clone(),
            code => format!("Exit code {}\n{}", code.unwrap_or(-1), said.stderr),
        };
        self.call("Bash", json!({"command": command}), output.trim_end(), failed);
        Ok(said)
    }

    /// The agent says its last words and wants to stop; what the hook answers, where it answers.
    pub(super) fn stop(&mut self, words: &str) -> Result<Option<Value>, CommandError> {
        self.answer(json!([{"type": "text", "text": words}]));
        let path = self.transcript();
        self.scratch.write(&path, &self.lines)?;
        let told = self.tell_hook(
            "Stop",
            json!({"last_assistant_message": words, "stop_hook_active": false, "background_tasks": []}),
        )?;
        let answer = match told.stdout.trim() {
            "" => None,
            text => Some(
                serde_json::from_str::<Value>(text)
                    .map_err(|error| super::differs("the hook's answer is not JSON", &error.to_string()))?,
            ),
        };
        // A hold comes back to the agent as the client's own message.
        if let Some(reason) = answer.as_ref().and_then(|answer| answer.get("reason")?.as_str()) {
            let content = format!("Stop hook feedback:\n{reason}");
            let message = json!({"role": "user", "content": content});
            self.record("user", message, json!({"isMeta": true, "promptId": self.turn_id()}));
        }
        Ok(answer)
    }

    /// Another session of the same person begins; what the agent is told.
    pub(super) fn begin(&self) -> Result<Option<String>, CommandError> {
        let told = self.tell_hook("SessionStart", json!({"source": "startup"}))?;
        let answer = serde_json::from_str::<Value>(told.stdout.trim()).unwrap_or_default();
        let context = answer.pointer("/hookSpecificOutput/additionalContext").and_then(Value::as_str);
        Ok(context.map(str::to_owned))
    }

    fn turn_id(&self) -> String {
        format!("{}-{}", self.session, self.turn)
    }

    fn transcript(&self) -> String {
        format!("home/{}.jsonl", self.session)
    }

    fn tell_hook(&self, event: &str, more: Value) -> Result<ProgramOutput, CommandError> {
        let mut payload = json!({
            "session_id": self.session,
            "transcript_path": self.scratch.folder().join(self.transcript()).to_string_lossy(),
            "cwd": self.scratch.repository().to_string_lossy(),
            "hook_event_name": event,
            "prompt_id": self.turn_id(),
            "permission_mode": "default",
        });
        add(&mut payload, more);
        self.scratch.checkstone(&["hook", "claude"], &format!("{payload}\n"))
    }

    fn call(&mut self, tool: &str, input: Value, result: &str, failed: bool) {
        self.calls += 1;
        let id = format!("toolu_{}", self.calls);
        self.answer(json!([{"type": "tool_use", "id": id, "name": tool, "input": input}]));
        let content =
            json!([{"type": "tool_result", "tool_use_id": id, "content": result, "is_error": failed}]);
        let message = json!({"role": "user", "content": content});
        self.record("user", message, json!({"promptId": self.turn_id()}));
    }

    fn answer(&mut self, content: Value) {
        let usage = json!({
            "input_tokens": 4, "cache_creation_input_tokens": 0, "cache_read_input_tokens": self.tokens,
            "output_tokens": 0,
        });
        let id = format!("msg_{}", self.lines.len());
        let message = json!({
            "id": id, "role": "assistant", "model": "claude-opus-4-1", "content": content, "usage": usage,
        });
        self.record("assistant", message, json!({"requestId": id}));
    }

    fn record(&mut self, kind: &str, message: Value, more: Value) {
        let mut record = json!({
            "parentUuid": null, "isSidechain": false, "type": kind, "uuid": format!("{}", self.lines.len()),
            "timestamp": format!("{:.3}", Timestamp::now()), "userType": "external",
            "cwd": self.scratch.repository().to_string_lossy(), "sessionId": self.session, "version": "2.1.325",
            "message": message,
        });
        add(&mut record, more);
        self.lines.push_str(&format!("{record}\n"));
    }
}

fn add(record: &mut Value, more: Value) {
    if let (Some(record), Value::Object(more)) = (record.as_object_mut(), more) {
        record.extend(more);
    }
}
