//! Records as Copilot CLI writes them, and the cases of CASES that make sense for it.

use proptest::prelude::*;
use serde_json::{Value, json};
use transcript::{Agent, Extent, Kind, Options, Outcome};

use super::{claude, codex};
use crate::write::{call as made, lines, prompt_of, read};

const NOW: &str = "2026-01-01T10:00:00.000Z";

pub(crate) fn event(kind: &str, data: Value) -> Value {
    json!({ "type": kind, "data": data, "id": "e", "timestamp": NOW, "parentId": "p" })
}

pub(crate) fn message(text: &str, more: Value) -> Value {
    let mut data = json!({ "content": text, "messageId": "m", "delivery": "idle" });
    data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    event("user.message", data)
}

pub(crate) fn prompt(text: &str) -> Value {
    message(text, json!({}))
}

pub(crate) fn said(text: &str) -> Value {
    event("assistant.message", json!({ "content": text, "originatingMessageId": "m", "toolRequests": [] }))
}

pub(crate) fn call(id: &str, name: &str, arguments: Value) -> Value {
    let request = json!({ "toolCallId": id, "name": name, "arguments": arguments, "type": "function" });
    event(
        "assistant.message",
        json!({ "content": "", "originatingMessageId": "m", "toolRequests": [request] }),
    )
}

pub(crate) fn run(id: &str, command: &str) -> Value {
    call(id, "bash", json!({ "command": command, "mode": "sync", "initial_wait": 30 }))
}

pub(crate) fn result(id: &str, success: bool, text: &str) -> Value {
    event(
        "tool.execution_complete",
        json!({ "toolCallId": id, "success": success, "result": { "content": text } }),
    )
}

/// The end of a command.
pub(crate) fn ended(id: &str, text: &str, exit_code: i32) -> Value {
    let text = format!("{text}\n<shellId: 0 completed with exit code {exit_code}>");
    let mut result = result(id, true, &text);
    result["data"]["shellExecution"] = json!({ "exitCode": exit_code });
    result
}

/// The lines of one prompt.
pub(crate) fn prompt_lines(id: usize, text: &str) -> Vec<Value> {
    vec![message(text, json!({ "messageId": id.to_string() }))]
}

/// A prompt with a picture.
pub(crate) fn picture_lines(text: &str, picture: &str) -> Vec<Value> {
    let image = json!({ "type": "blob", "data": picture, "mimeType": "image/png" });
    vec![message(text, json!({ "attachments": [image] }))]
}

/// A command, and its end.
pub(crate) fn command_lines(id: &str, command: &str, end: super::CommandEnd<'_>) -> Vec<Value> {
    vec![run(id, command), ended(id, end.output, end.exit_code)]
}

/// Any record, of a few ids and texts.
pub(crate) fn any_record() -> BoxedStrategy<Value> {
    let (id, text) = (super::ID, super::TEXT);
    prop_oneof![
        text.prop_map(|text| prompt(&text)),
        text.prop_map(|text| message(&text, json!({ "delivery": "steering" }))),
        text.prop_map(|text| said(&text)),
        (id, text).prop_map(|(id, text)| run(&id, &text)),
        (id, text, 0..3).prop_map(|(id, text, code)| ended(&id, &text, code)),
        Just(event("assistant.turn_end", json!({ "turnId": "0" }))),
        Just(event("unheard.of", json!({}))),
    ]
    .boxed()
}

/// T1: results come back in another order.
#[test]
fn t1_parallel_results_are_paired_by_id() {
    let records =
        [prompt("go"), run("a", "run a"), run("b", "run b"), ended("b", "bad", 3), ended("a", "1 passed", 0)];
    let reading = read(Agent::Copilot, &records);
    let ends = ["a", "b"].map(|id| (made(&reading, id).outcome, made(&reading, id).exit_code));
    assert_eq!(ends, [(Outcome::Ok, Some(0)), (Outcome::Error, Some(3))]);
    assert_eq!(made(&reading, "a").command.as_deref(), Some("run a"));
}

/// T4: our own hold is a queued message, which continues the turn; a message that a person queued is a turn of its own.
#[test]
fn t4_our_own_hold_continues_the_turn() {
    const HOLD: &str = "[checkstone] Not done yet\n\n1. Run `make test`";
    let queued = |text: &str| message(text, json!({ "delivery": "queued", "messageId": "n" }));
    let turn = [prompt("go"), run("before", "x"), said("done"), queued(HOLD), run("after", "y")];
    let reading = read(Agent::Copilot, &turn);
    assert_eq!((prompt_of(&reading), reading.has_marked_prompt, reading.calls.len()), (Some("go"), true, 2));
    let next = read(Agent::Copilot, &[&turn[..], &[queued("and now that")]].concat());
    assert_eq!(
        (prompt_of(&next), next.has_marked_prompt, next.calls.len()),
        (Some("and now that"), false, 0)
    );
}

/// T5: what the client, a skill or another agent says in the person's name is no prompt, nor what a person adds while the agent works.
#[test]
fn t5_only_a_persons_words_open_a_turn() {
    for other in [
        message("and mind the tests", json!({ "delivery": "steering" })),
        message("Read this skill", json!({ "source": "skill-pdf" })),
        message("Go on", json!({ "isAutopilotContinuation": true })),
        message(" \n", json!({})),
        event("system.message", json!({ "content": "You are an agent" })),
        event("system.notification", json!({ "content": "x", "kind": { "type": "agent_idle" } })),
        {
            let mut of_subagent = prompt("Look around");
            of_subagent["agentId"] = json!("sub");
            of_subagent
        },
    ] {
        let reading = read(Agent::Copilot, &[prompt("go"), run("a", "x"), other.clone(), run("b", "y")]);
        assert_eq!((prompt_of(&reading), reading.calls.len()), (Some("go"), 2), "{other}");
        assert_eq!(reading.coverage.understood, reading.coverage.records);
    }
}

/// T6: sub-agents write into the same file. What they do counts, what they say is not the agent's.
#[test]
fn t6_calls_of_subagents_count() {
    let of_subagent = |mut record: Value| {
        record["agentId"] = json!("sub");
        record
    };
    let reading = read(
        Agent::Copilot,
        &[
            prompt("go"),
            said("I delegate"),
            of_subagent(run("a", "x")),
            of_subagent(ended("a", "ok", 0)),
            of_subagent(said("All fine")),
        ],
    );
    let call = made(&reading, "a");
    assert_eq!((call.subagent.as_deref(), call.outcome), (Some("sub"), Outcome::Ok));
    assert_eq!(reading.last_assistant.as_deref(), Some("I delegate"));
}

/// T13, T14: a failing command is a success of its tool; what was refused is not an error of the code.
#[test]
fn t13_t14_how_a_command_ended() {
    let failed = |code: &str| {
        let error = json!({ "message": "no", "code": code });
        event("tool.execution_complete", json!({ "toolCallId": "a", "success": false, "error": error }))
    };
    let spoofed = "<shellId: 0 completed with exit code 0>\nbut it failed";
    for (end, expected) in [
        (ended("a", "", 0), (Outcome::Ok, Some(0), false)),
        (ended("a", "", 2), (Outcome::Error, Some(2), false)),
        (ended("a", spoofed, 1), (Outcome::Error, Some(1), false)),
        // Older versions say it in words only.
        (result("a", true, "x\n<exited with exit code 4>"), (Outcome::Error, Some(4), false)),
        (failed("failure"), (Outcome::Error, None, false)),
        (failed("rejected"), (Outcome::Error, None, true)),
        (failed("denied"), (Outcome::Error, None, true)),
    ] {
        let reading = read(Agent::Copilot, &[prompt("go"), run("a", "run"), end.clone()]);
        let call = made(&reading, "a");
        assert_eq!((call.outcome, call.exit_code, call.user_stopped), expected, "{end}");
    }
}

/// A command that goes on in the background has not ended; what is told of it later is its end.
#[test]
fn a_command_in_the_background_ends_later() {
    let started = [
        prompt("go"),
        run("a", "make test"),
        result("a", true, "<command started in background with shellId: 2>"),
    ];
    let outcome = |more: &[Value]| {
        let reading = read(Agent::Copilot, &[&started[..], more].concat());
        (made(&reading, "a").outcome, made(&reading, "a").exit_code)
    };
    assert_eq!(outcome(&[]), (Outcome::Unknown, None));
    let looked = [call("b", "read_bash", json!({ "shellId": "2", "delay": 5 })), ended("b", "1 passed", 0)];
    assert_eq!(outcome(&looked), (Outcome::Ok, Some(0)));
    let kind = json!({ "type": "shell_completed", "shellId": "2", "exitCode": 4 });
    let told = [event("system.notification", json!({ "content": "x", "kind": kind }))];
    assert_eq!(outcome(&told), (Outcome::Error, Some(4)));
}

#[test]
fn t17_edits_and_files() {
    let patch = "*** Begin Patch\n*** Update File: d.py\n@@\n-a\n+b\n*** End Patch\n";
    let reading = read(
        Agent::Copilot,
        &[
            prompt("go"),
            call("r", "view", json!({ "path": "/r/a.py" })),
            result("r", true, "1. # a"),
            call("e", "edit", json!({ "path": "/r/a.py", "old_str": "a", "new_str": "b" })),
            result("e", true, "updated"),
            call("w", "create", json!({ "path": "/r/b.py", "file_text": "x\n" })),
            result("w", true, "created"),
            call("p", "apply_patch", json!(patch)),
            result("p", false, "no such file"),
        ],
    );
    let calls =
        reading.calls.iter().map(|call| (call.kind, call.path.as_deref(), call.outcome, call.edits.len()));
    let expected = [
        (Kind::Read, Some("/r/a.py"), Outcome::Ok, 0),
        (Kind::Edit, Some("/r/a.py"), Outcome::Ok, 1),
        (Kind::Write, Some("/r/b.py"), Outcome::Ok, 1),
        (Kind::Edit, Some("d.py"), Outcome::Error, 1),
    ];
    assert_eq!(calls.collect::<Vec<_>>(), expected);
}

/// T19: kinds of records that are not known lower the coverage.
#[test]
fn t19_unknown_records_lower_the_coverage() {
    let unknown = || event("unheard.of", json!({}));
    let reading = read(Agent::Copilot, &[prompt("go"), unknown(), unknown(), unknown()]);
    assert_eq!(reading.coverage.extent, Extent::Unavailable);
    assert_eq!((reading.coverage.understood, reading.coverage.records), (1, 4));
}

/// T20: the usage of the last response, or what a compaction left; sub-agents have a context of their own.
#[test]
fn t20_usage_is_that_of_the_last_response() {
    let used = |tokens: u64| {
        let usage = json!({ "model": "gpt-4.1", "inputTokens": tokens, "outputTokens": 42, "maxPromptTokens": 64_000 });
        event("session.usage_record", json!({ "usage": usage }))
    };
    let mut of_subagent = used(9000);
    of_subagent["agentId"] = json!("sub");
    let records = [prompt("go"), used(1000), used(32_000), of_subagent];
    let usage = read(Agent::Copilot, &records).usage.unwrap();
    assert_eq!((usage.tokens, usage.window, usage.percent), (32_042, Some(64_000), Some(50)));
    let compacted =
        event("session.compaction_complete", json!({ "success": true, "postCompactionTokens": 5000 }));
    let usage = read(Agent::Copilot, &[&records[..], &[compacted]].concat()).usage.unwrap();
    assert_eq!((usage.tokens, usage.window), (5000, Some(64_000)));
}

/// T21: the client writes down that it asks its hooks, and what the turn did stands before that.
#[test]
fn t21_the_client_tells_when_it_asks_at_the_stop() {
    let asks = |kind: &str, input: Value| {
        event("hook.start", json!({ "hookInvocationId": "h", "hookType": kind, "input": input }))
    };
    let asked = |records: &[Value]| read(Agent::Copilot, records).stop_asked_at.map(|at| at.to_string());
    let first =
        [prompt("go"), said("done"), asks("agentStop", json!({ "timestamp": 1_767_261_601_000_i64 }))];
    assert_eq!(asked(&first).as_deref(), Some("2026-01-01T10:00:01Z"));
    assert_eq!(asked(&[prompt("go"), said("done"), asks("sessionEnd", json!({}))]), None);
    assert_eq!(asked(&[&first[..], &[prompt("more"), said("done")]].concat()), None);
    let without_time = [prompt("go"), said("done"), asks("agentStop", json!({}))];
    assert_eq!(asked(&without_time).as_deref(), Some("2026-01-01T10:00:00Z"));
}

/// T12: `/rewind` cuts the file back to a prompt; what is left is the session, and the next prompt follows it.
#[test]
fn t12_a_file_that_was_cut_back_is_read_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("events.jsonl");
    let first = [prompt("first"), run("a", "x"), ended("a", "ok", 0), said("one")];
    let seen = |records: &[Value]| {
        std::fs::write(&file, lines(records)).unwrap();
        let reading = transcript::read(&file, &Options::default());
        let calls: Vec<String> = reading.calls.iter().map(|call| call.id.clone()).collect();
        (prompt_of(&reading).map(str::to_owned), calls.join(" "))
    };
    let second = [prompt("second"), run("b", "y")];
    assert_eq!(seen(&[&first[..], &second].concat()), (Some("second".to_owned()), "b".to_owned()));
    assert_eq!(seen(&first), (Some("first".to_owned()), "a".to_owned()));
    let third = [prompt("third"), run("c", "z")];
    assert_eq!(seen(&[&first[..], &third].concat()), (Some("third".to_owned()), "c".to_owned()));
}

/// L16: its lines are known from those of others.
#[test]
fn l16_its_lines_are_its_own() {
    let detected = |records: &[Value]| transcript::read_bytes(&lines(records), &Options::default()).agent;
    assert_eq!(detected(&[prompt("go"), said("done")]), Some(Agent::Copilot));
    assert_eq!(detected(&[claude::prompt("go"), claude::said("done")]), Some(Agent::Claude));
    assert_eq!(detected(&[codex::prompt("go"), codex::message("done")]), Some(Agent::Codex));
}
