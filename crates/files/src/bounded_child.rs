//! A child process with bounds: on its time, on what it may write, and on whom it leaves behind. Nobody waits for a pipe
//! that a grandchild holds open, no full pipe keeps the child from ending, and no thread reads: the pipes and the exit
//! are waited for together.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use machine::ChildHandle;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

/// Every pipe holds this much before anybody reads.
const FITS_A_PIPE: usize = 4096;

/// How often one looks where nothing wakes one: at an interruption, and at an exit where the system has no descriptor for it.
const LOOK: Duration = Duration::from_millis(5);

/// What becomes of processes of the child's group that are alive when the child has exited by itself. Those of a child
/// that is ended here, at a limit or by a drop, are always ended with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftovers {
    /// Whatever the program left running is its own affair.
    Leave,
    End,
}

#[derive(Clone, Debug)]
pub struct Bounds {
    pub time: Duration,
    /// A child that writes more to a piped stdout is ended.
    pub stdout: usize,
    /// Of a piped stderr so much is kept, from the beginning.
    pub stderr: usize,
    pub leftovers: Leftovers,
    /// Set from outside, ends the child at once.
    pub interruption: Option<Arc<AtomicBool>>,
}

impl Bounds {
    /// For programs that answer: 4 MiB of output, 16 KiB of complaints, and nobody left behind.
    pub fn within(time: Duration) -> Self {
        Self { time, stdout: 4 << 20, stderr: 16 << 10, leftovers: Leftovers::End, interruption: None }
    }
}

/// Why a child was ended, or what kept one from following it.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    #[error("it cannot be started")]
    Start(#[source] io::Error),
    #[error("it took longer than {}", text::duration_in_words(*limit))]
    TimedOut { limit: Duration },
    #[error("it wrote more than {limit} bytes")]
    TooMuch { limit: usize },
    #[error("it was interrupted")]
    Interrupted,
    #[error("cannot follow it")]
    Follow(#[from] io::Error),
}

/// A child that has exited, well or not.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// A child that runs, in a process group of its own. Dropping it ends it with its group.
#[derive(Debug)]
pub struct BoundedChild {
    child: Child,
    /// Becomes readable when the child exits.
    exit: Option<ChildHandle>,
    stdout: Output,
    stderr: Output,
    bounds: Bounds,
    deadline: Instant,
    has_exited: bool,
    is_reaped: bool,
}

impl BoundedChild {
    /// Runs the command to its end, with `input` on its stdin, and takes what it writes.
    pub fn run(command: &mut Command, input: &[u8], bounds: Bounds) -> Result<Ended, ChildError> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Self::start(command, bounds).map_err(ChildError::Start)?;
        child.feed(input);
        child.finish()
    }

    /// Starts the command as it is, but in a process group of its own. What of its stdin, stdout and stderr is to be
    /// a pipe, the caller says.
    pub fn start(command: &mut Command, bounds: Bounds) -> io::Result<Self> {
        let mut child = command.process_group(0).spawn()?;
        let exit = handle(&child);
        let stdout = Output::new(child.stdout.take().map(OwnedFd::from), bounds.stdout);
        let stderr = Output::new(child.stderr.take().map(OwnedFd::from), bounds.stderr);
        let deadline = Instant::now() + bounds.time;
        Ok(Self { child, exit, stdout, stderr, bounds, deadline, has_exited: false, is_reaped: false })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its stdin, as long as that is a pipe and open: for callers that ask and read in turns.
    pub fn stdin(&mut self) -> Option<&mut ChildStdin> {
        self.child.stdin.as_mut()
    }

    /// Takes its stdout away, for a caller that reads by itself and without these bounds.
    pub fn take_stdout(&mut self) -> Option<File> {
        self.stdout.pipe.take()
    }

    /// Writes `input` to its stdin and closes that. A long one is written beside everything else: neither side may wait
    /// for the other. A child may end without reading it all; how it ends says more than the broken pipe.
    pub fn feed(&mut self, input: &[u8]) {
        let Some(mut pipe) = self.child.stdin.take() else { return };
        if input.len() <= FITS_A_PIPE {
            let _ = pipe.write_all(input);
            return;
        }
        let input = input.to_vec();
        std::thread::spawn(move || {
            let _ = pipe.write_all(&input);
        });
    }

    /// The next line of its stdout, with its line feed unless it is the last one; `None` at the end of the output.
    pub fn line(&mut self) -> Result<Option<Vec<u8>>, ChildError> {
        loop {
            if let Some(end) = self.stdout.bytes.iter().position(|byte| *byte == b'\n') {
                return Ok(Some(self.stdout.bytes.drain(..=end).collect()));
            }
            if self.has_exited || self.stdout.pipe.is_none() {
                return Ok(Some(std::mem::take(&mut self.stdout.bytes)).filter(|line| !line.is_empty()));
            }
            self.wait_for_any()?;
            if self.has_exited {
                self.stdout.drain()?;
            }
        }
    }

    /// Closes its stdin, waits for its exit, and takes what it wrote.
    pub fn finish(mut self) -> Result<Ended, ChildError> {
        drop(self.child.stdin.take());
        while !self.has_exited {
            self.wait_for_any()?;
        }
        if self.bounds.leftovers == Leftovers::End {
            // Before the child is reaped: until then its group is nobody else's.
            self.kill_group();
        }
        let status = self.child.wait()?;
        self.is_reaped = true;
        // A process that it left behind may hold the pipes open: take what is there, and do not wait for more.
        self.stdout.drain()?;
        self.stderr.drain()?;
        if self.stdout.has_overflowed {
            return Err(ChildError::TooMuch { limit: self.bounds.stdout });
        }
        let (stdout, stderr) =
            (std::mem::take(&mut self.stdout.bytes), std::mem::take(&mut self.stderr.bytes));
        Ok(Ended { status, stdout, stderr })
    }

    /// Waits until there is something to read or the child has exited, and reads it.
    fn wait_for_any(&mut self) -> Result<(), ChildError> {
        if self.bounds.interruption.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(ChildError::Interrupted);
        }
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ChildError::TimedOut { limit: self.bounds.time });
        }
        let must_look = self.bounds.interruption.is_some() || self.exit.is_none();
        let timeout = Timespec::try_from(if must_look { left.min(LOOK) } else { left }).ok();
        let sources = [
            self.stdout.pipe.as_ref().map(File::as_fd),
            self.stderr.pipe.as_ref().map(File::as_fd),
            self.exit.as_ref().map(ChildHandle::as_fd),
        ];
        let watched =
            sources.into_iter().flatten().map(|source| PollFd::from_borrowed_fd(source, PollFlags::IN));
        let mut watched: Vec<PollFd<'_>> = watched.collect();
        match poll(&mut watched, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(io::Error::from(errno).into()),
        }
        let mut ready = watched.iter().map(|pipe| !pipe.revents().is_empty());
        let [out_ready, err_ready, exit_ready] =
            sources.map(|source| source.is_some() && ready.next().unwrap_or(false));
        if out_ready {
            self.stdout.read_some()?;
        }
        if err_ready {
            self.stderr.read_some()?;
        }
        self.has_exited = if self.exit.is_some() { exit_ready } else { self.child.try_wait()?.is_some() };
        if self.stdout.has_overflowed {
            return Err(ChildError::TooMuch { limit: self.bounds.stdout });
        }
        Ok(())
    }

    fn kill_group(&self) {
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for BoundedChild {
    fn drop(&mut self) {
        if self.is_reaped {
            return;
        }
        let is_left =
            self.bounds.leftovers == Leftovers::Leave && matches!(self.child.try_wait(), Ok(Some(_)));
        if !is_left {
            self.kill_group();
            let _ = self.child.wait();
        }
    }
}

fn handle(child: &Child) -> Option<ChildHandle> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw)?;
    ChildHandle::of(pid).ok()
}

/// One of the child's pipes, kept as far as its limit.
#[derive(Debug)]
struct Output {
    pipe: Option<File>,
    bytes: Vec<u8>,
    limit: usize,
    has_overflowed: bool,
}

impl Output {
    fn new(pipe: Option<OwnedFd>, limit: usize) -> Self {
        Self { pipe: pipe.map(File::from), bytes: Vec::new(), limit, has_overflowed: false }
    }

    /// One read; the pipe is dropped at its end.
    fn read_some(&mut self) -> io::Result<()> {
        let Some(pipe) = &mut self.pipe else { return Ok(()) };
        // A larger one is more fresh memory than most answers need; a long answer takes more reads.
        let mut buffer = [0; 16 * 1024];
        match pipe.read(&mut buffer) {
            Ok(0) => self.pipe = None,
            Ok(count) => {
                let room = self.limit.saturating_sub(self.bytes.len());
                self.has_overflowed |= count > room;
                self.bytes.extend_from_slice(buffer.get(..count.min(room)).unwrap_or_default());
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Reads what the pipe holds now.
    fn drain(&mut self) -> io::Result<()> {
        while let Some(pipe) = self.pipe.as_ref().filter(|_| !self.has_overflowed) {
            let mut waiting = [PollFd::new(pipe, PollFlags::IN)];
            if poll(&mut waiting, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))? == 0 {
                return Ok(());
            }
            self.read_some()?;
        }
        Ok(())
    }
}
