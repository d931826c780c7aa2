//! Runs programs to their end and holds all that they answered, so that it is compared whole.

use std::fmt;
use std::io::Write as _;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::waiting::LIMIT;

/// By then a killed program has closed its pipes, unless a child of it has them too.
const SETTLED: Duration = Duration::from_secs(5);

/// What a program answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// None where a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Answer {
    pub fn succeeded(&self) -> bool {
        self.code == Some(0)
    }
}

impl From<Output> for Answer {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Exit code, stdout and stderr in one text.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "exit code: {code}")?,
            None => f.write_str("ended by a signal")?,
        }
        write!(f, "\n--- stdout\n{}--- stderr\n{}", self.stdout, self.stderr)
    }
}

/// Commands of tests are run to their end, within the limit that holds for everything that is waited for.
pub trait RunToEnd {
    fn answer(&mut self) -> Answer;

    /// The same for a program that is given some input.
    fn answer_to(&mut self, input: impl AsRef<[u8]>) -> Answer;

    /// Starts it, with its whole input.
    fn start_with(&mut self, input: impl AsRef<[u8]>) -> Child;
}

impl RunToEnd for Command {
    #[track_caller]
    fn answer(&mut self) -> Answer {
        finish(self.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    #[track_caller]
    fn answer_to(&mut self, input: impl AsRef<[u8]>) -> Answer {
        finish(self.start_with(input))
    }

    fn start_with(&mut self, input: impl AsRef<[u8]>) -> Child {
        let pipes = self.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        // The program may end before it has read everything.
        let _ = child.stdin.take().unwrap().write_all(input.as_ref());
        child
    }
}

/// Waits for a program's end. One that hangs is killed, and fails the test with what it has printed.
#[track_caller]
pub fn finish(mut child: Child) -> Answer {
    drop(child.stdin.take());
    let pid = Pid::from_child(&child);
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    let ended = receiver.recv_timeout(LIMIT).unwrap_or_else(|_| {
        let _ = kill_process(pid, Signal::KILL);
        panic!(
            "the program has not ended after {} s; it printed {:?}",
            LIMIT.as_secs(),
            receiver.recv_timeout(SETTLED)
        );
    });
    Answer::from(ended.unwrap())
}
