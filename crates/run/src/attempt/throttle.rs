//! How many of a stage's markers go into the record.

use std::time::{Duration, Instant};

/// So many markers of an attempt go into the record; all of them are in its output.
const MARKERS: u32 = 10_000;
const MARKERS_A_SECOND: u32 = 20;

/// Lets so many markers a second into the record, and so many in all.
pub(super) struct Throttle {
    second: Instant,
    in_second: u32,
    in_all: u32,
    pub(super) left_out: u64,
}

impl Throttle {
    pub(super) fn new() -> Self {
        Self { second: Instant::now(), in_second: 0, in_all: 0, left_out: 0 }
    }

    pub(super) fn lets_through(&mut self) -> bool {
        if self.second.elapsed() >= Duration::from_secs(1) {
            self.second = Instant::now();
            self.in_second = 0;
        }
        if self.in_second >= MARKERS_A_SECOND || self.in_all >= MARKERS {
            self.left_out += 1;
            return false;
        }
        self.in_second += 1;
        self.in_all += 1;
        true
    }
}
