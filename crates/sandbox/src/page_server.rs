//! `checkstone serve` under test, requests to it as anybody can send them, and its page in a browser.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::{Answer, OpenBrowser, finish};

/// Ends with the test.
#[derive(Debug)]
pub struct PageServer {
    child: Option<Child>,
    /// With the token.
    pub address: String,
    pub port: u16,
}

/// What it answered.
#[derive(Debug, PartialEq)]
pub struct PageResponse {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl PageServer {
    /// Of a command that prints the address first.
    #[track_caller]
    pub fn of(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let port = address.split(['/', ':']).nth(4).and_then(|port| port.parse().ok());
        let port = port.unwrap_or_else(|| panic!("no address: {address}"));
        Self { child: Some(child), address: address.trim().to_owned(), port }
    }

    pub fn token(&self) -> &str {
        self.address.split_once("token=").unwrap().1
    }

    /// The address of one of its pages, with the token.
    pub fn address_of(&self, path: &str) -> String {
        let sign = if path.split_once('?').is_some() { '&' } else { '?' };
        format!("http://127.0.0.1:{}{path}{sign}token={}", self.port, self.token())
    }

    /// A browser at one of its pages, which is live; `None` if the machine has no browser.
    #[track_caller]
    pub fn in_browser(&self, path: &str) -> Option<OpenBrowser> {
        let mut browser = OpenBrowser::start().or_else(|| {
            println!("skipped: there is no Chromium here");
            None
        })?;
        browser.open(&self.address_of(path));
        browser.wait_for("document.getElementById('live').dataset.state === 'on'");
        Some(browser)
    }

    /// A page, by the cookie that the token is good for.
    #[track_caller]
    pub fn page(&self, path: &str) -> PageResponse {
        self.get(path, &[("Cookie", &self.cookie())])
    }

    #[track_caller]
    pub fn cookie(&self) -> String {
        let welcome = self.get(&format!("/?token={}", self.token()), &[]);
        let cookie = welcome.header("set-cookie").unwrap();
        cookie.split(';').next().unwrap().to_owned()
    }

    #[track_caller]
    pub fn get(&self, path: &str, headers: &[(&str, &str)]) -> PageResponse {
        self.request("GET", path, headers, "")
    }

    #[track_caller]
    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> PageResponse {
        let mut stream = self.send(method, path, headers, body);
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        PageResponse::read(&String::from_utf8(bytes).unwrap())
    }

    /// A request whose answer nobody has read yet.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
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
    pub fn end(mut self, signal: Signal) -> Answer {
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

impl PageResponse {
    fn read(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines.map(|line| line.split_once(": ").unwrap());
        let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
        Self { status, headers, body: body.to_owned() }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// What stands between this and the next tag, every time.
    pub fn texts_behind(&self, mark: &str) -> Vec<String> {
        let behind = self.body.split(mark).skip(1);
        behind.map(|text| text.split('<').next().unwrap_or_default().to_owned()).collect()
    }
}
