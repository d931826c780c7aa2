//! When something is saved: the threshold, the switches, trust, what the prompt says; and how a save and the gate share
//! one message and one hold.

use sandbox::{RunToEnd as _, wait_for, without_durations};
use serde_json::{Value, json};

use super::world::{AUTONOMOUS, PATIENT, World, to_agent, to_person};
use crate::workplace::SESSION;

const POLICY: &str = r#"
[[category]]
name = "code"
include = ["src/**"]
require = ["tests"]

[action.tests]
say = "Run `./run-tests`"
evidence = ["run-tests"]
"#;

/// A1: 39 % is not enough, 40 % is; the usage is the transcript's.
#[test]
fn a1_forty_percent_is_the_threshold() {
    let world = World::new(AUTONOMOUS);
    assert_eq!(world.work_until(39), Value::Null);
    assert_eq!(world.saves(), []);
    assert_eq!(world.work_until(40)["decision"], "block");
    assert_eq!(world.commits(), 2);
}

/// A1: where the size of the window is not known, nothing is done.
#[test]
fn a1_an_unknown_window_does_nothing() {
    for (model, tokens) in
        [("some-new-model", Some(900_000)), ("claude-opus-4-1", None), ("claude-opus-4-1", Some(0))]
    {
        let world = World::new(AUTONOMOUS);
        world.prompt("Fix it");
        world.write("src/lib.rs", "pub fn one() -> u32 { 3 }\n");
        world.turn_of(model, "Fix it", tokens, &[]);
        assert_eq!(world.stop(), Value::Null, "{model} {tokens:?}");
        assert_eq!((world.commits(), world.saves()), (1, vec![]), "{model} {tokens:?}");
    }
    let world = World::new(AUTONOMOUS);
    world.prompt("Fix it");
    world.write("src/lib.rs", "pub fn one() -> u32 { 3 }\n");
    for window in [json!({"context_window_size": 0, "current_usage": {"input_tokens": 5}}), json!(null)] {
        let more = json!({"context_window": window, "last_assistant_message": "Done."});
        assert_eq!(world.hook("claude", "Stop", more), Value::Null);
    }
    assert_eq!(world.commits(), 1);
}

#[test]
fn the_window_comes_from_the_settings_where_nobody_else_knows_it() {
    let world = World::new(&format!("{AUTONOMOUS}window = 1000000\n"));
    world.prompt("Fix it");
    world.write("src/lib.rs", "pub fn one() -> u32 { 3 }\n");
    world.turn_of("some-new-model", "Fix it", Some(400_000), &[]);
    assert_eq!(world.stop()["decision"], "block");
}

/// A2.
#[test]
fn a2_it_fires_on_the_crossing_and_not_at_every_stop_above_it() {
    let world = World::new(AUTONOMOUS);
    let percents = [30, 45, 46, 60, 38, 41, 20, 44];
    let saved: Vec<bool> = (0..)
        .zip(percents)
        .map(|(number, percent)| world.turn_number(number, percent)["decision"] == "block")
        .collect();
    assert_eq!(saved, [false, true, false, false, false, false, false, true]);
    assert_eq!(world.commits(), 3);
    let last = world.notes();
    insta::assert_snapshot!(without_durations(&last), @"
    # Notes on a session

    - When: [time], the context is 44 % full (save 2 of the session)
    - Branch: `main`
    - Asked: `Go on`
    - Files changed: `src/lib.rs`
    - Tests: none were run
    - Open errors: none
    ");
}

/// A3.
#[test]
fn a3_a_prompt_that_asks_to_stop_is_obeyed() {
    for (prompt, saves) in [
        ("please stop now", false),
        ("hold on", false),
        ("Fix the counting, then stop.", false),
        ("do not wait for me", true),
        ("stop the server and restart it", true),
        ("write a stop word list", true),
    ] {
        let world = World::new(AUTONOMOUS);
        world.prompt(prompt);
        world.write("src/lib.rs", "pub fn one() -> u32 { 3 }\n");
        world.turn(prompt, 50);
        assert_eq!(world.stop()["decision"] == "block", saves, "{prompt}");
        // The crossing is still to come where nothing was done.
        assert_eq!(world.saves().len(), usize::from(saves), "{prompt}");
    }
}

#[test]
fn off_is_the_default_and_nothing_is_done() {
    let world = World::new("");
    assert_eq!(world.work_until(90), Value::Null);
    assert_eq!((world.commits(), world.has_notes(), world.saves()), (1, false, vec![]));
}

#[test]
fn the_flag_the_loop_and_the_threshold_are_switches() {
    let flagged = World::new(PATIENT);
    flagged.flag();
    let answer = flagged.work_until(41);
    assert_eq!(answer["autonomous_execution"]["reason"], "context_threshold");

    let looping = World::new(PATIENT).with_variable("CLAUDE_LOOP_ACTIVE", "1");
    let answer = looping.work_until(41);
    assert_eq!(answer["autonomous_execution"]["reason"], "loop_mode_enforced");
    assert_eq!(looping.status()["autonomous_execution"]["reason"], "loop_mode_enforced");

    let not_looping = World::new("").with_variable("CLAUDE_LOOP_ACTIVE", "0");
    assert_eq!(not_looping.work_until(41), Value::Null);

    let later = World::new(AUTONOMOUS).with_variable("CLAUDE_CONTEXT_THRESHOLD", "60");
    assert_eq!(later.work_until(59), Value::Null);
    assert_eq!(later.work_until(60)["decision"], "block");
}

#[test]
fn the_projects_switch_beats_everything() {
    let world = World::new(AUTONOMOUS).with_variable("CLAUDE_LOOP_ACTIVE", "1");
    world.flag();
    world.write(".claude/auto-continue-disabled", "");
    assert_eq!(world.work_until(90), Value::Null);
    assert_eq!((world.commits(), world.saves()), (1, vec![]));
}

/// Invariant 7: a repository's own file cannot make anything commit or push before it is trusted.
#[test]
fn a_repository_has_a_say_only_once_it_is_trusted() {
    let world = World::with_policy(Some(AUTONOMOUS), "");
    assert_eq!(world.work_until(50), Value::Null);
    assert_eq!((world.commits(), world.has_notes()), (1, false));
    let status = world.status();
    assert_eq!((&status["autosave"]["mode"], &status["autosave"]["ignored"]), (&json!("off"), &json!(true)));
    let shown = world.workplace.shown(&["status"]);
    insta::assert_snapshot!(without_durations(&shown), @"
    exit code: 0
    --- stdout
    gate        on, but nothing is asked for in this repository
    repository  [folder]/repo
    policy      checkstone.toml: nothing is asked for in this repository: no category of the policy requires anything (`checkstone doctor`)
    autosave    not trusted: `[autosave]` of `checkstone.toml` is ignored, see `checkstone trust`
    state       [folder]/state

    Last verdicts (`checkstone explain ID`)
         1  [time]  claude  pass    no action is required for these changes
    --- stderr
    ");
    let wanted = world.workplace.shown(&["trust", "--yes"]);
    insta::assert_snapshot!(without_durations(&wanted), @r#"
    exit code: 0
    --- stdout
    [folder]/repo/checkstone.toml
      autosave.mode = "autonomous": saves by itself when the context is 40 % full: notes, a commit, and a push if the remote already has the branch
      autosave.wait = "[duration]": How long a stop waits for its save. What takes longer continues in the background, and its result is reported at the next prompt or stop.
    ✓ trusted, until the file changes
    --- stderr
    "#);
    assert_eq!(world.work_until(51)["decision"], "block", "{}", world.log());
    assert_eq!(world.commits(), 2);
    // Any change withdraws it.
    world.write("checkstone.toml", &format!("{AUTONOMOUS}threshold = 30\n"));
    assert_eq!(world.status()["autosave"]["mode"], "off");
}

/// The user's own settings hold in a repository whose file says something else and is not trusted.
#[test]
fn an_untrusted_repository_changes_nothing_of_the_users_settings() {
    let world = World::with_policy(
        Some("[autosave]\nmode = \"off\"\npush = true\n"),
        "[autosave]\nmode = \"normal\"\n",
    );
    let answer = world.work_until(50);
    insta::assert_snapshot!(without_durations(to_person(&answer)), @"[checkstone] The context is 50 % full: run `checkstone autosave` to commit notes on the work, then compact or start a new session");
}

/// Normal mode tells once per crossing.
#[test]
fn normal_mode_tells_once() {
    let world = World::new("[autosave]\nmode = \"normal\"\n");
    let told = |percent| to_person(&world.work_until(percent)).to_owned();
    assert!(told(41).starts_with("[checkstone] The context is 41 % full: "));
    assert_eq!(told(42), "");
    assert_eq!(told(20), "");
    insta::assert_snapshot!(without_durations(told(44)), @"[checkstone] The context is 44 % full: run `checkstone autosave` to commit notes on the work, then compact or start a new session");
    assert_eq!((world.commits(), world.saves()[0].0.as_str()), (1, "advised"));
}

/// One stop, one message: the gate's steps first, then what was saved; and it is the turn's one hold.
#[test]
fn the_gate_and_the_save_share_one_message_and_one_hold() {
    let world = World::with_policy(Some(POLICY), AUTONOMOUS);
    let answer = world.work_until(50);
    let said = to_agent(&answer);
    let (gate, save) =
        (said.find("1. Run `./run-tests`").unwrap(), said.find("Notes committed as ").unwrap());
    assert!(said.starts_with("[checkstone] Not done yet") && gate < save, "{said}");
    assert_eq!(said.matches("[checkstone]").count(), 1, "{said}");
    assert_eq!(answer["autonomous_execution"]["executed_directly"], true);
    // The second stop of the turn passes, whatever the context says.
    world.turn("Fix the counting", 90);
    let more = json!({"stop_hook_active": true, "last_assistant_message": "Done again."});
    assert_eq!(world.hook("claude", "Stop", more)["decision"], Value::Null);
    assert_eq!(world.commits(), 2);
}

/// Never a second hold in a turn that the gate has held: what is due is done, and the person is told.
#[test]
fn a_crossing_after_the_gates_hold_is_saved_without_a_hold() {
    let world = World::with_policy(Some(POLICY), AUTONOMOUS);
    assert_eq!(world.work_until(30)["decision"], "block");
    assert_eq!(world.commits(), 1);
    world.turn("Fix the counting", 50);
    let more = json!({"stop_hook_active": true, "last_assistant_message": "Done."});
    let answer = world.hook("claude", "Stop", more);
    assert_eq!(answer["decision"], Value::Null, "{answer:#}");
    insta::assert_snapshot!(without_durations(to_person(&answer)), @"✅ [checkstone] Auto-checkpoint executed: notes committed as [hash] on `main` in `.checkstone/notes/[id].md`, snapshot [id] of the whole tree, not pushed: there is no remote to push to");
    assert_eq!(world.commits(), 2);
}

/// The other way round: what the save has held, the gate does not hold again.
#[test]
fn after_a_hold_for_a_save_the_turn_passes() {
    let world = World::with_policy(Some(POLICY), AUTONOMOUS);
    world.prompt("Write the docs");
    world.write("docs.md", "words\n");
    world.turn("Write the docs", 50);
    assert_eq!(world.stop()["decision"], "block");
    world.write("src/lib.rs", "pub fn one() -> u32 { 7 }\n");
    let more = json!({"stop_hook_active": true, "last_assistant_message": "More."});
    assert_eq!(world.hook("claude", "Stop", more)["decision"], Value::Null);
}

/// An agent that waits for somebody is not sent on.
#[test]
fn an_agent_that_plans_is_left_alone() {
    let world = World::new(AUTONOMOUS);
    world.prompt("Plan it");
    world.write("src/lib.rs", "pub fn one() -> u32 { 7 }\n");
    world.turn("Plan it", 50);
    let more = json!({"permission_mode": "plan", "last_assistant_message": "Done."});
    assert_eq!(world.hook("claude", "Stop", more), Value::Null);
    assert_eq!(world.saves(), []);
    assert_eq!(world.stop()["decision"], "block", "the crossing is still to come");
}

/// Before a compaction and at the end of a session the work is saved, and nothing is printed.
#[test]
fn compaction_and_the_end_of_a_session_save_without_a_word() {
    for (event, reason) in [("PreCompact", "before_compaction"), ("SessionEnd", "session_end")] {
        let world = World::new(AUTONOMOUS).with_origin();
        world.work_until(20);
        assert_eq!(world.hook("claude", event, json!({"trigger": "auto", "reason": "other"})), Value::Null);
        wait_for("the save", || !world.saves().is_empty());
        assert_eq!(world.status()["autosave"]["last"]["reason"], reason);
        assert_eq!(world.commits(), 2, "{}", world.log());
        assert_eq!(world.push_ended().0, "pushed");
    }
}

/// A file that is too large for the user's snapshots is no work that was not saved.
#[test]
fn what_snapshots_leave_out_is_not_saved_at_every_compaction() {
    let world = World::new(&format!("{AUTONOMOUS}[snapshot]\nlargest_file_mb = 1\n"));
    world.write("large.txt", &"large\n".repeat(300_000));
    world.work_until(41);
    world.hook("claude", "PreCompact", json!({"trigger": "auto"}));
    // It is done when a later save by hand has had its turn behind it.
    let output = world.checkstone(&["autosave"]).answer();
    assert_eq!(output.code, Some(1), "{output:?}");
    assert_eq!(world.commits(), 3, "{}", world.log());
}

/// A project may be a folder of the repository, and the client may have been started elsewhere than the agent works.
#[test]
fn the_disable_file_counts_in_every_folder_of_the_project() {
    let stopped_in_src = |world: &World| {
        world.prompt("Fix it");
        world.write("src/lib.rs", "pub fn one() -> u32 { 7 }\n");
        world.turn("Fix it", 50);
        let cwd = world.workplace.repo().join("src");
        world.hook("claude", "Stop", json!({"cwd": cwd, "last_assistant_message": "Done."}))
    };
    let below = World::new(AUTONOMOUS);
    below.write("src/.claude/auto-continue-disabled", "");
    assert_eq!((stopped_in_src(&below), below.commits()), (Value::Null, 1));
    let project = World::new(AUTONOMOUS);
    let folder = project.workplace.path("home/project");
    std::fs::create_dir_all(folder.join(".claude")).unwrap();
    std::fs::write(folder.join(".claude/auto-continue-disabled"), "").unwrap();
    let project = project.with_variable("CLAUDE_PROJECT_DIR", folder.to_str().unwrap());
    assert_eq!((stopped_in_src(&project), project.commits()), (Value::Null, 1));
    let without = World::new(AUTONOMOUS);
    assert_eq!(stopped_in_src(&without)["decision"], "block", "{}", without.log());
}

/// A session that goes on after its end may end again within seconds; the same end that is told twice is one.
#[test]
fn two_ends_of_a_session_right_after_each_other_are_both_saved() {
    let world = World::new(AUTONOMOUS);
    for number in 1..3 {
        world.turn_number(number, 20);
        for _ in 0..2 {
            world.hook("claude", "SessionEnd", json!({"prompt_id": format!("prompt-{number}")}));
        }
        let wanted = usize::try_from(number).unwrap();
        wait_for("the save", || world.saves().len() == wanted);
    }
    assert_eq!(world.commits(), 3, "{}", world.log());
}

/// What a person did in the same tree is theirs; and what is saved already is not saved again.
#[test]
fn a_session_that_did_nothing_new_is_not_saved_at_its_end() {
    let world = World::new(AUTONOMOUS);
    world.write("mine.txt", "a person's\n");
    world.prompt("What is this?");
    world.turn("What is this?", 20);
    world.stop();
    world.hook("claude", "SessionEnd", json!({}));
    let saved = World::new(AUTONOMOUS);
    assert_eq!(saved.work_until(41)["decision"], "block");
    saved.hook("claude", "SessionEnd", json!({}));
    // Both are done when a later save by hand has had its turn behind them.
    for (world, commits) in [(&world, 2), (&saved, 3)] {
        let output = world.checkstone(&["autosave"]).answer();
        assert!(output.succeeded(), "{output:?}");
        assert_eq!(world.commits(), commits, "{}", world.log());
    }
}

/// Gemini CLI tells of a compression before every request.
#[test]
fn a_compression_of_gemini_is_no_occasion() {
    let world = World::new(AUTONOMOUS);
    world.hook("gemini", "BeforeAgent", json!({"prompt": "Fix it"}));
    world.write("src/lib.rs", "pub fn one() -> u32 { 7 }\n");
    assert_eq!(world.hook("gemini", "PreCompress", json!({"trigger": "auto"})), Value::Null);
    let output = world.checkstone(&["autosave", "--dry-run"]).answer();
    assert!(output.succeeded());
    assert_eq!((world.commits(), world.saves()), (1, vec![]));
}

/// What the client told its status line counts for the hook.
#[test]
fn the_status_line_knows_the_window() {
    let world = World::new(AUTONOMOUS);
    let told = json!({"session_id": SESSION, "model": {"id": "claude-opus-4-1[1m]"},
                      "context_window": {"context_window_size": 1000000,
                                         "current_usage": {"input_tokens": 90000}}});
    let line = world.workplace.with_input(&["statusline"], told.to_string().as_bytes());
    insta::assert_snapshot!(without_durations(&line), @"checkstone: \u{1b}[32mcontext 9 %\u{1b}[0m");
    assert_eq!(world.work_until(45), Value::Null, "90,000 of 1,000,000 tokens are 9 %");
    world.prompt("More");
    world.turn_of("claude-opus-4-1", "More", Some(400_000), &[]);
    assert_eq!(world.stop()["decision"], "block");
}
