//! Rust: cargo and its tools.

use outputs::Runner::*;

use super::Deed::{self, *};
use super::Fact::*;
use super::Grammar::*;
use super::{Done, Program, TaskRunner};

/// It is said only after everything was compiled; tests would have to run after it.
const FINISHED: Done = Done { deeds: &[Builds, TypeChecks, Lints], well: &["Finished `"], badly: "error" };

const USES: &[(&str, Deed)] = &[
    ("test t nextest/run nextest/r llvm-cov tarpaulin mutants", Tests),
    ("insta/test miri/test miri/nextest hack/test xtask/test make/test", Tests),
    ("build b", Builds),
    ("check c", TypeChecks),
    ("clippy/--fix fix", Fixes),
    ("clippy doc rustdoc", Lints),
    ("fmt/--check", Lints),
    ("fmt", Formats),
    ("run r bench xtask", Runs),
    ("install add remove update fetch", Installs),
    ("tree metadata search", Looks),
];

programs! {
    "cargo" => Other {
        grammar: Subcommand, tasks: &[TaskRunner::Cargo], package: "-p --package", leaves_out: "--exclude", uses: USES, done: FINISHED, folder: "--manifest-path -C", valued: "--config -Z --color",
        idle: "--no-run --list -h -V", facts: &[TakesAll, CompilesTests, JoinsValues], prints: &[Cargo, Nextest],
    }
    "cross" => Other { grammar: Subcommand, uses: USES, idle: "--no-run --list", prints: &[Cargo] }
    "rustc" => Builds {}
    "rustfmt" => Formats { uses: &[("--check", Lints)] }
    "taplo" => Formats { uses: &[("--check lint check", Lints)] }
}
