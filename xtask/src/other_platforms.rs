//! Everything compiles for the platforms that nothing can be run on here: every crate, feature and test, for macOS on both of its
//! processors. The C code of dependencies is compiled by zig, which brings what Apple's headers would; nothing is linked.

use crate::distribution::platform::PLATFORMS;
use crate::process;
use crate::release;
use crate::root;
use crate::steps::Done;

const EVERYTHING: [&str; 4] = ["--workspace", "--all-features", "--all-targets", "--quiet"];

pub(crate) fn check() -> Result<Done, String> {
    if cfg!(target_os = "macos") {
        return Ok(Done::Skipped("this is macOS, where the tests themselves say more".to_owned()));
    }
    let mut missing = Vec::new();
    let mut checked = 0;
    for platform in PLATFORMS.iter().filter(|platform| platform.os == "darwin") {
        if release::has_standard_library(platform.target)? {
            check_target(platform.target)?;
            checked += 1;
        } else {
            println!(
                "not compiled for {0}: its standard library is not installed (`rustup target add {0}`)",
                platform.target
            );
            missing.push(platform.target);
        }
    }
    match checked {
        0 => Ok(Done::Skipped(format!("no standard library is installed for {}", missing.join(" and ")))),
        _ => Ok(Done::Passed),
    }
}

fn check_target(target: &str) -> Result<Done, String> {
    let path = release::path_with_zig()?;
    // As a subcommand of cargo it only builds.
    let mut check = process::called_by_hand(root().join("target/tools/zig/bin/cargo-zigbuild"));
    check.env("PATH", path).args(["check", "--target", target]).args(EVERYTHING);
    let done = process::run(&mut check)?;
    println!("{target}: compiled, not linked and not run");
    Ok(done)
}
