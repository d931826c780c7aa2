//! The rules, one file each. Every rule keeps the same contract (suppressibility): it looks for positive
//! evidence that what it expects took place; where there is some it says nothing, where there is none, or it is
//! ambiguous, it speaks. A missing transcript is no evidence.

pub(crate) mod actions;
mod chain;
pub(crate) mod drift;
pub(crate) mod errors;
pub(crate) mod evidence;
pub(crate) mod hygiene;
mod own_code;
mod printed;
mod told_status;
pub(crate) mod verification;

use crate::verdict::Evidence;

/// What a rule expects, and what was seen of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expectation<Subject> {
    /// What the expectation is about.
    pub(crate) subject: Subject,
    pub(crate) seen: Seen,
}

/// What was seen of something expected.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Seen {
    /// It took place: the rule is silent.
    Evidence(Evidence),
    /// Something like it, which proves nothing, and why: the rule speaks.
    Ambiguous { like: Evidence, why: String },
    /// Nothing: the rule speaks.
    Nothing,
}

impl<Subject> Expectation<Subject> {
    pub(crate) fn speaks(&self) -> bool {
        !matches!(self.seen, Seen::Evidence(_))
    }
}
