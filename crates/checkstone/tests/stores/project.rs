//! A project of its own, whose runs are kept beyond it.

use std::path::{Path, PathBuf};
use std::process::Command;

use sandbox::{Answer, RunToEnd as _, Sandbox};

use crate::servers::bucket_variables;

const PLAN: &str = r#"
title = "study"

[[stage]]
stageId = "S01_make_table"
goal = "Something to keep"
command = 'seq 1 2000 > $CHECKSTONE_ARTIFACT_DIR/table.txt'
outputs = { table = "table.txt" }

[[stage]]
stageId = "S02_sort_table"
goal = "Something made of it"
command = 'sort -rn $CHECKSTONE_INPUT_TABLE > $CHECKSTONE_ARTIFACT_DIR/sorted.txt'
inputs = { table = "S01_make_table/table.txt" }
"#;

pub(crate) struct Project {
    sandbox: Sandbox,
    variables: Vec<(String, String)>,
}

impl Project {
    pub(crate) fn new(name: &str, value: &str) -> Self {
        let sandbox = Sandbox::new();
        sandbox.write("work/plan.toml", PLAN);
        let mut variables = bucket_variables();
        variables.push((name.to_owned(), value.to_owned()));
        Self { sandbox, variables }
    }

    /// With another value for a variable.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.sandbox.path("work").join(name)
    }

    /// With another plan than the usual one.
    pub(crate) fn with_plan(self, plan: &str) -> Self {
        self.sandbox.write("work/plan.toml", plan);
        self
    }

    /// Called so by all hosts.
    pub(crate) fn called(self, project: &str) -> Self {
        let configuration = format!("[storage]\nproject = \"{project}\"\n");
        self.sandbox.write("home/.config/checkstone/config.toml", configuration);
        self
    }

    /// A program in the environment of this project.
    pub(crate) fn prepared(&self, command: Command) -> Command {
        let mut command = self.sandbox.prepared(command);
        command.current_dir(self.sandbox.path("work")).envs(self.variables.clone());
        command
    }

    pub(crate) fn checkstone(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_checkstone"));
        command.args(arguments);
        self.prepared(command)
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Answer {
        self.checkstone(arguments).answer()
    }

    pub(crate) fn record(&self) -> String {
        fs_err::read_to_string(self.path("reports/study/checkpoints/r1/events.jsonl")).unwrap()
    }

    /// How often each stage was started.
    pub(crate) fn starts(&self) -> usize {
        self.record().lines().filter(|line| line.contains(r#""to":"RUNNING""#)).count()
    }

    pub(crate) fn published(&self) -> [String; 2] {
        ["S01_make_table/table.txt", "S02_sort_table/sorted.txt"]
            .map(|name| fs_err::read_to_string(self.path("reports/study/r1").join(name)).unwrap())
    }

    /// Whether a word is in any file of the project.
    pub(crate) fn has_word(&self, word: &str) -> bool {
        fn files(folder: &Path, found: &mut Vec<PathBuf>) {
            for entry in fs_err::read_dir(folder).unwrap().map(Result::unwrap) {
                match entry.file_type().unwrap().is_dir() {
                    true => files(&entry.path(), found),
                    false => found.push(entry.path()),
                }
            }
        }
        let mut all = Vec::new();
        files(self.sandbox.root(), &mut all);
        all.iter().any(|path| String::from_utf8_lossy(&fs_err::read(path).unwrap()).contains(word))
    }
}
