//! Runs the program in an environment of its own, beside the real samples.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sandbox::{Answer, RunToEnd as _};
use transcript::Agent;

/// The program with its own home and a fixed width; nothing of the caller's environment reaches it.
pub(crate) fn checkstone(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_checkstone"));
    command
        .args(arguments)
        .env_clear()
        .env("COLUMNS", "90")
        .env("HOME", "/nonexistent")
        .current_dir(samples())
        .stdin(Stdio::null());
    command
}

/// The text without the lists of clients in it, which grow.
pub(crate) fn without_clients(text: &str) -> String {
    let all = Agent::ALL.to_vec();
    let found: Vec<Agent> =
        all.iter().copied().filter(|agent| !agents::host(*agent).registration.only_if_named).collect();
    let mut text = text.to_owned();
    for listed in [all, found] {
        let names: Vec<&str> = listed.into_iter().map(Agent::name).collect();
        for pair in names.windows(2) {
            text = on_one_line(&text, pair[0], pair[1]);
        }
        for between in [", ", "`, `", "\n.IP \\(bu 2\n"] {
            text = text.replace(&names.join(between), "[clients]");
        }
    }
    text
}

/// The text with the second of two names in a list on the line of the first.
fn on_one_line(text: &str, first: &str, second: &str) -> String {
    let first = format!("{first},");
    let parts: Vec<&str> = text.split(&first).collect();
    let mut joined = String::new();
    for (place, part) in parts.iter().enumerate() {
        let follows = place > 0 && part.trim_start().starts_with(second);
        joined += if place > 0 { &first } else { "" };
        joined += if follows { " " } else { "" };
        joined += if follows { part.trim_start() } else { part };
    }
    joined
}

/// Where the real samples are; paths in the tests are relative to it.
pub(crate) fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../transcript/tests/samples").canonicalize().unwrap()
}

/// An environment in `target`, made once; with the packages of that file, or those that Python stages need.
#[cfg(any(feature = "mcp", feature = "python"))]
pub(crate) fn python_environment(name: &str, requirements: &[&str]) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = here.join("../../target").join(name);
    let mut make = Command::new("sh");
    make.arg(here.join("../kernel/tests/python/make.sh")).arg(&folder);
    make.args(requirements.iter().map(|file| here.join(file)));
    assert!(make.status().unwrap().success());
    folder.canonicalize().unwrap()
}

pub(crate) fn run(arguments: &[&str]) -> Answer {
    checkstone(arguments).answer()
}
