//! A client that writes and reads single messages, so that a test can say anything.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use sandbox::{Answer, finish, waiting::receive};
use serde_json::{Value, json};

use crate::workplace::Workplace;

pub(super) struct McpClient {
    server: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    requests: u64,
}

impl McpClient {
    /// A server that has not been greeted.
    pub(super) fn start(server: &mut Command) -> Self {
        let pipes = server.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut server = pipes.spawn().unwrap();
        let output = BufReader::new(server.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for line in output.lines() {
                let message = serde_json::from_str(&line.unwrap()).unwrap();
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        Self { input: server.stdin.take(), server, messages, requests: 0 }
    }

    /// One that speaks the last protocol with a handshake, and knows what this client can do.
    pub(super) fn connected(workplace: &Workplace, capabilities: Value) -> Self {
        let mut client = Self::start(&mut workplace.checkstone(&["mcp"]));
        client.initialize("2025-11-25", capabilities);
        client
    }

    /// What the server answers to the greeting.
    pub(super) fn initialize(&mut self, version: &str, capabilities: Value) -> Value {
        let greeting = json!({
            "protocolVersion": version,
            "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        });
        let answer = self.request("initialize", greeting);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer
    }

    pub(super) fn send(&mut self, message: &Value) {
        self.write(&format!("{message}\n"));
    }

    pub(super) fn write(&mut self, text: &str) {
        self.input.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Sends a request and does not wait; its number.
    pub(super) fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.requests += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params}));
        self.requests
    }

    pub(super) fn begin_call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.begin("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The next message of the server, without the version that all have.
    #[track_caller]
    pub(super) fn next(&self) -> Value {
        let mut message = receive("a message of the server", &self.messages);
        assert_eq!(message.as_object_mut().unwrap().remove("jsonrpc"), Some(json!("2.0")));
        message
    }

    /// The result or the error of one request.
    #[track_caller]
    pub(super) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        let mut answer = self.next();
        assert_eq!(answer["id"], id, "{answer:#}");
        match answer.get_mut("result") {
            Some(result) => result.take(),
            None => answer["error"].take(),
        }
    }

    #[track_caller]
    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The texts of a call that was refused or failed.
    #[track_caller]
    pub(super) fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments);
        assert_eq!(answer["isError"], true, "{answer:#}");
        answer["content"][0]["text"].as_str().unwrap().to_owned()
    }

    pub(super) fn tools(&mut self) -> Vec<Value> {
        self.request("tools/list", json!({}))["tools"].as_array().unwrap().clone()
    }

    pub(super) fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.server)
    }

    /// Closes the server's stdin, and waits for its end.
    #[track_caller]
    pub(super) fn leave(mut self) -> Answer {
        drop(self.input.take());
        finish(self.server)
    }

    /// Waits for its end, with its stdin open.
    #[track_caller]
    pub(super) fn ended(mut self) -> Answer {
        let input = self.input.take();
        let answer = finish(self.server);
        drop(input);
        answer
    }
}
