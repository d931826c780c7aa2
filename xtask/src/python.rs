//! Python environments, made once from PyPI: the one that the tests of Python stages use, in `target/python`, the one with the
//! SDK of the Model Context Protocol, and those of single packages.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::needs;
use crate::process;
use crate::root;
use crate::steps::Done;

pub(crate) fn check() -> Result<Done, String> {
    install().map(|_| Done::Passed)
}

/// Debian's Python comes without this part of its own library.
fn complete() {
    let mut complete = Command::new("python3");
    complete.args(["-c", "import ensurepip, venv"]);
    if process::output(&mut complete).is_err() {
        needs::install("python3-venv");
    }
}

/// Another one in this folder, with these packages (blanks between them) and what they need; where its interpreter is.
pub(crate) fn environment(folder: &Path, packages: &str) -> Result<PathBuf, String> {
    let python = folder.join("bin/python");
    let done = folder.join("installed");
    if fs_err::read_to_string(&done).is_ok_and(|installed| installed == packages) {
        return Ok(python);
    }
    complete();
    process::output(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder))?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    process::output(Command::new(&python).args(install).args(packages.split(' ')))?;
    fs_err::write(done, packages).map_err(|error| error.to_string())?;
    Ok(python)
}

/// Where its interpreter is.
pub(crate) fn install() -> Result<PathBuf, String> {
    complete();
    let script = root().join("crates/kernel/tests/python/make.sh");
    let make = |folder: &Path| {
        let mut make = Command::new("sh");
        make.arg(&script).arg(folder);
        make
    };
    let requirements = root().join("crates/checkstone/tests/python/mcp-requirements.txt");
    process::run(make(&root().join("target/mcp-python")).arg(requirements))?;
    let folder = root().join("target/python");
    process::run(&mut make(&folder))?;
    Ok(folder.join("bin/python"))
}
