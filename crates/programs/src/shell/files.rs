//! The files that a command line names: those it changes (E12) and those it reads. Best effort: a command
//! that edits files without naming them says so, and the files' own times tell the rest.

use serde::{Deserialize, Serialize};

use super::word::Word;
use super::{Directory, SimpleCommand};
use crate::table::{self, Deed, Program, Reads, Writes};

/// Files by their paths: relative to where the whole command began, or absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touched {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Those of `paths` that are not there any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
    /// And others that the command line does not name.
    #[serde(default, skip_serializing_if = "is_false")]
    pub others: bool,
}

/// As long as Linux allows.
const LONGEST_PATH: usize = 4096;

/// Of each command; what is beyond counts as not named.
const MOST_PATHS: usize = 200;

fn is_false(value: &bool) -> bool {
    !*value
}

impl Touched {
    pub fn is_nothing(&self) -> bool {
        self.paths.is_empty() && !self.others
    }

    pub(crate) fn add(&mut self, more: Self) {
        for path in more.paths {
            if self.paths.len() >= MOST_PATHS {
                self.others = true;
            } else if !self.paths.contains(&path) {
                self.paths.push(path);
            }
        }
        self.gone.extend(more.gone);
        self.others |= more.others;
    }

    fn are_gone(self) -> Self {
        Self { gone: self.paths.clone(), ..self }
    }

    pub(crate) fn word(&mut self, word: &Word, directory: &Directory) {
        match word.known().and_then(|path| resolve(path, directory)) {
            Some(path) => self.add(Self { paths: vec![path], ..Self::default() }),
            None => self.others = true,
        }
    }
}

/// One spelling for one file: `./a/../b` is `b`, and `x` after `cd sub` is `sub/x`. `None` if the folder
/// is not known or the path is empty.
pub(crate) fn resolve(path: &str, directory: &Directory) -> Option<String> {
    if path.is_empty() || path.len() > LONGEST_PATH {
        return None;
    }
    let base = match directory {
        _ if path.starts_with('/') => "/",
        Directory::Start => "",
        Directory::At(base) if base.len() <= LONGEST_PATH => base,
        Directory::At(_) | Directory::Unknown => return None,
    };
    Some(one_spelling(base, path))
}

/// The path without `.` and `..`, from `base` unless it is absolute.
pub fn one_spelling(base: &str, path: &str) -> String {
    let base = if path.starts_with('/') { "" } else { base };
    let absolute = path.starts_with('/') || base.starts_with('/');
    // Almost all paths are spelled so already.
    if base.is_empty() && is_plain(path.strip_prefix('/').unwrap_or(path)) {
        return path.to_owned();
    }
    let mut spelled = String::with_capacity(base.len() + path.len() + 2);
    for part in base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." if !spelled.is_empty() && spelled.rsplit('/').next() != Some("..") => {
                spelled.truncate(spelled.rfind('/').unwrap_or(0));
            }
            ".." if absolute => {}
            _ => {
                if absolute || !spelled.is_empty() {
                    spelled.push('/');
                }
                spelled.push_str(part);
            }
        }
    }
    if absolute && spelled.is_empty() {
        spelled.push('/');
    }
    spelled
}

/// Whether no part of it is empty or begins with a dot.
fn is_plain(path: &str) -> bool {
    let mut before = b'/';
    for byte in path.bytes() {
        if before == b'/' && matches!(byte, b'/' | b'.') {
            return false;
        }
        before = byte;
    }
    before != b'/'
}

/// A command line that is asked for the files in it.
struct CommandLine<'a> {
    row: &'a Program,
    arguments: &'a [Word],
    directory: &'a Directory,
}

impl<'a> CommandLine<'a> {
    /// The words that are no options and no values of options. `valued`: options with a value beside those of the row.
    fn operands(&self, valued: &str) -> Vec<&'a Word> {
        let mut operands = Vec::new();
        let mut arguments = self.arguments.iter();
        while let Some(word) = arguments.next() {
            let text = word.text();
            if text == "--" {
                operands.extend(arguments);
                break;
            }
            if self.row.takes_value(text) || table::has(valued, text) {
                arguments.next();
            } else if !text.starts_with('-') || text == "-" {
                operands.push(word);
            }
        }
        operands
    }

    fn has(&self, options: &str) -> bool {
        self.arguments.iter().any(|word| word.known().is_some_and(|text| table::has(options, text)))
    }

    /// Whether a letter occurs among the short options, as in `-pi`.
    fn has_letter(&self, letter: char) -> bool {
        self.arguments.iter().filter_map(Word::known).any(|text| {
            text.strip_prefix('-').is_some_and(|letters| {
                !letters.starts_with('-') && letters.split('.').next().unwrap_or_default().contains(letter)
            })
        })
    }

    fn touch(&self, words: &[&Word]) -> Touched {
        let mut touched = Touched::default();
        for word in words.iter().filter(|word| !word.text().starts_with("/dev/")) {
            touched.word(word, self.directory);
        }
        touched
    }

    /// Files that are rewritten in place: those that are named, or nobody knows which.
    fn rewritten(&self) -> Touched {
        let files: Vec<_> = self.operands("").into_iter().filter(|word| has_extension(word.text())).collect();
        if files.is_empty() { OTHERS } else { self.touch(&files) }
    }

    fn read(&self, words: &[&Word]) -> Vec<String> {
        words
            .iter()
            .filter_map(|word| resolve(word.known()?, self.directory))
            .filter(|path| path != "-")
            .collect()
    }
}

/// Options that give the script or pattern, which is the first operand otherwise.
const SCRIPT: &str = "-e -f --expression --regexp --file";

const OTHERS: Touched = Touched { paths: Vec::new(), gone: Vec::new(), others: true };

/// What a command changes and what it reads. `body`: its here-document.
pub(crate) fn touched(command: &SimpleCommand, body: &str) -> (Touched, Vec<String>) {
    let Some(row) = command.row() else { return Default::default() };
    let line = CommandLine { row, arguments: &command.arguments, directory: &command.directory };
    let edits = if rewrites(row, command) { line.rewritten() } else { edits(&line, body) };
    let mut reads = if edits.is_nothing() { reads(&line) } else { Vec::new() };
    reads.truncate(MOST_PATHS);
    (edits, reads)
}

/// Whether it is a formatter or fixer that rewrites files in place. Of a task only the name is known.
fn rewrites(row: &Program, command: &SimpleCommand) -> bool {
    const REWRITES: &[Deed] = &[Deed::Formats, Deed::Fixes];
    !row.runs_tasks() && row.can(REWRITES) && REWRITES.contains(&command.deed_by(row))
}

fn edits(line: &CommandLine<'_>, body: &str) -> Touched {
    match line.row.writes {
        Writes::Nothing => Touched::default(),
        Writes::Operands => line.touch(&line.operands("")),
        Writes::Removed => line.touch(&line.operands("")).are_gone(),
        Writes::Moved => moved(line, &line.operands(""), true),
        Writes::Copied => moved(line, &line.operands(""), false),
        Writes::ValueOf(options) => option_value(line, options),
        Writes::Named(prefix) => {
            let named = line.operands("").into_iter().filter_map(|word| word.text().strip_prefix(prefix));
            let files: Vec<Word> = named.map(Word::from).collect();
            line.touch(&files.iter().collect::<Vec<_>>())
        }
        Writes::InPlace(options) if line.has(options) => line.rewritten(),
        Writes::Unnamed(option) if line.has(option) => OTHERS,
        Writes::InPlace(_) | Writes::Unnamed(_) => Touched::default(),
        Writes::Sed if line.has("--in-place") || sed_in_place(line) => {
            let mut operands = line.operands("");
            // BSD's `sed -i ''`.
            operands.retain(|word| word.known() != Some(""));
            let script_given = line.has(SCRIPT)
                || line.arguments.iter().any(|word| word.text().starts_with("--expression="));
            line.touch(operands.get(usize::from(!script_given)..).unwrap_or_default())
        }
        Writes::OneLiner if line.has_letter('i') && line.has_letter('e') => {
            let after_script = line.arguments.iter().position(|word| {
                word.text().starts_with('-')
                    && !word.text().starts_with("--")
                    && word.text().ends_with(['e', 'E'])
            });
            let files = after_script.and_then(|at| line.arguments.get(at + 2..)).unwrap_or_default();
            line.touch(&files.iter().filter(|word| !word.text().starts_with('-')).collect::<Vec<_>>())
        }
        Writes::Sed | Writes::OneLiner => Touched::default(),
        Writes::Patch if line.has("--dry-run") => Touched::default(),
        Writes::Patch => line.operands("").first().map_or(OTHERS, |file| line.touch(&[file])),
        Writes::PatchText => patched(line, body),
        Writes::Git => git_edits(line),
    }
}

fn sed_in_place(line: &CommandLine<'_>) -> bool {
    line.arguments.iter().filter_map(Word::known).take_while(|text| *text != "--").any(|text| {
        text.starts_with("--in-place=")
            || text.strip_prefix('-').is_some_and(|letters| {
                let flags: String =
                    letters.chars().take_while(|letter| letter.is_ascii_alphabetic()).collect();
                !letters.starts_with('-') && flags.contains('i') && !flags.starts_with(['e', 'f'])
            })
    })
}

/// The target, or what the sources become in it; and the sources where they go away.
fn moved(line: &CommandLine<'_>, operands: &[&Word], sources_go: bool) -> Touched {
    let mut touched = Touched::default();
    let Some((target, sources)) = operands.split_last() else { return touched };
    if sources_go {
        touched.add(line.touch(sources).are_gone());
    }
    if sources.len() > 1 || target.text().ends_with('/') {
        for source in sources {
            match (source.known(), target.known()) {
                (Some(source), Some(target)) => {
                    let name = source.trim_end_matches('/').rsplit('/').next().unwrap_or(source);
                    touched.word(&Word::from(format!("{target}/{name}").as_str()), line.directory);
                }
                _ => touched.others = true,
            }
        }
    } else {
        touched.word(target, line.directory);
    }
    touched
}

fn patched(line: &CommandLine<'_>, body: &str) -> Touched {
    let argument = line.arguments.first().and_then(Word::known).unwrap_or_default();
    let mut touched = Touched::default();
    for text in body.lines().chain(argument.lines()) {
        let named = |mark: &str| text.strip_prefix(mark).map(|path| Word::from(path.trim()));
        if let Some(path) = named("*** Delete File: ") {
            touched.add(line.touch(&[&path]).are_gone());
        } else if let Some(path) =
            ["*** Add File: ", "*** Update File: ", "*** Move to: "].into_iter().find_map(named)
        {
            touched.word(&path, line.directory);
        }
    }
    if touched.is_nothing() { OTHERS } else { touched }
}

fn git_edits(line: &CommandLine<'_>) -> Touched {
    let operands = line.operands("-s --source -b -B -m");
    let Some((subcommand, operands)) = operands.split_first() else { return Touched::default() };
    let after_dashes = || {
        let at = line.arguments.iter().position(|word| word.text() == "--")?;
        Some(line.arguments.get(at + 1..)?.iter().collect::<Vec<_>>())
    };
    let elsewhere = line.has("-C --work-tree");
    let touched = match subcommand.text() {
        "checkout" if line.has("-b -B --orphan") => Touched::default(),
        "checkout" => match after_dashes() {
            Some(files) => line.touch(&files),
            None => OTHERS,
        },
        "restore" if line.has("--staged -S") && !line.has("--worktree -W") => Touched::default(),
        "restore" => line.touch(operands),
        "mv" => moved(line, operands, true),
        "rm" if line.has("--cached") => Touched::default(),
        "rm" => line.touch(operands).are_gone(),
        "apply" if line.has("--check --stat --numstat --cached") => Touched::default(),
        "reset" if !line.has("--hard --merge --keep") => Touched::default(),
        "stash" if operands.first().is_some_and(|word| matches!(word.text(), "list" | "show" | "drop")) => {
            Touched::default()
        }
        "apply" | "am" | "reset" | "stash" | "merge" | "rebase" | "pull" | "cherry-pick" | "revert"
        | "switch" | "clean" => OTHERS,
        _ => Touched::default(),
    };
    if elsewhere && !touched.is_nothing() { OTHERS } else { touched }
}

fn option_value(line: &CommandLine<'_>, options: &str) -> Touched {
    let mut touched = Touched::default();
    for pair in line.arguments.windows(2) {
        if let [option, value] = pair
            && table::has(options, option.text())
            && value.text() != "-"
            && !value.text().starts_with("/dev/")
        {
            touched.word(value, line.directory);
        }
    }
    touched
}

fn has_extension(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').is_some_and(|(stem, extension)| !stem.is_empty() && !extension.is_empty())
}

fn reads(line: &CommandLine<'_>) -> Vec<String> {
    match line.row.reads {
        Reads::Nothing => Vec::new(),
        Reads::Operands => line.read(&line.operands("")),
        // `--arg` of `jq` has two values.
        Reads::AfterScript if line.has("--arg --argjson") => Vec::new(),
        Reads::AfterScript => {
            let operands = line.operands("");
            let files = operands.into_iter().skip(usize::from(!line.has(SCRIPT)));
            let is_file = |word: &&Word| has_extension(word.text()) || !word.text().ends_with(['.', '/']);
            line.read(&files.filter(is_file).collect::<Vec<_>>())
        }
        Reads::Git => {
            let operands = line.operands("-n");
            match operands.split_first() {
                Some((subcommand, rest)) if matches!(subcommand.text(), "show" | "cat-file") => rest
                    .iter()
                    .filter_map(|word| resolve(word.known()?.split_once(':')?.1, line.directory))
                    .collect(),
                Some((subcommand, rest)) if matches!(subcommand.text(), "diff" | "blame") => {
                    let files = rest.iter().copied().filter(|word| has_extension(word.text()));
                    line.read(&files.collect::<Vec<_>>())
                }
                _ => Vec::new(),
            }
        }
    }
}
