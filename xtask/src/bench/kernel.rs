//! Python stages: the round trip of an empty cell against `jupyter_client`, the memory that a large output takes, and a
//! resume against loading the files alone. Everything is a process of its own, taken in turns.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use super::hook::measure;
use super::row::Row;
use super::{milliseconds, percentile};
use crate::process::{self, cargo_command};
use crate::{python, release, root};

/// Kernels of each kind, and measured round trips in each.
const KERNELS: usize = 5;
const MEGABYTES: u64 = 100;
const FILES: usize = 8;

pub(crate) fn run(rounds: usize, gigabytes: f64) -> Result<Vec<Row>, String> {
    println!("building…");
    let folder = root().join("target/bench/kernel");
    fs_err::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let build =
        ["build", "--profile", "dist", "--quiet", "-p", "kernel", "--example", "kernel", "--target-dir"];
    process::run(cargo_command().args(build).arg(root().join("target/bench/build")))?;
    let bench = KernelBench {
        program: root().join("target/bench/build/dist/examples/kernel"),
        python: python::install()?,
        folder,
    };
    let cell = bench.round_trips(rounds)?;
    bench.capture()?;
    Ok(vec![cell, bench.resume(gigabytes)?])
}

struct KernelBench {
    program: PathBuf,
    python: PathBuf,
    folder: PathBuf,
}

impl KernelBench {
    fn ours(&self, what: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(what).arg(&self.python);
        command
    }

    fn script(&self, text: &str) -> Command {
        let mut command = Command::new(&self.python);
        command.args(["-c", text]).current_dir(&self.folder);
        command
    }

    fn round_trips(&self, rounds: usize) -> Result<Row, String> {
        let (mut ours, mut tcp, mut ipc) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..KERNELS {
            ours.append(&mut times(self.ours("round-trip").arg(rounds.to_string()))?);
            for (transport, into) in [("tcp", &mut tcp), ("ipc", &mut ipc)] {
                into.append(&mut times(self.script(JUPYTER_CLIENT).args([&rounds.to_string(), transport]))?);
            }
        }
        println!(
            "\n| round trip of an empty cell | p10 | p50 | p95 | ÷ `jupyter_client` (p50) |\n|---|---|---|---|---|"
        );
        let row = |name: &str, times: &[Duration]| {
            let at = |percent| milliseconds(percentile(times, percent));
            let ratio = at(50) / milliseconds(percentile(&tcp, 50));
            println!("| {name} | {:.2} ms | {:.2} ms | {:.2} ms | {ratio:.2} × |", at(10), at(50), at(95));
        };
        row("`jupyter_client`, as it is by default (TCP)", &tcp);
        row("`jupyter_client` over Unix sockets", &ipc);
        row("checkstone", &ours);
        println!("\nLimit: 1.5 × `jupyter_client`.");
        let (ours, theirs) = (percentile(&ours, 50), percentile(&tcp, 50));
        Ok(Row::times("an empty Python cell".to_owned(), ours, "`jupyter_client`", theirs, 1.5))
    }

    fn capture(&self) -> Result<(), String> {
        println!("\n| output of a cell, in lines and then at once | our peak memory |\n|---|---|");
        for megabytes in [1, MEGABYTES] {
            let told = process::output(self.ours("capture").arg(megabytes.to_string()))?;
            let kilobytes: u64 =
                told.trim().parse().map_err(|_| format!("`kernel capture` printed `{told}`"))?;
            println!("| {megabytes} MB | {:.1} MB |", kilobytes as f64 / 1e3);
        }
        Ok(())
    }

    /// The whole command: it starts a kernel, loads the files, and goes on with a stage that fails, so that the run can be
    /// resumed again.
    fn resume(&self, gigabytes: f64) -> Result<Row, String> {
        let project = self.folder.join("project");
        let _ = fs_err::remove_dir_all(&project);
        fs_err::create_dir_all(&project).map_err(|error| error.to_string())?;
        // A repository of its own: runs lie at the root of one.
        process::output(Command::new("git").args(["init", "--quiet"]).current_dir(&project))?;
        let checkstone = release::build()?;
        let ours = |arguments: &[&str]| {
            let mut command = Command::new(&checkstone);
            command.args(arguments).current_dir(&project).env("XDG_STATE_HOME", project.join("state"));
            command
        };
        fs_err::write(project.join("plan.toml"), plan(&self.python, gigabytes))
            .map_err(|error| error.to_string())?;
        // In this kernel nothing has been loaded yet.
        until_failed(&mut ours(&["run", "plan.toml", "--id", "r1"]), "KeyError")?;
        let stage = project.join("reports/bench/r1/S01_make_files");
        let bytes = size(&stage)?;
        let (mut alone, mut with_kernel, mut resumed, mut whole) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..21 {
            alone.push(measure(self.script(LOAD_FILES).arg(&stage))?.time);
            with_kernel.push(measure(self.script(&format!("{IMPORT_KERNEL}{LOAD_FILES}")).arg(&stage))?.time);
            let began = SystemTime::now();
            whole.push(until_failed(&mut ours(&["resume", "r1", "--yes"]), "RuntimeError")?);
            resumed.push(going_on(&project.join("began"))?.duration_since(began).unwrap_or_default());
        }
        println!(
            "\n| {:.2} GB of parquet | p10 | p50 | ÷ alone (p10) |\n|---|---|---|---|",
            bytes as f64 / 1e9
        );
        let row = |name: &str, times: &[Duration]| {
            let at = |times: &[Duration], percent| percentile(times, percent).as_secs_f64();
            let ratio = at(times, 10) / at(&alone, 10);
            println!("| {name} | {:.2} s | {:.2} s | {ratio:.2} × |", at(times, 10), at(times, 50));
        };
        row("`pandas.read_parquet` alone, with the start of Python", &alone);
        row("the same in a Python that has imported `ipykernel`, as every kernel has", &with_kernel);
        row("`checkstone resume`, until the next stage has all of it and begins", &resumed);
        row("the whole command: the stage fails, is checkpointed, and the kernel is shut down", &whole);
        println!("\nLimit: 1.2 ×.");
        fs_err::remove_dir_all(&project).map_err(|error| error.to_string())?;
        let (ours, theirs) = (percentile(&resumed, 10), percentile(&alone, 10));
        Ok(Row::times("a resume of Python stages".to_owned(), ours, "`pandas.read_parquet`", theirs, 1.2))
    }
}

/// How long it takes until a stage has failed, as it should.
fn until_failed(command: &mut Command, error: &str) -> Result<Duration, String> {
    let began = Instant::now();
    let output = command.output().map_err(|error| error.to_string())?;
    let time = began.elapsed();
    let told = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(1) && told.contains(&format!("S02_use_files  failed: {error}")) {
        Ok(time)
    } else {
        Err(format!("{command:?} ended with {}: {told}", output.status))
    }
}

/// The instant that the stage wrote down first.
fn going_on(path: &Path) -> Result<SystemTime, String> {
    let text = fs_err::read_to_string(path).map_err(|error| error.to_string())?;
    let nanoseconds = text.parse().map_err(|_| format!("`{}` has no time", path.display()))?;
    Ok(SystemTime::UNIX_EPOCH + Duration::from_nanos(nanoseconds))
}

/// One stage makes the files, and the next looks at what was loaded of them.
fn plan(python: &Path, gigabytes: f64) -> String {
    let rows = gigabytes * 1e9 / FILES as f64 / 80.0;
    let outputs: Vec<String> =
        (0..FILES).map(|number| format!("part{number} = \"part{number}.parquet\"")).collect();
    format!(
        r#"title = "bench"

[python]
interpreter = {python:?}

[[stage]]
stageId = "S01_make_files"
kind = "python"
goal = "Make files of random numbers"
outputs = {{ {outputs} }}
command = """
import os
import numpy as np, pandas as pd
for number in range({FILES}):
    path = os.path.join(os.environ["CHECKSTONE_ARTIFACT_DIR"], f"part{{number}}.parquet")
    pd.DataFrame(np.random.rand({rows:.0}, 10), columns=list("abcdefghij")).to_parquet(path)
"""

[[stage]]
stageId = "S02_use_files"
kind = "python"
goal = "See that all files are there, and fail"
dependencies = ["S01_make_files"]
command = """
import time
with open("began", "w") as file:
    file.write(str(time.time_ns()))
rows = sum(len(globals()[f"part{{number}}"]) for number in range({FILES}))
raise RuntimeError(rows)
"""
"#,
        outputs = outputs.join(", ")
    )
}

fn times(command: &mut Command) -> Result<Vec<Duration>, String> {
    let told = process::output(command)?;
    Ok(told.lines().filter_map(|line| line.parse().ok()).map(Duration::from_nanos).collect())
}

fn size(folder: &Path) -> Result<u64, String> {
    let failed = |error: std::io::Error| error.to_string();
    let mut bytes = 0;
    for entry in fs_err::read_dir(folder).map_err(failed)? {
        bytes += entry.and_then(|entry| entry.metadata()).map_err(failed)?.len();
    }
    Ok(bytes)
}

/// What `execute` and waiting for the answer and the kernel's idleness take in Python.
const JUPYTER_CLIENT: &str = r#"
import sys, time, warnings
warnings.simplefilter("ignore")
from jupyter_client.manager import KernelManager
manager = KernelManager(transport=sys.argv[2])
manager.start_kernel()
client = manager.client()
client.start_channels()
client.wait_for_ready()
for round in range(int(sys.argv[1]) + 20):
    began = time.perf_counter_ns()
    id = client.execute("pass")
    while client.get_shell_msg()["parent_header"].get("msg_id") != id:
        pass
    while True:
        message = client.get_iopub_msg()
        if message["parent_header"].get("msg_id") == id and message["content"].get("execution_state") == "idle":
            break
    if round >= 20:
        print(time.perf_counter_ns() - began)
client.stop_channels()
manager.shutdown_kernel(now=True)
"#;

const IMPORT_KERNEL: &str = "import ipykernel.kernelapp";

const LOAD_FILES: &str = r#"
import pathlib, sys
import pandas as pd
loaded = [pd.read_parquet(path) for path in sorted(pathlib.Path(sys.argv[1]).iterdir())]
"#;
