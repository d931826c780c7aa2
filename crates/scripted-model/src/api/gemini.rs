//! Gemini CLI: `generateContent` and `streamGenerateContent`.

use serde_json::{Value, json};

use super::{ANSWER_TOKENS, AnswerContext, at, list, texts, tool};
use crate::http::{Answer, Event};
use crate::scenario::{Call, Step};

const TOOLS: [&str; 4] = ["run_shell_command", "read_file", "write_file", "replace"];

/// Requests for the agent's next step bring tools; those beside it ask for a document of a given schema.
pub(super) fn is_turn(path: &str, body: &Value) -> bool {
    let wants_schema = at(body, "generationConfig").get("responseJsonSchema").is_some();
    path.contains("enerateContent") && !list(body, "tools").is_empty() && !wants_schema
}

/// Whatever the client asks beside the turn, these are the keys that it looks for.
pub(super) fn side(path: &str) -> Answer {
    if path.contains(":countTokens") {
        return Answer::ok(json!({"totalTokens": 1000}));
    }
    let answers = json!({
        "reasoning": "scripted", "next_speaker": "user", "model_choice": "pro", "complexity_reasoning": "scripted",
        "complexity_score": 10, "title": "A scripted session", "summary": "A scripted session",
    });
    let body = content(vec![json!({"text": answers.to_string()})], 0, 1000);
    if path.contains(":streamGenerateContent") {
        return Answer::Stream(vec![Event { name: None, data: body }]);
    }
    Answer::ok(body)
}

pub(super) fn user_texts(body: &Value) -> Vec<String> {
    let contents = list(body, "contents").iter().filter(|content| at(content, "role") == "user");
    contents.flat_map(|content| texts(at(content, "parts"))).collect()
}

pub(super) fn answer(step: &Step, place: &AnswerContext<'_>) -> Answer {
    if let Some(failure) = &step.error {
        let error = json!({"code": failure.status, "status": failure.kind, "message": failure.message});
        return Answer::Document { status: failure.status, body: json!({"error": error}) };
    }
    let text = step.text.iter().map(|text| json!({"text": text}));
    let calls = step.calls.iter().map(|call| {
        let (name, mut arguments) = tool(call, place, TOOLS);
        if let (Call::Edit { .. }, Some(arguments)) = (call, arguments.as_object_mut()) {
            arguments.insert("instruction".to_owned(), "Replace these lines".into());
        }
        json!({"functionCall": {"name": name, "args": arguments}})
    });
    let data = content(text.chain(calls).collect(), place.number, place.tokens(step));
    Answer::Stream(vec![Event { name: None, data }])
}

fn content(parts: Vec<Value>, number: usize, tokens: u64) -> Value {
    json!({
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": tokens,
            "candidatesTokenCount": ANSWER_TOKENS,
            "totalTokenCount": tokens + ANSWER_TOKENS,
        },
        "modelVersion": "scripted",
        "responseId": format!("response-{number}"),
    })
}
