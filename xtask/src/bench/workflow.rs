//! Workflow commands as whole processes: a phase update, flushed to the disk, against `git rev-parse HEAD` alone; and
//! lists over a small and a large archive. Measured in turns.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::hook::{bare_git, measure, repository};
use super::row::Row;
use super::{milliseconds, percentile};
use crate::process;
use crate::release;
use crate::root;

const ARCHIVED: usize = 10_000;

pub(crate) fn run(rounds: usize) -> Result<Vec<Row>, String> {
    println!("building…");
    let program = release::build()?;
    let folder = root().join("target/bench");
    fs_err::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let repository = repository(&folder, 1_000)?;
    let bench = WorkflowBench { program, folder };
    let row = bench.phase(&repository, rounds)?;
    bench.list(rounds)?;
    Ok(vec![row])
}

struct WorkflowBench {
    program: PathBuf,
    folder: PathBuf,
}

impl WorkflowBench {
    fn workflow(&self, repository: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("workflow").args(arguments).current_dir(repository);
        command.env("CHECKSTONE_STATE_DIR", self.folder.join("workflow-state"));
        command
    }

    fn phase(&self, repository: &Path, rounds: usize) -> Result<Row, String> {
        let state = repository.join(".claude");
        let _ = fs_err::remove_dir_all(&state);
        let (mut git, mut update, mut point) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..rounds {
            let summary = format!("Round {round}: {}", "what this came to ".repeat(20));
            let arguments =
                ["phase", "implement", "implementation", "--status", "in_progress", "--summary", &summary];
            git.push(measure(bare_git().args(["rev-parse", "HEAD"]).current_dir(repository))?.time);
            update.push(measure(&mut self.workflow(repository, &arguments))?.time);
            point.push(measure(&mut self.workflow(repository, &["resume-point", "implement"]))?.time);
        }
        let _ = fs_err::remove_dir_all(&state);
        println!("\n| command | p10 | p50 | p95 | ÷ `git rev-parse HEAD` (p10) |\n|---|---|---|---|---|");
        row("git rev-parse HEAD", &git, &git);
        row("workflow phase …", &update, &git);
        row("workflow resume-point …", &point, &git);
        println!("\nLimit: `workflow phase` 3 ×.");
        let (ours, theirs) = (percentile(&update, 10), percentile(&git, 10));
        Ok(Row::times("workflow phase".to_owned(), ours, "`git rev-parse HEAD`", theirs, 3.0))
    }

    fn list(&self, rounds: usize) -> Result<(), String> {
        let (small, large) = (self.archive(10)?, self.archive(ARCHIVED)?);
        let (mut few, mut many) = (Vec::new(), Vec::new());
        for _ in 0..rounds.div_ceil(4) {
            few.push(measure(&mut self.workflow(&small, &["list", "--archived", "--json"]))?.time);
            many.push(measure(&mut self.workflow(&large, &["list", "--archived", "--json"]))?.time);
        }
        println!("\n| archived | p10 | p50 | p95 | ÷ 10 archived (p10) |\n|---|---|---|---|---|");
        row("10", &few, &few);
        row("10,000", &many, &few);
        let trace = self.folder.join("list.trace");
        let mut traced = Command::new("strace");
        traced.args(["-f", "-qq", "-e", "trace=openat,open", "-o"]).arg(&trace).arg(&self.program);
        traced.args(["workflow", "list", "--archived", "--json"]).current_dir(&large);
        if measure(&mut traced).is_ok() {
            let opened = fs_err::read_to_string(&trace).map_err(|error| error.to_string())?;
            println!("\nFiles opened with 10,000 archived: {}", opened.lines().count());
        }
        Ok(())
    }

    /// A repository with so many archived workflows: one real one, and copies of it under other ids.
    fn archive(&self, number: usize) -> Result<PathBuf, String> {
        let failed = |error: std::io::Error| error.to_string();
        let repository = self.folder.join(format!("archived-{number}"));
        let archive = repository.join(".claude/state/.checkstone/archive");
        if archive.join("done").exists() {
            return Ok(repository);
        }
        let _ = fs_err::remove_dir_all(&repository);
        fs_err::create_dir_all(&repository).map_err(failed)?;
        process::run(Command::new("git").args(["init", "-q"]).current_dir(&repository))?;
        let steps: [&[&str]; 3] = [
            &[
                "phase",
                "review",
                "analysis",
                "--feature",
                "f",
                "--status",
                "complete",
                "--summary",
                "All read.",
            ],
            &["complete", "review", "--feature", "f"],
            &["archive"],
        ];
        for arguments in steps {
            measure(&mut self.workflow(&repository, arguments))?;
        }
        let index = archive.join("index.jsonl");
        let line = fs_err::read_to_string(&index).map_err(failed)?;
        let id = line.split('"').nth(3).ok_or("the index has no id")?.to_owned();
        let content = fs_err::read(archive.join(format!("{id}.json.lz4"))).map_err(failed)?;
        let mut lines = line.clone();
        for copy in 1..number {
            let other = format!("{id}{copy}");
            lines.push_str(&line.replacen(&id, &other, 1));
            fs_err::write(archive.join(format!("{other}.json.lz4")), &content).map_err(failed)?;
        }
        fs_err::write(&index, lines).map_err(failed)?;
        fs_err::write(archive.join("done"), "").map_err(failed)?;
        Ok(repository)
    }
}

fn row(name: &str, times: &[Duration], against: &[Duration]) {
    println!(
        "| {name} | {:.2} ms | {:.2} ms | {:.2} ms | {:.2} × |",
        milliseconds(percentile(times, 10)),
        milliseconds(percentile(times, 50)),
        milliseconds(percentile(times, 95)),
        percentile(times, 10).as_secs_f64() / percentile(against, 10).as_secs_f64(),
    );
}
