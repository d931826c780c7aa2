//! Whether an interpreter ran the code that changed. A file of the repository is taken at its word, whatever it imports; code on
//! the command line is about what it imports or hands to something that parses or runs it, and not about a file that it
//! only reads or names.

use std::collections::BTreeSet;

use contents::python_imports;
use programs::repository::Repository;
use programs::shell::{Attribution, SimpleCommand, Word};

use super::printed::Printed;
use super::verification::VerifyingRun;
use crate::ran::Ran;
use crate::work::Work;

/// With what code runs or parses a file that it names, beside importing it.
const PYTHON_TRIES: &str = "ast compile py_compile compileall exec import_module __import__ runpy spec_from_file_location \
    subprocess system Popen";
/// Words of JavaScript before the module that they load.
const LOADS: &str = "require import from";
/// A shorter name is too often a word of something else.
const SHORTEST: usize = 3;

/// Whether it can be about the files that changed: a module of Python's own library is about none, and code on the command
/// line about what it loads.
pub(super) fn is_about(command: &SimpleCommand, covers: &BTreeSet<String>) -> bool {
    if command.runs_standard_module() {
        return false;
    }
    if !command.is_inline_code() {
        return true;
    }
    let code: Vec<&str> = command.arguments.iter().map(Word::text).collect();
    // What is typed in may name a file to look at it or to edit it.
    let is_typed_in = code.first() == Some(&"-");
    let code = code.get(1..).unwrap_or_default().join("\n");
    covers.iter().any(|path| match command.program.as_str() {
        "python" => is_imported(&code, path) || (!is_typed_in && is_tried(&code, path)),
        "node" | "deno" | "bun" => is_loaded(&code, path),
        _ => !is_typed_in && names(&code, path),
    })
}

/// Why a run that may have failed unnoticed did not take place: what it should run is not there, the turn did not remove
/// it, and nothing that was printed shows that it ran.
pub(super) fn objection(run: &VerifyingRun<'_>, work: &Work<'_>) -> Option<String> {
    let repository = work.repository().filter(|_| run.ran.command.attribution != Attribution::Decides)?;
    let file = missing_program(repository, run.ran.command, work.cwd())?;
    let Ran { recorded, command, .. } = run.ran;
    let has_run = || Printed::of(recorded).tells_of_success(recorded, command, run.strength);
    (!work.was_edited(&file) && !has_run()).then(|| format!("there is no `{file}`"))
}

fn missing_program(repository: &Repository, command: &SimpleCommand, cwd: &str) -> Option<String> {
    if repository.missing.is_empty() {
        return None;
    }
    repository.program_file(command, cwd).filter(|file| repository.missing.contains(file))
}

/// The name of a file without its ending, and the folders that it lies in.
fn stem_and_folders(path: &str) -> (&str, impl Iterator<Item = &str>) {
    let mut parts = path.split('/').rev();
    let stem = parts.next().and_then(|name| name.split('.').next()).unwrap_or_default();
    (stem, parts)
}

fn is_imported(code: &str, path: &str) -> bool {
    let (stem, folders) = stem_and_folders(path);
    let folders: Vec<&str> = folders.collect();
    python_imports(code).iter().any(|import| {
        let mut names = import.module.iter().chain(&import.names);
        let first = import.module.first().map(String::as_str).unwrap_or_default();
        folders.contains(&first) || (stem.len() >= SHORTEST && names.any(|name| name == stem))
    })
}

fn is_tried(code: &str, path: &str) -> bool {
    let code = code.replace("re.compile", "");
    let words: BTreeSet<&str> = words(&code).collect();
    names(&code, path) && PYTHON_TRIES.split_ascii_whitespace().any(|word| words.contains(word))
}

/// `require('./cart')`, `import { total } from './cart.js'`
fn is_loaded(code: &str, path: &str) -> bool {
    let (stem, folders) = stem_and_folders(path);
    let own: Vec<&str> = folders.chain([stem].into_iter().filter(|stem| stem.len() >= SHORTEST)).collect();
    let is_module_own = |after: &str| {
        let mut quoted = after.split(['\n', ';']).next().unwrap_or_default().split(['\'', '"', '`']).skip(1);
        quoted.next().is_some_and(|module| module.split(['/', '.']).any(|part| own.contains(&part)))
    };
    LOADS.split(' ').any(|word| {
        code.match_indices(word).any(|(at, _)| is_module_own(code.get(at + word.len()..).unwrap_or_default()))
    })
}

fn names(code: &str, path: &str) -> bool {
    let (stem, mut folders) = stem_and_folders(path);
    let imports = |name: &str| ["import", "from"].iter().any(|word| code.contains(&format!("{word} {name}")));
    (stem.len() >= SHORTEST && words(code).any(|word| word == stem)) || imports(stem) || folders.any(imports)
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|character: char| !character.is_alphanumeric() && character != '_')
}
