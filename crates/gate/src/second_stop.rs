//! The second stop of a turn passes, whatever the state (R11); once more where the owner chose to see the work
//! committed.

use changes::How;

use crate::changed::scope;
use crate::inputs::{Changes, Inputs};
use crate::judge::pass;
use crate::message;
use crate::policy::{Class, Policy, SecondStop};
use crate::verdict::{Decision, Verdict};

/// The verdict of a turn that was held already; `None` for one that was not.
pub(crate) fn judge(policy: &Policy, inputs: &Inputs) -> Option<Verdict> {
    match (inputs.history.holds_this_turn, policy.gate.second_stop) {
        (0, _) => None,
        (1, SecondStop::HoldUncommitted) => Some(uncommitted(policy, inputs)),
        _ => Some(pass(inputs, "held already in this turn")),
    }
}

fn uncommitted(policy: &Policy, inputs: &Inputs) -> Verdict {
    let Changes::Known(set) = &inputs.changes else { return pass(inputs, "held already in this turn") };
    let is_dirty = |how: &How| matches!(how, How::Staged | How::Unstaged | How::Untracked | How::Unmerged);
    let dirty: Vec<String> = set
        .files
        .iter()
        .filter(|file| file.how.iter().any(is_dirty))
        .map(|file| file.path.to_string())
        .filter(|path| policy.classify(path) != Class::Prose)
        .collect();
    if dirty.is_empty() {
        return pass(inputs, "held already in this turn, and all is committed");
    }
    Verdict {
        decision: Decision::Hold,
        message: Some(message::uncommitted(policy, &dirty)),
        scope: scope(&inputs.changes),
        ..pass(inputs, "changes are not committed")
    }
}
