//! The gate. [`judge`] takes a [`policy::Policy`] and [`Inputs`] and returns a [`Verdict`]; one file per rule in `rules`, each of
//! which says in its type what would satisfy it and what was seen.
//!
#![doc = include_str!("../README.md")]

mod changed;
mod closing_question;
mod correction;
mod edited_files;
mod explain;
mod hold_message;
mod inputs;
mod joined_verdict;
mod judge;
mod ledger_extract;
mod message;
pub mod policy;
mod ran;
mod reason;
mod rules;
mod second_stop;
mod silence;
mod steps;
mod strength;
mod unproven;
mod verdict;
mod waiting;
mod work;

pub use correction::Correction;
pub use edited_files::{edited_files, files_shown_whole, script_endings};
pub use explain::{Explanation, RuleState, explain};
pub use hold_message::HoldMessage;
pub use inputs::{
    Changes, CheckOutcome, CheckResult, History, INPUTS_VERSION, Inputs, PlanFile, RecordedCall, Stop,
    Waived, reading_options,
};
pub use joined_verdict::JoinedVerdict;
pub use judge::judge;
pub use ledger_extract::{LedgerExtract, ProvenFile, UnprovenFile};
pub use message::HEADER;
pub use reason::Reason;
pub use silence::{ASKED_BEFORE, is_edit, reports, waivers};
pub use strength::Strength;
pub use unproven::needs;
pub use verdict::{
    ActionState, ActionVerdict, ChangedCategory, ContentProof, Decision, Evidence, FailureText, FileStanding,
    Observation, Rule, Verdict,
};
pub use waiting::{Waiting, is_running_check};
pub use work::is_on_disk_alone;
