//! Runs on a Slurm of two nodes on this machine: from a submission to its first instruction beside a bare `sbatch`, how soon the
//! end of a stage is known, and how often Slurm is called for a fan-out of 500.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::row::Row;
use crate::{cluster, process, release};

const STAGES: usize = 15;
const INSTANCES: usize = 500;

/// `program` is ours; built as it is handed out if none is given.
pub(crate) fn run(program: Option<PathBuf>) -> Result<Vec<Row>, String> {
    let program = match program {
        Some(program) => program,
        None => release::build()?,
    };
    let conf = cluster::slurm_up()?;
    let measured = measure(&program, &conf);
    let stopped = cluster::slurm_down();
    let rows = measured?;
    stopped?;
    println!("\n| what | ours | beside | ratio | limit | |\n|---|---|---|---|---|---|");
    rows.iter().for_each(|row| println!("{row}"));
    Ok(rows)
}

fn measure(program: &Path, conf: &str) -> Result<Vec<Row>, String> {
    let folder = tempfile::tempdir().map_err(told)?;
    let project = BenchedProject {
        folder: folder.path().to_owned(),
        program: program.to_owned(),
        conf: conf.to_owned(),
    };
    let (ours, known) = project.stages()?;
    let bare = project.bare()?;
    let calls = project.fan_out()?;
    let limit = Duration::from_secs(1).as_secs_f64() * 1000.0;
    Ok(vec![
        Row::times(
            "submission to first instruction".to_owned(),
            median(&ours),
            "`sbatch`",
            median(&bare),
            1.2,
        ),
        Row::at_most(
            "end of a stage to its publication, the longest".to_owned(),
            longest(&known).as_secs_f64() * 1000.0,
            limit,
            "ms",
        ),
        Row::at_most(format!("calls to Slurm in one second, {INSTANCES} instances"), calls as f64, 5.0, ""),
    ])
}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn longest(times: &[Duration]) -> Duration {
    times.iter().max().copied().unwrap_or_default()
}

struct BenchedProject {
    folder: PathBuf,
    program: PathBuf,
    conf: String,
}

impl BenchedProject {
    fn command(&self, program: &Path, path: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.folder).env("SLURM_CONF", &self.conf).env("PATH", path);
        command.env("HOME", &self.folder).env("XDG_STATE_HOME", self.folder.join("state"));
        command
    }

    fn plan(&self, stages: &str) -> Result<(), String> {
        fs_err::write(self.folder.join("plan.toml"), format!("title = \"bench\"\n{stages}")).map_err(told)
    }

    fn events(&self, run: &str) -> Result<Vec<Value>, String> {
        let path = self.folder.join(format!("reports/bench/checkpoints/{run}/events.jsonl"));
        let text = fs_err::read_to_string(path).map_err(told)?;
        text.lines().map(|line| serde_json::from_str(line).map_err(told)).collect()
    }

    /// One after the other: from the record of each to its first instruction, and from its last one to its acceptance.
    fn stages(&self) -> Result<(Vec<Duration>, Vec<Duration>), String> {
        let stages: String = (1..=STAGES)
            .map(|number| {
                let after = if number > 1 { format!("dependencies = [\"S{:02}_do_work\"]\n", number - 1) } else { String::new() };
                format!(
                    "[[stage]]\nstageId = \"S{number:02}_do_work\"\ngoal = \"Say when it began\"\n{after}command = 'date +%s%N > $CHECKSTONE_ARTIFACT_DIR/at'\n"
                )
            })
            .collect();
        self.plan(&stages)?;
        let path = path();
        process::output(self.command(&self.program, &path).args([
            "run",
            "plan.toml",
            "--id",
            "stages",
            "--on",
            "slurm",
        ]))?;
        let events = self.events("stages")?;
        let (mut begins, mut ends) = (Vec::new(), Vec::new());
        for number in 1..=STAGES {
            let id = format!("S{number:02}_do_work");
            let at = fs_err::read_to_string(self.folder.join(format!("reports/bench/stages/{id}/at")))
                .map_err(told)?;
            let at = Duration::from_nanos(at.trim().parse().map_err(told)?);
            let time_of = |to: &str| {
                let event = events.iter().find(|event| event["stageId"] == *id && event["to"] == to)?;
                let time: jiff::Timestamp = event["at"].as_str()?.parse().ok()?;
                Some(Duration::from_millis(u64::try_from(time.as_millisecond()).ok()?))
            };
            begins.extend(time_of("RUNNING").map(|begun| at.saturating_sub(begun)));
            ends.extend(time_of("COMPLETED").map(|ended| ended.saturating_sub(at)));
        }
        Ok((begins, ends))
    }

    /// The same by `sbatch` alone.
    fn bare(&self) -> Result<Vec<Duration>, String> {
        let path = path();
        let mut times = Vec::new();
        for number in 0..STAGES {
            let file = self.folder.join(format!("bare-{number}"));
            let script = format!("date +%s%N > {0}.new; mv {0}.new {0}", file.display());
            let began = now();
            process::output(self.command(Path::new("sbatch"), &path).args([
                "--output=/dev/null",
                "--wrap",
                &script,
            ]))?;
            cluster::wait_until("the job has run", || file.exists())?;
            let at = fs_err::read_to_string(&file).map_err(told)?;
            times.push(Duration::from_nanos(at.trim().parse().map_err(told)?).saturating_sub(began));
        }
        Ok(times)
    }

    /// The most calls within any second of a large fan-out, counted by programs of the same names before them on the path.
    fn fan_out(&self) -> Result<usize, String> {
        let (bin, log) = (self.folder.join("bin"), self.folder.join("calls"));
        fs_err::create_dir_all(&bin).map_err(told)?;
        for name in ["sbatch", "squeue", "scancel"] {
            let script = format!("#!/bin/sh\ndate +%s%N >> {}\nexec /usr/bin/{name} \"$@\"\n", log.display());
            fs_err::write(bin.join(name), script).map_err(told)?;
            process::run(Command::new("chmod").arg("+x").arg(bin.join(name)))?;
        }
        let all: Vec<usize> = (1..=INSTANCES).collect();
        self.plan(&format!(
            "[[stage]]\nstageId = \"S01_do_work\"\ngoal = \"Do one of many\"\nforEach = {{ part = {all:?} }}\ncommand = 'echo {{params.part}} > $CHECKSTONE_ARTIFACT_DIR/part'\n"
        ))?;
        let path = format!("{}:{}", bin.display(), path());
        process::output(self.command(&self.program, &path).args([
            "run",
            "plan.toml",
            "--id",
            "many",
            "--on",
            "slurm",
        ]))?;
        let text = fs_err::read_to_string(&log).map_err(told)?;
        let mut times: Vec<u64> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
        times.sort_unstable();
        let within =
            |first: &u64| times.iter().filter(|time| (*first..first + 1_000_000_000).contains(time)).count();
        println!("{} calls for {INSTANCES} instances", times.len());
        Ok(times.iter().map(within).max().unwrap_or(0))
    }
}

fn path() -> String {
    process::path().to_string_lossy().into_owned()
}

fn now() -> Duration {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
}
