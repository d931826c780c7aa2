//! Does something at regular times on a thread of its own, for as long as this is there: signs of life of an owner.

use std::io;
use std::ops::ControlFlow;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

#[derive(Debug)]
pub struct Renewal {
    /// Dropped to end the thread.
    running: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Renewal {
    /// Calls `renew` with the owned thing so often until it breaks off or this is dropped; then `end`, once.
    pub fn start<T: Send + 'static>(
        mut owned: T,
        every: Duration,
        renew: impl Fn(&mut T) -> ControlFlow<()> + Send + 'static,
        end: impl FnOnce(T) + Send + 'static,
    ) -> io::Result<Self> {
        let (running, ended) = mpsc::channel::<()>();
        let thread = std::thread::Builder::new().name("renewal".to_owned()).spawn(move || {
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                if renew(&mut owned).is_break() {
                    return;
                }
            }
            end(owned);
        })?;
        Ok(Self { running: Some(running), thread: Some(thread) })
    }
}

impl Drop for Renewal {
    fn drop(&mut self) {
        drop(self.running.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
