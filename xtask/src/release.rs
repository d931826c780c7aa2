//! The program as it is handed out: linked statically and at a fixed place, since the hook is a fresh process at
//! every call and the dynamic linker would take a quarter of its start. With musl as well where that can be had: glibc, linked
//! statically, still looks for files of its own version on the machine when names of hosts are asked for.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::needs;
use crate::process::{self, cargo_command};
use crate::root;

const HOST: &str = env!("XTASK_HOST");

/// Builds it and says where it is.
pub(crate) fn build() -> Result<PathBuf, String> {
    build_for(HOST, &root().join("target/dist"))
}

/// The same with musl, for a target from [`musl`].
pub(crate) fn build_with_musl(target: &str) -> Result<PathBuf, String> {
    build_for(target, &root().join("target/dist/musl"))
}

/// The target with musl, where this machine has it or can get it; else why not.
pub(crate) fn musl() -> Result<String, String> {
    let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    if !needs::get("musl-gcc", "musl-tools") {
        return Err("`musl-gcc` is missing (package musl-tools)".to_owned());
    }
    process::output(Command::new("rustup").args(["target", "add", &target]))?;
    Ok(target)
}

fn build_for(target: &str, folder: &Path) -> Result<PathBuf, String> {
    let mut build = cargo_command();
    // An explicit target keeps the flags away from procedural macros, which cannot be static.
    build.env_remove("RUSTFLAGS").env("CARGO_ENCODED_RUSTFLAGS", flags().join("\u{1f}"));
    build.args([
        "build",
        "--profile",
        "dist",
        "--quiet",
        "--package",
        "checkstone",
        "--features",
        "full",
        "--target",
        target,
        "--target-dir",
    ]);
    process::run(build.arg(folder))?;
    installed(&folder.join(target).join("dist/checkstone"), folder)
}

/// A copy, as every installed program is one. What the linker wrote lies in the page cache in small pieces, which takes
/// 0.2 ms longer to map at every start, until the machine has forgotten it.
fn installed(built: &Path, folder: &Path) -> Result<PathBuf, String> {
    let (copy, partial) = (folder.join("checkstone"), folder.join("checkstone.partial"));
    let failed = |error: std::io::Error| error.to_string();
    fs_err::copy(built, &partial).map_err(failed)?;
    fs_err::rename(&partial, &copy).map_err(failed)?;
    Ok(copy)
}

/// Static; and the same from whichever folder it is built, since panics name their source files.
fn flags() -> Vec<String> {
    let mut flags = vec!["-Ctarget-feature=+crt-static".to_owned(), "-Crelocation-model=static".to_owned()];
    flags.push(format!("--remap-path-prefix={}=checkstone", root().display()));
    if let Some(cargo) = cargo_home() {
        flags.push(format!("--remap-path-prefix={}=cargo", cargo.display()));
    }
    flags
}

/// Where cargo keeps the sources of dependencies.
#[expect(clippy::disallowed_methods, reason = "cargo itself is told by these")]
fn cargo_home() -> Option<PathBuf> {
    let set = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    set.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))
}
