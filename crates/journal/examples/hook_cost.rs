//! What the journal costs a hook: whole processes, run in turns so that they share the machine's moods.
//!
//! `cargo run --release -p journal --example hook_cost -- [ROUNDS] [INPUT_BYTES]`

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use journal::{Inputs, Journal, NewTurn, NewVerdict, OpenFor, SeenSession, Verdict};

const MODES: [&str; 7] = ["empty", "json", "json+sync", "open", "read", "write", "log"];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some(mode) if MODES.contains(&mode) => {
            hook(mode, Path::new(&arguments[1]), arguments[2].parse().unwrap());
        }
        rounds => compare(
            rounds.map_or(200, |rounds| rounds.parse().unwrap()),
            arguments.get(1).map_or("20000", String::as_str),
        ),
    }
}

fn compare(rounds: usize, input_bytes: &str) {
    let directory = tempfile::tempdir().unwrap();
    // A journal with some history, as a user has it.
    for _ in 0..300 {
        hook("write", directory.path(), input_bytes.parse().unwrap());
    }
    let program = std::env::current_exe().unwrap();
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); MODES.len()];
    for _ in 0..rounds {
        for (mode, times) in MODES.iter().zip(&mut times) {
            let mut command = Command::new(&program);
            command.arg(mode).arg(directory.path()).arg(input_bytes).stdin(Stdio::null());
            let start = Instant::now();
            assert!(command.status().unwrap().success());
            times.push(start.elapsed());
        }
    }
    println!(
        "{:>10} {:>9} {:>9} {:>9} {:>9}   (ms, whole process, {rounds} rounds)",
        "", "min", "p10", "p50", "p95"
    );
    for (mode, times) in MODES.iter().zip(&mut times) {
        times.sort();
        let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1000.0;
        println!("{mode:>10} {:>9.2} {:>9.2} {:>9.2} {:>9.2}", at(0), at(10), at(50), at(95));
    }
    let (typical, slowest) = slowest_at_the_limit();
    println!("in one process, with a full journal: {typical:.2?} typical, {slowest:.2?} at most");
}

/// The slowest of the hooks that open a turn in a journal that is full: one in many prunes.
fn slowest_at_the_limit() -> (Duration, Duration) {
    let directory = tempfile::tempdir().unwrap();
    let mut times = Vec::new();
    for turn in 0..4000 {
        let start = Instant::now();
        let mut journal = Journal::open(directory.path(), OpenFor::Hook).unwrap();
        write(&mut journal, directory.path(), &turn.to_string(), &[b'x'; 20_000]);
        drop(journal);
        times.push(start.elapsed());
    }
    let last = &mut times[3800..];
    last.sort();
    (last[100], last[199])
}

/// The typical sequence of a stop hook, as far as `mode` goes.
fn hook(mode: &str, directory: &Path, input_bytes: usize) {
    let inputs = vec![b'x'; input_bytes];
    match mode {
        "empty" => {}
        "json" | "json+sync" => {
            let (path, temporary) = (directory.join("turn.json"), directory.join("turn.json.tmp"));
            let _ = fs_err::read(&path);
            let mut file = fs_err::File::create(&temporary).unwrap();
            std::io::Write::write_all(&mut file, &inputs).unwrap();
            if mode == "json+sync" {
                file.sync_data().unwrap();
            }
            fs_err::rename(&temporary, &path).unwrap();
        }
        "log" => journal::log::append(directory, "claude hold required: tests 12 ms").unwrap(),
        _ => {
            let mut journal = Journal::open(directory, OpenFor::Hook).unwrap();
            if mode == "open" {
                return;
            }
            let session = journal.read(|read| read.session("claude", "session-1")).unwrap();
            if let Some(session) = &session {
                let turn = journal.read(|read| {
                    let turn = read.latest_turn(session.id)?.expect("a turn");
                    let (_, _) = (read.waivers(session.id)?, read.actions_held_before(turn.id)?);
                    Ok(turn)
                });
                assert!(turn.unwrap().holds <= 1);
            }
            if mode == "read" {
                return;
            }
            let key = (Timestamp::now().as_millisecond() / 10).to_string();
            write(&mut journal, directory, &key, &inputs);
        }
    }
}

fn write(journal: &mut Journal, directory: &Path, key: &str, inputs: &[u8]) {
    let now = Timestamp::now();
    let written = journal.write(|write| {
        let seen = SeenSession {
            agent: "claude",
            client_id: "session-1",
            directory: Some(directory),
            repository: Some(directory),
            transcript: None,
        };
        let session = write.see_session(&seen, now)?;
        let turn = write.open_turn(&NewTurn {
            session: session.id,
            key: Some(key),
            opened_at: now,
            prompt: "make it work",
            baseline: Some(&[b'b'; 1000]),
        })?;
        write.try_hold(turn.id, 1)?;
        write.record_held_actions(turn.id, &["tests", "restart"])?;
        write.record_verdict(&NewVerdict {
            turn: turn.id,
            at: now,
            verdict: Verdict::Hold,
            scope: "turn-baseline",
            message: "[checkstone] Context-aware checkpoint",
            timings: "{}",
            inputs: Inputs { version: 1, bytes: inputs },
        })
    });
    written.unwrap();
}
