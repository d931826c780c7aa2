//! Runs the program in an environment of its own and shows all that it answered.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The program with its own home and a fixed width; nothing of the caller's environment reaches it.
pub(crate) fn checkstone(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_checkstone"));
    command
        .args(arguments)
        .env_clear()
        .env("COLUMNS", "90")
        .env("HOME", "/nonexistent")
        .current_dir(samples());
    command
}

/// Where the real samples are; paths in the tests are relative to it.
pub(crate) fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../transcript/tests/samples").canonicalize().unwrap()
}

pub(crate) fn run(arguments: &[&str]) -> Output {
    checkstone(arguments).stdin(Stdio::null()).output().unwrap()
}

pub(crate) fn run_with_input(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = checkstone(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The program may end before it has read everything.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

/// Exit code, stdout and stderr in one text.
pub(crate) fn shown(output: &Output) -> String {
    let part = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    format!(
        "exit code: {}\n--- stdout\n{}--- stderr\n{}",
        output.status.code().unwrap(),
        part(&output.stdout),
        part(&output.stderr)
    )
}
