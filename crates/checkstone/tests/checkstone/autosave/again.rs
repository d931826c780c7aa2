//! What failed over something that passes is tried again at the next stops, three times at one crossing; the agent gets the
//! fall-back signal once.

use super::direct_execution::executable;
use super::world::{AUTONOMOUS, World, to_agent, to_person};
use sandbox::redacted;

/// Somebody holds the index for longer than is waited for, and is done by the next stop.
#[test]
fn a_save_that_met_a_held_index_is_made_at_the_next_stop() {
    let world = World::new(AUTONOMOUS);
    let notes = "# Notes\n\n## Last Session\n\nolder words\n";
    world.write("CLAUDE.md", notes);
    world.write(".git/index.lock", "");
    let answer = world.turn_number(1, 41);
    insta::assert_snapshot!(redacted(to_agent(&answer)), @"
    [checkstone] The context is filling up, and nothing was committed: another git process holds `[folder]/repo/.git/index.lock`; if none is running, remove it: `rm -f [folder]/repo/.git/index.lock`; the whole tree is kept in snapshot [id]; it is tried again at the next stop.
    <command-name>/checkpoint</command-name>

    Note in a few lines what was done and what is next, commit that, then continue with the task.
    - Task: Go on
    ");
    assert!(to_person(&answer).ends_with("; it is tried again at the next stop"), "{answer:#}");
    assert_eq!((world.commits(), world.text("CLAUDE.md").as_str()), (1, notes));
    assert!(world.has(".git/index.lock"), "it is not ours");
    std::fs::remove_file(world.workplace.repo().join(".git/index.lock")).unwrap();
    let answer = world.turn_number(2, 42);
    assert_eq!(answer["autonomous_execution"]["executed_directly"], true, "{answer:#}\n{}", world.log());
    assert_eq!(world.commits(), 2);
    // The crossing is settled.
    assert_eq!(world.turn_number(3, 43)["decision"], serde_json::Value::Null);
    assert_eq!(world.commits(), 2);
}

/// A context that crosses its threshold while nothing has changed is saved at the first stop that has something; what comes
/// next is told once.
#[test]
fn a_crossing_with_nothing_to_save_is_not_used_up() {
    let world = World::new(AUTONOMOUS);
    world.write("buildguide.md", "- [ ] the next thing\n");
    world.git(&["add", "buildguide.md"]);
    world.git(&["commit", "--quiet", "--message=guide"]);
    let stop = |number: u64, percent: u64| {
        let key = format!("prompt-{number}");
        let event = serde_json::json!({"prompt_id": key, "prompt": "Look"});
        world.hook("claude", "UserPromptSubmit", event);
        world.turn("Look", percent);
        let transcript = std::fs::read_to_string(world.workplace.transcript()).unwrap();
        std::fs::write(world.workplace.transcript(), transcript.replace("prompt-1", &key)).unwrap();
        let event = serde_json::json!({"prompt_id": key, "last_assistant_message": "Done."});
        world.hook("claude", "Stop", event)
    };
    let first = stop(1, 45);
    insta::assert_snapshot!(redacted(to_agent(&first)), @"
    [checkstone] The context is 45 % full, and there is nothing new to commit.

    Continue with the task.
    - Task: Look
    - Next item of `buildguide.md`: the next thing
    If all of it is done, say so and stop.
    ");
    assert_eq!((stop(2, 46), world.commits()), (serde_json::Value::Null, 2), "{}", world.log());
    let answer = world.turn_number(3, 50);
    assert_eq!(answer["autonomous_execution"]["executed_directly"], true, "{answer:#}\n{}", world.log());
    assert_eq!((world.turn_number(4, 55), world.commits()), (serde_json::Value::Null, 3), "{}", world.log());
}

/// A commit hook that never comes to an end: three times, and then not before the context was emptied.
#[test]
fn what_goes_on_failing_is_given_up_after_three_times() {
    let world = World::new(&format!("{AUTONOMOUS}hook_timeout = \"200ms\"\n"));
    world.write(".git/hooks/pre-commit", "#!/bin/sh\nsleep 1000\n");
    executable(&world, ".git/hooks/pre-commit");
    let answers: Vec<_> = (1..6).map(|number| world.turn_number(number, 40 + number)).collect();
    let signals: Vec<bool> =
        answers.iter().map(|answer| to_agent(answer).contains(autosave::SIGNAL)).collect();
    assert_eq!(signals, [true, false, false, false, false], "{answers:#?}");
    let told: Vec<bool> =
        answers.iter().map(|answer| to_person(answer).contains("`pre-commit` took longer")).collect();
    assert_eq!(told, [true, true, true, false, false], "{answers:#?}");
    let again: Vec<bool> = answers
        .iter()
        .map(|answer| to_person(answer).ends_with("it is tried again at the next stop"))
        .collect();
    assert_eq!(again, [true, true, false, false, false], "{answers:#?}");
    assert_eq!(world.saves().len(), 3);
    assert_eq!((world.commits(), world.has_notes()), (1, false));
    assert_eq!(world.log().matches("the save is tried again at the next stop").count(), 2, "{}", world.log());
    std::fs::remove_file(world.workplace.repo().join(".git/hooks/pre-commit")).unwrap();
    assert_eq!(world.turn_number(6, 20), serde_json::Value::Null);
    assert_eq!(
        world.turn_number(7, 41)["autonomous_execution"]["executed_directly"],
        true,
        "{}",
        world.log()
    );
}

/// What does not pass by itself is told once and left to the agent: here a hook that refuses, and a secret.
#[test]
fn what_somebody_has_to_settle_is_not_tried_again() {
    let world = World::new(AUTONOMOUS);
    world.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n");
    executable(&world, ".git/hooks/pre-commit");
    insta::assert_snapshot!(redacted(to_agent(&world.turn_number(1,41))), @"
    [checkstone] The context is filling up, and nothing was committed: the hook `pre-commit` refused the commit: it ended with exit status: 1; the whole tree is kept in snapshot [id].
    <command-name>/checkpoint</command-name>

    Note in a few lines what was done and what is next, commit that, then continue with the task.
    - Task: Go on
    ");
    assert_eq!(world.turn_number(2, 42), serde_json::Value::Null);
    assert_eq!(world.saves().len(), 1);

    let secret = World::new(AUTONOMOUS);
    let token = format!("sk_live_{}", "zQ8kV3nT6wYb1LxC9mRd4HsJ7pFg2Ae0");
    secret.prompt("Use it");
    secret.write("CLAUDE.md", &format!("{token}\n"));
    secret.turn("Use it", 41);
    insta::assert_snapshot!(redacted(to_agent(&secret.stop())), @"
    [checkstone] Nothing was committed: the commit would contain what looks like a secret: `CLAUDE.md` line 1: stripe-key (`stripe-key:CLAUDE.md:f235f8`); the whole tree is kept in snapshot [id].

    Remove it from the files in the repository, or mark the line with `checkstone:allow-secret` if it is not a secret; do not commit it.
    ");
    assert_eq!(secret.turn_number(2, 42), serde_json::Value::Null);
    assert_eq!(secret.saves().len(), 1);
}
