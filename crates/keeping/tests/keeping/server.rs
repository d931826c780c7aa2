//! A git server over HTTP on loopback: git's own `git http-backend` behind a few lines of HTTP, and the ways in which
//! real servers are difficult: they ask for a password, are overloaded for a while, or never answer.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Manner {
    Serves,
    /// Answers nobody who has no password, and every password with no.
    WantsPassword,
    /// Is overloaded for so many requests, then serves.
    Overloaded(usize),
    /// Takes connections and never says a word.
    Silent,
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) requests: Arc<AtomicUsize>,
}

impl Server {
    /// Serves the repositories in `folder` until the test process ends.
    pub(crate) fn start(folder: &Path, manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(AtomicUsize::new(0));
        let (counter, folder) = (Arc::clone(&requests), folder.to_owned());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (counter, folder) = (Arc::clone(&counter), folder.clone());
                std::thread::spawn(move || serve(stream, &folder, manner, &counter));
            }
        });
        Self { address, requests }
    }

    pub(crate) fn url(&self, user: &str) -> String {
        format!("http://{user}{}/remote.git", self.address)
    }
}

fn serve(stream: TcpStream, folder: &Path, manner: Manner, counter: &AtomicUsize) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some(request) = Request::read(&mut reader, &stream) {
        let number = counter.fetch_add(1, Ordering::SeqCst);
        let answer = match manner {
            Manner::Silent => {
                // Until the client gives up.
                let _ = reader.read(&mut [0]);
                return;
            }
            Manner::WantsPassword => {
                b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n".to_vec()
            }
            Manner::Overloaded(times) if number < times => {
                b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n".to_vec()
            }
            _ => request.by_backend(folder),
        };
        if (&stream).write_all(&answer).is_err() {
            return;
        }
    }
}

struct Request {
    method: String,
    path: String,
    query: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    fn read(reader: &mut BufReader<TcpStream>, mut stream: &TcpStream) -> Option<Self> {
        let mut line = || -> Option<String> {
            let mut line = String::new();
            (reader.read_line(&mut line).ok()? > 0).then(|| line.trim_end().to_owned())
        };
        let first = line()?;
        let mut words = first.split(' ');
        let (method, target) = (words.next()?.to_owned(), words.next()?);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let (path, query) = (path.to_owned(), query.to_owned());
        let mut headers = Vec::new();
        loop {
            let line = line()?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_lowercase(), value.trim().to_owned()));
        }
        let mut request = Self { method, path, query, headers, body: Vec::new() };
        if request.header("expect").is_some() {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?;
        }
        if request.header("transfer-encoding") == Some("chunked") {
            loop {
                let mut size = String::new();
                reader.read_line(&mut size).ok()?;
                let size = u64::from_str_radix(size.trim(), 16).ok()?;
                reader.take(size).read_to_end(&mut request.body).ok()?;
                reader.read_line(&mut String::new()).ok()?;
                if size == 0 {
                    break;
                }
            }
        } else {
            let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
            reader.take(length).read_to_end(&mut request.body).ok()?;
        }
        Some(request)
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    fn by_backend(&self, folder: &Path) -> Vec<u8> {
        let mut command = Command::new("git");
        command.arg("http-backend").env_clear().env("PATH", path_variable());
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("HOME", folder);
        command.env("GIT_PROJECT_ROOT", folder).env("GIT_HTTP_EXPORT_ALL", "1").env("REMOTE_USER", "someone");
        command.env("REMOTE_ADDR", "127.0.0.1").env("REQUEST_METHOD", &self.method);
        command.env("PATH_INFO", &self.path).env("QUERY_STRING", &self.query);
        command.env("CONTENT_LENGTH", self.body.len().to_string());
        for (header, variable) in [
            ("content-type", "CONTENT_TYPE"),
            ("content-encoding", "HTTP_CONTENT_ENCODING"),
            ("git-protocol", "GIT_PROTOCOL"),
        ] {
            if let Some(value) = self.header(header) {
                command.env(variable, value);
            }
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let body = self.body.clone();
        std::thread::spawn(move || {
            let _ = stdin.write_all(&body);
        });
        let output = child.wait_with_output().unwrap().stdout;
        let end = output.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap_or(output.len());
        let (head, rest) = output.split_at(end);
        let head = String::from_utf8_lossy(head).into_owned();
        let status = head.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK");
        let rest = rest.get(4..).unwrap_or_default();
        let mut answer =
            format!("HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {}\r\n\r\n", rest.len()).into_bytes();
        answer.extend_from_slice(rest);
        answer
    }
}

#[expect(clippy::disallowed_methods, reason = "where git is")]
fn path_variable() -> PathBuf {
    std::env::var_os("PATH").unwrap_or_default().into()
}
