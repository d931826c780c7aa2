//! Runs the program in an environment of its own, beside the real samples.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sandbox::{Answer, RunToEnd as _};

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

/// Where the real samples are; paths in the tests are relative to it.
pub(crate) fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../transcript/tests/samples").canonicalize().unwrap()
}

pub(crate) fn run(arguments: &[&str]) -> Answer {
    checkstone(arguments).answer()
}
