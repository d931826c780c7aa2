//! Child processes of the tests, and what they do: a job that another test names in the environment.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use database::{CommittedEvent, HeldRun, RunKey};

use crate::servers::{connection, variable};

const JOB: &str = "STORES_TEST_JOB";

/// So long that nothing expires by itself.
pub(crate) const LONG: Duration = Duration::from_secs(600);
/// Short enough to be waited for.
pub(crate) const SHORT: Duration = Duration::from_millis(600);

#[test]
#[ignore = "run by other tests, as a process of its own"]
fn job() {
    let Some(job) = variable(JOB) else { return };
    let arguments: Vec<&str> = job.split('\n').collect();
    match arguments[..] {
        ["contend", address] => contend(address),
        ["commit", address, "short"] => commit_until_lost(address, SHORT),
        ["commit", address, "long"] => commit_until_lost(address, LONG),
        _ => panic!("unknown job {arguments:?}"),
    }
}

pub(crate) fn key(run: &str) -> RunKey {
    RunKey { project: "project".to_owned(), title: "study".to_owned(), run: run.to_owned() }
}

pub(crate) fn event(sequence: u64) -> CommittedEvent {
    CommittedEvent {
        sequence,
        line: sequence.to_string(),
        begun: Some(("S01_a_b".to_owned(), u32::try_from(sequence).unwrap())),
    }
}

fn say(text: &str) {
    std::io::stderr().write_all(text.as_bytes()).unwrap();
}

/// For every run that it is told, tries to take it in hand, and holds it to the next one.
fn contend(address: &str) {
    let mut _held = None;
    for run in std::io::stdin().lines() {
        _held = match HeldRun::take_now(connection(address), key(&run.unwrap()), LONG).unwrap() {
            Ok(held) => {
                say(&format!("token {}\n", held.token()));
                Some(held)
            }
            Err(_) => {
                say("held\n");
                None
            }
        };
    }
}

/// Commits numbers, and says each one once it is committed.
fn commit_until_lost(address: &str, length: Duration) {
    let held = HeldRun::take(connection(address), key("r1"), length).unwrap().unwrap();
    for sequence in 1.. {
        if !held.commit(&[event(sequence)]).unwrap() {
            break;
        }
        say(&format!("{sequence}\n"));
    }
    say("lost\n");
}

pub(crate) struct Worker {
    pub(crate) child: Child,
    said: BufReader<ChildStderr>,
}

impl Worker {
    pub(crate) fn spawn(job: &[&str]) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "worker::job", "--nocapture", "--test-threads=1"])
            .env(JOB, job.join("\n"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        Self { child, said }
    }

    pub(crate) fn tell(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// What else it says, to its end.
    pub(crate) fn rest(&mut self) -> Vec<String> {
        self.said.by_ref().lines().map(Result::unwrap).collect()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
