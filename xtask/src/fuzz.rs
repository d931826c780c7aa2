//! Coverage-guided fuzzing with libFuzzer on the stable compiler. The instrumentation that `cargo fuzz` would
//! pass is passed here, so that nothing has to be installed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use crate::process::{self, called_by_hand, cargo_command};
use crate::root;
use crate::steps::Done;

/// What libFuzzer needs to see which code an input reached.
const INSTRUMENTATION: &str = "--cfg fuzzing -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Cdebug-assertions";

/// Builds every target, and lets each run.
pub(crate) fn all(seconds: u32) -> Result<Done, String> {
    build()?;
    run_all(seconds)
}

/// Lets each target run for so many seconds, one on each processor, beginning with the kept corpus.
pub(crate) fn run_all(seconds: u32) -> Result<Done, String> {
    let folder = root().join("fuzz");
    let targets = Mutex::new(targets(&folder)?.into_iter());
    let next = || targets.lock().ok()?.next();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let work = || std::iter::from_fn(next).try_for_each(|target| run(&folder, &target, seconds));
        let workers: Vec<_> = (0..processors).map(|_| scope.spawn(work)).collect();
        let ends =
            workers.into_iter().map(|worker| worker.join().unwrap_or_else(|_| Err("panicked".to_owned())));
        ends.collect::<Result<(), String>>()
    })?;
    Ok(Done::Passed)
}

/// Builds every target, in the time that others leave.
pub(crate) fn build() -> Result<(), String> {
    let folder = root().join("fuzz");
    let mut build = called_by_hand("nice");
    build.arg(cargo_command().get_program()).current_dir(&folder).env("RUSTFLAGS", INSTRUMENTATION);
    // An explicit target keeps the instrumentation away from build scripts and procedural macros.
    build
        .args(["build", "--release", "--quiet", "--target", TARGET, "--target-dir"])
        .arg(folder.join("target"));
    process::run(&mut build).map(|_| ())
}

const TARGET: &str = env!("XTASK_HOST");

fn targets(folder: &Path) -> Result<Vec<String>, String> {
    let mut targets = Vec::new();
    for entry in fs_err::read_dir(folder.join("targets")).map_err(|error| error.to_string())? {
        let name = entry.map_err(|error| error.to_string())?.file_name();
        targets.extend(name.to_str().and_then(|name| name.strip_suffix(".rs")).map(str::to_owned));
    }
    targets.sort();
    Ok(targets)
}

fn run(folder: &Path, target: &str, seconds: u32) -> Result<(), String> {
    // New inputs go to a folder of this run; the kept corpus grows only on purpose.
    let found = tempfile::tempdir().map_err(|error| error.to_string())?;
    let artifacts = folder.join("artifacts").join(target);
    fs_err::create_dir_all(&artifacts).map_err(|error| error.to_string())?;
    let program: PathBuf = folder.join("target").join(TARGET).join("release").join(target);
    let mut fuzz = Command::new(program);
    fuzz.arg(found.path()).arg(folder.join("corpus").join(target));
    fuzz.arg(format!("-max_total_time={seconds}"));
    fuzz.arg(format!("-artifact_prefix={}/", artifacts.display()));
    fuzz.args([
        // Nothing that is read takes seconds, however it is made.
        "-timeout=5",
        "-rss_limit_mb=1024",
        "-max_len=65536",
        "-seed=1",
        "-print_final_stats=1",
        "-verbosity=0",
    ]);
    let output = fuzz.output().map_err(|error| format!("{target}: {error}"))?;
    let told = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let tail: Vec<&str> = told.lines().rev().take(15).collect();
        let tail: Vec<&str> = tail.into_iter().rev().collect();
        return Err(format!(
            "{target} found a failing input, kept in `{}`:\n{}",
            artifacts.display(),
            tail.join("\n")
        ));
    }
    let runs = told.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    println!("{target}: {} inputs in {seconds} s, none failed", runs.unwrap_or("?").trim());
    Ok(())
}
