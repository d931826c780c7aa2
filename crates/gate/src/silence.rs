//! What is not asked for, or not again: actions that the agent says it cannot do here, and actions that the turn
//! before was held for.

use change_set::Scope;
use programs::Deed;
use programs::shell::{Intents, SimpleCommand};
use transcript::{Call, Kind, Outcome};

use crate::changed::scope;
use crate::closing_question;
use crate::hold_message::IN;
use crate::inputs::{Inputs, RecordedCall, Waived};
use crate::policy::{Policy, RuleLevel};
use crate::rules::Expectation;
use crate::rules::actions::Demand;
use crate::strength::Strength;
use crate::verdict::{Decision, Observation, Rule, Verdict};
use crate::waiting::Waiting;
use crate::work::Work;

/// The reason of an action that is waived because the turn before was held for it.
pub const ASKED_BEFORE: &str = "already asked for in the previous turn, and nothing has changed since";

/// What the agent said before in this session, and says in this turn in lines of their own, that it cannot do:
/// `checkstone: cannot <action>: <reason>`.
pub fn waivers(policy: &Policy, inputs: &Inputs) -> Vec<Waived> {
    if !policy.gate.waivers {
        return Vec::new();
    }
    let mut waived = inputs.history.waived.clone();
    for (action, reason) in said_waivers(inputs) {
        let is_known = waived.iter().any(|known| known.action == action);
        if policy.action(action).is_some() && !is_known {
            waived.push(Waived { action: action.to_owned(), reason: reason.to_owned() });
        }
    }
    waived
}

/// What the agent says it cannot do and no action is called. Words that are to be filled in are none.
pub(crate) fn unknown_waivers(policy: &Policy, inputs: &Inputs) -> Vec<String> {
    // What is said of another folder is that repository's affair.
    let is_name = |name: &&str| !name.starts_with('<') && *name != "ACTION" && !name.contains(IN);
    let names = said_waivers(inputs).map(|(action, _)| action).filter(is_name);
    names.filter(|name| policy.action(name).is_none()).map(|name| text::shortened(name, 40)).collect()
}

/// Action and reason of each line of this turn that waives something in this repository. What stands in a block of code is
/// shown and not said, and a reason that was not filled in is none.
fn said_waivers(inputs: &Inputs) -> impl Iterator<Item = (&str, &str)> {
    let action_here = move |name: &'_ str| match (&inputs.folder, name.rsplit_once(IN)) {
        (None, _) => Some(name.len()),
        (Some(here), Some((action, folder))) => {
            (folder.trim_matches(['`', '/']) == here.trim_matches('/')).then_some(action.len())
        }
        (Some(_), None) => None,
    };
    inputs.said.iter().flat_map(|text| lines_outside_of_code(text)).filter_map(move |line| {
        let line = line.trim().trim_matches(['`', '*', '-', '>', ' ']);
        let (action, reason) = line.strip_prefix("checkstone: cannot ")?.split_once(':')?;
        let (name, reason) = (action.trim().trim_matches('`'), reason.trim());
        let action = name.get(..action_here(name)?)?;
        is_reason(reason).then_some((action, reason))
    })
}

/// Whether it is more than what the hold shows in its place.
fn is_reason(text: &str) -> bool {
    let word = text.trim_matches(|letter: char| !letter.is_alphanumeric());
    !word.is_empty() && word != "REASON" && !text.starts_with('<')
}

/// The lines that are not between two fences. A fence that nothing closes begins no block: the agent's text ends there or was
/// cut, and what it said would be lost.
fn lines_outside_of_code(text: &str) -> impl Iterator<Item = &str> {
    let lines: Vec<&str> = text.lines().collect();
    let mut outside = Vec::new();
    let mut place = 0;
    while let Some(line) = lines.get(place) {
        let end = fence(line).and_then(|(mark, length)| {
            let closes = |line: &&str| {
                let is_bare = unquoted(line).trim_end().chars().all(|letter| letter == mark);
                is_bare && fence(line).is_some_and(|(_, other)| other >= length)
            };
            Some(place + 1 + lines.get(place + 1..)?.iter().position(closes)?)
        });
        outside.extend(end.is_none().then_some(*line));
        place = end.unwrap_or(place) + 1;
    }
    outside.into_iter()
}

/// A line without the marks of a quotation that it may stand in.
fn unquoted(line: &str) -> &str {
    line.trim_start_matches([' ', '\t', '>'])
}

/// The mark of a fence, and how often it stands there. A line with text in backticks is none.
fn fence(line: &str) -> Option<(char, usize)> {
    let line = unquoted(line);
    let mark = line.chars().next().filter(|letter| matches!(letter, '`' | '~'))?;
    let behind = line.trim_start_matches(mark);
    let length = line.len() - behind.len();
    (length >= 3 && !behind.contains('`')).then_some((mark, length))
}

/// Whether the turn before was held for the action, and nothing that it covers was touched since.
pub(crate) fn was_asked_before(
    policy: &Policy,
    inputs: &Inputs,
    expectation: &Expectation<Demand<'_>>,
    work: &Work<'_>,
) -> bool {
    let Demand { action, covers, .. } = &expectation.subject;
    // With a baseline only what this turn changed is in the change set at all.
    let touched = || {
        scope(&inputs.changes) == Some(Scope::TurnBaseline) || covers.iter().any(|path| work.was_edited(path))
    };
    !policy.gate.ask_again && inputs.history.held_before.contains(&action.id) && !touched()
}

/// Whether a call of the client's own file tools changed something.
pub fn is_edit(call: &Call) -> bool {
    edits(call) && call.outcome != Outcome::Error && !call.user_stopped
}

fn edits(call: &Call) -> bool {
    matches!(call.kind, Kind::Edit | Kind::Write)
}

/// What the agent is waiting for by its own words, its sub-agents, or what the person rejected.
pub(crate) fn waiting(policy: &Policy, inputs: &Inputs) -> Option<Waiting> {
    if policy.gate.turn_only {
        return None;
    }
    let last_edit = inputs.calls.iter().rposition(|recorded| is_edit(&recorded.call));
    let since = last_edit.map_or(0, |place| place + 1).max(inputs.earlier_calls);
    let since = inputs.calls.iter().skip(since);
    let is_rejected = |recorded: &RecordedCall| {
        let commands = recorded.intents.as_ref().map(Intents::commands).unwrap_or_default();
        let checks = || commands.iter().any(|command| Strength::of_command(command).is_some());
        recorded.call.user_stopped && (edits(&recorded.call) || checks())
    };
    if !inputs.session.unanswered.is_empty() {
        Some(Waiting::Subagents)
    } else if inputs.session.is_planning && last_edit.is_none() {
        Some(Waiting::PlanMode)
    } else if since.into_iter().any(is_rejected) {
        Some(Waiting::Rejection)
    } else {
        // Who changed nothing since the person broke in talks about what was begun, and does not say that it is done.
        let waits = if only_talks(inputs) { closing_question::asks } else { closing_question::waits };
        inputs.said.last().is_some_and(|said| waits(said)).then_some(Waiting::AnswerOfUser)
    }
}

/// Whether all the work that is judged is of earlier turns that nobody judged.
fn only_talks(inputs: &Inputs) -> bool {
    let works = |recorded: &RecordedCall| {
        let commands = recorded.intents.as_ref().map(Intents::commands).unwrap_or_default();
        let mut commands = commands.iter();
        let changes =
            |command: &SimpleCommand| !command.edits.paths.is_empty() || command.does(Deed::Commits);
        is_edit(&recorded.call) || commands.any(changes)
    };
    inputs.earlier_calls > 0 && !inputs.calls.iter().skip(inputs.earlier_calls).any(works)
}

/// What a verdict tells the person that they need not hear again in this session, and the tests that it left red.
pub fn reports(verdict: &Verdict) -> Vec<String> {
    let is_told = verdict.decision == Decision::Notify;
    let told = verdict.observations.iter().filter(|_| is_told).filter_map(report);
    told.chain(verdict.left_red.iter().cloned()).collect()
}

fn report(observation: &Observation) -> Option<String> {
    match observation.rule {
        Rule::MissingAction | Rule::UnresolvedError | Rule::WeakerVerification | Rule::NotUnderstood => {
            Some(format!("{}: {}", observation.rule.name(), observation.text))
        }
        Rule::EditWithoutRead | Rule::WideBlastRadius | Rule::PlanDrift => None,
    }
}

/// Leaves out what the person was told before in this session; what holds is said every time.
pub(crate) fn leave_out_reported(
    policy: &Policy,
    inputs: &Inputs,
    is_red: bool,
    observations: &mut Vec<Observation>,
) {
    let rules = policy.gate.rules;
    observations.retain(|observation| {
        let holds = match observation.rule {
            Rule::UnresolvedError => is_red || rules.errors == RuleLevel::Hold,
            Rule::WeakerVerification => rules.weaker == RuleLevel::Hold,
            _ => false,
        };
        let is_known = |report: String| inputs.history.reported.contains(&report);
        holds || !report(observation).is_some_and(is_known)
    });
}
