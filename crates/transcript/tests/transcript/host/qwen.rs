//! Records as Qwen Code writes them, and the cases of CASES that make sense for it.

use proptest::prelude::*;
use serde_json::{Value, json};
use transcript::{Agent, Extent, Kind, Options, Outcome, Reading};

use super::claude;
use crate::samples;
use crate::write::{call as made, lines, prompt_of, read};

pub(crate) fn record(kind: &str, provenance: &str, parts: Value) -> Value {
    json!({
        "uuid": "u", "parentUuid": null, "sessionId": "s", "timestamp": "2026-01-01T10:00:00.000Z", "type": kind,
        "provenance": provenance, "cwd": "/r", "message": { "role": "user", "parts": parts },
    })
}

pub(crate) fn prompt(text: &str) -> Value {
    record("user", "real_user", json!([{ "text": text }]))
}

pub(crate) fn said(text: &str) -> Value {
    record("assistant", "assistant_output", json!([{ "text": text }]))
}

pub(crate) fn call(id: &str, name: &str, arguments: Value) -> Value {
    let call = json!({ "functionCall": { "id": id, "name": name, "args": arguments } });
    record("assistant", "assistant_output", json!([call]))
}

pub(crate) fn result(id: &str, status: &str, output: &str, display: Value) -> Value {
    let parts = json!([{ "functionResponse": { "id": id, "response": { "output": output } } }]);
    let mut record = record("tool_result", "tool_result", parts);
    record["toolCallResult"] = json!({ "callId": id, "status": status, "resultDisplay": display });
    record
}

/// What the person is shown of a command.
pub(crate) fn shell(exit_code: Value, outcome: &str, output: &str) -> Value {
    json!({ "type": "shell_result", "exitCode": exit_code, "outcome": outcome, "output": output })
}

/// The lines of one prompt.
pub(crate) fn prompt_lines(_id: usize, text: &str) -> Vec<Value> {
    vec![prompt(text)]
}

/// A prompt with a picture.
pub(crate) fn picture_lines(text: &str, picture: &str) -> Vec<Value> {
    let image = json!({ "inlineData": { "mimeType": "image/png", "data": picture } });
    vec![record("user", "real_user", json!([image, { "text": text }]))]
}

/// A command, and its end.
pub(crate) fn command_lines(id: &str, command: &str, end: super::CommandEnd<'_>) -> Vec<Value> {
    let outcome = if end.exit_code == 0 { "completed" } else { "failed" };
    let shown = shell(json!(end.exit_code), outcome, end.output);
    vec![run(id, command), result(id, "success", end.output, shown)]
}

/// Any record, of a few ids and texts.
pub(crate) fn any_record() -> BoxedStrategy<Value> {
    let (id, text) = (super::ID, super::TEXT);
    prop_oneof![
        text.prop_map(|text| prompt(&text)),
        text.prop_map(|text| said(&text)),
        (id, text).prop_map(|(id, text)| call(&id, "run_shell_command", json!({ "command": text }))),
        (id, text).prop_map(|(id, text)| result(&id, "success", &text, json!(""))),
        Just(record("system", "system", json!([]))),
    ]
    .boxed()
}

fn run(id: &str, command: &str) -> Value {
    call(id, "run_shell_command", json!({ "command": command, "is_background": false }))
}

/// T1: results come back in another order.
#[test]
fn t1_parallel_results_are_paired_by_id() {
    let reading = read(
        Agent::Qwen,
        &[
            prompt("go"),
            run("a", "run a"),
            run("b", "run b"),
            result("b", "error", "", shell(json!(3), "failed", "bad")),
            result("a", "success", "", shell(json!(0), "completed", "1 passed")),
        ],
    );
    let ends = ["a", "b"].map(|id| (made(&reading, id).outcome, made(&reading, id).exit_code));
    assert_eq!(ends, [(Outcome::Ok, Some(0)), (Outcome::Error, Some(3))]);
    assert_eq!(made(&reading, "a").snippet.as_deref(), Some("1 passed"));
    assert_eq!(made(&reading, "a").cwd.as_deref(), Some("/r"));
}

/// T2, T5: results, and what the client says in the person's name, are no prompts.
#[test]
fn t2_t5_only_a_persons_words_open_a_turn() {
    let reading = read(
        Agent::Qwen,
        &[
            prompt("go"),
            said("on it"),
            record("user", "system_reminder", json!([{ "text": "Remember the plan" }])),
            record("system", "system", json!([])),
            record("user", "real_user", json!([{ "text": " \n" }])),
        ],
    );
    assert_eq!(prompt_of(&reading), Some("go"));
    // Older versions do not say whose words a line is.
    let mut older = prompt("go on");
    older.as_object_mut().unwrap().remove("provenance");
    assert_eq!(prompt_of(&read(Agent::Qwen, &[prompt("go"), older])), Some("go on"));
}

/// T4: a hold leaves no line, so that what came before it and after it is one turn; where it was typed, it is known by its mark.
#[test]
fn t4_a_hold_leaves_no_line() {
    let reading = transcript::read(&samples::folder().join("qwen/0.24.4-main.jsonl"), &Options::default());
    let calls: Vec<&str> = reading.calls.iter().map(|call| call.tool.as_str()).collect();
    assert_eq!(calls, ["read_file", "edit", "run_shell_command", "run_shell_command"]);
    let mut hold = prompt("[checkstone] Not done yet");
    hold["parentUuid"] = json!("d");
    let reading = read(Agent::Qwen, &[prompt("go"), run("a", "x"), said("done"), hold, run("b", "y")]);
    assert_eq!((prompt_of(&reading), reading.calls.len(), reading.has_marked_prompt), (Some("go"), 2, true));
}

/// T12: after a rewind nothing counts from the prompt on that has the same parent; the lines stay.
#[test]
fn t12_what_was_rewound_does_not_count() {
    let prompt = |text: &str, parent: Value| {
        let mut prompt = prompt(text);
        prompt["parentUuid"] = parent;
        prompt
    };
    let rewind = |parent: Value| {
        let mut rewind = record("system", "system", json!([]));
        rewind["parentUuid"] = parent;
        rewind["subtype"] = json!("rewind");
        rewind["systemPayload"] = json!({ "truncatedCount": 2 });
        rewind
    };
    let first = [
        prompt("first", json!(null)),
        run("a", "x"),
        said("one"),
        prompt("second", json!("u3")),
        run("b", "y"),
    ];
    let seen = |more: &[Value]| {
        let reading = read(Agent::Qwen, &[&first[..], more].concat());
        let calls: Vec<String> = reading.calls.iter().map(|call| call.id.clone()).collect();
        (prompt_of(&reading).map(str::to_owned), calls.join(" "))
    };
    assert_eq!(seen(&[]), (Some("second".to_owned()), "b".to_owned()));
    assert_eq!(seen(&[rewind(json!("u3"))]), (Some("first".to_owned()), "a".to_owned()));
    assert_eq!(seen(&[rewind(json!(null))]), (None, String::new()));
    let again = [rewind(json!("u3")), prompt("third", json!("r")), run("c", "z")];
    assert_eq!(seen(&again), (Some("third".to_owned()), "c".to_owned()));
    let told = json!({ "uiEvent": { "subtype": "rewind" } });
    let mut telemetry = record("system", "system", json!([]));
    telemetry["systemPayload"] = told;
    assert_eq!(seen(&[telemetry]), (Some("second".to_owned()), "b".to_owned()));
}

/// T21: the last lines may be missing when the hook is called; the payload has the agent's last words, and the transcript tells that it has
/// not. The waiting is tested with the hook (`hook/traces.rs`).
#[test]
fn t21_the_last_message_tells_whether_everything_is_written() {
    let turn = [
        prompt("go"),
        said("I'll run them"),
        run("a", "x"),
        result("a", "success", "", json!("")),
        said("Done."),
    ];
    let words = |count: usize| read(Agent::Qwen, &turn[..count]).last_assistant;
    assert_eq!(
        [words(1), words(4), words(5)],
        [None, Some("I'll run them".to_owned()), Some("Done.".to_owned())]
    );
}

/// T13, T14: how a command ended stands in what the person is shown, or in the footer of its output.
#[test]
fn t13_t14_how_a_command_ended() {
    let outcome = |status: &str, output: &str, display| {
        let lines = [prompt("go"), run("a", "run"), result("a", status, output, display)];
        let reading = read(Agent::Qwen, &lines);
        let made = made(&reading, "a");
        (made.outcome, made.exit_code, made.user_stopped)
    };
    let footer =
        |code| format!("Command: run\nOutput: x\nError: (none)\nExit Code: {code}\nSignal: (none)\n");
    for (status, output, display, expected) in [
        ("success", String::new(), shell(json!(0), "completed", ""), (Outcome::Ok, Some(0), false)),
        ("error", String::new(), shell(json!(2), "failed", ""), (Outcome::Error, Some(2), false)),
        ("error", String::new(), shell(json!(null), "failed", ""), (Outcome::Error, None, false)),
        ("success", String::new(), shell(json!(null), "running", ""), (Outcome::Unknown, None, false)),
        ("cancelled", String::new(), json!(""), (Outcome::Error, None, true)),
        ("success", footer(0), json!("x"), (Outcome::Ok, Some(0), false)),
        ("success", footer(4), json!("x"), (Outcome::Error, Some(4), false)),
        ("error", String::new(), json!(""), (Outcome::Error, None, false)),
    ] {
        assert_eq!(outcome(status, &output, display), expected, "{status} {output}");
    }
}

/// What was done to a file is read from the whole texts, where the client has them.
#[test]
fn t17_edits_and_files() {
    let display = json!({
        "fileDiff": "", "fileName": "a.py", "filePath": "/r/a.py", "originalContent": "# a\n", "newContent": "# b\n",
    });
    let reading = read(
        Agent::Qwen,
        &[
            prompt("go"),
            call("r", "read_file", json!({ "file_path": "/r/a.py" })),
            result("r", "success", "# a\n", json!("")),
            call("e", "edit", json!({ "file_path": "/r/a.py", "old_string": "a", "new_string": "b" })),
            result("e", "success", "updated", display),
            call("w", "write_file", json!({ "file_path": "/r/b.py", "content": "x\n" })),
            result("w", "success", "written", json!("")),
        ],
    );
    let calls = reading.calls.iter().map(|call| (call.kind, call.path.as_deref(), call.outcome));
    let expected = [
        (Kind::Read, Some("/r/a.py"), Outcome::Ok),
        (Kind::Edit, Some("/r/a.py"), Outcome::Ok),
        (Kind::Write, Some("/r/b.py"), Outcome::Ok),
    ];
    assert_eq!(calls.collect::<Vec<_>>(), expected);
    assert_eq!(made(&reading, "e").edits.len(), 1);
}

/// T19: kinds of records that are not known lower the coverage.
#[test]
fn t19_unknown_records_lower_the_coverage() {
    let unknown = || record("unheard-of", "x", json!([]));
    let reading = read(Agent::Qwen, &[prompt("go"), unknown(), unknown(), unknown()]);
    assert_eq!(reading.coverage.extent, Extent::Unavailable);
    assert_eq!((reading.coverage.understood, reading.coverage.records), (1, 4));
}

/// T20: the usage of the last response.
#[test]
fn t20_usage_is_that_of_the_last_response() {
    let mut first = said("a");
    first["usageMetadata"] = json!({ "promptTokenCount": 1000, "totalTokenCount": 1042 });
    let mut last = said("b");
    last["usageMetadata"] = json!({ "promptTokenCount": 1200, "totalTokenCount": 1242 });
    let reading = read(Agent::Qwen, &[prompt("go"), first, last]);
    assert_eq!(reading.usage.map(|usage| usage.tokens), Some(1200));
}

/// L16: its lines look like Claude Code's, and are not taken for them.
#[test]
fn l16_its_lines_are_not_claude_codes() {
    let detected = |lines: &[Value]| -> Reading {
        transcript::read_bytes(&crate::write::lines(lines), &Options::default())
    };
    assert_eq!(detected(&[prompt("go"), said("done")]).agent, Some(Agent::Qwen));
    assert_eq!(detected(&[claude::prompt("go"), claude::said("done")]).agent, Some(Agent::Claude));
}

/// T6: sub-agents write into a folder beside the sessions, and their results have no status.
#[test]
fn t6_the_files_of_sub_agents_are_read() {
    let project = tempfile::tempdir().unwrap();
    let (chats, agents) = (project.path().join("chats"), project.path().join("subagents/s"));
    for folder in [&chats, &agents] {
        std::fs::create_dir_all(folder).unwrap();
    }
    std::fs::write(chats.join("s.jsonl"), lines(&[prompt("go"), call("a", "agent", json!({}))])).unwrap();
    let footer =
        |code: i32| format!("Command: pytest\nOutput: x\nError: (none)\nExit Code: {code}\nSignal: (none)");
    let ended = |id: &str, code: i32| {
        let mut record = result(id, "", &footer(code), json!(null));
        record["toolCallResult"] = json!({ "callId": id, "durationMs": 434 });
        record
    };
    let records = [run("good", "pytest"), ended("good", 0), run("bad", "pytest"), ended("bad", 3)];
    std::fs::write(agents.join("agent-general.jsonl"), lines(&records)).unwrap();
    let reading = transcript::read(&chats.join("s.jsonl"), &Options::default());
    let seen: Vec<_> = reading
        .calls
        .iter()
        .map(|call| (call.id.as_str(), call.subagent.as_deref(), call.outcome, call.exit_code))
        .collect();
    let general = Some("general");
    assert_eq!(
        seen,
        [
            ("a", None, Outcome::Unknown, None),
            ("good", general, Outcome::Ok, Some(0)),
            ("bad", general, Outcome::Error, Some(3)),
        ]
    );
}
