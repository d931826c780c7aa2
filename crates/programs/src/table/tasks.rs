//! Runners of tasks that the repository defines, and what the usual names of tasks mean where its definition is not
//! known.

use super::Deed::{self, *};
use super::Grammar::*;
use super::{Program, TaskRunner, matches_glob};

programs! {
    "make" => Builds {
        grammar: Targets, tasks: &[TaskRunner::Make], folder: "-C --directory", valued: "-f -I -o -W --file --makefile",
        idle: "-n --just-print --recon -q --question -t --touch -h -v", idle_letters: "nqt",
    }
    "just" => Other {
        grammar: Targets, tasks: &[TaskRunner::Just], folder: "-d --working-directory", valued: "-f --justfile --set",
        idle: "--list -l --summary --show --evaluate -n -h -V",
    }
    "task" => Other {
        grammar: Targets, tasks: &[TaskRunner::Taskfile], folder: "-d --dir", valued: "-t --taskfile",
        idle: "--list -l --list-all -a -n --dry -h",
    }
    "mage" | "rake" | "invoke" | "inv" | "poe" => Other { grammar: Targets }
}

/// The first that fits counts.
const USUAL: &[(&str, Deed)] = &[
    ("fmt format prettier format:fix format:write", Formats),
    ("format* fmt* lint lint:check lint-check eslint clippy vet", Lints),
    ("fix lint:* lint-*", Fixes),
    ("typecheck type-check types check-types check:types tsc mypy", TypeChecks),
    ("test tests test-* test:* *:test unit* e2e check ci verify", Tests),
    ("build build-* build:* all compile", Builds),
    ("install deps setup sync", Installs),
    ("run start dev serve", Runs),
];

/// What a task of this name does in most repositories.
pub(crate) fn usual_deed(task: &str) -> Deed {
    let is_named = |names: &str| names.split(' ').any(|name| matches_glob(name, task));
    USUAL.iter().find(|(names, _)| is_named(names)).map_or(Other, |(_, deed)| *deed)
}
