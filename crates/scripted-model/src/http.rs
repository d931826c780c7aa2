//! As much HTTP/1.1 as the clients need: one request a connection, and an answer that is a JSON document or a stream
//! of events.

use std::io::{self, BufRead, Read, Write};

use serde_json::Value;

/// More than any client sends.
const LONGEST_BODY: u64 = 64 * 1024 * 1024;
const LONGEST_LINE: u64 = 64 * 1024;
const MOST_HEADERS: usize = 200;

/// What a client asked for.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// Without its query.
    pub(crate) path: String,
    pub(crate) body: Vec<u8>,
}

/// What it is told.
#[derive(Debug)]
pub(crate) enum Answer {
    Document { status: u16, body: Value },
    Stream(Vec<Event>),
}

/// One event of a stream.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) name: Option<String>,
    pub(crate) data: Value,
}

impl Event {
    /// An event that is named after the `type` of what it brings.
    pub(crate) fn typed(data: Value) -> Self {
        let name = data.get("type").and_then(Value::as_str).map(str::to_owned);
        Self { name, data }
    }
}

impl Answer {
    pub(crate) fn ok(body: Value) -> Self {
        Self::Document { status: 200, body }
    }
}

/// Reads one request. `None` if the client closed the connection without a word.
pub(crate) fn read(
    stream: &mut (impl BufRead + ?Sized),
    output: &mut dyn Write,
) -> io::Result<Option<Asked>> {
    let first = line(stream)?;
    if first.is_empty() {
        return Ok(None);
    }
    let mut words = first.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(malformed("the first line of the request is no request line"));
    };
    let (mut length, mut chunked) = (0, false);
    for number in 0.. {
        if number == MOST_HEADERS {
            return Err(malformed("too many headers"));
        }
        let header = line(stream)?;
        if header.is_empty() {
            break;
        }
        let Some((name, value)) = header.split_once(':') else {
            return Err(malformed("a header has no colon"));
        };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => {
                length = value.parse().map_err(|_| malformed("the content length is no number"))?;
            }
            "transfer-encoding" => chunked = value.eq_ignore_ascii_case("chunked"),
            "content-encoding" => return Err(malformed("compressed requests are not understood")),
            "expect" => output.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?,
            _ => {}
        }
    }
    let body = if chunked { chunks(stream)? } else { exactly(stream, length)? };
    let path = target.split('?').next().unwrap_or_default();
    Ok(Some(Asked { method: method.to_owned(), path: path.to_owned(), body }))
}

/// Writes the answer; each event leaves at once.
pub(crate) fn write(output: &mut dyn Write, answer: &Answer) -> io::Result<()> {
    match answer {
        Answer::Document { status, body } => {
            let body = body.to_string();
            write!(
                output,
                "HTTP/1.1 {status} {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                if *status < 400 { "OK" } else { "Error" },
                body.len(),
            )?;
        }
        Answer::Stream(events) => {
            output.write_all(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\nconnection: close\r\n\r\n",
            )?;
            for event in events {
                let name = event.name.as_ref().map(|name| format!("event: {name}\n")).unwrap_or_default();
                output.write_all(format!("{name}data: {}\n\n", event.data).as_bytes())?;
                output.flush()?;
            }
        }
    }
    output.flush()
}

fn line(stream: &mut (impl BufRead + ?Sized)) -> io::Result<String> {
    let mut bytes = Vec::new();
    stream.take(LONGEST_LINE).read_until(b'\n', &mut bytes)?;
    if bytes.len() as u64 == LONGEST_LINE {
        return Err(malformed("a line of the request is too long"));
    }
    let text = String::from_utf8(bytes).map_err(|_| malformed("a line of the request is no text"))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

fn exactly(stream: &mut (impl BufRead + ?Sized), length: u64) -> io::Result<Vec<u8>> {
    if length > LONGEST_BODY {
        return Err(malformed("the request is too large"));
    }
    let mut body = Vec::new();
    stream.take(length).read_to_end(&mut body)?;
    if body.len() as u64 != length {
        return Err(malformed("the request ended early"));
    }
    Ok(body)
}

fn chunks(stream: &mut (impl BufRead + ?Sized)) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = line(stream)?;
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).map_err(|_| malformed("a chunk's size is no number"))?;
        if size == 0 {
            // The trailers, which end with an empty line.
            while !line(stream)?.is_empty() {}
            return Ok(body);
        }
        if body.len() as u64 + size > LONGEST_BODY {
            return Err(malformed("the request is too large"));
        }
        body.extend(exactly(stream, size)?);
        line(stream)?;
    }
}

fn malformed(told: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, told)
}
