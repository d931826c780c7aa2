//! The files that a command line names: those it changes (E12) and those it reads. Best effort: a command
//! that edits files without naming them says so, and the files' own times tell the rest.

use serde::{Deserialize, Serialize};

use super::Directory;
use super::word::Word;

/// Files by their paths: relative to where the whole command began, or absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touched {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
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
        self.others |= more.others;
    }

    pub(crate) fn word(&mut self, word: &Word, directory: &Directory) {
        match word.known().and_then(|path| resolve(path, directory)) {
            Some(path) => self.add(Self { paths: vec![path], others: false }),
            None => self.others = true,
        }
    }
}

/// One spelling for one file: `./a/../b` is `b`, and `x` after `cd sub` is `sub/x`. `None` where the folder
/// is not known or the path is empty.
pub(crate) fn resolve(path: &str, directory: &Directory) -> Option<String> {
    if path.is_empty() || path.len() > LONGEST_PATH {
        return None;
    }
    let base = match directory {
        _ if path.starts_with('/') => "",
        Directory::Start => "",
        Directory::At(base) if base.len() <= LONGEST_PATH => base,
        Directory::At(_) | Directory::Unknown => return None,
    };
    let absolute = path.starts_with('/') || base.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if absolute => {}
            _ => parts.push(part),
        }
    }
    Some(format!("{}{}", if absolute { "/" } else { "" }, parts.join("/")))
}

/// Programs whose output is a part of their input.
pub(crate) fn lets_output_through(program: &str) -> bool {
    matches!(
        program,
        "tail"
            | "head"
            | "tee"
            | "cat"
            | "grep"
            | "egrep"
            | "fgrep"
            | "rg"
            | "sed"
            | "awk"
            | "gawk"
            | "less"
            | "more"
            | "sort"
            | "uniq"
            | "nl"
            | "cut"
            | "tr"
            | "ts"
            | "fold"
            | "column"
            | "col"
            | "strings"
            | "bat"
            | "perl"
    )
}

/// Programs that no failure comes from.
pub(crate) fn never_fails(program: &str) -> bool {
    matches!(
        program,
        "echo"
            | "printf"
            | "true"
            | ":"
            | "pwd"
            | "set"
            | "export"
            | "unset"
            | "sleep"
            | "trap"
            | "shopt"
            | "alias"
            | "local"
            | "declare"
            | "date"
            | "clear"
            | "break"
            | "continue"
    )
}

struct Reader<'a> {
    arguments: &'a [Word],
    directory: &'a Directory,
}

impl<'a> Reader<'a> {
    /// The words that are no options and no values of options.
    fn operands(&self, valued: &[&str]) -> Vec<&'a Word> {
        let mut operands = Vec::new();
        let mut arguments = self.arguments.iter();
        while let Some(word) = arguments.next() {
            let text = word.text();
            if text == "--" {
                operands.extend(arguments);
                break;
            }
            if valued.contains(&text) {
                arguments.next();
            } else if !text.starts_with('-') || text == "-" {
                operands.push(word);
            }
        }
        operands
    }

    fn has(&self, flags: &[&str]) -> bool {
        self.arguments.iter().any(|word| word.known().is_some_and(|text| flags.contains(&text)))
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
        for word in words {
            touched.word(word, self.directory);
        }
        touched
    }

    fn read(&self, words: &[&Word]) -> Vec<String> {
        words
            .iter()
            .filter_map(|word| resolve(word.known()?, self.directory))
            .filter(|path| path != "-")
            .collect()
    }
}

const OTHERS: Touched = Touched { paths: Vec::new(), others: true };

/// What a command changes and what it reads. `body`: its here-document.
pub(crate) fn touched(
    program: &str,
    arguments: &[Word],
    directory: &Directory,
    body: &str,
) -> (Touched, Vec<String>) {
    let reader = Reader { arguments, directory };
    let edits = edits(program, &reader, body);
    let mut reads = if edits.is_nothing() { reads(program, &reader) } else { Vec::new() };
    reads.truncate(MOST_PATHS);
    (edits, reads)
}

fn edits(program: &str, reader: &Reader<'_>, body: &str) -> Touched {
    let operands = reader.operands(&[]);
    match program {
        "sed" | "gsed" if reader.has(&["--in-place"]) || sed_in_place(reader) => {
            let valued = ["-e", "-f", "--expression", "--file"];
            let mut operands = reader.operands(&valued);
            // BSD's `sed -i ''`.
            operands.retain(|word| word.known() != Some(""));
            let script_given = reader.has(&valued)
                || reader.arguments.iter().any(|word| word.text().starts_with("--expression="));
            reader.touch(operands.get(usize::from(!script_given)..).unwrap_or_default())
        }
        "perl" | "ruby" if reader.has_letter('i') && reader.has_letter('e') => {
            let after_script = reader.arguments.iter().position(|word| {
                word.text().starts_with('-')
                    && !word.text().starts_with("--")
                    && word.text().ends_with(['e', 'E'])
            });
            let files = after_script.and_then(|at| reader.arguments.get(at + 2..)).unwrap_or_default();
            reader.touch(&files.iter().filter(|word| !word.text().starts_with('-')).collect::<Vec<_>>())
        }
        "tee" | "sponge" | "unlink" | "shred" => {
            let files: Vec<_> =
                operands.into_iter().filter(|word| !word.text().starts_with("/dev/")).collect();
            reader.touch(&files)
        }
        "touch" => reader.touch(&reader.operands(&["-d", "-r", "-t", "--date", "--reference"])),
        "truncate" => reader.touch(&reader.operands(&["-s", "-r", "--size"])),
        "rm" => reader.touch(&operands),
        "mv" => moved(reader, &reader.operands(&["-t", "-S"]), true),
        "cp" | "ln" | "install" | "rsync" => {
            moved(reader, &reader.operands(&["-t", "-S", "-m", "-o", "-g", "-e"]), false)
        }
        "patch" if reader.has(&["--dry-run"]) => Touched::default(),
        "patch" => match reader.operands(&["-i", "--input", "-d", "-p"]).first() {
            Some(file) => reader.touch(&[file]),
            None => OTHERS,
        },
        "apply_patch" | "applypatch" => patched(reader, body),
        "git" => git_edits(reader),
        "dd" => {
            let files: Vec<Word> = operands
                .iter()
                .filter_map(|word| word.text().strip_prefix("of="))
                .filter(|path| !path.starts_with("/dev/"))
                .map(Word::from)
                .collect();
            reader.touch(&files.iter().collect::<Vec<_>>())
        }
        "curl" => option_value(reader, &["-o", "--output"]),
        "wget" => option_value(reader, &["-O", "--output-document"]),
        "find" if reader.has(&["-delete"]) => OTHERS,
        _ if formats(program, reader) => {
            let files: Vec<_> = operands.into_iter().filter(|word| has_extension(word.text())).collect();
            if files.is_empty() { OTHERS } else { reader.touch(&files) }
        }
        _ => Touched::default(),
    }
}

fn sed_in_place(reader: &Reader<'_>) -> bool {
    reader.arguments.iter().filter_map(Word::known).take_while(|text| *text != "--").any(|text| {
        text.starts_with("--in-place=")
            || text.strip_prefix('-').is_some_and(|letters| {
                let flags: String =
                    letters.chars().take_while(|letter| letter.is_ascii_alphabetic()).collect();
                !letters.starts_with('-') && flags.contains('i') && !flags.starts_with(['e', 'f'])
            })
    })
}

/// The target, or what the sources become in it; and the sources where they go away.
fn moved(reader: &Reader<'_>, operands: &[&Word], sources_go: bool) -> Touched {
    let mut touched = Touched::default();
    let Some((target, sources)) = operands.split_last() else { return touched };
    if sources_go {
        touched.add(reader.touch(sources));
    }
    if sources.len() > 1 || target.text().ends_with('/') {
        for source in sources {
            match (source.known(), target.known()) {
                (Some(source), Some(target)) => {
                    let name = source.trim_end_matches('/').rsplit('/').next().unwrap_or(source);
                    touched.word(&Word::from(format!("{target}/{name}").as_str()), reader.directory);
                }
                _ => touched.others = true,
            }
        }
    } else {
        touched.word(target, reader.directory);
    }
    touched
}

fn patched(reader: &Reader<'_>, body: &str) -> Touched {
    let argument = reader.arguments.first().and_then(Word::known).unwrap_or_default();
    let mut touched = Touched::default();
    for line in body.lines().chain(argument.lines()) {
        let marks = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
        if let Some(path) = marks.iter().find_map(|mark| line.strip_prefix(mark)) {
            touched.word(&Word::from(path.trim()), reader.directory);
        }
    }
    if touched.is_nothing() { OTHERS } else { touched }
}

fn git_edits(reader: &Reader<'_>) -> Touched {
    let operands =
        reader.operands(&["-C", "-c", "--git-dir", "--work-tree", "-s", "--source", "-b", "-B", "-m"]);
    let Some((subcommand, operands)) = operands.split_first() else { return Touched::default() };
    let after_dashes = || {
        let at = reader.arguments.iter().position(|word| word.text() == "--")?;
        Some(reader.arguments.get(at + 1..)?.iter().collect::<Vec<_>>())
    };
    let elsewhere = reader.has(&["-C", "--work-tree"]);
    let touched = match subcommand.text() {
        "checkout" if reader.has(&["-b", "-B", "--orphan"]) => Touched::default(),
        "checkout" => match after_dashes() {
            Some(files) => reader.touch(&files),
            None => OTHERS,
        },
        "restore" if reader.has(&["--staged", "-S"]) && !reader.has(&["--worktree", "-W"]) => {
            Touched::default()
        }
        "restore" => reader.touch(operands),
        "mv" => moved(reader, operands, true),
        "rm" if reader.has(&["--cached"]) => Touched::default(),
        "rm" => reader.touch(operands),
        "apply" if reader.has(&["--check", "--stat", "--numstat", "--cached"]) => Touched::default(),
        "reset" if !reader.has(&["--hard", "--merge", "--keep"]) => Touched::default(),
        "stash" if operands.first().is_some_and(|word| matches!(word.text(), "list" | "show" | "drop")) => {
            Touched::default()
        }
        "apply" | "am" | "reset" | "stash" | "merge" | "rebase" | "pull" | "cherry-pick" | "revert"
        | "switch" | "clean" => OTHERS,
        _ => Touched::default(),
    };
    if elsewhere && !touched.is_nothing() { OTHERS } else { touched }
}

fn option_value(reader: &Reader<'_>, options: &[&str]) -> Touched {
    let mut touched = Touched::default();
    for pair in reader.arguments.windows(2) {
        if let [option, value] = pair
            && options.contains(&option.text())
            && value.text() != "-"
            && !value.text().starts_with("/dev/")
        {
            touched.word(value, reader.directory);
        }
    }
    touched
}

/// Formatters and fixers that rewrite files in place.
fn formats(program: &str, reader: &Reader<'_>) -> bool {
    let first = reader.arguments.first().map(Word::text).unwrap_or_default();
    let only_looks = reader.has(&["--check", "--diff", "--check-only", "-l", "-c", "--list-different"]);
    match program {
        "cargo" => {
            let subcommand =
                reader.operands(&[]).iter().map(|word| word.text()).find(|text| !text.starts_with('+'));
            match subcommand {
                Some("fmt") => !only_looks,
                Some("fix") => true,
                Some("clippy") => reader.has(&["--fix"]),
                _ => false,
            }
        }
        "rustfmt" | "black" | "isort" => !only_looks,
        "ruff" => (first == "format" && !only_looks) || reader.has(&["--fix", "--fix-only"]),
        "prettier" => reader.has(&["--write", "-w"]),
        "eslint" | "stylelint" | "rubocop" => reader.has(&["--fix", "-a", "-A", "--autocorrect"]),
        "biome" => reader.has(&["--write", "--apply", "--fix"]),
        "gofmt" | "goimports" | "shfmt" => reader.has(&["-w"]),
        "go" => matches!(first, "fmt" | "fix"),
        "clang-format" | "autopep8" | "yapf" => reader.has(&["-i", "--in-place"]),
        _ => false,
    }
}

fn has_extension(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').is_some_and(|(stem, extension)| !stem.is_empty() && !extension.is_empty())
}

fn reads(program: &str, reader: &Reader<'_>) -> Vec<String> {
    match program {
        "cat" | "less" | "more" | "bat" | "batcat" | "nl" | "wc" | "xxd" | "od" | "hexdump" | "strings"
        | "tac" | "sort" | "uniq" | "file" | "stat" | "md5sum" | "sha256sum" => {
            reader.read(&reader.operands(&["-l", "-r", "--line-range", "-n"]))
        }
        "head" | "tail" => reader.read(&reader.operands(&["-n", "-c", "--lines", "--bytes"])),
        "diff" | "cmp" | "comm" => reader.read(&reader.operands(&["-U", "-C"])),
        "sed" | "gsed" | "awk" | "gawk" | "jq" | "yq" => {
            let valued = ["-e", "-f", "--expression", "--file", "-v", "-F"];
            let script_given = reader.has(&["-e", "-f", "--expression", "--file"]);
            let operands = reader.operands(&valued);
            let valued_jq = reader.has(&["--arg", "--argjson"]);
            if valued_jq {
                Vec::new()
            } else {
                reader.read(operands.get(usize::from(!script_given)..).unwrap_or_default())
            }
        }
        "grep" | "egrep" | "fgrep" | "rg" | "ag" => {
            let pattern = ["-e", "-f", "--regexp", "--file"];
            let valued = [
                "-e",
                "-f",
                "--regexp",
                "--file",
                "-A",
                "-B",
                "-C",
                "-m",
                "-g",
                "--glob",
                "-t",
                "--type",
                "-T",
                "--include",
                "--exclude",
            ];
            let operands = reader.operands(&valued);
            let given = reader.has(&pattern);
            let files: Vec<&Word> = operands.get(usize::from(!given)..).unwrap_or_default().to_vec();
            let files: Vec<&Word> = files
                .into_iter()
                .filter(|word| has_extension(word.text()) || !word.text().ends_with(['.', '/']))
                .collect();
            reader.read(&files)
        }
        "git" => {
            let operands = reader.operands(&["-C", "-c", "-n"]);
            match operands.split_first() {
                Some((subcommand, rest)) if matches!(subcommand.text(), "show" | "cat-file") => rest
                    .iter()
                    .filter_map(|word| resolve(word.known()?.split_once(':')?.1, reader.directory))
                    .collect(),
                Some((subcommand, rest)) if matches!(subcommand.text(), "diff" | "blame") => {
                    let files: Vec<&Word> =
                        rest.iter().copied().filter(|word| has_extension(word.text())).collect();
                    reader.read(&files)
                }
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}
