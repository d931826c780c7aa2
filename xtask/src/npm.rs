//! Packages from npm, in folders of their own.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::process;

/// Installs these, without running anything of theirs.
pub(crate) fn install(folder: &Path, packages: &[String]) -> Result<(), String> {
    let mut npm = Command::new("npm");
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"]);
    npm.args(["--loglevel=error", "--no-update-notifier", "--prefix"]);
    process::output(npm.arg(folder).args(packages).stdin(Stdio::null())).map(|_| ())
}
