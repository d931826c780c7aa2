//! Looks through programs that only run another program (E6): `timeout 60 cargo test` is `cargo test`,
//! `uv run python3 -m pytest` is `pytest`, `bash -lc '…'` is the script in it.

use super::word::Word;
use super::{Attribution, Directory, Mask, Output, SimpleCommand, Touched};
use crate::meaning::KnownMeaning;
use crate::table::{self, Deed, Fact, Grammar, Launch, Launches, Program, base_name};

/// What is left of a command without its wrappers.
#[derive(Debug, PartialEq)]
pub(crate) enum Peeled {
    /// `mask`: a wrapper that hides the exit status.
    Command {
        words: Vec<Word>,
        mask: Option<Mask>,
    },
    Script {
        text: String,
        errexit: bool,
        pipefail: bool,
    },
    /// A shell that reads its script from standard input, if there is one.
    ScriptFromInput {
        words: Vec<Word>,
        errexit: bool,
    },
    /// `find … -exec command`
    PerFile {
        words: Vec<Word>,
        command: Vec<Word>,
        mask: Option<Mask>,
    },
}

/// Where launchers let the command run.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Chosen {
    /// `uv --directory web run …`
    pub(crate) folder: Option<Word>,
    /// `pnpm --filter web exec …`
    pub(crate) packages: Vec<String>,
    pub(crate) is_in_container: bool,
    /// In a container, or behind a launcher that nobody knows.
    pub(crate) is_elsewhere: bool,
}

/// Words with which programs say that they start what follows: `doppler run`, `aws-vault exec`.
const STARTS: &str = "run exec x do with proxy rec record activate shell execute start env";
/// Launchers whose words are not known, but that they start what follows in a container.
const CONTAINERS: &str = "ddev";
/// Options before a whole command line.
const COMMAND_LINE: &str = "-c --command --cmd";
/// Folders that installed programs lie in.
const INSTALLED: &str = "bin .bin node_modules vendor";

/// Whether a program was installed there by a package manager.
pub(crate) fn is_installed(path: &str) -> bool {
    path.split('/').any(|part| table::has(INSTALLED, part))
}

/// Nobody wraps deeper, and each one copies the words.
const MOST_WRAPPERS: usize = 16;

/// Takes one wrapper after the other off.
pub(crate) fn peel(words: Vec<Word>) -> (Peeled, Chosen) {
    let mut chosen = Chosen::default();
    (peel_noting(words, &mut chosen), chosen)
}

fn peel_noting(mut words: Vec<Word>, chosen: &mut Chosen) -> Peeled {
    let mut mask = None;
    for _ in 0..MOST_WRAPPERS {
        let Some(row) = words.first().and_then(|word| table::find(base_name(word.text()))) else {
            let started = unknown_launcher(&words);
            chosen.note_unknown(&words, started.is_some());
            match started {
                Some(Started::At(inner)) => _ = words.drain(..inner),
                Some(Started::CommandLine(text)) if mask.is_none() => {
                    return Peeled::Script { text, errexit: false, pipefail: false };
                }
                _ => break,
            }
            continue;
        };
        let inner = match row.launches {
            Launches::Script => match shell(&words) {
                Some(Peeled::Command { words, .. }) => return Peeled::Command { words, mask },
                Some(script) if mask.is_none() => return script,
                _ => break,
            },
            Launches::Words if mask.is_none() => {
                let text: Vec<&str> = words.iter().skip(1).map(Word::text).collect();
                return Peeled::Script { text: text.join(" "), errexit: false, pipefail: false };
            }
            Launches::PerFile => match find(words) {
                Ok(per_file) => return per_file,
                Err(words) => return Peeled::Command { words, mask },
            },
            Launches::WithArguments => xargs(row, &mut words, &mut mask),
            Launches::CommandLine(options) => match command_line(options, &words) {
                Some(text) if mask.is_none() => {
                    return Peeled::Script { text, errexit: false, pipefail: false };
                }
                _ => break,
            },
            Launches::Module => module(row, &words),
            Launches::After(options) => after_option(options, &words),
            Launches::Rest(ways) => node_tool(row, &words)
                .or_else(|| ways.iter().find_map(|way| rest(row, way, &words, &mut mask))),
            Launches::Words | Launches::Nothing => None,
        };
        let Some(inner) = inner else {
            if let Some((at, program)) = runner_by_path(row, &words) {
                words.splice(..=at, [Word::from(program.as_str())]);
                continue;
            }
            break;
        };
        chosen.note(row, words.get(1..inner).unwrap_or_default());
        // `env A=b cmd`, `sudo A=b cmd`
        let assignments = words.iter().skip(inner).take_while(|word| is_assignment(word.text())).count();
        if inner + assignments >= words.len() {
            break;
        }
        words.drain(..inner + assignments);
    }
    Peeled::Command { words, mask }
}

impl Chosen {
    fn note_unknown(&mut self, words: &[Word], is_launcher: bool) {
        let name = known(words, 0).map(base_name).unwrap_or_default();
        self.is_in_container |= is_launcher && table::has(CONTAINERS, name);
        self.is_elsewhere |= is_launcher;
    }

    fn note(&mut self, row: &Program, own: &[Word]) {
        let is_in_container = row.is(Fact::StartsInContainer);
        self.is_in_container |= is_in_container;
        self.is_elsewhere |= is_in_container;
        let mut words = own.iter().peekable();
        while let Some(word) = words.next() {
            let text = word.text();
            let (name, value) = match text.split_once('=') {
                Some((name, value)) => (name, Some(Word::from(value))),
                None => (text, words.peek().map(|next| (*next).clone())),
            };
            if table::has(row.folder, name) {
                self.folder = value;
            } else if table::has(row.package, name) {
                self.packages.extend(value.map(|value| value.text().to_owned()));
            }
        }
    }
}

/// What an unknown program starts.
enum Started {
    /// The command from this word on.
    At(usize),
    CommandLine(String),
}

/// An unknown word before a known runner with its own arguments is a launcher: `rtk go test`, `doppler run -- pytest`,
/// `asciinema rec -c "make test"`. A script of the repository may do anything with its words.
fn unknown_launcher(words: &[Word]) -> Option<Started> {
    let name = known(words, 0)?;
    if name.contains('/') && !is_installed(name) || base_name(name).contains(['=', '.']) {
        return None;
    }
    if let Some(dashes) = words.iter().position(|word| word.known() == Some("--")) {
        return starts_runner(words.get(dashes + 1..)?).then_some(Started::At(dashes + 1));
    }
    let (mut starts, mut others) = (false, 0);
    for at in 1..words.len() {
        let text = known(words, at)?;
        let rest = words.get(at..).unwrap_or_default();
        if table::has(COMMAND_LINE, text) || short_flags(words.get(at)?).ends_with('c') {
            let line = known(words, at + 1)?;
            let first: Vec<Word> = line.split_whitespace().map(Word::from).collect();
            return (first.len() > 1 && starts_runner(&first)).then(|| Started::CommandLine(line.to_owned()));
        }
        if text.starts_with('-') || is_assignment(text) {
            continue;
        }
        if (others == 0 || starts) && starts_runner(rest) {
            return Some(Started::At(at));
        }
        if table::has(STARTS, text) {
            starts = true;
        } else if starts && others < 2 {
            others += 1;
        } else {
            return None;
        }
    }
    None
}

/// Whether the words begin with a program that runs, checks, builds or tests, with what starts one, or with one that is
/// followed by a word of its own: `git status`.
fn starts_runner(words: &[Word]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    let Some(name) = program.known().map(base_name) else { return false };
    let Some(row) = table::find(name) else { return false };
    let command = SimpleCommand {
        program: name.to_owned(),
        path: None,
        arguments: arguments.to_vec(),
        directory: Directory::Start,
        packages: Vec::new(),
        attribution: Attribution::Decides,
        suspect: false,
        output: Output::Shown,
        hides_errors: false,
        shows_end: false,
        may_be_skipped: false,
        tells: None,
        is_in_container: false,
        is_elsewhere: false,
        edits: Touched::default(),
        reads: Vec::new(),
        meaning: KnownMeaning::default(),
    };
    let deed = command.deed_by(row);
    let has_own_word = || row.has_subcommands() && deed != row.deed;
    match arguments.is_empty() {
        true => deed >= Deed::Lints && !row.runs_tasks(),
        false => deed >= Deed::Runs || !matches!(row.launches, Launches::Nothing) || has_own_word(),
    }
}

/// `powershell -Command "…"`, `cmd /c …`: paths there are written with backslashes.
fn command_line(options: &str, words: &[Word]) -> Option<String> {
    let is_option =
        |word: &Word| word.known().is_some_and(|text| table::has(options, &text.to_ascii_lowercase()));
    let at = words.iter().position(is_option)?;
    let rest: Vec<&str> = words.iter().skip(at + 1).map(Word::text).collect();
    (!rest.is_empty()).then(|| rest.join(" ").replace('\\', "/").replace('`', ""))
}

/// `node node_modules/.bin/jest`, `python .venv/bin/pytest`: the place of the path, and whose it is.
fn runner_by_path(row: &Program, words: &[Word]) -> Option<(usize, String)> {
    let at = skip_options(words, 1, row, "");
    let path = known(words, at).filter(|_| row.is(Fact::Interprets))?;
    let mut folders = path.split(['/', '\\']).rev();
    let name = base_name(folders.next()?);
    let name =
        [".js", ".mjs", ".cjs", ".py", ".phar"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let verifies = [Deed::Lints, Deed::TypeChecks, Deed::Builds, Deed::Tests];
    let is_runner = folders.any(|folder| table::has(INSTALLED, folder)) && table::find(name)?.can(&verifies);
    is_runner.then(|| (at, name.to_owned()))
}

fn known(words: &[Word], index: usize) -> Option<&str> {
    words.get(index).and_then(Word::known)
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|first: char| first.is_ascii_digit())
            && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
    })
}

/// The place of the first word from `at` on that is neither an option nor an option's value. `valued`: options with a
/// value beside those of the row.
fn skip_options(words: &[Word], mut at: usize, row: &Program, valued: &str) -> usize {
    while let Some(text) = words.get(at).map(Word::text) {
        if text == "--" {
            return at + 1;
        }
        if !text.starts_with('-') || text == "-" {
            return at;
        }
        at += if row.takes_value(text) || table::has(valued, text) { 2 } else { 1 };
    }
    at
}

/// Where the command begins after the program's own words and options.
fn rest(row: &Program, way: &Launch, words: &[Word], mask: &mut Option<Mask>) -> Option<usize> {
    let mut at = 1;
    for word in way.after.split('/').filter(|word| !word.is_empty()) {
        at = skip_options(words, at, row, way.valued) + 1;
        if known(words, at - 1) != Some(word) {
            return None;
        }
    }
    if way.is_program {
        return Some(at - 1);
    }
    at = skip_options(words, at, row, way.valued) + way.operands;
    // Of a runner of tasks, `run` starts a task unless it is followed by a program.
    let is_program = |name: &str| table::find(base_name(name)).is_some_and(|inner| inner.deed != Deed::Asks);
    if row.grammar == Grammar::Scripts && way.after == "run" && !known(words, at).is_some_and(is_program) {
        return None;
    }
    // `docker exec box -- cmd` is rare; `timeout 60 -- cmd` is not.
    if way.operands > 0 && known(words, at) == Some("--") {
        at += 1;
    }
    let own = words.get(..at)?;
    let has = |options: &str| own.iter().filter_map(Word::known).any(|word| table::has(options, word));
    if has(way.unless) || (!way.only_with.is_empty() && !has(way.only_with)) {
        return None;
    }
    if !way.waits_with.is_empty() && !has(way.waits_with) {
        *mask = Some(Mask::Background);
    }
    Some(at)
}

/// `python -m module …`; a module that is no program of the table is the program that is worked on.
fn module(row: &Program, words: &[Word]) -> Option<usize> {
    let mut at = 1;
    while known(words, at)? != "-m" {
        let option = known(words, at).filter(|text| text.starts_with('-') && *text != "-")?;
        at += if row.takes_value(option) { 2 } else { 1 };
    }
    table::find(base_name(known(words, at + 1)?)).map(|_| at + 1)
}

/// `yarn jest`, `pnpm vitest run`, `bun run mocha`
fn node_tool(row: &Program, words: &[Word]) -> Option<usize> {
    let mut at = skip_options(words, 1, row, "");
    if known(words, at) == Some("run") {
        at += 1;
    }
    let tool = table::find(known(words, at)?)?;
    (row.is(Fact::RunsNodeTools) && tool.is(Fact::NodeTool)).then_some(at)
}

/// `nix develop -c cmd …`, `nix develop --command cmd …`
fn after_option(options: &str, words: &[Word]) -> Option<usize> {
    words.iter().position(|word| word.known().is_some_and(|text| table::has(options, text))).map(|at| at + 1)
}

/// The command gets more arguments than are written.
fn xargs(row: &Program, words: &mut Vec<Word>, mask: &mut Option<Mask>) -> Option<usize> {
    let at = skip_options(words, 1, row, "");
    let options = words.get(1..at).unwrap_or_default();
    // With `-r` it may run nothing at all.
    if options
        .iter()
        .any(|word| matches!(word.known(), Some("--no-run-if-empty")) || short_flags(word).contains('r'))
    {
        *mask = Some(Mask::Conditional);
    }
    // `-I{}` names the place of the arguments.
    let inner = words.get_mut(at..).filter(|inner| !inner.is_empty())?;
    inner.iter_mut().for_each(leave_open);
    words.push(Word::unknown());
    Some(at)
}

/// `{}` stands for what only the program knows.
fn leave_open(word: &mut Word) {
    if word.text().contains("{}") {
        *word = Word::Unexpanded { unexpanded: word.text().to_owned() };
    }
}

fn short_flags(word: &Word) -> &str {
    match word.known().and_then(|text| text.strip_prefix('-')) {
        Some(letters) if letters.bytes().all(|byte| byte.is_ascii_alphabetic()) => letters,
        _ => "",
    }
}

/// `bash -lc 'script'`, `bash script.sh`, `bash <<EOF`.
fn shell(words: &[Word]) -> Option<Peeled> {
    let (mut errexit, mut pipefail, mut reads_command) = (false, false, false);
    let mut at = 1;
    while let Some(text) = words.get(at).map(Word::text) {
        let letters = match text.strip_prefix('-').or_else(|| text.strip_prefix('+')) {
            Some("-") | Some("") => {
                at += 1;
                break;
            }
            Some(letters) => letters,
            None => break,
        };
        at += 1;
        if letters.starts_with('-') {
            if matches!(letters, "-rcfile" | "-init-file") {
                at += 1;
            }
            continue;
        }
        // `-n` only reads the script.
        if letters.contains('n') {
            return None;
        }
        errexit |= letters.contains('e');
        reads_command |= letters.contains('c');
        if letters.ends_with(['o', 'O']) {
            pipefail |= known(words, at) == Some("pipefail");
            errexit |= known(words, at) == Some("errexit");
            at += 1;
        }
    }
    if reads_command {
        let script = words.get(at)?;
        return Some(Peeled::Script { text: script.text().to_owned(), errexit, pipefail });
    }
    match words.get(at..) {
        Some([script, ..]) if script.text() != "-" => {
            let words = words.get(at..).unwrap_or_default().to_vec();
            Some(Peeled::Command { words, mask: None })
        }
        _ => Some(Peeled::ScriptFromInput { words: words.to_vec(), errexit }),
    }
}

/// `find … -exec command {} \;` or `+`; the words themselves where there is no such thing.
fn find(words: Vec<Word>) -> Result<Peeled, Vec<Word>> {
    let Some(exec) = words.iter().position(|word| matches!(word.known(), Some("-exec" | "-execdir"))) else {
        return Err(words);
    };
    let Some(length) = words.iter().skip(exec + 1).position(|word| matches!(word.known(), Some(";" | "+")))
    else {
        return Err(words);
    };
    let mut command = words.get(exec + 1..exec + 1 + length).unwrap_or_default().to_vec();
    command.iter_mut().for_each(leave_open);
    if command.is_empty() {
        return Err(words);
    }
    Ok(Peeled::PerFile { words, command, mask: Some(Mask::Loop) })
}
