//! How many markers of an attempt go into the record. All of them are in its output.

use std::time::{Duration, Instant};

use supervise::marker::Marker;
use text::counted;

/// So many that say what came out, and as many that say how it goes.
const MOST: usize = 10_000;
/// Nobody can follow more of those that say how it goes.
const PROGRESS_A_SECOND: usize = 20;

pub(crate) struct MarkerLimit {
    second: Instant,
    in_second: usize,
    progress: MarkerCount,
    results: MarkerCount,
}

#[derive(Default)]
struct MarkerCount {
    recorded: usize,
    left_out: usize,
}

impl MarkerCount {
    fn lets_through(&mut self, is_wanted: bool) -> bool {
        let is_recorded = is_wanted && self.recorded < MOST;
        *(if is_recorded { &mut self.recorded } else { &mut self.left_out }) += 1;
        is_recorded
    }
}

impl MarkerLimit {
    pub(crate) fn new() -> Self {
        Self {
            second: Instant::now(),
            in_second: 0,
            progress: MarkerCount::default(),
            results: MarkerCount::default(),
        }
    }

    /// Metrics, findings, checkpoints and the like come as fast as they are made: one that is left out is missing in the report.
    pub(crate) fn lets_through(&mut self, marker: &Marker) -> bool {
        let is_result =
            marker.is_checkpoint() || marker.category().is_some_and(|category| category != "workflow");
        if is_result {
            return self.results.lets_through(true);
        }
        if self.second.elapsed() >= Duration::from_secs(1) {
            self.second = Instant::now();
            self.in_second = 0;
        }
        self.in_second += 1;
        self.progress.lets_through(self.in_second <= PROGRESS_A_SECOND)
    }

    /// A sentence for each kind of which something is missing in the record.
    pub(crate) fn left_out(&self) -> Vec<String> {
        let mut told = Vec::new();
        if self.progress.left_out > 0 {
            told.push(format!(
                "{} about its progress are only in its output: at most {PROGRESS_A_SECOND} a second are recorded, and {MOST} per attempt",
                counted(self.progress.left_out, "marker")
            ));
        }
        if self.results.left_out > 0 {
            told.push(format!(
                "{} are only in its output, and missing in the report: at most {MOST} per attempt are recorded; \
                 write figures into `metrics.json`",
                counted(self.results.left_out, "marker")
            ));
        }
        told
    }
}
