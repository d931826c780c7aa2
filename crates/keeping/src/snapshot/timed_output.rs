//! The output of a git that is read piece by piece, as long as its time lasts: who reads the pipe itself is otherwise bound by
//! nothing, and a git that stalls would be waited for without end.

use std::fs::File;
use std::io::{self, Read};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

pub(super) struct TimedOutput {
    pipe: File,
    deadline: Instant,
}

impl TimedOutput {
    /// The time begins now.
    pub(super) fn within(limit: Duration, pipe: File) -> Self {
        Self { pipe, deadline: Instant::now() + limit }
    }

    /// Waits until there is something to read, or the output has ended.
    fn wait(&self) -> io::Result<()> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let mut watched = [PollFd::new(&self.pipe, PollFlags::IN)];
        match poll(&mut watched, Timespec::try_from(left).ok().as_ref())? {
            0 => Err(io::ErrorKind::TimedOut.into()),
            _ => Ok(()),
        }
    }
}

impl Read for TimedOutput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.wait()?;
        self.pipe.read(buffer)
    }
}
