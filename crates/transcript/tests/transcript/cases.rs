//! The cases that broke other tools, by name.

use serde_json::{Value, json};
use transcript::{Agent, Extent, Kind, Options, Outcome, TurnStart};

use crate::host::{CommandEnd, claude, codex, command_lines, gemini, prompt_lines, read_hosts};
use crate::write::{call, lines, prompt_of, read};

/// T1: parallel calls whose results come back in another order are paired by id.
#[test]
fn t1_parallel_results_are_paired_by_id() {
    let reading = read(
        Agent::Claude,
        &[
            claude::prompt("go"),
            claude::bash("a", "make a"),
            claude::bash("b", "make b"),
            claude::result("b", "Exit code 2\nno rule", true),
            claude::result("a", "done", false),
        ],
    );
    assert_eq!((call(&reading, "a").outcome, call(&reading, "a").exit_code), (Outcome::Ok, Some(0)));
    assert_eq!((call(&reading, "b").outcome, call(&reading, "b").exit_code), (Outcome::Error, Some(2)));
}

/// T2, T3: results are no prompts, with or without a reminder beside them.
#[test]
fn t2_t3_results_and_reminders_are_no_prompts() {
    let with_reminder = claude::user(
        json!([
            { "type": "tool_result", "tool_use_id": "a", "content": "ok" },
            { "type": "text", "text": "<system-reminder>\nbe careful\n</system-reminder>" },
        ]),
        json!({}),
    );
    let with_text = claude::user(
        json!([
            { "type": "tool_result", "tool_use_id": "b", "content": "ok" },
            { "type": "text", "text": "remember the tests" },
        ]),
        json!({}),
    );
    let only_reminder =
        claude::user(json!([{ "type": "text", "text": "<system-reminder>x</system-reminder>" }]), json!({}));
    let reading = read(
        Agent::Claude,
        &[
            claude::prompt("go"),
            claude::bash("a", "x"),
            with_reminder,
            claude::bash("b", "y"),
            with_text,
            only_reminder,
        ],
    );
    assert_eq!(prompt_of(&reading), Some("go"));
    assert_eq!(reading.calls.len(), 2);
}

/// T4: a hold that was typed into the client's prompt, where it has no hook, is no prompt of a person.
#[test]
fn t4_our_own_message_typed_as_a_prompt_continues_the_turn_and_is_known() {
    const HOLD: &str = "[checkstone] Context-aware checkpoint\n1. Run `make test`";
    for agent in read_hosts() {
        let reading = |prompts: &[&str]| {
            let lines = prompts.iter().enumerate().flat_map(|(id, prompt)| prompt_lines(agent, id, prompt));
            read(agent, &lines.collect::<Vec<_>>())
        };
        let held = reading(&["go", HOLD]);
        assert_eq!((held.turn.unwrap().prompt.as_str(), held.has_marked_prompt), ("go", true));
        let next = reading(&["go", HOLD, "go on"]);
        assert_eq!((next.turn.unwrap().prompt.as_str(), next.has_marked_prompt), ("go on", false));
        assert!(!reading(&[HOLD]).has_marked_prompt, "no turn was held");
        // What ran before it and after it belongs to the turn.
        let ran = |id: &str| command_lines(agent, id, "make test", CommandEnd { output: "x", exit_code: 0 });
        let around =
            [prompt_lines(agent, 1, "go"), ran("a"), prompt_lines(agent, 2, HOLD), ran("b")].concat();
        let reading = read(agent, &around);
        assert_eq!((prompt_of(&reading), reading.calls.len()), (Some("go"), 2), "{agent:?}");
    }
}

/// T4: our own hold comes back in the user's name. It continues the turn: evidence before and after counts.
#[test]
fn t4_our_own_hold_continues_the_turn() {
    const HOLD: &str = "[checkstone] Context-aware checkpoint\n1. Run `make test`";
    let claude_reading = read(
        Agent::Claude,
        &[
            claude::prompt("go"),
            claude::bash("before", "x"),
            claude::user(json!(format!("Stop hook feedback:\n{HOLD}")), json!({ "isMeta": true })),
            claude::bash("after", "y"),
        ],
    );
    let gemini_reading = read(
        Agent::Gemini,
        &[
            gemini::header(),
            gemini::user("1", "go"),
            gemini::model("2", "", json!([gemini::shell("before", "", "")])),
            gemini::user("3", HOLD),
            gemini::model("4", "", json!([gemini::shell("after", "", "")])),
        ],
    );
    let codex_reading = read(
        Agent::Codex,
        &[
            codex::message("go"),
            codex::prompt("go"),
            codex::function("before", "shell", json!({ "command": ["ls"] })),
            codex::message(&format!("<hook_prompt hook_run_id=\"stop:1\">{HOLD}</hook_prompt>")),
            codex::function("after", "shell", json!({ "command": ["ls"] })),
        ],
    );
    // Without the client's word for an error.
    let given = |event: &str| {
        let attachment = json!({ "type": "hook_additional_context", "content": [HOLD], "hookName": event, "hookEvent": event });
        let lines = [
            claude::prompt("go"),
            claude::bash("before", "x"),
            claude::record("attachment", json!({ "attachment": attachment })),
            claude::bash("after", "y"),
        ];
        read(Agent::Claude, &lines)
    };
    assert!(!given("SessionStart").is_marked, "what a session is told at its start is no hold");
    // Typed into the terminal for an agent without hooks.
    let injected_reading = read(
        Agent::Codex,
        &[
            codex::prompt("go"),
            codex::function("before", "shell", json!({ "command": ["ls"] })),
            codex::message(HOLD),
            codex::prompt(HOLD),
            codex::function("after", "shell", json!({ "command": ["ls"] })),
        ],
    );
    for reading in [claude_reading, given("Stop"), gemini_reading, codex_reading, injected_reading] {
        assert!(reading.is_marked, "{:?}", reading.agent);
        assert_eq!(prompt_of(&reading), Some("go"));
        let ids: Vec<_> = reading.calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["before", "after"], "{:?}", reading.agent);
    }
}

/// T5: Gemini CLI asks the model by itself to go on, also after the person has interrupted it.
#[test]
fn t5_what_gemini_says_by_itself_is_no_prompt() {
    for text in [
        "Please continue.",
        "System: Potential loop detected. Details: Repetitive patterns identified.",
        "[System: You successfully executed a tool but returned an empty response. Please analyze the tool output.]",
    ] {
        let mut records = vec![
            gemini::header(),
            gemini::user("1", "go"),
            gemini::model("2", "", json!([gemini::shell("a", "", "")])),
            json!({ "id": "3", "type": "info", "content": "Request cancelled." }),
        ];
        assert!(read(Agent::Gemini, &records).interrupted);
        records.extend([gemini::user("4", text), gemini::model("5", "Done.", json!([]))]);
        let reading = read(Agent::Gemini, &records);
        assert_eq!(
            (prompt_of(&reading), reading.interrupted, reading.calls.len()),
            (Some("go"), false, 1),
            "{text}"
        );
        assert!(transcript::is_text_of_client(Agent::Gemini, text));
    }
}

/// T5: what the client writes in the user's name, in files of older versions that do not mark prompts.
#[test]
fn t5_what_is_no_prompt_in_claude() {
    let no_prompts = [
        claude::user(
            json!("This session is being continued from a previous conversation …"),
            json!({ "isCompactSummary": true }),
        ),
        claude::user(json!("Caveat: The messages below …"), json!({ "isMeta": true })),
        claude::user(
            json!("Caveat: The messages below were generated by the user while running local commands."),
            json!({}),
        ),
        claude::user(
            json!("<command-name>/compact</command-name>\n<command-message>compact</command-message>"),
            json!({}),
        ),
        claude::user(
            json!("<command-message>review</command-message>\n<command-name>/review</command-name>"),
            json!({}),
        ),
        claude::user(json!("<local-command-stdout>Compacted</local-command-stdout>"), json!({})),
        claude::user(json!("<bash-input>ls</bash-input>"), json!({})),
        claude::user(json!("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>"), json!({})),
        claude::user(
            json!([{ "type": "text", "text": "[Request interrupted by user for tool use]" }]),
            json!({}),
        ),
        claude::user(
            json!("<task-notification>\n<status>completed</status>\n</task-notification>"),
            json!({ "promptSource": "system", "turnOrigin": "task_notification" }),
        ),
        claude::record(
            "attachment",
            json!({ "attachment": { "type": "queued_command", "commandMode": "prompt", "prompt": "also this" } }),
        ),
        claude::record("queue-operation", json!({ "operation": "enqueue", "content": "also this" })),
    ];
    for no_prompt in no_prompts {
        let mut records =
            vec![claude::prompt("go"), claude::bash("a", "x"), no_prompt.clone(), claude::said("well")];
        for record in &mut records {
            record.as_object_mut().unwrap().remove("promptSource");
        }
        let reading = read(Agent::Claude, &records);
        assert_eq!(prompt_of(&reading), Some("go"), "{no_prompt}");
        assert_eq!(reading.calls.len(), 1);
    }
}

/// T5: a slash command that was sent to the model opens a turn: newer versions say so, in older ones its
/// expansion follows.
#[test]
fn t5_a_slash_command_that_reached_the_model_opens_a_turn() {
    let envelope = "<command-message>deploy</command-message>\n<command-name>/deploy</command-name>\n<command-args>web</command-args>";
    let newer = [
        claude::prompt("go"),
        claude::user(json!(envelope), json!({ "turnOrigin": "human", "promptId": "2" })),
    ];
    let older = [
        claude::prompt("go"),
        claude::user(json!(envelope), json!({ "promptId": "2" })),
        claude::user(
            json!([{ "type": "text", "text": "Deploy web" }]),
            json!({ "isMeta": true, "promptId": "2" }),
        ),
    ];
    for records in [newer.to_vec(), older.to_vec()] {
        assert_eq!(prompt_of(&read(Agent::Claude, &records)), Some("/deploy web"));
    }
}

/// T6: entries of sub-agents in the main file (older versions) start no turn, and their calls count for it.
#[test]
fn t6_sidechains_start_no_turn_and_count() {
    let side = |record: Value| {
        let mut record = record;
        record["isSidechain"] = json!(true);
        record["agentId"] = json!("a1");
        record
    };
    let reading = read(
        Agent::Claude,
        &[
            claude::prompt("go"),
            claude::tool("task", "Task", json!({ "prompt": "do it" })),
            side(claude::prompt("do it")),
            side(claude::bash("inner", "cargo test")),
            side(claude::result("inner", "test result: ok", false)),
            side(claude::said("inner words")),
            claude::result("task", "done", false),
            claude::said("outer words"),
        ],
    );
    assert_eq!(prompt_of(&reading), Some("go"));
    let inner = call(&reading, "inner");
    assert_eq!((inner.subagent.as_deref(), inner.outcome), (Some("a1"), Outcome::Ok));
    assert_eq!(call(&reading, "task").subagent, None);
    assert_eq!(reading.last_assistant.as_deref(), Some("outer words"));
}

/// T6: the files of sub-agents beside the main one are read, but only what they did since the turn began.
#[test]
fn t6_the_files_of_sub_agents_count_for_the_turn_that_was_running() {
    let folder = tempfile::tempdir().unwrap();
    let main = folder.path().join("s.jsonl");
    let agents = folder.path().join("s/subagents");
    std::fs::create_dir_all(&agents).unwrap();
    let at = |record: Value, time: &str| {
        let mut record = record;
        record["timestamp"] = json!(time);
        record
    };
    std::fs::write(
        &main,
        lines(&[
            at(claude::prompt("go"), "2026-01-01T10:00:00Z"),
            at(claude::bash("first", "x"), "2026-01-01T10:00:01Z"),
            at(claude::bash("last", "y"), "2026-01-01T10:00:09Z"),
        ]),
    )
    .unwrap();
    std::fs::write(
        agents.join("agent-a7.jsonl"),
        lines(&[
            at(claude::bash("yesterday", "old"), "2025-12-31T10:00:00Z"),
            at(claude::bash("inner", "cargo test"), "2026-01-01T10:00:05Z"),
            at(claude::result("inner", "ok", false), "2026-01-01T10:00:06Z"),
        ]),
    )
    .unwrap();
    std::fs::write(agents.join("agent-a7.meta.json"), "{}").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", agents.join("agent-evil.jsonl")).unwrap();
    let reading = transcript::read(&main, &Options::default());
    let seen: Vec<_> =
        reading.calls.iter().map(|call| (call.id.as_str(), call.subagent.as_deref())).collect();
    assert_eq!(seen, [("first", None), ("inner", Some("a7")), ("last", None)]);
    assert_eq!(call(&reading, "inner").line, Some(2));
}

/// T7: lines after the last assistant line mean nothing.
#[test]
fn t7_the_last_line_means_nothing() {
    let reading = read(
        Agent::Claude,
        &[
            claude::prompt("go"),
            claude::said("done"),
            claude::record("system", json!({ "subtype": "turn_duration" })),
            json!({ "type": "last-prompt", "lastPrompt": "go", "sessionId": "s" }),
        ],
    );
    assert_eq!(reading.last_assistant.as_deref(), Some("done"));
    assert_eq!(prompt_of(&reading), Some("go"));
}

/// T8: a line still being written, blank lines, bytes that are no UTF-8.
#[test]
fn t8_torn_blank_and_broken_lines() {
    let mut bytes = lines(&[claude::prompt("go"), claude::bash("a", "x")]);
    bytes.extend_from_slice(b"\n   \n");
    let mut broken = claude::result("a", "BYTES", false).to_string().into_bytes();
    let at = broken.windows(5).position(|window| window == b"BYTES").unwrap();
    broken.splice(at..at + 5, *b"caf\xe9!");
    bytes.extend_from_slice(&broken);
    bytes.extend_from_slice(b"\n{\"type\":\"assistant\",\"message\":{\"content\":[{\"ty");
    let reading =
        transcript::read_bytes(&bytes, &Options { agent: Some(Agent::Claude), ..Options::default() });
    assert_eq!((reading.coverage.understood, reading.coverage.records), (3, 4));
    assert_eq!(call(&reading, "a").snippet.as_deref(), Some("caf\u{fffd}!"));
    assert_eq!(reading.coverage.extent, Extent::Complete);
}

/// T8: a line of 5 MB and a base64 image neither break the reading nor stay in memory.
#[test]
fn t8_a_line_of_megabytes_and_an_image() {
    let big = format!("HEAD {} TAIL", "x".repeat(5_000_000));
    let image = claude::user(
        json!([
            { "type": "image", "source": { "type": "base64", "data": "QUJD".repeat(500_000) } },
            { "type": "text", "text": "what is this?" },
        ]),
        json!({ "promptSource": "typed" }),
    );
    let reading = read(Agent::Claude, &[image, claude::bash("a", "x"), claude::result("a", &big, false)]);
    assert_eq!(prompt_of(&reading), Some("[image]\nwhat is this?"));
    let snippet = call(&reading, "a").snippet.as_deref().unwrap();
    assert!(snippet.starts_with("HEAD xx") && snippet.ends_with("xx TAIL"));
    assert_eq!(snippet.chars().count(), 500);
}

/// T9: the turn began before the bytes that may be read. It is told; the first record seen is not taken for
/// the beginning.
#[test]
fn t9_a_turn_larger_than_the_bound_is_truncated() {
    let mut records = vec![claude::prompt("go")];
    for number in 0..200 {
        records.push(claude::bash(&format!("c{number}"), "x"));
    }
    let bytes = lines(&records);
    let bound = Options { max_bytes: bytes.len() as u64 / 2, ..Options::default() };
    let reading = transcript::read_bytes(&bytes, &bound);
    assert_eq!(reading.coverage.extent, Extent::Truncated);
    assert_eq!(prompt_of(&reading), None);
    assert!(reading.calls.len() > 80 && reading.calls.len() < 110, "{}", reading.calls.len());
    let whole = transcript::read_bytes(&bytes, &Options::default());
    assert_eq!((whole.coverage.extent, whole.calls.len()), (Extent::Complete, 200));
}

/// L1: turns that are judged together are read whole, or it is told that they were not.
#[test]
fn l1_an_earlier_turn_that_is_larger_than_the_bound_is_told() {
    let mut records = vec![claude::prompt("first")];
    for number in 0..200 {
        records.push(claude::bash(&format!("c{number}"), "x"));
    }
    records.extend([claude::prompt("go on"), claude::bash("last", "y")]);
    let bytes = lines(&records);
    let since = Some(TurnStart { id: None, at: jiff::Timestamp::UNIX_EPOCH, turns: 2 });
    let whole = Options { since, ..Options::default() };
    let reading = transcript::read_bytes(&bytes, &whole);
    assert_eq!((reading.coverage.extent, reading.calls.len()), (Extent::Complete, 201));
    let part = Options { max_bytes: bytes.len() as u64 / 2, ..whole };
    let reading = transcript::read_bytes(&bytes, &part);
    assert_eq!((prompt_of(&reading), reading.coverage.extent), (Some("go on"), Extent::Truncated));
    let reason = "an earlier turn without a verdict was not read in full";
    assert_eq!(reading.coverage.reason.as_deref(), Some(reason));
}

/// T9: the same for a prompt that was typed in the middle of a turn: it proves an earlier one.
#[test]
fn t9_a_steered_turn_larger_than_the_bound_is_truncated() {
    let with_turn = |payload: Value| {
        let mut payload = payload;
        payload["payload"]["internal_chat_message_metadata_passthrough"] = json!({ "turn_id": "t1" });
        payload
    };
    let mut records = vec![with_turn(codex::message("go")), codex::prompt("go")];
    for number in 0..100 {
        records.push(with_turn(codex::function(
            &format!("c{number}"),
            "shell",
            json!({ "command": ["ls"] }),
        )));
    }
    records.push(with_turn(codex::message("also this")));
    records.push(codex::prompt("also this"));
    records.push(with_turn(codex::function("last", "shell", json!({ "command": ["ls"] }))));
    let bytes = lines(&records);
    let whole = transcript::read_bytes(&bytes, &Options::default());
    assert_eq!((prompt_of(&whole), whole.calls.len()), (Some("go"), 101));
    let part =
        transcript::read_bytes(&bytes, &Options { max_bytes: bytes.len() as u64 / 2, ..Options::default() });
    assert_eq!((prompt_of(&part), part.coverage.extent), (None, Extent::Truncated));
}

/// T11: Gemini's old single document.
#[test]
fn t11_the_old_single_document() {
    let document = json!({
        "sessionId": "s", "projectHash": "h", "startTime": "x", "lastUpdated": "y",
        "messages": [
            { "id": "1", "type": "user", "content": "first", "timestamp": "2026-01-01T10:00:00Z" },
            { "id": "2", "type": "user", "content": "second", "timestamp": "2026-01-01T10:01:00Z" },
            gemini::model("3", "said", json!([gemini::shell("c", "Output: x\nExit Code: 2", "x")])),
        ],
    });
    for text in [document.to_string(), serde_json::to_string_pretty(&document).unwrap()] {
        let reading = transcript::read_bytes(text.as_bytes(), &Options::default());
        assert_eq!((reading.agent, prompt_of(&reading)), (Some(Agent::Gemini), Some("second")));
        assert_eq!(call(&reading, "c").exit_code, Some(2));
        assert_eq!(reading.coverage.records, 2);
    }
}

/// T12: the same id written again takes the place of the former record: last wins, first position.
#[test]
fn t12_the_same_id_again_supersedes() {
    let reading = read(
        Agent::Gemini,
        &[
            gemini::header(),
            gemini::user("1", "go"),
            gemini::model("2", "first words", json!([])),
            gemini::model("3", "second words", json!([])),
            gemini::model("2", "first words", json!([gemini::shell("c", "", "")])),
            json!({ "$set": { "messages": [gemini::user("9", "a summary")] } }),
        ],
    );
    let said: Vec<_> = reading.messages.iter().map(|message| message.text.as_str()).collect();
    assert_eq!(said, ["first words", "second words"]);
    assert_eq!(reading.messages[1].calls_before, 1);
    assert_eq!(prompt_of(&reading), Some("go"));
}

/// T12: a rewind makes its target and all that followed void; an unknown target makes everything void.
#[test]
fn t12_a_rewind_makes_records_void() {
    let records = [
        gemini::header(),
        gemini::user("1", "first"),
        gemini::model("2", "", json!([gemini::shell("kept", "", "")])),
        gemini::user("3", "second"),
        gemini::model("4", "", json!([gemini::shell("void", "", "")])),
        json!({ "$rewindTo": "3" }),
    ];
    let reading = read(Agent::Gemini, &records);
    assert_eq!(prompt_of(&reading), Some("first"));
    let ids: Vec<_> = reading.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["kept"]);

    let mut unknown = records.to_vec();
    unknown.push(json!({ "$rewindTo": "nobody" }));
    let reading = read(Agent::Gemini, &unknown);
    assert_eq!((prompt_of(&reading), reading.calls.len()), (None, 0));
    unknown.push(gemini::user("5", "third"));
    assert_eq!(prompt_of(&read(Agent::Gemini, &unknown)), Some("third"));
}

/// T13: a failing shell command has status `success`; the client's own footer tells, not what a program prints.
#[test]
fn t13_the_exit_code_of_gemini_stands_in_the_footer() {
    let footer = |lines: &str| {
        format!("<untrusted_context>\nOutput: {lines}Process Group PGID: 1\n</untrusted_context>")
    };
    for (output, display, outcome, exit_code) in [
        (footer("bad\nExit Code: 2\n"), "bad", Outcome::Error, Some(2)),
        (footer("fine\n"), "fine", Outcome::Ok, Some(0)),
        (footer("Exit Code: 9\n"), "Exit Code: 9", Outcome::Ok, Some(0)),
        (footer("Exit Code: 9\nExit Code: 9\n"), "Exit Code: 9", Outcome::Error, Some(9)),
        (footer("x\nSignal: 9\n"), "x", Outcome::Error, None),
        (footer("Signal: 9\n"), "Signal: 9", Outcome::Ok, Some(0)),
        ("Command: x\nOutput: y\nError: (none)\nExit Code: 0\nSignal: 0\nBackground PIDs: (none)\nProcess Group PGID: 7".to_owned(), "y", Outcome::Ok, Some(0)),
        ("Command: x\nOutput: y\nError: (none)\nExit Code: 1\nSignal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 7".to_owned(), "y", Outcome::Error, Some(1)),
        ("<untrusted_context>\nCommand moved to background (PID: 4802).\n</untrusted_context>".to_owned(), "", Outcome::Unknown, None),
    ] {
        let reading = read(Agent::Gemini, &[
            gemini::user("1", "go"),
            gemini::model("2", "", json!([gemini::shell("c", &output, display)])),
        ]);
        let call = call(&reading, "c");
        assert_eq!((call.outcome, call.exit_code), (outcome, exit_code), "{output}");
    }
}

/// T14: status `error` or `cancelled`, and `response.error`.
#[test]
fn t14_tool_errors_of_gemini() {
    let tool = |status: &str, response: Value| {
        json!([{ "id": "c", "name": "replace", "args": { "file_path": "a.py" }, "status": status,
                 "result": [{ "functionResponse": { "response": response } }] }])
    };
    for (status, response, outcome, user_stopped) in [
        ("error", json!({ "error": "not found" }), Outcome::Error, false),
        ("cancelled", json!({ "error": "cancelled" }), Outcome::Error, true),
        ("success", json!({ "error": "no match" }), Outcome::Error, false),
        ("success", json!({ "output": "ok" }), Outcome::Ok, false),
        ("executing", json!({}), Outcome::Unknown, false),
    ] {
        let reading =
            read(Agent::Gemini, &[gemini::user("1", "go"), gemini::model("2", "", tool(status, response))]);
        let call = call(&reading, "c");
        assert_eq!(
            (call.outcome, call.user_stopped, call.kind),
            (outcome, user_stopped, Kind::Edit),
            "{status}"
        );
    }
}

/// T15: where Codex says how a command ended, and only there: above `Output:`.
#[test]
fn t15_how_codex_says_that_a_command_ended() {
    for (output, outcome, exit_code) in [
        ("Chunk ID: a\nWall time: 1 s\nProcess exited with code 3\nOutput:\nx", Outcome::Error, Some(3)),
        ("Exit code: 0\nWall time: 1 s\nOutput:\nExit code: 7", Outcome::Ok, Some(0)),
        ("Wall time: 1 s\nOutput:\nProcess exited with code 0\nExit code: 0", Outcome::Unknown, None),
        (
            r#"{"output":"command timed out after 1000 milliseconds","metadata":{"exit_code":124,"duration_seconds":1.0}}"#,
            Outcome::Error,
            Some(124),
        ),
        (r#"{"output":"ok\n","metadata":{"exit_code":0,"duration_seconds":0.1}}"#, Outcome::Ok, Some(0)),
        ("command timed out after 1000 milliseconds", Outcome::Error, None),
        ("Process running with session ID 5\nOutput:\n", Outcome::Unknown, None),
    ] {
        let reading = read(
            Agent::Codex,
            &[
                codex::prompt("go"),
                codex::function("c", "shell", json!({ "command": ["bash", "-lc", "x"] })),
                codex::output("c", json!(output)),
            ],
        );
        let call = call(&reading, "c");
        assert_eq!((call.outcome, call.exit_code), (outcome, exit_code), "{output}");
    }
}

/// T16: commands as string or as list, under `command` or `cmd`.
#[test]
fn t16_commands_as_string_or_list() {
    for (name, arguments) in [
        ("shell", json!({ "command": ["bash", "-lc", "make test"] })),
        ("shell", json!({ "command": ["make", "test"] })),
        ("shell_command", json!({ "command": "make test" })),
        ("exec_command", json!({ "cmd": "make test" })),
        ("exec_command", json!({ "cmd": ["make", "test"] })),
    ] {
        let reading = read(Agent::Codex, &[codex::prompt("go"), codex::function("c", name, arguments)]);
        let call = call(&reading, "c");
        assert_eq!((call.kind, call.command.as_deref()), (Kind::Shell, Some("make test")));
    }
    let local = codex::item(json!({
        "type": "local_shell_call", "call_id": "c", "status": "completed",
        "action": { "type": "exec", "command": ["make", "test"] },
    }));
    let reading = read(Agent::Codex, &[codex::prompt("go"), local]);
    assert_eq!(call(&reading, "c").command.as_deref(), Some("make test"));
}

/// T17: `apply_patch` is a custom call that names its files, and its failure is plain text.
#[test]
fn t17_apply_patch_and_its_failure() {
    let patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Add File: b.py\n+z\n*** End Patch\n";
    let made = codex::item(
        json!({ "type": "custom_tool_call", "name": "apply_patch", "call_id": "c", "input": patch }),
    );
    let ended = |text: &str| {
        codex::item(json!({ "type": "custom_tool_call_output", "call_id": "c", "output": text }))
    };
    for (text, outcome) in [
        ("Exit code: 0\nOutput:\nSuccess. Updated the following files:\nM a.py", Outcome::Ok),
        ("apply_patch verification failed: Failed to find expected lines", Outcome::Error),
    ] {
        let reading = read(Agent::Codex, &[codex::prompt("go"), made.clone(), ended(text)]);
        let call = call(&reading, "c");
        assert_eq!((call.kind, call.outcome, call.exit_code), (Kind::Edit, outcome, None));
        assert_eq!(
            (call.paths.as_slice(), call.created.as_slice()),
            (["a.py".to_owned(), "b.py".to_owned()].as_slice(), ["b.py".to_owned()].as_slice())
        );
    }
}

/// T18: what Codex writes in the user's name, in files that do not mark it.
#[test]
fn t18_what_is_no_prompt_in_codex() {
    for text in [
        "# AGENTS.md instructions for /home/dev/x\n\n<INSTRUCTIONS>\n…",
        "<user_instructions>\n…",
        "<environment_context>\n  <cwd>/x</cwd>",
        "<turn_aborted>\nThe user interrupted",
        "<skill>\n<name>x</name>",
        "<plugins>\n…",
        "<goal_context>…",
        "<user_shell_command>\n<command>ls</command>",
        "<subagent_notification>…",
        "Warning: apply_patch was requested via shell. Use the apply_patch tool instead of exec_command.",
        "words that a future version puts here",
    ] {
        let reading = read(
            Agent::Codex,
            &[
                codex::message("go"),
                codex::prompt("go"),
                codex::function("c", "shell", json!({ "command": ["ls"] })),
                codex::message(text),
                codex::function("d", "shell", json!({ "command": ["ls"] })),
            ],
        );
        assert_eq!((prompt_of(&reading), reading.calls.len()), (Some("go"), 2), "{text}");
    }
    // A file without events: the messages are all there is.
    let reading = read(
        Agent::Codex,
        &[
            codex::message("<environment_context>x"),
            codex::message("first"),
            codex::message("second"),
            codex::function("c", "shell", json!({ "command": ["ls"] })),
        ],
    );
    assert_eq!(prompt_of(&reading), Some("second"));
}

/// T19: unknown newer records are skipped, and the coverage shows it; when most are unknown, nothing is said.
#[test]
fn t19_unknown_records_lower_the_coverage() {
    let unknown = json!({ "timestamp": "x", "type": "quantum_state", "payload": {} });
    let unknown_item = codex::item(json!({ "type": "hologram" }));
    let mut records = vec![
        codex::prompt("go"),
        unknown,
        unknown_item,
        codex::function("c", "shell", json!({ "command": ["ls"] })),
    ];
    let reading = read(Agent::Codex, &records);
    assert_eq!((reading.coverage.understood, reading.coverage.records), (2, 4));
    assert_eq!((reading.coverage.extent, reading.calls.len()), (Extent::Complete, 1));
    records.insert(1, codex::event(json!({ "type": "telepathy" })));
    let reading = read(Agent::Codex, &records);
    assert_eq!((reading.coverage.extent, reading.calls.len()), (Extent::Unavailable, 0));
    assert_eq!(reading.coverage.reason.as_deref(), Some("understood 2 of 5 records"));
}

/// T20: one response spans several lines and repeats its usage: it counts once, and a notice without usage
/// does not hide it.
#[test]
fn t20_usage_counts_once_per_response() {
    let spoke = |text: &str, tokens: u64, model: &str| {
        claude::record(
            "assistant",
            json!({ "message": {
                "id": "m1", "model": model, "content": [{ "type": "text", "text": text }],
                "usage": { "input_tokens": tokens, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 100, "output_tokens": 1 },
            }}),
        )
    };
    let notice = claude::record(
        "assistant",
        json!({ "message": {
            "id": "m2", "model": "<synthetic>", "content": [{ "type": "text", "text": "API Error" }],
            "usage": { "input_tokens": 0, "output_tokens": 0 },
        }}),
    );
    let reading = read(
        Agent::Claude,
        &[
            claude::prompt("go"),
            spoke("one", 79_889, "claude-opus-4-1"),
            spoke("two", 79_889, "claude-opus-4-1"),
            notice,
        ],
    );
    let usage = reading.usage.unwrap();
    assert_eq!((usage.tokens, usage.window, usage.percent), (80_000, Some(200_000), Some(40)));
    assert_eq!(usage.model.as_deref(), Some("claude-opus-4-1"));
}

/// T20: after a compaction the usage of earlier responses is void.
#[test]
fn t20_a_compaction_resets_the_usage() {
    let boundary = claude::record(
        "system",
        json!({ "subtype": "compact_boundary", "compactMetadata": { "trigger": "auto", "postTokens": 2593 } }),
    );
    let reading = read(Agent::Claude, &[claude::prompt("go"), claude::said("x"), boundary]);
    assert_eq!(reading.usage.unwrap().tokens, 2593);
    let empty = codex::event(
        json!({ "type": "token_count", "info": { "last_token_usage": { "total_tokens": 0 }, "model_context_window": 1000 } }),
    );
    let full = codex::event(
        json!({ "type": "token_count", "info": { "last_token_usage": { "total_tokens": 400 }, "model_context_window": 1000 } }),
    );
    let reading = read(Agent::Codex, &[codex::prompt("go"), full, empty]);
    assert_eq!(reading.usage.unwrap().percent, Some(40));
}

/// T21: before the client has flushed its last lines, the reading differs from the payload's last message;
/// after it, they agree.
#[test]
fn t21_the_last_message_tells_whether_everything_is_written() {
    let sample = |name: &str| crate::samples::folder().join("claude").join(name);
    let unflushed =
        transcript::read(&sample("2.1.325-at-stop-fasthook-unflushed.jsonl"), &Options::default());
    assert_eq!((prompt_of(&unflushed), unflushed.last_assistant.as_deref()), (Some("prompt 5"), None));
    let flushed = transcript::read(&sample("2.1.325-at-stop-slowhook.jsonl"), &Options::default());
    assert_eq!(flushed.last_assistant.as_deref(), Some("All done: add() fixed and the tests pass."));
}

/// T22: results of megabytes in every client's shape are kept as snippets.
#[test]
fn t22_results_are_kept_as_snippets() {
    let big = "line of output\n".repeat(200_000);
    let readings = [
        read(
            Agent::Claude,
            &[claude::prompt("go"), claude::bash("c", "x"), claude::result("c", &big, false)],
        ),
        read(
            Agent::Gemini,
            &[gemini::user("1", "go"), gemini::model("2", "", json!([gemini::shell("c", &big, &big)]))],
        ),
        read(
            Agent::Codex,
            &[
                codex::prompt("go"),
                codex::function("c", "shell", json!({ "command": ["ls"] })),
                codex::output("c", json!(format!("Exit code: 0\nOutput:\n{big}"))),
            ],
        ),
    ];
    for reading in readings {
        assert_eq!(call(&reading, "c").outcome, Outcome::Ok);
        assert!(call(&reading, "c").snippet.as_deref().unwrap().chars().count() <= 500);
    }
}

/// A call that went to the background is neither passed nor failed until the notification comes.
#[test]
fn background_calls_get_their_outcome_from_the_notification() {
    let started = claude::user(
        json!([{ "type": "tool_result", "tool_use_id": "c", "content": "Command running in background with ID: b1", "is_error": false }]),
        json!({ "toolUseResult": { "stdout": "", "backgroundTaskId": "b1" } }),
    );
    let notice = |status: &str, summary: &str| {
        claude::record(
            "attachment",
            json!({ "attachment": {
                "type": "queued_command", "commandMode": "task-notification",
                "prompt": format!("<task-notification>\n<task-id>b1</task-id>\n<tool-use-id>c</tool-use-id>\n<status>{status}</status>\n<summary>{summary}</summary>\n</task-notification>"),
            }}),
        )
    };
    let mut records = vec![claude::prompt("go"), claude::bash("c", "cargo test"), started];
    let running = read(Agent::Claude, &records);
    assert_eq!((call(&running, "c").outcome, call(&running, "c").exit_code), (Outcome::Unknown, None));
    for (status, summary, outcome, exit_code) in [
        ("completed", "Background command \"x\" completed (exit code 0)", Outcome::Ok, Some(0)),
        ("failed", "Background command \"x\" failed with exit code 9", Outcome::Error, Some(9)),
        ("killed", "Background command \"x\" was stopped", Outcome::Unknown, None),
    ] {
        records.push(notice(status, summary));
        let reading = read(Agent::Claude, &records);
        assert_eq!(
            (call(&reading, "c").outcome, call(&reading, "c").exit_code),
            (outcome, exit_code),
            "{status}"
        );
        records.pop();
    }
}

/// Every kind of edit names all of its files.
#[test]
fn edits_name_all_their_files() {
    let reading = read(
        Agent::Claude,
        &[
            claude::prompt("go"),
            claude::tool(
                "m",
                "MultiEdit",
                json!({ "file_path": "/a.py", "edits": [{ "old_string": "x" }, { "file_path": "/b.py" }] }),
            ),
            claude::tool("n", "NotebookEdit", json!({ "notebook_path": "/n.ipynb", "new_source": "x" })),
            claude::tool("w", "Write", json!({ "file_path": "/w.py", "content": "x" })),
        ],
    );
    assert_eq!(call(&reading, "m").paths, ["/a.py", "/b.py"]);
    assert_eq!(
        (call(&reading, "m").kind, call(&reading, "n").kind, call(&reading, "w").kind),
        (Kind::Edit, Kind::Edit, Kind::Write)
    );
    assert_eq!(call(&reading, "n").path.as_deref(), Some("/n.ipynb"));
}
