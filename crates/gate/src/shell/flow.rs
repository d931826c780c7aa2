//! What the exit status of a piece of shell says about the commands in it. Each construct combines the
//! flows of its parts; the walk over the syntax tree then needs to know nothing of exit statuses.

use std::collections::BTreeSet;

/// Commands by their place in the list.
pub(crate) type Set = BTreeSet<usize>;

/// The commands that provably succeeded on the way to an outcome. `None`: there is no such way, so anything
/// follows from it.
pub(crate) type Proof = Option<Set>;

/// A piece of shell.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    /// Where it ends with status 0.
    pub(crate) success: Proof,
    /// Where the shell goes on after it, whatever its status.
    pub(crate) goes_on: Proof,
    /// Where it ends the shell with status 0.
    pub(crate) exits: Proof,
    /// The commands that can explain a status other than 0.
    pub(crate) suspects: Set,
    /// The commands that can explain that it ended the shell with a status other than 0.
    pub(crate) fatal: Set,
}

fn nothing() -> Proof {
    Some(Set::new())
}

/// Both hold.
pub(crate) fn both(one: Proof, other: Proof) -> Proof {
    let (mut large, mut small) = (one?, other?);
    if large.len() < small.len() {
        std::mem::swap(&mut large, &mut small);
    }
    large.extend(small);
    Some(large)
}

/// One of them holds, and it is not known which.
pub(crate) fn either(one: Proof, other: Proof) -> Proof {
    match (one, other) {
        (None, only) | (only, None) => only,
        (Some(one), Some(other)) => Some(one.intersection(&other).copied().collect()),
    }
}

impl Flow {
    /// Succeeds, and proves nothing.
    pub(crate) fn neutral() -> Self {
        Self { success: nothing(), goes_on: nothing(), exits: None, suspects: Set::new(), fatal: Set::new() }
    }

    /// One command. `strict`: under `set -e`, and not where its status is tested.
    pub(crate) fn command(index: usize, can_fail: bool, strict: bool) -> Self {
        let one: Set = [index].into();
        let suspects = if can_fail { one.clone() } else { Set::new() };
        Self {
            goes_on: if strict { Some(one.clone()) } else { nothing() },
            success: Some(one),
            exits: None,
            fatal: if strict { suspects.clone() } else { Set::new() },
            suspects,
        }
    }

    /// `false`
    pub(crate) fn failure(strict: bool) -> Self {
        Self {
            success: None,
            goes_on: if strict { None } else { nothing() },
            exits: None,
            suspects: Set::new(),
            fatal: Set::new(),
        }
    }

    /// `exit`: with status 0 on the ways that `success` describes, else on account of the `suspects`.
    pub(crate) fn exit(success: Proof, suspects: Set) -> Self {
        Self { success: None, goes_on: None, exits: success, suspects: Set::new(), fatal: suspects }
    }

    fn never_goes_on(&self) -> bool {
        self.goes_on.is_none()
    }

    /// `a; b; c`. Linear in the number of parts: only what the last one needs is copied.
    pub(crate) fn sequence(flows: Vec<Self>) -> Self {
        let mut whole = Self::neutral();
        let count = flows.len();
        for (index, flow) in flows.into_iter().enumerate() {
            if flow.exits.is_some() {
                whole.exits = either(whole.exits, both(whole.goes_on.clone(), flow.exits));
            }
            if index + 1 == count {
                whole.success = both(whole.goes_on.clone(), flow.success);
                whole.suspects = flow.suspects;
            }
            whole.goes_on = both(whole.goes_on, flow.goes_on);
            whole.fatal = union(whole.fatal, flow.fatal);
        }
        whole
    }

    /// `self && next`
    pub(crate) fn and(self, next: Self) -> Self {
        let exits = match next.exits {
            None => self.exits,
            Some(exits) => either(self.exits, both(self.success.clone(), Some(exits))),
        };
        Self {
            success: both(self.success, next.success),
            // Also where the first one failed, and the second one never ran.
            goes_on: self.goes_on,
            exits,
            suspects: union(self.suspects, next.suspects),
            fatal: union(self.fatal, next.fatal),
        }
    }

    /// `self || next`
    pub(crate) fn or(self, next: Self) -> Self {
        let before = self.goes_on;
        let stops_where_self_fails = next.never_goes_on();
        let exits = both(before.clone(), next.exits);
        let fatal = union(self.fatal, next.fatal);
        Self {
            success: either(self.success.clone(), both(before.clone(), next.success)),
            goes_on: if stops_where_self_fails { self.success } else { before },
            exits: either(self.exits, exits),
            fatal: if stops_where_self_fails { union(fatal, self.suspects.clone()) } else { fatal },
            suspects: union(self.suspects, next.suspects),
        }
    }

    /// `! self`
    pub(crate) fn negated(self) -> Self {
        Self { success: self.goes_on.clone(), suspects: Set::new(), ..self }
    }

    /// `if self; then …; else …; fi`; an absent `else` is neutral.
    pub(crate) fn branch(self, then_branch: Self, else_branch: Self) -> Self {
        let (yes, no) = (both(self.goes_on.clone(), self.success), self.goes_on);
        let blame_condition = else_branch.success.is_none();
        let mut suspects = union(then_branch.suspects, else_branch.suspects);
        let mut fatal = union(self.fatal, union(then_branch.fatal, else_branch.fatal));
        if blame_condition {
            if else_branch.goes_on.is_none() {
                fatal = union(fatal, self.suspects.clone());
            }
            suspects = union(suspects, self.suspects);
        }
        Self {
            success: either(both(yes.clone(), then_branch.success), both(no.clone(), else_branch.success)),
            goes_on: either(both(yes.clone(), then_branch.goes_on), both(no.clone(), else_branch.goes_on)),
            exits: either(self.exits, either(both(yes, then_branch.exits), both(no, else_branch.exits))),
            suspects,
            fatal,
        }
    }

    /// One of two, and it is not known which.
    pub(crate) fn or_instead(self, other: Self) -> Self {
        Self {
            success: either(self.success, other.success),
            goes_on: either(self.goes_on, other.goes_on),
            exits: either(self.exits, other.exits),
            suspects: union(self.suspects, other.suspects),
            fatal: union(self.fatal, other.fatal),
        }
    }

    /// A shell of its own: its exits end only itself. `strict` as for a command.
    pub(crate) fn subshell(self, strict: bool) -> Self {
        let success = either(self.success, self.exits);
        let suspects = union(self.suspects, self.fatal);
        Self {
            goes_on: if strict { success.clone() } else { nothing() },
            success,
            exits: None,
            fatal: if strict { suspects.clone() } else { Set::new() },
            suspects,
        }
    }

    /// A body that runs once or more, all but its last status unseen.
    pub(crate) fn repeated(self) -> Self {
        Self { success: self.goes_on.clone(), ..self }
    }
}

fn union(one: Set, other: Set) -> Set {
    let (mut large, small) = if one.len() < other.len() { (other, one) } else { (one, other) };
    large.extend(small);
    large
}
