//! A descriptor by which one thread wakes another that waits for several things: a pipe that neither end waits for.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::OFlags;

#[derive(Debug)]
pub struct WakeUp {
    near: OwnedFd,
    far: OwnedFd,
}

impl WakeUp {
    pub fn new() -> io::Result<Self> {
        let (near, far) = io::pipe()?;
        let (near, far) = (OwnedFd::from(near), OwnedFd::from(far));
        for end in [&near, &far] {
            rustix::fs::fcntl_setfl(end, OFlags::NONBLOCK)?;
        }
        Ok(Self { near, far })
    }

    /// Makes it readable. A full pipe means that the reader is to be woken already.
    pub fn wake(&self) {
        let _ = rustix::io::write(&self.far, &[1]);
    }

    /// Makes it unreadable again.
    pub fn clear(&self) {
        while matches!(rustix::io::read(&self.near, &mut [0; 64]), Ok(1..)) {}
    }
}

impl AsFd for WakeUp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.near.as_fd()
    }
}
