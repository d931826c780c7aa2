//! Whether a later call did again what a failed one was meant to do, and at least as much of it (E9).

use programs::Deed;
use programs::shell::{Directory, Intents, SimpleCommand};
use transcript::{Call, Kind};

use crate::inputs::RecordedCall;
use crate::rules::chain;
use crate::work::Paths;

/// The same words in the same folder, or the same tool on the same files.
pub(super) fn is_same(one: &Call, other: &Call) -> bool {
    let words =
        |call: &Call| call.command.as_ref().map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    match one.kind {
        Kind::Shell => {
            let is_there = one.cwd.as_ref().zip(other.cwd.as_ref()).is_none_or(|(one, other)| one == other);
            other.kind == Kind::Shell && is_there && words(one) == words(other)
        }
        _ => one.tool == other.tool && one.paths == other.paths,
    }
}

/// The first of the calls in which what can have failed has gone well.
pub(super) fn passed<'a>(
    failure: &RecordedCall,
    suspect: &SimpleCommand,
    went_well: &[&'a RecordedCall],
    paths: Paths<'_>,
) -> Option<&'a RecordedCall> {
    let anywhere = found_no_project(&failure.call);
    let in_conflict = left_conflicts(&failure.call);
    let passed = |call: &&RecordedCall| {
        let proven = call.intents.iter().flat_map(Intents::proven_by_success);
        proven.into_iter().any(|proven| {
            does_as_much(proven, suspect, paths)
                || (anywhere && proven.is_same_use(suspect))
                // A commit ends a merge in conflict; with conflicts left git refuses it.
                || (in_conflict && proven.deed() == Deed::Commits)
        })
    };
    went_well.iter().copied().find(passed)
}

/// A merge or the like stopped for somebody to resolve conflicts.
fn left_conflicts(call: &Call) -> bool {
    call.snippet.as_deref().is_some_and(|printed| printed.contains("CONFLICT ("))
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
        "[setup failed]",
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

/// What can have failed; what only looks is of no interest beside what does something.
pub(super) fn suspects(recorded: &RecordedCall) -> Vec<&SimpleCommand> {
    let acting = acting_suspects(recorded);
    if acting.is_empty() { chain::suspects(recorded) } else { acting }
}

/// What can have failed and does more than look.
pub(super) fn acting_suspects(recorded: &RecordedCall) -> Vec<&SimpleCommand> {
    chain::suspects(recorded).into_iter().filter(|command| !command.only_looks()).collect()
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

pub(super) fn does_as_much(later: &SimpleCommand, earlier: &SimpleCommand, paths: Paths<'_>) -> bool {
    // The same targets can be meant in one folder alone: the other one was the wrong one.
    let is_same_choice = || later.arguments == earlier.arguments && later.names_targets();
    later.does_as_much_as(earlier) && (is_there_or_above(later, earlier, paths) || is_same_choice())
}
