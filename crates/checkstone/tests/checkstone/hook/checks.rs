//! The policy's own checks at the stop: they run only where the user trusted the file, and what they say decides.

use sandbox::{wait_for, without_durations};

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
    let told = stop_after_tested_edit(&world).notifies();
    assert!(!world.repository.join("RAN").exists());
    insta::assert_snapshot!(without_durations(&told), @"
    [checkstone] All expected validations were observed. Commit if ready.
    [checkstone] `checkstone.toml` defines a check for the stop that was not run: you have not trusted the file as it is now. `checkstone trust` shows what it would run.
    ");
    // Once is enough.
    let mut session = Session::named(&world, "claude", "another-session");
    session.prompt("Fix it better");
    session.edit("calc.py", "def add(a, b):\n    return b + a\n");
    session.test();
    let again = session.stop("Done.").notifies();
    assert_eq!(again, "[checkstone] All expected validations were observed. Commit if ready.");
}

/// Nobody is left behind by a check that ended well.
#[test]
fn the_children_of_a_check_are_ended_with_it() {
    let world = World::new(&policy("sleep 1000 & echo $! > PID", "10s"));
    trust(&world);
    stop_after_tested_edit(&world).notifies();
    let child = std::fs::read_to_string(world.repository.join("PID")).unwrap();
    wait_for("the end of the child of the check", || is_gone(child.trim()));
}

fn is_gone(process: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    status.is_empty() || status.contains("State:\tZ")
}

/// A run of the policy's own is as good as the agent's; after a hold the person sees how it went.
#[test]
fn a_trusted_check_proves_its_action_and_the_second_stop_shows_it() {
    let world = World::new(&policy("PATH=tools:$PATH pytest -q", "30s"));
    world.write("tools/pytest", "#!/bin/sh\ngrep -q 'a + b' calc.py && echo '2 passed in 0.01s'\n");
    sandbox::make_executable(&world.repository.join("tools/pytest"));
    world.commit("a runner of tests");
    trust(&world);
    let mut session = Session::new(&world, "claude");
    session.prompt("Change add");
    session.edit("calc.py", "def add(a, b):\n    return a * b\n");
    insta::assert_snapshot!(without_durations(session.stop("Done.").holds()), @"
    [checkstone] A check failed

    `PATH=tools:$PATH pytest -q` FAILED ([duration]): it printed nothing

    Changed: Python code (`calc.py`)

    1. Fix what `PATH=tools:$PATH pytest -q` reports, until it passes (python-tests)

    If a step cannot be done here, say so on a line of its own:
    `checkstone: cannot ACTION: REASON` (actions: python-tests).
    ");
    session.edit("calc.py", FIXED);
    let told = without_durations(session.stop("Fixed.").notifies());
    assert_eq!(told, "[checkstone] Tests: 2 passed ([duration]), by `PATH=tools:$PATH pytest -q`.");
    session.prompt("Change add again");
    session.edit("calc.py", "def add(a, b):\n    return a + b + 0\n");
    insta::assert_snapshot!(without_durations(session.stop("Done.").notifies()), @"
    [checkstone] Tests: 2 passed ([duration]), by `PATH=tools:$PATH pytest -q`.
    All expected validations were observed. Commit if ready.
    ");
}

#[test]
fn a_trusted_check_that_fails_holds_with_the_end_of_its_output() {
    let world = World::new(&policy("echo 3 failed, 2 passed; exit 1", "10s"));
    trust(&world);
    let held = stop_after_tested_edit(&world).holds();
    insta::assert_snapshot!(without_durations(&held), @"
    [checkstone] A check failed

    `echo 3 failed, 2 passed; exit 1` FAILED ([duration]):
    3 failed, 2 passed

    Changed: Python code (`calc.py`)

    1. Fix what `echo 3 failed, 2 passed; exit 1` reports, until it passes
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
    wait_for("the end of the child of the check", || is_gone(child.trim()));
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
    insta::assert_snapshot!(without_durations(planning(&session).holds()), @"
    [checkstone] Not verified yet

    `touch RAN` passed ([duration]).

    Changed: Python code (`calc.py`)

    1. Run `pytest` (python-tests)

    If a step cannot be done here, say so on a line of its own:
    `checkstone: cannot ACTION: REASON` (actions: python-tests).
    ");
    assert!(world.repository.join("RAN").exists());
}
