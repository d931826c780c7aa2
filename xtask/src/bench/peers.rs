//! Hooks for Claude Code that people install today from npm and PyPI, by name and version.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process;

pub(super) struct Peer {
    pub(super) name: String,
    pub(super) program: PathBuf,
    pub(super) arguments: &'static [&'static str],
}

const NPM: (&str, &str) = ("tdd-guard", "0.8.1");
const PYPI: (&str, &str) = ("python-claude", "0.5.0");

/// Installs what is not there yet; each that cannot be had says why.
pub(super) fn install(folder: &Path) -> [Result<Peer, String>; 2] {
    [from_npm(&folder.join("npm")), from_pypi(&folder.join("python"))]
}

fn from_npm(folder: &Path) -> Result<Peer, String> {
    let (name, version) = NPM;
    let program = folder.join("node_modules/.bin").join(name);
    if !program.exists() {
        let mut npm = Command::new("npm");
        npm.args(["install", "--silent", "--no-fund", "--no-audit", "--prefix"]).arg(folder);
        process::output(npm.arg(format!("{name}@{version}")))?;
    }
    Ok(Peer { name: format!("`{name}` {version} (npm)"), program, arguments: &[] })
}

fn from_pypi(folder: &Path) -> Result<Peer, String> {
    let (name, version) = PYPI;
    let program = folder.join("bin").join(name);
    if !program.exists() {
        process::output(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
        let mut pip = Command::new(folder.join("bin/pip"));
        process::output(pip.args(["install", "--quiet", &format!("{name}=={version}")]))?;
    }
    // What it registers at the stop; nothing was edited, so that it starts no tests.
    Ok(Peer { name: format!("`{name}` {version} (PyPI)"), program, arguments: &["pytest"] })
}
