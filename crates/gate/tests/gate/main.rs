//! Facts about the gate, by tables.

mod shell_hostile;
mod shell_intents;
mod shell_patterns;
