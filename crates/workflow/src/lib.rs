//! Workflows: commands that agents work through in phases. What each phase came to is kept in small files beside the
//! code, so that the next session, or another agent, can go on where the last one ended.
//!
//! [`StateDirectory`] reads and writes the files; [`Workflow`] is one of them in memory; [`ResumePoint`] says where it
//! goes on. Reads no environment and no wall clock: folders and times are given by the caller.

mod archive;
mod diff;
mod error;
mod format;
pub mod handoff;
mod history;
pub mod integrations;
mod issue_record;
mod json_text;
mod lines;
mod list;
mod name;
pub mod output;
mod phase_update;
mod resume_point;
mod session_start;
mod ship_gate;
mod start;
mod state_directory;
pub mod tokens;
mod warning;
mod workflow;

pub use archive::{ArchiveContent, ArchivedWorkflow};
pub use diff::{Difference, diff};
pub use error::WorkflowError;
pub use format::{Gate, Phase, State, Status, WorkflowFile};
pub use history::Save;
pub use issue_record::{IssueError, IssueRecord, OwnRecord, WantedIssue};
pub use json_text::readable_object;
pub use list::{Listed, Summary};
pub use name::{Name, NameError};
pub use phase_update::PhaseUpdate;
pub use resume_point::{PhaseSummary, ResumePoint};
pub use ship_gate::{ShipFacts, Uncommitted, ship_gate};
pub use start::{Begin, Started};
pub use state_directory::{Loaded, Saved, StateDirectory};
pub use warning::Warning;
pub use workflow::{USUAL_PHASES, Workflow, usual_phases};
