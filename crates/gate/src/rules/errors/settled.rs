//! What settles a failure: the same going well later in any form (E9), but not with other targets; a verification that says
//! as much or more; the same file edited all the same (W2).

use programs::Deed;
use programs::repository::Covered;
use programs::shell::SimpleCommand;
use transcript::{Kind, Outcome};

use super::{Failure, harmless, repeated};
use crate::inputs::RecordedCall;
use crate::rules::verification::{Showed, VerifyingRun};
use crate::strength::Strength;
use crate::work::Work;

/// Whether the call ran without the change: how that went says nothing about it.
pub(super) fn is_away(call: &RecordedCall, work: &Work<'_>) -> bool {
    let mut runs = work.verifying_runs().iter().filter(|run| std::ptr::eq(run.ran.recorded, call));
    runs.any(|run| run.showed == Showed::WithoutTheChange)
}

/// The later call that shows that the failure is over.
pub(super) fn by<'a>(
    failure: &Failure<'a>,
    later: &[&'a RecordedCall],
    work: &Work<'a>,
) -> Option<&'a RecordedCall> {
    let recorded = failure.recorded;
    let went_well: Vec<&RecordedCall> = later
        .iter()
        .copied()
        .filter(|call| call.call.outcome == Outcome::Ok && !call.call.user_stopped && !is_away(call, work))
        .collect();
    if !failure.by_output
        && let Some(same) = went_well.iter().find(|call| repeated::is_same(&recorded.call, &call.call))
    {
        return Some(same);
    }
    if harmless::was_ended(recorded)
        && let Some(end) = went_well.iter().find(|call| harmless::ends_others(call))
    {
        return Some(end);
    }
    match recorded.call.kind {
        Kind::Shell if failure.suspects.iter().all(|command| command.is_inline_code()) => {
            went_well.iter().copied().find(|call| call.call.kind == Kind::Shell)
        }
        Kind::Shell => {
            let green: Vec<&VerifyingRun<'_>> = work
                .verifying_runs()
                .iter()
                .filter(|run| run.ran.at > failure.at && run.showed == Showed::Green)
                .filter(|run| !failure.suspects.iter().any(|suspect| std::ptr::eq(*suspect, run.ran.command)))
                .collect();
            let mut last: Option<&'a RecordedCall> = None;
            for suspect in &failure.suspects {
                let verified = || verified(failure, suspect, &green, work).map(|run| run.ran.recorded);
                let repeated = || repeated::passed(recorded, suspect, &went_well, work.paths());
                last = Some(repeated().or_else(verified)?);
            }
            last
        }
        _ => {
            let number = failure.at.call;
            let files: Vec<String> = recorded.call.paths.iter().map(|path| work.paths().one(path)).collect();
            let made = !files.is_empty() && files.iter().all(|file| work.was_edited_after(file, number));
            let edits =
                |call: &&RecordedCall| matches!(call.call.kind, Kind::Edit | Kind::Write | Kind::Shell);
            went_well.iter().copied().find(edits).filter(|_| made)
        }
    }
}

/// The last of the green runs that show that what failed is over.
fn verified<'r, 'a>(
    failure: &Failure<'a>,
    suspect: &'a SimpleCommand,
    green: &[&'r VerifyingRun<'a>],
    work: &Work<'a>,
) -> Option<&'r VerifyingRun<'a>> {
    if matches!(suspect.deed(), Deed::Commits | Deed::Pushes) {
        return None;
    }
    let again = green.iter().find(|run| repeated::does_as_much(run.ran.command, suspect, work.paths()));
    if again.is_some() {
        return again.copied();
    }
    let parts: Vec<&VerifyingRun<'a>> = failure.runs_of(suspect).collect();
    let settling = |part: &&VerifyingRun<'a>| green.iter().copied().find(|run| settles(run, part));
    // Which part of a task failed is known if its tests say how they went.
    match (parts.as_slice(), failure.has_summary()) {
        ([], _) => green.iter().copied().find(|run| says_as_much(run, suspect)),
        (parts, true) => parts.iter().map(settling).try_fold(None, |_, run| run.map(Some))?,
        (parts, false) => parts.iter().find_map(settling),
    }
}

/// Whether a green run shows that what a failed one complained of is over.
fn settles(run: &VerifyingRun<'_>, failed: &VerifyingRun<'_>) -> bool {
    let (is_elsewhere, is_wider) = match failed.covers.packages() {
        Some(folders) => {
            let mut covered = folders.iter().map(|folder| run.covers.has(folder));
            (!covered.clone().any(|has| has), !folders.is_empty() && covered.all(|has| has))
        }
        None => (false, false),
    };
    // A look at some files says nothing of what was wrong elsewhere.
    let is_narrower = match (&run.covers, &failed.covers) {
        (Covered::Files { .. }, Covered::Files { paths, .. }) => {
            !paths.iter().all(|path| run.covers.has_file(path))
        }
        (Covered::Files { .. }, _) => true,
        _ => false,
    };
    let other_language = run.language().zip(failed.language()).is_some_and(|(green, red)| green != red);
    if is_elsewhere || is_narrower || other_language {
        return false;
    }
    let is_whole = run.targets.iter().all(|target| matches!(target.as_str(), "." | "./..."));
    let is_called_by_name = |run: &VerifyingRun<'_>| run.program == run.ran.command.program;
    match run.program == failed.program {
        // The same program with other words was asked for something else, unless tasks led to the same.
        true if run.strength == failed.strength => {
            !(is_called_by_name(run) && is_called_by_name(failed))
                && is_wider
                && (is_whole || run.targets == failed.targets)
        }
        true => run.strength > failed.strength && is_whole,
        false => run.strength >= failed.strength,
    }
}

/// The same of a command that verifies nothing, as far as anybody knows.
fn says_as_much(run: &VerifyingRun<'_>, suspect: &SimpleCommand) -> bool {
    let is_other = run.ran.command.program != suspect.program;
    match Strength::of_command(suspect) {
        Some(strength) if is_other => run.strength >= strength,
        Some(strength) => run.strength > strength && run.targets.is_empty(),
        None => true,
    }
}
