//! The durable record: sessions, turns, verdicts, holds and the ledger of what is proven in one SQLite file; the decision
//! log; the switch of a session.
//!
//! Knows nothing of transcripts, git or policies: what they want kept comes in as text and bytes. Reads no
//! environment and no wall clock: the state directory and every time are given by the caller.

mod autosave;
mod column;
mod delivery;
mod error;
mod examine;
mod glance;
mod history;
mod journal;
mod ledger;
pub mod log;
mod newer;
mod notice;
mod policy;
mod prune;
mod registration;
mod run;
mod schema;
mod session;
mod state_directory;
pub mod switch;
mod trust;
mod turn;
mod value;
mod verdict;
mod waiver;

pub use autosave::{Autosave, AutosaveCounts, AutosaveId, AutosaveOutcome, NewAutosave, PushState};
pub use error::JournalError;
pub use examine::{Soundness, examine, known_registrations};
pub use glance::TurnGlance;
pub use history::{DayOfTurns, FoundTurn, WeekOfVerdicts};
pub use journal::{Journal, OpenFor, Reading, Writing, set_aside};
pub use ledger::{
    FileVersion, NO_FILE, NewProof, Proof, ProofId, ProvenBy, ProvenContent, RepositoryId, Standing,
    StandingSession,
};
pub use newer::{FollowedVerdict, OpenedTurn};
pub use notice::{Author, NewNotice, Notice, SHARED_FILES};
pub use policy::LatestPolicy;
pub use prune::{Limits, Pruned};
pub use registration::Registration;
pub use run::{NotedRun, NotedRunId};
pub use session::{SeenSession, Session, SessionId};
pub use trust::{Trust, TrustEntry};
pub use turn::{NewTurn, Turn, TurnId, UnannouncedTurn, UnjudgedTurns};
pub use verdict::{Inputs, NewVerdict, Of, RecordedVerdict, VerdictId};
pub use waiver::Waiver;
