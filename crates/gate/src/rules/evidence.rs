//! What proves an action: a command that ran, succeeded attributably (E1–E3, E7), and came after the last change
//! that it is meant to cover (E5).

use std::collections::BTreeSet;

use jiff::Timestamp;
use outputs::{Shown, Summary};
use programs::repository::Repository;
use programs::shell::{Attribution, Intents, Output, Pattern, SimpleCommand};
use transcript::{Call, Outcome};

use super::chain;
use crate::changed::Changed;
use crate::policy::{Action, Fresh, Proof};
use crate::ran::Ran;
use crate::strength::Strength;
use crate::work::{SLACK_NS, Work};

/// File times come from a clock that ticks in milliseconds, and a run's record is written a moment after its end.
const FILE_CLOCK_NS: i128 = 100_000_000;

impl Action {
    /// Whether a run is recorded in the ledger for the contents that it covers. An installation, and what is done anywhere in
    /// the turn, is not about contents at all.
    pub(crate) fn is_in_ledger(&self) -> bool {
        self.fresh == Fresh::AfterChange && self.proof != Proof::Installation
    }

    /// Whether a run verifies the content itself, so that the same content needs no second run whenever it comes back. That is
    /// known of programs of the table, and of scripts and tasks by what they are called: `./ci.sh`, `make check`. Anything
    /// else, such as `make restart`, may act on something beside the files, and has to be done again.
    pub(crate) fn is_about_content(&self) -> bool {
        let nothing_known = Repository::default();
        let verifies = |pattern: &Pattern| {
            let intents = Intents::read(pattern.as_str());
            let does = |command: &SimpleCommand| {
                let runs = nothing_known.runs(command, "");
                runs.into_iter().any(|run| Strength::of_run(command, run.deed).is_some())
            };
            intents.commands().iter().any(does)
        };
        self.is_in_ledger() && (self.proof == Proof::Verification || self.evidence.iter().any(verifies))
    }
}

/// Whether the command is what the action asks for.
pub(crate) fn names(action: &Action, ran: &Ran<'_>) -> bool {
    action.evidence.iter().any(|pattern| pattern.matches(ran.command))
}

/// Why a command that ran proves nothing, whenever it ran.
pub(crate) fn objection(ran: &Ran<'_>) -> Option<String> {
    let Call { outcome, user_stopped, .. } = ran.call;
    if *user_stopped {
        return Some("it was stopped".to_owned());
    }
    match outcome {
        Outcome::Error if chain::passed_all_the_same(ran.recorded, ran.command) => return None,
        Outcome::Error => return Some("it failed".to_owned()),
        Outcome::Unknown => return Some("its outcome is unknown".to_owned()),
        Outcome::Ok => {}
    }
    let output = match ran.command.output {
        Output::Shown | Output::Filtered => ran.call.snippet.as_deref().unwrap_or_default(),
        Output::Hidden => "",
    };
    let known = ran.call.output.shown().filter(|_| ran.command.output != Output::Hidden);
    let summary = known.map_or_else(|| outputs::read(output), Shown::summary);
    match (ran.command.attribution, summary) {
        (_, Some(Summary::NoTestsRan)) => Some("no tests ran".to_owned()),
        (_, Some(Summary::Failed { .. })) => Some("its own summary reports failures".to_owned()),
        (Attribution::Decides, _) | (Attribution::Masked(_), Some(Summary::Passed { .. })) => None,
        (Attribution::Masked(_), None) if ran.command.says_it_is_done(output) => None,
        (Attribution::Masked(mask), None) => Some(mask.to_string()),
    }
}

/// Why evidence does not cover what changed: something changed after it. That it saw the very content of a file decides, if
/// that is known; else the order of the calls and the time at which the file was written.
pub(crate) fn staleness(
    action: &Action,
    covers: &BTreeSet<String>,
    changed: &[Changed],
    ran: &Ran<'_>,
    strength: Option<Strength>,
    work: &Work<'_>,
) -> Option<String> {
    if action.fresh == Fresh::ThisTurn {
        return None;
    }
    let objection = written_after(action, covers, changed, ran, strength, work)?;
    let is_unseen = |path: &&String| !work.has_present_code_at(path, ran.at);
    let unseen: BTreeSet<String> = covers.iter().filter(is_unseen).cloned().collect();
    match unseen.len() {
        number if number == covers.len() || !action.is_about_content() => Some(objection),
        0 => None,
        _ => written_after(action, &unseen, changed, ran, strength, work),
    }
}

/// The same by order and times alone.
fn written_after(
    action: &Action,
    covers: &BTreeSet<String>,
    changed: &[Changed],
    ran: &Ran<'_>,
    strength: Option<Strength>,
    work: &Work<'_>,
) -> Option<String> {
    const STALE: &str = "it ran before the last change";
    let is_rewritten = action.proof != Proof::Evidence && work.rewrites_after(ran);
    let last_edit = match action.proof {
        Proof::Evidence => work.last_edit(covers),
        Proof::Verification | Proof::Installation => work.last_edit_that_needs_proof(covers),
    };
    if is_rewritten || last_edit.is_some_and(|edit| edit > ran.at) {
        return Some(STALE.to_owned());
    }
    // What a program wrote itself is not verified by having run it.
    let only_ran = strength == Some(Strength::Ran);
    let since = || covers.iter().filter(|path| !was_there_before(path, changed, ran)).cloned().collect();
    if only_ran && work.has_unknown_writer(&since()) {
        return Some("it may have made the changes itself".to_owned());
    }
    let ended = ran.call.ended_at.filter(|_| !only_ran).or(ran.call.at)?;
    // Without a fraction a record is exact to the second; with one, the clock of the files is the coarser one.
    let slack = if ended.subsec_nanosecond() == 0 { SLACK_NS } else { FILE_CLOCK_NS };
    let is_newer = |file: &&Changed| {
        let Some(written) =
            file.modified_ns.and_then(|nanoseconds| Timestamp::from_nanosecond(nanoseconds.into()).ok())
        else {
            return false;
        };
        // A time in the future says nothing: no run can be younger (L12).
        let is_future = work.stopped_at().is_some_and(|now| written.as_nanosecond() > now);
        !is_future
            && written.as_nanosecond() > ended.as_nanosecond() + slack
            && !work.was_laid_out(&file.path, written, ran.at)
    };
    let newer = changed.iter().filter(|file| covers.contains(&file.path)).find(is_newer);
    newer.map(|file| format!("`{}` was written after it", file.path))
}

/// Whether a file had been written when the run began, by its time.
fn was_there_before(path: &str, changed: &[Changed], ran: &Ran<'_>) -> bool {
    let written = changed.iter().find(|file| file.path == path).and_then(|file| file.modified_ns);
    let slack = |began: &Timestamp| if began.subsec_nanosecond() == 0 { SLACK_NS } else { FILE_CLOCK_NS };
    written
        .zip(ran.call.at)
        .is_some_and(|(written, began)| i128::from(written) + slack(&began) < began.as_nanosecond())
}
