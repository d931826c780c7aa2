//! Signs of life of a stage, and which of them are missing. What it writes comes by itself; its processor time and its
//! artifacts are looked at a few times in each span that matters.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, SystemTime};

use machine::{Process, ProcessTable};

use super::clock::Clock;
use super::controls::Cause;
use super::ending::{Observed, Stall, StallLooks, StallSignal};
use super::limits::{Limits, Stalls};
use super::marker::Marker;
use super::memory;

/// Of the processor time of one core, a process that waits in a loop with pauses uses less than this part.
const WORKING: u32 = 100;

/// More files than this are not looked at, so that looking stays cheap.
const MOST_FILES: usize = 10_000;

/// The signs of life of a tree that were seen last.
#[derive(Debug, Default)]
pub struct Vitals {
    last_output: Duration,
    last_marker: Duration,
    last_checkpoint: Duration,
    last_ticks: Duration,
    last_growth: Duration,
    last_sample: Duration,
    last_memory: Duration,
    ticks: u64,
    artifacts: Size,
    told: BTreeSet<StallSignal>,
    rows: Vec<Process>,
}

/// What can be said of a directory without reading any file.
#[derive(Debug, Clone, PartialEq, Default)]
struct Size {
    files: usize,
    bytes: u64,
    newest: Option<SystemTime>,
}

impl Vitals {
    pub fn new(stalls: &Stalls) -> Self {
        let artifacts = stalls.artifacts.as_deref().map(Size::of).unwrap_or_default();
        Self { artifacts, ..Self::default() }
    }

    /// What a tree that has been running before used until now does not count.
    pub fn begin(&mut self, stalls: &Stalls, root: i32) {
        self.sample(Duration::ZERO, stalls, root);
    }

    pub fn output(&mut self, now: Duration) {
        self.last_output = now;
        self.told.remove(&StallSignal::NoOutput);
    }

    pub fn marker(&mut self, now: Duration, marker: &Marker) {
        self.last_marker = now;
        if marker.is_checkpoint() {
            self.last_checkpoint = now;
        }
        self.told.remove(&StallSignal::NoMarker);
    }

    pub fn goes_on(&mut self) {
        self.told.remove(&StallSignal::Stopped);
    }

    /// When to look next, in the stage's time.
    pub(super) fn next_look(&self, stalls: &Stalls) -> Duration {
        let due = [
            stalls.no_output.map(|limit| self.last_output + limit),
            stalls.no_marker.map(|limit| self.last_marker + limit),
        ];
        let due = due.into_iter().flatten().filter(|due| *due > self.last_sample).min();
        let regular = self.last_sample + pace(stalls);
        due.map_or(regular, |due| due.min(regular))
    }

    /// A running stage: its limit, and its signs of life. Says why it has to end, if it has to. `root` is the process whose tree it
    /// is.
    pub fn look_after(
        &mut self,
        clock: &Clock,
        limits: &Limits,
        root: i32,
        observe: &mut dyn FnMut(Observed),
    ) -> Option<Cause> {
        if clock.stopped_in_all() >= limits.longest_stop {
            return Some(Cause::Stalled);
        }
        let (active, stalls) = (clock.active(), &limits.stalls);
        if let Some(limit) = limits.memory
            && active >= self.last_memory + memory::EVERY
        {
            self.last_memory = active;
            if memory::is_above(limit, root, &mut self.rows) {
                return Some(Cause::OutOfMemory);
            }
        }
        let missing = match clock.stopped_for() {
            Some(lasting) => self.stopped(lasting, stalls).into_iter().collect(),
            None if limits.max_duration.is_some_and(|limit| active >= limit) => return Some(Cause::TimedOut),
            None if limits.checkpoint_every.is_some_and(|limit| active >= self.last_checkpoint + limit) => {
                return Some(Cause::NoCheckpoint);
            }
            None => self.look(active, stalls, root),
        };
        let ends = missing.iter().any(|stall| stalls.interrupt.is_for(stall));
        missing.into_iter().for_each(|stall| observe(Observed::Stall(stall)));
        ends.then_some(Cause::Stalled)
    }

    /// Looks, and returns what is newly missing.
    fn look(&mut self, now: Duration, stalls: &Stalls, root: i32) -> Vec<Stall> {
        if now < self.next_look(stalls) {
            return Vec::new();
        }
        self.sample(now, stalls, root);
        let silent = now.saturating_sub(self.last_output);
        let idle = now.saturating_sub(self.last_ticks);
        let same = now.saturating_sub(self.last_growth);
        let is_silent = silent >= stalls.no_output.unwrap_or(stalls.idle);
        let is_idle = idle >= stalls.idle;
        let is_same = stalls.artifacts.is_none() || same >= stalls.idle;
        let looks = if is_silent && is_idle && is_same { StallLooks::Hung } else { StallLooks::Slow };
        let no_marker = now.saturating_sub(self.last_marker);
        let mut missing = Vec::new();
        let mut tell = |signal, lasting, is_missing: bool| {
            if is_missing && self.told.insert(signal) {
                missing.push(Stall { signal, lasting, looks });
            }
        };
        tell(StallSignal::NoOutput, silent, stalls.no_output.is_some_and(|limit| silent >= limit));
        tell(StallSignal::NoMarker, no_marker, stalls.no_marker.is_some_and(|limit| no_marker >= limit));
        // A stage that speaks may rest; these two are of interest where it is silent.
        tell(StallSignal::NoArtifactGrowth, same, is_silent && is_same && stalls.artifacts.is_some());
        tell(StallSignal::NoProcessorTime, idle, is_silent && is_idle);
        missing
    }

    /// A stage that is stopped for as long as it may be silent is told once.
    fn stopped(&mut self, lasting: Duration, stalls: &Stalls) -> Option<Stall> {
        let limit = stalls.no_output.unwrap_or(stalls.idle);
        let new = lasting >= limit && self.told.insert(StallSignal::Stopped);
        new.then_some(Stall { signal: StallSignal::Stopped, lasting, looks: StallLooks::Hung })
    }

    fn sample(&mut self, now: Duration, stalls: &Stalls, root: i32) {
        let since = now.saturating_sub(self.last_sample);
        self.last_sample = now;
        if let Ok(table) = ProcessTable::open() {
            self.rows.reserve(machine::MOST);
            table.read_all(&mut self.rows);
            let (ticks, _) = machine::tree_ticks(&self.rows, root);
            // A tick is a hundredth of a second.
            let working = u64::try_from((since / WORKING).as_millis() / 10).unwrap_or(u64::MAX).max(1);
            if ticks.saturating_sub(self.ticks) >= working {
                self.last_ticks = now;
                self.told.remove(&StallSignal::NoProcessorTime);
            }
            self.ticks = ticks;
        }
        if let Some(artifacts) = &stalls.artifacts {
            let size = Size::of(artifacts);
            if size != self.artifacts {
                self.last_growth = now;
                self.told.remove(&StallSignal::NoArtifactGrowth);
            }
            self.artifacts = size;
        }
    }
}

/// How often to look: a few times in the shortest span that is set.
fn pace(stalls: &Stalls) -> Duration {
    let spans = [stalls.no_output, stalls.no_marker, Some(stalls.idle)];
    let shortest = spans.into_iter().flatten().min().unwrap_or(stalls.idle);
    (shortest / 4).clamp(Duration::from_millis(50), Duration::from_secs(15))
}

impl Size {
    fn of(folder: &Path) -> Self {
        let mut size = Self::default();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            let Ok(entries) = fs_err::read_dir(folder) else { continue };
            for entry in entries.flatten() {
                let Ok(metadata) = entry.metadata() else { continue };
                size.files += 1;
                size.bytes += metadata.len();
                size.newest = size.newest.max(metadata.modified().ok());
                if size.files >= MOST_FILES {
                    return size;
                }
                if metadata.is_dir() {
                    folders.push(entry.path());
                }
            }
        }
        size
    }
}
