//! What a hook leaves behind: nothing in the repository, and nothing of the environment anywhere.

use std::time::Duration;

use sandbox::waiting::let_time_pass;
use sandbox::{RunToEnd as _, contents, finish};

use super::session::{AGENTS, Session};
use super::world::{HookAnswer, PYTHON, World, answer};

const FIXED: &str = "def add(a, b):\n    return a + b\n";

#[test]
fn no_value_of_the_environment_is_written_down() {
    let marker = "m4rk3r-of-a-secret";
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let mut session = Session::new(&world, agent);
        session.type_prompt("Fix add");
        let tell = |event: &serde_json::Value| {
            let mut command = world.hook(agent);
            command.env("CLAUDE_CODE_MESSAGING_TOKEN", marker).env("AWS_SECRET_ACCESS_KEY", marker);
            command.env("GIT_SSH_COMMAND", marker).env("CHECKSTONE_UNKNOWN", marker);
            answer(command, event)
        };
        tell(&session.event("SessionStart")).passes();
        tell(&session.prompt_event("Fix add")).passes();
        session.edit("calc.py", FIXED);
        session.say("Done.");
        tell(&session.stop_event()).holds();
        let mut failing = world.hook(agent);
        failing.env("PATH", format!("/nonexistent/{marker}"));
        session.prompt("Go on");
        session.say("Done.");
        answer(failing, &session.stop_event()).passes();
        let files = contents(&world.state);
        assert!(files.len() >= 2);
        for (path, (bytes, _)) in files {
            let found = bytes.windows(marker.len()).any(|window| window == marker.as_bytes());
            assert!(!found, "{agent}: {path:?}");
        }
    }
}

/// Invariant 5: not a byte and not a time of the repository changes, `.git` included; also not where the index is
/// stale, which tempts git to write it, and where a file monitor is configured.
#[test]
fn the_repository_is_untouched() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let witness = world.home.join("monitor-ran");
        world.git(&["config", "core.fsmonitor", &format!("touch {}; false", witness.display())]);
        world.write("staged.py", "x = 1\n");
        world.git(&["-c", "core.fsmonitor=false", "add", "staged.py"]);
        let mut session = Session::new(&world, agent);
        session.edit("calc.py", FIXED);
        // The same bytes at a new time: git would refresh its index.
        world.write("README.md", "# calc\n");
        session.type_prompt("Fix add");
        let _ = fs_err::remove_file(&witness);
        let before = contents(&world.repository);
        answer(world.hook(agent), &session.event("SessionStart")).passes();
        answer(world.hook(agent), &session.prompt_event("Fix add")).passes();
        session.say("Done.");
        let _ = answer(world.hook(agent), &session.stop_event());
        assert_eq!(contents(&world.repository), before, "{agent}");
        assert!(!witness.exists(), "{agent}: the repository's own command ran");
    }
}

/// T21: Claude Code writes the last lines up to 90 ms after it has called us, the test run among them. On a busy machine
/// they may come after the second for which they are waited; then the case is made anew.
#[test]
fn t21_lines_that_come_late_are_seen() {
    let seen = (0..10).any(|_| {
        let world = World::new(PYTHON);
        let mut session = Session::new(&world, "claude");
        session.prompt("Fix add");
        session.edit("calc.py", FIXED);
        let answer = answer_before_the_last_lines(&world, &mut session, 2);
        !answer.is_hold() && answer.notifies().starts_with("[checkstone] ")
    });
    assert!(seen);
}

/// T21: the same at the stop after a hold, so that nothing is recorded as missing that was done.
#[test]
fn t21_lines_that_come_late_are_seen_after_a_hold() {
    let seen = (0..10).any(|_| {
        let world = World::new(PYTHON);
        let mut session = Session::new(&world, "claude");
        session.prompt("Fix add");
        session.edit("calc.py", FIXED);
        session.stop("Done.").holds();
        answer_before_the_last_lines(&world, &mut session, 2);
        let log = world.log();
        log.lines().any(|line| {
            line.split(" [").next().is_some_and(|line| line.ends_with("no action is missing now"))
        })
    });
    assert!(seen);
}

/// T21: Qwen Code waits for the disk at every line, so that its last lines come as late as the disk is slow. As long as the file grows,
/// it is waited for.
#[test]
fn t21_a_file_that_is_being_written_is_waited_for() {
    let seen = (0..10).any(|_| {
        let world = World::new(PYTHON);
        let mut session = Session::new(&world, "claude");
        session.prompt("Fix add");
        session.edit("calc.py", FIXED);
        !answer_before_the_last_lines(&world, &mut session, 8).is_hold()
    });
    assert!(seen);
}

/// Of a turn whose test run is written after the hook was called, in so many batches, of which each after the first two comes a fifth of
/// a second later.
fn answer_before_the_last_lines(world: &World, session: &mut Session<'_>, batches: usize) -> HookAnswer {
    use std::io::Write as _;
    let early = fs_err::read(&session.transcript).unwrap();
    session.test();
    session.say("All tests pass.");
    let whole = fs_err::read(&session.transcript).unwrap();
    fs_err::write(&session.transcript, &early).unwrap();
    let child = world.hook("claude").start_with(session.stop_event().to_string());
    let late = &whole[early.len()..];
    for (number, part) in late.chunks(late.len().div_ceil(batches)).enumerate() {
        if number > 1 {
            let_time_pass(Duration::from_millis(200));
        }
        fs_err::OpenOptions::new().append(true).open(&session.transcript).unwrap().write_all(part).unwrap();
    }
    HookAnswer(finish(child))
}

/// T21: the transcript is read again only where what is missing in it could change the answer, and only for the client
/// that writes late. The log tells how often it was read.
#[test]
fn t21_nobody_waits_for_words_that_change_nothing() {
    for (agent, tested, readings) in
        [("claude", false, 2), ("claude", true, 1), ("codex", false, 1), ("gemini", false, 1)]
    {
        let world = World::new(PYTHON);
        let mut session = Session::new(&world, agent);
        session.prompt("Fix add");
        session.edit("calc.py", FIXED);
        if tested {
            session.test();
        }
        let mut event = session.stop_event();
        let words = if agent == "gemini" { "prompt_response" } else { "last_assistant_message" };
        event[words] = serde_json::json!("Words that are never written.");
        assert_eq!(answer(world.hook(agent), &event).is_hold(), !tested, "{agent}");
        let log = world.log();
        assert_eq!(log.matches(" transcript ").count(), readings, "{agent} {tested}: {log}");
    }
}
