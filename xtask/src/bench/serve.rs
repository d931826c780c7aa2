//! The page of `checkstone serve`: how long a history of ten thousand turns takes to open and what the server needs for it, and how
//! soon an event in the journal is on an open page that shows two hundred sessions.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gate::Decision;
use jiff::{SignedDuration, Timestamp};
use journal::{Inputs, Journal, JournalError, NewTurn, NewVerdict, OpenFor, SeenSession};

use super::row::Row;
use super::{milliseconds, percentile};
use crate::release;

const SESSIONS: usize = 200;
const TURNS: usize = 10_000;

/// As large as the record of a small turn, without its calls.
const RECORD: usize = 12 * 1024;

pub(crate) fn run(program: Option<PathBuf>, rounds: usize) -> Result<Vec<Row>, String> {
    let program = match program {
        Some(program) => program,
        None => {
            println!("building…");
            release::build()?
        }
    };
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    println!("recording {TURNS} turns…");
    let mut journal = Journal::open(folder.path(), OpenFor::Hook).map_err(|error| error.to_string())?;
    record(&mut journal).map_err(|error| error.to_string())?;
    let server = ServedPage::start(&program, folder.path())?;
    let first = server.time_of("/history")?;
    let again: Vec<Duration> =
        (0..rounds).map(|_| server.time_of("/history?words=number+77")).collect::<Result<_, _>>()?;
    let overview = server.time_of("/")?;
    let memory = server.peak_megabytes()?;
    let mut stream = server.stream("/live?page=/")?;
    next_change(&mut stream)?;
    let mut delays = Vec::new();
    for round in 0..rounds {
        let began = Instant::now();
        open_turn(&mut journal, round).map_err(|error| error.to_string())?;
        next_change(&mut stream)?;
        delays.push(began.elapsed());
    }
    let searched = percentile(&again, 50);
    println!(
        "\n| history of {TURNS} turns | with a search p50 | overview of {SESSIONS} sessions | memory | event to page p50 | p95 |"
    );
    println!("|---|---|---|---|---|---|");
    println!(
        "| {:.0} ms | {:.0} ms | {:.0} ms | {memory:.0} MB | {:.0} ms | {:.0} ms |\n",
        milliseconds(first),
        milliseconds(searched),
        milliseconds(overview),
        milliseconds(percentile(&delays, 50)),
        milliseconds(percentile(&delays, 95)),
    );
    Ok(vec![
        Row::at_most(format!("page: history of {TURNS} turns"), milliseconds(first), 300.0, "ms"),
        Row::at_most("page: memory".to_owned(), memory, 50.0, "MB"),
        Row::at_most(
            "page: event to page, p95".to_owned(),
            milliseconds(percentile(&delays, 95)),
            300.0,
            "ms",
        ),
    ])
}

fn session<'a>(id: &'a str, root: &'a Path) -> SeenSession<'a> {
    SeenSession { agent: "claude", client_id: id, directory: None, repository: Some(root), transcript: None }
}

/// Turns over twenty weeks, every fourth held.
fn record(journal: &mut Journal) -> Result<(), JournalError> {
    let now = Timestamp::now();
    let texts = "x".repeat(RECORD);
    for number in 0..TURNS {
        let at = now - SignedDuration::from_mins(20 * (TURNS - number) as i64);
        let (id, root) = (format!("session-{}", number % SESSIONS), format!("/work/project-{}", number % 10));
        let decision = if number % 4 == 0 { Decision::Hold } else { Decision::Pass };
        let inputs = format!(
            r#"{{"texts":["{texts}"],"verdict":{{"reason":"missing: tests","actions":[{{"id":"tests","say":"Run them","state":"required","evidence":null}}],"observations":[]}}}}"#
        );
        journal.write(|writing| {
            let session = writing.see_session(&session(&id, Path::new(&root)), now)?.id;
            let prompt = format!("Prompt number {number}");
            let turn = writing.open_turn(&NewTurn {
                session,
                key: None,
                opened_at: at,
                prompt: &prompt,
                baseline: None,
            })?;
            let inputs = Inputs { version: 4, bytes: inputs.as_bytes() };
            let (turn, message) = (turn.id, "");
            let new = NewVerdict {
                turn,
                repository: None,
                at,
                decision,
                scope: None,
                message,
                timings: "",
                inputs,
            };
            writing.record_verdict(&new)
        })?;
    }
    Ok(())
}

/// As a hook does at a prompt.
fn open_turn(journal: &mut Journal, round: usize) -> Result<(), JournalError> {
    let now = Timestamp::now();
    journal.write(|writing| {
        let session = writing.see_session(&session("session-0", Path::new("/work/project-0")), now)?.id;
        let prompt = format!("Round {round}");
        writing.open_turn(&NewTurn { session, key: None, opened_at: now, prompt: &prompt, baseline: None })
    })?;
    Ok(())
}

/// A server, and the cookie of its page.
struct ServedPage {
    child: Child,
    port: u16,
    cookie: String,
}

impl ServedPage {
    fn start(program: &Path, state: &Path) -> Result<Self, String> {
        let mut command = Command::new(program);
        command.args(["serve", "--port", "0"]).env("CHECKSTONE_STATE_DIR", state);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let mut address = String::new();
        let output = child.stdout.take().ok_or("no output")?;
        BufReader::new(output).read_line(&mut address).map_err(|error| error.to_string())?;
        let port = address.split(['/', ':']).nth(4).and_then(|port| port.parse().ok()).ok_or("no address")?;
        let token = address.trim().split_once("token=").ok_or("no token")?.1;
        let mut page = Self { child, port, cookie: String::new() };
        let welcome = page.answer(&format!("/?token={token}"))?;
        let cookie = welcome.split("set-cookie: ").nth(1).and_then(|rest| rest.split(';').next());
        page.cookie = cookie.ok_or("no cookie")?.to_owned();
        Ok(page)
    }

    fn send(&self, path: &str) -> std::io::Result<TcpStream> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        let (port, cookie) = (self.port, &self.cookie);
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n"
        )?;
        Ok(stream)
    }

    fn answer(&self, path: &str) -> Result<String, String> {
        let mut text = String::new();
        let answer = self.send(path).and_then(|mut stream| stream.read_to_string(&mut text));
        answer.map(|_| text).map_err(|error| error.to_string())
    }

    fn time_of(&self, path: &str) -> Result<Duration, String> {
        let began = Instant::now();
        let answer = self.answer(path)?;
        match answer.starts_with("HTTP/1.1 200") {
            true => Ok(began.elapsed()),
            false => Err(format!("{path}: {}", answer.lines().next().unwrap_or_default())),
        }
    }

    fn stream(&self, path: &str) -> Result<BufReader<TcpStream>, String> {
        Ok(BufReader::new(self.send(path).map_err(|error| error.to_string())?))
    }

    fn peak_megabytes(&self) -> Result<f64, String> {
        let path = format!("/proc/{}/status", self.child.id());
        let status = fs_err::read_to_string(path).map_err(|error| error.to_string())?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        Ok(peak.and_then(|peak| peak.parse::<f64>().ok()).ok_or("no peak")? / 1024.0)
    }
}

impl Drop for ServedPage {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads on until parts of the page came.
fn next_change(stream: &mut BufReader<TcpStream>) -> Result<(), String> {
    let mut line = String::new();
    let mut is_parts = false;
    loop {
        line.clear();
        if stream.read_line(&mut line).map_err(|error| error.to_string())? == 0 {
            return Err("the stream ended".to_owned());
        }
        is_parts |= line.starts_with("event: parts");
        if is_parts && line.starts_with("data: ") {
            return Ok(());
        }
    }
}
