//! One stop, from what a client says to a verdict and its record. The hook, `check`, `inject` and `explain` all come
//! through here, and so does whoever wants to know what a policy says of recorded turns.
//!
//! [`Workplace`] is where the agent works and what the policy files there say; [`KnownTurn`] is what the journal knows of
//! the turn; [`StopCase`] judges a turn as a reading of its transcript shows it; [`JudgedStop`] records the verdict, and
//! counts a hold before it is said.
//!
//! Prints nothing and reads no environment: paths, settings and times are given.

pub mod attestation;
pub mod changed_texts;
mod checks;
mod client_event;
mod client_stop;
mod configured_snapshots;
mod explanation;
mod judged_stop;
mod known_turn;
mod last_words;
mod late_results;
mod lock_file;
pub mod notices;
mod other_repositories;
mod plan_file;
pub mod policy_files;
mod prompt_policy;
mod range_policy;
pub mod record;
pub mod replay;
pub mod repository_files;
mod seen_contents;
mod settings;
mod shared_files;
mod statistics;
mod stop_case;
mod stop_look;
mod stopwatch;
mod submodules;
pub mod trust;
pub mod turn_start_snapshot;
mod unproven_contents;
mod verification;
mod workplace;
mod written_files;

pub use client_event::{ClientEvent, SAME_DELIVERY, append_to_log};
pub use client_stop::{Purpose, Stop, UnjudgedStop, judge};
pub use configured_snapshots::{abandoned_mirrors, configured_snapshots, mirror_of};
pub use explanation::{
    ExplainedVerdict, Replay, explain, recorded_correction, recorded_reason, recorded_rules,
};
pub use judged_stop::{Delivery, JudgedStop, turn_of};
pub use known_turn::{KnownTurn, SESSIONS_LOOKED_AT, session_of_transcript, unjudged_turns};
pub use last_words::read as read_turns;
pub use late_results::correct as correct_late_results;
pub use lock_file::lock_file;
pub use plan_file::is_slug;
pub use prompt_policy::{PackedPolicy, PolicyChange, earlier_policy, had_own_file};
pub use range_policy::RangePolicies;
pub use record::{Record, recorded_commands};
pub use seen_contents::live_unproven;
pub use settings::StopSettings;
pub use statistics::{AgentCount, Counts, DayCount, ProjectCount, Statistics};
pub use stop_case::{AskedBy, JudgedRepository, JudgedTurn, StopCase, StopError, baseline};
pub use stopwatch::Stopwatch;
pub use unproven_contents::unproven_in;
pub use verification::{
    FoundProof, MissingProof, ProvenByAction, ProvingRun, Verification, VerificationError, VerifiedPart,
    VerifiedPlace,
};
pub use workplace::Workplace;
