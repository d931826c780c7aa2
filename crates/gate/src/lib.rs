//! The gate: what changed × what the agent did → pass, notify or hold. Pure: no files, no processes, no
//! clock, so that every verdict can be replayed from its recorded inputs.

pub mod policy;
pub mod runner_summary;
pub mod shell;
