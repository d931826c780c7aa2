//! What `checkstone --version` says: the version, the commit where a release is built from a checkout, and the target. No
//! dates and no paths, so that the same sources give the same program. And how a debug build is linked.

use std::path::Path;
use std::process::Command;

#[expect(clippy::disallowed_methods, reason = "cargo tells build scripts through the environment")]
fn main() {
    let given = |name: &str| std::env::var(name).unwrap_or_default();
    println!("cargo::rerun-if-changed=build.rs");
    // Work in progress is built after every commit, and need not be built again for its name.
    let is_release = given("PROFILE") == "release";
    // At a fixed place, like what is handed out: otherwise a debug build relocates 230,000 addresses at every start, which
    // is a third of the time of a short command, and the tests start thousands.
    if !is_release && given("CARGO_CFG_TARGET_OS") == "linux" && given("CARGO_CFG_TARGET_ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bin=checkstone=-no-pie");
    }
    let commit = is_release.then(|| commit(Path::new(&given("CARGO_MANIFEST_DIR")))).flatten();
    println!("cargo::rustc-env=CHECKSTONE_COMMIT={}", commit.clone().unwrap_or_default());
    println!("cargo::rustc-env=CHECKSTONE_TARGET={}", given("TARGET"));
    let parts: Vec<String> = commit.into_iter().chain([given("TARGET")]).collect();
    println!("cargo::rustc-env=CHECKSTONE_VERSION={} ({})", given("CARGO_PKG_VERSION"), parts.join(", "));
}

/// The commit of this very checkout; none where the sources lie in somebody else's repository, or in none.
fn commit(package: &Path) -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(package).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (output.status.success() && !text.is_empty()).then_some(text)
    };
    if git(&["rev-parse", "--show-prefix"])? != "crates/checkstone/" {
        return None;
    }
    // Every commit and checkout appends to it.
    println!(
        "cargo::rerun-if-changed={}",
        package.join(git(&["rev-parse", "--git-path", "logs/HEAD"])?).display()
    );
    git(&["rev-parse", "--short=12", "HEAD"])
}
