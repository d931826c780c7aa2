//! A child by its process descriptor: never by its number, which somebody else may have by then.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid,
};

/// A child of this process that nobody has waited for.
#[derive(Debug)]
pub struct ChildHandle {
    descriptor: OwnedFd,
}

impl From<OwnedFd> for ChildHandle {
    /// From a process descriptor.
    fn from(descriptor: OwnedFd) -> Self {
        Self { descriptor }
    }
}

impl AsFd for ChildHandle {
    /// Readable when the child has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl ChildHandle {
    pub fn of(child: Pid) -> io::Result<Self> {
        Ok(Self { descriptor: pidfd_open(child, PidfdFlags::empty())? })
    }

    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { descriptor: self.descriptor.try_clone()? })
    }

    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(pidfd_send_signal(&self.descriptor, signal)?)
    }

    /// Waits for its end; says whether it ended by itself, and not by a signal.
    pub fn wait(&self) -> io::Result<bool> {
        let status = waitid(WaitId::PidFd(self.descriptor.as_fd()), WaitIdOptions::EXITED)?;
        Ok(status.is_some_and(|status| status.exited()))
    }

    /// Takes note of its end if it has ended; says whether it still runs.
    pub fn is_running(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        matches!(waitid(WaitId::PidFd(self.descriptor.as_fd()), options), Ok(None))
    }
}
