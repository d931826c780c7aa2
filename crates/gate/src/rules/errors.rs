//! Unresolved errors (R5), in two layers: only a call that the client recorded as failed is a candidate, and
//! only one that nothing later settled is told; what it printed then chooses the sentence. The output of calls
//! that succeeded is never looked at (E10).

mod attempt;
mod harmless;
mod repeated;

use programs::shell::{Intents, SimpleCommand};
use transcript::{Kind, Outcome};

use super::{Expectation, Seen};
use crate::inputs::{RecordedCall, Waived};
use crate::policy::{Policy, ResolvedBy};
use crate::verdict::{Evidence, Observation, Rule};
use crate::work::{Work, shown};

/// A call that failed; what would satisfy the rule is that the same goes well later.
pub(crate) type Failure<'a> = &'a RecordedCall;

/// Every failure, and what settled it.
pub(crate) fn expectations<'a>(policy: &Policy, work: &Work<'a>) -> Vec<Expectation<Failure<'a>>> {
    let mut expectations = Vec::new();
    for (number, recorded) in work.calls() {
        if !is_candidate(policy, recorded) {
            continue;
        }
        let later: Vec<&RecordedCall> =
            work.calls().filter(|(place, _)| *place > number).map(|(_, call)| call).collect();
        let settled = match policy.gate.resolved_by {
            ResolvedBy::Success => settled(recorded, number, &later, work),
            ResolvedBy::Attempt => later.iter().copied().find(|call| attempt::follows(recorded, call, work)),
        };
        // Failing again is one observation, about the last time (E9).
        let again = || {
            later.iter().any(|call| is_failed(call) && repeated::is_tried_again(recorded, call, work.paths()))
        };
        let seen = match settled {
            Some(by) => Seen::Evidence(Evidence { command: shown(&by.call), line: by.call.line }),
            None if again() => continue,
            None => Seen::Nothing,
        };
        expectations.push(Expectation { subject: recorded, seen });
    }
    expectations
}

/// Whether what failed is what a waived action would have asked for.
pub(crate) fn is_waived(policy: &Policy, failure: Failure<'_>, waived: &[Waived]) -> bool {
    let is_asked = |command: &SimpleCommand| {
        let actions = waived.iter().filter_map(|waived| policy.action(&waived.action));
        actions.flat_map(|action| &action.evidence).any(|pattern| pattern.matches(command))
    };
    let suspects = repeated::suspects(failure);
    !suspects.is_empty() && suspects.into_iter().all(is_asked)
}

/// What is told of a failure that nothing settled.
pub(crate) fn observation(policy: &Policy, failure: Failure<'_>) -> Observation {
    let printed = failure.call.snippet.as_deref().unwrap_or_default();
    let commands = failure.intents.as_ref().map(Intents::commands).unwrap_or_default();
    let sentence = policy.errors.iter().find(|error| {
        let prints =
            error.contains.is_empty() || error.contains.iter().any(|text| printed.contains(text.as_str()));
        let ran = error.ran.is_empty()
            || error.ran.iter().any(|pattern| commands.iter().any(|command| pattern.matches(command)));
        prints && ran
    });
    let is_edit = matches!(failure.call.kind, Kind::Edit | Kind::Write);
    let text = match sentence {
        // R5's own words stand alone.
        Some(error) if policy.gate.resolved_by == ResolvedBy::Attempt => error.say.clone(),
        Some(error) if !is_edit => with_command(&error.say, failure),
        _ if is_edit => with_command("An edit failed and was not made since — verify the file", failure),
        _ => with_command("A command returned errors — verify the issue is resolved", failure),
    };
    Observation { rule: Rule::UnresolvedError, text, line: failure.call.line }
}

fn with_command(sentence: &str, failure: Failure<'_>) -> String {
    format!("{sentence} (`{}`)", shown(&failure.call))
}

fn is_failed(recorded: &RecordedCall) -> bool {
    recorded.call.outcome == Outcome::Error && !recorded.call.user_stopped
}

fn is_candidate(policy: &Policy, recorded: &RecordedCall) -> bool {
    let harmless = harmless::is_refused(&recorded.call)
        || harmless::answers(recorded)
        || harmless::ran_out_of_time(recorded);
    if !is_failed(recorded) || harmless {
        return false;
    }
    match recorded.call.kind {
        _ if policy.gate.resolved_by == ResolvedBy::Attempt => true,
        // What was not understood is no reason to hold.
        Kind::Shell => !matches!(recorded.intents, None | Some(Intents::NotUnderstood(_))),
        // Editing what is not there leaves the code as it was, but the agent may believe otherwise.
        Kind::Edit | Kind::Write => true,
        // Looking for a file that is not there, or a tool that does not exist, breaks nothing.
        Kind::Read | Kind::Other => false,
    }
}

/// The later call that shows that the failure is over (E9).
fn settled<'a>(
    failure: &RecordedCall,
    number: usize,
    later: &[&'a RecordedCall],
    work: &Work<'_>,
) -> Option<&'a RecordedCall> {
    let went_well: Vec<&RecordedCall> = later
        .iter()
        .copied()
        .filter(|call| call.call.outcome == Outcome::Ok && !call.call.user_stopped)
        .collect();
    if let Some(same) = went_well.iter().find(|call| repeated::is_same(&failure.call, &call.call)) {
        return Some(same);
    }
    if harmless::was_ended(failure)
        && let Some(end) = went_well.iter().find(|call| harmless::ends_others(call))
    {
        return Some(end);
    }
    match failure.call.kind {
        // Whoever looked for something that was not there, and went on, found another way.
        Kind::Shell if harmless::only_looked(failure) => went_well.first().copied(),
        Kind::Shell if harmless::only_tried(failure) => {
            went_well.iter().copied().find(|call| call.call.kind == Kind::Shell)
        }
        Kind::Shell => repeated::passed(failure, &went_well, work.paths()),
        _ => {
            let files: Vec<String> = failure.call.paths.iter().map(|path| work.paths().one(path)).collect();
            let made = !files.is_empty() && files.iter().all(|file| work.was_edited_after(file, number));
            let edits =
                |call: &&RecordedCall| matches!(call.call.kind, Kind::Edit | Kind::Write | Kind::Shell);
            went_well.iter().copied().find(edits).filter(|_| made)
        }
    }
}
