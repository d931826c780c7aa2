//! L4: the held party does not hold the switch. The policy at the prompt counts, what would reduce checking is refused to
//! an agent, and the person hears of it.

use std::process::Command;

use sandbox::{RunToEnd as _, redacted};
use serde_json::{Value, json};

use super::session::{AGENTS, Session};
use super::world::{IGNORED, PYTHON, RUN_TESTS, World, answer};

const FIXED: &str = "def add(a, b):\n    return a + b\n";
const AGAIN: &str = "def add(a, b):\n    return b + a\n";

/// What counts from when.
const LATER: &str =
    "The change takes effect at the next prompt; this turn is judged by the policy at its prompt.";

/// A turn that changed code and has run no test.
fn due<'a>(world: &'a World, agent: &'static str) -> Session<'a> {
    let mut session = Session::new(world, agent);
    session.prompt("Fix add");
    session.edit("calc.py", FIXED);
    session
}

fn policy(world: &World, text: Option<&str>) {
    match text {
        Some(text) => world.write("checkstone.toml", text),
        None => fs_err::remove_file(world.repository.join("checkstone.toml")).unwrap(),
    }
}

/// A command as a tool of the agent.
fn by_agent(world: &World, agent: &str, arguments: &[&str]) -> Command {
    let (variable, value) = match agent {
        "claude" => ("CLAUDE_CODE_SESSION_ID", "0a1b"),
        "codex" => ("CODEX_SESSION_ID", "0a1b"),
        _ => ("GEMINI_CLI", "1"),
    };
    let mut command = world.checkstone(arguments);
    command.env(variable, value);
    command
}

fn status(world: &World) -> Value {
    serde_json::from_str(&world.checkstone(&["status", "--json"]).answer().stdout).unwrap()
}

/// What a line of the log says of the switch, without its time and timings.
fn switched(line: &str) -> Option<String> {
    let (text, _) = line.split_once(" switch: ")?.1.rsplit_once(" [")?;
    Some(text.to_owned())
}

/// Who did what, by `status`, newest first.
fn reductions(world: &World) -> Vec<(String, String)> {
    let status = status(world);
    let text = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
    let all = status["reductions"].as_array().unwrap().iter();
    all.map(|one| (text(one, "author"), text(one, "text"))).collect()
}

#[test]
fn l4_a_policy_that_the_turn_loosened_does_not_count_for_it() {
    let looser: [(Option<&str>, &str); 6] = [
        (Some("presets = []\n"), "`presets` in `checkstone.toml`"),
        (Some("presets = [\"python\"]\n[gate]\nenabled = false\n"), "`gate.enabled` in `checkstone.toml`"),
        (
            Some("presets = [\"python\"]\nprose = [\"**\"]\n[action.python-tests]\nlevel = \"off\"\n"),
            "`action.python-tests.level`, `prose` in `checkstone.toml`",
        ),
        (
            Some("presets = [\"python\"]\n[[category]]\nname = \"none\"\ninclude = [\"**\"]\n"),
            "`category` in `checkstone.toml`",
        ),
        (None, "`checkstone.toml` was removed"),
        (
            Some("presets = [\"pyton\"]\n"),
            "checkstone.toml:1:12: unknown preset `pyton`; did you mean `python`?",
        ),
    ];
    for agent in AGENTS {
        for (text, what) in looser {
            let world = World::new(PYTHON);
            let mut session = due(&world, agent);
            policy(&world, text);
            let (held, told) = session.stop("Done.").holds_and_tells();
            assert_eq!(held, RUN_TESTS, "{agent} {what}");
            let sentence = format!("The policy changed in this turn: {what}. {LATER}");
            assert_eq!(told, format!("[checkstone] {sentence}"), "{agent}");
            assert_eq!(reductions(&world), [("during-turn".to_owned(), sentence.clone())], "{agent}");
            // Told once, though the turn has another stop.
            session.receive(&held);
            assert_eq!(session.stop("Done, really.").notifies(), IGNORED, "{agent}");
            let noted: Vec<String> = world.log().lines().filter_map(switched).collect();
            assert_eq!(noted, [sentence], "{agent}");
        }
    }
}

/// `check` says what the hook says: the policy at the prompt counts, until the person's next prompt.
#[test]
fn l4_check_goes_by_the_policy_at_the_prompt_too() {
    let check = |world: &World| {
        let answer = world.checkstone(&["check"]).answer_to("");
        (answer.code, answer.stderr)
    };
    let warning = |what: &str| format!("warning: The policy changed in this turn: {what}. {LATER}\n");
    let loosened = [
        (Some("presets = []\n"), "`presets` in `checkstone.toml`"),
        (
            Some("presets = [\"pyton\"]\n"),
            "checkstone.toml:1:12: unknown preset `pyton`; did you mean `python`?",
        ),
        (None, "`checkstone.toml` was removed"),
    ];
    for (text, what) in loosened {
        let world = World::new(PYTHON);
        let mut session = due(&world, "claude");
        policy(&world, text);
        assert_eq!(check(&world), (Some(1), warning(what)), "{what}");
        let (held, _) = session.stop("Done.").holds_and_tells();
        assert_eq!(check(&world), (Some(1), warning(what)), "{what}");
        session.receive(&held);
        session.stop("Done, really.").notifies();
        assert_eq!(check(&world), (Some(1), warning(what)), "{what}");
    }
    // What a person changes after the stop counts when they ask.
    let world = World::new(PYTHON);
    let mut session = due(&world, "claude");
    session.stop("Done.").holds();
    policy(&world, Some("presets = []\n"));
    assert_eq!(check(&world), (Some(0), String::new()));
    // What was made in the turn does not count yet.
    let world = World::new(PYTHON);
    policy(&world, None);
    due(&world, "claude");
    policy(&world, Some(PYTHON));
    assert_eq!(check(&world).0, Some(0));
}

/// The person heard of it, and so the change counts from their next prompt.
#[test]
fn l4_the_change_counts_from_the_next_prompt() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let mut session = due(&world, agent);
        policy(&world, Some("presets = []\n"));
        let (held, _) = session.stop("Done.").holds_and_tells();
        session.receive(&held);
        session.test();
        session.stop("Done.");
        session.prompt("Again");
        session.edit("calc.py", AGAIN);
        session.stop("Done.").passes();
        policy(&world, Some(PYTHON));
        let told = session.stop("Done again.").notifies();
        assert_eq!(
            told,
            format!("[checkstone] The policy changed in this turn: `presets` in `checkstone.toml`. {LATER}")
        );
    }
}

#[test]
fn l4_a_policy_that_the_turn_made_counts_from_the_next_prompt() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        policy(&world, None);
        let mut session = due(&world, agent);
        policy(&world, Some(PYTHON));
        let made = "[checkstone] A policy was added in this turn: `checkstone.toml` is new. It takes effect at the next prompt.";
        assert_eq!(session.stop("Done.").notifies(), made, "{agent}");
        session.stop("Done, really.").passes();
        session.prompt("Again");
        session.edit("calc.py", AGAIN);
        assert_eq!(session.stop("Done.").holds(), RUN_TESTS, "{agent}");
    }
}

/// What says the same is no change: comments, layout, and a file that was put back.
#[test]
fn l4_what_says_the_same_is_no_change() {
    for text in ["# a remark\npresets = [ \"python\" ]\n", PYTHON] {
        let world = World::new(PYTHON);
        let mut session = due(&world, "claude");
        policy(&world, Some("presets = []\n"));
        policy(&world, Some(text));
        assert_eq!(session.stop("Done.").holds(), RUN_TESTS);
        assert_eq!(reductions(&world), []);
    }
}

#[test]
fn l4_the_users_configuration_counts_as_it_was_at_the_prompt() {
    let world = World::new("");
    let file = world.home.join(".config/checkstone/config.toml");
    let folder = file.parent().unwrap();
    fs_err::create_dir_all(folder).unwrap();
    fs_err::write(&file, PYTHON).unwrap();
    let mut session = due(&world, "claude");
    fs_err::write(&file, "presets = []\n").unwrap();
    let (held, told) = session.stop("Done.").holds_and_tells();
    assert_eq!(held, RUN_TESTS);
    assert_eq!(
        told,
        format!("[checkstone] The policy changed in this turn: `presets` in `config.toml`. {LATER}")
    );
}

/// Presets that are detected follow the manifests: what a turn adds counts at once, what it removes does not.
#[test]
fn l4_detected_presets_are_added_at_once_and_never_taken_away() {
    let world = World::new(PYTHON);
    policy(&world, None);
    let file = world.home.join(".config/checkstone/config.toml");
    fs_err::create_dir_all(file.parent().unwrap()).unwrap();
    fs_err::write(&file, "presets = \"auto\"\n").unwrap();
    let mut session = due(&world, "claude");
    world.write("pyproject.toml", "[project]\nname = \"calc\"\n");
    assert_eq!(session.stop("Done.").holds(), RUN_TESTS);
    session.prompt("Again");
    session.edit("calc.py", AGAIN);
    fs_err::remove_file(world.repository.join("pyproject.toml")).unwrap();
    let (_, told) = session.stop("Done.").holds_and_tells();
    assert_eq!(
        told,
        format!("[checkstone] The policy changed in this turn: `detected presets` was removed. {LATER}")
    );
}

/// A turn that was interrupted has no stop: the person hears of it at their next prompt, and it does not count before a stop
/// was judged by the earlier policy.
#[test]
fn l4_a_change_in_an_interrupted_turn_does_not_count_before_a_stop_was_judged() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let mut session = due(&world, agent);
        policy(&world, Some("presets = []\n"));
        session.type_prompt("Go on");
        let told = answer(world.hook(agent), &session.prompt_event("Go on")).notifies();
        assert_eq!(
            told,
            "[checkstone] The policy changed since your last prompt: `presets` in `checkstone.toml`. The agent has not been \
             judged since, so the change takes effect at the next prompt."
        );
        session.edit("calc.py", AGAIN);
        let held = session.stop("Done.").holds();
        assert_eq!(held, RUN_TESTS, "{agent}");
        session.receive(&held);
        session.test();
        session.stop("Done.");
        session.prompt("Again");
        session.edit("calc.py", FIXED);
        session.stop("Done.").passes();
    }
}

/// What is typed while the agent works belongs to its turn, and does not make the change count.
#[test]
fn l4_a_prompt_in_the_middle_of_a_turn_does_not_make_a_change_count() {
    for agent in ["claude", "codex"] {
        let world = World::new(PYTHON);
        let mut session = due(&world, agent);
        policy(&world, Some("presets = []\n"));
        answer(world.hook(agent), &session.prompt_event("And sub")).passes();
        let (held, told) = session.stop("Done.").holds_and_tells();
        assert_eq!(held, RUN_TESTS, "{agent}");
        assert_eq!(
            told,
            format!("[checkstone] The policy changed in this turn: `presets` in `checkstone.toml`. {LATER}")
        );
    }
}

/// A person changed it between two turns: in the log and in `status`, without a word.
#[test]
fn l4_a_change_between_turns_is_in_status() {
    let world = World::new(PYTHON);
    let mut session = due(&world, "claude");
    session.test();
    session.stop("Done.");
    policy(&world, Some("presets = []\n"));
    session.prompt("Again");
    let sentence = "The policy changed since your last prompt: `presets` in `checkstone.toml`. The change takes effect now.";
    assert_eq!(reductions(&world), [("unknown".to_owned(), sentence.to_owned())]);
}

/// The hook was installed in mid-turn, or an older version opened the turn: nobody knows what the policy was.
#[test]
fn l4_a_turn_without_a_recorded_policy_goes_by_todays() {
    let world = World::new("presets = []\n");
    let mut session = due(&world, "claude");
    world.database().execute_batch("DELETE FROM turn_policies").unwrap();
    policy(&world, Some(PYTHON));
    assert_eq!(session.stop("Done.").holds(), RUN_TESTS);
}

#[test]
fn l4_teleclaude_cannot_be_emptied_either() {
    let world = World::new("presets = [\"teleclaude\"]\n[gate]\nmin_turn = \"0s\"\n");
    let mut session = Session::new(&world, "claude");
    session.prompt("Fix add");
    session.edit("calc.py", FIXED);
    policy(&world, Some("presets = []\n"));
    let (held, told) = session.stop("Done.").holds_and_tells();
    insta::assert_snapshot!(held, @"
    [checkstone] Context-aware checkpoint

    Changed: other code (1 file), other files (1 file)

    Required actions:
    1. Check the logs: `instrukt-ai-logs teleclaude --since 2m`
    2. Run targeted tests for changed behavior
    3. Commit only after steps 1-2 are complete

    Observations:
    - Other code was modified but no test run was observed this turn

    Capture anything worth keeping (memories, bugs, ideas). If everything is clean, do not respond.
    ");
    assert_eq!(
        told,
        format!(
            "[checkstone] The policy changed in this turn: `gate.min_turn`, `presets` in `checkstone.toml`. {LATER}"
        )
    );
}

/// What only a person may do is refused to an agent, and told at the next stop.
#[test]
fn l4_an_agent_cannot_switch_off_uninstall_or_trust() {
    let commands: [(&[&str], &str, &str); 5] = [
        (&["session", "--off"], "checkstone session --off --agent AGENT", "switch the gate off"),
        (
            &["session", "--off", "--agent", "claude", "--id", "other"],
            "checkstone session --off --agent AGENT",
            "switch the gate off",
        ),
        (&["uninstall", "--yes"], "checkstone uninstall", "remove its own hooks"),
        (&["trust", "--yes"], "checkstone trust", "give trust"),
        (&["trust", "--revoke"], "checkstone trust --revoke", "withdraw trust"),
    ];
    for agent in AGENTS {
        for (arguments, command, what) in commands {
            let world = World::new(PYTHON);
            let mut session = due(&world, agent);
            let command = command.replace("AGENT", agent);
            let refused = by_agent(&world, agent, arguments).answer();
            assert_eq!(
                refused.to_string(),
                format!(
                    "exit code: 4\n--- stdout\n--- stderr\nerror: an agent cannot {what}: that is your decision\n\
                     hint: run `{command}` yourself, in your own terminal\n"
                )
            );
            let (held, told) = session.stop("Done.").holds_and_tells();
            let sentence = format!("The agent tried to run `{command}`, which was refused.");
            assert_eq!((held.as_str(), told), (RUN_TESTS, format!("[checkstone] {sentence}")), "{agent}");
            assert_eq!(reductions(&world), [("agent".to_owned(), sentence)], "{agent}");
        }
    }
}

/// The environment of a hook is its client's: what an agent sets for its own commands does not reach it.
#[test]
fn l4_the_environment_of_the_agents_commands_is_not_that_of_the_hook() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let mut session = due(&world, agent);
        session.shell("export CHECKSTONE=off; CHECKSTONE=off checkstone status", "", 0);
        by_agent(&world, agent, &["status"]).env("CHECKSTONE", "off").answer();
        assert_eq!(session.stop("Done.").holds(), RUN_TESTS, "{agent}");
    }
}

/// A person may, and `status` says when and who.
#[test]
fn l4_what_a_person_switches_off_is_in_the_log_and_in_status() {
    let world = World::new(PYTHON);
    let mut session = due(&world, "claude");
    let off = ["session", "--off", "--agent", "claude", "--id", "0a1b"];
    assert_eq!(world.checkstone(&off).answer().code, Some(0));
    session.stop("Done.").passes();
    let sentence = "The hooks of claude session 0a1b were switched off (`checkstone session --off`).";
    assert_eq!(reductions(&world), [("person".to_owned(), sentence.to_owned())]);
    insta::assert_snapshot!(redacted(world.log()), @"[time] claude 0a1b switch: The hooks of claude session 0a1b were switched off (`checkstone session --off`).");
    world.checkstone(&["session", "--on", "--agent", "claude", "--id", "0a1b"]).answer();
    assert_eq!(reductions(&world), []);
}

/// A prompt that no hook was called for: `CHECKSTONE=off` in the client's own environment leaves nothing else behind.
#[test]
fn l4_status_sees_sessions_whose_hooks_are_not_called() {
    let world = World::new(PYTHON);
    let mut session = due(&world, "claude");
    session.test();
    session.stop("Done.");
    assert_eq!(reductions(&world), []);
    world.database().execute_batch("UPDATE sessions SET seen_at = seen_at - 3600000").unwrap();
    session.type_prompt("Again");
    let found = reductions(&world);
    assert_eq!(found.len(), 1, "{found:?}");
    insta::assert_snapshot!(redacted(&found[0].1), @"No hook was called for a prompt of claude session 0a1b at [time]: `CHECKSTONE=off` is set in the client's environment, or its hooks are gone.");
}

/// Claude Code's settings with our hooks.
fn registered(world: &World) -> std::path::PathBuf {
    let file = world.home.join(".claude/settings.json");
    let entry = json!([{ "hooks": [{ "type": "command", "command": "/usr/bin/checkstone", "args": ["hook", "claude"] }] }]);
    let hooks = json!({ "hooks": { "UserPromptSubmit": entry, "Stop": entry } });
    world.sandbox.write(&file, hooks.to_string());
    file
}

#[test]
fn l4_a_registration_that_vanished_is_told_at_the_next_event() {
    type Remove = fn(&std::path::Path);
    let removals: [Remove; 3] = [
        |file| fs_err::remove_file(file).unwrap(),
        |file| fs_err::write(file, "{}\n").unwrap(),
        |file| {
            let text = fs_err::read_to_string(file).unwrap();
            fs_err::write(file, text.replacen('{', "{\"disableAllHooks\":true,", 1)).unwrap();
        },
    ];
    for remove in removals {
        let world = World::new(PYTHON);
        let file = registered(&world);
        let mut session = due(&world, "claude");
        assert_eq!(status(&world)["missing_registrations"], json!([]));
        remove(&file);
        let missing = status(&world)["missing_registrations"].clone();
        assert_eq!((&missing[0]["agent"], &missing[0]["file"]), (&json!("claude"), &json!(file)));
        let (_, told) = session.stop("Done.").holds_and_tells();
        insta::allow_duplicates! {
            insta::assert_snapshot!(redacted(told), @"[checkstone] The hooks of Claude Code are no longer registered in `~/.claude/settings.json`, where they were last seen at [time]. `checkstone init` registers them again.");
        }
        session.stop("Done, really.").passes();
        let doctor = world.checkstone(&["doctor", "--agent", "claude", "--json"]).answer();
        let findings: Value = serde_json::from_str(&doctor.stdout).unwrap();
        let of_registration =
            |finding: &&Value| finding["check"] == "registered" && finding["state"] == "problem";
        let findings: Vec<&Value> =
            findings["findings"].as_array().unwrap().iter().filter(of_registration).collect();
        assert!(!findings.is_empty(), "{doctor}");
        registered(&world);
        assert_eq!(status(&world)["missing_registrations"], json!([]));
    }
}

/// Another client's event tells of it, where the client itself calls nobody any more.
#[test]
fn l4_another_client_tells_of_a_registration_that_vanished() {
    let world = World::new(PYTHON);
    let file = registered(&world);
    due(&world, "claude");
    fs_err::remove_file(file).unwrap();
    let mut other = Session::named(&world, "codex", "c0de");
    other.type_prompt("Hello");
    let told = answer(world.hook("codex"), &other.prompt_event("Hello")).notifies();
    insta::assert_snapshot!(redacted(told), @"[checkstone] The hooks of Claude Code are no longer registered in `~/.claude/settings.json`, where they were last seen at [time]. `checkstone init` registers them again.");
}

#[test]
fn l4_a_first_init_of_an_agent_works_and_is_reported() {
    let world = World::new(PYTHON);
    policy(&world, None);
    let mut session = due(&world, "claude");
    let init = by_agent(&world, "claude", &["init", "--agent", "claude", "--yes"]).answer();
    assert_eq!(init.code, Some(0), "{init}");
    let told = session.stop("Done.").notifies();
    insta::assert_snapshot!(redacted(told), @"
    [checkstone] The agent ran `checkstone init`: Claude Code registered in `~/.claude/settings.json`; checkstone.toml written, presets python.
    [checkstone] A policy was added in this turn: `checkstone.toml` is new. It takes effect at the next prompt.
    ");
}

#[test]
fn l4_an_agent_cannot_replace_a_policy_by_init() {
    // The policy was there at the prompt.
    let world = World::new(PYTHON);
    due(&world, "claude");
    policy(&world, None);
    let init = ["init", "--agent", "claude", "--preset", "docs", "--yes"];
    let refused = by_agent(&world, "claude", &init).answer();
    let expected = "exit code: 4\n--- stdout\n--- stderr\n\
        error: an agent cannot give the repository a weaker policy: that is your decision\n\
        hint: run `checkstone init` yourself, in your own terminal\n";
    assert_eq!(refused.to_string(), expected);
    // The user wants presets by detection, and a file of its own would end that.
    let world = World::new(PYTHON);
    policy(&world, None);
    world.write("pyproject.toml", "[project]\nname = \"calc\"\n");
    let file = world.home.join(".config/checkstone/config.toml");
    fs_err::create_dir_all(file.parent().unwrap()).unwrap();
    fs_err::write(&file, "presets = \"auto\"\n").unwrap();
    assert_eq!(by_agent(&world, "claude", &init).answer().to_string(), expected);
    assert_eq!(by_agent(&world, "claude", &["init", "--agent", "claude", "--yes"]).answer().code, Some(0));
}
