//! A client that hangs is ended with everything that it started.

use std::time::Duration;

use sandbox::wait_for;
use scripted_model::{Client, Installed};

#[test]
fn a_run_ends_at_its_limit_with_its_children() {
    let home = tempfile::tempdir().unwrap();
    let program = home.path().join("client");
    let pids = home.path().join("pids");
    let script = format!("#!/bin/sh\nsleep 600 &\necho $! $$ > '{}'\nwait\n", pids.display());
    std::fs::write(&program, script).unwrap();
    sandbox::make_executable(&program);
    let path = std::env::var_os("PATH").unwrap();
    let client = Installed {
        client: Client::Claude,
        program: &program,
        path: &path,
        home: home.path(),
        folder: home.path(),
        address: "http://127.0.0.1:1",
    };
    client.settle().unwrap();
    let run = client.prompt("go", false, Duration::from_secs(2)).unwrap();
    assert!(run.status.is_none() && run.turn_ended().is_none());
    let pids = std::fs::read_to_string(pids).unwrap();
    for pid in pids.split_whitespace() {
        wait_until_gone(pid);
    }
}

/// Killed at once; gone when the system has cleared up.
fn wait_until_gone(pid: &str) {
    let runs = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // A zombie has ended.
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
    };
    wait_for(&format!("the end of process {pid}"), || !runs());
}
