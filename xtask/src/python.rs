//! The Python environment that the tests of Python stages use: made once from PyPI, in `target/python`.

use std::path::PathBuf;
use std::process::Command;

use crate::needs;
use crate::process;
use crate::root;
use crate::steps::Done;

pub(crate) fn check() -> Result<Done, String> {
    install().map(|_| Done::Passed)
}

/// Where its interpreter is.
pub(crate) fn install() -> Result<PathBuf, String> {
    // Debian's Python comes without this part of its own library.
    let mut complete = Command::new("python3");
    complete.args(["-c", "import ensurepip, venv"]);
    if process::output(&mut complete).is_err() {
        needs::install("python3-venv");
    }
    let folder = root().join("target/python");
    let mut make = Command::new("sh");
    process::run(make.arg(root().join("crates/kernel/tests/python/make.sh")).arg(&folder))?;
    Ok(folder.join("bin/python"))
}
