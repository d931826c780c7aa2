//! What is not asked for, or not again: actions that the agent says it cannot do here, and actions that the turn
//! before was held for.

use change_set::Scope;

use crate::changed::scope;
use crate::inputs::{Inputs, Waived};
use crate::policy::Policy;
use crate::rules::Expectation;
use crate::rules::actions::Demand;
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
