//! Facts about the gate, by tables.

mod runner_summary;
mod shell_hostile;
mod shell_intents;
mod shell_patterns;
