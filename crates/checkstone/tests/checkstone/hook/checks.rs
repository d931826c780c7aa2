//! The policy's own checks at the stop: they run only where the user trusted the file, and what they say decides.

use sandbox::{redacted, wait_for};

use super::session::Session;
use super::world::{PYTHON, World, answer};

const FIXED: &str = "def add(a, b):\n    return a + b\n";

fn policy(run: &str, timeout: &str) -> String {
    format!("{PYTHON}\n[[check]]\nwhen = [\"**/*.py\"]\nrun = {run:?}\ntimeout = {timeout:?}\n")
}

/// Says `checkstone trust` to the file as it is now.
fn trust(world: &World) {
    use sha2::Digest as _;
    let path = world.repository.join("checkstone.toml");
    let hash: String = sha2::Sha256::digest(std::fs::read(&path).unwrap())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let mut journal = journal::Journal::open(&world.state, journal::OpenFor::Command).unwrap();
    journal.write(|writing| writing.set_trusted(&path, &hash, jiff::Timestamp::UNIX_EPOCH)).unwrap();
}

fn stop_after_tested_edit(world: &World) -> super::world::HookAnswer {
    stop_in(Session::new(world, "claude"))
}

fn stop_in(mut session: Session<'_>) -> super::world::HookAnswer {
    session.prompt("Fix add");
    session.edit("calc.py", FIXED);
    session.test();
    session.stop("Done.")
}

#[test]
fn an_untrusted_check_does_not_run() {
    let world = World::new(&policy("touch RAN; exit 1", "10s"));
    stop_after_tested_edit(&world).notifies();
    assert!(!world.repository.join("RAN").exists());
}

#[test]
fn a_trusted_check_that_fails_holds_with_the_end_of_its_output() {
    let world = World::new(&policy("echo 3 failed, 2 passed; exit 1", "10s"));
    trust(&world);
    let held = stop_after_tested_edit(&world).holds();
    insta::assert_snapshot!(redacted(&held), @"
    [checkstone] A check failed

    Changed: Python code (`calc.py`)

    `echo 3 failed, 2 passed; exit 1` FAILED. Fix failing tests before proceeding:
    3 failed, 2 passed
    ");
}

#[test]
fn a_trusted_check_that_passes_changes_nothing_and_a_changed_file_is_not_trusted() {
    let world = World::new(&policy("true", "10s"));
    trust(&world);
    stop_after_tested_edit(&world).notifies();
    // Any change withdraws the trust.
    world.write("checkstone.toml", &policy("touch RAN; exit 1", "10s"));
    world.write("calc.py", "def add(a, b):\n    return a - b\n");
    world.commit("another check");
    stop_in(Session::named(&world, "claude", "another-session")).notifies();
    assert!(!world.repository.join("RAN").exists());
}

#[test]
fn a_check_that_hangs_is_ended_with_its_children_and_holds_nobody() {
    let world = World::new(&policy("sleep 1000 & echo $! > PID; sleep 1000", "300ms"));
    trust(&world);
    stop_after_tested_edit(&world).notifies();
    let child = std::fs::read_to_string(world.repository.join("PID")).unwrap();
    let gone = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.trim())).unwrap_or_default();
        status.is_empty() || status.contains("State:\tZ")
    };
    wait_for("the end of the child of the check", gone);
}

#[test]
fn an_agent_that_plans_waits_for_no_check() {
    let world = World::new(&policy("touch RAN", "10s"));
    trust(&world);
    let mut session = Session::new(&world, "claude");
    session.prompt("Plan it");
    session.read("calc.py");
    world.write("calc.py", FIXED);
    session.say("Here is the plan.");
    let planning = |session: &Session<'_>| {
        let mut event = session.stop_event();
        event["permission_mode"] = serde_json::json!("plan");
        answer(world.hook("claude"), &event)
    };
    planning(&session).passes();
    assert!(!world.repository.join("RAN").exists());
    // What was edited before the plan is to be verified all the same.
    session.prompt("Fix it, and plan the rest");
    session.edit("calc.py", "def add(a, b):\n    return b + a\n");
    session.say("Fixed. Here is the plan.");
    insta::assert_snapshot!(redacted(planning(&session).holds()), @"
    [checkstone] Not verified yet

    Changed: Python code (`calc.py`)

    `touch RAN` passed.

    1. Run `pytest` (python-tests)

    If a step cannot be done here, say so in a line of its own:
    `checkstone: cannot ACTION: REASON` (actions: python-tests).
    ");
    assert!(world.repository.join("RAN").exists());
}
