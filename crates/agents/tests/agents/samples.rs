//! Every payload that was captured from a real client, as reviewed snapshots, and what callers ask of them.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use agents::{Event, Payload};
use transcript::Agent;

fn folder(agent: Agent) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(agent.name())
}

/// The bytes of one sample.
pub(crate) fn bytes(agent: Agent, name: &str) -> Vec<u8> {
    fs::read(folder(agent).join(name)).unwrap()
}

fn sample(agent: Agent, name: &str) -> Payload {
    Payload::parse(agent, &bytes(agent, name)).unwrap()
}

/// All payloads that a client sent.
pub(crate) fn all(agent: Agent) -> Vec<Payload> {
    names(agent).iter().map(|name| sample(agent, name)).collect()
}

/// The names of the samples of a client, in order.
pub(crate) fn names(agent: Agent) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder(agent))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(names.len() >= 9, "samples are missing");
    names
}

#[test]
fn every_real_payload_is_understood() {
    for agent in Agent::ALL {
        let mut table = String::new();
        for name in names(agent) {
            let payload = sample(agent, &name);
            assert!(payload.session.is_some() && payload.cwd.is_some());
            // Some tell where it is at the stop only, and some have none that says how commands ended.
            let is_told = payload.transcript.is_some() || !agents::host(agent).can.shows_results;
            assert!(is_told || payload.event != Event::Stop, "{name}");
            writeln!(table, "{name}: {payload:#?}\n").unwrap();
        }
        insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(agent.name(), table);
        });
    }
}

/// The turn key is the same at the stop, and at the second stop, as at the prompt.
#[test]
fn the_turn_key_lasts_a_turn() {
    let keys = |names: [&str; 3]| names.map(|name| sample(Agent::Claude, name).turn.unwrap());
    let [prompt, first, second] = keys(["userpromptsubmit.json", "stop-first.json", "stop-after-block.json"]);
    assert!(prompt == first && first == second);
    let [first, second] =
        ["stop-first.json", "stop-after-block.json"].map(|name| sample(Agent::Codex, name).turn.unwrap());
    assert_eq!(first, second);
}

/// H3: Gemini CLI says `false` at a second stop when the agent used a tool in between.
#[test]
fn h3_the_flag_of_a_second_stop_is_not_always_set() {
    for (agent, name, active) in [
        (Agent::Claude, "stop-after-block.json", true),
        (Agent::Codex, "stop-after-block.json", true),
        (Agent::Gemini, "afteragent-after-block-no-tools.json", true),
        (Agent::Gemini, "afteragent-after-block-with-tools.json", false),
    ] {
        assert_eq!(sample(agent, name).stop_hook_active, active, "{name}");
    }
}

/// T4, T5: only a person's prompt opens a turn.
#[test]
fn t4_only_a_persons_prompt_opens_a_turn() {
    for (agent, name, own, opens) in [
        (Agent::Claude, "userpromptsubmit.json", false, true),
        (Agent::Claude, "userpromptsubmit-task-notification.json", false, false),
        (Agent::Codex, "userpromptsubmit.json", false, true),
        (Agent::Gemini, "beforeagent-prompt.json", false, true),
        (Agent::Gemini, "beforeagent-own-text.json", true, false),
        (Agent::Gemini, "beforeagent-after-interruption.json", false, false),
        (Agent::Gemini, "afteragent-first.json", false, false),
    ] {
        let payload = sample(agent, name);
        assert_eq!((payload.is_own_text(), payload.opens_turn()), (own, opens), "{name}");
    }
}

#[test]
fn gemini_context_is_no_part_of_the_prompt() {
    assert_eq!(
        sample(Agent::Gemini, "afteragent-after-block-no-tools.json").prompt.as_deref(),
        Some("Say hi")
    );
}

#[test]
fn an_agent_that_waits_or_plans_is_told_apart() {
    assert_eq!(sample(Agent::Claude, "stop-background-task.json").background_tasks, 1);
    assert_eq!(sample(Agent::Claude, "stop-first.json").background_tasks, 0);
    assert!(sample(Agent::Claude, "stop-plan-mode.json").is_planning());
    assert!(!sample(Agent::Claude, "stop-first.json").is_planning());
}

/// The nameless agent that writes the summary of a compaction is no sub-agent of the turn.
#[test]
fn the_agent_of_a_compaction_is_no_subagent() {
    let pseudo = sample(Agent::Claude, "subagentstop-compaction-pseudo.json");
    assert_eq!(pseudo.event, Event::Other("SubagentStop".to_owned()));
    for agent in [Agent::Claude, Agent::Codex] {
        let real = sample(agent, "subagentstop.json");
        assert_eq!(real.event, Event::SubagentStop);
        assert!(real.subagent.unwrap().transcript.is_some());
    }
}

/// T21: the payload tells when the transcript holds the agent's last words.
#[test]
fn t21_the_payload_tells_when_the_transcript_is_complete() {
    let claude = sample(Agent::Claude, "stop-first.json");
    assert!(claude.transcript_is_complete(Some("All done: add() fixed and the tests pass.\n")));
    assert!(!claude.transcript_is_complete(Some("Tests fail: subtraction instead of addition.")));
    assert!(!claude.transcript_is_complete(Some("")));
    assert!(!claude.transcript_is_complete(None));
    let gemini = sample(Agent::Gemini, "afteragent-after-block-with-tools.json");
    assert!(gemini.transcript_is_complete(Some("Checkpoint recorded. Finished.")));
    assert!(!gemini.transcript_is_complete(Some("All done: add() fixed and the tests pass.")));
    assert!(Payload::new(Agent::Claude, Event::Stop).transcript_is_complete(None));
}

/// A1: 39 % and 40 %; an unknown window, zero or null is no usage. No real stop payload has one.
#[test]
fn a1_the_context_in_use_is_taken_where_a_payload_has_it() {
    let percent = |context: &str| {
        let json = format!(r#"{{"hook_event_name":"Stop","context_window":{context}}}"#);
        let usage = Payload::parse(Agent::Claude, json.as_bytes()).unwrap().usage?;
        Some((usage.tokens, usage.percent.unwrap()))
    };
    let usage = |input, size| {
        format!(
            r#"{{"context_window_size":{size},"current_usage":{{"input_tokens":{input},
            "cache_creation_input_tokens":50,"cache_read_input_tokens":2000,"output_tokens":9}}}}"#
        )
    };
    assert_eq!(percent(&usage("77949", "200000")), Some((79_999, 39)));
    assert_eq!(percent(&usage("77950", "200000")), Some((80_000, 40)));
    for none in [usage("1", "0"), usage("1", "null"), usage("-1", "200000"), "{}".into(), "null".into()] {
        assert_eq!(percent(&none), None, "{none}");
    }
    assert_eq!(percent(&usage("18446744073709551615", "1")), Some((u64::MAX, u64::MAX)));
}
