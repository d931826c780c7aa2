//! Autosave: when the context of an agent fills up, what was done is noted, committed and pushed by the hook itself,
//! and the agent is told how to go on.

pub mod buildguide;
pub mod notes;
pub mod secrets;
