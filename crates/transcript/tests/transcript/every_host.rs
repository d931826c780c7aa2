//! The cases that make sense for every host whose transcripts are read, from the records of each; and which cases of CASES are tested
//! where, or why they make no sense for a host.

use std::fs;
use std::path::Path;

use transcript::{Agent, Extent, Options, Outcome, Reading};

use crate::host::{CommandEnd, command_lines, picture_lines, prompt_lines, read_hosts, said_line};
use crate::write::{lines, prompt_of, read};

/// Those of this file, and T4 in `cases.rs`.
const OF_EVERY_HOST: &[u32] = &[2, 4, 7, 8, 9, 10, 22];

/// The hosts that `cases.rs` was written for.
const OF_ALL_CASES: &[&str] = &["claude", "gemini", "codex"];

/// A case, the hosts for which it makes no sense, and why.
const WITHOUT: &[(u32, &[&str], &str)] = &[
    (3, &["qwen", "opencode", "copilot"], "results and texts are never in one message"),
    (3, &["cursor"], "results are not recorded"),
    (6, &["cursor"], "what sub-agents do is not read: see LIMITS"),
    (11, &["qwen", "opencode", "copilot", "droid", "cursor"], "an old file of Gemini CLI"),
    (12, &["droid"], "a conversation that is rewound goes on in another session"),
    (12, &["cursor"], "nothing is known of records that are taken back"),
    (13, &["cursor"], "results are not recorded"),
    (14, &["cursor"], "results are not recorded"),
    (15, &["qwen", "opencode", "copilot", "droid", "cursor"], "words of Codex CLI"),
    (16, &["qwen", "opencode", "copilot", "droid", "cursor"], "a command is always one text"),
    (18, &["qwen", "opencode", "copilot"], "what the client says in the person's name is T5 there"),
    (20, &["droid", "cursor"], "tokens are not recorded"),
    (21, &["opencode", "droid"], "everything is written when the hook is called"),
    (21, &["cursor"], "nothing tells when everything is written, and nothing that counts is missing"),
];

fn source(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcript");
    fs::read_to_string(folder.join(name)).unwrap()
}

/// Whether a test carries the name of the case.
fn has_test(source: &str, case: u32) -> bool {
    let is_case = |word: &&str| word.starts_with('t') && word[1..].parse::<u32>().is_ok();
    let names = source.lines().filter_map(|line| line.strip_prefix("fn "));
    names.into_iter().any(|name| name.split('_').take_while(is_case).any(|word| word == format!("t{case}")))
}

#[test]
fn every_case_has_its_test_for_every_host_or_a_reason() {
    let all = source("cases.rs") + &source("bad_input.rs");
    for agent in read_hosts() {
        let own = source(&format!("host/{}.rs", agent.name()));
        for case in 1..=22 {
            let is_tested = OF_EVERY_HOST.contains(&case)
                || has_test(&own, case)
                || (OF_ALL_CASES.contains(&agent.name()) && has_test(&all, case));
            let reason =
                WITHOUT.iter().find(|(number, hosts, _)| *number == case && hosts.contains(&agent.name()));
            assert_ne!(is_tested, reason.is_some(), "T{case} of {}: {reason:?}", agent.name());
        }
    }
}

/// A turn in which one command was run.
fn turn(agent: Agent, output: &str, exit_code: i32) -> Vec<serde_json::Value> {
    let mut records = prompt_lines(agent, 1, "go");
    records.extend(command_lines(agent, "a", "make test", CommandEnd { output, exit_code }));
    records
}

/// Hosts that do not write results down show calls that have not ended.
fn writes_results(agent: Agent) -> bool {
    read(agent, &turn(agent, "x", 0)).calls[0].outcome != Outcome::Unknown
}

fn only_call(reading: &Reading) -> (Option<&str>, Outcome, Option<i32>) {
    assert_eq!(reading.calls.len(), 1, "{reading:#?}");
    let call = &reading.calls[0];
    (call.command.as_deref(), call.outcome, call.exit_code)
}

/// T2, T13: results are no prompts, and tell how the command ended.
#[test]
fn t2_a_result_continues_the_turn() {
    for agent in read_hosts() {
        let reading = read(agent, &turn(agent, "1 failed", 3));
        assert_eq!(prompt_of(&reading), Some("go"), "{agent:?}");
        let (command, outcome, exit_code) = only_call(&reading);
        assert_eq!(command, Some("make test"), "{agent:?}");
        let expected =
            if writes_results(agent) { (Outcome::Error, Some(3)) } else { (Outcome::Unknown, None) };
        assert_eq!((outcome, exit_code), expected, "{agent:?}");
        assert_eq!(reading.coverage.understood, reading.coverage.records, "{agent:?}");
    }
}

/// T7: lines after the last words mean nothing, known or not.
#[test]
fn t7_the_last_line_means_nothing() {
    for agent in read_hosts() {
        let mut records = turn(agent, "1 passed", 0);
        records.push(said_line(agent, "done"));
        records.push(serde_json::json!({ "type": "unheard_of" }));
        let reading = read(agent, &records);
        assert_eq!(reading.last_assistant.as_deref(), Some("done"), "{agent:?}");
        assert_eq!(reading.coverage.records - reading.coverage.understood, 1, "{agent:?}");
    }
}

/// T8: a line still being written, blank lines, bytes that are no UTF-8.
#[test]
fn t8_torn_blank_and_broken_lines() {
    for agent in read_hosts() {
        let mut bytes = lines(&turn(agent, "BYTES", 0));
        let broken = bytes.windows(5).position(|window| window == b"BYTES");
        if let Some(at) = broken {
            bytes.splice(at..at + 5, *b"caf\xe9!");
        }
        bytes.extend_from_slice(b"\n   \n");
        let torn = lines(&[said_line(agent, "still being written")]);
        bytes.extend_from_slice(&torn[..torn.len() / 2]);
        let reading = transcript::read_bytes(&bytes, &Options { agent: Some(agent), ..Options::default() });
        assert_eq!((prompt_of(&reading), reading.calls.len()), (Some("go"), 1), "{agent:?}");
        assert_eq!(reading.coverage.extent, Extent::Complete, "{agent:?}");
        assert_eq!(reading.coverage.records - reading.coverage.understood, 1, "{agent:?}");
        assert_eq!(broken.is_some(), writes_results(agent), "{agent:?}");
    }
}

/// T8: a picture of megabytes beside a prompt, in base64, neither hides it nor stays in memory.
#[test]
fn t8_a_picture_beside_a_prompt() {
    let picture = "QUJD".repeat(500_000);
    for agent in read_hosts() {
        let mut records = picture_lines(agent, "what is this?", &picture);
        assert!(lines(&records).len() > picture.len(), "{agent:?}");
        records.extend(command_lines(agent, "a", "ls", CommandEnd { output: "x", exit_code: 0 }));
        let reading = read(agent, &records);
        let prompt = prompt_of(&reading).unwrap_or_default();
        assert!(prompt.ends_with("what is this?") && prompt.len() < 100, "{agent:?}: {prompt:.200}");
        assert_eq!(reading.calls.len(), 1, "{agent:?}");
        assert_eq!(reading.coverage.understood, reading.coverage.records, "{agent:?}");
    }
}

/// T9: the turn began before the bytes that may be read.
#[test]
fn t9_a_turn_larger_than_the_bound_is_truncated() {
    for agent in read_hosts() {
        let mut records = prompt_lines(agent, 1, "go");
        for number in 0..100 {
            let end = CommandEnd { output: "x", exit_code: 0 };
            records.extend(command_lines(agent, &format!("c{number}"), "ls", end));
        }
        let bytes = lines(&records);
        let part = Options { agent: Some(agent), max_bytes: bytes.len() as u64 / 2, ..Options::default() };
        let reading = transcript::read_bytes(&bytes, &part);
        assert_eq!((prompt_of(&reading), reading.coverage.extent), (None, Extent::Truncated), "{agent:?}");
        let whole = Options { agent: Some(agent), ..Options::default() };
        assert_eq!(transcript::read_bytes(&bytes, &whole).calls.len(), 100, "{agent:?}");
    }
}

/// T10: nothing, and a file that is not there, is unavailable and no idle agent.
#[test]
fn t10_nothing_is_unavailable() {
    for agent in read_hosts() {
        let options = Options { agent: Some(agent), ..Options::default() };
        for reading in [
            transcript::read_bytes(b"", &options),
            transcript::read(Path::new("/nowhere/session.jsonl"), &options),
        ] {
            assert_eq!(
                (reading.coverage.extent, prompt_of(&reading)),
                (Extent::Unavailable, None),
                "{agent:?}"
            );
        }
    }
}

/// T22: results can have megabytes; a snippet stays.
#[test]
fn t22_results_are_kept_as_snippets() {
    let output = format!("HEAD {} TAIL", "x".repeat(5_000_000));
    for agent in read_hosts() {
        let reading = read(agent, &turn(agent, &output, 0));
        let snippet = reading.calls[0].snippet.as_deref().unwrap_or_default();
        assert!(snippet.chars().count() <= 500, "{agent:?}");
        assert_eq!(snippet.starts_with("HEAD xx"), writes_results(agent), "{agent:?}: {snippet}");
    }
}
