//! Plans of many stages with one file each beside the same pipelines in Snakemake and DVC from PyPI: the first time, again with
//! nothing to do, after one input changed; and who is alive after each of them was killed, and whether it goes on then.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::row::Row;
use super::{milliseconds, percentile};
use crate::{process, python, release, root};

const SNAKEMAKE: &str = "snakemake==9.27.1";
const DVC: &str = "dvc==3.67.1";

/// Stages for those who can take many, and for all of them.
const MANY: usize = 1_000;
const FEW: usize = 100;

/// Longer than anybody takes to end what it started.
const GRACE: Duration = Duration::from_secs(2);

#[derive(Clone, Debug)]
enum Pipeline {
    Checkstone(PathBuf),
    Snakemake(PathBuf),
    Dvc(PathBuf),
}

/// `program` is ours; built as it is handed out if none is given.
pub(crate) fn run(program: Option<PathBuf>) -> Result<Vec<Row>, String> {
    let ours = match program {
        Some(program) => program,
        None => release::build()?,
    };
    let environments = root().join("target/pipelines");
    fs_err::create_dir_all(&environments).map_err(told)?;
    let installed = |name: &str, package: &str| -> Result<PathBuf, String> {
        Ok(python::environment(&environments.join(name), package)?.with_file_name(name))
    };
    let ours = Pipeline::Checkstone(ours);
    let snakemake = Pipeline::Snakemake(installed("snakemake", SNAKEMAKE)?);
    let dvc = Pipeline::Dvc(installed("dvc", DVC)?);

    println!("\n| pipeline | checkstone | Snakemake ({SNAKEMAKE}) | DVC ({DVC}) |\n|---|---|---|---|");
    let mut rows = Vec::new();
    let many = [Timed::of(&ours, MANY)?, Timed::of(&snakemake, MANY)?];
    let few = [Timed::of(&ours, FEW)?, Timed::of(&snakemake, FEW)?, Timed::of(&dvc, FEW)?];
    for (count, times) in [(MANY, many.as_slice()), (FEW, few.as_slice())] {
        for (what, pick) in PARTS {
            let name = format!("{count} stages: {what}");
            let cells: Vec<String> =
                times.iter().map(|timed| format!("{:.2} s", pick(timed).as_secs_f64())).collect();
            println!("| {name} | {} |{}", cells.join(" | "), " – |".repeat(3 - cells.len()));
            let (Some(own), others) = (times.first(), times.get(1..).unwrap_or_default()) else { continue };
            for other in others {
                rows.push(Row::times(name.clone(), pick(own), other.name, pick(other), 1.0));
            }
        }
    }
    rows.push(growth(&ours)?);
    let lost = [Lost::of(&ours)?, Lost::of(&snakemake)?, Lost::of(&dvc)?];
    let cells = lost.each_ref().map(|lost| lost.survivors.to_string()).join(" | ");
    println!("| `kill -9` of the program: survivors of three | {cells} |");
    let cells = lost.each_ref().map(|lost| lost.afterwards.clone()).join(" | ");
    println!("| the same command afterwards | {cells} |");
    let [own, others @ ..] = &lost;
    let beside = others.iter().map(|other| format!("`{}` {}", other.name, other.survivors));
    rows.push(
        Row::at_most("survivors of `kill -9`".to_owned(), own.survivors as f64, 0.0, "").beside(beside),
    );
    Ok(rows)
}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// How much longer a stage takes at the end of a long run than at its beginning, one at a time; each is the median of twenty.
fn growth(ours: &Pipeline) -> Result<Row, String> {
    const AROUND: usize = 20;
    let project = Project::of_copies(ours, MANY)?;
    process::output(project.command(1).args(["--id", "run-1"]))?;
    let events = project.path("reports/many/checkpoints/run-1/events.jsonl");
    let text = fs_err::read_to_string(events).map_err(told)?;
    let (mut began, mut times) = (None, Vec::new());
    for line in text.lines() {
        let event: serde_json::Value = serde_json::from_str(line).map_err(told)?;
        let field = |name: &str| event.get(name).and_then(serde_json::Value::as_str);
        let at = || field("at").and_then(|at| at.parse::<jiff::Timestamp>().ok());
        match field("to") {
            Some("RUNNING") => began = at(),
            Some("COMPLETED") if field("stageId").is_some() => {
                let time = at().zip(began.take()).map(|(ended, began)| ended.duration_since(began));
                times.extend(time.map(|time| time.unsigned_abs()));
            }
            _ => {}
        }
    }
    let (first, last) = (times.get(..AROUND), times.get(times.len().saturating_sub(AROUND)..));
    let middle = |times: Option<&[Duration]>| percentile(times.unwrap_or_default(), 50);
    let name = format!("a stage at the end of {MANY}, beside one at the beginning");
    let (first, last) = (middle(first), middle(last));
    println!("| {name} | {:.1} ms, {:.1} ms | – | – |", milliseconds(last), milliseconds(first));
    Ok(Row::times(name, last, "at the beginning", first, 1.3))
}

type Part = (&'static str, fn(&Timed) -> Duration);
const PARTS: [Part; 3] = [
    ("the first time", |timed| timed.first),
    ("again, nothing to do", |timed| timed.again),
    ("one input changed", |timed| timed.changed),
];

struct Timed {
    name: &'static str,
    first: Duration,
    again: Duration,
    changed: Duration,
}

impl Timed {
    fn of(pipeline: &Pipeline, stages: usize) -> Result<Self, String> {
        let project = Project::of_copies(pipeline, stages)?;
        let first = project.timed()?;
        project.expect(stages, "1\n")?;
        let again = project.timed()?;
        project.write("in/1.txt", "changed\n")?;
        let changed = project.timed()?;
        project.expect(stages, "changed\n")?;
        Ok(Self { name: pipeline.name(), first, again, changed })
    }
}

/// What is left of a pipeline whose program was killed.
struct Lost {
    name: &'static str,
    survivors: usize,
    afterwards: String,
}

impl Lost {
    fn of(pipeline: &Pipeline) -> Result<Self, String> {
        let project = Project::new(pipeline)?;
        project.write("in/1.txt", "1\n")?;
        // Three processes, one of them in a session of its own; the second time there is nothing to wait for.
        let script = "test -e go && exec cp in/1.txt \"$1\"\nsetsid sleep 1000 &\nsleep 1000 &\ntouch begun\nexec sleep 1000\n";
        project.write("work.sh", script)?;
        project.write(pipeline.file(), &pipeline.script())?;
        let mut child = project.command(1).spawn().map_err(told)?;
        while !project.path("begun").exists() || project.alive() < 3 {
            if let Some(status) = child.try_wait().map_err(told)? {
                return Err(format!("{} ended before it was killed: {status}", pipeline.name()));
            }
        }
        kill(&mut child)?;
        let killed = Instant::now();
        while killed.elapsed() < GRACE && project.alive() > 0 {}
        let survivors = project.alive();
        project.end_all();
        project.write("go", "")?;
        let status = project.command(1).status().map_err(told)?;
        let afterwards = match status.code() {
            Some(0) => "completes".to_owned(),
            Some(code) => format!("exit status {code}"),
            None => format!("signal {}", status.signal().unwrap_or_default()),
        };
        Ok(Self { name: pipeline.name(), survivors, afterwards })
    }
}

fn kill(child: &mut Child) -> Result<(), String> {
    child.kill().and_then(|()| child.wait()).map(drop).map_err(told)
}

impl Pipeline {
    fn name(&self) -> &'static str {
        match self {
            Self::Checkstone(_) => "checkstone",
            Self::Snakemake(_) => "Snakemake",
            Self::Dvc(_) => "DVC",
        }
    }

    fn file(&self) -> &'static str {
        match self {
            Self::Checkstone(_) => "plan.toml",
            Self::Snakemake(_) => "Snakefile",
            Self::Dvc(_) => "dvc.yaml",
        }
    }

    /// So many stages at once, if it can do that.
    fn command(&self, jobs: usize) -> Command {
        let jobs = jobs.to_string();
        let (program, arguments) = match self {
            Self::Checkstone(program) => (program, vec!["run", "plan.toml", "--jobs", &jobs]),
            Self::Snakemake(program) => (program, vec!["--quiet", "all", "--cores", &jobs]),
            // It runs one stage at a time.
            Self::Dvc(program) => (program, vec!["repro", "--quiet"]),
        };
        let mut command = Command::new(program);
        command.args(arguments);
        command
    }

    /// Each stage copies a file of its own.
    fn copies(&self, stages: usize) -> String {
        match self {
            Self::Checkstone(_) => {
                let stage = |number: usize| {
                    format!(
                        "[[stage]]\nstageId = \"S{number:04}_copy_file\"\ngoal = \"Copy one small file\"\n\
                         command = 'cp in/{number}.txt $CHECKSTONE_ARTIFACT_DIR/out'\n\
                         inputs = {{ in = \"in/{number}.txt\" }}\noutputs = {{ out = \"out\" }}\n"
                    )
                };
                format!("title = \"many\"\n{}", (1..=stages).map(stage).collect::<String>())
            }
            Self::Snakemake(_) => format!(
                "rule all:\n    input: [f\"out/{{n}}\" for n in range(1, {})]\n\
                 rule copy:\n    input: \"in/{{n}}.txt\"\n    output: \"out/{{n}}\"\n    shell: \"cp {{input}} {{output}}\"\n",
                stages + 1
            ),
            Self::Dvc(_) => {
                let stage = |number: usize| {
                    format!(
                        "  copy{number}:\n    cmd: cp in/{number}.txt out/{number}\n    deps: [in/{number}.txt]\n    outs: [out/{number}]\n"
                    )
                };
                format!("stages:\n{}", (1..=stages).map(stage).collect::<String>())
            }
        }
    }

    /// One stage, which is a script that is given the path of its output.
    fn script(&self) -> String {
        match self {
            Self::Checkstone(_) => {
                "title = \"many\"\n[[stage]]\nstageId = \"S0001_copy_file\"\ngoal = \"Wait for its end\"\n\
                 command = 'sh work.sh $CHECKSTONE_ARTIFACT_DIR/out'\noutputs = { out = \"out\" }\n"
                    .to_owned()
            }
            Self::Snakemake(_) => {
                "rule all:\n    output: \"out/1\"\n    shell: \"sh work.sh {output}\"\n".to_owned()
            }
            Self::Dvc(_) => "stages:\n  copy1:\n    cmd: sh work.sh out/1\n    outs: [out/1]\n".to_owned(),
        }
    }
}

/// A folder that a pipeline runs in, with a home of its own. Its processes are known by the home in their environment.
struct Project<'a> {
    pipeline: &'a Pipeline,
    folder: tempfile::TempDir,
}

impl<'a> Project<'a> {
    fn new(pipeline: &'a Pipeline) -> Result<Self, String> {
        let above = root().join("target/bench");
        fs_err::create_dir_all(&above).map_err(told)?;
        let project = Self { pipeline, folder: tempfile::tempdir_in(above).map_err(told)? };
        for folder in ["home", "in", "out"] {
            fs_err::create_dir(project.path(folder)).map_err(told)?;
        }
        process::output(Command::new("git").args(["init", "--quiet"]).arg(project.folder.path()))?;
        if let Pipeline::Dvc(program) = pipeline {
            process::output(project.prepared(&mut Command::new(program)).args(["init", "--quiet"]))?;
        }
        Ok(project)
    }

    fn of_copies(pipeline: &'a Pipeline, stages: usize) -> Result<Self, String> {
        let project = Self::new(pipeline)?;
        for number in 1..=stages {
            project.write(&format!("in/{number}.txt"), &format!("{number}\n"))?;
        }
        project.write(pipeline.file(), &pipeline.copies(stages))?;
        Ok(project)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), String> {
        fs_err::write(self.path(name), text).map_err(told)
    }

    fn prepared<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command
            .current_dir(self.folder.path())
            .env_clear()
            .env("PATH", process::path())
            .env("HOME", self.path("home"))
            .env("DVC_NO_ANALYTICS", "1")
            .stdin(Stdio::null())
    }

    fn command(&self, jobs: usize) -> Command {
        let mut command = self.pipeline.command(jobs);
        self.prepared(&mut command).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn timed(&self) -> Result<Duration, String> {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let began = Instant::now();
        process::output(&mut self.command(cores))?;
        Ok(began.elapsed())
    }

    /// The output of the first stage is this, and that of the last is there.
    fn expect(&self, stages: usize, first: &str) -> Result<(), String> {
        let output = |number: usize| match self.pipeline {
            Pipeline::Checkstone(_) => {
                let newest = newest(&self.path("reports/many"))?;
                Ok::<_, String>(newest.join(format!("S{number:04}_copy_file/out")))
            }
            _ => Ok(self.path(&format!("out/{number}"))),
        };
        let found = fs_err::read_to_string(output(1)?).map_err(told)?;
        if found != first || !output(stages)?.exists() {
            return Err(format!("{} made `{found}` instead of `{first}`", self.pipeline.name()));
        }
        Ok(())
    }

    fn processes(&self) -> Vec<rustix::process::Pid> {
        let home = format!("HOME={}", self.path("home").display());
        let is_ours = |pid: &i32| {
            let environment = fs_err::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == home.as_bytes())
        };
        let entries = fs_err::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers.filter(is_ours).filter_map(rustix::process::Pid::from_raw).collect()
    }

    /// How many of the stage's own processes there are.
    fn alive(&self) -> usize {
        let is_sleeping = |pid: &&rustix::process::Pid| {
            let name = fs_err::read_to_string(format!("/proc/{}/comm", pid.as_raw_nonzero()));
            name.is_ok_and(|name| name.trim() == "sleep")
        };
        self.processes().iter().filter(is_sleeping).count()
    }

    fn end_all(&self) {
        loop {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            for pid in left {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
    }
}

impl Drop for Project<'_> {
    fn drop(&mut self) {
        self.end_all();
    }
}

/// The run that was begun last; their names have the time in them.
fn newest(title: &Path) -> Result<PathBuf, String> {
    let runs = fs_err::read_dir(title).map_err(told)?.flatten().map(|entry| entry.path());
    let is_run =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("run-"));
    let modified = |path: &PathBuf| path.metadata().and_then(|metadata| metadata.modified()).ok();
    runs.filter(is_run).max_by_key(modified).ok_or_else(|| "nothing was run".to_owned())
}
