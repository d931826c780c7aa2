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
    /// Ready once the whole tree is gone.
    pub(super) gone: oneshot::Receiver<Option<Status>>,
    pub(super) isolated: Isolated,
    /// The process that everyone of the tree descends from.
    pub(super) root: i32,
    is_stopped: Arc<AtomicBool>,
    signals: mpsc::Receiver<Signal>,
    thread: Option<JoinHandle<()>>,
}

impl Process {
    pub(super) fn start(command: &Command, isolation: Isolation) -> Result<Self, SpawnError> {
        let controls = Controls::new().map_err(SpawnError::Shim)?;
        let (tell_spawned, spawned) = mpsc::channel();
        let (tell_gone, gone) = oneshot::channel();
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
            let _ = tell_gone.send(ending.ok().and_then(|ending| ending.status));
        });
        let thread = thread.map_err(SpawnError::Shim)?;
        let (isolated, root) =
            spawned.recv().map_err(|_| SpawnError::Shim(std::io::ErrorKind::BrokenPipe.into()))??;
        Ok(Self { controls, gone, isolated, root, is_stopped, signals, thread: Some(thread) })
    }

    /// Ends the whole tree; `gone` tells when it is.
    pub(super) fn end(&self, cause: Cause, grace: Grace) {
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
