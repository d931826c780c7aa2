//! What was asked is kept; conversations are told apart; nothing that a client sends ends the service.

use std::time::Duration;

use sandbox::waiting::LIMIT;
use serde_json::json;

use crate::client::{self, CLAUDE, GEMINI, claude_message, play, post, raw};

#[test]
fn steps_follow_each_other_and_the_end_is_told_once_it_is_passed() {
    let server = play(&json!({"steps": [{"text": "one"}, {"text": "two"}]}));
    let said: Vec<String> = (0..3).map(|_| post(&server, CLAUDE, &client::claude("go")).1).collect();
    insta::assert_snapshot!(said[0], @r#"
    event: message_start
    data: {"type":"message_start","message":{"id":"msg_0","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1000,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":42,"service_tier":"standard"}}}

    event: content_block_start
    data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

    event: content_block_delta
    data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"one"}}

    event: content_block_stop
    data: {"type":"content_block_stop","index":0}

    event: message_delta
    data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":1000,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":42,"service_tier":"standard"}}

    event: message_stop
    data: {"type":"message_stop"}
    "#);
    assert_eq!(
        said.iter().map(|body| claude_message(body)).collect::<Vec<_>>(),
        [
            ("msg_0".to_owned(), 1000, "one".to_owned()),
            ("msg_1".to_owned(), 1100, "two".to_owned()),
            ("msg_2".to_owned(), 1200, "(The scenario has no more steps.)".to_owned()),
        ]
    );
    let steps: Vec<_> = server.requests().iter().map(|request| request.step).collect();
    assert_eq!(steps, [Some(0), Some(1), None]);
}

#[test]
fn a_conversation_has_steps_of_its_own() {
    let server = play(&json!({
        "steps": [{"text": "main one"}, {"text": "main two"}],
        "conversations": [{"when": "sub task", "steps": [{"text": "sub one"}]}],
    }));
    let ask = |prompt: &str| post(&server, GEMINI, &client::gemini(prompt)).1;
    let said = ["go", "do the sub task now", "go"].map(ask);
    insta::assert_snapshot!(said.join("\n---\n"), @r#"
    data: {"candidates":[{"content":{"role":"model","parts":[{"text":"main one"}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":1000,"candidatesTokenCount":42,"totalTokenCount":1042},"modelVersion":"scripted","responseId":"response-0"}


    ---
    data: {"candidates":[{"content":{"role":"model","parts":[{"text":"sub one"}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":1100,"candidatesTokenCount":42,"totalTokenCount":1142},"modelVersion":"scripted","responseId":"response-1"}


    ---
    data: {"candidates":[{"content":{"role":"model","parts":[{"text":"main two"}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":1200,"candidatesTokenCount":42,"totalTokenCount":1242},"modelVersion":"scripted","responseId":"response-2"}
    "#);
    assert_eq!(server.requests()[1].conversation.as_deref(), Some("sub task"));
}

#[test]
fn what_the_client_sent_is_kept() {
    let server = play(&json!({"steps": [{"text": "one"}]}));
    post(&server, CLAUDE, &client::claude("Fix the thing"));
    let requests = server.requests();
    assert_eq!((requests[0].method.as_str(), requests[0].path.as_str()), ("POST", "/v1/messages"));
    assert_eq!(requests[0].user_texts(), ["Fix the thing"]);
    assert_eq!(requests[0].body["model"], "m");
}

#[test]
fn a_delay_is_kept_and_an_answer_can_be_waited_for() {
    let server = play(&json!({"steps": [{"text": "late", "delay_ms": 60}]}));
    assert!(!server.wait_for_turns(1, Duration::ZERO));
    std::thread::scope(|scope| {
        scope.spawn(|| post(&server, CLAUDE, &client::claude("go")));
        assert!(server.wait_for_turns(1, LIMIT));
    });
    assert!(server.requests()[0].answered.is_some());
}

/// Parallel requests get a step each, and every one is kept.
#[test]
fn many_at_once() {
    let steps: Vec<_> = (0..40).map(|number| json!({"text": format!("<{number}>")})).collect();
    let server = play(&json!({"steps": steps}));
    let mut said: Vec<String> = std::thread::scope(|scope| {
        let asked: Vec<_> =
            (0..40).map(|_| scope.spawn(|| post(&server, GEMINI, &client::gemini("go")).1)).collect();
        asked.into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    said.sort();
    said.dedup();
    assert_eq!((said.len(), server.requests().len()), (40, 40));
}

#[test]
fn a_request_in_chunks_is_read_whole() {
    let server = play(&json!({"steps": [{"text": "one"}]}));
    let body = client::claude("in chunks").to_string();
    let (first, second) = body.split_at(20);
    let request = format!(
        "POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{first}\r\n{:X};x=y\r\n{second}\r\n0\r\n\r\n",
        first.len(),
        second.len()
    );
    let (_, body) = raw(&server, request.as_bytes());
    assert_eq!(claude_message(&body), ("msg_0".to_owned(), 1000, "one".to_owned()));
    assert_eq!(server.requests()[0].user_texts(), ["in chunks"]);
}

#[test]
fn nonsense_is_answered_with_a_sentence() {
    let server = play(&json!({"steps": [{"text": "one"}]}));
    let mut answers = Vec::new();
    for (request, about) in [
        ("hello\r\n\r\n", "no request line"),
        ("POST / HTTP/1.1\r\nno colon\r\n\r\n", "no colon"),
        ("POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n", "is no number"),
        ("POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", "too large"),
        ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "is no number"),
        ("POST / HTTP/1.1\r\nContent-Encoding: zstd\r\n\r\n", "compressed"),
    ] {
        let (status, body) = raw(&server, request.as_bytes());
        answers.push(format!("{about}: {status} {body}"));
    }
    insta::assert_snapshot!(answers.join("\n"), @r#"
    no request line: 400 {"error":{"message":"the first line of the request is no request line"}}
    no colon: 400 {"error":{"message":"a header has no colon"}}
    is no number: 400 {"error":{"message":"the content length is no number"}}
    too large: 400 {"error":{"message":"the request is too large"}}
    is no number: 400 {"error":{"message":"a chunk's size is no number"}}
    compressed: 400 {"error":{"message":"compressed requests are not understood"}}
    "#);
    // A body that is no JSON is no request for a step.
    let (status, _) = raw(&server, b"POST /v1/messages HTTP/1.1\r\nContent-Length: 3\r\n\r\nxyz");
    assert_eq!(status, 200);
    let (_, body) = post(&server, CLAUDE, &client::claude("go"));
    assert_eq!(claude_message(&body), ("msg_1".to_owned(), 1100, "one".to_owned()));
}
