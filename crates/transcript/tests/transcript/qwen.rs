//! The cases of CASES that make sense for Qwen Code, in its own shapes.

use serde_json::json;
use transcript::{Agent, Extent, Kind, Options, Outcome, Reading};

use crate::write::{call, claude, prompt_of, qwen, read};

fn shell(id: &str, command: &str) -> serde_json::Value {
    qwen::call(id, "run_shell_command", json!({ "command": command, "is_background": false }))
}

/// T1: results come back in another order.
#[test]
fn t1_parallel_results_are_paired_by_id() {
    let reading = read(
        Agent::Qwen,
        &[
            qwen::prompt("go"),
            shell("a", "run a"),
            shell("b", "run b"),
            qwen::result("b", "error", "", qwen::shell(json!(3), "failed", "bad")),
            qwen::result("a", "success", "", qwen::shell(json!(0), "completed", "1 passed")),
        ],
    );
    let ends = ["a", "b"].map(|id| (call(&reading, id).outcome, call(&reading, id).exit_code));
    assert_eq!(ends, [(Outcome::Ok, Some(0)), (Outcome::Error, Some(3))]);
    assert_eq!(call(&reading, "a").snippet.as_deref(), Some("1 passed"));
    assert_eq!(call(&reading, "a").cwd.as_deref(), Some("/r"));
}

/// T2, T5: results, and what the client says in the person's name, are no prompts.
#[test]
fn t2_t5_only_a_persons_words_open_a_turn() {
    let reading = read(
        Agent::Qwen,
        &[
            qwen::prompt("go"),
            qwen::said("on it"),
            qwen::record("user", "system_reminder", json!([{ "text": "Remember the plan" }])),
            qwen::record("system", "system", json!([])),
            qwen::record("user", "real_user", json!([{ "text": " \n" }])),
        ],
    );
    assert_eq!(prompt_of(&reading), Some("go"));
    // Older versions do not say whose words a line is.
    let mut older = qwen::prompt("go on");
    older.as_object_mut().unwrap().remove("provenance");
    assert_eq!(prompt_of(&read(Agent::Qwen, &[qwen::prompt("go"), older])), Some("go on"));
}

/// T13, T14: how a command ended stands in what the person is shown, or in the footer of its output.
#[test]
fn t13_t14_how_a_command_ended() {
    let outcome = |status: &str, output: &str, display| {
        let lines = [qwen::prompt("go"), shell("a", "run"), qwen::result("a", status, output, display)];
        let reading = read(Agent::Qwen, &lines);
        let call = call(&reading, "a");
        (call.outcome, call.exit_code, call.user_stopped)
    };
    let footer =
        |code| format!("Command: run\nOutput: x\nError: (none)\nExit Code: {code}\nSignal: (none)\n");
    for (status, output, display, expected) in [
        ("success", String::new(), qwen::shell(json!(0), "completed", ""), (Outcome::Ok, Some(0), false)),
        ("error", String::new(), qwen::shell(json!(2), "failed", ""), (Outcome::Error, Some(2), false)),
        ("error", String::new(), qwen::shell(json!(null), "failed", ""), (Outcome::Error, None, false)),
        ("success", String::new(), qwen::shell(json!(null), "running", ""), (Outcome::Unknown, None, false)),
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
fn edits_and_files() {
    let display = json!({
        "fileDiff": "", "fileName": "a.py", "filePath": "/r/a.py", "originalContent": "# a\n", "newContent": "# b\n",
    });
    let reading = read(
        Agent::Qwen,
        &[
            qwen::prompt("go"),
            qwen::call("r", "read_file", json!({ "file_path": "/r/a.py" })),
            qwen::result("r", "success", "# a\n", json!("")),
            qwen::call("e", "edit", json!({ "file_path": "/r/a.py", "old_string": "a", "new_string": "b" })),
            qwen::result("e", "success", "updated", display),
            qwen::call("w", "write_file", json!({ "file_path": "/r/b.py", "content": "x\n" })),
            qwen::result("w", "success", "written", json!("")),
        ],
    );
    let calls = reading.calls.iter().map(|call| (call.kind, call.path.as_deref(), call.outcome));
    let expected = [
        (Kind::Read, Some("/r/a.py"), Outcome::Ok),
        (Kind::Edit, Some("/r/a.py"), Outcome::Ok),
        (Kind::Write, Some("/r/b.py"), Outcome::Ok),
    ];
    assert_eq!(calls.collect::<Vec<_>>(), expected);
    assert_eq!(call(&reading, "e").edits.len(), 1);
}

/// T19: kinds of records that are not known lower the coverage.
#[test]
fn t19_unknown_records_lower_the_coverage() {
    let unknown = || qwen::record("unheard-of", "x", json!([]));
    let reading = read(Agent::Qwen, &[qwen::prompt("go"), unknown(), unknown(), unknown()]);
    assert_eq!(reading.coverage.extent, Extent::Unavailable);
    assert_eq!((reading.coverage.understood, reading.coverage.records), (1, 4));
}

/// T20: the usage of the last response.
#[test]
fn t20_usage_is_that_of_the_last_response() {
    let mut first = qwen::said("a");
    first["usageMetadata"] = json!({ "promptTokenCount": 1000, "totalTokenCount": 1042 });
    let mut last = qwen::said("b");
    last["usageMetadata"] = json!({ "promptTokenCount": 1200, "totalTokenCount": 1242 });
    let reading = read(Agent::Qwen, &[qwen::prompt("go"), first, last]);
    assert_eq!(reading.usage.map(|usage| usage.tokens), Some(1200));
}

/// L16: its lines look like Claude Code's, and are not taken for them.
#[test]
fn l16_its_lines_are_not_claude_codes() {
    let detected = |lines: &[serde_json::Value]| -> Reading {
        transcript::read_bytes(&crate::write::lines(lines), &Options::default())
    };
    assert_eq!(detected(&[qwen::prompt("go"), qwen::said("done")]).agent, Some(Agent::Qwen));
    assert_eq!(detected(&[claude::prompt("go"), claude::said("done")]).agent, Some(Agent::Claude));
}
