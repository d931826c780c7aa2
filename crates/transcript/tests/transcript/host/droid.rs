//! Records as Droid writes them, and the cases of CASES that make sense for it.

use proptest::prelude::*;
use serde_json::{Value, json};
use transcript::{Agent, Extent, Kind, Options, Outcome};

use super::claude;
use crate::write::{call as made, lines, prompt_of, read};

pub(crate) fn message(role: &str, content: Value) -> Value {
    json!({
        "type": "message", "id": "m", "parentId": "p", "timestamp": "2026-01-01T10:00:00.000Z",
        "message": { "role": role, "content": content },
    })
}

pub(crate) fn prompt(text: &str) -> Value {
    message("user", json!([{ "type": "text", "text": text }]))
}

pub(crate) fn said(text: &str) -> Value {
    message("assistant", json!([{ "type": "text", "text": text }]))
}

pub(crate) fn call(id: &str, name: &str, input: Value) -> Value {
    message("assistant", json!([{ "type": "tool_use", "id": id, "name": name, "input": input }]))
}

pub(crate) fn run(id: &str, command: &str) -> Value {
    call(id, "Execute", json!({ "command": command, "riskLevel": "low", "timeout": 30 }))
}

pub(crate) fn result(id: &str, is_error: bool, text: &str) -> Value {
    message(
        "user",
        json!([{ "type": "tool_result", "tool_use_id": id, "is_error": is_error, "content": text }]),
    )
}

/// The end of a command.
pub(crate) fn ended(id: &str, text: &str, exit_code: i32) -> Value {
    result(id, exit_code != 0, &format!("{text}\n\n\n[Process exited with code {exit_code}]"))
}

/// Only the person, or only the model, sees it.
fn aside(text: &str, visibility: &str) -> Value {
    let mut message = prompt(text);
    message["message"]["visibility"] = json!(visibility);
    message
}

/// The lines of one prompt.
pub(crate) fn prompt_lines(id: usize, text: &str) -> Vec<Value> {
    let mut prompt = prompt(text);
    prompt["id"] = json!(id.to_string());
    vec![prompt]
}

/// A prompt with a picture.
pub(crate) fn picture_lines(text: &str, picture: &str) -> Vec<Value> {
    let image = json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": picture } });
    vec![message("user", json!([image, { "type": "text", "text": text }]))]
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
        text.prop_map(|text| aside(&text, "llm_only")),
        text.prop_map(|text| said(&text)),
        (id, text).prop_map(|(id, text)| run(&id, &text)),
        (id, text, 0..3).prop_map(|(id, text, code)| ended(&id, &text, code)),
        Just(json!({ "type": "agent_turn_outcome", "turnId": "m", "reason": "completed" })),
        Just(json!({ "type": "unheard_of", "id": "m" })),
    ]
    .boxed()
}

/// T1: results come back in another order, in one message.
#[test]
fn t1_parallel_results_are_paired_by_id() {
    let (first, mut second) = (ended("a", "1 passed", 0), ended("b", "bad", 3));
    let block = first["message"]["content"][0].clone();
    second["message"]["content"].as_array_mut().unwrap().push(block);
    let reading = read(Agent::Droid, &[prompt("go"), run("a", "run a"), run("b", "run b"), second]);
    let ends = ["a", "b"].map(|id| (made(&reading, id).outcome, made(&reading, id).exit_code));
    assert_eq!(ends, [(Outcome::Ok, Some(0)), (Outcome::Error, Some(3))]);
    assert_eq!(made(&reading, "a").command.as_deref(), Some("run a"));
}

/// T2, T5: results, what hooks did and what only the model sees are no prompts.
#[test]
fn t2_t3_t5_only_a_persons_words_open_a_turn() {
    for other in [
        aside("You are in a repository", "llm_only"),
        aside("", "user_only"),
        prompt("<system-reminder>\nThe date has changed\n</system-reminder>"),
        prompt(" \n"),
        result("a", false, "x"),
        // T3: with a reminder beside it.
        message(
            "user",
            json!([
                { "type": "tool_result", "tool_use_id": "a", "is_error": false, "content": "x" },
                { "type": "text", "text": "Remember the plan" },
            ]),
        ),
        json!({ "type": "todo_state", "id": "t", "todos": {} }),
    ] {
        let reading = read(Agent::Droid, &[prompt("go"), run("a", "x"), other.clone(), run("b", "y")]);
        assert_eq!((prompt_of(&reading), reading.calls.len()), (Some("go"), 2), "{other}");
        assert_eq!(reading.coverage.understood, reading.coverage.records);
    }
}

/// T4: our own hold is a message like a prompt, and continues the turn.
#[test]
fn t4_our_own_hold_continues_the_turn() {
    const HOLD: &str = "[checkstone] Not done yet\n\n1. Run `make test`";
    let turn = [prompt("go"), run("before", "x"), said("done"), prompt(HOLD), run("after", "y")];
    let reading = read(Agent::Droid, &turn);
    assert_eq!((prompt_of(&reading), reading.has_marked_prompt, reading.calls.len()), (Some("go"), true, 2));
    let next = read(Agent::Droid, &[&turn[..], &[prompt("and now that")]].concat());
    assert_eq!((prompt_of(&next), next.calls.len()), (Some("and now that"), 0));
}

/// T13, T14: the last line of a result is the client's own; without it a command has not ended.
#[test]
fn t13_t14_how_a_command_ended() {
    for (ended, expected) in [
        (ended("a", "ok", 0), (Outcome::Ok, Some(0))),
        (ended("a", "bad", 2), (Outcome::Error, Some(2))),
        (result("a", true, "Error: the command was rejected"), (Outcome::Error, None)),
        (result("a", false, "Started in the background"), (Outcome::Unknown, None)),
        // The program's own words above the client's.
        (ended("a", "[Process exited with code 0]", 1), (Outcome::Error, Some(1))),
    ] {
        let reading = read(Agent::Droid, &[prompt("go"), run("a", "run"), ended.clone()]);
        let call = made(&reading, "a");
        assert_eq!((call.outcome, call.exit_code), expected, "{ended}");
    }
}

/// T17: what was done to files, one by one or by a patch.
#[test]
fn t17_edits_and_files() {
    let patch = "*** Begin Patch\n*** Add File: /r/c.py\n+x = 1\n*** End Patch";
    let reading = read(
        Agent::Droid,
        &[
            prompt("go"),
            call("r", "Read", json!({ "file_path": "/r/a.py" })),
            call("e", "Edit", json!({ "file_path": "/r/a.py", "old_str": "a", "new_str": "b" })),
            call("w", "Create", json!({ "file_path": "/r/b.py", "content": "x\n" })),
            call("p", "ApplyPatch", json!({ "input": patch })),
            result("r", false, "x"),
        ],
    );
    let calls = reading.calls.iter().map(|call| (call.kind, call.paths.join(" "), call.edits.len()));
    let expected = [
        (Kind::Read, "/r/a.py".to_owned(), 0),
        (Kind::Edit, "/r/a.py".to_owned(), 1),
        (Kind::Write, "/r/b.py".to_owned(), 1),
        (Kind::Write, "/r/c.py".to_owned(), 1),
    ];
    assert_eq!(calls.collect::<Vec<_>>(), expected);
    assert_eq!(made(&reading, "r").outcome, Outcome::Ok);
}

/// T18: it is told apart from Claude Code by its lines.
#[test]
fn t18_its_lines_are_known() {
    let start = json!({ "type": "session_start", "id": "s", "hostId": "h", "cwd": "/r" });
    let mut session = vec![start, prompt("go")];
    session.extend((0..30).map(|_| said("done")));
    let detected = |records: &[Value]| transcript::read_bytes(&lines(records), &Options::default()).agent;
    assert_eq!(detected(&session), Some(Agent::Droid));
    // Another program writes the same envelope.
    assert_eq!(detected(&session[1..]), None);
    let reading = transcript::read_bytes(&lines(&[claude::prompt("go")]), &Options::default());
    assert_eq!(reading.agent, Some(Agent::Claude));
}

/// T19: unknown lines lower the coverage.
#[test]
fn t19_coverage() {
    let unknown = || json!({ "type": "unheard_of", "id": "m" });
    let reading = read(Agent::Droid, &[prompt("go"), unknown(), unknown(), unknown()]);
    assert_eq!(reading.coverage.extent, Extent::Unavailable);
    assert_eq!((reading.coverage.understood, reading.coverage.records), (1, 4));
}

/// T6: a sub-agent is a session of its own beside its parent's, whose first line names the call that launched it. While it works in the
/// background, the agent waits for it.
#[test]
fn t6_sub_agents_are_sessions_that_name_their_parents() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, records: &[Value]| {
        let file = folder.path().join(name);
        std::fs::write(&file, lines(records)).unwrap();
        file
    };
    let start = |caller: &str, call: &str| json!({ "type": "session_start", "id": "x", "callingSessionId": caller, "callingToolUseId": call, "hostId": "h" });
    let inner = |id: &str| [run(id, "pytest"), ended(id, "1 passed", 0)];
    write("child.jsonl", &[&[start("s", "t")][..], &inner("inner")].concat());
    write("other.jsonl", &[&[start("another", "t")][..], &inner("others")].concat());
    write("earlier.jsonl", &[&[start("s", "earlier")][..], &inner("earlier")].concat());
    let launched = "Task launched in background.\ntask_id: child\nsession_id: child\nsubagent_type: worker";
    let mut records = vec![
        json!({ "type": "session_start", "id": "s", "hostId": "h" }),
        prompt("go"),
        call("t", "Task", json!({ "subagent_type": "worker", "prompt": "Run the tests" })),
        result("t", false, launched),
        said("It runs."),
    ];
    let read = |records: &[Value]| transcript::read(&write("s.jsonl", records), &Options::default());
    let reading = read(&records);
    let seen: Vec<_> =
        reading.calls.iter().map(|call| (call.id.as_str(), call.subagent.as_deref())).collect();
    assert_eq!(seen, [("t", None), ("inner", Some("child"))]);
    assert_eq!(reading.session.unanswered, ["child"]);
    records
        .push(aside("Background task completed.\ntask_id: child\nreason: completed\noutput: ok", "llm_only"));
    assert_eq!(read(&records).session.unanswered, [""; 0]);
}
