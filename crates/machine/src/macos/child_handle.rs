//! A child by its number, which is its own as long as nobody has waited for it, and a kernel queue that tells of its end.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use super::libc_calls;

/// A child of this process that nobody has waited for.
#[derive(Debug)]
pub struct ChildHandle {
    child: Pid,
    end: OwnedFd,
}

impl AsFd for ChildHandle {
    /// Readable when the child has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.end.as_fd()
    }
}

impl ChildHandle {
    pub fn of(child: Pid) -> io::Result<Self> {
        Ok(Self { child, end: libc_calls::exit_queue(child)? })
    }

    pub fn try_clone(&self) -> io::Result<Self> {
        Self::of(self.child)
    }

    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(kill_process(self.child, signal)?)
    }

    /// Waits for its end; says whether it ended by itself, and not by a signal.
    pub fn wait(&self) -> io::Result<bool> {
        let status = waitid(WaitId::Pid(self.child), WaitIdOptions::EXITED)?;
        Ok(status.is_some_and(|status| status.exited()))
    }

    /// Takes note of its end if it has ended; says whether it still runs.
    pub fn is_running(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        matches!(waitid(WaitId::Pid(self.child), options), Ok(None))
    }
}
