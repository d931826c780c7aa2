//! Benchmarks. Machines are shared and noisy, so every figure is a ratio of things measured in the same run,
//! taken in turns.

pub(crate) mod all;
pub(crate) mod checkpoint;
pub(crate) mod clients;
pub(crate) mod cluster;
pub(crate) mod hook;
mod host_sample;
pub(crate) mod kernel;
pub(crate) mod ledger;
mod peers;
pub(crate) mod pipelines;
pub(crate) mod records;
pub(crate) mod replay;
mod row;
pub(crate) mod run;
pub(crate) mod saves;
pub(crate) mod serve;
pub(crate) mod snapshot;
pub(crate) mod stores;
pub(crate) mod team;
pub(crate) mod transcript;
pub(crate) mod unchanged;
pub(crate) mod versions;
pub(crate) mod workflow;

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

/// The stop in the middle of all that a log tells of: its milliseconds, and the parts that they were spent on.
pub(crate) fn median_stop(log: &str) -> Option<(f64, &str)> {
    let total = |parts: &str| parts.rsplit_once("= ")?.1.trim_end_matches(" ms").parse::<f64>().ok();
    let stops = log.lines().filter_map(|line| line.rsplit_once('[')?.1.strip_suffix(']'));
    let mut stops: Vec<(f64, &str)> = stops.filter_map(|parts| Some((total(parts)?, parts))).collect();
    stops.sort_by(|one, other| one.0.total_cmp(&other.0));
    stops.get(stops.len() / 2).copied()
}
