//! `checkstone serve` as browsers, strangers and people use it.

mod access;
mod bad_input;
mod database_sessions;
mod in_browser;
mod notifications;

use sandbox::PageServer;
use serde_json::{Value, json};

use crate::workplace::Workplace;

const POLICY: &str = "presets = [\"rust\"]\n";

/// The page of this workplace.
#[track_caller]
fn serve(workplace: &Workplace) -> PageServer {
    PageServer::of(&mut workplace.checkstone(&["serve", "--port", "0"]))
}

/// Calls a hook of Claude Code for one of several sessions.
fn hook(workplace: &Workplace, session: &str, event: &str, more: Value) {
    let mut all = json!({
        "session_id": session,
        "prompt_id": format!("prompt-of-{session}"),
        "transcript_path": workplace.path(&format!("{session}.jsonl")),
    });
    all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    workplace.hook(event, all);
}

fn prompt(workplace: &Workplace, session: &str, text: &str) {
    hook(workplace, session, "UserPromptSubmit", json!({"prompt": text}));
}

fn stop(workplace: &Workplace, session: &str) {
    hook(workplace, session, "Stop", json!({"stop_hook_active": false, "last_assistant_message": "Done."}));
}

/// What a client writes down of a turn that edited this file of the repository.
fn write_turn(workplace: &Workplace, session: &str, prompt: &str, file: &str) {
    let at = jiff::Timestamp::try_from(sandbox::now()).unwrap();
    let common = |kind: &str, id: &str| {
        json!({"type": kind, "uuid": id, "parentUuid": null, "isSidechain": false, "timestamp": at.to_string(),
            "sessionId": session, "cwd": workplace.repo(), "version": "2.1.325", "promptId": format!("prompt-of-{session}")})
    };
    let path = workplace.repo().join(file);
    let mut lines = [common("user", "u0"), common("assistant", "a0"), common("user", "u1")];
    lines[0]["message"] = json!({"role": "user", "content": prompt});
    lines[1]["message"] = json!({"id": "m0", "role": "assistant", "type": "message", "model": "claude-opus-4-1",
        "usage": {"input_tokens": 84000, "output_tokens": 10}, "content": [
            {"type": "tool_use", "id": "t0", "name": "Write", "input": {"file_path": path, "content": "pub fn two() {}\n"}}]});
    lines[2]["message"] = json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t0", "content": "File created successfully"}]});
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(workplace.path(&format!("{session}.jsonl")), text).unwrap();
}
