//! What a command does: the questions that the table of programs answers about one command of a command line.

use std::sync::OnceLock;

use crate::repository::Repository;
use crate::shell::{Output, SimpleCommand, Word, is_installed, subcommand};
use crate::table::{self, Deed, Fact, Grammar, Program, Reads};
use crate::test_file::{is_code_file, is_test_file};

/// Options that keep any program from doing its work.
const IDLE: &str = "--help --version --dry-run";
/// Options with which a program tells of itself.
const TELLS_OF_ITSELF: &str = "--help --version -V";
/// What is given first to an interpreter whose code stands on the command line or comes from its input.
const INLINE: &str = "- -c -e -p --eval --print eval";
/// With which an interpreter only parses the file that it is given.
const PARSES: &str = "-c -wc -cw --check";

/// Modules of Python that do something by themselves, and neither run nor import code that they are given.
const STANDARD_MODULES: &str = "antigravity ast base64 calendar compression.zlib dis encodings.rot_13 ensurepip gzip \
    http.server idlelib json json.tool locale mimetypes pickle pickletools platform pyclbr quopri random site \
    sqlite3 symtable sysconfig tabnanny tarfile this tokenize turtledemo uuid venv webbrowser xml zipapp zipfile";

/// What the table says of a command, looked up when it is first asked for: rules ask over and over. It says nothing that
/// the command does not, so that any two are alike.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownMeaning {
    row: OnceLock<Option<&'static Program>>,
    deed: OnceLock<Deed>,
}

impl PartialEq for KnownMeaning {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for KnownMeaning {}

/// The tasks that a command names, and what it gives to them.
pub(crate) struct TaskCall<'a> {
    pub(crate) names: Vec<&'a str>,
    pub(crate) arguments: Vec<&'a str>,
}

impl SimpleCommand {
    pub(crate) fn row(&self) -> Option<&'static Program> {
        *self.meaning.row.get_or_init(|| table::find(&self.program))
    }

    /// What the command does, as far as its words tell.
    pub fn deed(&self) -> Deed {
        let find = || {
            self.row().map_or(Deed::Other, |row| match self.deed_by(row) {
                Deed::Runs if self.only_parses(row) => Deed::Lints,
                Deed::Runs | Deed::Other if self.runs_test_file(row) => Deed::Tests,
                Deed::Other if !self.arguments.is_empty() && self.is_inline_code() => Deed::Runs,
                deed => deed,
            })
        };
        *self.meaning.deed.get_or_init(find)
    }

    /// The word that says what the program shall do, if the table knows that it has such words: `git commit`, `npm test`.
    pub fn subcommand(&self) -> Option<&str> {
        let row = self.row().filter(|row| row.has_subcommands() || row.runs_tasks())?;
        let words = subcommand::significant(self, Some(row), &[]);
        words.into_iter().find(|word| !word.starts_with(['-', '\0']))
    }

    /// What the first word says that a program does of which nothing is known: `tool check`, `tool test`.
    pub fn likely_deed(&self) -> Deed {
        let word = self.known_arguments().next().filter(|_| self.row().is_none());
        word.map(table::usual_deed).filter(|deed| *deed >= Deed::Lints).unwrap_or(Deed::Other)
    }

    /// Whether it runs a file of tests as a program, and no runner of tests: what runs in it is up to the file.
    pub fn starts_test_file(&self) -> bool {
        self.deed() == Deed::Tests && self.row().is_some_and(|row| self.deed_by(row) != Deed::Tests)
    }

    /// `python tests/test_a.py`, `bun a.test.ts`, `ruby test/a_test.rb`
    fn runs_test_file(&self, row: &Program) -> bool {
        let is_verb = |word: &&str| word.starts_with('-') || matches!(*word, "run");
        let file = self.known_arguments().find(|word| !is_verb(word));
        (row.is(Fact::Interprets) || row.is(Fact::NodeTool))
            && !self.is_inline_code()
            && file.is_some_and(is_test_file)
    }

    /// `ruby -c a.rb`, `node --check a.js`: the file is read, and not run.
    fn only_parses(&self, row: &Program) -> bool {
        let first = self.arguments.first().and_then(Word::known);
        row.is(Fact::Interprets)
            && row.is(Fact::ChecksOneFile)
            && first.is_some_and(|first| table::has(PARSES, first))
    }

    pub(crate) fn deed_by(&self, row: &Program) -> Deed {
        if !row.task_options.is_empty() && !row.runs_tasks() {
            // Another environment or session than that of the tests does something else (L8).
            let deeds = self.tasks_by_option(row).into_iter().map(|name| match table::usual_deed(name) {
                Deed::Other if name.starts_with("py") || name.contains('3') => Deed::Tests,
                deed => deed,
            });
            return deeds.max().unwrap_or(row.deed);
        }
        if !row.runs_tasks() && !row.has_uses() {
            return row.deed;
        }
        let words = subcommand::significant(self, Some(row), &[]);
        let words: Vec<&str> = words.into_iter().filter(|word| !word.starts_with('-')).collect();
        let words: Vec<&str> = words.into_iter().chain(self.tasks_by_option(row)).collect();
        let options: Vec<&str> = self.known_arguments().filter(|word| word.starts_with('-')).collect();
        let task = |word: &&str| row.used(&[word], &options).unwrap_or_else(|| table::usual_deed(word));
        match row.grammar {
            Grammar::Operands | Grammar::Subcommand => row.used(&words, &options).unwrap_or(row.deed),
            Grammar::Targets => words.iter().map(task).max().unwrap_or(row.deed),
            // Without a name, the scripts are listed.
            Grammar::Scripts if words == ["run"] => Deed::Looks,
            Grammar::Scripts => {
                row.used(&words, &options).unwrap_or_else(|| words.first().map_or(row.deed, task))
            }
        }
    }

    /// What the command does, if it is not kept from it. Tests that are only compiled are built, and what skips its tests
    /// still builds.
    pub fn deed_done(&self) -> Option<Deed> {
        let deed = self.deed();
        let Some(idle) = self.idle_argument() else { return Some(deed) };
        let compiles = self.row().is_some_and(|row| row.is(Fact::CompilesTests));
        let builds = match deed {
            // `mvn verify -DskipTests`
            Deed::Tests if idle.to_ascii_lowercase().contains("skip") => true,
            Deed::Tests => {
                compiles && (idle == "--no-run" || idle == "-c" || table::has("^$ NONE XXX", idle))
            }
            Deed::Builds => idle.to_ascii_lowercase().contains("test"),
            _ => false,
        };
        builds.then_some(Deed::Builds)
    }

    /// `tox -e lint,docs`
    fn tasks_by_option(&self, row: &Program) -> Vec<&str> {
        let arguments: Vec<&str> = self.known_arguments().collect();
        let values =
            arguments.iter().enumerate().filter_map(|(at, argument)| match argument.split_once('=') {
                Some((name, value)) => table::has(row.task_options, name).then_some(value),
                None => arguments.get(at + 1).filter(|_| table::has(row.task_options, argument)).copied(),
            });
        values.flat_map(|value| value.split(',')).filter(|name| !name.is_empty()).collect()
    }

    /// The tasks that it names, if the program runs tasks: `make fmt test`, `npm run test:unit -- x`, `deno task check`.
    pub(crate) fn task_call(&self, row: &Program) -> Option<TaskCall<'_>> {
        if row.tasks.is_empty() {
            return None;
        }
        let mut words = subcommand::significant(self, Some(row), &[]);
        words.retain(|word| !word.starts_with(['-', '\0']));
        let named = self.tasks_by_option(row);
        if !named.is_empty() {
            return Some(TaskCall { names: named, arguments: words });
        }
        if !row.task_options.is_empty() && !row.runs_tasks() {
            return None;
        }
        let is_task_word = |word: &&str| table::has(row.task_words, word);
        let is_explicit = words.first().is_some_and(is_task_word)
            || self.known_arguments().any(|word| matches!(word, "run" | "run-script"));
        if words.first().is_some_and(is_task_word) {
            words.remove(0);
        }
        let after_dashes = self.known_arguments().skip_while(|word| *word != "--").skip(1);
        let mut arguments: Vec<&str> = after_dashes.filter(|word| !word.starts_with('-')).collect();
        match row.grammar {
            Grammar::Targets => {
                words.retain(|word| !word.contains('='));
                return Some(TaskCall { names: words, arguments });
            }
            Grammar::Scripts if !is_explicit && row.used(words.get(..1)?, &[]).is_some() => return None,
            Grammar::Subcommand if !is_explicit && !row.task_words.is_empty() => return None,
            _ => {}
        }
        let mut calls = words.split(|word| *word == ":::");
        let first = calls.next()?;
        arguments.extend(first.iter().skip(1));
        let names = first.first().into_iter().chain(calls.filter_map(<[&str]>::first)).copied().collect();
        Some(TaskCall { names, arguments }).filter(|call: &TaskCall<'_>| !call.names.is_empty())
    }

    /// Whether the command does this, and does not only list or explain it (E7).
    pub fn does(&self, deed: Deed) -> bool {
        self.deed() == deed && self.idle_argument().is_none()
    }

    /// The argument that keeps the command from doing what it names, if there is one (E7): `pytest --collect-only`,
    /// `cargo test --no-run`, `make -n restart`.
    pub fn idle_argument(&self) -> Option<&str> {
        let (idle, letters) = self.row().map_or(("", ""), |row| (row.idle, row.idle_letters));
        let mut previous = "";
        // What stands behind the dashes is for the program that is started: `cargo run -- --list`.
        let mut own = self.known_arguments().take_while(|word| *word != "--" || self.deed() != Deed::Runs);
        own.find(|argument| {
            let with_value = |(option, value): (&str, &str)| match value {
                "" => argument.strip_prefix(option).is_some_and(|rest| rest.starts_with('=')),
                _ => previous == option && *argument == value,
            };
            let found = table::has(IDLE, argument)
                || table::has(idle, argument)
                || idle.split(' ').filter_map(|word| word.split_once('=')).any(with_value)
                || begins_cluster(argument, letters);
            previous = argument;
            found
        })
    }

    /// Whether the command only reads.
    pub fn only_looks(&self) -> bool {
        let reads = || matches!(self.deed(), Deed::Looks | Deed::Prints | Deed::Steers) || self.asks();
        let tells_of_itself = || self.arguments.iter().any(|word| table::has(TELLS_OF_ITSELF, word.text()));
        self.edits.is_nothing() && (tells_of_itself() || reads())
    }

    /// Whether what it does is up to the repository: a script that lies there, or a task.
    pub fn is_of_repository(&self) -> bool {
        match (self.row(), &self.path) {
            (Some(row), _) => row.runs_tasks(),
            (None, Some(path)) => !is_installed(path),
            (None, None) => Repository::is_script(&self.program),
        }
    }

    /// Whether nothing of what the whole printed is from it: it steers the shell, or answers by its exit status alone.
    pub fn prints_nothing(&self) -> bool {
        let is_silent = || self.row().is_some_and(|row| row.is(Fact::AnswersSilently));
        self.output == Output::Hidden || self.deed() == Deed::Steers || is_silent()
    }

    /// Whether it prints a part of its input, and of nothing else.
    pub fn only_filters(&self) -> bool {
        self.reads.is_empty() && self.row().is_some_and(|row| row.is(Fact::Filters))
    }

    /// Whether the command answers a question by its exit status (E8).
    pub fn asks(&self) -> bool {
        matches!(self.deed(), Deed::Asks | Deed::Ends)
    }

    /// Whether the command surely writes no file. A script of `awk` or `sed` may.
    pub fn surely_writes_nothing(&self) -> bool {
        let runs_script =
            self.row().is_some_and(|row| row.reads == Reads::AfterScript && row.deed == Deed::Looks);
        let only_shows = self.arguments.first().and_then(Word::known) == Some("-n");
        self.edits.is_nothing()
            && matches!(self.deed(), Deed::Looks | Deed::Asks | Deed::Prints | Deed::Steers)
            && (!runs_script || only_shows)
    }

    /// Whether the command, beside a formatter or a commit, writes no file of its own: what was written meanwhile was
    /// laid out anew. A script before the commit may have done more than that, and so may a task that is called `lint`.
    pub fn stands_by(&self) -> bool {
        match self.deed() {
            Deed::Formats | Deed::Commits | Deed::Pushes | Deed::Records => true,
            Deed::Looks | Deed::Asks | Deed::Prints | Deed::Steers => self.edits.is_nothing(),
            Deed::Lints => self.row().is_some_and(|row| !row.runs_tasks()),
            _ => false,
        }
    }

    /// `python -c …`, `node -e …`, and a script on standard input.
    pub fn is_inline_code(&self) -> bool {
        let first = self.arguments.first().map(Word::text);
        self.row().is_some_and(|row| row.is(Fact::Interprets) && !self.only_parses(row))
            && first.is_none_or(|first| table::has(INLINE, first))
    }

    /// The file of code that an interpreter is given to run.
    pub(crate) fn program_file(&self) -> Option<&str> {
        let row = self.row().filter(|row| row.is(Fact::Interprets))?;
        let mut arguments = self.arguments.iter().map(Word::known);
        if self.is_inline_code() {
            return None;
        }
        loop {
            match arguments.next()?? {
                "-m" => return None,
                "run" if row.has_subcommands() || row.runs_tasks() => {}
                option if option.starts_with('-') => {
                    if row.takes_value(option) {
                        arguments.next();
                    }
                }
                file => return Some(file).filter(|file| is_code_file(file)),
            }
        }
    }

    /// Whether a module of Python's own library is run, which is not what anybody here works on: `python -m json.tool`.
    pub fn runs_standard_module(&self) -> bool {
        let Some(row) = self.row().filter(|_| self.program == "python") else { return false };
        let mut words = self.arguments.iter().map(Word::text);
        // After the program the words are its own.
        while let Some(option) = words.next().filter(|word| word.starts_with('-')) {
            if option == "-m" {
                return words.next().is_some_and(|module| table::has(STANDARD_MODULES, module));
            }
            if row.takes_value(option) {
                words.next();
            }
        }
        false
    }

    /// Whether a summary of tests in the output can be from this command.
    pub fn may_print_summary(&self) -> bool {
        self.row().is_some_and(|row| !row.prints.is_empty() || row.runs_tasks() || row.is(Fact::Interprets))
    }

    /// Whether it cannot have come to its end if its last lines have no summary of tests. Asked twice to be quiet, a runner
    /// prints none.
    pub fn ends_with_summary(&self) -> bool {
        let quiet = |word: &str| match word {
            "--quiet" => 1,
            _ => word.strip_prefix('-').filter(|all| all.bytes().all(|one| one == b'q')).map_or(0, str::len),
        };
        let is_quiet = || self.known_arguments().map(quiet).sum::<usize>() > 1;
        self.row().is_some_and(|row| row.is(Fact::EndsWithSummary)) && !is_quiet()
    }

    /// Whether it shows what others wrote or printed before: a file, a log, a page, the message of a commit.
    pub fn shows_texts(&self) -> bool {
        let Some(row) = self.row() else { return false };
        let words = subcommand::significant(self, Some(row), &[]);
        let words: Vec<&str> = words.into_iter().filter(|word| !word.starts_with('-')).collect();
        let is_short = self.known_arguments().any(|word| word == "--oneline");
        let looks = matches!(self.deed(), Deed::Looks | Deed::Asks);
        (looks && !self.reads.is_empty()) || (row.is_use(row.shows, &words, &[]) && !is_short)
    }

    /// Whether the output says that there was nothing left to do: `mkdir` of a folder that is there.
    pub fn was_done_before(&self, printed: &str) -> bool {
        self.row().is_some_and(|row| !row.already.is_empty() && printed.contains(row.already))
    }

    /// Whether the output shows by the program's own words that the command came to its good end. It is the proof where
    /// a pipe hides the exit status of a builder or an installer, as `cargo check 2>&1 | tail -5` does; test runners have
    /// summaries of their own.
    pub fn says_it_is_done(&self, printed: &str) -> bool {
        let Some(row) = self.row().filter(|row| row.done.deeds.contains(&self.deed_by(row))) else {
            return false;
        };
        let begins = |line: &str, mark: &str| match mark.strip_suffix('#') {
            Some(text) => line
                .strip_prefix(text)
                .is_some_and(|rest| rest.starts_with(|next: char| next.is_ascii_digit())),
            None => line.starts_with(mark),
        };
        let mut lines = printed.lines().map(str::trim);
        lines.clone().any(|line| row.done.well.iter().any(|mark| begins(line, mark)))
            && !lines.any(|line| line.starts_with(row.done.badly))
    }
}

/// `-nB`, but neither `-j4` nor `--trace`.
fn begins_cluster(argument: &str, letters: &str) -> bool {
    argument.strip_prefix('-').is_some_and(|cluster| {
        cluster.len() > 1
            && cluster.bytes().all(|byte| byte.is_ascii_alphabetic())
            && cluster.starts_with(|first| letters.contains(first))
    })
}
