//! A save that a stop leaves to the background: what is said at the stop, what is true then, and what is said later.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use files::Lock;
use sandbox::{RunToEnd as _, redacted, wait_for, wait_for_some};
use serde_json::{Value, json};

use super::direct_execution::executable;
use super::world::{World, to_agent, to_person};

/// The stop waits for nothing.
const IMPATIENT: &str = "[autosave]\nwait = \"0s\"\nmode = \"autonomous\"\n";

/// A commit hook that waits until somebody lets it go on.
fn with_slow_hook() -> World {
    let world = World::new(IMPATIENT);
    let gate = world.workplace.path("gate");
    assert!(Command::new("mkfifo").arg(&gate).status().unwrap().success());
    world.write(
        ".git/hooks/pre-commit",
        "#!/bin/sh\necho $$ >../hook.new\nmv ../hook.new ../hook.pid\nexec cat ../gate\n",
    );
    executable(&world, ".git/hooks/pre-commit");
    world
}

/// Lets it go on.
fn open_gate(world: &World) {
    std::fs::write(world.workplace.path("gate"), "").unwrap();
}

/// Waits as a save does while another one is at work, and has the lock then.
fn turn_to_save(world: &World, limit: Duration) -> Lock {
    let repository = changes::Repository::discover(&world.workplace.repo()).unwrap();
    let file = stop::lock_file(&world.workplace.path("state"), "autosave-running", &repository);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    Lock::acquire(&file, limit).unwrap()
}

/// Nothing is said to be committed before it is; the result is reported once, at the next prompt.
#[test]
fn a_stop_does_not_wait_for_its_save() {
    let world = with_slow_hook();
    let answer = world.work_until(41);
    insta::assert_snapshot!(redacted(to_person(&answer)), @"⏳ [checkstone] Auto-checkpoint started: notes and a snapshot are being saved in the background, and nothing is committed yet; the result is reported at the next prompt or stop");
    insta::assert_snapshot!(redacted(to_agent(&answer)), @"
    [checkstone] The context is 41 % full. Notes and a snapshot are being saved in the background, and nothing is committed yet; the result is reported at the next prompt or stop.

    Continue with the task.
    - Task: Fix the counting
    If all of it is done, say so and stop.
    ");
    insta::assert_snapshot!(redacted(answer["autonomous_execution"].to_string()), @r#"{"enabled":true,"skill":"checkpoint","reason":"context_threshold","executed_directly":false,"router_decision":{"route":"started","percent":41,"iteration":1,"commit":null,"branch":null,"snapshot":null,"push":"none","detail":"notes and a snapshot are being saved in the background, and nothing is committed yet; the result is reported at the next prompt or stop"}}"#);
    assert_eq!((world.commits(), world.saves()), (1, vec![]));
    wait_for("the hook", || world.workplace.path("hook.pid").exists());
    assert_eq!(world.status()["autosave"]["running"], true);
    let status = world.checkstone(&["status"]).answer().stdout;
    assert_eq!(status.lines().filter(|line| line.starts_with("saving")).count(), 1, "{status}");
    assert_eq!(world.prompt("Meanwhile"), Value::Null, "nothing is said of what has not ended");
    open_gate(&world);
    let (outcome, _, commit) = world.save_ended(1);
    assert_eq!((outcome.as_str(), commit), ("saved", Some(world.git(&["rev-parse", "HEAD"]))));
    let told = wait_for_some("the report", || Some(world.prompt("Next")).filter(|told| *told != Value::Null));
    insta::assert_snapshot!(redacted(to_person(&told)), @"✅ [checkstone] Auto-checkpoint executed: notes committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, not pushed: there is no remote to push to");
    assert_eq!(world.prompt("And next"), Value::Null, "it is told once");
    assert_eq!(world.status()["autonomous_execution"]["executed_directly"], true);
    assert_eq!(world.status()["autosave"]["running"], false);
}

/// The notes are of the stop; what was written before the snapshot was taken is named.
#[test]
fn what_changed_meanwhile_is_named() {
    let world = World::new(IMPATIENT);
    let lock = turn_to_save(&world, Duration::ZERO);
    world.work_until(41);
    world.write("src/later.rs", "// written after the stop\n");
    drop(lock);
    assert_eq!(world.save_ended(1).0, "saved");
    let told = wait_for_some("the report", || Some(world.prompt("Next")).filter(|told| *told != Value::Null));
    insta::assert_snapshot!(redacted(to_person(&told)), @"✅ [checkstone] Auto-checkpoint executed: notes committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, changed while it was saved: `src/later.rs`, not pushed: there is no remote to push to");
    insta::assert_snapshot!(redacted(world.notes()), @"
    # Notes on a session

    - When: [time], the context is 41 % full (save 1 of the session)
    - Branch: `main`
    - Asked: `Fix the counting`
    - Files changed: `src/lib.rs`
    - Tests: none were run
    - Open errors: none
    ");
}

/// A client ends the whole process group of its hook: the save goes on.
#[test]
fn a_client_that_kills_its_hooks_does_not_end_the_save() {
    let world = with_slow_hook();
    world.prompt("Fix the counting");
    world.write("src/lib.rs", "pub fn one() -> u32 { 41 }\n");
    world.turn("Fix the counting", 41);
    let payload = json!({
        "session_id": crate::workplace::SESSION, "transcript_path": world.workplace.transcript(),
        "cwd": world.workplace.repo(), "prompt_id": "prompt-1", "hook_event_name": "Stop",
        "stop_hook_active": false, "last_assistant_message": "Done."});
    let input = world.workplace.path("payload.json");
    std::fs::write(&input, payload.to_string()).unwrap();
    let mut hook = world.checkstone(&["hook", "claude"]);
    hook.stdin(std::fs::File::open(&input).unwrap()).stdout(Stdio::null()).process_group(0);
    let mut hook = hook.spawn().unwrap();
    let group = format!("-{}", hook.id());
    hook.wait().unwrap();
    let _ = Command::new("kill").args(["-KILL", "--", &group]).answer();
    open_gate(&world);
    assert_eq!(world.save_ended(1).0, "saved");
}

/// A save whose process was killed is reported as what it is, and made at the next stop.
#[test]
fn a_save_that_was_killed_is_reported_and_made_again() {
    let world = with_slow_hook();
    world.work_until(41);
    let pid = world.workplace.path("hook.pid");
    let hook = wait_for_some("the hook", || std::fs::read_to_string(&pid).ok());
    let savers = savers(&world);
    assert_eq!(savers.len(), 1);
    for process in savers.iter().map(String::as_str).chain([hook.trim()]) {
        let _ = Command::new("kill").args(["-KILL", process]).answer();
    }
    wait_for("the end of the saver", || self::savers(&world).is_empty());
    std::fs::remove_file(world.workplace.repo().join(".git/hooks/pre-commit")).unwrap();
    // Long ago: what has begun just now may only not have its lock yet.
    let connection = rusqlite::Connection::open(world.workplace.path("state/journal.db")).unwrap();
    let aged = "UPDATE session_values SET value = CAST(replace(CAST(value AS TEXT), '\"began_ms\":1', '\"began_ms\":-1') AS BLOB) WHERE name = 'autosaves-begun'";
    assert_eq!(connection.execute(aged, []).unwrap(), 1);
    let told = world.prompt("Go on");
    insta::assert_snapshot!(redacted(to_person(&told)), @"⚠️ [checkstone] Auto-checkpoint failed: the process that was saving ended before it was done, so it is unknown what it committed; the save is tried again at the next stop");
    world.turn("Go on", 42);
    world.stop();
    assert_eq!(world.save_ended(1).0, "saved");
    assert_eq!(world.git(&["status", "--porcelain"]), " M src/lib.rs");
}

/// The processes that save here.
fn savers(world: &World) -> Vec<String> {
    let state = world.workplace.path("state").into_os_string().into_encoded_bytes();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let is_saver = |path: &std::path::Path| {
        let words = std::fs::read(path.join("cmdline")).unwrap_or_default();
        let variables = std::fs::read(path.join("environ")).unwrap_or_default();
        words.windows(9).any(|word| word == b"stop-save")
            && variables.windows(state.len()).any(|word| word == state.as_slice())
    };
    let savers = processes.map(|process| process.path()).filter(|path| is_saver(path));
    savers.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

/// A save that failed in the background is signalled to the agent at the next stop.
#[test]
fn a_save_that_failed_in_the_background_is_signalled_at_the_next_stop() {
    let world = World::new(IMPATIENT);
    world.write(".git/hooks/pre-commit", "#!/bin/sh\necho no commits today\nexit 1\n");
    executable(&world, ".git/hooks/pre-commit");
    world.work_until(41);
    assert_eq!(world.save_ended(1).0, "failed");
    wait_for("the end of the saver", || savers(&world).is_empty());
    let answer = world.turn_number(2, 43);
    insta::assert_snapshot!(redacted(to_agent(&answer)), @"
    [checkstone] The context is filling up, and nothing was committed: the hook `pre-commit` refused the commit: no commits today; the whole tree is kept in snapshot [id].
    <command-name>/checkpoint</command-name>

    Note in a few lines what was done and what is next, commit that, then continue with the task.
    - Task: Go on
    ");
    assert_eq!(answer["autonomous_execution"]["router_decision"]["route"], "signal");
}

/// The agent has switched branches before it was the save's turn: the notes are not for the other branch.
#[test]
fn a_save_is_not_committed_on_another_branch() {
    let world = World::new(IMPATIENT).with_origin();
    world.git(&["checkout", "--quiet", "-b", "feature"]);
    let lock = turn_to_save(&world, Duration::ZERO);
    world.work_until(41);
    world.git(&["checkout", "--quiet", "main"]);
    drop(lock);
    wait_for("the end of the saver", || savers(&world).is_empty());
    assert_eq!((world.commits(), world.saves(), world.has_notes()), (1, vec![], false));
    insta::assert_snapshot!(redacted(to_person(&world.prompt("Go on"))), @"⚠️ [checkstone] Auto-checkpoint failed: nothing was committed: HEAD was on `feature` at the stop, and is on `main` now; it is tried again at the next stop");
    world.turn("Go on", 42);
    world.stop();
    assert_eq!(world.save_ended(1).0, "saved");
    assert_eq!((world.commits(), world.git(&["rev-list", "--count", "feature"])), (2, "1".to_owned()));
}

/// The same if the branches are in tables, and if HEAD names another branch only once the commit has begun.
#[test]
fn a_commit_that_has_begun_is_not_made_on_another_branch() {
    for is_in_tables in [false, true] {
        let world = with_slow_hook();
        if is_in_tables {
            std::fs::remove_dir_all(world.workplace.repo().join(".git/logs")).unwrap();
            world.git(&["refs", "migrate", "--ref-format=reftable"]);
        }
        world.git(&["branch", "other"]);
        world.work_until(41);
        wait_for("the hook", || world.workplace.path("hook.pid").exists());
        world.git(&["symbolic-ref", "HEAD", "refs/heads/other"]);
        open_gate(&world);
        assert_eq!(world.save_ended(1).0, "failed");
        wait_for("the end of the saver", || savers(&world).is_empty());
        assert_eq!((world.commits(), world.has_notes()), (1, false));
        insta::allow_duplicates! {
            insta::assert_snapshot!(redacted(to_person(&world.prompt("Go on"))), @"⚠️ [checkstone] Auto-checkpoint failed: nothing was committed: HEAD was on `main`, and is on `other` now; the whole tree is kept in snapshot [id]; it is tried again at the next stop");
        }
    }
}

/// Whoever finds the lock free finds how the save ended, also where the journal takes its time.
#[test]
fn a_save_has_its_lock_until_its_end_is_recorded() {
    let world = with_slow_hook();
    world.work_until(41);
    wait_for("the hook", || world.workplace.path("hook.pid").exists());
    let connection = rusqlite::Connection::open(world.workplace.path("state/journal.db")).unwrap();
    let slow = "CREATE TRIGGER slow AFTER UPDATE ON session_values WHEN NEW.name = 'autosaves-begun' BEGIN
        SELECT count(*) FROM (WITH RECURSIVE numbers(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM numbers WHERE n < 1000000)
                              SELECT n FROM numbers);
        END";
    connection.execute_batch(slow).unwrap();
    open_gate(&world);
    let lock = turn_to_save(&world, Duration::from_secs(60));
    let begun = "SELECT value FROM session_values WHERE name = 'autosaves-begun'";
    let begun: Vec<u8> = connection.query_row(begun, [], |row| row.get(0)).unwrap();
    drop(lock);
    let begun: Value = serde_json::from_slice(&begun).unwrap();
    assert_eq!(begun[0]["ended"]["result"], "saved");
}

/// Settings that have a mistake by now are not the defaults, which would push.
#[test]
fn nothing_is_saved_by_settings_that_are_not_understood() {
    let never = format!("{IMPATIENT}push = \"never\"\n");
    let world = World::new(&never).with_origin();
    let lock = turn_to_save(&world, Duration::ZERO);
    world.work_until(41);
    // A key that is there already, and without a value.
    world.configure(&format!("{never}push = \n"));
    drop(lock);
    wait_for("the end of the saver", || savers(&world).is_empty());
    assert_eq!((world.commits(), world.saves()), (1, vec![]));
    world.configure(&never);
    insta::assert_snapshot!(redacted(to_person(&world.prompt("Go on"))), @"⚠️ [checkstone] Auto-checkpoint failed: nothing was committed: the settings have 2 mistakes; it is tried again at the next stop");
    world.turn("Go on", 42);
    world.stop();
    let (outcome, push, _) = world.save_ended(1);
    assert_eq!((outcome.as_str(), push.as_str()), ("saved", "none"));
}

/// The hook that ordered the save has answered and is gone: the push is made all the same.
#[test]
fn a_save_is_pushed_after_its_hook_has_gone() {
    let world = with_slow_hook().with_origin();
    world.work_until(41);
    open_gate(&world);
    assert_eq!(world.push_ended().0, "pushed");
    let origin = world.origin();
    let pushed = world.git(&["--git-dir", origin.to_str().unwrap(), "rev-parse", "main"]);
    assert_eq!((pushed, world.commits()), (world.git(&["rev-parse", "HEAD"]), 2));
}
