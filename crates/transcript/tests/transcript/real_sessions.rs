//! The cases that real sessions showed (W), by name.

use contents::Nature;
use outputs::Summary;
use serde_json::{Value, json};
use transcript::{Agent, Kind, Options, Outcome, Reading, WalkedTurn};

use crate::host::{claude, codex, gemini};
use crate::write::{call, lines, prompt_of, read};

fn walk(agent: Agent, records: &[Value]) -> Vec<WalkedTurn> {
    let bytes = lines(records);
    transcript::walk_bytes(&bytes, &Options { agent: Some(agent), ..Options::default() }).unwrap().collect()
}

fn summary(reading: &Reading, id: &str) -> Option<Summary> {
    call(reading, id).output.shown().and_then(|shown| shown.summary())
}

/// A result with the tool's own account of it.
fn claude_result(id: &str, text: &str, account: Value) -> Value {
    claude::user(
        json!([{ "type": "tool_result", "tool_use_id": id, "content": text }]),
        json!({ "toolUseResult": account }),
    )
}

fn notification(task: &str, call: &str, status: &str, summary: &str) -> Value {
    let text = format!(
        "<task-notification>\n<task-id>{task}</task-id>\n<tool-use-id>{call}</tool-use-id>\n<status>{status}</status>\n\
         <summary>{summary}</summary>\n</task-notification>"
    );
    claude::user(json!(text), json!({}))
}

/// W4: the summary stands in the middle of a long output, of which only the ends are kept.
#[test]
fn w4_what_the_whole_output_shows_is_kept() {
    let output =
        format!("{}\n==== 3 failed, 4 passed in 0.12s ====\n{}", "a\n".repeat(5000), "b\n".repeat(5000));
    let red = Some(Summary::Failed { tests: Some(3) });
    let reading = read(
        Agent::Claude,
        &[
            claude::prompt("go"),
            claude::bash("a", "pytest | cat; tree"),
            claude_result("a", "shortened", json!({ "stdout": output, "stderr": "" })),
            claude::bash("b", "pytest | cat; tree"),
            claude::result("b", &output, false),
        ],
    );
    assert_eq!((summary(&reading, "a"), summary(&reading, "b")), (red, red));
    let header = "Chunk ID: 1\nProcess exited with code 0\nOutput:\n";
    let reading = read(
        Agent::Codex,
        &[
            codex::prompt("go"),
            codex::function("a", "exec_command", json!({ "cmd": "pytest | cat", "workdir": "/w" })),
            codex::output("a", json!(format!("{header}{output}"))),
        ],
    );
    assert_eq!((summary(&reading, "a"), call(&reading, "a").cwd.as_deref()), (red, Some("/w")));
    let shell = gemini::shell("a", &format!("Output: {output}"), &output);
    let reading = read(Agent::Gemini, &[gemini::user("1", "go"), gemini::model("2", "", json!([shell]))]);
    assert_eq!(summary(&reading, "a"), red);
}

/// W5, W21: what an edit did to the text is known in every client's words.
#[test]
fn w5_w21_what_an_edit_did_is_known() {
    let (old, new) = ("x = 1\n# why\n", "x = 1\n# because\n");
    let claude = read(
        Agent::Claude,
        &[
            claude::prompt("go"),
            claude::tool(
                "a",
                "Edit",
                json!({ "file_path": "/w/a.py", "old_string": old, "new_string": new }),
            ),
            claude_result(
                "a",
                "done",
                json!({ "filePath": "/w/a.py", "oldString": old, "newString": new, "originalFile": format!("y = 2\n{old}"),
                        "replaceAll": false, "userModified": false, "structuredPatch": [] }),
            ),
            claude::tool("b", "Write", json!({ "file_path": "/w/a.py", "content": format!("y = 2\n{old}") })),
            claude_result(
                "b",
                "done",
                json!({ "type": "update", "filePath": "/w/a.py", "content": format!("y = 2\n{old}"),
                        "originalFile": format!("y = 2\n{new}") }),
            ),
        ],
    );
    let (there, back) = (&call(&claude, "a").edits[0], &call(&claude, "b").edits[0]);
    assert_eq!((there.nature.get(), there.whole, there.path.as_str()), (Nature::Comments, true, "/w/a.py"));
    assert_eq!((there.before, there.after), (back.after, back.before));

    let patch = |from: &str, to: &str| {
        format!("*** Begin Patch\n*** Update File: a.py\n@@\n x = 1\n-{from}\n+{to}\n*** End Patch")
    };
    let patched = |id: &str, from: &str, to: &str| {
        let input = patch(from, to);
        codex::item(
            json!({ "type": "custom_tool_call", "name": "apply_patch", "input": input, "call_id": id }),
        )
    };
    let codex = read(
        Agent::Codex,
        &[codex::prompt("go"), patched("a", "# why", "# because"), patched("b", "# because", "# why")],
    );
    let (there, back) = (&call(&codex, "a").edits[0], &call(&codex, "b").edits[0]);
    assert_eq!((there.nature.get(), there.before, there.after), (Nature::Comments, back.after, back.before));

    let replace = json!([{
        "id": "a", "name": "replace", "status": "success",
        "args": { "file_path": "/w/a.py", "old_string": old, "new_string": new },
        "resultDisplay": { "fileName": "a.py", "originalContent": old, "newContent": new },
    }]);
    let gemini = read(Agent::Gemini, &[gemini::user("1", "go"), gemini::model("2", "", replace)]);
    let edit = &call(&gemini, "a").edits[0];
    assert_eq!((edit.nature.get(), edit.whole), (Nature::Comments, true));
}

/// W9: the result of tests in the background belongs to the command that started them, whoever tells it.
#[test]
fn w9_a_result_that_came_later_belongs_to_its_command() {
    let started = |id: &str, task: &str| {
        [
            claude::bash(id, "pytest -q"),
            claude_result(
                id,
                "Command running in background",
                json!({ "stdout": "", "backgroundTaskId": task }),
            ),
        ]
    };
    let mut records = vec![claude::prompt("go")];
    records.extend(started("a", "task-a"));
    records.push(claude::tool("poll", "TaskOutput", json!({ "task_id": "task-a" })));
    records.push(claude_result(
        "poll",
        "see below",
        json!({ "retrieval_status": "success", "task": { "task_id": "task-a", "status": "failed", "exitCode": 1,
                "output": "==== 1 failed in 0.12s ====\n" } }),
    ));
    records.extend(started("b", "task-b"));
    records.push(claude::tool("look", "BashOutput", json!({ "bash_id": "task-b" })));
    records.push(claude_result(
        "look",
        "see below",
        json!({ "shellId": "task-b", "status": "completed", "exitCode": 0, "stdout": "==== 2 passed in 0.12s ====\n" }),
    ));
    records.extend(started("c", "task-c"));
    records.push(notification(
        "task-c",
        "c",
        "completed",
        "Background command \"x\" completed (exit code 0)",
    ));
    let reading = read(Agent::Claude, &records);
    let ended = |id: &str| (call(&reading, id).outcome, call(&reading, id).exit_code, summary(&reading, id));
    assert_eq!(ended("a"), (Outcome::Error, Some(1), Some(Summary::Failed { tests: Some(1) })));
    assert_eq!(ended("b"), (Outcome::Ok, Some(0), Some(Summary::Passed { tests: Some(2) })));
    assert_eq!(ended("c"), (Outcome::Ok, Some(0), None));
}

/// W10, W29: a slash command, a plugin's too, opens a turn in versions that do not name turns.
#[test]
fn w10_w29_slash_commands_open_turns_in_old_clients() {
    let command = |name: &str| {
        let text = format!("<command-message>{name}</command-message>\n<command-name>/{name}</command-name>");
        claude::user(json!(text), json!({}))
    };
    let expansion = claude::user(json!([{ "type": "text", "text": "Do this." }]), json!({ "isMeta": true }));
    let records = [
        claude::prompt("first"),
        claude::bash("a", "ls"),
        claude::said("Done."),
        command("plugin:review"),
        expansion.clone(),
        claude::bash("b", "ls"),
        claude::said("Reviewed."),
        // Of a skill that the agent itself uses, the words stand behind its call.
        claude::tool("c", "Skill", json!({ "skill": "x" })),
        claude::result("c", "Launching skill", false),
        expansion,
        claude::bash("d", "ls"),
        command("model"),
        claude::user(json!("<local-command-stdout>set</local-command-stdout>"), json!({})),
        claude::said("Still the same turn."),
    ];
    let turns = walk(Agent::Claude, &records);
    let found: Vec<_> = turns
        .iter()
        .map(|turn| (prompt_of(&turn.reading), turn.reading.turn.as_ref().and_then(|turn| turn.line)))
        .collect();
    assert_eq!(found, [(Some("first"), Some(1)), (Some("/plugin:review"), Some(4))]);
    let reading = read(Agent::Claude, &records);
    assert_eq!((prompt_of(&reading), reading.calls.len()), (Some("/plugin:review"), 3));
}

/// W12: files that were read or edited earlier in the session are known.
#[test]
fn w12_files_of_earlier_turns_are_known() {
    let records = [
        claude::prompt("first"),
        claude::tool("a", "Read", json!({ "file_path": "/w/a.py" })),
        claude::tool("b", "Write", json!({ "file_path": "/w/b.py", "content": "" })),
        claude::prompt("second"),
        claude::tool("c", "Edit", json!({ "file_path": "/w/c.py", "old_string": "a", "new_string": "b" })),
    ];
    let reading = read(Agent::Claude, &records);
    assert_eq!(reading.session.known_files, ["/w/a.py", "/w/b.py"]);
    let walked = walk(Agent::Claude, &records);
    assert_eq!(walked[0].reading.session.known_files, [""; 0]);
    assert_eq!(walked[1].reading.session, reading.session);
}

/// W13: scripts of Codex's code mode contain their commands; what still runs is joined to what is told of it later.
#[test]
fn w13_code_mode_scripts_run_their_commands() {
    let exec = |id: &str, script: &str| {
        codex::item(json!({ "type": "custom_tool_call", "name": "exec", "input": script, "call_id": id }))
    };
    let printed = |id: &str, head: &str, text: &str| {
        let blocks = json!([
            { "type": "input_text", "text": format!("{head}\nWall time 1.0 seconds\nOutput:\n") },
            { "type": "input_text", "text": text },
        ]);
        codex::item(json!({ "type": "custom_tool_call_output", "call_id": id, "output": blocks }))
    };
    let running = json!({ "session_id": 7, "output": "collecting" }).to_string();
    let over = json!({ "exit_code": 1, "output": "==== 1 failed in 0.12s ====\n" }).to_string();
    let patch = json!({ "/w/a.py": { "type": "update", "unified_diff": "@@ -1 +1 @@\n-x = 1\n+x = 2\n" } });
    let records = [
        codex::prompt("go"),
        exec(
            "a",
            r#"const r = await tools.exec_command({cmd:"go test ./...","workdir":"/w"}); text(r.output);"#,
        ),
        printed("a", "Script completed", "ok  \texample.com/a\t0.01s\n"),
        exec("b", "text(await tools.exec_command({cmd: 'pytest'}))"),
        printed("b", "Script completed", &running),
        exec("c", "text(await tools.write_stdin({session_id: 7}))"),
        printed("c", "Script completed", &over),
        exec("d", "tools.apply_patch(patch)"),
        codex::event(
            json!({ "type": "patch_apply_end", "call_id": "exec-1", "success": true, "changes": patch }),
        ),
        exec("e", "text(await tools.exec_command({cmd: 'make'}))"),
        printed("e", "Script running with cell ID 3", ""),
        codex::function("f", "wait", json!({ "cell_id": "3" })),
        codex::output("f", json!("Script completed\nWall time 9 seconds\nOutput:\nmake: done\n")),
    ];
    let reading = read(Agent::Codex, &records);
    let told = |id: &str| {
        let call = call(&reading, id);
        (call.kind, call.command.as_deref(), call.outcome, call.exit_code, call.is_status_hidden)
    };
    assert_eq!(told("a"), (Kind::Shell, Some("go test ./..."), Outcome::Unknown, None, true));
    assert_eq!(summary(&reading, "a"), Some(Summary::Passed { tests: None }));
    assert_eq!(call(&reading, "a").cwd.as_deref(), Some("/w"));
    assert_eq!(told("b"), (Kind::Shell, Some("pytest"), Outcome::Error, Some(1), false));
    assert_eq!(summary(&reading, "b"), Some(Summary::Failed { tests: Some(1) }));
    assert_eq!(told("c"), (Kind::Other, None, Outcome::Ok, None, false));
    assert_eq!(told("e"), (Kind::Shell, Some("make"), Outcome::Unknown, None, true));
    let patched = call(&reading, "exec-1");
    assert_eq!((patched.kind, patched.paths.as_slice()), (Kind::Edit, ["/w/a.py".to_owned()].as_slice()));
    assert_eq!(patched.edits[0].nature.get(), Nature::Code);
}

/// W16: what sub-agents did is told inside of `agent_progress` records too.
#[test]
fn w16_the_calls_of_sub_agents_in_progress_records() {
    let progress = |message: Value| {
        claude::record(
            "progress",
            json!({ "data": { "message": message, "type": "agent_progress", "agentId": "a1" } }),
        )
    };
    let reading = read(
        Agent::Claude,
        &[
            claude::prompt("go"),
            claude::tool("t", "Task", json!({ "prompt": "look" })),
            progress(claude::bash("inner", "cargo test")),
            progress(claude::result("inner", "Exit code 101\nerror", true)),
            claude::record("progress", json!({ "data": { "type": "bash_progress", "output": "x" } })),
            claude::result("t", "found it", false),
        ],
    );
    let inner = call(&reading, "inner");
    assert_eq!((inner.command.as_deref(), inner.exit_code), (Some("cargo test"), Some(101)));
    assert_eq!((inner.subagent.as_deref(), reading.coverage.understood), (Some("a1"), 6));
}

/// W26: sub-agents that were launched and have not answered, in this turn or before.
#[test]
fn w26_sub_agents_that_have_not_answered() {
    let launched = |id: &str, agent: &str| {
        [
            claude::tool(id, "Agent", json!({ "prompt": "look", "run_in_background": true })),
            claude_result(
                id,
                "launched",
                json!({ "isAsync": true, "status": "async_launched", "agentId": agent }),
            ),
        ]
    };
    let mut records = vec![claude::prompt("first")];
    records.extend(launched("a", "agent-a"));
    records.extend(launched("b", "agent-b"));
    records.push(claude::prompt("second"));
    records.push(notification("agent-a", "a", "completed", "Agent \"x\" finished"));
    let unanswered = |records: &[Value], agent| {
        let walked: Vec<_> =
            walk(agent, records).into_iter().map(|turn| turn.reading.session.unanswered).collect();
        assert_eq!(walked.last(), Some(&read(agent, records).session.unanswered));
        walked
    };
    assert_eq!(unanswered(&records, Agent::Claude), [vec!["agent-a", "agent-b"], vec!["agent-b"]]);

    let spawned = |id: &str, answer: Value| {
        [
            codex::function(id, "spawn_agent", json!({ "message": "look" })),
            codex::output(id, json!(answer.to_string())),
        ]
    };
    let mut records = vec![codex::prompt("go")];
    records.extend(spawned("a", json!({ "task_name": "/root/a" })));
    records.extend(spawned("b", json!({ "agent_id": "b-1" })));
    records.extend(spawned("c", json!({ "agent_id": "c-1" })));
    assert_eq!(unanswered(&records, Agent::Codex), [["/root/a", "b-1", "c-1"]]);
    records
        .push(codex::item(json!({ "type": "agent_message", "id": "m", "author": "/root/a", "content": [] })));
    records.push(codex::message("<subagent_notification>\n{\"agent_path\":\"b-1\",\"status\":\"done\"}"));
    records.push(codex::function("d", "close_agent", json!({ "target": "c-1" })));
    assert_eq!(unanswered(&records, Agent::Codex), [[""; 0]]);
}

/// The agent plans until it edits, or until its plan is accepted.
#[test]
fn an_agent_plans_until_its_first_edit() {
    let planning = |more: &[Value]| {
        let mut records = vec![claude::user(json!("plan it"), json!({ "permissionMode": "plan" }))];
        records.extend_from_slice(more);
        read(Agent::Claude, &records).session.is_planning
    };
    assert!(planning(&[claude::bash("a", "ls")]));
    assert!(!planning(&[claude::tool("a", "ExitPlanMode", json!({ "plan": "p" }))]));
    let edit = json!({ "file_path": "/w/a.py", "old_string": "a", "new_string": "b" });
    assert!(!planning(&[claude::tool("a", "Edit", edit)]));
    assert!(!planning(&[claude::prompt("go")]));
}

/// W28: shells under other tools' names are shells; how their commands ended is not told.
#[test]
fn w28_shells_under_other_names() {
    let reading = read(
        Agent::Claude,
        &[
            claude::prompt("go"),
            claude::tool("a", "mcp__workspace__bash", json!({ "command": "npm test" })),
            claude_result("a", "ok", json!([{ "type": "text", "text": "ok" }])),
            claude::tool("b", "mcp__host__run", json!({ "cmd": "make" })),
            claude::tool("c", "mcp__page__open", json!({ "url": "x" })),
            claude::tool("d", "PowerShell", json!({ "command": "npx vitest run" })),
        ],
    );
    let shells: Vec<_> = reading.calls.iter().map(|call| (call.kind, call.command.as_deref())).collect();
    assert_eq!(
        shells,
        [
            (Kind::Shell, Some("npm test")),
            (Kind::Shell, Some("make")),
            (Kind::Other, None),
            (Kind::Shell, Some("npx vitest run")),
        ]
    );
    let hidden = call(&reading, "a");
    assert_eq!((hidden.outcome, hidden.exit_code, hidden.is_status_hidden), (Outcome::Unknown, None, true));
}
