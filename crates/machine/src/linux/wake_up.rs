//! A descriptor by which one thread wakes another that waits for several things: an event counter of the kernel.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};

#[derive(Debug)]
pub struct WakeUp {
    counter: OwnedFd,
}

impl WakeUp {
    pub fn new() -> io::Result<Self> {
        Ok(Self { counter: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)? })
    }

    /// Makes it readable. A full counter means that the reader is to be woken already.
    pub fn wake(&self) {
        let _ = rustix::io::write(&self.counter, &1_u64.to_ne_bytes());
    }

    /// Makes it unreadable again.
    pub fn clear(&self) {
        let _ = rustix::io::read(&self.counter, &mut [0; 8]);
    }
}

impl AsFd for WakeUp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.counter.as_fd()
    }
}
