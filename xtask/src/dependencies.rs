//! What our dependencies are held to: licences, sources and no unused ones. The two programs that look are built once, into
//! `target/tools`.

use std::path::PathBuf;

use crate::process::{self, cargo_command};
use crate::root;
use crate::steps::Done;

/// A program and its version.
const TOOLS: [(&str, &str); 2] = [("cargo-deny", "0.20.2"), ("cargo-machete", "0.9.2")];

pub(crate) fn check() -> Result<Done, String> {
    let [deny, machete] = TOOLS.map(|(name, version)| installed(name, version));
    let mut command = std::process::Command::new(deny?);
    process::run(command.current_dir(root()).args([
        "--log-level",
        "error",
        "check",
        "licenses",
        "bans",
        "sources",
    ]))?;
    process::run(std::process::Command::new(machete?).current_dir(root()))
}

/// A program of cargo's, built by us from the registry.
pub(crate) fn installed(name: &str, version: &str) -> Result<PathBuf, String> {
    let folder = root().join("target/tools").join(format!("{name}-{version}"));
    let program = folder.join("bin").join(name);
    if !program.is_file() {
        println!("building {name} {version}…");
        let mut install = cargo_command();
        install.args(["install", "--locked", "--quiet", "--version", version, name, "--root"]).arg(&folder);
        process::run(&mut install)?;
    }
    Ok(program)
}
