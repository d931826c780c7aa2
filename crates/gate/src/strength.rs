//! How much a run says about the code: tests more than a build, a build more than a linter, a linter more than the program itself.

use programs::Deed;
use programs::shell::SimpleCommand;
use serde::{Deserialize, Serialize};

use crate::policy::is_source;

/// How much a run says about the code, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strength {
    Ran,
    Linted,
    /// Type checked or built.
    Built,
    Tested,
}

impl Strength {
    const ALL: [Self; 4] = [Self::Ran, Self::Linted, Self::Built, Self::Tested];

    /// As the ledger keeps it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ran => "ran",
            Self::Linted => "linted",
            Self::Built => "built",
            Self::Tested => "tested",
        }
    }

    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|strength| strength.name() == name)
    }

    /// What was done to the code, for people.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Ran => "run",
            Self::Linted => "linted",
            Self::Built => "built or type checked",
            Self::Tested => "tested",
        }
    }

    pub(crate) fn of(deed: Deed) -> Option<Self> {
        match deed {
            Deed::Runs => Some(Self::Ran),
            Deed::Lints => Some(Self::Linted),
            Deed::TypeChecks | Deed::Builds => Some(Self::Built),
            Deed::Tests => Some(Self::Tested),
            _ => None,
        }
    }

    /// What the command would say about the code; `None` if it verifies nothing, or only lists and explains (E7).
    pub(crate) fn of_command(command: &SimpleCommand) -> Option<Self> {
        Self::of_run(command, command.deed_done()?)
    }

    /// The same of what the command turns out to do.
    pub(crate) fn of_run(command: &SimpleCommand, deed: Deed) -> Option<Self> {
        let strength = Self::of(deed)?;
        let only_tells = || {
            let mut arguments = command.known_arguments();
            matches!(
                (arguments.next(), arguments.next()),
                (Some("-v" | "-V" | "-h" | "version" | "help"), None)
            )
        };
        // A script from standard input that nobody knows is as often an edit as a look.
        let is_typed_in = || {
            let is_input = command.arguments.first().is_none_or(|first| first.text() == "-");
            command.is_inline_code() && is_input && command.arguments.len() < 2
        };
        let rewrites = || command.edits.others || command.edits.paths.iter().any(|path| is_source(path));
        // `cargo test --no-run` runs nothing and builds all the same.
        let builds = || deed == Deed::Builds && command.deed_done() == Some(Deed::Builds);
        let is_idle = (command.idle_argument().is_some() && !builds())
            || (strength == Self::Ran && (only_tells() || is_typed_in() || rewrites()));
        (!is_idle).then_some(strength)
    }
}
