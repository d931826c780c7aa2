//! The same deeds in the words of each API.

use serde_json::{Value, json};

use crate::client::{self, CLAUDE, CODEX, GEMINI, claude_message, events, play, post};

fn deeds() -> Value {
    json!({"steps": [{"text": "I do it.", "calls": [
        {"run": "make test"},
        {"read": "a.py"},
        {"write": {"path": "b's.py", "content": "one\ntwo\n"}},
        {"edit": {"path": "a.py", "old": "x", "new": "y\nz"}},
        {"tool": {"name": "Own", "input": {"k": 1}, "namespace": "n"}},
    ]}]})
}

#[test]
fn claude_gets_tool_uses_in_one_message() {
    let server = play(&deeds());
    let (status, body) = post(&server, CLAUDE, &client::claude("go"));
    assert_eq!(status, 200);
    let events = events(&body);
    let types: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(types.first(), Some(&"message_start"));
    assert_eq!(types[types.len() - 2..], ["message_delta", "message_stop"]);
    let begun: Vec<&Value> = events.iter().filter_map(|event| event.get("content_block")).collect();
    let names: Vec<&Value> = begun.iter().map(|block| &block["name"]).collect();
    assert_eq!(
        names,
        [&Value::Null, &json!("Bash"), &json!("Read"), &json!("Write"), &json!("Edit"), &json!("Own")]
    );
    let inputs: Vec<Value> = events
        .iter()
        .filter_map(|event| event["delta"]["partial_json"].as_str())
        .map(|input| serde_json::from_str(input).unwrap())
        .collect();
    assert_eq!(inputs[0]["command"], "make test");
    assert_eq!(inputs[1]["file_path"], "/work place/a.py");
    assert_eq!(inputs[2], json!({"file_path": "/work place/b's.py", "content": "one\ntwo\n"}));
    assert_eq!(inputs[3], json!({"file_path": "/work place/a.py", "old_string": "x", "new_string": "y\nz"}));
    assert_eq!(inputs[4], json!({"k": 1}));
    assert_eq!(events[events.len() - 2]["delta"]["stop_reason"], "tool_use");
}

#[test]
fn codex_gets_calls_of_its_plain_tools() {
    let server = play(&deeds());
    let (_, body) = post(&server, CODEX, &client::codex("go", false));
    let done: Vec<Value> = events(&body)
        .into_iter()
        .filter(|event| event["type"] == "response.output_item.done")
        .map(|event| event["item"].clone())
        .collect();
    assert_eq!(done[0]["content"][0]["text"], "I do it.");
    assert_eq!(
        (&done[1]["name"], &done[1]["arguments"]),
        (&json!("exec_command"), &json!(r#"{"cmd":"make test"}"#))
    );
    assert_eq!(done[2]["arguments"], r#"{"cmd":"cat a.py"}"#);
    assert_eq!(done[3]["input"], "*** Begin Patch\n*** Add File: b's.py\n+one\n+two\n*** End Patch\n");
    assert_eq!(done[4]["input"], "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n+z\n*** End Patch\n");
    assert_eq!((&done[5]["name"], &done[5]["namespace"]), (&json!("Own"), &json!("n")));
    assert_eq!(events(&body).last().unwrap()["response"]["status"], "completed");
}

#[test]
fn codex_in_code_mode_gets_one_script() {
    let server = play(&deeds());
    let (_, body) = post(&server, CODEX, &client::codex("go", true));
    let calls: Vec<Value> = events(&body)
        .into_iter()
        .filter(|event| {
            event["type"] == "response.output_item.done" && event["item"].get("call_id").is_some()
        })
        .map(|event| event["item"].clone())
        .collect();
    assert_eq!(calls.len(), 2, "the script, and the tool by its own name");
    let script = calls[0]["input"].as_str().unwrap();
    assert_eq!((&calls[0]["name"], &calls[0]["type"]), (&json!("exec"), &json!("custom_tool_call")));
    insta::assert_snapshot!(script, @r#"
    const results = await Promise.all([tools.exec_command({"cmd":"make test"}), tools.exec_command({"cmd":"cat a.py"}), tools.apply_patch("*** Begin Patch\n*** Add File: b's.py\n+one\n+two\n*** End Patch\n"), tools.apply_patch("*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n+z\n*** End Patch\n")]);
    for (const result of results) text(result);
    "#);
    assert_eq!(calls[1]["name"], "Own");
}

#[test]
fn gemini_gets_function_calls() {
    let server = play(&deeds());
    let (_, body) = post(&server, GEMINI, &client::gemini("go"));
    let events = events(&body);
    let parts = events[0]["candidates"][0]["content"]["parts"].as_array().unwrap();
    let names: Vec<&Value> = parts.iter().map(|part| &part["functionCall"]["name"]).collect();
    let expected = [
        Value::Null,
        json!("run_shell_command"),
        json!("read_file"),
        json!("write_file"),
        json!("replace"),
        json!("Own"),
    ];
    assert_eq!(names, expected.iter().collect::<Vec<_>>());
    assert_eq!(parts[4]["functionCall"]["args"]["file_path"], "/work place/a.py");
}

#[test]
fn an_error_comes_in_each_apis_own_shape() {
    let failure = json!({"error": {"status": 529, "kind": "overloaded_error", "message": "too much"}});
    let server = play(&json!({"steps": [failure, failure, failure]}));
    for (path, body, at) in [
        (CLAUDE, client::claude("go"), "/error/type"),
        (CODEX, client::codex("go", false), "/error/code"),
        (GEMINI, client::gemini("go"), "/error/status"),
    ] {
        let (status, told) = post(&server, path, &body);
        let told: Value = serde_json::from_str(&told).unwrap();
        assert_eq!((status, told.pointer(at).unwrap()), (529, &json!("overloaded_error")), "{path}");
        assert_eq!(told["error"]["message"], "too much");
    }
}

/// What clients ask beside the turn uses up no step.
#[test]
fn side_requests_play_nothing() {
    let server = play(&json!({"steps": [{"text": "first"}]}));
    for (path, body) in [
        ("/v1/messages", json!({"stream": false, "messages": [], "tools": []})),
        ("/v1/messages/count_tokens", json!({})),
        ("/v1/responses", json!({"input": []})),
        ("/v1/responses/compact", json!({})),
        ("/v1beta/models/m:generateContent", json!({"contents": []})),
        ("/v1beta/models/m:countTokens", json!({})),
        ("/v1/models", json!(null)),
    ] {
        assert_eq!(post(&server, path, &body).0, 200, "{path}");
    }
    assert!(server.requests().iter().all(|request| !request.is_turn));
    let (_, body) = post(&server, CLAUDE, &client::claude("go"));
    assert_eq!(claude_message(&body), ("msg_7".to_owned(), 1700, "first".to_owned()));
}

/// The context that a later step says is in use, as each client counts it.
#[test]
fn tokens_are_told() {
    let step = json!({"text": "long", "tokens": 150_000});
    let server = play(&json!({"steps": [step, step, step]}));
    let claude = events(&post(&server, CLAUDE, &client::claude("go")).1);
    assert_eq!(claude[0]["message"]["usage"]["input_tokens"], 150_000);
    let codex = events(&post(&server, CODEX, &client::codex("go", false)).1);
    assert_eq!(codex.last().unwrap()["response"]["usage"]["input_tokens"], 150_000);
    let gemini = events(&post(&server, GEMINI, &client::gemini("go")).1);
    assert_eq!(gemini[0]["usageMetadata"]["promptTokenCount"], 150_000);
}
