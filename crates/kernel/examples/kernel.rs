//! What `cargo xtask bench kernel` measures, each as a process of its own:
//!
//! - `kernel round-trip PYTHON ROUNDS`: the nanoseconds of each round trip of an empty cell, one a line
//! - `kernel capture PYTHON MEGABYTES`: a cell that prints so much, in lines, and one that prints it at once; then our own
//!   peak memory in kilobytes

#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark, not the product"
)]

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use kernel::{CellEnding, ExecutedCell, Kernel, Launch, Spool};
use supervise::{Controls, Isolation, Limits};

/// Round trips before those that are measured.
const WARM_UP: usize = 20;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["round-trip", python, rounds] => round_trip(python, rounds.parse().unwrap()),
        ["capture", python, megabytes] => capture(python, megabytes.parse().unwrap()),
        _ => panic!("see the top of the file"),
    }
}

fn round_trip(python: &str, rounds: usize) {
    let folder = tempfile::tempdir().unwrap();
    let mut kernel = start(python, folder.path());
    for round in 0..rounds + WARM_UP {
        let began = Instant::now();
        execute(&mut kernel, folder.path(), "pass");
        if round >= WARM_UP {
            println!("{}", began.elapsed().as_nanos());
        }
    }
    kernel.shut_down();
}

fn capture(python: &str, megabytes: u64) {
    let folder = tempfile::tempdir().unwrap();
    let mut kernel = start(python, folder.path());
    let in_lines = format!("for _ in range({megabytes} * 10_000): print('x' * 99)");
    let at_once = format!("print('x' * ({megabytes} * 1_000_000 - 1))");
    for code in [in_lines, at_once] {
        let log = folder.path().join("output.log");
        let _ = std::fs::remove_file(&log);
        let executed = execute(&mut kernel, folder.path(), &code);
        assert_eq!(executed.text, megabytes * 1_000_000);
        assert_eq!(log.metadata().unwrap().len(), executed.text);
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    println!("{}", peak.trim().trim_end_matches(" kB"));
    kernel.shut_down();
}

fn start(python: &str, project: &Path) -> Kernel {
    let words = ["-m", "ipykernel_launcher", "-f", "{connection_file}"].map(OsString::from);
    let launch = Launch {
        argv: std::iter::once(OsString::from(python)).chain(words).collect(),
        environment: vec![("PATH".into(), "/usr/bin:/bin".into()), ("HOME".into(), project.into())],
        directory: project.to_owned(),
        scratch: std::env::temp_dir(),
        log: project.join("kernel.log"),
        record: project.join("kernel.json"),
        isolation: Isolation::Best,
        patience: Duration::from_secs(120),
    };
    Kernel::start(&launch, &Controls::new().unwrap()).unwrap()
}

fn execute(kernel: &mut Kernel, project: &Path, code: &str) -> ExecutedCell {
    let spool = Spool::new(&project.join("output.log"), "output.log");
    let controls = Controls::new().unwrap();
    let executed = kernel.execute(code, &spool, &Limits::default(), &controls, &mut |_| {}).unwrap();
    assert_eq!(executed.ending, CellEnding::Finished, "{:?}", executed.outputs);
    executed
}
