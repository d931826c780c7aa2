//! From the text of a shell command to what it would run: the simple commands in order, looked at through
//! their wrappers, each with what the exit status of the whole says about it and with the files it touches.
//! Mentions (quoted text, heredoc bodies, comments) are not commands, and what cannot be parsed within the
//! caps is *not understood*, which is neither evidence nor a reason to hold.

mod caps;
mod files;
mod flow;
mod opaque;
mod pattern;
pub(crate) mod subcommand;
mod walk;
mod word;
mod wrapper;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::meaning::KnownMeaning;

pub use files::{Touched, one_spelling};
pub use pattern::{Pattern, PatternError};
pub use word::Word;
pub(crate) use wrapper::is_installed;

/// What a shell command would run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intents {
    /// In the order in which they would run; commands of branches that exclude each other are all there.
    Understood(Vec<SimpleCommand>),
    NotUnderstood(NotUnderstood),
}

/// Why a command was not understood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotUnderstood {
    TooLong,
    TooManySubstitutions,
    TooManyBackticks,
    TooManyOperators,
    TooManyExpansions,
    TooDeep,
    TooManyCommands,
    /// The parser's own words.
    Syntax(String),
}

/// One program that would run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SimpleCommand {
    /// The base name, without wrappers: `pytest` for `uv run .venv/bin/pytest` and `python3 -m pytest`.
    pub program: String,
    /// How the program was written, if that was a path: `./scripts/run-tests.sh`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<Word>,
    #[serde(default, skip_serializing_if = "Directory::is_start")]
    pub directory: Directory,
    /// The packages that its launchers chose: `pnpm --filter web exec vitest`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<String>,
    pub attribution: Attribution,
    /// Whether a failure of the whole can come from this one.
    pub suspect: bool,
    pub output: Output,
    /// What it prints as errors goes elsewhere: some runners report everything there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hides_errors: bool,
    /// Of its filtered output the end is there: `| tail -5`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shows_end: bool,
    /// It runs only after something that can fail without a word, and the status of the whole does not tell whether it
    /// did: `[ -f setup.cfg ] && pytest; echo done`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_be_skipped: bool,
    /// The exit status of others that it prints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tells: Option<ToldStatus>,
    /// It has folders of its own, whatever it is told to take.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_in_container: bool,
    /// It may see other folders than the shell that starts it: in a container, or behind a launcher that nobody knows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_elsewhere: bool,
    /// Files that it changes, makes or removes.
    #[serde(default, skip_serializing_if = "Touched::is_nothing")]
    pub edits: Touched,
    /// Files that it reads, as far as the command line tells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    #[serde(skip)]
    pub(crate) meaning: KnownMeaning,
}

/// An exit status that `echo` prints: `pytest | tail -5; echo "exit ${PIPESTATUS[0]}"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToldStatus {
    /// What stands before and after the number in its line.
    pub before: String,
    pub after: String,
    /// The commands that succeeded if it is 0, by their places.
    pub succeeded: Vec<usize>,
    /// The commands of which one failed if it is another.
    pub failed: Vec<usize>,
}

/// Where a command runs, relative to where the whole began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Directory {
    #[default]
    Start,
    /// After a `cd` to a place that the text names.
    At(String),
    Unknown,
}

/// What the success of the whole says about one of its commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attribution {
    /// Exit status 0 of the whole proves that this command ran and succeeded.
    Decides,
    /// The whole can succeed although this command failed or never ran.
    Masked(Mask),
}

/// What hides the exit status of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mask {
    /// `cmd || true`
    OrElse,
    /// `cmd | tail` without `pipefail`
    Piped,
    /// `cmd; echo done`, or a further line, without `set -e`
    Followed,
    /// `cmd &`
    Background,
    /// `! cmd`
    Negated,
    /// `if cmd; then …`, `while cmd; do …`
    Condition,
    /// Runs only under a condition: the right side of `||`, a branch, code after a possible `exit`.
    Conditional,
    /// Runs any number of times, of which only the last one decides.
    Loop,
    /// `echo "$(cmd)"`
    Substitution,
    /// Inside a function that returns or exits early.
    Function,
    /// A `trap` may exit with another status.
    Trap,
}

/// Where the output of a command goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// Into the output of the whole.
    Shown,
    /// Into the output of the whole, through `tail`, `grep` and the like, or by way of a file.
    Filtered,
    /// Elsewhere: what the whole printed is not from this command.
    Hidden,
}

/// What is known when the whole failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failed<'a> {
    /// This one failed.
    Known(&'a SimpleCommand),
    /// At least one of these, in order.
    OneOf(Vec<&'a SimpleCommand>),
    /// No command explains it.
    Unknown,
}

impl Intents {
    /// Reads a command line as `bash` would.
    pub fn read(command: &str) -> Self {
        Self::read_in(Directory::Start, command)
    }

    /// The same of a command that is started in this folder.
    pub fn read_in(folder: Directory, command: &str) -> Self {
        match walk::commands(command, folder) {
            Ok(commands) => Self::Understood(commands),
            Err(reason) => Self::NotUnderstood(reason),
        }
    }

    /// Empty if nothing was understood.
    pub fn commands(&self) -> &[SimpleCommand] {
        match self {
            Self::Understood(commands) => commands,
            Self::NotUnderstood(_) => &[],
        }
    }

    /// The commands that provably ran and succeeded, given that the whole succeeded.
    pub fn proven_by_success(&self) -> impl Iterator<Item = &SimpleCommand> {
        self.commands().iter().filter(|command| command.attribution == Attribution::Decides)
    }

    /// The commands that can have failed, given that the whole failed.
    pub fn explained_failure(&self) -> Failed<'_> {
        let suspects: Vec<_> = self.commands().iter().filter(|command| command.suspect).collect();
        match suspects.as_slice() {
            [] => Failed::Unknown,
            [one] => Failed::Known(one),
            _ => Failed::OneOf(suspects),
        }
    }
}

impl SimpleCommand {
    /// The arguments whose text is known.
    pub fn known_arguments(&self) -> impl Iterator<Item = &str> {
        self.arguments.iter().filter_map(Word::known)
    }
}

impl Directory {
    fn is_start(&self) -> bool {
        *self == Self::Start
    }
}

impl fmt::Display for Mask {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::OrElse => "`||` hides its exit status",
            Self::Piped => "a pipe hides its exit status",
            Self::Followed => "the command after it decides the exit status",
            Self::Background => "it runs in the background",
            Self::Negated => "`!` turns its exit status around",
            Self::Condition => "it is a condition",
            Self::Conditional => "it runs only under a condition",
            Self::Loop => "it runs in a loop",
            Self::Substitution => "its output is substituted and its exit status lost",
            Self::Function => "the function around it may return early",
            Self::Trap => "a trap may change the exit status",
        })
    }
}

impl fmt::Display for NotUnderstood {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::TooLong => "the command is too long",
            Self::TooManySubstitutions => "too many substitutions",
            Self::TooManyBackticks => "too many backticks",
            Self::TooManyOperators => "too many operators",
            Self::TooManyExpansions => "too many expansions",
            Self::TooDeep => "nested too deeply",
            Self::TooManyCommands => "too many commands",
            Self::Syntax(message) => return write!(formatter, "not shell syntax: {message}"),
        })
    }
}

/// For fuzzing: reads any text, and checks what must hold for every text.
pub fn fuzz(command: &str) {
    let intents = Intents::read(command);
    assert!(intents.commands().len() <= walk::MOST_COMMANDS, "more commands than the cap allows");
    if let Ok(pattern) = Pattern::parse(command.lines().next().unwrap_or_default()) {
        for simple in intents.commands() {
            let _ = pattern.matches(simple);
        }
    }
}
