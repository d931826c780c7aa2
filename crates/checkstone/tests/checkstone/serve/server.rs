//! A server under test, and requests as anybody can send them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use sandbox::{Answer, finish};

use crate::workplace::Workplace;

pub(super) struct PageServer {
    child: Option<Child>,
    /// With the token.
    pub(super) address: String,
    pub(super) port: u16,
}

/// What a server answered.
#[derive(Debug, PartialEq)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl PageServer {
    #[track_caller]
    pub(super) fn start(workplace: &Workplace) -> Self {
        Self::of(&mut workplace.checkstone(&["serve", "--port", "0"]))
    }

    /// Of a command that prints the address first.
    #[track_caller]
    pub(super) fn of(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let port = address.split(['/', ':']).nth(4).and_then(|port| port.parse().ok());
        let port = port.unwrap_or_else(|| panic!("no address: {address}"));
        Self { child: Some(child), address: address.trim().to_owned(), port }
    }

    pub(super) fn token(&self) -> &str {
        self.address.split_once("token=").unwrap().1
    }

    /// A page, by the cookie that the token is good for.
    #[track_caller]
    pub(super) fn page(&self, path: &str) -> Response {
        self.get(path, &[("Cookie", &self.cookie())])
    }

    #[track_caller]
    pub(super) fn cookie(&self) -> String {
        let welcome = self.get(&format!("/?token={}", self.token()), &[]);
        let cookie = welcome.header("set-cookie").unwrap();
        cookie.split(';').next().unwrap().to_owned()
    }

    #[track_caller]
    pub(super) fn get(&self, path: &str, headers: &[(&str, &str)]) -> Response {
        self.request("GET", path, headers, "")
    }

    #[track_caller]
    pub(super) fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let mut stream = self.send(method, path, headers, body);
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        Response::read(&String::from_utf8(bytes).unwrap())
    }

    /// A request whose answer nobody has read yet.
    pub(super) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            text += &format!("Host: 127.0.0.1:{}\r\n", self.port);
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        text += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(text.as_bytes()).unwrap();
        stream
    }

    /// Sends it a signal, and returns all that it printed behind its address.
    #[track_caller]
    pub(super) fn end(mut self, signal: Signal) -> Answer {
        let child = self.child.take().unwrap();
        kill_process(Pid::from_child(&child), signal).unwrap();
        finish(child)
    }
}

impl Drop for PageServer {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Response {
    fn read(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines.map(|line| line.split_once(": ").unwrap());
        let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
        Self { status, headers, body: body.to_owned() }
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// What stands between this and the next tag, every time.
    pub(super) fn texts_behind(&self, mark: &str) -> Vec<String> {
        let behind = self.body.split(mark).skip(1);
        behind.map(|text| text.split('<').next().unwrap_or_default().to_owned()).collect()
    }
}
