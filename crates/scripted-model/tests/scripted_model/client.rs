//! A client of a few lines: one request a connection.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use scripted_model::{Scenario, Server, Settings};
use serde_json::{Value, json};

pub(crate) fn play(scenario: &Value) -> Server {
    let scenario: Scenario = serde_json::from_value(scenario.clone()).unwrap();
    Server::start(scenario, &Settings { port: 0, folder: "/work place".into(), log: None }).unwrap()
}

/// What came back: the status, and the body.
pub(crate) fn raw(server: &Server, request: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(server.address().strip_prefix("http://").unwrap()).unwrap();
    stream.write_all(request).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

pub(crate) fn post(server: &Server, path: &str, body: &Value) -> (u16, String) {
    let body = body.to_string();
    let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", body.len());
    raw(server, format!("{head}{body}").as_bytes())
}

/// The data of every event of a stream.
pub(crate) fn events(body: &str) -> Vec<Value> {
    let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

/// The number of a message of Claude's, the tokens in use, and what it says.
pub(crate) fn claude_message(body: &str) -> (String, u64, String) {
    let events = events(body);
    let message = &events[0]["message"];
    let tokens = message["usage"]["input_tokens"].as_u64().unwrap();
    let said = events.iter().filter_map(|event| event["delta"]["text"].as_str()).collect();
    (message["id"].as_str().unwrap().to_owned(), tokens, said)
}

/// The requests for an agent's next step, as each client makes them.
pub(crate) fn claude(prompt: &str) -> Value {
    let tools: Vec<Value> =
        ["Bash", "Edit", "Read", "Write"].iter().map(|name| json!({"name": name})).collect();
    json!({"model": "m", "stream": true, "tools": tools, "messages": [{"role": "user", "content": prompt}]})
}

pub(crate) fn codex(prompt: &str, code_mode: bool) -> Value {
    let message =
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": prompt}]});
    match code_mode {
        true => json!({"input": [{"type": "additional_tools", "tools": []}, message]}),
        false => json!({"tools": [{"name": "exec_command"}], "input": [message]}),
    }
}

pub(crate) fn gemini(prompt: &str) -> Value {
    json!({"tools": [{}], "contents": [{"role": "user", "parts": [{"text": prompt}]}]})
}

pub(crate) const CLAUDE: &str = "/v1/messages?beta=true";
pub(crate) const CODEX: &str = "/v1/responses";
pub(crate) const GEMINI: &str = "/v1beta/models/m:streamGenerateContent?alt=sse";
