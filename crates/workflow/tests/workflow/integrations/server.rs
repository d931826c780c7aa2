//! A server on loopback that answers as it is told, and remembers what it was asked.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What becomes of one connection.
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    Answer {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: String,
    },
    /// Bytes that are no HTTP.
    Raw(&'static [u8]),
    /// Says that more comes than is sent, and closes its side.
    HalfClosed,
    /// Takes the request and closes without a word.
    Closed,
    /// Takes the request and never answers, as long as the server lives.
    Silent,
}

pub(crate) fn answer(status: u16, body: impl Into<String>) -> Deed {
    Deed::Answer { status, headers: Vec::new(), body: body.into() }
}

#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// `GET /path` or `POST /path`.
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

pub(crate) struct Server {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    /// Plays the deeds one after the other, and the last one for ever.
    pub(crate) fn new(deeds: Vec<Deed>) -> Self {
        let mut number = 0;
        Self::by(move |_| {
            let deed = deeds.get(number).or(deeds.last()).unwrap().clone();
            number += 1;
            deed
        })
    }

    /// Does what the function says to each request.
    pub(crate) fn by(mut deed: impl FnMut(&Asked) -> Deed + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let remembered = Arc::clone(&asked);
        std::thread::spawn(move || {
            // Connections that are never answered stay open here.
            let mut silent = Vec::new();
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let Some(request) = read(&mut stream) else { continue };
                let deed = deed(&request);
                remembered.lock().unwrap().push(request);
                if matches!(deed, Deed::Silent) {
                    silent.push(stream);
                } else {
                    perform(&mut stream, deed);
                }
            }
        });
        Self { url, asked }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn perform(stream: &mut TcpStream, deed: Deed) {
    match deed {
        Deed::Answer { status, headers, body } => {
            let mut text = format!("HTTP/1.1 {status} Said\r\nconnection: close\r\n");
            for (name, value) in headers {
                text.push_str(&format!("{name}: {value}\r\n"));
            }
            text.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
            let _ = stream.write_all(text.as_bytes());
        }
        Deed::Raw(bytes) => {
            let _ = stream.write_all(bytes);
        }
        Deed::HalfClosed => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4000\r\n\r\n{\"deployments\": [");
            let _ = stream.shutdown(Shutdown::Write);
        }
        Deed::Closed | Deed::Silent => {}
    }
}

fn read(stream: &mut TcpStream) -> Option<Asked> {
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        let mut buffer = [0; 4096];
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(length) => bytes.extend_from_slice(&buffer[..length]),
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let line = lines.next().unwrap().trim_end_matches(" HTTP/1.1").to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.map_or(0, |(_, length)| length.parse().unwrap());
    let mut body = bytes[end + 4..].to_vec();
    while body.len() < length {
        let mut buffer = [0; 4096];
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(read) => body.extend_from_slice(&buffer[..read]),
        }
    }
    Some(Asked { line, headers, body: String::from_utf8(body).unwrap() })
}

/// A port of loopback that nobody listens on.
pub(crate) fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}
