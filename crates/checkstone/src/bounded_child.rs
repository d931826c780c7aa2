//! A program that doctor or the demo runs: bounded in time and output, ended with all its children, and given up as soon
//! as the person presses Ctrl-C.

use std::io::{self, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How soon an end or a Ctrl-C is noticed.
const POLL: Duration = Duration::from_millis(5);

/// No answer that we ask for is longer.
const LARGEST_OUTPUT: u64 = 4 * 1024 * 1024;

/// What a program that has ended may still have in its pipes.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Whether the person wants to stop. Everything that waits looks at it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interruption(Arc<AtomicBool>);

impl Interruption {
    /// Ctrl-C, and the requests to end that a terminal or a supervisor sends, no longer end the process at once: what
    /// was started and made must be cleared away first. A second one does.
    pub(crate) fn listen() -> io::Result<Self> {
        let interruption = Self::default();
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP]
        {
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&interruption.0))?;
            signal_hook::flag::register(signal, Arc::clone(&interruption.0))?;
        }
        Ok(interruption)
    }

    pub(crate) fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How a program ended.
#[derive(Debug)]
pub(crate) enum Ended {
    Exited { code: Option<i32>, stdout: Vec<u8>, stderr: Vec<u8> },
    NotStarted(io::Error),
    TimedOut,
    Interrupted,
}

/// A program that runs. Dropping it ends it and its children.
pub(crate) struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Receiver<Vec<u8>>,
    stderr: Receiver<Vec<u8>>,
    read: Vec<u8>,
    deadline: Instant,
    interruption: Interruption,
}

impl Running {
    /// Starts it with `input` on its stdin, which stays open. The input is shorter than what a pipe holds, so that
    /// nobody has to wait for its reader.
    pub(crate) fn start(
        command: &mut Command,
        input: &[u8],
        limit: Duration,
        interruption: &Interruption,
    ) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn()?;
        let mut stdin = child.stdin.take();
        if let Some(stdin) = &mut stdin {
            // A program that does not read has its reasons; how it ends says more.
            let _ = stdin.write_all(input);
        }
        Ok(Self {
            stdin,
            stdout: collect(child.stdout.take()),
            stderr: collect(child.stderr.take()),
            child,
            read: Vec::new(),
            deadline: Instant::now() + limit,
            interruption: interruption.clone(),
        })
    }

    /// The next line that the program writes; `None` at its end, at the limit and at an interruption.
    pub(crate) fn line(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                return Some(self.read.drain(..=end).collect());
            }
            if self.is_over() {
                return None;
            }
            match self.stdout.recv_timeout(POLL) {
                Ok(chunk) => self.read.extend(chunk),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Closes its stdin and waits for its end.
    pub(crate) fn finish(mut self) -> Ended {
        self.stdin = None;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    let stdout = rest(&self.stdout);
                    return Ended::Exited { code: status.code(), stdout, stderr: rest(&self.stderr) };
                }
                Ok(None) if self.interruption.came() => return Ended::Interrupted,
                Ok(None) if self.is_over() => return Ended::TimedOut,
                Ok(None) => std::thread::sleep(POLL),
                Err(error) => return Ended::NotStarted(error),
            }
        }
    }

    fn is_over(&self) -> bool {
        self.interruption.came() || Instant::now() >= self.deadline
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The group may outlive its first process.
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// Runs a program to its end.
pub(crate) fn run(
    command: &mut Command,
    input: &[u8],
    limit: Duration,
    interruption: &Interruption,
) -> Ended {
    match Running::start(command, input, limit, interruption) {
        Ok(running) => running.finish(),
        Err(error) => Ended::NotStarted(error),
    }
}

/// Reads a pipe beside everything else. A process that was left behind may hold it open for ever, so nobody waits for
/// its end.
fn collect(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    if let Some(pipe) = pipe {
        std::thread::spawn(move || {
            let mut pipe = pipe.take(LARGEST_OUTPUT);
            let mut chunk = vec![0; 64 * 1024];
            while let Ok(length @ 1..) = pipe.read(&mut chunk) {
                if sender.send(chunk.get(..length).unwrap_or_default().to_vec()).is_err() {
                    return;
                }
            }
        });
    }
    receiver
}

fn rest(pipe: &Receiver<Vec<u8>>) -> Vec<u8> {
    let deadline = Instant::now() + LAST_WORDS;
    let mut bytes = Vec::new();
    while let Ok(chunk) = pipe.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        bytes.extend(chunk);
    }
    bytes
}
