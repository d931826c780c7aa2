//! A walk through a whole transcript gives each turn as the reader gave it at its stop: how a file is read does not change
//! what is read.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};
use transcript::{Agent, Extent, Options, Reading, WalkedTurn};

use crate::host::{claude, codex, gemini};
use crate::properties::transcripts;
use crate::write::{MARK, lines};

fn options(agent: Option<Agent>) -> Options {
    Options { agent, count_lines_up_to: u64::MAX, mark: MARK, ..Options::default() }
}

fn walk(bytes: &[u8], agent: Option<Agent>) -> Vec<WalkedTurn> {
    let walk = transcript::walk_bytes(bytes, &options(agent));
    walk.map(|walk| walk.collect()).unwrap_or_default()
}

fn prompts(records: &[Value], agent: Agent) -> Vec<String> {
    let turns = walk(&lines(records), Some(agent));
    turns.into_iter().map(|turn| turn.reading.turn.map(|turn| turn.prompt).unwrap_or_default()).collect()
}

/// Each turn against the file as it was at its stop, and the last one against the whole file.
fn check(bytes: &[u8], agent: Option<Agent>, name: &str) -> usize {
    let turns = walk(bytes, agent);
    for turn in &turns {
        let end = usize::try_from(turn.end).unwrap();
        let then = transcript::read_bytes(&bytes[..end], &options(turn.reading.agent));
        assert_eq!(turn.reading, then, "{name} up to {end}");
    }
    let whole = transcript::read_bytes(bytes, &options(agent));
    let last = turns.iter().rev().find(|turn| turn.reading.coverage.extent != Extent::Unavailable);
    // The turn that is in force again after going back was walked before.
    let rewind =
        last_place(bytes, b"$rewindTo").map(|place| bytes[..place].split(|byte| *byte == b'\n').count());
    let line = whole.turn.as_ref().and_then(|turn| turn.line).and_then(|line| usize::try_from(line).ok());
    let rewound = line < rewind;
    if let Some(last) = last.filter(|last| !rewound && !last.is_marked && last.end == bytes.len() as u64) {
        assert_eq!(last.reading, whole, "{name}");
    } else if line.is_some() && !rewound {
        assert!(
            turns.last().is_some_and(|last| last.is_marked || is_poor(&last.reading)),
            "{name}: {whole:#?}"
        );
    }
    turns.len()
}

fn is_poor(reading: &Reading) -> bool {
    reading.coverage.extent == Extent::Unavailable
}

fn last_place(bytes: &[u8], text: &[u8]) -> Option<usize> {
    bytes.windows(text.len()).rposition(|window| window == text)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_turn_is_what_the_reader_gave_at_its_stop((agent, records) in transcripts()) {
        check(&lines(&records), Some(agent), agent.name());
    }

    /// The same where prompts, results and messages typed meanwhile name their turns, as newer clients write them.
    #[test]
    fn turns_that_are_named_are_told_apart(records in named()) {
        check(&lines(&records), Some(Agent::Claude), "claude");
    }

    #[test]
    fn any_bytes_are_walked(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for agent in Agent::ALL {
            let _ = walk(&bytes, Some(agent));
        }
        let _ = walk(&bytes, None);
    }
}

/// Records of Claude Code with prompt ids, which rise from turn to turn, as a client has them.
fn named() -> impl Strategy<Value = Vec<Value>> {
    let slash = "<command-message>x</command-message><command-name>/x</command-name>";
    let with_more = |text: &str, more: Value| claude::user(json!(text), more);
    let record = prop_oneof![
        Just(claude::prompt("do")),
        Just(with_more(slash, json!({}))),
        Just(claude::user(json!([{ "type": "text", "text": "body" }]), json!({ "isMeta": true }))),
        Just(with_more("<bash-input>ls</bash-input>", json!({}))),
        Just(with_more("<bash-stdout>x</bash-stdout>", json!({ "turnOrigin": { "kind": "bash" } }))),
        Just(json!({ "type": "attachment", "attachment": { "type": "queued_command", "prompt": "and" },
            "uuid": "u", "timestamp": "2026-01-01T10:00:00.000Z" })),
        Just(claude::result("a", "x", false)),
        Just(claude::bash("a", "ls")),
        Just(claude::said("done")),
        Just(json!({ "type": "mode", "mode": "normal", "sessionId": "s" })),
    ];
    prop::collection::vec((record, any::<bool>()), 1..30).prop_map(|drawn| {
        let mut turn = 0;
        let mut records = Vec::new();
        for (mut record, is_next) in drawn {
            turn +=
                u32::from(is_next && record["type"] == "user" && !record.to_string().contains("tool_result"));
            if record["type"] != "assistant" {
                record["promptId"] = json!(turn.to_string());
            }
            records.push(record);
        }
        records
    })
}

#[test]
fn every_real_sample_is_walked_as_it_was_read() {
    let mut turns = 0;
    for path in crate::samples::all() {
        let name = path.display().to_string();
        let is_document = path.extension().is_some_and(|extension| extension == "json");
        if !is_document {
            turns += check(&fs::read(&path).unwrap(), None, &name);
        }
        // With the files of sub-agents beside it.
        let last = transcript::walk(&path, &options(None)).unwrap().last();
        let whole = transcript::read(&path, &options(None));
        // A turn that was held is walked up to the hold.
        let is_held = last.as_ref().is_some_and(|turn| turn.is_marked);
        if !is_held && last_place(&fs::read(&path).unwrap(), b"$rewindTo").is_none() {
            assert_eq!(last.map(|turn| turn.reading), Some(whole), "{name}");
        }
    }
    assert!(turns > 80, "{turns} turns in the samples");
}

/// T4: the first stop is where our hold came; what was done because of it is not what the gate saw.
#[test]
fn t4_a_turn_that_was_held_is_given_as_it_stood_before_the_hold() {
    let feedback = "Stop hook feedback:\n[checkstone] Context-aware checkpoint\n1. Run the tests";
    let held = claude::user(json!(feedback), json!({ "isMeta": true }));
    let records = [
        claude::prompt("fix it"),
        claude::bash("a", "sed -i s/a/b/ x.py"),
        claude::result("a", "", false),
        claude::said("done"),
        held,
        claude::bash("b", "pytest"),
        claude::result("b", "1 passed", false),
        claude::said("checkstone: cannot restart: no daemon here"),
    ];
    let turns = walk(&lines(&records), Some(Agent::Claude));
    let [turn] = turns.as_slice() else { panic!("{turns:#?}") };
    assert!(turn.is_marked);
    assert_eq!(turn.reading.calls.len(), 1);
    assert_eq!(turn.said_after_mark, ["checkstone: cannot restart: no daemon here"]);
    assert!(check(&lines(&records), Some(Agent::Claude), "held") == 1);
}

/// T4 in the words of the others; another tool's hold is none of ours.
#[test]
fn t4_a_hold_is_known_in_every_clients_words() {
    let ours = "<hook_prompt hook_run_id=\"stop:1:/x\">[checkstone] Hold</hook_prompt>";
    for (text, is_marked) in [(ours, true), ("<hook_prompt hook_run_id=\"1\">Run lint</hook_prompt>", false)]
    {
        let records = [codex::prompt("fix it"), codex::message(text), codex::prompt("next")];
        let turns = walk(&lines(&records), Some(Agent::Codex));
        assert_eq!(turns.iter().map(|turn| turn.is_marked).collect::<Vec<_>>(), [is_marked, false], "{text}");
    }
    let records = [gemini::header(), gemini::user("a", "fix it"), gemini::user("b", "[checkstone] Hold")];
    let turns = walk(&lines(&records), Some(Agent::Gemini));
    assert_eq!(turns.iter().map(|turn| turn.is_marked).collect::<Vec<_>>(), [true]);
}

/// T12: going back does not walk a turn twice, and does not lose the one that was undone: it had its stop.
#[test]
fn t12_a_rewound_turn_was_a_turn() {
    let records = [
        gemini::header(),
        gemini::user("a", "one"),
        gemini::model("b", "done", json!([])),
        gemini::user("c", "two"),
        gemini::model("d", "done", json!([])),
        json!({ "$rewindTo": "c" }),
        gemini::user("e", "three"),
        gemini::model("f", "done", json!([])),
    ];
    assert_eq!(prompts(&records, Agent::Gemini), ["one", "two", "three"]);
    assert_eq!(prompts(&records[..6], Agent::Gemini), ["one", "two"]);
}

#[test]
fn work_before_the_first_prompt_is_a_turn_without_one() {
    let records = [claude::said("going on"), claude::bash("a", "ls"), claude::prompt("next")];
    assert_eq!(prompts(&records, Agent::Claude), ["", "next"]);
    assert_eq!(
        prompts(&[codex::event(json!({ "type": "task_started" })), codex::prompt("x")], Agent::Codex),
        ["x"]
    );
}

/// T9: a turn larger than the bound is told as truncated, and the turns around it are whole.
#[test]
fn t9_a_turn_beyond_the_bound_is_truncated() {
    let long = "x".repeat(20_000);
    let mut records = vec![claude::prompt("one"), claude::said("done"), claude::prompt("two")];
    for place in 0..300 {
        records.push(claude::bash(&format!("c{place}"), &format!("echo {long}")));
    }
    records.extend([claude::prompt("three"), claude::said("done")]);
    let bounded = Options { max_bytes: 1024 * 1024, ..options(Some(Agent::Claude)) };
    let bytes = lines(&records);
    let turns: Vec<WalkedTurn> = transcript::walk_bytes(&bytes, &bounded).unwrap().collect();
    let extents: Vec<Extent> = turns.iter().map(|turn| turn.reading.coverage.extent).collect();
    assert_eq!(extents, [Extent::Complete, Extent::Truncated, Extent::Complete]);
    let then = transcript::read_bytes(&bytes[..usize::try_from(turns[1].end).unwrap()], &bounded);
    assert_eq!(turns[1].reading.calls, then.calls);
    assert_eq!(turns[1].reading.coverage.reason, then.coverage.reason);
}

/// A turn that the person interrupted is told as such, in every client's words, unless the agent went on.
#[test]
fn interrupted_turns_are_told() {
    for (path, interrupted) in [
        ("claude/2.1.325-tui-bang-interrupt.jsonl", true),
        ("codex/0.166.0-tui.jsonl", true),
        ("gemini/0.61.0-tui.jsonl", true),
        ("claude/2.1.325-main.jsonl", false),
    ] {
        let path = crate::samples::folder().join(path);
        let turns: Vec<WalkedTurn> = transcript::walk(Path::new(&path), &options(None)).unwrap().collect();
        assert_eq!(turns.iter().any(|turn| turn.reading.interrupted), interrupted, "{path:?}");
    }
}
