//! Workflows: commands that agents work through in phases. What each phase came to is kept in small files beside the
//! code, so that the next session, or another agent, can go on where the last one ended.
//!
//! Reads no environment and no wall clock: folders and times are given by the caller.

pub mod handoff;
pub mod integrations;
pub mod tokens;
