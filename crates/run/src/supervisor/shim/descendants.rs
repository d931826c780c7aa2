//! Where there is no namespace: who descends from the shim, and signals to all of them. It runs in the copy, so it
//! allocates nothing: what is read of `/proc` goes into room that was made before.

use std::os::fd::OwnedFd;

use rustix::process::Signal;

use crate::supervisor::processes::{self, Process};

pub(super) type Row = Process;

/// After this many rounds somebody forks faster than we look; killing begins then.
const ROUNDS: usize = 64;

pub(super) struct Descendants<'a> {
    rows: &'a mut Vec<Row>,
    proc: Option<OwnedFd>,
    me: i32,
}

impl<'a> Descendants<'a> {
    pub(super) fn new(rows: &'a mut Vec<Row>) -> Self {
        let me = rustix::process::getpid().as_raw_nonzero().get();
        Self { rows, proc: processes::open().ok(), me }
    }

    /// A signal to each of them that is there now.
    pub(super) fn signal(&mut self, signal: Signal) {
        self.each(|proc, process| {
            let _ = processes::signal(proc, process, signal);
        });
    }

    /// Stops them until nobody moves any more, so that nobody can fork away from what follows.
    pub(super) fn stop(&mut self) {
        for _ in 0..ROUNDS {
            let mut moving = false;
            self.each(|proc, process| {
                if process.moves() {
                    moving |= processes::signal(proc, process, Signal::STOP).is_ok();
                }
            });
            if !moving {
                return;
            }
        }
    }

    /// Kills them; returns how many there are if not a single one could be killed, although there are some.
    pub(super) fn kill(&mut self) -> u32 {
        let (mut killed, mut refused) = (0_u32, 0_u32);
        self.each(|proc, process| match processes::signal(proc, process, Signal::KILL) {
            Err(rustix::io::Errno::PERM) => refused = refused.saturating_add(1),
            _ => killed = killed.saturating_add(1),
        });
        if killed == 0 { refused } else { 0 }
    }

    fn each(&mut self, mut act: impl FnMut(&OwnedFd, &Process)) {
        let Some(proc) = &self.proc else { return };
        processes::read_all(proc, self.rows);
        for process in self.rows.iter() {
            if process.is_alive() && processes::descends(self.rows, process, self.me) {
                act(proc, process);
            }
        }
    }
}
