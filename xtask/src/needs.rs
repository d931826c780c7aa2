//! What the tests need beyond the toolchain: installed where this may be done, and told where it may not.

use std::process::{Command, Stdio};

use crate::process;
use crate::steps::Done;

/// A program, and the Debian package that has it.
const PROGRAMS: &[(&str, &str)] = &[
    ("git", "git"),
    ("strace", "strace"),
    ("unshare", "util-linux"),
    ("ip", "iproute2"),
    ("npm", "npm"),
    ("cc", "gcc"),
    ("tmux", "tmux"),
    ("git-lfs", "git-lfs"),
    ("ssh-keygen", "openssh-client"),
    ("chromium-headless-shell", "chromium-headless-shell"),
    ("python3", "python3-venv"),
    ("flock", "util-linux"),
    ("faketime", "faketime"),
    ("mkfs.ext4", "e2fsprogs"),
    ("mkfs.xfs", "xfsprogs"),
    ("mkfs.btrfs", "btrfs-progs"),
];

/// In CI a missing program fails; elsewhere the tests that need it are skipped, and this says so.
pub(crate) fn check() -> Result<Done, String> {
    let mut missing = Vec::new();
    for (program, package) in PROGRAMS {
        if !get(program, package) {
            missing.push(format!("`{program}` (package {package})"));
        }
    }
    if !is_root() {
        println!("not root: tests with files of another owner, full disks and mounts are left out");
    }
    match (missing.is_empty(), in_ci()) {
        (true, _) => Ok(Done::Passed),
        (false, true) => Err(format!("missing: {}", missing.join(", "))),
        (false, false) => Ok(Done::Skipped(format!("tests that need {} are left out", missing.join(", ")))),
    }
}

/// Whether it is there, or could be installed.
pub(crate) fn get(program: &str, package: &str) -> bool {
    is_there(program) || (is_root() && install(package) && is_there(program))
}

pub(crate) fn is_there(program: &str) -> bool {
    let mut command = Command::new("sh");
    command.args(["-c", "command -v \"$0\"", program]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

pub(crate) fn install(package: &str) -> bool {
    println!("installing {package}…");
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
        process::output(&mut command).is_ok()
    };
    let wanted = ["install", "-y", "--no-install-recommends", package];
    apt(&wanted) || (apt(&["update"]) && apt(&wanted))
}

pub(crate) fn is_root() -> bool {
    process::output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

#[expect(clippy::disallowed_methods, reason = "the one thing that a run in CI is known by")]
pub(crate) fn in_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| value == "true")
}
