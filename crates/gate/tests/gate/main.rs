//! Facts about the gate, by tables.

mod policy_errors;
mod policy_paths;
mod policy_presets;
mod runner_summary;
mod shell_hostile;
mod shell_intents;
mod shell_patterns;
