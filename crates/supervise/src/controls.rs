//! The way in which other threads, or a signal handler's thread, end a tree that is being watched.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use machine::WakeUp;

use super::limits::Grace;

/// Requests to a watched tree. Clones reach the same tree.
#[derive(Debug, Clone)]
pub struct Controls {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    wake: WakeUp,
    requests: Mutex<VecDeque<Request>>,
    is_asked: AtomicBool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    TimedOut,
    Aborted,
    Stalled,
    OutOfMemory,
    NoCheckpoint,
}

impl Cause {
    /// How long a tree may take to end by itself, where it usually has so long.
    pub fn grace(self, usual: Grace) -> Grace {
        match self {
            // While it is asked to end, it could take what is left of the machine's memory.
            Self::OutOfMemory => Grace::NONE,
            _ => usual,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    pub cause: Cause,
    /// `None`: that of the stage's limits.
    pub grace: Option<Grace>,
}

impl Controls {
    pub fn new() -> io::Result<Self> {
        let shared =
            Shared { wake: WakeUp::new()?, requests: Mutex::default(), is_asked: AtomicBool::new(false) };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Ends the tree as [`How::Aborted`](super::How::Aborted), with the stage's grace; a second time without any.
    pub fn abort(&self) {
        self.request(Request { cause: Cause::Aborted, grace: None });
    }

    /// Ends the tree for this reason and with this grace. Where an ending is under way already, it goes straight to
    /// SIGKILL and the first reason stays.
    pub fn end(&self, cause: Cause, grace: Grace) {
        self.request(Request { cause, grace: Some(grace) });
    }

    /// Whether an end was asked for at any time, taken up or not.
    pub fn is_asked(&self) -> bool {
        self.shared.is_asked.load(Ordering::SeqCst)
    }

    fn request(&self, request: Request) {
        self.shared.is_asked.store(true, Ordering::SeqCst);
        self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner).push_back(request);
        self.shared.wake.wake();
    }

    pub fn taken(&self) -> Option<Request> {
        let mut requests = self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner);
        if requests.len() <= 1 {
            self.shared.wake.clear();
        }
        requests.pop_front()
    }

    pub fn wake(&self) -> BorrowedFd<'_> {
        self.shared.wake.as_fd()
    }
}
