//! Measures one reading in a process of its own: `measure read FILE` prints the nanoseconds that the reading
//! took and the peak memory in kilobytes; `measure turn FILE` compares ways to go through a large turn.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark, not the product"
)]

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use transcript::Options;

/// So many bytes are read in all rounds together, if that takes more than a few.
const ENOUGH: usize = 60 << 20;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (what, path) = (arguments.next().unwrap(), arguments.next().unwrap());
    match what.as_str() {
        "read" => read(Path::new(&path)),
        _ => turn(Path::new(&path)),
    }
}

fn read(path: &Path) {
    let began = Instant::now();
    let reading = transcript::read(path, &Options::default());
    let took = began.elapsed().as_nanos();
    assert!(reading.turn.is_some() && !reading.calls.is_empty(), "{:?}", reading.coverage);
    println!("{took} {}", peak_kilobytes());
}

/// The best of several rounds, taken in turns: ours, a plain parse of every line, and a search for newlines.
fn turn(path: &Path) {
    let bytes = std::fs::read(path).unwrap();
    let (mut ours, mut values, mut newlines) = (u128::MAX, u128::MAX, u128::MAX);
    let mut calls = 0;
    for _ in 0..(ENOUGH / bytes.len()).clamp(5, 160) {
        let began = Instant::now();
        let reading = transcript::read(path, &Options::default());
        ours = ours.min(began.elapsed().as_nanos());
        assert!(reading.turn.is_some());
        calls = reading.calls.len();

        let began = Instant::now();
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            black_box(serde_json::from_slice::<serde_json::Value>(line).unwrap());
        }
        values = values.min(began.elapsed().as_nanos());

        let began = Instant::now();
        black_box(memchr::memchr_iter(b'\n', &bytes).count());
        newlines = newlines.min(began.elapsed().as_nanos());
    }
    println!("{ours} {values} {newlines} {calls}");
}

fn peak_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
