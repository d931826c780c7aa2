//! What the exit status of a piece of shell says about the commands in it. Each construct combines the
//! flows of its parts; the walk over the syntax tree then needs to know nothing of exit statuses.

use std::collections::BTreeSet;

/// Commands by their place in the list.
pub(crate) type Set = BTreeSet<usize>;

/// The commands that provably succeeded on the way to an outcome. `None`: there is no such way, so anything
/// follows from it.
pub(crate) type Proof = Option<Set>;

/// Where a failure can come from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blame {
    /// One of these failed.
    pub(crate) suspects: Set,
    /// Or none of them: `exit 1`, `! cmd`, `[[ … ]]`.
    pub(crate) unexplained: bool,
}

impl Blame {
    pub(crate) fn nobody() -> Self {
        Self { suspects: Set::new(), unexplained: true }
    }

    fn or(self, other: Self) -> Self {
        Self {
            suspects: union(self.suspects, other.suspects),
            unexplained: self.unexplained || other.unexplained,
        }
    }

    /// The failure of something that ran only because `cause` had failed: each of the two explains it.
    fn because_of(self, cause: &Self) -> Self {
        Self {
            unexplained: self.unexplained && cause.unexplained,
            suspects: union(self.suspects, cause.suspects.clone()),
        }
    }

    /// Nothing to explain where no failure is possible.
    fn if_possible(self, explain: impl FnOnce(Self) -> Self) -> Self {
        if self.unexplained || !self.suspects.is_empty() { explain(self) } else { self }
    }
}

/// A piece of shell.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    /// Where it ends with status 0.
    pub(crate) success: Proof,
    /// Where the shell goes on after it, whatever its status.
    pub(crate) goes_on: Proof,
    /// Where it ends the shell with status 0.
    pub(crate) exits: Proof,
    /// Where a status other than 0 comes from.
    pub(crate) failure: Blame,
    /// Where it ended the shell with a status other than 0.
    pub(crate) fatal: Blame,
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
        Self {
            success: nothing(),
            goes_on: nothing(),
            exits: None,
            failure: Blame::default(),
            fatal: Blame::default(),
        }
    }

    /// Succeeds or fails, and nobody knows why.
    pub(crate) fn opaque() -> Self {
        Self { failure: Blame::nobody(), ..Self::neutral() }
    }

    /// Succeeds, fails or ends the shell, and nobody knows why.
    pub(crate) fn may_exit() -> Self {
        Self { exits: nothing(), fatal: Blame::nobody(), ..Self::opaque() }
    }

    /// One command. `strict`: under `set -e`, and not where its status is tested.
    pub(crate) fn command(index: usize, can_fail: bool, strict: bool) -> Self {
        let one: Set = [index].into();
        let suspects = if can_fail { one.clone() } else { Set::new() };
        let failure = Blame { suspects, unexplained: false };
        Self {
            goes_on: if strict { Some(one.clone()) } else { nothing() },
            success: Some(one),
            exits: None,
            fatal: if strict { failure.clone() } else { Blame::default() },
            failure,
        }
    }

    /// `false`
    pub(crate) fn failure(strict: bool) -> Self {
        Self {
            success: None,
            goes_on: if strict { None } else { nothing() },
            exits: None,
            failure: Blame::nobody(),
            fatal: if strict { Blame::nobody() } else { Blame::default() },
        }
    }

    /// `exit`: with status 0 on the ways that `success` describes, else on account of `failure`.
    pub(crate) fn exit(success: Proof, failure: Blame) -> Self {
        Self { success: None, goes_on: None, exits: success, failure: Blame::default(), fatal: failure }
    }

    /// The same, with an outcome that proves nothing.
    pub(crate) fn unproven(self) -> Self {
        Self { success: nothing(), goes_on: nothing(), ..self }
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
                whole.failure = flow.failure;
            }
            whole.goes_on = both(whole.goes_on, flow.goes_on);
            whole.fatal = whole.fatal.or(flow.fatal);
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
            failure: self.failure.or(next.failure),
            fatal: self.fatal.or(next.fatal),
        }
    }

    /// `self || next`
    pub(crate) fn or(self, next: Self) -> Self {
        let before = self.goes_on;
        Self {
            success: either(self.success.clone(), both(before.clone(), next.success)),
            goes_on: either(self.success, both(before.clone(), next.goes_on)),
            exits: either(self.exits, both(before, next.exits)),
            fatal: self.fatal.or(next.fatal.if_possible(|fatal| fatal.because_of(&self.failure))),
            failure: next.failure.because_of(&self.failure),
        }
    }

    /// `! self`
    pub(crate) fn negated(self) -> Self {
        Self { success: self.goes_on.clone(), failure: Blame::nobody(), ..self }
    }

    /// `if self; then …; else …; fi`; an absent `else` is neutral.
    pub(crate) fn branch(self, then_branch: Self, else_branch: Self) -> Self {
        let (yes, no) = (both(self.goes_on.clone(), self.success), self.goes_on);
        let else_failure = else_branch.failure.if_possible(|failure| failure.because_of(&self.failure));
        let else_fatal = else_branch.fatal.if_possible(|fatal| fatal.because_of(&self.failure));
        Self {
            success: either(both(yes.clone(), then_branch.success), both(no.clone(), else_branch.success)),
            goes_on: either(both(yes.clone(), then_branch.goes_on), both(no.clone(), else_branch.goes_on)),
            exits: either(self.exits, either(both(yes, then_branch.exits), both(no, else_branch.exits))),
            failure: then_branch.failure.or(else_failure),
            fatal: self.fatal.or(then_branch.fatal).or(else_fatal),
        }
    }

    /// One of two, and it is not known which.
    pub(crate) fn or_instead(self, other: Self) -> Self {
        Self {
            success: either(self.success, other.success),
            goes_on: either(self.goes_on, other.goes_on),
            exits: either(self.exits, other.exits),
            failure: self.failure.or(other.failure),
            fatal: self.fatal.or(other.fatal),
        }
    }

    /// A function that was called under `set -e`: where it fails, the shell ends, whatever was tested inside.
    pub(crate) fn checked(self) -> Self {
        Self { goes_on: self.success.clone(), fatal: self.fatal.or(self.failure.clone()), ..self }
    }

    /// A shell of its own: its exits end only itself. `strict` as for a command.
    pub(crate) fn subshell(self, strict: bool) -> Self {
        let success = either(self.success, self.exits);
        let failure = self.failure.or(self.fatal);
        Self {
            goes_on: if strict { success.clone() } else { nothing() },
            success,
            exits: None,
            fatal: if strict { failure.clone() } else { Blame::default() },
            failure,
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
