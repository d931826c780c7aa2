//! The kernel's process tree: supervised on a thread of its own, which tells when the kernel is gone. Reading from the
//! sockets of a kernel that was killed would wait for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

use supervise::{
    Cause, Command, Controls, Grace, Isolated, Isolation, Limits, Observed, Signal, SpawnError,
    StallInterrupt, Stalls, Status, Supervised,
};

#[derive(Debug)]
pub(super) struct Process {
    controls: Controls,
    pub(super) end: ProcessEnd,
    pub(super) isolated: Isolated,
    /// The process that everyone of the tree descends from.
    pub(super) root: i32,
    is_stopped: Arc<AtomicBool>,
    signals: mpsc::Receiver<Signal>,
    thread: Option<JoinHandle<()>>,
}

/// The end of the whole tree, and how its first process ended if that is known. It can be asked for again and again: what
/// was told once is kept.
#[derive(Debug)]
pub(super) enum ProcessEnd {
    Awaited(oneshot::Receiver<Option<Status>>),
    Known(Option<Status>),
}

impl ProcessEnd {
    /// Ready once the whole tree is gone.
    pub(super) async fn wait(&mut self) -> Option<Status> {
        if let Self::Awaited(told) = self {
            *self = Self::Known(told.await.ok().flatten());
        }
        self.known().flatten()
    }

    pub(super) fn known(&mut self) -> Option<Option<Status>> {
        if let Self::Awaited(told) = self {
            match told.try_recv() {
                Ok(status) => *self = Self::Known(status),
                // The thread that watches it is gone, and the process with it.
                Err(oneshot::error::TryRecvError::Closed) => *self = Self::Known(None),
                Err(oneshot::error::TryRecvError::Empty) => return None,
            }
        }
        match self {
            Self::Known(status) => Some(*status),
            Self::Awaited(_) => None,
        }
    }
}

impl Process {
    pub(super) fn start(command: &Command, isolation: Isolation) -> Result<Self, SpawnError> {
        let controls = Controls::new().map_err(SpawnError::Shim)?;
        let (tell_spawned, spawned) = mpsc::channel();
        let (tell_end, end) = oneshot::channel();
        let (tell_signal, signals) = mpsc::channel();
        let (command, watched) = (command.clone(), controls.clone());
        let is_stopped = Arc::new(AtomicBool::new(false));
        let tell_stopped = Arc::clone(&is_stopped);
        // Started on the thread that watches it: a kernel outlives the thread of the stage that first needed it, and the
        // system may tie a process to the thread that it was started by.
        let thread = std::thread::Builder::new().name("kernel process".to_owned()).spawn(move || {
            let supervised = match Supervised::spawn(&command, isolation) {
                Ok(supervised) => supervised,
                Err(error) => return drop(tell_spawned.send(Err(error))),
            };
            let _ = tell_spawned.send(Ok((supervised.isolated(), supervised.root())));
            // Each cell has its own limits: here only the end is waited for.
            let stalls = Stalls {
                no_output: None,
                no_marker: None,
                interrupt: StallInterrupt::Never,
                ..Stalls::default()
            };
            let limits =
                Limits { max_duration: None, stalls, longest_stop: Duration::MAX, ..Limits::default() };
            let ending = supervised.watch(&limits, &watched, &mut |observed| match observed {
                Observed::Signalled(signal) => drop(tell_signal.send(signal)),
                Observed::Stopped => tell_stopped.store(true, Ordering::SeqCst),
                Observed::Continued => tell_stopped.store(false, Ordering::SeqCst),
                _ => {}
            });
            let _ = tell_end.send(ending.ok().and_then(|ending| ending.status));
        });
        let thread = thread.map_err(SpawnError::Shim)?;
        let (isolated, root) =
            spawned.recv().map_err(|_| SpawnError::Shim(std::io::ErrorKind::BrokenPipe.into()))??;
        let end = ProcessEnd::Awaited(end);
        Ok(Self { controls, end, isolated, root, is_stopped, signals, thread: Some(thread) })
    }

    /// Asks the whole tree to end; `end` tells when it has.
    pub(super) fn end_tree(&self, cause: Cause, grace: Grace) {
        self.controls.end(cause, grace);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::SeqCst)
    }

    /// What was sent to the tree since the last call.
    pub(super) fn signals(&self) -> impl Iterator<Item = Signal> + '_ {
        self.signals.try_iter()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.controls.end(Cause::Aborted, Grace::NONE);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ProcessEnd, oneshot};

    /// Asking a kernel whether its threads are busy may learn of its end, which is waited for again then.
    #[test]
    fn an_end_that_is_known_can_be_waited_for_again() {
        let (tell, told) = oneshot::channel();
        let mut end = ProcessEnd::Awaited(told);
        assert_eq!(end.known(), None);
        tell.send(None).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(end.wait()), None);
        assert_eq!(runtime.block_on(end.wait()), None);
        assert_eq!(end.known(), Some(None));
    }
}
