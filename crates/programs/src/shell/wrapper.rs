//! Looks through programs that only run another program (E6): `timeout 60 cargo test` is `cargo test`,
//! `uv run python3 -m pytest` is `pytest`, `bash -lc '…'` is the script in it.

use super::Mask;
use super::word::Word;
use crate::table::{self, Fact, Launch, Launches, Program};

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

/// Nobody wraps deeper, and each one copies the words.
const MOST_WRAPPERS: usize = 16;

/// Takes one wrapper after the other off.
pub(crate) fn peel(mut words: Vec<Word>) -> Peeled {
    let mut mask = None;
    for _ in 0..MOST_WRAPPERS {
        let Some(row) = words.first().and_then(|word| table::find(table::base_name(word.text()))) else {
            break;
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
            Launches::Module => module(row, &words),
            Launches::After(options) => after_option(options, &words),
            Launches::Rest(ways) => node_tool(row, &words)
                .or_else(|| ways.iter().find_map(|way| rest(row, way, &words, &mut mask))),
            Launches::Words | Launches::Nothing => None,
        };
        let Some(inner) = inner else { break };
        // `env A=b cmd`, `sudo A=b cmd`
        let assignments = words.iter().skip(inner).take_while(|word| is_assignment(word.text())).count();
        if inner + assignments >= words.len() {
            break;
        }
        words.drain(..inner + assignments);
    }
    Peeled::Command { words, mask }
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

/// `python -m module …`
fn module(row: &Program, words: &[Word]) -> Option<usize> {
    let mut at = 1;
    while known(words, at)? != "-m" {
        let option = known(words, at).filter(|text| text.starts_with('-') && *text != "-")?;
        at += if row.takes_value(option) { 2 } else { 1 };
    }
    Some(at + 1)
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
            Some(Peeled::Command { words: words.get(at..).unwrap_or_default().to_vec(), mask: None })
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
