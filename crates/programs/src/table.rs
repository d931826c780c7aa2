//! The one table of programs: what each of them is, and what its words and options mean. A row stands for one program
//! or for several that are alike; the rows lie in files by kind. Lists of words are texts with spaces between, which
//! keeps a row readable and costs nothing when the process starts.
//!
//! A new test runner is one row here, one line in `tests/labelled/commands.txt`, and one labelled turn in
//! `crates/gate/tests/corpus`.

/// Rows as `"name" | "other name" => Deed { column: value, … }`; a column that is not named is empty.
macro_rules! programs {
    ($($name:literal $(| $other:literal)* => $deed:ident { $($column:ident: $value:expr),* $(,)? })*) => {
        pub(super) fn find(name: &str) -> Option<&'static Program> {
            match name {
                $($name $(| $other)* => {
                    static ROW: Program = Program { deed: Deed::$deed, $($column: $value,)* ..Program::EMPTY };
                    Some(&ROW)
                })*
                _ => None,
            }
        }

        /// The names of each row.
        #[cfg(test)]
        pub(super) const NAMES: &[&[&str]] = &[$(&[$name $(, $other)*]),*];
    };
}

mod checkers;
mod compiled;
mod files;
mod git;
mod launchers;
mod node;
mod python;
mod rust;
mod shell;
mod tasks;

use outputs::Runner;
use serde::{Deserialize, Serialize};

pub(crate) use tasks::usual_deed;

/// What a command does. In order: of several targets of one command the last counts, and from [`Deed::Runs`] on each
/// says more about the code than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deed {
    /// Lays code out anew and changes nothing else.
    Formats,
    /// Prints what it is told to.
    Prints,
    /// Does something to the shell that it runs in.
    Steers,
    /// Only reads.
    Looks,
    /// Only reads, and answers by its exit status.
    Asks,
    /// Ends or signals processes; that there are none is an answer.
    Ends,
    /// Changes what the repository knows of the files, and not the files.
    Records,
    Pushes,
    Commits,
    /// Nobody knows, or it depends.
    Other,
    /// Changes files.
    Changes,
    /// Rewrites code so that a linter is content.
    Fixes,
    /// Installs dependencies.
    Installs,
    /// Runs the program that is worked on, or a script.
    Runs,
    Lints,
    TypeChecks,
    Builds,
    Tests,
}

/// Whose tasks a repository defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskRunner {
    /// The scripts of a `package.json`, which npm, pnpm, yarn and bun run.
    PackageScript,
    Make,
    Just,
    /// `Taskfile.yml`
    Taskfile,
    Mise,
    Poe,
    Pdm,
    Hatch,
    Rye,
    Pixi,
    Tox,
    Nox,
    Composer,
    Rake,
    Deno,
    Devbox,
    /// Aliases of `.cargo/config.toml`.
    Cargo,
    /// Targets of a `project.json`.
    Nx,
    Moon,
    /// What a commit runs: husky, lefthook, pre-commit.
    CommitHook,
    /// A step of a CI workflow. Nobody runs it here, but it says how the project verifies.
    Workflow,
}

impl TaskRunner {
    /// Whether it runs its first task if it is given no name; others list what there is.
    pub(crate) fn has_default_task(self) -> bool {
        matches!(self, Self::Make | Self::Just | Self::Rake)
    }
}

/// How the words of a program are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grammar {
    Operands,
    /// The first word says what it does.
    Subcommand,
    /// Words name targets, which the repository defines.
    Targets,
    /// The first word is a subcommand or names a script, which the repository defines.
    Scripts,
}

/// The lines with which a builder or an installer itself says how it ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    /// Where it does this; other things would have to be done after the lines.
    pub(crate) deeds: &'static [Deed],
    /// How a line begins that says that all went well; `#` is a digit.
    pub(crate) well: &'static [&'static str],
    /// How a line begins that says that something did not.
    pub(crate) badly: &'static str,
}

/// What a program starts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Launches {
    Nothing,
    /// The command after its own words.
    Rest(&'static [Launch]),
    /// A shell: the script that it is given.
    Script,
    /// `eval`: its words as a script.
    Words,
    /// `find -exec`
    PerFile,
    /// `xargs`: the command with more arguments than are written.
    WithArguments,
    /// `python -m`
    Module,
    /// What comes after one of these options.
    After(&'static str),
    /// The command line after one of these options, in whatever case.
    CommandLine(&'static str),
}

/// A way to start another program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch {
    /// Words between the program and the command, with `/` between: `tool/run`.
    pub(crate) after: &'static str,
    /// Options whose value is the next word, beside those of the row.
    pub(crate) valued: &'static str,
    /// Words before the command that are no options: the duration of `timeout`, the container of `docker exec`.
    pub(crate) operands: usize,
    /// Options with which it starts nothing that is waited for.
    pub(crate) unless: &'static str,
    /// The option without which it starts something else.
    pub(crate) only_with: &'static str,
    /// The option without which it leaves at once.
    pub(crate) waits_with: &'static str,
    /// The last word of `after` is itself the program: `uv pip`.
    pub(crate) is_program: bool,
}

const LAUNCH: Launch = Launch {
    after: "",
    valued: "",
    operands: 0,
    unless: "",
    only_with: "",
    waits_with: "",
    is_program: false,
};

const fn after(after: &'static str, valued: &'static str) -> Launch {
    Launch { after, valued, ..LAUNCH }
}

/// Which files a program writes, as far as the command line tells.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Writes {
    Nothing,
    Operands,
    /// The operands, which go away.
    Removed,
    /// The last operand; the others go away.
    Moved,
    /// The last operand.
    Copied,
    /// The value of one of these options.
    ValueOf(&'static str),
    /// The rest of the operand that begins with this.
    Named(&'static str),
    /// Its input files, if it has one of these options.
    InPlace(&'static str),
    /// Files that the command line does not name, if it has this option.
    Unnamed(&'static str),
    /// As `sed -i` does.
    Sed,
    /// As `perl -i -e` does.
    OneLiner,
    /// As a patch that is read says.
    Patch,
    /// As the patch in its text says.
    PatchText,
    Git,
}

/// Which files a program reads, as far as the command line tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reads {
    Nothing,
    Operands,
    /// The operands after a script or a pattern.
    AfterScript,
    Git,
}

/// What is true of few programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    /// Its output is a part of its input.
    Filters,
    /// No failure comes from it.
    NeverFails,
    /// It answers by its exit status and prints nothing.
    AnswersSilently,
    /// What it prints of its input is no line of it.
    ShowsNoLine,
    /// The summary of its tests is the last that it prints, and is missing only if it came to no end.
    EndsWithSummary,
    /// It takes everything where nothing is chosen.
    TakesAll,
    /// Other words are a new try of the same: another message, another branch, another version of a package.
    AnyWords,
    /// Its tests are compiled by it before they run.
    CompilesTests,
    /// Takes code on the command line or from its input.
    Interprets,
    /// Runs a task in every package that has it.
    EveryPackage,
    /// `yarn`, `pnpm` and `bun` run it by its name alone.
    NodeTool,
    /// Runs installed tools by their name alone.
    RunsNodeTools,
    /// A type checker or compiler that says nothing of other files than those that it is given.
    ChecksFiles,
    /// Of several files it checks the first; the others are arguments of it.
    ChecksOneFile,
    /// What it checks is prose, settings or infrastructure: it says nothing of code.
    ChecksNoCode,
    /// It takes what lies below the files and folders that it is given, or else below the folder that it runs in.
    StaysBelow,
    /// The value of an option with one letter may follow in the same word: `-pa`.
    JoinsValues,
    /// What begins with neither `.` nor `/` is the name of a package, and no folder: `go test example.com/a`.
    NamesPackages,
    /// What it starts has folders of its own.
    StartsInContainer,
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program {
    /// What it does where no use says more.
    pub(crate) deed: Deed,
    /// What it does by its words; the first that fits counts. There are several ways to say it, each of words with `/`
    /// between that follow each other; `*` is any text, and an option may stand anywhere.
    uses: &'static [(&'static str, Deed)],
    pub(crate) grammar: Grammar,
    /// Options whose value is the next word.
    pub(crate) valued: &'static str,
    /// The same, of those that say in which folder it works.
    pub(crate) folder: &'static str,
    /// The same, of those that choose packages of the repository.
    pub(crate) package: &'static str,
    /// The same, of those that leave packages out of all that there are.
    pub(crate) leaves_out: &'static str,
    /// What keeps it from doing its work: it lists, explains itself, or only says what it would do. `-x=y` is also `-x y`.
    pub(crate) idle: &'static str,
    /// Letters that mean the same at the beginning of a cluster of short options.
    pub(crate) idle_letters: &'static str,
    /// Whose tasks it runs.
    pub(crate) tasks: &'static [TaskRunner],
    /// Words before the name of a task: `deno task build`.
    pub(crate) task_words: &'static str,
    /// Options whose value names a task: `tox -e lint`.
    pub(crate) task_options: &'static str,
    pub(crate) launches: Launches,
    pub(crate) writes: Writes,
    pub(crate) reads: Reads,
    /// The uses that show what others wrote or printed, a log, a page or a message; written as `uses` are.
    pub(crate) shows: &'static str,
    /// Whose summaries of tests it prints, beside those of what it starts.
    pub(crate) prints: &'static [Runner],
    pub(crate) done: Done,
    /// What it prints where its work had been done before.
    pub(crate) already: &'static str,
    facts: &'static [Fact],
}

impl Program {
    const EMPTY: Self = Self {
        deed: Deed::Other,
        uses: &[],
        grammar: Grammar::Operands,
        valued: "",
        folder: "",
        package: "",
        leaves_out: "",
        idle: "",
        idle_letters: "",
        tasks: &[],
        task_words: "",
        task_options: "",
        launches: Launches::Nothing,
        writes: Writes::Nothing,
        reads: Reads::Nothing,
        shows: "",
        prints: &[],
        done: Done { deeds: &[], well: &[], badly: "" },
        already: "",
        facts: &[],
    };

    pub(crate) fn is(&self, fact: Fact) -> bool {
        self.facts.contains(&fact)
    }

    /// What it does by these words and options, where a use says so.
    pub(crate) fn used(&self, words: &[&str], options: &[&str]) -> Option<Deed> {
        self.uses.iter().find(|(paths, _)| self.is_use(paths, words, options)).map(|(_, deed)| *deed)
    }

    /// Whether these words and options are one of the uses in a list.
    pub(crate) fn is_use(&self, paths: &str, words: &[&str], options: &[&str]) -> bool {
        let part_fits = |part: &str, from: &mut usize, anywhere: bool| {
            let rest = words.get(*from..).unwrap_or_default();
            let within = if anywhere { rest.len() } else { 1 };
            let found = rest.iter().take(within).position(|word| matches_glob(part, word));
            *from += found.unwrap_or(0) + 1;
            found.is_some()
        };
        let fits = |path: &str| {
            let mut from = 0;
            path.split('/').enumerate().all(|(place, part)| match part.starts_with('-') {
                true => options.contains(&part),
                false => part_fits(part, &mut from, place == 0 && self.grammar == Grammar::Operands),
            })
        };
        paths.split_ascii_whitespace().any(fits)
    }

    /// Whether its words matter for what it does.
    pub(crate) fn has_uses(&self) -> bool {
        !self.uses.is_empty()
    }

    /// Whether it can do one of these things.
    pub(crate) fn can(&self, deeds: &[Deed]) -> bool {
        deeds.contains(&self.deed) || self.uses.iter().any(|(_, deed)| deeds.contains(deed))
    }

    /// Whether the first word of a pattern for this program has to be the subcommand.
    pub(crate) fn has_subcommands(&self) -> bool {
        matches!(self.grammar, Grammar::Subcommand | Grammar::Scripts)
    }

    /// Whether what it does is defined by the repository.
    pub(crate) fn runs_tasks(&self) -> bool {
        matches!(self.grammar, Grammar::Targets | Grammar::Scripts)
    }

    /// An option, and its value if that is in the same word: `--prefix=web`, `-pa`.
    pub(crate) fn option<'w>(&self, word: &'w str) -> (&'w str, Option<&'w str>) {
        if let Some((name, value)) = word.split_once('=') {
            return (name, Some(value));
        }
        match word.split_at_checked(2) {
            Some((name, value))
                if self.is(Fact::JoinsValues) && !value.is_empty() && self.takes_value(name) =>
            {
                (name, Some(value))
            }
            _ => (word, None),
        }
    }

    /// Whether the next word is the value of this option.
    pub(crate) fn takes_value(&self, option: &str) -> bool {
        option.starts_with('-')
            && [self.valued, self.folder, self.package, self.leaves_out, self.task_options]
                .iter()
                .any(|words| has(words, option))
    }
}

/// The row of a program, by the name that it goes by.
pub(crate) fn find(name: &str) -> Option<&'static Program> {
    let families = [
        files::find,
        shell::find,
        git::find,
        launchers::find,
        python::find,
        node::find,
        rust::find,
        compiled::find,
        checkers::find,
        tasks::find,
    ];
    let row = families.iter().find_map(|find| find(name));
    #[cfg(test)]
    let row = row.filter(|row| !labelled::is_left_out(row));
    row
}

/// Whether a word is in a list.
pub(crate) fn has(words: &str, word: &str) -> bool {
    !words.is_empty() && words.as_bytes().split(|byte| *byte == b' ').any(|one| one == word.as_bytes())
}

/// The name that a program goes by, whatever its folder and version: `python` for `/usr/bin/python3.12`.
pub(crate) fn base_name(program: &str) -> &str {
    let name = program.trim_end_matches('/').rsplit(['/', '\\']).next().unwrap_or(program);
    let name = [".exe", ".cmd", ".bat"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
    let versionless = name.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.');
    match name {
        "py.test" => "pytest",
        "nodejs" => "node",
        "gmake" => "make",
        _ if matches!(versionless, "python" | "pip" | "pytest-") => versionless.trim_end_matches('-'),
        _ => name,
    }
}

/// `*` stands for any text.
pub(crate) fn matches_glob(glob: &str, word: &str) -> bool {
    // Most are told apart by how they begin and end.
    let may_be = |one: Option<&u8>, other: Option<&u8>| one == Some(&b'*') || one == other;
    let (signs, letters) = (glob.as_bytes(), word.as_bytes());
    if !may_be(signs.first(), letters.first()) || !may_be(signs.last(), letters.last()) {
        return false;
    }
    if !glob.as_bytes().contains(&b'*') {
        return glob == word;
    }
    let mut pieces = glob.split('*');
    let Some(mut rest) = word.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        let Some(at) = rest.find(piece) else { return false };
        rest = rest.get(at + piece.len()..).unwrap_or_default();
    }
    true
}

#[cfg(test)]
#[path = "../tests/labelled/rows.rs"]
mod labelled;
