//! The program as it is handed out: linked statically and at a fixed place, since the hook is a fresh process at
//! every call and the dynamic linker would take a quarter of its start.

use std::path::PathBuf;

use crate::process::{self, cargo_command};
use crate::root;

const TARGET: &str = env!("XTASK_HOST");

/// Builds it and says where it is.
pub(crate) fn build() -> Result<PathBuf, String> {
    let folder = root().join("target/dist");
    let mut build = cargo_command();
    // An explicit target keeps the flags away from procedural macros, which cannot be static.
    build.env("RUSTFLAGS", "-C target-feature=+crt-static -C relocation-model=static");
    build.args([
        "build",
        "--release",
        "--quiet",
        "--package",
        "checkstone",
        "--target",
        TARGET,
        "--target-dir",
    ]);
    process::run(build.arg(&folder))?;
    Ok(folder.join(TARGET).join("release/checkstone"))
}
