//! Where the time of a hook goes, part by part, for the log.

use std::fmt::Write as _;
use std::time::Instant;

#[derive(Clone, Debug)]
pub struct Stopwatch {
    began: Instant,
    last: Instant,
    parts: Vec<(&'static str, u128)>,
}

impl Stopwatch {
    pub fn start() -> Self {
        let now = Instant::now();
        Self { began: now, last: now, parts: Vec::new() }
    }

    /// What was done since the last lap.
    pub fn lap(&mut self, part: &'static str) {
        let now = Instant::now();
        self.parts.push((part, now.duration_since(self.last).as_micros()));
        self.last = now;
    }

    /// `policy 0.1 transcript 0.9 … = 5.2 ms`
    pub fn report(&self) -> String {
        let mut text = String::new();
        for (part, micros) in &self.parts {
            let _ = write!(text, "{part} {:.2} ", *micros as f64 / 1000.0);
        }
        let _ = write!(text, "= {:.2} ms", self.began.elapsed().as_micros() as f64 / 1000.0);
        text
    }
}
