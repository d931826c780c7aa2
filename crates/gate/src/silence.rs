//! What is not asked for, or not again: actions that the agent says it cannot do here, and actions that the turn
//! before was held for.

use change_set::Scope;

use crate::changed::scope;
use crate::inputs::{Inputs, Waived};
use crate::policy::{Policy, RuleLevel};
use crate::rules::Expectation;
use crate::rules::actions::Demand;
use crate::verdict::{Decision, Observation, Rule, Verdict};
use crate::work::Work;

/// The reason of an action that is waived because the turn before was held for it.
pub const ASKED_BEFORE: &str = "asked for in the turn before, and nothing changed since";

/// What the agent said before in this session, and says in this turn in lines of their own, that it cannot do:
/// `checkstone: cannot <action>: <reason>`.
pub fn waivers(policy: &Policy, inputs: &Inputs) -> Vec<Waived> {
    if !policy.gate.waivers {
        return Vec::new();
    }
    let mut waived = inputs.history.waived.clone();
    for line in inputs.said.iter().flat_map(|text| text.lines()) {
        let line = line.trim().trim_matches(['`', '*', '-', '>', ' ']);
        let Some(rest) = line.strip_prefix("checkstone: cannot ") else { continue };
        let Some((action, reason)) = rest.split_once(':') else { continue };
        let (action, reason) = (action.trim().trim_matches('`'), reason.trim());
        let is_known = waived.iter().any(|known| known.action == action);
        if policy.action(action).is_some() && !reason.is_empty() && !is_known {
            waived.push(Waived { action: action.to_owned(), reason: reason.to_owned() });
        }
    }
    waived
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

/// What a verdict tells the person that they need not hear again in this session.
pub fn reports(verdict: &Verdict) -> Vec<String> {
    let is_told = verdict.decision == Decision::Notify;
    verdict.observations.iter().filter(|_| is_told).filter_map(report).collect()
}

fn report(observation: &Observation) -> Option<String> {
    match observation.rule {
        Rule::MissingAction | Rule::UnresolvedError | Rule::NotUnderstood => {
            Some(format!("{}: {}", observation.rule.name(), observation.text))
        }
        Rule::EditWithoutRead | Rule::WideBlastRadius | Rule::PlanDrift => None,
    }
}

/// Leaves out what the person was told before in this session; what holds is said every time.
pub(crate) fn leave_out_reported(policy: &Policy, inputs: &Inputs, observations: &mut Vec<Observation>) {
    let rules = policy.gate.rules;
    observations.retain(|observation| {
        let holds = observation.rule == Rule::UnresolvedError && rules.errors == RuleLevel::Hold;
        let is_known = |report: String| inputs.history.reported.contains(&report);
        holds || !report(observation).is_some_and(is_known)
    });
}
