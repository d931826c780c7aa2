//! Claude Code: the Messages API.

use serde_json::{Value, json};

use super::{ANSWER_TOKENS, AnswerContext, at, list, texts, tool};
use crate::http::{Answer, Event};
use crate::scenario::Step;

/// Requests for the agent's next step bring the agent's tools; those beside it bring none, or one.
const FEW_TOOLS: usize = 3;

const TOOLS: [&str; 4] = ["Bash", "Read", "Write", "Edit"];

pub(super) fn is_turn(path: &str, body: &Value) -> bool {
    path.ends_with("/v1/messages") && list(body, "tools").len() > FEW_TOOLS
}

pub(super) fn side(path: &str) -> Answer {
    if path.ends_with("/count_tokens") {
        return Answer::ok(json!({"input_tokens": 1000}));
    }
    // Titles are asked for, and whether the API answers at all.
    let step = Step { text: Some(r#"{"title":"A scripted session"}"#.to_owned()), ..Step::default() };
    let place = AnswerContext { number: 0, folder: std::path::Path::new("") };
    Answer::ok(message(&place, &Value::Null, blocks(&step, &place), end(&step), usage(&step, &place)))
}

pub(super) fn user_texts(body: &Value) -> Vec<String> {
    let messages = list(body, "messages").iter().filter(|message| at(message, "role") == "user");
    messages.flat_map(|message| texts(at(message, "content"))).collect()
}

pub(super) fn answer(step: &Step, place: &AnswerContext<'_>, body: &Value) -> Answer {
    if let Some(failure) = &step.error {
        let error = json!({"type": failure.kind, "message": failure.message});
        return Answer::Document { status: failure.status, body: json!({"type": "error", "error": error}) };
    }
    let blocks = blocks(step, place);
    let usage = usage(step, place);
    if at(body, "stream") != true {
        return Answer::ok(message(place, body, blocks, end(step), usage));
    }
    let begun = message(place, body, Vec::new(), None, usage.clone());
    let mut events = vec![Event::typed(json!({"type": "message_start", "message": begun}))];
    for (index, block) in blocks.iter().enumerate() {
        // A block begins empty, and what it holds follows.
        let (empty, delta) = match block.get("input") {
            Some(input) => (
                json!({"type": "tool_use", "id": at(block, "id"), "name": at(block, "name"), "input": {}}),
                json!({"type": "input_json_delta", "partial_json": input.to_string()}),
            ),
            None => (
                json!({"type": "text", "text": ""}),
                json!({"type": "text_delta", "text": at(block, "text")}),
            ),
        };
        events.push(Event::typed(
            json!({"type": "content_block_start", "index": index, "content_block": empty}),
        ));
        events.push(Event::typed(json!({"type": "content_block_delta", "index": index, "delta": delta})));
        events.push(Event::typed(json!({"type": "content_block_stop", "index": index})));
    }
    let delta = json!({"stop_reason": end(step), "stop_sequence": null});
    events.push(Event::typed(json!({"type": "message_delta", "delta": delta, "usage": usage})));
    events.push(Event::typed(json!({"type": "message_stop"})));
    Answer::Stream(events)
}

fn blocks(step: &Step, place: &AnswerContext<'_>) -> Vec<Value> {
    let text = step.text.iter().map(|text| json!({"type": "text", "text": text}));
    let calls = step.calls.iter().enumerate().map(|(index, call)| {
        let (name, input) = tool(call, place, TOOLS);
        json!({"type": "tool_use", "id": format!("toolu_{}_{index}", place.number), "name": name, "input": input})
    });
    text.chain(calls).collect()
}

fn end(step: &Step) -> Option<&'static str> {
    Some(if step.calls.is_empty() { "end_turn" } else { "tool_use" })
}

fn usage(step: &Step, place: &AnswerContext<'_>) -> Value {
    json!({
        "input_tokens": place.tokens(step),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": ANSWER_TOKENS,
        "service_tier": "standard",
    })
}

fn message(
    place: &AnswerContext<'_>,
    body: &Value,
    content: Vec<Value>,
    end: Option<&str>,
    usage: Value,
) -> Value {
    json!({
        "id": format!("msg_{}", place.number),
        "type": "message",
        "role": "assistant",
        "model": at(body, "model"),
        "content": content,
        "stop_reason": end,
        "stop_sequence": null,
        "usage": usage,
    })
}
