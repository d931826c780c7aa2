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
