//! Codex CLI: the Responses API. Its newer models work in “code mode”: they have one tool, `exec`, which runs a
//! script that calls the others. Which of the two a request is for is seen by how it brings its tools.

use std::path::Path;

use serde_json::{Value, json};

use super::{ANSWER_TOKENS, AnswerContext, at, list, texts};
use crate::http::{Answer, Event};
use crate::scenario::{Call, Step};

/// How the client's own request for a title begins.
const TITLE_REQUEST: &str = "Generate a concise, single-line task title";

pub(super) fn is_turn(path: &str, body: &Value) -> bool {
    let has_tools = !list(body, "tools").is_empty() || is_code_mode(body);
    let wants_title = || user_texts(body).iter().any(|text| text.contains(TITLE_REQUEST));
    path.ends_with("/responses") && has_tools && !wants_title()
}

fn is_code_mode(body: &Value) -> bool {
    list(body, "input").iter().any(|item| at(item, "type") == "additional_tools")
}

pub(super) fn side(path: &str) -> Answer {
    if !path.ends_with("/responses") {
        return Answer::ok(json!({"output": []}));
    }
    stream(0, vec![said("A scripted session", 0)], 1000)
}

/// What a sub-agent is told comes as a message of another agent; its task is in a part that only looks encrypted.
pub(super) fn user_texts(body: &Value) -> Vec<String> {
    let is_told = |item: &&Value| at(item, "role") == "user" || at(item, "type") == "agent_message";
    let parts = list(body, "input").iter().filter(is_told).flat_map(|item| list(item, "content"));
    let text = |part: &Value| part.get("text").or(part.get("encrypted_content"))?.as_str().map(str::to_owned);
    parts.filter_map(text).collect()
}

pub(super) fn answer(step: &Step, place: &AnswerContext<'_>, body: &Value) -> Answer {
    if let Some(failure) = &step.error {
        let error = json!({"type": failure.kind, "code": failure.kind, "message": failure.message});
        return Answer::Document { status: failure.status, body: json!({"error": error}) };
    }
    let mut items: Vec<Value> = step.text.iter().map(|text| said(text, place.number)).collect();
    let id = |index: usize| format!("call_{}_{index}", place.number);
    if is_code_mode(body) {
        let is_own = |call: &&Call| matches!(call, Call::Tool { .. });
        let scripted: Vec<String> = step.calls.iter().filter(|call| !is_own(call)).map(expression).collect();
        if !scripted.is_empty() {
            let script = format!(
                "const results = await Promise.all([{}]);\nfor (const result of results) text(result);\n",
                scripted.join(", ")
            );
            items.push(called(&id(0), "exec", &script.into(), None));
        }
        for (index, call) in step.calls.iter().enumerate() {
            if let Call::Tool { name, input, namespace } = call {
                items.push(called(&id(index + 1), name, input, namespace.as_deref()));
            }
        }
    } else {
        items.extend(step.calls.iter().enumerate().map(|(index, call)| {
            let (name, input, namespace) = tool(call);
            called(&id(index), name, &input, namespace)
        }));
    }
    stream(place.number, items, place.tokens(step))
}

fn stream(number: usize, items: Vec<Value>, tokens: u64) -> Answer {
    let id = format!("resp_{number}");
    let mut events = vec![Event::typed(json!({"type": "response.created", "response": {"id": id}}))];
    for (index, item) in items.iter().enumerate() {
        let mut begun = item.clone();
        if let Some(content) = begun.get_mut("content") {
            *content = json!([]);
        }
        events.push(Event::typed(
            json!({"type": "response.output_item.added", "output_index": index, "item": begun}),
        ));
        for text in texts(at(item, "content")) {
            events.push(Event::typed(json!({
                "type": "response.output_text.delta", "output_index": index, "item_id": at(item, "id"), "delta": text,
            })));
        }
        events.push(Event::typed(
            json!({"type": "response.output_item.done", "output_index": index, "item": item}),
        ));
    }
    let usage = json!({
        "input_tokens": tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": ANSWER_TOKENS,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": tokens + ANSWER_TOKENS,
    });
    let response = json!({"id": id, "status": "completed", "output": items, "usage": usage});
    events.push(Event::typed(json!({"type": "response.completed", "response": response})));
    Answer::Stream(events)
}

fn said(text: &str, number: usize) -> Value {
    json!({
        "type": "message",
        "role": "assistant",
        "id": format!("msg_{number}"),
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    })
}

/// A tool that takes a text is a custom tool.
fn called(id: &str, name: &str, input: &Value, namespace: Option<&str>) -> Value {
    let item = match input {
        Value::String(text) => json!({
            "type": "custom_tool_call", "id": format!("ctc_{id}"), "call_id": id, "name": name, "input": text,
            "status": "completed",
        }),
        input => json!({
            "type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name,
            "arguments": input.to_string(),
        }),
    };
    match (item, namespace) {
        (Value::Object(mut fields), Some(namespace)) => {
            fields.insert("namespace".to_owned(), namespace.into());
            Value::Object(fields)
        }
        (item, _) => item,
    }
}

/// The call in a script of code mode.
fn expression(call: &Call) -> String {
    let (name, input, _) = tool(call);
    format!("tools.{name}({input})")
}

/// The client's tool for a call, its input, and the namespace that it is in.
fn tool(call: &Call) -> (&str, Value, Option<&str>) {
    match call {
        Call::Run(command) => ("exec_command", json!({"cmd": command}), None),
        Call::Read(path) => ("exec_command", json!({"cmd": print(path)}), None),
        Call::Write { path, content } => ("apply_patch", addition(path, content).into(), None),
        Call::Edit { path, old, new } => ("apply_patch", replacement(path, old, new).into(), None),
        Call::Tool { name, input, namespace } => (name, input.clone(), namespace.as_deref()),
    }
}

/// There is no tool that reads.
fn print(path: &Path) -> String {
    text::command_line(&["cat", &path.display().to_string()])
}

fn addition(path: &Path, content: &str) -> String {
    format!("*** Begin Patch\n*** Add File: {}\n{}*** End Patch\n", path.display(), lines('+', content))
}

fn replacement(path: &Path, old: &str, new: &str) -> String {
    format!(
        "*** Begin Patch\n*** Update File: {}\n@@\n{}{}*** End Patch\n",
        path.display(),
        lines('-', old),
        lines('+', new)
    )
}

fn lines(sign: char, text: &str) -> String {
    text.lines().map(|line| format!("{sign}{line}\n")).collect()
}
