//! The second stop of a turn passes, whatever the state (R11); once more where the owner chose to see the work
//! committed. What the agent made of the hold is looked at for the record, and nothing is said of it.

use change_set::How;

use crate::changed::scope;
use crate::inputs::{Changes, Inputs};
use crate::judge::{look, pass};
use crate::message;
use crate::policy::{Class, Policy, SecondStop};
use crate::verdict::{ActionState, ActionVerdict, Decision, Verdict};

/// The verdict of a turn that was held already; `None` for one that was not.
pub(crate) fn judge(policy: &Policy, inputs: &Inputs) -> Option<Verdict> {
    match (inputs.history.holds_this_turn, policy.gate.second_stop) {
        (0, _) => None,
        (1, SecondStop::HoldUncommitted) => Some(uncommitted(policy, inputs)),
        _ => Some(after_the_hold(policy, inputs)),
    }
}

fn after_the_hold(policy: &Policy, inputs: &Inputs) -> Verdict {
    let looked = look(policy, inputs);
    let is_missing = |action: &&ActionVerdict| action.state == ActionState::Required;
    let missing: Vec<&str> =
        looked.actions.iter().filter(is_missing).map(|action| action.id.as_str()).collect();
    let reason = match missing.is_empty() {
        true => "held already in this turn, and no action is missing now".to_owned(),
        false => format!("held already in this turn; still missing: {}", missing.join(", ")),
    };
    Verdict { decision: Decision::Pass, message: None, reason, ..looked }
}

fn uncommitted(policy: &Policy, inputs: &Inputs) -> Verdict {
    let Changes::Known(set) = &inputs.changes else { return after_the_hold(policy, inputs) };
    let is_dirty = |how: &How| matches!(how, How::Staged | How::Unstaged | How::Untracked | How::Unmerged);
    let dirty: Vec<String> = set
        .files
        .iter()
        .filter(|file| file.how.iter().any(is_dirty))
        .map(|file| file.path.to_string())
        .filter(|path| policy.classify(path) != Class::Prose)
        .collect();
    if dirty.is_empty() {
        return after_the_hold(policy, inputs);
    }
    Verdict {
        decision: Decision::Hold,
        message: Some(message::uncommitted(policy, &dirty)),
        scope: scope(&inputs.changes),
        ..pass(inputs, "changes are not committed")
    }
}
