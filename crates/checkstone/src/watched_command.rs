//! A command that a person runs through us: what it prints is passed on as it comes, and looked through for what it shows.
//! Where we have a terminal it has one too, so that colours and progress are as they always are; the keyboard is its own.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use outputs::{Scan, Shown};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags, fstat};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{
    LocalModes, OptionalActions, OutputModes, isatty, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize,
};

/// So much is still read after the command's end: more than any pipe holds, and an end for what goes on writing.
const MOST_AFTER_THE_END: usize = 1 << 20;
/// So much of the end of its output is kept.
const LONGEST_END: usize = 8 << 10;

/// A command that ended.
#[derive(Debug)]
pub(crate) struct WatchedEnd {
    pub(crate) status: ExitStatus,
    /// What its output shows, stdout before stderr where these are not one.
    pub(crate) shown: Shown,
    /// The end of what it printed; what is missing before it is marked.
    pub(crate) printed: String,
    /// Whether all of it was passed on.
    pub(crate) passed_on: io::Result<()>,
}

impl WatchedEnd {
    /// The exit code as a shell would pass it on.
    pub(crate) fn exit_code(&self) -> u8 {
        let by_signal = || self.status.signal().map(|signal| signal.saturating_add(128));
        let code = self.status.code().or_else(by_signal);
        code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
    }
}

/// Where what a command prints is passed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PassedTo {
    SameStreams,
    /// Both streams, because stdout is for an answer of ours.
    Stderr,
}

/// Runs it to its end. At Ctrl-C the terminal interrupts the command as well: how it ends is waited for.
pub(crate) fn run(command: &mut Command, passed_to: PassedTo) -> io::Result<WatchedEnd> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let listening = signal_hook::flag::register(signal_hook::consts::SIGINT, interrupted)?;
    let ended = run_listening(command, passed_to);
    signal_hook::low_level::unregister(listening);
    ended
}

fn run_listening(command: &mut Command, passed_to: PassedTo) -> io::Result<WatchedEnd> {
    let (stdout, stderr) = (io::stdout(), io::stderr());
    let out = if passed_to == PassedTo::Stderr { stderr.as_fd() } else { stdout.as_fd() };
    let (first, write_end) = Passage::to(out)?;
    let mut passages = vec![first];
    if is_same_file(out, stderr.as_fd()) {
        // One way for both, so that their lines stay in order.
        command.stderr(write_end.try_clone()?);
    } else {
        let (second, write_end) = Passage::to(stderr.as_fd())?;
        command.stderr(write_end);
        passages.push(second);
    }
    let mut child = command.stdout(write_end).spawn()?;
    // Ours are closed, so that the end of the command is the end of what can be read.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let (has_ended, ends) = io::pipe()?;
    thread::scope(|scope| {
        let readers: Vec<_> =
            passages.into_iter().map(|passage| scope.spawn(|| passage.pass_on(has_ended.as_fd()))).collect();
        let status = child.wait();
        drop(ends);
        let mut shown = Shown::default();
        let mut printed = String::new();
        let mut passed_on = Ok(());
        for reader in readers {
            let nothing = |_| (Shown::default(), String::new(), Ok(()));
            let (of_stream, end, written) = reader.join().unwrap_or_else(nothing);
            shown.append(of_stream);
            printed.push_str(&end);
            passed_on = passed_on.and(written);
        }
        Ok(WatchedEnd { status: status?, shown, printed, passed_on })
    })
}

/// When something can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ready {
    WhileItRuns,
    AfterTheEnd,
}

/// The way of one stream from the command to where ours leads.
#[derive(Debug)]
struct Passage {
    from: File,
    to: File,
    is_terminal: bool,
    scan: Scan,
    end: String,
    /// The beginning of a character whose end has not been read.
    begun: Vec<u8>,
}

impl Passage {
    /// A passage, and the end that the command writes to.
    fn to(ours: BorrowedFd<'_>) -> io::Result<(Self, OwnedFd)> {
        let to = File::from(ours.try_clone_to_owned()?);
        let terminal = isatty(ours).then(|| terminal_like(ours).ok()).flatten();
        let is_terminal = terminal.is_some();
        let (from, write_end) = match terminal {
            Some(ends) => ends,
            None => {
                let (read_end, write_end) = io::pipe()?;
                (OwnedFd::from(read_end), OwnedFd::from(write_end))
            }
        };
        let passage = Self {
            from: from.into(),
            to,
            is_terminal,
            scan: Scan::new(),
            end: String::new(),
            begun: Vec::new(),
        };
        Ok((passage, write_end))
    }

    /// Passes on until all who write have ended, or the command has and nothing is left. What it leaves running writes to
    /// nobody then.
    fn pass_on(mut self, has_ended: BorrowedFd<'_>) -> (Shown, String, io::Result<()>) {
        let mut written = Ok(());
        let mut buffer = vec![0; 64 << 10];
        let mut after_the_end = 0;
        while let Ok(Some(ready)) = self.wait(has_ended) {
            let read = match self.from.read(&mut buffer) {
                // A terminal that nobody writes to any more is an error on some systems.
                Ok(0) | Err(_) => break,
                Ok(read) => read,
            };
            let piece = buffer.get(..read).unwrap_or_default();
            // Whoever read our output has gone: the command learns it as it would have without us.
            written = self.to.write_all(piece);
            if written.is_err() {
                break;
            }
            self.look_at(piece);
            after_the_end += if ready == Ready::AfterTheEnd { read } else { 0 };
            if after_the_end > MOST_AFTER_THE_END {
                break;
            }
            if self.is_terminal
                && let Ok(size) = tcgetwinsize(&self.to)
            {
                let _ = tcsetwinsize(&self.from, size);
            }
        }
        self.scan.feed(&String::from_utf8_lossy(&self.begun));
        (self.scan.finish(), self.end, written)
    }

    /// Waits until something can be read; `None` if nothing is left and the command has ended.
    fn wait(&self, has_ended: BorrowedFd<'_>) -> rustix::io::Result<Option<Ready>> {
        loop {
            let from = PollFd::new(&self.from, PollFlags::IN);
            let mut awaited = [from, PollFd::from_borrowed_fd(has_ended, PollFlags::IN)];
            let polled = poll(&mut awaited, None);
            let [is_readable, has_ended] = awaited.map(|one| !one.revents().is_empty());
            match (polled, is_readable, has_ended) {
                (Err(Errno::INTR), ..) => {}
                (Err(error), ..) => return Err(error),
                (Ok(_), true, false) => return Ok(Some(Ready::WhileItRuns)),
                (Ok(_), true, true) => return Ok(Some(Ready::AfterTheEnd)),
                (Ok(_), false, true) => return Ok(None),
                (Ok(_), false, false) => {}
            }
        }
    }

    fn look_at(&mut self, piece: &[u8]) {
        self.begun.extend_from_slice(piece);
        let whole = match str::from_utf8(&self.begun) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.begun.len(),
        };
        let rest = self.begun.split_off(whole);
        let piece = String::from_utf8_lossy(&self.begun);
        self.scan.feed(&piece);
        self.end.push_str(&piece);
        if self.end.len() > LONGEST_END {
            self.end = format!("…{}", text::tail(&self.end, LONGEST_END / 2));
        }
        self.begun = rest;
    }
}

/// The two ends of a terminal that looks like this one to a program that writes to it, and changes nothing of what is written.
fn terminal_like(ours: BorrowedFd<'_>) -> io::Result<(OwnedFd, OwnedFd)> {
    let read_end = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    fcntl_setfd(&read_end, FdFlags::CLOEXEC)?;
    grantpt(&read_end)?;
    unlockpt(&read_end)?;
    let name = ptsname(&read_end, Vec::new())?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let write_end = rustix::fs::open(name.as_c_str(), flags, Mode::empty())?;
    let mut modes = tcgetattr(&write_end)?;
    modes.output_modes.remove(OutputModes::OPOST);
    modes.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&write_end, OptionalActions::Now, &modes)?;
    tcsetwinsize(&read_end, tcgetwinsize(ours)?)?;
    Ok((read_end, write_end))
}

fn is_same_file(one: BorrowedFd<'_>, other: BorrowedFd<'_>) -> bool {
    match (fstat(one), fstat(other)) {
        (Ok(one), Ok(other)) => (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino),
        _ => false,
    }
}
