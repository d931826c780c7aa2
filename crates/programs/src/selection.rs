//! What the words of a command choose from all that its program could do, and whether another command does at least as
//! much: `pytest` settles `pytest a`, while `pytest a` settles neither `pytest` nor `pytest b` (E9).

use crate::shell::{SimpleCommand, Word};
use crate::table::{self, Deed, Fact, Grammar, Program};
use crate::test_file::is_code_file;

/// Options with a value that leave something out: `-k name`.
const NARROWS: &str = "-k -m -run --run -t --filter --grep -g --package -p --test -E --testNamePattern \
    --test-name-pattern --testPathPattern --project --ignore --deselect --exclude --skip --bin --example --bench -e -w -R";
/// Options that leave something out by themselves.
const NARROWS_ALONE: &str = "--lib --bins --doc --tests --examples --no-run";
/// Options whose value chooses nothing.
const VALUED: &str = "-n -j --jobs --tb --maxfail --timeout -timeout --reporter --color -count --manifest-path --config \
    -c --features --profile --durations --rootdir -C";
/// Long options without a value, of programs that are given paths: the word after another one may be its value.
const FLAGS: &str = "-race -short -cover -json -failfast -asan -msan --quiet --verbose --exitfirst --last-failed --lf \
    --failed-first --ff --stepwise --sw --showlocals --no-header --no-summary --no-cov --disable-warnings --test";

impl SimpleCommand {
    /// What was chosen of all that the program could take: files, folders, names, `-k name`.
    pub(crate) fn targets(&self) -> Vec<String> {
        let Selection { words, narrows, .. } = Selection::of(self);
        let is_verb = matches!(words.first(), Some(&("run" | "start" | "check" | "discover")));
        words.into_iter().skip(usize::from(is_verb)).map(str::to_owned).chain(narrows).collect()
    }

    /// Whether it was told what to take of all that it could.
    pub fn names_targets(&self) -> bool {
        !self.targets().is_empty()
    }

    /// The files, folders and import paths that it was given; `None` if that is not sure.
    pub(crate) fn named_paths(&self) -> Option<Vec<&str>> {
        let row = self.row()?;
        let (mut paths, mut verbs, mut is_sure) = (Vec::new(), usize::from(row.has_subcommands()), true);
        let mut arguments = self.arguments.iter().map(Word::known);
        while let Some(word) = arguments.next() {
            let word = word?;
            if matches!(word, "--" | "-args") {
                break;
            }
            if word.starts_with('-') {
                let (name, value) = row.option(word);
                let takes_next = value.is_none() && row.takes_value(name);
                if takes_next {
                    arguments.next();
                }
                // `-vx` is several flags, but of go one option.
                let is_long = word.starts_with("--") || (row.has_subcommands() && word.len() > 2);
                is_sure = takes_next || value.is_some() || !is_long || table::has(FLAGS, word);
            } else if verbs > 0 {
                verbs -= 1;
            } else if !is_sure || word.contains(['*', '?', '[', '{', '$', '~']) {
                return None;
            } else {
                let path = word.split("::").next().unwrap_or_default();
                paths.push(path.strip_suffix("/...").unwrap_or(path));
            }
        }
        Some(paths)
    }

    /// Whether it takes this word for the name of a package, and for no folder.
    pub(crate) fn is_import_path(&self, word: &str) -> bool {
        let names_packages = self.row().is_some_and(|row| row.is(Fact::NamesPackages));
        names_packages && !word.starts_with(['.', '/']) && !is_code_file(word)
    }

    /// The folders that it is told to work in, and the paths that it is given, if it runs something.
    pub fn named_places(&self) -> Vec<String> {
        let runs = self.deed() >= Deed::Runs || self.row().is_some_and(|row| !row.tasks.is_empty());
        if !runs || self.is_inline_code() {
            return Vec::new();
        }
        let folder = self.chosen_folder();
        let is_path = |word: &String| !word.starts_with('-') && word.contains(['/', '.']);
        let paths = match self.row().filter(|row| row.is(Fact::StaysBelow)).and_then(|_| self.named_paths()) {
            Some(paths) => {
                let paths = paths.into_iter().filter(|path| !self.is_import_path(path));
                paths.map(str::to_owned).collect()
            }
            None => self.targets().into_iter().filter(is_path).collect::<Vec<_>>(),
        };
        folder.into_iter().chain(paths).collect()
    }

    /// The files that it looks at, and nothing else: `mypy a.py`, `bash -n a.sh`, `eslint src/*.ts`. `None` if it takes more
    /// than it names, as tests do, and where not all that it names are files of code.
    pub(crate) fn checked_files(&self) -> Option<Vec<&str>> {
        let row = self.row()?;
        let looks_at_named = match self.deed_done()? {
            Deed::Lints => true,
            Deed::TypeChecks | Deed::Builds => row.is(Fact::ChecksFiles),
            _ => false,
        };
        let mut words = Vec::new();
        let mut arguments = self.arguments.iter().map(Word::text);
        while let Some(argument) = arguments.next() {
            if !argument.starts_with('-') {
                words.push(argument);
            } else if row.takes_value(argument) || argument == "--config" {
                arguments.next();
            }
        }
        let verbs = usize::from(row.has_subcommands() || matches!(words.first(), Some(&("check" | "run"))));
        let mut files: Vec<&str> = words.into_iter().skip(verbs).collect();
        if row.is(Fact::ChecksOneFile) {
            files.truncate(1);
        }
        // What a variable or a loop stands for is not known; a pattern is.
        let is_file = |word: &&str| !word.contains(['$', '`', '~', '{', '?', '[']) && is_code_file(word);
        (looks_at_named && !files.is_empty() && files.iter().all(is_file)).then_some(files)
    }

    /// Whether both run the same program, for a program of many uses the same use of it.
    pub fn is_same_use(&self, other: &Self) -> bool {
        self.program == other.program && Selection::of(self).does == Selection::of(other).does
    }

    /// Whether this does at least what the earlier command was meant to do, wherever they ran.
    pub fn does_as_much_as(&self, earlier: &Self) -> bool {
        if !self.is_same_use(earlier) && !self.compiles_for(earlier) {
            return false;
        }
        let is = |fact| self.row().is_some_and(|row| row.is(fact));
        let (later, earlier) = (Selection::of(self), Selection::of(earlier));
        if is(Fact::AnyWords) {
            // Two remotes are two places, whatever else a push names.
            let mut remotes = later.words.first().into_iter().zip(earlier.words.first());
            return self.deed() != Deed::Pushes || remotes.all(|(remote, other)| remote == other);
        }
        let covers = |word: &&str| later.words.iter().any(|wider| contains(wider, word));
        let covered = match (later.words.is_empty(), earlier.words.is_empty()) {
            (true, _) if is(Fact::TakesAll) => true,
            (false, true) if is(Fact::TakesAll) => false,
            _ => earlier.words.iter().all(covers),
        };
        covered && later.narrows.iter().all(|narrow| earlier.narrows.contains(narrow))
    }

    /// Tests that ran were compiled before: they settle what did not compile.
    fn compiles_for(&self, earlier: &Self) -> bool {
        let (Some(before), Some(after)) = (earlier.deed_done(), self.deed_done()) else { return false };
        self.program == earlier.program
            && self.row().is_some_and(|row| row.is(Fact::CompilesTests))
            && matches!(before, Deed::TypeChecks | Deed::Builds)
            && before < after
    }
}

fn contains(wider: &str, word: &str) -> bool {
    // `^test_a$` is a way to write `test_a`.
    let plain = |word: &'_ str| word.trim_matches(['^', '$']).trim_start_matches("./").to_owned();
    let (wide, narrow) = (plain(wider.trim_end_matches('/')), plain(word));
    let (wide, narrow) = (wide.as_str(), narrow.as_str());
    wide == narrow
        || narrow.strip_suffix(wide).is_some_and(|folder| folder.ends_with('/'))
        || matches!(wide, "." | "...")
        || narrow.strip_prefix(wide).is_some_and(|rest| rest.starts_with(['/', ':']))
        || wide.strip_suffix("...").is_some_and(|folder| narrow.starts_with(folder))
}

struct Selection<'a> {
    /// The subcommand, target or script.
    does: Option<&'a str>,
    words: Vec<&'a str>,
    /// Options that leave something out.
    narrows: Vec<String>,
}

impl<'a> Selection<'a> {
    fn of(command: &'a SimpleCommand) -> Self {
        let mut selection = Self { does: None, words: Vec::new(), narrows: Vec::new() };
        if command.is_inline_code() {
            return selection;
        }
        let row = command.row();
        let mut arguments = command.arguments.iter().map(Word::text).peekable();
        while let Some(argument) = arguments.next() {
            if !argument.starts_with('-') || argument == "-" {
                selection.words.push(argument);
                continue;
            }
            let (name, value) = match row {
                Some(row) => row.option(argument),
                None => {
                    argument.split_once('=').map_or((argument, None), |(name, value)| (name, Some(value)))
                }
            };
            let chooses = |row: &Program| table::has(row.package, name) || table::has(row.leaves_out, name);
            if table::has(NARROWS, name) || row.is_some_and(chooses) {
                let value =
                    value.or_else(|| arguments.next_if(|next| !next.starts_with('-'))).unwrap_or_default();
                selection.narrows.push(format!("{name} {value}"));
            } else if table::has(NARROWS_ALONE, name) {
                selection.narrows.push(name.to_owned());
            } else if table::has(VALUED, name) && value.is_none() {
                arguments.next();
            }
        }
        let grammar = row.map_or(Grammar::Operands, |row| row.grammar);
        if grammar == Grammar::Scripts && matches!(selection.words.first(), Some(&("run" | "run-script"))) {
            selection.words.remove(0);
        }
        if grammar != Grammar::Operands {
            // `cargo +nightly test`
            selection.words.retain(|word| !word.starts_with('+'));
            selection.does = (!selection.words.is_empty()).then(|| selection.words.remove(0));
        }
        // `cargo nextest run` has a use within its use.
        if selection.does == Some("nextest") && matches!(selection.words.first(), Some(&("run" | "r"))) {
            selection.words.remove(0);
        }
        selection
    }
}
