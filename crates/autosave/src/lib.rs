//! Autosave: when the context of an agent fills up, what was done is noted, committed and pushed by the hook itself,
//! and the agent is told how to go on.
//!
//! [`Switches`] and settings say how far it goes, [`context`] how full the context is, [`wants_to_stop`] whether the
//! person wants an end. [`Facts`] are what the notes say; [`Save`] writes and commits them; [`continuation`] is what the
//! agent is told.

mod begun_saves;
pub mod build_state;
pub mod buildguide;
mod command_end;
pub mod context;
mod continuation;
mod ended_save;
mod facts;
mod look;
mod mode;
pub mod notes;
mod plain;
mod planned_push;
mod private_place;
mod reason;
mod report;
mod save;
mod save_order;
pub mod save_run;
mod saving_settings;
mod saving_stop;
pub mod secrets;
pub mod session_notes;
mod shown_arguments;
mod stop_words;
pub mod told_window;
pub mod wish;

pub use begun_saves::{EndedSaves, Listener};
pub use command_end::CommandEnd;
pub use continuation::{SIGNAL, continuation, signal};
pub use ended_save::{ALLOW, EndedSave};
pub use facts::{Asked, Facts, Occasion, Ran, SHORT_PROMPT};
pub use look::{Gitleaks, Look, WITHHELD};
pub use mode::Switches;
pub use planned_push::{NoPush, PlannedPush};
pub use reason::Reason;
pub use report::{AutonomousExecution, RouterDecision};
pub use save::{CommitPreview, Failed, Save, SaveError, SaveOutcome, Saved, Taken, notes_of};
pub use save_order::{SaveOrder, is_running, take_ended};
pub use save_run::{MOST_SHOWN, Push, SaveReport, left_out_file};
pub use saving_settings::SavingSettings;
pub use saving_stop::SavingStop;
pub use stop_words::wants_to_stop;
pub use wish::{SwitchSources, Wish};
