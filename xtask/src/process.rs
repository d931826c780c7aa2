//! Runs other programs from the root of the checkout.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::Command;

use crate::root;
use crate::steps::Done;

/// Everything with tests in it, always with the same features: other ones would build everything again.
pub(crate) const ALL_TESTS: [&str; 4] = ["test", "--workspace", "--all-features", "--quiet"];

/// Of those, one test target.
pub(crate) fn test_target(name: &str) -> Command {
    let mut command = cargo_command();
    command.args(ALL_TESTS).args(["--test", name]);
    command
}

/// The cargo that runs this, as if it had been called by hand: what `cargo run` tells us about our own package would be
/// taken for a change of the surroundings by build scripts that ask for it, and a third of everything built again.
pub(crate) fn cargo_command() -> Command {
    called_by_hand(option_env!("CARGO").unwrap_or("cargo"))
}

/// A program that runs cargo, in the same way.
pub(crate) fn called_by_hand(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    let about_us = |name: &OsString| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
    };
    for (name, _) in std::env::vars_os().filter(|(name, _)| about_us(name)) {
        command.env_remove(name);
    }
    wait_together(&mut command);
    command
}

/// Most tests wait for processes, clocks and disks for most of their time: with one thread for each processor a third of
/// these would have nothing to do.
#[expect(clippy::disallowed_methods, reason = "whoever sets the number of threads knows why")]
pub(crate) fn wait_together(command: &mut Command) {
    const THREADS: &str = "RUST_TEST_THREADS";
    if std::env::var_os(THREADS).is_none() {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        command.env(THREADS, (processors * 3).to_string());
    }
}

pub(crate) fn cargo(arguments: &[&str]) -> Result<Done, String> {
    run(cargo_command().args(arguments))
}

/// Runs to the end with its output shown.
pub(crate) fn run(command: &mut Command) -> Result<Done, String> {
    let name = shown(command);
    match command.status() {
        Ok(status) if status.success() => Ok(Done::Passed),
        Ok(status) => Err(format!("`{name}` ended with {status}")),
        Err(error) => Err(format!("`{name}` could not be started: {error}")),
    }
}

/// Runs to the end; what it printed on stdout.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let name = shown(command);
    let output = command.output().map_err(|error| format!("`{name}` could not be started: {error}"))?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`{name}` ended with {}: {}", output.status, told.trim()));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("`{name}` printed something that is no text"))
}

/// A program that the same build made.
pub(crate) fn built_beside_us(name: &str) -> Result<PathBuf, String> {
    let us = std::env::current_exe().map_err(|error| error.to_string())?;
    Ok(us.with_file_name(name))
}

/// Where programs are looked for.
#[expect(clippy::disallowed_methods, reason = "it is handed on to what runs in an environment of its own")]
pub(crate) fn path() -> OsString {
    std::env::var_os("PATH").unwrap_or_default()
}

fn shown(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy()];
    words.extend(command.get_args().map(|argument| argument.to_string_lossy()));
    words.join(" ")
}
