//! The gate: what changed × what the agent did → pass, notify or hold. Pure: no files, no processes, no
//! clock, so that every verdict can be replayed from its recorded inputs.
//!
//! [`judge`] takes a [`policy::Policy`] and [`Inputs`] and returns a [`Verdict`]. One file per rule in
//! [`rules`]; each says in its type what would satisfy it and what was seen.

mod changed;
mod explain;
mod inputs;
mod judge;
mod message;
pub mod policy;
pub mod replay;
mod rules;
mod second_stop;
mod silence;
mod verdict;
mod work;

pub use explain::{Explanation, RuleState, explain};
pub use inputs::{
    Changes, CheckOutcome, CheckResult, History, INPUTS_VERSION, Inputs, PlanFile, RecordedCall, Stop,
    Waiting, Waived,
};
pub use judge::judge;
pub use message::HEADER;
pub use silence::{ASKED_BEFORE, waivers};
pub use verdict::{
    ActionState, ActionVerdict, ChangedCategory, Decision, Evidence, Observation, Rule, Verdict,
};
