//! A turn in each of the three clients, from the prompt to the stop, in real processes.

use std::collections::BTreeSet;

use super::session::{AGENTS, Session};
use super::world::{IGNORED, PYTHON, RUN_TESTS, STILL_UNPROVEN, World, answer};

const FIXED: &str = "def add(a, b):\n    return a + b\n";

/// H1, H2, H3: held once in the client's schema; the second stop passes, also where the client forgets that it was
/// held; the next turn is judged for itself.
#[test]
fn h3_a_turn_is_held_once_and_the_next_one_is_its_own() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let mut session = Session::new(&world, agent);
        session.prompt("Fix add");
        session.edit("calc.py", FIXED);
        let held = session.stop("Done.");
        assert_eq!(held.holds(), RUN_TESTS, "{agent}");
        assert!(held.0.stdout.starts_with("{\"decision\":\"block\",\"reason\":\"[checkstone] "), "{agent}");
        session.receive(RUN_TESTS);
        assert_eq!(session.stop("I did not run them.").notifies(), IGNORED, "{agent}");
        session.stop("Still not.").passes();
        assert_eq!(world.holds(), [1], "{agent}");

        session.prompt("Now multiply");
        session.edit("calc.py", "def mul(a, b):\n    return a * b\n");
        assert_eq!(session.stop("Done.").holds(), RUN_TESTS, "{agent}");
        assert_eq!(world.holds(), [1, 1], "{agent}");

        session.prompt("What does it do?");
        assert_eq!(session.stop("It multiplies.").notifies(), STILL_UNPROVEN, "{agent}");
        assert_eq!(world.holds(), [1, 1, 0], "{agent}");
    }
}

/// Claude Code calls a `block` an error to the person, and takes context for a hold all the same.
#[test]
fn claude_code_is_held_by_context_if_it_says_that_it_is_one() {
    let world = World::new(PYTHON);
    let mut session = Session::new(&world, "claude");
    session.prompt("Fix add");
    session.edit("calc.py", FIXED);
    session.say("Done.");
    let mut hook = world.hook("claude");
    hook.env("AI_AGENT", "claude-code_2-1-325_harness");
    let held: serde_json::Value =
        serde_json::from_str(&answer(hook, &session.stop_event()).0.stdout).unwrap();
    let context = serde_json::json!({ "hookEventName": "Stop", "additionalContext": RUN_TESTS });
    assert_eq!((&held["hookSpecificOutput"], &held["decision"]), (&context, &serde_json::Value::Null));
    session.receive_as_context(RUN_TESTS);
    assert_eq!(session.stop("I did not run them.").notifies(), IGNORED);
    assert_eq!(world.holds(), [1]);
}

/// L1: what the person interrupted, and what the agent left open with a question, is judged at the next stop, with its runs.
#[test]
fn l1_turns_without_a_verdict_are_judged_with_the_next_one() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let mut session = Session::new(&world, agent);
        session.prompt("Fix add");
        session.edit("calc.py", FIXED);
        session.prompt("Go on");
        assert_eq!(session.stop("Done.").holds(), RUN_TESTS, "{agent}");
        assert_eq!(world.holds(), [0, 1], "{agent}");

        session.prompt("Multiply too");
        session.edit("calc.py", "def mul(a, b):\n    return a * b\n");
        session.test();
        session.prompt("And on");
        session.stop("Done.").notifies();

        session.prompt("Divide");
        session.edit("calc.py", "def div(a, b):\n    return a / b\n");
        session.stop("Should it round up, or should it round down?").passes();
        session.prompt("Down");
        assert_eq!(session.stop("It does.").holds(), RUN_TESTS, "{agent}");
        session.stop("I did not run them.").passes();

        session.prompt("What does it do?");
        assert_eq!(session.stop("It divides.").notifies(), STILL_UNPROVEN, "{agent}");
    }
}

/// L1: a call that the person interrupted belongs to its own turn, and the next one does not wait for it.
#[test]
fn l1_an_interrupted_call_is_no_reason_to_wait_in_the_next_turn() {
    let world = World::new(PYTHON);
    let mut session = Session::new(&world, "claude");
    session.prompt("Fix add");
    session.edit("calc.py", FIXED);
    session.interrupt("pytest");
    session.prompt("Go on");
    let stopped =
        "\n\nObservations:\n- `pytest` does not count for `python-tests`: it was stopped\n\nIf a step";
    assert_eq!(session.stop("Done.").holds(), RUN_TESTS.replace("\n\nIf a step", stopped));
}

#[test]
fn evidence_after_the_last_change_is_all_clear_and_told_to_the_person_only() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let mut session = Session::new(&world, agent);
        session.prompt("Fix add");
        session.edit("calc.py", FIXED);
        session.test();
        let told = session.stop("Done.").notifies();
        assert!(told.starts_with("[checkstone] "), "{agent}: {told}");
        assert_eq!(world.holds(), [0], "{agent}");
    }
}

/// E1, E5: a run that failed, and one that is older than the change, prove nothing.
#[test]
fn evidence_that_failed_or_is_stale_holds() {
    let mut all = BTreeSet::new();
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let mut session = Session::new(&world, agent);
        session.prompt("Fix add");
        session.test();
        session.edit("calc.py", FIXED);
        let stale = session.stop("Done.").holds();

        session.prompt("Again");
        session.edit("calc.py", "def add(a, b):\n    return b + a\n");
        session.shell("pytest", "1 failed in 0.01s", 1);
        let failed = session.stop("Done.").holds();
        all.insert([stale, failed].join("\n"));
    }
    insta::assert_snapshot!(Vec::from_iter(all).join("\n"), @"
    [checkstone] Not verified yet

    Changed: Python code (`calc.py`)

    1. Run `pytest` (python-tests)

    Observations:
    - `pytest` does not count for `python-tests`: it ran before the last change

    If a step cannot be done here, say so on a line of its own:
    `checkstone: cannot ACTION: REASON` (actions: python-tests).
    [checkstone] Not verified yet

    Changed: Python code (`calc.py`)

    1. Test failures remain — re-run tests after fixes. Run `pytest` again until it succeeds, or say why that failure is acceptable (python-tests)

    If a step cannot be done here, say so on a line of its own:
    `checkstone: cannot ACTION: REASON` (actions: python-tests).
    ");
}

/// What is done because of the hold counts at the next turn's stop, where nothing new was changed.
#[test]
fn evidence_after_the_hold_counts() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let mut session = Session::new(&world, agent);
        session.prompt("Fix add");
        session.edit("calc.py", FIXED);
        session.stop("Done.").holds();
        session.receive(RUN_TESTS);
        session.test();
        session.stop("The tests pass.").passes();
        session.prompt("Thanks");
        session.stop("You are welcome.").passes();
        assert_eq!(world.holds(), [1, 0], "{agent}");
    }
}

#[test]
fn prose_and_a_turn_without_changes_are_silent() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let mut session = Session::new(&world, agent);
        session.prompt("Describe it");
        session.edit("README.md", "# calc\n\nAdds.\n");
        session.stop("Done.").passes();
        session.prompt("Look at it");
        session.read("calc.py");
        session.stop("It adds.").passes();
        assert_eq!(world.holds(), [0, 0], "{agent}");
    }
}

/// C1, C2: an untracked file, and work that the turn committed.
#[test]
fn c1_c2_untracked_and_committed_work_is_seen() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let mut session = Session::new(&world, agent);
        session.prompt("Add mul");
        session.edit("mul.py", "def mul(a, b):\n    return a * b\n");
        assert_eq!(session.stop("Done.").holds(), RUN_TESTS.replace("calc.py", "mul.py"), "{agent}");

        session.prompt("Fix add and commit");
        session.edit("calc.py", FIXED);
        world.commit("work");
        session.shell("git add --all && git commit -m work", "[main 1234567] work", 0);
        assert_eq!(session.stop("Committed.").holds(), RUN_TESTS, "{agent}");
    }
}

/// C3: dirt from before the turn, and what another session does meanwhile before ours begins, is not blamed.
#[test]
fn c3_older_dirt_is_not_blamed() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        world.write("calc.py", "def add(a, b):\n    return 0\n");
        world.write("scratch.py", "x = 1\n");
        let mut session = Session::new(&world, agent);
        session.prompt("Describe it");
        session.edit("README.md", "# calc\n\nAdds.\n");
        session.stop("Done.").passes();
        assert_eq!(world.holds(), [0], "{agent}");
    }
}

/// C3: two sessions in one tree at once: each is held for its own work, and one that only looks is not held.
#[test]
fn c3_the_dirt_of_another_session_is_not_ours() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let mut worker = Session::named(&world, "claude", "worker");
        let mut looker = Session::named(&world, agent, "looker");
        let mut writer = Session::named(&world, agent, "writer");
        worker.prompt("Fix add");
        looker.prompt("What does it do?");
        writer.prompt("Describe it");
        worker.edit("calc.py", FIXED);
        looker.read("calc.py");
        looker.shell("git status --short && git diff | head -50", " M calc.py", 0);
        writer.edit("README.md", "# calc\n\nAdds.\n");
        looker.stop("It adds.").passes();
        writer.stop("Done.").passes();
        assert_eq!(worker.stop("Done.").holds(), RUN_TESTS, "{agent}");
    }
}

const GENERATOR: &str = "python3 generate.py";

/// A program of the repository ran, and is no proof of what it wrote.
fn run_tests_after_the_generator() -> String {
    let seen =
        format!("`{GENERATOR}` does not count for `python-tests`: it may have made the changes itself");
    RUN_TESTS.replace("\n\nIf a step", &format!("\n\nObservations:\n- {seen}\n\nIf a step"))
}

/// A program that may write anywhere has written what is new.
#[test]
fn what_a_script_wrote_is_seen() {
    for agent in AGENTS {
        for command in [GENERATOR, "perl -pi -e s/a/b/ *", "$TOOL --fix", "git stash pop"] {
            let world = World::new(PYTHON);
            let mut session = Session::new(&world, agent);
            session.prompt("Generate it");
            world.write("calc.py", FIXED);
            session.shell(command, "", 0);
            let reason = session.stop("Done.").holds();
            let expected =
                if command == GENERATOR { run_tests_after_the_generator() } else { RUN_TESTS.to_owned() };
            assert_eq!(reason, expected, "{agent}, {command}");
        }
    }
}

/// A client that was started before the hook was registered: no prompt was seen, and the stop still holds once.
#[test]
fn without_a_prompt_event_the_touched_files_count() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        world.write("scratch.py", "x = 1\n");
        let mut session = Session::new(&world, agent);
        session.type_prompt("Fix add");
        session.edit("calc.py", FIXED);
        assert_eq!(session.stop("Done.").holds(), RUN_TESTS, "{agent}");
        session.receive(RUN_TESTS);
        assert_eq!(session.stop("No.").notifies(), IGNORED, "{agent}");
        assert_eq!(world.holds(), [1], "{agent}");
    }
}

/// Where no policy is, nothing is said, and only the turn is recorded.
#[test]
fn without_a_policy_nothing_is_said() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        fs_err::remove_file(world.repository.join("checkstone.toml")).unwrap();
        let mut session = Session::new(&world, agent);
        session.prompt("Fix add");
        session.edit("calc.py", FIXED);
        session.stop("Done.").passes();
        assert_eq!(world.holds(), [0], "{agent}");
    }
}

/// An excuse that names no action does not count, and the person learns which names would.
#[test]
fn an_excuse_that_names_no_action_is_told_with_the_names_of_those_that_are_missing() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let mut session = Session::new(&world, agent);
        session.prompt("Fix add");
        session.edit("calc.py", FIXED);
        session.stop("Done.").holds();
        session.receive(RUN_TESTS);
        let told = session.stop("checkstone: cannot pytest: it is not installed").notifies();
        let sentence = "The agent says that it cannot do `pytest`, but no action here has that name (actions: python-tests).";
        let unproven = IGNORED.strip_prefix("[checkstone] ").unwrap();
        assert_eq!(told, format!("[checkstone] {sentence}\n\n{unproven}"), "{agent}");
    }
}

/// What the agent says after the hold that it cannot do is shown to the person and not asked for again in this session;
/// another session is asked.
#[test]
fn what_cannot_be_done_is_not_asked_for_again() {
    let mut all = Vec::new();
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let mut session = Session::new(&world, agent);
        session.prompt("Fix add");
        session.edit("calc.py", FIXED);
        session.stop("Done.").holds();
        session.receive(RUN_TESTS);
        let told = session.stop("checkstone: cannot python-tests: pytest is not installed").notifies();
        assert_eq!(told, "[checkstone] Not done: python-tests (pytest is not installed)", "{agent}");
        session.prompt("Now multiply");
        session.edit("calc.py", "def mul(a, b):\n    return a * b\n");
        let told = session.stop("Done.").notifies();
        all.push(format!("{agent}: {told}"));
        let mut other = Session::named(&world, agent, "other");
        other.prompt("Now divide");
        other.edit("calc.py", "def div(a, b):\n    return a / b\n");
        assert_eq!(other.stop("Done.").holds(), RUN_TESTS, "{agent}");
    }
    insta::assert_snapshot!(all.join("\n"), @"
    claude: [checkstone] Not done: python-tests (pytest is not installed)
    gemini: [checkstone] Not done: python-tests (pytest is not installed)
    codex: [checkstone] Not done: python-tests (pytest is not installed)
    ");
}

/// The agent is not done: it plans, or a task that it started still runs.
#[test]
fn an_agent_that_waits_is_not_held() {
    let world = World::new(PYTHON);
    let mut session = Session::new(&world, "claude");
    session.prompt("Fix add");
    session.read("calc.py");
    world.write("calc.py", FIXED);
    session.say("Here is the plan.");
    let mut event = session.stop_event();
    event["permission_mode"] = serde_json::json!("plan");
    answer(world.hook("claude"), &event).passes();

    let call = serde_json::json!([{ "type": "tool_use", "id": "toolu_bg", "name": "Bash", "input": { "command": "pytest" } }]);
    session.append(serde_json::json!({
        "type": "assistant", "isSidechain": false, "uuid": "bg", "sessionId": "0a1b", "timestamp": "2026-11-15T00:00:00.000Z",
        "message": { "id": "m", "role": "assistant", "content": call },
    }));
    session.say("The tests run.");
    let mut event = session.stop_event();
    event["background_tasks"] = serde_json::json!([{ "id": "b1", "type": "shell", "status": "running" }]);
    answer(world.hook("claude"), &event).passes();
    assert_eq!(world.holds(), [0]);
    assert!(session.stop("They ended.").is_hold());
}

/// C5: the agent works in a folder of the repository, or in a linked worktree of it.
#[test]
fn c5_in_a_folder_and_in_a_linked_worktree() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        world.write("deep/er/x.py", "x = 1\n");
        world.commit("deep");
        world.git(&["worktree", "add", "--quiet", "../linked"]);
        for (folder, path) in
            [(world.repository.join("deep/er"), "deep/er/new.py"), (world.home.join("../linked"), "new.py")]
        {
            let mut session = Session::named(&world, agent, folder.file_name().unwrap().to_str().unwrap());
            session.folder.clone_from(&folder);
            session.type_prompt("Change it");
            let mut event = session.prompt_event("Change it");
            event["cwd"] = serde_json::json!(folder);
            answer(world.hook(agent), &event).passes();
            fs_err::write(folder.join("new.py"), "y = 2\n").unwrap();
            session.shell(GENERATOR, "", 0);
            session.say("Done.");
            let mut event = session.stop_event();
            event["cwd"] = serde_json::json!(folder);
            let expected = run_tests_after_the_generator().replace("calc.py", path);
            assert_eq!(answer(world.hook(agent), &event).holds(), expected, "{agent}");
        }
    }
}

/// T4, and a prompt that is typed while the agent works: neither begins a turn.
#[test]
fn our_own_text_and_an_added_prompt_begin_no_turn() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let mut session = Session::new(&world, agent);
        session.prompt("Fix add");
        session.edit("calc.py", FIXED);
        let reason = session.stop("Done.").holds();
        session.receive(&reason);
        let wrapped = [
            reason.clone(),
            format!("Stop hook feedback:\n{reason}"),
            format!("<hook_prompt hook_run_id=\"stop:0:/x\">{reason}</hook_prompt>"),
        ];
        for text in wrapped {
            let mut event = session.prompt_event(&text);
            event["prompt_id"] = serde_json::json!("another");
            event["turn_id"] = serde_json::json!("another");
            answer(world.hook(agent), &event).passes();
        }
        if agent != "gemini" {
            answer(world.hook(agent), &session.prompt_event("And be quick")).passes();
        }
        session.edit("calc.py", "def add(a, b):\n    return b + a\n");
        assert_eq!(session.stop("Done again.").notifies(), IGNORED, "{agent}");
        assert_eq!(world.holds(), [1], "{agent}");
    }
}

/// A stop that was let through, because a task still ran, does not answer for the next one with the same words.
#[test]
fn a_stop_that_passed_does_not_answer_for_the_next_one() {
    let world = World::new(PYTHON);
    let mut session = Session::new(&world, "claude");
    session.prompt("Fix add");
    world.write("calc.py", FIXED);
    session.shell(GENERATOR, "", 0);
    session.say("Done.");
    let mut event = session.stop_event();
    event["permission_mode"] = serde_json::json!("plan");
    answer(world.hook("claude"), &event).passes();
    assert_eq!(answer(world.hook("claude"), &session.stop_event()).holds(), run_tests_after_the_generator());
}
