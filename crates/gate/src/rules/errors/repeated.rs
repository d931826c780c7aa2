//! Whether a later command did again what a failed one was meant to do, and at least as much of it: `pytest`
//! settles `pytest a`, while `pytest a` settles neither `pytest` nor `pytest b` (E9).

use programs::shell::{Directory, Intents, SimpleCommand, Word, has_subcommands};
use transcript::{Call, Kind};

use super::harmless;
use crate::inputs::RecordedCall;
use crate::rules::chain;
use crate::work::Paths;

/// The same words, or the same tool on the same files.
pub(super) fn is_same(one: &Call, other: &Call) -> bool {
    let words =
        |call: &Call| call.command.as_ref().map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    match one.kind {
        Kind::Shell => other.kind == Kind::Shell && words(one) == words(other),
        _ => one.tool == other.tool && one.paths == other.paths,
    }
}

/// The last of the calls with which everything that can have failed has gone well.
pub(super) fn passed<'a>(
    failure: &RecordedCall,
    went_well: &[&'a RecordedCall],
    paths: Paths<'_>,
) -> Option<&'a RecordedCall> {
    let mut last = None;
    let suspects = suspects(failure);
    let anywhere = found_no_project(&failure.call);
    let in_conflict = left_conflicts(&failure.call);
    for suspect in &suspects {
        let place = went_well.iter().position(|call| {
            let proven = call.intents.iter().flat_map(Intents::proven_by_success);
            proven.into_iter().any(|proven| {
                does_as_much(proven, suspect, paths)
                    || (anywhere && is_same_program(proven, suspect))
                    || (in_conflict && ends_conflicts(proven))
            })
        })?;
        last = last.max(Some(place));
    }
    went_well.get(last?).copied()
}

/// A merge or the like stopped for somebody to resolve conflicts.
fn left_conflicts(call: &Call) -> bool {
    call.snippet.as_deref().is_some_and(|printed| printed.contains("CONFLICT ("))
}

/// A commit ends a merge in conflict; with conflicts left git refuses it.
fn ends_conflicts(command: &SimpleCommand) -> bool {
    command.program == "git" && Selection::of(command).does == Some("commit")
}

/// The tool found nothing to work on where it was started: the wrong folder. The same in the right one settles that.
fn found_no_project(call: &Call) -> bool {
    let printed = call.snippet.as_deref().unwrap_or_default();
    [
        "Missing script:",
        "Could not read package.json",
        "ERR_PNPM_NO_IMPORTER_MANIFEST_FOUND",
        "Couldn't find a package.json",
        "could not find `Cargo.toml`",
        "go.mod file not found",
        "No rule to make target",
        "no makefile found",
        "No justfile found",
    ]
    .iter()
    .any(|words| printed.contains(words))
}

/// Whether the later call tried what failed again, whatever came of it.
pub(super) fn is_tried_again(failure: &RecordedCall, later: &RecordedCall, paths: Paths<'_>) -> bool {
    if is_same(&failure.call, &later.call) {
        return true;
    }
    let first = suspects(failure);
    let again = suspects(later);
    !first.is_empty()
        && first.iter().all(|suspect| again.iter().any(|command| does_as_much(command, suspect, paths)))
}

/// Whether both run the same program, for a program of many uses the same use of it.
pub(super) fn is_same_program(one: &SimpleCommand, other: &SimpleCommand) -> bool {
    let (first, second) = (Selection::of(one), Selection::of(other));
    one.program == other.program && first.does == second.does
}

/// What can have failed; what only looks is of no interest beside what does something.
pub(super) fn suspects(recorded: &RecordedCall) -> Vec<&SimpleCommand> {
    let all = chain::suspects(recorded);
    let acting: Vec<_> = all.iter().copied().filter(|command| !harmless::looks(command)).collect();
    if acting.is_empty() { all } else { acting }
}

/// Whether the later command ran in the same folder or in one above it. Where it names none, a client may have kept
/// the folder of an earlier `cd`.
fn is_there_or_above(later: &SimpleCommand, earlier: &SimpleCommand, paths: Paths<'_>) -> bool {
    let place = |command: &SimpleCommand| match &command.directory {
        Directory::Start => Some(paths.absolute(".")),
        Directory::At(folder) => Some(paths.absolute(folder)),
        Directory::Unknown => None,
    };
    if later.directory == earlier.directory || later.directory == Directory::Start {
        return true;
    }
    let (Some(above), Some(below)) = (place(later), place(earlier)) else { return false };
    below.strip_prefix(&above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn does_as_much(later: &SimpleCommand, earlier: &SimpleCommand, paths: Paths<'_>) -> bool {
    let does_it = is_same_program(later, earlier) || compiles_it(later, earlier);
    if !does_it || !is_there_or_above(later, earlier, paths) {
        return false;
    }
    // Another message, another branch, another version of a package: the way to success.
    if matches!(later.program.as_str(), "git" | "gh" | "pip" | "apt" | "apt-get" | "brew") {
        return true;
    }
    let (later_selects, earlier_selects) = (Selection::of(later), Selection::of(earlier));
    let takes_all = takes_all_by_default(&later.program);
    let covers = |word: &&str| later_selects.words.iter().any(|wider| contains(wider, word));
    let covered = match (later_selects.words.is_empty(), earlier_selects.words.is_empty()) {
        (true, _) if takes_all => true,
        (false, true) if takes_all => false,
        _ => earlier_selects.words.iter().all(covers),
    };
    let narrowed = later_selects.narrows.iter().any(|narrow| !earlier_selects.narrows.contains(narrow));
    covered && !narrowed
}

/// Tests that ran were compiled before: they settle what did not compile.
fn compiles_it(later: &SimpleCommand, earlier: &SimpleCommand) -> bool {
    let (first, second) = (Selection::of(earlier), Selection::of(later));
    let (Some(before), Some(after)) = (first.does, second.does) else { return false };
    later.program == earlier.program
        && match earlier.program.as_str() {
            "cargo" => match before {
                "check" | "c" => matches!(after, "build" | "b" | "test" | "t" | "nextest"),
                "build" | "b" => matches!(after, "test" | "t" | "nextest"),
                _ => false,
            },
            "go" => before == "build" && after == "test",
            _ => false,
        }
}

fn contains(wider: &str, word: &str) -> bool {
    let wider = wider.trim_end_matches('/');
    let (wide, narrow) = (wider.trim_start_matches("./"), word.trim_start_matches("./"));
    wide == narrow
        || matches!(wide, "." | "...")
        || narrow.strip_prefix(wide).is_some_and(|rest| rest.starts_with(['/', ':']))
        || wide.strip_suffix("...").is_some_and(|folder| narrow.starts_with(folder))
}

/// Programs that take everything where nothing is chosen.
fn takes_all_by_default(program: &str) -> bool {
    matches!(
        program,
        "pytest"
            | "cargo"
            | "jest"
            | "vitest"
            | "mocha"
            | "ava"
            | "npm"
            | "pnpm"
            | "yarn"
            | "bun"
            | "tox"
            | "nox"
            | "ruff"
            | "rspec"
            | "phpunit"
            | "dotnet"
            | "swift"
            | "tsc"
            | "ctest"
            | "playwright"
            | "mypy"
            | "black"
    )
}

/// What the words of a command choose from all that its program could do.
struct Selection<'a> {
    /// The subcommand, target or script.
    does: Option<&'a str>,
    words: Vec<&'a str>,
    /// Options that leave something out.
    narrows: Vec<String>,
}

impl<'a> Selection<'a> {
    fn of(command: &'a SimpleCommand) -> Self {
        /// With a value: `-k name`.
        const NARROWS: &[&str] = &[
            "-k",
            "-m",
            "-run",
            "--run",
            "-t",
            "--filter",
            "--grep",
            "-g",
            "--package",
            "-p",
            "--test",
            "-E",
            "--testNamePattern",
            "--test-name-pattern",
            "--testPathPattern",
            "--project",
            "--ignore",
            "--deselect",
            "--exclude",
            "--skip",
            "--bin",
            "--example",
            "--bench",
            "-e",
            "-w",
            "--workspace",
            "-R",
        ];
        const NARROWS_ALONE: &[&str] = &["--lib", "--bins", "--doc", "--tests", "--examples", "--no-run"];
        const VALUED: &[&str] = &[
            "-n",
            "-j",
            "--jobs",
            "--tb",
            "--maxfail",
            "--timeout",
            "-timeout",
            "--reporter",
            "--color",
            "-count",
            "--manifest-path",
            "--config",
            "-c",
            "--features",
            "--profile",
            "--durations",
            "--rootdir",
            "-C",
        ];
        let mut selection = Self { does: None, words: Vec::new(), narrows: Vec::new() };
        let inline = harmless::is_inline_code(command);
        let mut arguments = command.arguments.iter().map(Word::text).peekable();
        while let Some(argument) = arguments.next() {
            if inline {
                break;
            }
            if !argument.starts_with('-') || argument == "-" {
                selection.words.push(argument);
                continue;
            }
            let (name, value) = match argument.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (argument, None),
            };
            // For cargo `--workspace` is all, for npm it is one.
            let narrows = NARROWS.contains(&name) && !(name == "--workspace" && command.program == "cargo");
            if narrows {
                let value =
                    value.or_else(|| arguments.next_if(|next| !next.starts_with('-'))).unwrap_or_default();
                selection.narrows.push(format!("{name} {value}"));
            } else if NARROWS_ALONE.contains(&name) {
                selection.narrows.push(name.to_owned());
            } else if VALUED.contains(&name) && value.is_none() {
                arguments.next();
            }
        }
        let runs_scripts = matches!(command.program.as_str(), "npm" | "pnpm" | "yarn" | "bun");
        if runs_scripts && matches!(selection.words.first(), Some(&("run" | "run-script"))) {
            selection.words.remove(0);
        }
        let has_uses = has_subcommands(&command.program)
            || matches!(command.program.as_str(), "make" | "just" | "task" | "gh");
        if has_uses && !selection.words.is_empty() {
            let first = selection.words.remove(0);
            selection.does = Some(first).filter(|word| !word.starts_with('+'));
        }
        // `cargo nextest run` has a use within its use.
        if selection.does == Some("nextest") && matches!(selection.words.first(), Some(&("run" | "r"))) {
            selection.words.remove(0);
        }
        selection
    }
}
