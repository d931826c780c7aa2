//! Runners of tasks that the repository defines, and what the usual names of tasks mean where its definition is not
//! known.

use super::Deed::{self, *};
use super::Fact::*;
use super::Grammar::*;
use super::Launches::Rest;
use super::{Program, TaskRunner, after, matches_glob};

programs! {
    "make" => Builds {
        grammar: Targets, tasks: &[TaskRunner::Make], folder: "-C --directory", valued: "-f -I -o -W --file --makefile",
        idle: "-n --just-print --recon -q --question -t --touch -h -v", idle_letters: "nqt", facts: &[JoinsValues],
    }
    "just" => Other {
        grammar: Targets, tasks: &[TaskRunner::Just], folder: "-d --working-directory", valued: "-f --justfile --set",
        idle: "--list -l --summary --show --evaluate -n -h -V",
    }
    "task" => Other {
        grammar: Targets, tasks: &[TaskRunner::Taskfile], folder: "-d --dir", valued: "-t --taskfile",
        idle: "--list -l --list-all -a -n --dry -h",
    }
    "rake" => Other { grammar: Targets, tasks: &[TaskRunner::Rake], valued: "-f --rakefile", idle: "-T --tasks -n -h" }
    "poe" => Other { grammar: Scripts, tasks: &[TaskRunner::Poe], folder: "-C --directory" }
    "mage" | "invoke" | "inv" => Other { grammar: Targets }
    "mise" => Other {
        grammar: Scripts, tasks: &[TaskRunner::Mise], task_words: "run r tasks", folder: "-C --cd", valued: "-j --jobs",
        launches: Rest(&[after("exec", ""), after("x", "")]),
        uses: &[("install i use up upgrade", Installs), ("ls list which where env doctor settings trust", Looks)],
    }
    "devbox" => Other {
        grammar: Scripts, tasks: &[TaskRunner::Devbox], task_words: "run", folder: "-c --config", valued: "-e --env --env-file",
        launches: Rest(&[after("run", "")]), uses: &[("add install update rm", Installs), ("list info search", Looks)],
    }
    "composer" => Other {
        grammar: Scripts, tasks: &[TaskRunner::Composer], task_words: "run run-script", folder: "-d --working-dir",
        launches: Rest(&[after("exec", "")]),
        uses: &[("install update require remove dump-autoload", Installs), ("show info outdated", Looks), ("validate", Lints)],
    }
    "pre-commit" | "prek" => Lints { grammar: Subcommand, tasks: &[TaskRunner::CommitHook], uses: &[("install autoupdate", Installs)] }
}

/// The first that fits counts.
const USUAL: &[(&str, Deed)] = &[
    ("fmt format prettier format:fix format:write", Formats),
    ("format* fmt* lint lint:check lint-check eslint clippy vet", Lints),
    ("fix lint:* lint-*", Fixes),
    ("typecheck type-check types check-types check:types tsc mypy", TypeChecks),
    ("test tests spec test-* tests-* test:* *:test *-test *-tests *:tests unit* e2e check ci verify", Tests),
    ("build build-* build:* all compile", Builds),
    ("install deps setup sync", Installs),
    ("run start dev serve", Runs),
];

/// What a task of this name does in most repositories.
pub(crate) fn usual_deed(task: &str) -> Deed {
    let is_named = |names: &str| names.split(' ').any(|name| matches_glob(name, task));
    USUAL.iter().find(|(names, _)| is_named(names)).map_or(Other, |(_, deed)| *deed)
}
