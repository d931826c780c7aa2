//! Unresolved errors (R5). By the letter, any call that the client recorded as failed is one until something about it is tried
//! again. By default red is only what a verifying, building or changing command left behind, by its status or, where that
//! is hidden, by its output, and what nothing later settled; probes never are. What it printed chooses the sentence. The
//! output of calls that succeeded is never looked at (E10).

mod attempt;
pub(super) mod harmless;
mod left_red;
mod repeated;
mod settled;

use std::collections::BTreeSet;

use programs::is_test_file;
use programs::shell::{Intents, SimpleCommand};
use transcript::{Kind, Outcome};

use super::printed::Printed;
use super::verification::{PackageCode, Showed, VerifyingRun};
use super::{Expectation, Seen};
use crate::changed::Changed;
use crate::inputs::{RecordedCall, Waived};
use crate::policy::{Action, Policy, Proof, ResolvedBy};
use crate::ran::Moment;
use crate::strength::Strength;
use crate::verdict::{Evidence, FailureText, Observation, Rule};
use crate::work::{Work, shown};

pub(crate) use left_red::LeftRed;

/// Something that failed; what would satisfy the rule is that the same goes well later.
#[derive(Clone, Debug)]
pub(crate) struct Failure<'a> {
    pub(crate) recorded: &'a RecordedCall,
    pub(crate) at: Moment,
    /// What can have failed.
    suspects: Vec<&'a SimpleCommand>,
    /// The runs of the suspects that did not go well.
    runs: Vec<VerifyingRun<'a>>,
    /// Only the output tells: the status of the call does not.
    pub(crate) by_output: bool,
}

impl<'a> Failure<'a> {
    /// The changed files that tests, a type check or a build found something wrong with.
    pub(crate) fn red_files(&self, changed: &[Changed], work: &Work<'_>) -> BTreeSet<String> {
        let files = changed.iter().filter(|file| file.is_code() && self.concerns(&file.path, work));
        let files: BTreeSet<String> = files.map(|file| file.path.clone()).collect();
        let last_edit = work.last_edit_that_needs_proof(&files);
        // Tests that fail before there is anything to pass them are written on purpose.
        let is_more_than_tests = files.iter().any(|path| !is_test_file(path));
        let is_red =
            self.is_about_the_code(is_more_than_tests) && last_edit.is_none_or(|edit| edit < self.at);
        if is_red { files } else { BTreeSet::new() }
    }

    /// Whether what failed says something about this file: it ran in its package, by a program of its language.
    fn concerns(&self, path: &str, work: &Work<'_>) -> bool {
        let package = work.repository().and_then(|repository| repository.package_of(path));
        let Some(code) = package.map(|package| PackageCode::of(package, path)) else { return true };
        self.runs.is_empty() || self.runs.iter().any(|run| run.is_about(&code))
    }

    /// How it was called is another matter.
    fn is_about_the_code(&self, is_more_than_tests: bool) -> bool {
        let said_nothing =
            self.recorded.call.snippet.as_deref().is_none_or(|printed| printed.trim().is_empty());
        match self.strength() {
            Some(Strength::Tested) => is_more_than_tests,
            Some(Strength::Built) => said_nothing || Printed::of(self.recorded).is_red(),
            _ => false,
        }
    }

    /// Whether the action asks for what failed.
    pub(crate) fn is_asked_for_by(&self, action: &Action) -> bool {
        self.suspects.iter().any(|command| asks_for(action, command))
    }

    /// How much what is known to have failed says about the code. In a chain of several that is known only if the output
    /// tells, and of a task of several parts nobody knows that more failed than the least of them.
    fn strength(&self) -> Option<Strength> {
        let red = self.runs.iter().filter(|run| run.showed == Showed::Red).map(|run| run.strength);
        if self.has_summary() { red.max() } else { red.min() }
    }

    fn runs_of(&self, suspect: &'a SimpleCommand) -> impl Iterator<Item = &VerifyingRun<'a>> {
        self.runs.iter().filter(move |run| std::ptr::eq(run.ran.command, suspect))
    }

    fn has_summary(&self) -> bool {
        Printed::of(self.recorded).tests().is_some()
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
            let mut failed = later.iter().filter(|call| is_failed(call) && !settled::is_away(call, work));
            failed.any(|call| repeated::is_tried_again(recorded, call, work.paths()))
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
        actions.any(|action| asks_for(action, command))
    };
    !failure.suspects.is_empty() && failure.suspects.iter().all(|command| is_asked(command))
}

fn asks_for(action: &Action, command: &SimpleCommand) -> bool {
    action.evidence.iter().any(|pattern| pattern.matches(command))
        || (action.proof == Proof::Verification && Strength::of_command(command).is_some())
}

/// What is told of a failure that nothing settled.
pub(crate) fn observation(policy: &Policy, failure: &RecordedCall) -> Observation {
    let is_edit = is_edit(failure);
    let line = failure.call.line;
    let cause = match sentence(policy, failure) {
        // R5's own words stand alone.
        Some(sentence) if policy.gate.resolved_by == ResolvedBy::Attempt => {
            return Observation::new(Rule::UnresolvedError, sentence, line);
        }
        Some(sentence) if !is_edit => sentence,
        _ if is_edit => "An edit failed and was not repeated — verify the file",
        _ => "A command returned errors — verify the issue is resolved",
    };
    Observation::of_failure(FailureText { cause: cause.to_owned(), command: shown(&failure.call) }, line)
}

/// The policy's own words for such a failure.
pub(crate) fn sentence<'p>(policy: &'p Policy, failure: &RecordedCall) -> Option<&'p str> {
    let printed = failure.call.snippet.as_deref().unwrap_or_default();
    let commands = failure.intents.as_ref().map(Intents::commands).unwrap_or_default();
    let error = policy.errors.iter().find(|error| {
        let prints =
            error.contains.is_empty() || error.contains.iter().any(|text| printed.contains(text.as_str()));
        let ran = error.ran.is_empty()
            || error.ran.iter().any(|pattern| commands.iter().any(|command| pattern.matches(command)));
        prints && ran
    });
    error.map(|error| error.say.as_str())
}

fn is_edit(failure: &RecordedCall) -> bool {
    matches!(failure.call.kind, Kind::Edit | Kind::Write)
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
    let is_harmless =
        || harmless::is_refused(call) || harmless::answers(recorded) || harmless::ran_out_of_time(recorded);
    let is_failed = is_failed(recorded) && !is_harmless();
    if policy.gate.resolved_by == ResolvedBy::Attempt {
        let suspects = repeated::suspects(recorded);
        return is_failed.then_some(Failure { recorded, at, suspects, runs: Vec::new(), by_output: false });
    }
    match call.kind {
        Kind::Shell => {
            let runs = work.verifying_runs().iter().filter(|run| run.ran.at.call == number);
            let mut runs: Vec<VerifyingRun<'a>> = runs.cloned().collect();
            let went_well =
                |run: &VerifyingRun<'a>| matches!(run.showed, Showed::Green | Showed::WithoutTheChange);
            let passed = |command: &SimpleCommand| {
                let mut own = runs.iter().filter(|run| std::ptr::eq(run.ran.command, command)).peekable();
                own.peek().is_some() && own.all(went_well)
            };
            if is_failed && harmless::why_not_done(recorded).is_none() {
                let mut suspects = repeated::acting_suspects(recorded);
                suspects.retain(|command| {
                    !command.was_done_before(call.snippet.as_deref().unwrap_or_default())
                        && command.idle_argument().is_none()
                        && !passed(command)
                });
                if let Some(first) = suspects.first() {
                    let commands = recorded.intents.as_ref().map(Intents::commands).unwrap_or_default();
                    let place = commands.iter().position(|command| std::ptr::eq(command, *first));
                    let at = Moment { call: number, command: place.unwrap_or_default() };
                    runs.retain(|run| {
                        !went_well(run)
                            && suspects.iter().any(|suspect| std::ptr::eq(*suspect, run.ran.command))
                    });
                    return Some(Failure { recorded, at, suspects, runs, by_output: false });
                }
            }
            let red = runs.iter().find(|run| run.showed == Showed::Red)?.ran;
            runs.retain(|run| run.showed == Showed::Red && std::ptr::eq(run.ran.command, red.command));
            Some(Failure { recorded, at: red.at, suspects: vec![red.command], runs, by_output: true })
        }
        // Editing what is not there leaves the code as it was, but the agent may believe otherwise.
        Kind::Edit | Kind::Write => {
            let (suspects, runs) = (Vec::new(), Vec::new());
            is_failed.then_some(Failure { recorded, at, suspects, runs, by_output: false })
        }
        // Looking for a file that is not there, or a tool that does not exist, breaks nothing.
        Kind::Read | Kind::Other => None,
    }
}
