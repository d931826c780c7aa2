//! Autosave: when the context of an agent fills up, what was done is noted, committed and pushed by the hook itself,
//! and the agent is told how to go on.
//!
//! [`mode`] says how far it goes, [`context`] how full the context is, [`stop_words`] whether the person wants an end.
//! [`Facts`] are what the notes say; [`continuation`] is what the agent is told.

pub mod build_state;
pub mod context;
mod continuation;
mod facts;
mod mode;
mod plain;
mod reason;
mod stop_words;

pub use continuation::{SIGNAL, continuation, signal};
pub use facts::{Facts, Occasion, Ran};
pub use mode::Switches;
pub use reason::Reason;
pub use stop_words::wants_to_stop;
