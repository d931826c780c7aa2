//! Commands under supervision, and who is alive of them. A tree is known by a variable in its environment, whatever it has
//! done to its groups, sessions and parents.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};

use supervise::marker::Marker;
use supervise::{Command, Controls, Ending, Isolated, Isolation, Limits, Observed, SpawnError, Supervised};
use tempfile::TempDir;

/// A folder, a name for the tree, and how it is kept together.
pub(crate) struct Stage {
    pub(crate) folder: TempDir,
    pub(crate) name: String,
    pub(crate) isolation: Isolation,
    pub(crate) kept: u64,
}

/// Every way that this machine allows, each with a stage of its own.
pub(crate) fn each_way(fact: impl Fn(Stage)) {
    let mut tried = 0;
    for isolation in Isolated::ALL.iter().map(|way| Isolation::Only(*way)) {
        let stage = Stage::new(isolation);
        match Supervised::spawn(&stage.command(&["true"]), isolation) {
            Ok(supervised) => drop(supervised),
            Err(SpawnError::Isolate { .. }) => continue,
            Err(error) => panic!("{error:?}"),
        }
        fact(stage);
        tried += 1;
    }
    assert!(tried > 0, "without rights there is still the subreaper");
}

impl Stage {
    pub(crate) fn new(isolation: Isolation) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self {
            folder: tempfile::tempdir().unwrap(),
            name: format!("tree-{}-{number}", std::process::id()),
            isolation,
            kept: 1 << 20,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn command(&self, argv: &[&str]) -> Command {
        let variables =
            [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("TREE", self.name.as_str()), ("LC_ALL", "C")];
        Command {
            argv: argv.iter().map(OsString::from).collect(),
            environment: variables.map(|(name, value)| (name.into(), value.into())).to_vec(),
            directory: self.folder.path().to_owned(),
            output: self.path("output.log"),
            kept: self.kept,
            record: self.path("supervisor.json"),
        }
    }

    pub(crate) fn spawn(&self, script: &str) -> Supervised {
        Supervised::spawn(&self.command(&["sh", "-c", script]), self.isolation).unwrap()
    }

    /// Runs a shell script to its end.
    pub(crate) fn run(&self, script: &str, limits: &Limits) -> (Ending, Vec<Observed>) {
        self.run_with(script, limits, &Controls::new().unwrap(), |_| {})
    }

    /// The same, with a look at each marker.
    pub(crate) fn run_with(
        &self,
        script: &str,
        limits: &Limits,
        controls: &Controls,
        mut on_marker: impl FnMut(&Marker),
    ) -> (Ending, Vec<Observed>) {
        let mut observed = Vec::new();
        let mut observe = |what: Observed| {
            if let Observed::Marker(marker) = &what {
                on_marker(marker);
            }
            observed.push(what);
        };
        let ending = self.spawn(script).watch(limits, controls, &mut observe).unwrap();
        assert!(!self.path("supervisor.json").exists(), "the record goes with the tree");
        (ending, observed)
    }

    pub(crate) fn output(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.path("output.log")).unwrap()).into_owned()
    }

    /// Those of the tree that are alive.
    pub(crate) fn alive(&self) -> Vec<i32> {
        alive(&format!("TREE={}", self.name))
    }
}

/// The processes with this variable in their environment. Zombies have none.
fn alive(variable: &str) -> Vec<i32> {
    let has_it = |pid: &i32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|other| other == variable.as_bytes())
    };
    let numbers = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(has_it).collect()
}

/// The program that supervises, which is built beside these tests.
pub(crate) fn supervise() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let folder = tests.parent().and_then(Path::parent).unwrap();
    let program = folder.join("examples/supervise");
    assert!(program.exists(), "`cargo test -p supervise` builds `{}`", program.display());
    program
}

/// A supervisor as a process of its own.
pub(crate) fn start_supervisor(
    program: &Path,
    stage: &Stage,
    settings: &[&str],
    script: &str,
) -> std::process::Command {
    let mut command = std::process::Command::new(program);
    command.arg(stage.folder.path()).args(settings);
    command.arg(format!("isolation={}", way(stage.isolation)));
    command.args(["--", "sh", "-c", script]).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command.env("TREE", &stage.name).stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

fn way(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::Best => "best",
        Isolation::Only(way) => way.name(),
    }
}

/// For a moment of each `execve` the system tells neither the environment nor the arguments of a process.
#[test]
fn a_process_that_changes_its_program_is_still_known() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("again.sh");
    std::fs::write(&script, "[ \"$1\" = 0 ] || exec sh \"$0\" $(($1 - 1))\n").unwrap();
    let mut command = std::process::Command::new("sh");
    let mut changing = command.arg(&script).arg("500").env("MARK", "here").spawn().unwrap();
    let pid = i32::try_from(changing.id()).unwrap();
    let is_known = || {
        (
            machine::ProcessTable::was_started_with(pid, b"MARK=here"),
            !machine::ProcessTable::arguments(pid).is_empty(),
        )
    };
    let mut looks = Vec::new();
    while changing.try_wait().unwrap().is_none() {
        let (marked, named) = is_known();
        // What it said after it had ended says nothing.
        if changing.try_wait().unwrap().is_none() {
            looks.push((marked, named));
        }
    }
    let unknown = looks.iter().filter(|look| **look != (true, true)).count();
    assert!(!looks.is_empty());
    assert_eq!(unknown, 0, "of {} looks", looks.len());
}
