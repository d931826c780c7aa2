//! One line of the table of all benchmarks: what was found, beside what, and whether it is within its limit.

use std::fmt;
use std::time::Duration;

use super::milliseconds;

pub(crate) struct Row {
    name: String,
    ours: String,
    /// What it is measured against in the same run; empty where it is a limit alone.
    peer: String,
    found: f64,
    /// None where it is only told.
    limit: Option<f64>,
    unit: &'static str,
}

impl Row {
    /// Our time, and at most so many times that of the peer.
    pub(crate) fn times(name: String, ours: Duration, peer: &str, theirs: Duration, limit: f64) -> Self {
        Self { limit: Some(limit), ..Self::told(name, ours, peer, theirs) }
    }

    /// The same without a limit.
    pub(crate) fn told(name: String, ours: Duration, peer: &str, theirs: Duration) -> Self {
        let found = ours.as_secs_f64() / theirs.as_secs_f64();
        let peer = format!("{peer} {:.2} ms", milliseconds(theirs));
        Self { name, ours: format!("{:.2} ms", milliseconds(ours)), peer, found, limit: None, unit: "×" }
    }

    /// A figure that has a limit of its own.
    pub(crate) fn at_most(name: String, found: f64, limit: f64, unit: &'static str) -> Self {
        let ours = format!("{found:.1} {unit}").trim_end().to_owned();
        Self { name, ours, peer: String::new(), found, limit: Some(limit), unit }
    }

    /// What others came to in the same run.
    pub(crate) fn beside(self, others: impl Iterator<Item = String>) -> Self {
        Self { peer: others.collect::<Vec<_>>().join(", "), ..self }
    }

    pub(crate) fn is_missed(&self) -> bool {
        self.limit.is_some_and(|limit| self.found > limit)
    }
}

/// name, ours, peer, ratio, limit, ok or missed.
impl fmt::Display for Row {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ratio = if self.unit == "×" { format!("{:.2} ×", self.found) } else { String::new() };
        let limit = self.limit.map(|limit| format!("{limit:.2} {}", self.unit)).unwrap_or_default();
        let judged = match self.limit {
            None => "",
            Some(_) if self.is_missed() => "missed",
            Some(_) => "ok",
        };
        let (name, ours, peer) = (&self.name, &self.ours, &self.peer);
        write!(formatter, "| {name} | {ours} | {peer} | {ratio} | {} | {judged} |", limit.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_whether_the_limit_was_kept() {
        let row = |limit| {
            let (ours, theirs) = (Duration::from_millis(3), Duration::from_millis(2));
            Row::times("hook".to_owned(), ours, "git", theirs, limit)
        };
        assert_eq!(row(1.6).to_string(), "| hook | 3.00 ms | git 2.00 ms | 1.50 × | 1.60 × | ok |");
        assert!(row(1.4).is_missed());
        let memory = Row::at_most("memory".to_owned(), 16.0, 20.0, "MB");
        assert_eq!(memory.to_string(), "| memory | 16.0 MB |  |  | 20.00 MB | ok |");
    }
}
