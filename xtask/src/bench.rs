//! Benchmarks. Machines are shared and noisy, so every figure is a ratio of things measured in the same run,
//! taken in turns.

pub(crate) mod clients;
pub(crate) mod hook;
pub(crate) mod records;
pub(crate) mod transcript;

use std::time::Duration;

/// The time that so many percent of the measurements stay below.
pub(crate) fn percentile(times: &[Duration], percent: usize) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() * percent / 100).copied().unwrap_or_default()
}

pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
