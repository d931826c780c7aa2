//! The program as people and clients run it: exit code, stdout and stderr of real processes.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod agreement;
mod asked_for;
mod at_turn_start;
mod attest;
mod autosave;
mod check;
mod checkpoint;
mod ci;
mod ci_packages;
mod demo;
mod doctor;
mod documented_commands;
mod exit_codes;
mod explain;
mod git_hook;
mod handoff;
mod help;
mod hook;
mod init;
mod integrations;
mod ledger;
mod ledger_model;
mod linear;
#[allow(dead_code, reason = "the tests of the library need more of it")]
#[path = "../../../workflow/tests/workflow/integrations/linear_server.rs"]
mod linear_server;
mod log;
#[allow(dead_code, reason = "the tests of the library need more of it")]
#[path = "../../../workflow/tests/workflow/integrations/server.rs"]
mod loopback_server;
use loopback_server as server;
#[cfg(feature = "mcp")]
mod mcp;
mod mcp_registration;
mod one_door_to_git;
mod policy;
mod program;
mod progress;
mod prove;
mod replay;
mod run;
#[cfg(feature = "schema")]
mod schemas;
#[cfg(feature = "serve")]
mod serve;
mod session;
mod shared_work;
mod snapshot;
mod snapshot_faults;
mod status;
mod timeline;
mod tokens;
mod trust;
mod uninstall;
mod version;
mod workflow;
mod workplace;
