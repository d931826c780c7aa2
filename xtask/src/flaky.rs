//! How often each test fails: the test binaries are built once and run again and again, beside four busy processes if
//! that is asked for, and what came of it is added to a file of counts.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::process::{self, cargo_command};
use crate::root;
use crate::scratch::Scratch;

/// As many as `stress -c 4` has.
const BUSY_PROCESSES: usize = 4;

/// A shell that counts, and looks now and then whether we are still there: it ends with us, however we end.
const BUSY: &str =
    "while kill -0 $PPID 2>/dev/null; do i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; done";

/// What all runs of one mode came to.
#[derive(Default, Serialize, Deserialize)]
struct Counts {
    runs: u32,
    passes: u32,
    /// By test, as `package binary test`: how often it failed.
    failures: BTreeMap<String, u32>,
}

/// By mode: `idle` or `busy`.
type Table = BTreeMap<String, Counts>;

pub(crate) fn run(times: u32, at_once: u32, busy: bool) -> Result<(), String> {
    let binaries = build()?;
    let _busy = busy.then(BusyProcesses::start).transpose()?;
    let mode = if busy { "busy" } else { "idle" };
    let begun = Mutex::new(0);
    std::thread::scope(|scope| {
        let runs: Vec<_> =
            (0..at_once).map(|_| scope.spawn(|| run_again(&binaries, times, &begun, mode))).collect();
        runs.into_iter().try_for_each(|run| run.join().unwrap_or_else(|_| Err("a run panicked".to_owned())))
    })?;
    print(&read()?);
    Ok(())
}

/// One run after another, until so many have begun.
fn run_again(binaries: &[Binary], times: u32, begun: &Mutex<u32>, mode: &str) -> Result<(), String> {
    let count = || begun.lock().map_err(|_| "another run panicked".to_owned());
    loop {
        let number = {
            let mut begun = count()?;
            *begun += 1;
            *begun
        };
        if number > times {
            return Ok(());
        }
        let began = Instant::now();
        let mut failures = Vec::new();
        for binary in binaries {
            failures.extend(binary.failures()?);
        }
        // One at a time, and after each run, so that an interrupted campaign keeps what it has.
        let _alone = count()?;
        let took = began.elapsed().as_secs_f32();
        println!("{mode} run {number} of {times}: {} failed ({took:.0} s)", failures.len());
        for failure in &failures {
            println!("  {failure}");
        }
        add(mode, failures)?;
    }
}

fn file() -> PathBuf {
    root().join("target/flaky.json")
}

fn read() -> Result<Table, String> {
    match fs_err::read(file()) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| format!("`target/flaky.json`: {error}")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Table::new()),
        Err(error) => Err(error.to_string()),
    }
}

fn add(mode: &str, failures: Vec<String>) -> Result<(), String> {
    let mut table = read()?;
    let counts = table.entry(mode.to_owned()).or_default();
    counts.runs += 1;
    counts.passes += u32::from(failures.is_empty());
    for failure in failures {
        *counts.failures.entry(failure).or_default() += 1;
    }
    let bytes = serde_json::to_vec_pretty(&table).map_err(|error| error.to_string())?;
    fs_err::write(file(), bytes).map_err(|error| error.to_string())
}

fn print(table: &Table) {
    println!("\nmode  runs  passed");
    for (mode, counts) in table {
        println!("{mode}  {:4}  {:6}", counts.runs, counts.passes);
        for (test, times) in &counts.failures {
            println!("      {times:4}  failed: {test}");
        }
    }
}

/// A binary with tests, to be run as `cargo test` does.
struct Binary {
    /// Package and target.
    name: String,
    program: PathBuf,
    /// The folder of its package.
    folder: PathBuf,
}

/// All that `cargo xtask test` runs, built but not run.
fn build() -> Result<Vec<Binary>, String> {
    let mut command = cargo_command();
    command.args(process::ALL_TESTS).args(["--no-run", "--message-format=json-render-diagnostics"]);
    let messages = process::output(command.stderr(Stdio::inherit()))?;
    let mut binaries = Vec::new();
    for message in messages.lines() {
        let message: serde_json::Value = serde_json::from_str(message).map_err(|error| error.to_string())?;
        let text = |pointer: &str| message.pointer(pointer).and_then(serde_json::Value::as_str);
        let is_test = message.pointer("/profile/test") == Some(&true.into());
        let (Some(program), Some(manifest)) = (text("/executable"), text("/manifest_path")) else { continue };
        let Some(folder) = Path::new(manifest).parent().filter(|_| is_test) else { continue };
        let package = folder.file_name().unwrap_or_default().to_string_lossy();
        binaries.push(Binary {
            name: format!("{package} {}", text("/target/name").unwrap_or_default()),
            program: program.into(),
            folder: folder.to_owned(),
        });
    }
    Ok(binaries)
}

impl Binary {
    /// The tests that failed. What the binary printed then is kept beside the counts.
    fn failures(&self) -> Result<Vec<String>, String> {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder).stdin(Stdio::null());
        process::wait_together(&mut command);
        let scratch = Scratch::new();
        scratch.given_to(&mut command);
        let output = command.output().map_err(|error| format!("`{}`: {error}", self.program.display()))?;
        if output.status.success() {
            return Ok(Vec::new());
        }
        let printed = String::from_utf8_lossy(&output.stdout);
        let log = fs_err::OpenOptions::new().create(true).append(true).open(root().join("target/flaky.log"));
        let mut log = log.map_err(|error| error.to_string())?;
        log.write_all(&[output.stdout.as_slice(), &output.stderr].concat())
            .map_err(|error| error.to_string())?;
        // The list of names is the last of its kind, after the outputs.
        let names: Vec<String> = match printed.rsplit_once("\nfailures:\n") {
            Some((_, list)) => list
                .lines()
                .take_while(|line| !line.is_empty())
                .map(|test| format!("{} {}", self.name, test.trim()))
                .collect(),
            None => Vec::new(),
        };
        // A binary that was killed lists nothing.
        if names.is_empty() { Ok(vec![format!("{}: {}", self.name, output.status)]) } else { Ok(names) }
    }
}

/// Ended with the value.
struct BusyProcesses(Vec<Child>);

impl BusyProcesses {
    fn start() -> Result<Self, String> {
        let mut busy = Self(Vec::new());
        for _ in 0..BUSY_PROCESSES {
            let child = Command::new("sh").args(["-c", BUSY]).stdin(Stdio::null()).spawn();
            busy.0.push(child.map_err(|error| format!("`sh` could not be started: {error}"))?);
        }
        Ok(busy)
    }
}

impl Drop for BusyProcesses {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
