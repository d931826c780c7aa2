//! Ctrl-C while doctor or the demo runs programs: they are ended, and what was made is cleared away, before we end.

use std::io;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use files::{BoundedChild, Bounds, ChildError, Ended};

/// Whether the person wants to stop. Everything that waits looks at it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interruption(Arc<AtomicBool>);

impl Interruption {
    /// Ctrl-C, and the requests to end that a terminal or a supervisor sends, no longer end the process at once: what
    /// was started and made must be cleared away first. A second one does.
    pub(crate) fn listen() -> io::Result<Self> {
        let interruption = Self::default();
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP]
        {
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&interruption.0))?;
            signal_hook::flag::register(signal, Arc::clone(&interruption.0))?;
        }
        Ok(interruption)
    }

    pub(crate) fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// For programs that end with all their children at the limit, and as soon as the person presses Ctrl-C.
    pub(crate) fn bounds(&self, limit: Duration) -> Bounds {
        Bounds { interruption: Some(Arc::clone(&self.0)), ..Bounds::within(limit) }
    }

    /// Runs a program to its end, with `input` on its stdin.
    pub(crate) fn run(
        &self,
        command: &mut Command,
        input: &[u8],
        limit: Duration,
    ) -> Result<Ended, ChildError> {
        BoundedChild::run(command, input, self.bounds(limit))
    }
}
