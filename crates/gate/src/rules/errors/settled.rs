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

/// The later call that shows that the failure is over.
pub(super) fn by<'a>(
    failure: &Failure<'_>,
    later: &[&'a RecordedCall],
    work: &Work<'a>,
) -> Option<&'a RecordedCall> {
    let recorded = failure.recorded;
    // What went well without the change says nothing about it.
    let is_away = |call: &RecordedCall| {
        let mut runs = work.verifying_runs().iter().filter(|run| std::ptr::eq(run.ran.recorded, call));
        runs.any(|run| run.showed == Showed::WithoutTheChange)
    };
    let went_well: Vec<&RecordedCall> = later
        .iter()
        .copied()
        .filter(|call| call.call.outcome == Outcome::Ok && !call.call.user_stopped && !is_away(call))
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
                let verified =
                    || green.iter().find(|run| settles(run, suspect, work)).map(|run| run.ran.recorded);
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

/// Whether a later green run shows that what failed is over.
fn settles(run: &VerifyingRun<'_>, suspect: &SimpleCommand, work: &Work<'_>) -> bool {
    if repeated::does_as_much(run.ran.command, suspect, work.paths()) {
        return true;
    }
    let failed = work.verifying_runs().iter().find(|failed| std::ptr::eq(failed.ran.command, suspect));
    let is_elsewhere = match failed.map(|failed| &failed.covers) {
        Some(Covered::Packages(folders)) => !folders.iter().any(|folder| run.covers.has(folder)),
        Some(Covered::Unknown) | None => false,
    };
    if is_elsewhere {
        return false;
    }
    // The same program with other words was asked for something else.
    let is_other = run.ran.command.program != suspect.program;
    match (Strength::of_command(suspect), suspect.deed()) {
        (_, Deed::Commits | Deed::Pushes) => false,
        (Some(strength), _) if is_other => run.strength >= strength,
        (Some(strength), _) => run.strength > strength && run.targets.is_empty(),
        (None, _) => true,
    }
}
