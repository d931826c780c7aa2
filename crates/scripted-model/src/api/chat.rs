//! Chat completions, which most clients can be pointed to. Whose tools are called is seen by those that a request offers.

use serde_json::{Value, json};
use transcript::Agent;

use super::{ANSWER_TOKENS, AnswerContext, at, list, texts, tool};
use crate::client::{self, ChatDialect};
use crate::http::{Answer, Event};
use crate::scenario::{Call, Step};

/// Requests for the agent's next step bring its tools; those beside it bring none.
pub(super) fn is_turn(path: &str, body: &Value) -> bool {
    path.ends_with("/chat/completions") && dialect(body).is_some()
}

fn dialect(body: &Value) -> Option<&'static ChatDialect> {
    let is_offered = |wanted: &str| {
        list(body, "tools").iter().any(|tool| at(at(tool, "function"), "name").as_str() == Some(wanted))
    };
    let mut dialects = Agent::ALL.into_iter().filter_map(|host| client::form(host).chat.as_ref());
    dialects.find(|dialect| dialect.tools.iter().all(|name| is_offered(name)))
}

pub(super) fn side(path: &str, body: &Value) -> Answer {
    if !path.ends_with("/chat/completions") {
        return Answer::ok(json!({"data": []}));
    }
    let step = Step { text: Some("A scripted session".to_owned()), ..Step::default() };
    answer(&step, &AnswerContext { number: 0, folder: std::path::Path::new("") }, body)
}

pub(super) fn user_texts(body: &Value) -> Vec<String> {
    let messages = list(body, "messages").iter().filter(|message| at(message, "role") == "user");
    messages.flat_map(|message| texts(at(message, "content"))).collect()
}

pub(super) fn answer(step: &Step, place: &AnswerContext<'_>, body: &Value) -> Answer {
    if let Some(failure) = &step.error {
        let error = json!({"type": failure.kind, "code": failure.kind, "message": failure.message});
        return Answer::Document { status: failure.status, body: json!({"error": error}) };
    }
    let calls: Vec<Value> = dialect(body).map(|dialect| calls(step, place, dialect)).unwrap_or_default();
    let end = if calls.is_empty() { "stop" } else { "tool_calls" };
    let tokens = place.tokens(step);
    let usage = json!({
        "prompt_tokens": tokens, "completion_tokens": ANSWER_TOKENS, "total_tokens": tokens + ANSWER_TOKENS,
    });
    let document = |kind: &str, choices: Value, usage: &Value| {
        json!({
            "id": format!("chatcmpl-{}", place.number), "object": kind, "created": 0, "model": at(body, "model"),
            "choices": choices, "usage": usage,
        })
    };
    if at(body, "stream") != true {
        let message = json!({"role": "assistant", "content": step.text, "tool_calls": calls});
        let choices = json!([{"index": 0, "message": message, "finish_reason": end}]);
        return Answer::ok(document("chat.completion", choices, &usage));
    }
    let chunk = |delta: Value, end: Option<&str>| {
        let choices = json!([{"index": 0, "delta": delta, "finish_reason": end}]);
        Event { name: None, data: document("chat.completion.chunk", choices, &Value::Null) }
    };
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), None)];
    events.extend(step.text.iter().map(|text| chunk(json!({"content": text}), None)));
    events.extend(calls.into_iter().map(|call| chunk(json!({"tool_calls": [call]}), None)));
    events.push(chunk(json!({}), Some(end)));
    events.push(Event { name: None, data: document("chat.completion.chunk", json!([]), &usage) });
    Answer::Stream(events)
}

/// The input of a tool by the names that this client has for it.
fn in_dialect(call: &Call, input: Value, dialect: &ChatDialect) -> Value {
    let Value::Object(mut input) = input else { return input };
    if matches!(call, Call::Tool { .. }) {
        return input.into();
    }
    for (usual, own) in dialect.inputs {
        let value = input.remove(*usual);
        input.extend(value.map(|value| ((*own).to_owned(), value)));
    }
    if matches!(call, Call::Run(_)) {
        input.extend(serde_json::from_str::<serde_json::Map<_, _>>(dialect.run).unwrap_or_default());
    }
    input.into()
}

fn calls(step: &Step, place: &AnswerContext<'_>, dialect: &ChatDialect) -> Vec<Value> {
    let call = |(index, call): (usize, &Call)| {
        let (name, input) = tool(call, place, dialect.tools);
        let input = in_dialect(call, input, dialect);
        json!({
            "index": index, "id": format!("call_{}_{index}", place.number), "type": "function",
            "function": {"name": name, "arguments": input.to_string()},
        })
    };
    step.calls.iter().enumerate().map(call).collect()
}
