//! What builders and package managers say themselves when they are done: the proof where a pipe hides their exit
//! status, as `cargo check 2>&1 | tail -5` does. Test runners have summaries of their own.

use crate::shell::{SimpleCommand, Word};

/// Whether the output shows that this command came to its good end.
pub fn prove(command: &SimpleCommand, printed: &str) -> bool {
    let does = |names: &[&str]| {
        let first = command.arguments.iter().map(Word::text).find(|word| !word.starts_with(['-', '+']));
        first.is_some_and(|word| names.contains(&word))
    };
    let lines = || printed.lines().map(str::trim);
    match command.program.as_str() {
        // It is said only after everything was compiled; tests would have to run after it.
        "cargo" if does(&["build", "b", "check", "c", "clippy", "doc"]) => {
            lines().any(|line| line.starts_with("Finished `"))
                && !lines().any(|line| line.starts_with("error"))
        }
        "npm" | "pnpm" if does(&["install", "i", "ci", "add"]) => {
            let counts = |line: &str| {
                line.strip_prefix("added ")
                    .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
            };
            lines().any(|line| counts(line) || line.starts_with("up to date"))
                && !printed.contains("npm error")
        }
        "pip" if does(&["install"]) => {
            lines().any(|line| {
                line.starts_with("Successfully installed")
                    || line.starts_with("Requirement already satisfied")
            }) && !lines().any(|line| line.starts_with("ERROR"))
        }
        _ => false,
    }
}
