//! Rust: cargo and its tools.

use super::Deed::{self, *};
use super::Fact::*;
use super::Grammar::*;
use super::{Done, Program, Use, on, on_done};
use crate::runner_summary::Runner::*;

/// It is said only after everything was compiled; tests would have to run after it.
const FINISHED: Done = Done { well: &["Finished `"], badly: "error" };

const USES: &[Use] = &[
    on("test t nextest/run nextest/r llvm-cov tarpaulin mutants", Tests),
    on("insta/test miri/test miri/nextest hack/test xtask/test make/test", Tests),
    on_done("build b", Builds, FINISHED),
    on_done("check c", TypeChecks, FINISHED),
    on("clippy/--fix fix", Fixes),
    on_done("clippy doc rustdoc", Lints, FINISHED),
    on("fmt/--check", Lints),
    on("fmt", Formats),
    on("run r bench xtask", Runs),
    on("install add remove update fetch", Installs),
    on("tree metadata search", Looks),
];

programs! {
    "cargo" => Other {
        grammar: Subcommand, uses: USES, folder: "--manifest-path -C", valued: "--config -Z --color",
        idle: "--no-run --list -h -V", facts: &[TakesAll, CompilesTests], prints: &[Cargo, Nextest],
    }
    "cross" => Other { grammar: Subcommand, uses: USES, idle: "--no-run --list", prints: &[Cargo] }
    "rustc" => Builds {}
    "rustfmt" => Formats { uses: &[on("--check", Lints)] }
    "taplo" => Formats { uses: &[on("--check lint check", Lints)] }
}
