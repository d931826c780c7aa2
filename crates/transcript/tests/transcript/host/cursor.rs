//! Records as Cursor is said to write them, and the cases of CASES that make sense for it. There are no ids, no results and no times in
//! them.

use proptest::prelude::*;
use serde_json::{Value, json};
use transcript::{Agent, Extent, Kind, Options, Outcome};

use super::claude;
use crate::write::{lines, prompt_of, read};

pub(crate) fn message(role: &str, content: Value) -> Value {
    json!({ "role": role, "message": { "content": content } })
}

pub(crate) fn prompt(text: &str) -> Value {
    let query = format!("<user_query>\n{text}\n</user_query>");
    message("user", json!([{ "type": "text", "text": query }]))
}

pub(crate) fn said(text: &str) -> Value {
    message("assistant", json!([{ "type": "text", "text": text }]))
}

pub(crate) fn call(name: &str, input: Value) -> Value {
    message("assistant", json!([{ "type": "tool_use", "name": name, "input": input }]))
}

pub(crate) fn run(command: &str) -> Value {
    call("Shell", json!({ "command": command, "description": "Run it" }))
}

fn ended(status: &str, error: Option<&str>) -> Value {
    json!({ "type": "turn_ended", "status": status, "error": error })
}

/// The lines of one prompt.
pub(crate) fn prompt_lines(_: usize, text: &str) -> Vec<Value> {
    vec![prompt(text)]
}

/// A prompt with a picture.
pub(crate) fn picture_lines(text: &str, picture: &str) -> Vec<Value> {
    let image = json!({ "type": "image", "source": { "type": "base64", "data": picture } });
    vec![message(
        "user",
        json!([image, { "type": "text", "text": format!("<user_query>\n{text}\n</user_query>") }]),
    )]
}

/// A command, and its end.
pub(crate) fn command_lines(_: &str, command: &str, _: super::CommandEnd<'_>) -> Vec<Value> {
    vec![run(command)]
}

/// Any record, of a few texts.
pub(crate) fn any_record() -> BoxedStrategy<Value> {
    let text = super::TEXT;
    prop_oneof![
        text.prop_map(|text| prompt(&text)),
        text.prop_map(|text| message(
            "user",
            json!([{ "type": "text", "text": format!("<context>{text}") }])
        )),
        text.prop_map(|text| said(&text)),
        text.prop_map(|text| run(&text)),
        Just(ended("success", None)),
        Just(json!({ "type": "unheard_of" })),
    ]
    .boxed()
}

/// T1: without ids and results every call stands for itself, and none has ended.
#[test]
fn t1_calls_without_ids_are_all_kept() {
    let both = message(
        "assistant",
        json!([
            { "type": "tool_use", "name": "Shell", "input": { "command": "pytest" } },
            { "type": "tool_use", "name": "Shell", "input": { "command": "pytest" } },
        ]),
    );
    let reading = read(Agent::Cursor, &[prompt("go"), both, run("pytest")]);
    let commands = reading.calls.iter().map(|call| (call.command.as_deref(), call.outcome));
    assert_eq!(commands.collect::<Vec<_>>(), [(Some("pytest"), Outcome::Unknown); 3]);
}

/// T2, T5: what the client puts into the user's name is no prompt.
#[test]
fn t2_t5_only_a_persons_words_open_a_turn() {
    for other in [
        message("user", json!([{ "type": "text", "text": "<open_and_recently_viewed_files>\n/r/a.py" }])),
        message("user", json!([])),
        message("user", json!([{ "type": "text", "text": " \n" }])),
        ended("success", None),
        said("x"),
    ] {
        let reading = read(Agent::Cursor, &[prompt("go"), run("x"), other.clone(), run("y")]);
        assert_eq!((prompt_of(&reading), reading.calls.len()), (Some("go"), 2), "{other}");
        assert_eq!(reading.coverage.understood, reading.coverage.records);
    }
    // Beside other tags, in a string, and without any tag.
    let beside = "<timestamp>Tuesday</timestamp>\n<user_query>go</user_query>\n<rules>x</rules>";
    for words in [json!([{ "type": "text", "text": beside }]), json!(beside), json!("go")] {
        let reading = read(Agent::Cursor, &[message("user", words.clone())]);
        assert_eq!(prompt_of(&reading), Some("go"), "{words}");
    }
}

/// T4: our own hold is submitted like a prompt, and continues the turn.
#[test]
fn t4_our_own_hold_continues_the_turn() {
    const HOLD: &str = "[checkstone] Not done yet\n\n1. Run `make test`";
    let turn = [prompt("go"), run("x"), said("done"), ended("success", None), prompt(HOLD), run("y")];
    let reading = read(Agent::Cursor, &turn);
    assert_eq!((prompt_of(&reading), reading.has_marked_prompt, reading.calls.len()), (Some("go"), true, 2));
    let next = read(Agent::Cursor, &[&turn[..], &[prompt("and now that")]].concat());
    assert_eq!((prompt_of(&next), next.calls.len()), (Some("and now that"), 0));
}

/// T5: the person interrupted the agent.
#[test]
fn t5_an_interruption_is_known() {
    let aborted = || ended("error", Some("User aborted request"));
    let reading = read(Agent::Cursor, &[prompt("go"), run("x"), aborted()]);
    assert!(reading.interrupted);
    let failed = read(Agent::Cursor, &[prompt("go"), run("x"), ended("error", Some("overloaded"))]);
    assert!(!failed.interrupted);
    let later = read(Agent::Cursor, &[prompt("go"), aborted(), said("on")]);
    assert!(!later.interrupted);
}

/// T17: what was done to files, one by one or by a patch.
#[test]
fn t17_edits_and_files() {
    let patch = "*** Begin Patch\n*** Add File: /r/c.py\n+x = 1\n*** End Patch";
    let reading = read(
        Agent::Cursor,
        &[
            prompt("go"),
            call("Read", json!({ "path": "/r/a.py" })),
            call("StrReplace", json!({ "path": "/r/a.py", "old_string": "a", "new_string": "b" })),
            call("Write", json!({ "path": "/r/b.py", "contents": "x\n" })),
            call("ApplyPatch", json!({ "patch": patch })),
            call("Delete", json!({ "path": "/r/d.py" })),
            call("Grep", json!({ "pattern": "x", "path": "/r" })),
            call("Shell", json!({ "command": "make", "working_directory": "/r/sub" })),
        ],
    );
    let calls = reading.calls.iter().map(|call| (call.kind, call.paths.join(" "), call.edits.len()));
    let expected = [
        (Kind::Read, "/r/a.py".to_owned(), 0),
        (Kind::Edit, "/r/a.py".to_owned(), 1),
        (Kind::Write, "/r/b.py".to_owned(), 1),
        (Kind::Write, "/r/c.py".to_owned(), 1),
        (Kind::Edit, "/r/d.py".to_owned(), 0),
        (Kind::Other, String::new(), 0),
        (Kind::Shell, String::new(), 0),
    ];
    assert_eq!(calls.collect::<Vec<_>>(), expected);
    assert_eq!(reading.calls.last().unwrap().cwd.as_deref(), Some("/r/sub"));
}

/// T18: it is told apart from Claude Code by its lines.
#[test]
fn t18_its_lines_are_known() {
    let reading = transcript::read_bytes(&lines(&[prompt("go"), said("done")]), &Options::default());
    assert_eq!(reading.agent, Some(Agent::Cursor));
    let reading = transcript::read_bytes(&lines(&[claude::prompt("go")]), &Options::default());
    assert_eq!(reading.agent, Some(Agent::Claude));
}

/// T19: unknown lines lower the coverage.
#[test]
fn t19_coverage() {
    let unknown = || json!({ "type": "unheard_of" });
    let reading = read(Agent::Cursor, &[prompt("go"), unknown(), unknown(), unknown()]);
    assert_eq!(reading.coverage.extent, Extent::Unavailable);
    assert_eq!((reading.coverage.understood, reading.coverage.records), (1, 4));
}

/// T22: what the agent said last is kept, without what stands for hidden thoughts.
#[test]
fn t22_the_last_words() {
    let reading = read(Agent::Cursor, &[prompt("go"), said("Done.\n\n[REDACTED]"), said("[REDACTED]")]);
    assert_eq!(reading.last_assistant.as_deref(), Some("Done."));
}
