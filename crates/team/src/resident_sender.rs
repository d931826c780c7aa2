//! The process that sends in the background. One at a time, by a lock that the kernel gives back; it stays for a minute after the last
//! event, so that most hooks find it there and start none.
//!
//! A hook records first and looks at the lock then. Whoever leaves gives the lock back first and looks at the record then. So one of the two
//! sees what the other did, and no event waits for the next one.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use changes::GitProgram;
use files::Lock;
use jiff::Timestamp;

use crate::{Collector, Outbox, Sender, TeamSettings, collect};

const LOCK: &str = "team.lock";

/// How long it stays after the last event.
const STAY: Duration = Duration::from_secs(60);

/// Between two looks at the journal.
const LOOK: Duration = Duration::from_millis(300);

/// After a failure, the first pause and the longest: a database that is down is asked less and less.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What the journal is known by without opening it.
type Stamp = Vec<Option<(u64, Option<SystemTime>)>>;

#[derive(Debug)]
pub struct ResidentSender {
    state: PathBuf,
    collector: Collector,
    sender: Sender,
}

/// Whether one is there. Costs a hook two system calls.
pub fn is_resident(state: &Path) -> bool {
    // What cannot be locked is not started again and again.
    Lock::acquire(&state.join(LOCK), Duration::ZERO).is_err()
}

impl ResidentSender {
    /// `version` is that of this program.
    pub fn new(
        state: &Path,
        settings: TeamSettings,
        home: Option<&Path>,
        git: GitProgram,
        version: &str,
    ) -> Self {
        Self {
            state: state.to_owned(),
            collector: Collector::new(state, &settings, home, git),
            sender: Sender::new(state, settings, version),
        }
    }

    /// Sends until nothing happened for a minute; at once where another one is there.
    pub fn stay(mut self) {
        loop {
            let Ok(lock) = Lock::acquire(&self.state.join(LOCK), Duration::ZERO) else { return };
            let seen = self.stay_while_something_happens();
            drop(lock);
            if self.stamp() == seen {
                return;
            }
        }
    }

    /// What the journal was known by at the last look.
    fn stay_while_something_happens(&mut self) -> Stamp {
        let mut seen = Stamp::new();
        let mut last_event = Instant::now();
        let mut pause = FIRST_PAUSE;
        let mut next_try = Instant::now();
        let mut is_waiting = true;
        while last_event.elapsed() < STAY {
            let stamp = self.stamp();
            if stamp != seen {
                seen = stamp;
                if self.collect() {
                    last_event = Instant::now();
                    is_waiting = true;
                }
            }
            if is_waiting && Instant::now() >= next_try {
                match self.send() {
                    true => {
                        is_waiting = false;
                        pause = FIRST_PAUSE;
                    }
                    false => {
                        next_try = Instant::now() + pause;
                        pause = (pause * 2).min(LONGEST_PAUSE);
                    }
                }
            }
            std::thread::sleep(LOOK);
        }
        seen
    }

    /// Whether there was something new. What fails now is tried again at the next change.
    fn collect(&mut self) -> bool {
        Outbox::open(&self.state)
            .map_err(crate::CollectError::from)
            .and_then(|mut outbox| collect(&mut self.collector, &mut outbox, Timestamp::now()))
            .is_ok_and(|collected| collected > 0)
    }

    /// Whether nothing waits any more. Why not stands in the outbox.
    fn send(&mut self) -> bool {
        Outbox::open(&self.state).is_ok_and(|mut outbox| self.sender.send(&mut outbox).is_ok())
    }

    fn stamp(&self) -> Stamp {
        let of = |name: &str| {
            let found = self.state.join(name).metadata().ok();
            found.map(|found: Metadata| (found.len(), found.modified().ok()))
        };
        ["journal.db", "journal.db-wal"].map(of).to_vec()
    }
}
