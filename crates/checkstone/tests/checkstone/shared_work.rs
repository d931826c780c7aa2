//! A bare remote, and machines that have a clone of it, each with a home and a journal of its own.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use sandbox::{Answer, RunToEnd as _, Sandbox, redacted};
use serde_json::Value;

use crate::hook::world::PYTHON;
use crate::workplace::valid;

pub(crate) const FIXED: &str = "def add(a, b):\n    return a + b\n";

/// What lies in the middle.
pub(crate) struct SharedWork {
    pub(crate) sandbox: Sandbox,
}

/// One clone of it.
pub(crate) struct Machine<'a> {
    work: &'a SharedWork,
    name: String,
}

impl SharedWork {
    /// The remote's `main` has a policy, `calc.py` and its tests.
    pub(crate) fn new() -> Self {
        let sandbox = Sandbox::new();
        let remote = sandbox.path("remote.git");
        let root = sandbox.root().to_owned();
        sandbox.git(&root, &["init", "--quiet", "--bare", "--initial-branch=main", remote.to_str().unwrap()]);
        let bin = sandbox.path("bin");
        fs_err::create_dir(&bin).unwrap();
        symlink(env!("CARGO_BIN_EXE_checkstone"), bin.join("checkstone")).unwrap();
        // The tests of these repositories pass, unless the environment says otherwise.
        sandbox.script("bin/pytest", "exit ${RED:-0}");
        let work = Self { sandbox };
        let first = work.machine("first");
        first.write("calc.py", "def add(a, b):\n    return a - b\n");
        first.write(
            "tests/test_calc.py",
            "from calc import add\n\n\ndef test_add():\n    assert add(1, 1) == 2\n",
        );
        first.write("checkstone.toml", PYTHON);
        first.commit("begin");
        first.git(&["push", "--quiet", "origin", "main"]);
        first.git(&["remote", "set-head", "origin", "main"]);
        drop(first);
        work
    }

    /// A clone that is made at the first call.
    pub(crate) fn machine(&self, name: &str) -> Machine<'_> {
        self.machine_with(name, &[])
    }

    /// The same with options for `git clone`.
    pub(crate) fn machine_with(&self, name: &str, options: &[&str]) -> Machine<'_> {
        let machine = Machine { work: self, name: name.to_owned() };
        if !machine.folder().exists() {
            // As an address: by its path, git would clone the whole history whatever was asked for.
            let remote = format!("file://{}", self.sandbox.path("remote.git").display());
            let folder = machine.folder();
            let arguments = [&["clone", "--quiet"], options, &[&remote, folder.to_str().unwrap()]].concat();
            self.sandbox.git(self.sandbox.root(), &arguments);
        }
        machine
    }

    /// The notes of an object at the remote, line by line.
    pub(crate) fn noted(&self, object: &str) -> Vec<Value> {
        let remote = self.sandbox.path("remote.git");
        let text = self.sandbox.git(&remote, &["notes", "--ref=checkstone", "show", object]);
        text.lines().filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Machine<'_> {
    pub(crate) fn folder(&self) -> PathBuf {
        self.work.sandbox.path(&self.name)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        self.work.sandbox.write(self.folder().join(path), text);
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    #[track_caller]
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.work.sandbox.git(&self.folder(), arguments)
    }

    /// The commit, or the tree, of this name.
    pub(crate) fn id(&self, name: &str) -> String {
        self.git(&["rev-parse", name]).trim().to_owned()
    }

    /// Any program, with this machine's own journal.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = self.work.sandbox.prepared(Command::new(program));
        let path = format!("{}:/usr/bin:/bin", self.work.sandbox.path("bin").display());
        command
            .env("PATH", path)
            .env("CHECKSTONE_STATE_DIR", self.work.sandbox.path(format!("state-{}", self.name)))
            .env("COLUMNS", "100")
            .current_dir(self.folder());
        command
    }

    pub(crate) fn checkstone(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_checkstone"));
        command.args(arguments);
        command
    }

    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> Answer {
        self.checkstone(arguments).answer()
    }

    /// Exit code, stdout and stderr, without what differs from run to run.
    #[track_caller]
    pub(crate) fn shown(&self, arguments: &[&str]) -> String {
        redacted(self.run(arguments).to_string())
    }

    /// What a command prints with `--json`, checked against its schema.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str], schema: &str) -> Value {
        let answer = self.run(arguments);
        assert_eq!(answer.stderr, "", "{arguments:?}");
        valid(&answer.stdout, schema)
    }

    /// Runs the tests for the record.
    #[track_caller]
    pub(crate) fn prove(&self) {
        assert_eq!(self.run(&["prove", "--", "pytest"]).code, Some(0));
    }

    /// A branch with a change of `calc.py`.
    pub(crate) fn branch(&self, name: &str, text: &str) {
        self.git(&["switch", "--quiet", "--create", name]);
        self.write("calc.py", text);
        self.commit("Fix add");
    }
}
