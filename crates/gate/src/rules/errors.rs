//! Unresolved errors (R5). By the letter, any call that the client recorded as failed is one until something about it is tried
//! again. By default red is only what a verifying, building or changing command left behind, by its status or, where that
//! is hidden, by its output, and what nothing later settled; probes never are. What it printed chooses the sentence. The
//! output of calls that succeeded is never looked at (E10).

mod attempt;
pub(super) mod harmless;
mod repeated;
mod settled;

use programs::shell::{Intents, SimpleCommand};
use transcript::{Kind, Outcome};

use super::printed::Printed;
use super::verification::Showed;
use super::{Expectation, Seen};
use crate::inputs::{RecordedCall, Waived};
use crate::policy::{Policy, Proof, ResolvedBy};
use crate::ran::Moment;
use crate::strength::Strength;
use crate::verdict::{Evidence, Observation, Rule};
use crate::work::{Work, shown};

/// Something that failed; what would satisfy the rule is that the same goes well later.
#[derive(Clone, Debug)]
pub(crate) struct Failure<'a> {
    pub(crate) recorded: &'a RecordedCall,
    pub(crate) at: Moment,
    /// What can have failed.
    suspects: Vec<&'a SimpleCommand>,
    /// Only the output tells: the status of the call does not.
    pub(crate) by_output: bool,
}

impl Failure<'_> {
    /// Whether tests, a type check or a build found something wrong with the code: how it was called is another matter.
    pub(crate) fn is_about_the_code(&self) -> bool {
        let said_nothing =
            self.recorded.call.snippet.as_deref().is_none_or(|printed| printed.trim().is_empty());
        match self.strength() {
            Some(Strength::Tested) => true,
            Some(Strength::Built) => said_nothing || Printed::of(self.recorded).is_red(),
            _ => false,
        }
    }

    /// How much the strongest of what can have failed says about the code.
    fn strength(&self) -> Option<Strength> {
        self.suspects.iter().filter_map(|command| Strength::of_command(command)).max()
    }
}

/// Every failure, and what settled it.
pub(crate) fn expectations<'a>(policy: &Policy, work: &Work<'a>) -> Vec<Expectation<Failure<'a>>> {
    let mut expectations = Vec::new();
    for (number, recorded) in work.calls() {
        let Some(failure) = failure(policy, number, recorded, work) else { continue };
        let later: Vec<&RecordedCall> =
            work.calls().filter(|(place, _)| *place > number).map(|(_, call)| call).collect();
        let settled = match policy.gate.resolved_by {
            ResolvedBy::Success => settled::by(&failure, &later, work),
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
        expectations.push(Expectation { subject: failure, seen });
    }
    expectations
}

/// Whether what failed is what a waived action would have asked for.
pub(crate) fn is_waived(policy: &Policy, failure: &Failure<'_>, waived: &[Waived]) -> bool {
    let is_asked = |command: &SimpleCommand| {
        let mut actions = waived.iter().filter_map(|waived| policy.action(&waived.action));
        actions.any(|action| match action.proof {
            Proof::Verification => Strength::of_command(command).is_some(),
            _ => action.evidence.iter().any(|pattern| pattern.matches(command)),
        })
    };
    !failure.suspects.is_empty() && failure.suspects.iter().all(|command| is_asked(command))
}

/// What is told of a failure that nothing settled.
pub(crate) fn observation(policy: &Policy, failure: &RecordedCall) -> Observation {
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

fn with_command(sentence: &str, failure: &RecordedCall) -> String {
    format!("{sentence} (`{}`)", shown(&failure.call))
}

fn is_failed(recorded: &RecordedCall) -> bool {
    recorded.call.outcome == Outcome::Error && !recorded.call.user_stopped
}

fn failure<'a>(
    policy: &Policy,
    number: usize,
    recorded: &'a RecordedCall,
    work: &Work<'a>,
) -> Option<Failure<'a>> {
    let call = &recorded.call;
    let at = Moment { call: number, command: 0 };
    let harmless =
        harmless::is_refused(call) || harmless::answers(recorded) || harmless::ran_out_of_time(recorded);
    let is_failed = is_failed(recorded) && !harmless;
    if policy.gate.resolved_by == ResolvedBy::Attempt {
        let suspects = repeated::suspects(recorded);
        return is_failed.then_some(Failure { recorded, at, suspects, by_output: false });
    }
    match call.kind {
        Kind::Shell => {
            let runs = work.verifying_runs().iter().filter(|run| run.ran.at.call == number);
            let runs: Vec<_> = runs.collect();
            let showed = |command: &SimpleCommand| {
                runs.iter().find(|run| std::ptr::eq(run.ran.command, command)).map(|run| &run.showed)
            };
            if is_failed && !harmless::did_not_take_place(recorded) {
                let mut suspects = repeated::acting_suspects(recorded);
                suspects.retain(|command| {
                    !command.was_done_before(call.snippet.as_deref().unwrap_or_default())
                        && command.idle_argument().is_none()
                        && !matches!(showed(command), Some(Showed::Green | Showed::WithoutTheChange))
                });
                if let Some(first) = suspects.first() {
                    let commands = recorded.intents.as_ref().map(Intents::commands).unwrap_or_default();
                    let place = commands.iter().position(|command| std::ptr::eq(command, *first));
                    let at = Moment { call: number, command: place.unwrap_or_default() };
                    return Some(Failure { recorded, at, suspects, by_output: false });
                }
            }
            let red = runs.iter().find(|run| run.showed == Showed::Red)?;
            Some(Failure { recorded, at: red.ran.at, suspects: vec![red.ran.command], by_output: true })
        }
        // Editing what is not there leaves the code as it was, but the agent may believe otherwise.
        Kind::Edit | Kind::Write => {
            is_failed.then_some(Failure { recorded, at, suspects: Vec::new(), by_output: false })
        }
        // Looking for a file that is not there, or a tool that does not exist, breaks nothing.
        Kind::Read | Kind::Other => None,
    }
}
