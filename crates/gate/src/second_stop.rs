//! The second stop of a turn passes, whatever the state (R11); once more where the owner chose to see the work
//! committed. What the agent made of the hold is looked at for the record; the person hears of an excuse that names no action.

use change_set::How;
use text::listed;

use crate::changed::scope;
use crate::inputs::{Changes, Inputs};
use crate::message;
use crate::policy::{Class, Policy, SecondStop};
use crate::silence;
use crate::verdict::{ActionState, ActionVerdict, Decision, Verdict};

/// The verdict of a turn that may have been held already; `look` is what there is to say of it otherwise.
pub(crate) fn judge(policy: &Policy, inputs: &Inputs, look: impl FnOnce() -> Verdict) -> Verdict {
    match (inputs.history.holds_this_turn, policy.gate.second_stop) {
        (0, _) => look(),
        (1, SecondStop::HoldUncommitted) => {
            uncommitted(policy, inputs).unwrap_or_else(|| after_the_hold(policy, inputs, look()))
        }
        _ => after_the_hold(policy, inputs, look()),
    }
}

fn after_the_hold(policy: &Policy, inputs: &Inputs, looked: Verdict) -> Verdict {
    let is_missing = |action: &&ActionVerdict| action.state == ActionState::Required;
    let missing: Vec<&str> =
        looked.actions.iter().filter(is_missing).map(|action| action.id.as_str()).collect();
    let reason = match missing.is_empty() {
        true => "already held this turn; no action is missing now".to_owned(),
        false => format!("already held this turn; still missing: {}", missing.join(", ")),
    };
    // The agent cannot be answered any more; the person can, and may put it right.
    let mut told: Vec<String> = message::checks(&inputs.checks).into_iter().collect();
    let unknown = silence::unknown_waivers(policy, inputs);
    if policy.gate.waivers && !policy.gate.turn_only && !missing.is_empty() && !unknown.is_empty() {
        told.push(format!(
            "The agent says that it cannot do {}, but no action here has that name (actions: {}).",
            listed(&unknown),
            missing.join(", ")
        ));
    }
    let message = (!told.is_empty()).then(|| message::sentence(policy, &told.join("\n")));
    let decision = if message.is_some() { Decision::Notify } else { Decision::Pass };
    Verdict { decision, message, hold: None, reason: reason.into(), ..looked }
}

fn uncommitted(policy: &Policy, inputs: &Inputs) -> Option<Verdict> {
    let Changes::Known(set) = &inputs.changes else { return None };
    let is_dirty = |how: &How| matches!(how, How::Staged | How::Unstaged | How::Untracked | How::Unmerged);
    let dirty: Vec<String> = set
        .files
        .iter()
        .filter(|file| file.how.iter().any(is_dirty))
        .map(|file| file.path.to_string())
        .filter(|path| policy.classify(path) != Class::Prose)
        .collect();
    (!dirty.is_empty()).then(|| Verdict {
        decision: Decision::Hold,
        message: Some(message::uncommitted(policy, &dirty)),
        scope: scope(&inputs.changes),
        ..Verdict::pass(&inputs.coverage, "changes are not committed")
    })
}
