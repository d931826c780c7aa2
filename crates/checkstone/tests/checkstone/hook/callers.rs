//! L16: hosts that run the hooks which are registered for another client, and one that has hooks in both places.

use std::path::Path;

use agents::host;
use agents::rehearsed_turn::{FILE, RehearsedTurn, Tests};
use jiff::Timestamp;
use serde_json::{Value, json};
use transcript::Agent;

use super::world::{HookAnswer, PYTHON, RUN_TESTS, World, answer};

/// A turn of Qwen Code, told to the hooks that are registered for these clients, one after the other.
fn turn_of_qwen(world: &World, tests: Tests, registered: &[&str]) -> Vec<HookAnswer> {
    let transcript = world.home.join(format!(".qwen/projects/-r/chats/{}.jsonl", tests.session()));
    let turn = || RehearsedTurn {
        agent: Agent::Qwen,
        tests,
        repository: &world.repository,
        transcript: &transcript,
        now: format!("{:.3}", Timestamp::now()),
    };
    let tell = |payload: Value| registered.iter().map(|agent| answer(world.hook(agent), &payload)).collect();
    let told: Vec<HookAnswer> = tell(turn().prompt_payload().unwrap());
    told.iter().for_each(HookAnswer::passes);
    world.write(FILE, &format!("# {}\ndef add(a, b):\n    return a + b\n", tests.session()));
    world.sandbox.write(&transcript, turn().transcript());
    tell(turn().stop_payload().unwrap())
}

/// Its transcript looks like Claude Code's, with no call in it.
#[test]
fn l16_a_known_host_is_treated_as_itself_by_another_clients_hook() {
    let world = World::new(PYTHON);
    let untested = turn_of_qwen(&world, Tests::NeverRan, &["claude"]);
    assert_eq!(untested.iter().map(HookAnswer::holds).collect::<Vec<_>>(), [RUN_TESTS]);
    let tested = turn_of_qwen(&world, Tests::Passed, &["claude"]);
    assert!(!tested.iter().any(HookAnswer::is_hold));
    let agents: Vec<String> = {
        let database = world.database();
        let mut statement = database.prepare("SELECT DISTINCT agent FROM sessions").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(agents, ["qwen"]);
}

#[test]
fn l16_a_stop_that_comes_by_two_registrations_is_held_once() {
    let world = World::new(PYTHON);
    let answers = turn_of_qwen(&world, Tests::NeverRan, &["qwen", "claude"]);
    assert_eq!(answers.iter().map(HookAnswer::is_hold).collect::<Vec<_>>(), [true, false]);
    assert_eq!(world.holds(), [1]);
}

/// Hosts that were never run here, and whose transcripts do not show how commands ended: registered for them, the hook holds for what
/// changed, in their own contract; run by another client's registration, it passes.
fn without_results() -> impl Iterator<Item = Agent> {
    Agent::ALL.into_iter().filter(|agent| !host(*agent).can.shows_results)
}

fn rehearsed<'a>(world: &'a World, agent: Agent, transcript: &'a Path) -> RehearsedTurn<'a> {
    RehearsedTurn {
        agent,
        tests: Tests::NeverRan,
        repository: &world.repository,
        transcript,
        now: format!("{:.3}", Timestamp::now()),
    }
}

#[test]
fn l16_a_host_whose_runs_are_not_seen_passes_by_another_clients_hook_and_the_person_is_told_once() {
    for agent in without_results() {
        let world = World::new(PYTHON);
        let transcript = world.home.join("x.json");
        let turn = rehearsed(&world, agent, &transcript);
        answer(world.hook("claude"), &turn.prompt_payload().unwrap()).passes();
        world.write(FILE, "def add(a, b):\n    return a + b\n");
        let stop = answer(world.hook("claude"), &turn.stop_payload().unwrap());
        let (title, name) = (host(agent).title, agent.name());
        let expected = format!(
            "[checkstone] {title} runs the hooks that are registered for Claude Code. Nothing is checked there: its transcripts do not \
             show how commands ended. `checkstone init --agent {name}` makes checkstone hold its agent if code changed."
        );
        match host(agent).answer.notify {
            Some(_) => assert_eq!(stop.notifies(), expected),
            // It cannot be told; whoever looks can.
            None => stop.passes(),
        }
        let noticed: String =
            world.database().query_row("SELECT text FROM notices", [], |row| row.get(0)).unwrap();
        assert!(expected.ends_with(&noticed), "{noticed}");
        answer(world.hook("claude"), &turn.stop_payload().unwrap()).passes();
    }
}

#[test]
fn a_host_whose_runs_are_not_seen_is_held_for_what_changed_in_its_own_contract() {
    for agent in without_results() {
        let world = World::new(PYTHON);
        let transcript = world.home.join("x.json");
        let turn = rehearsed(&world, agent, &transcript);
        answer(world.hook(agent.name()), &turn.prompt_payload().unwrap()).passes();
        world.write(FILE, "def add(a, b):\n    return a + b\n");
        world.commit("work");
        let stop = || answer(world.hook(agent.name()), &turn.stop_payload().unwrap());
        let held = || serde_json::from_str::<Value>(&stop().0.stdout).unwrap_or_default();
        let reasons = [held(), held()].map(|held| (host(agent).answer.held)(&held).map(str::to_owned));
        assert_eq!(reasons, [Some(RUN_TESTS.to_owned()), None], "{}", agent.name());
        assert_eq!(world.holds(), [1], "{}", agent.name());
    }
}

/// As Copilot CLI 1.0.102 calls a hook of Claude Code's settings: its prompt is known by a variable alone, its stop by where the transcript
/// lies, and that is in its own format.
#[test]
fn l16_copilot_cli_is_treated_as_itself_by_the_hook_of_claude_codes_settings() {
    let world = World::new(PYTHON);
    for (tests, is_held) in [(Tests::NeverRan, true), (Tests::Passed, false)] {
        let transcript = world.home.join(format!(".copilot/session-state/{}/events.jsonl", tests.session()));
        let turn = || RehearsedTurn {
            agent: Agent::Copilot,
            tests,
            repository: &world.repository,
            transcript: &transcript,
            now: format!("{:.3}", Timestamp::now()),
        };
        let tell = |payload: &Value| {
            let mut hook = world.hook("claude");
            hook.env("COPILOT_CLI", "1");
            answer(hook, payload)
        };
        let mut prompt = turn().prompt_payload().unwrap();
        prompt.as_object_mut().unwrap().remove("transcript_path");
        tell(&prompt).passes();
        world.write(FILE, &format!("# {}\ndef add(a, b):\n    return a + b\n", tests.session()));
        let stop = turn();
        world.sandbox.write(&transcript, stop.transcript());
        let answered = tell(&stop.stop_payload().unwrap());
        assert_eq!(answered.is_hold(), is_held);
    }
}

/// A host that nobody knows runs the hook that is registered for another one: it passes, and the person is told once.
#[test]
fn l16_a_transcript_of_an_unknown_host_passes_and_the_person_is_told_once() {
    let sample = include_str!("../../../../transcript/tests/samples-of-unknown-hosts/pi-main.jsonl");
    for agent in ["claude", "droid"] {
        let world = World::new(PYTHON);
        let transcript = world.home.join("x.jsonl");
        world.sandbox.write(&transcript, sample);
        let payload = |event: &str| {
            json!({
                "hook_event_name": event, "session_id": "1", "prompt_id": "p", "prompt": "Fix add", "cwd": world.repository,
                "transcript_path": transcript, "stop_hook_active": false,
            })
        };
        answer(world.hook(agent), &payload("UserPromptSubmit")).passes();
        world.write(FILE, "def add(a, b):\n    return a + b\n");
        let stop = || answer(world.hook(agent), &payload("Stop"));
        assert_eq!(
            stop().notifies(),
            "[checkstone] Nothing is checked: the transcript's format is unknown.",
            "{agent}"
        );
        stop().passes();
    }
}

/// A transcript that is missing says nothing about who called: the steps are those of the changed files (SC14).
#[test]
fn a_missing_transcript_of_the_registered_host_still_gives_the_steps() {
    let world = World::new(PYTHON);
    let payload = |event: &str| {
        json!({
            "hook_event_name": event, "session_id": "1", "prompt_id": "p", "prompt": "Fix add", "cwd": world.repository,
            "transcript_path": world.home.join(".claude/projects/-r/1.jsonl"), "stop_hook_active": false,
        })
    };
    answer(world.hook("claude"), &payload("UserPromptSubmit")).passes();
    world.write(FILE, "def add(a, b):\n    return a + b\n");
    assert_eq!(answer(world.hook("claude"), &payload("Stop")).holds(), RUN_TESTS);
}
