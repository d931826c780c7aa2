//! The client of the protocol's own Python SDK, and every version of the protocol.

use sandbox::RunToEnd as _;
use serde_json::{Value, json};

use super::client::McpClient;
use super::{POLICY, TOOLS, writable};
use crate::program::python_environment;
use crate::workplace::Workplace;

/// What the SDK's client got.
fn peer(workplace: &Workplace, mode: &str, consent: Option<&str>, calls: &[(&str, Value)]) -> Value {
    let python = python_environment("mcp-python", &["tests/python/mcp-requirements.txt"]).join("bin/python");
    let server = workplace.checkstone(&[]);
    let environment: Value = server
        .get_envs()
        .map(|(name, value)| (name.to_str().unwrap().to_owned(), json!(value.unwrap_or_default().to_str())))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let calls: Vec<Value> =
        calls.iter().map(|(tool, arguments)| json!({"tool": tool, "arguments": arguments})).collect();
    let order = json!({
        "program": server.get_program().to_str(),
        "environment": environment,
        "folder": workplace.repo(),
        "mode": mode,
        "consent": consent,
        "calls": calls,
    });
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/mcp_peer.py");
    let answer = std::process::Command::new(python).arg(script).answer_to(order.to_string());
    assert_eq!(answer.code, Some(0), "{answer}");
    serde_json::from_str(&answer.stdout).unwrap()
}

/// Every tool is called once, by the newest protocol and by the one with a handshake; the SDK validates each answer against
/// the schema that the server published.
#[test]
fn every_tool_answers_the_sdk() {
    for (mode, version) in [("auto", "2026-07-28"), ("legacy", "2025-11-25")] {
        let workplace = writable(POLICY);
        workplace.write(
            "plan.toml",
            "title = \"study\"\n[[stage]]\nstageId = \"S01_load_data\"\ngoal = \"Make some data\"\ncommand = \"true\"\n",
        );
        workplace.turn(&[("cargo test", true)]);
        workplace.hook("UserPromptSubmit", json!({"prompt": "Fix it"}));
        workplace.write("src/lib.rs", "pub fn two() -> u32 { 2 }\n");
        workplace.hook("Stop", json!({"stop_hook_active": false}));
        let workflow = json!({"command": "implement", "feature": "parser"});
        let with = |more: Value| {
            let mut both = workflow.clone();
            both.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            both
        };
        let run = json!({"reportTitle": "study", "runId": "r0"});
        let saved = json!({"reportTitle": "study", "runId": "r0", "stageId": "S01_load_data", "artifacts": ["README.md"],
            "researchSessionID": "ses_1", "status": "saved", "trustLevel": "local", "executionCount": 3, "keepCount": 2});
        let handoff = json!({"mode": "code", "instructions": "Write the parser"});
        let document =
            workplace.run(&["handoff", "new", "--mode=code", "--instructions=Write it", "--json"]).stdout;
        let calls: [(&str, Value); 22] = [
            ("check", json!({})),
            ("explain", json!({})),
            ("status", json!({})),
            ("timeline", json!({})),
            ("unproven", json!({"worktree": true})),
            ("snapshot_create", json!({"message": "--not an option"})),
            ("snapshot_list", json!({"all": true})),
            ("snapshot_diff", json!({"snapshot": "latest", "paths": ["src"]})),
            ("snapshot_restore", json!({"snapshot": "latest", "paths": ["src"]})),
            ("workflow_start", workflow.clone()),
            (
                "workflow_phase",
                with(json!({"phase": "implementation", "status": "complete", "summary": "Parses",
                "created": ["src/parser.rs"], "data": {"reviewer": "me"}})),
            ),
            ("workflow_resume_point", workflow.clone()),
            ("workflow_gate", workflow.clone()),
            ("handoff_new", handoff),
            ("handoff_check", json!({"document": document})),
            ("checkpoint_save", saved),
            ("checkpoint_list", run.clone()),
            ("checkpoint_validate", json!({"checkpointId": "none", "reportTitle": "study", "runId": "r0"})),
            ("checkpoint_resume", run),
            ("run_start", json!({"plan": "plan.toml", "id": "r1", "jobs": 2})),
            ("run_status", json!({})),
            ("run_abort", json!({"run": "r1"})),
        ];
        assert_eq!(calls.each_ref().map(|(tool, _)| *tool), TOOLS);
        let told = peer(&workplace, mode, Some("accept"), &calls);
        assert_eq!(told["version"], version);
        assert_eq!(told["tools"], json!(TOOLS));
        let results = told["results"].as_array().unwrap();
        assert_eq!(results.len(), TOOLS.len());
        let asked = told["asked"].as_array().unwrap();
        assert_eq!(asked.len(), 1, "{asked:?}");
        for (tool, result) in TOOLS.iter().zip(results) {
            // The run may have ended by itself before it is aborted.
            if *tool != "run_abort" {
                assert_eq!((tool, &result["error"]), (tool, &json!(false)), "{result:#}");
                assert!(result["structured"].is_object(), "{tool}: {result:#}");
            }
        }
    }
}

/// A restore happens only after a yes, however the client is asked.
#[test]
fn a_restore_needs_a_yes() {
    let refused = |why: &str| {
        format!(
            "error: `snapshot_restore` needs a person's consent: {why}\nhint: run the command in a terminal: \
             `checkstone snapshot restore -- latest`"
        )
    };
    for mode in ["auto", "legacy"] {
        let workplace = writable(POLICY);
        assert_eq!(workplace.run(&["snapshot", "create"]).code, Some(0));
        workplace.write("src/lib.rs", "changed\n");
        let restore = [("snapshot_restore", json!({"snapshot": "latest"}))];
        let code = || std::fs::read_to_string(workplace.repo().join("src/lib.rs")).unwrap();
        for (consent, why) in [
            (None, "this client cannot ask"),
            (Some("decline"), "it was not given"),
            (Some("cancel"), "it was not given"),
        ] {
            let told = peer(&workplace, mode, consent, &restore);
            assert_eq!(told["results"][0]["texts"], json!([refused(why)]), "{mode} {consent:?}");
            assert_eq!(code(), "changed\n");
        }
        let told = peer(&workplace, mode, Some("accept"), &restore);
        assert_eq!(told["results"][0]["error"], false, "{told:#}");
        assert_eq!(code(), "pub fn one() -> u32 { 1 }\n");
        let question = format!(
            "The agent wants to run `checkstone snapshot restore -- latest` in `{}`. It overwrites files of the \
             working tree; a snapshot of the current state is taken first, and `checkstone snapshot restore --undo` restores \
             that.",
            workplace.repo().display()
        );
        assert_eq!(told["asked"], json!([question]));
    }
}

/// A yes to one question is none to another.
#[test]
fn a_yes_counts_for_what_was_asked() {
    let workplace = writable(POLICY);
    assert_eq!(workplace.run(&["snapshot", "create"]).code, Some(0));
    workplace.write("src/lib.rs", "changed\n");
    workplace.write("README.md", "changed\n");
    let mut client = McpClient::start(&mut workplace.checkstone(&["mcp"]));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    });
    let mut call = |paths: Value, more: Value| {
        let arguments = json!({"snapshot": "latest", "paths": paths});
        let mut params = json!({"name": "snapshot_restore", "arguments": arguments, "_meta": meta});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client.request("tools/call", params)
    };
    let yes = json!({"consent": {"action": "accept", "content": {"consent": true}}});
    let asked = call(json!(["README.md"]), json!({}));
    assert_eq!(asked["resultType"], "input_required", "{asked:#}");
    let brought = json!({"inputResponses": yes, "requestState": asked["requestState"]});
    // The client's word for another file, a word that nobody gave, and the first one once more: each is asked about anew.
    assert_eq!(call(json!(["src"]), brought.clone())["resultType"], "input_required");
    let made_up = json!({"inputResponses": yes, "requestState": "made up"});
    assert_eq!(call(json!(["src"]), made_up)["resultType"], "input_required");
    assert_eq!(call(json!(["README.md"]), brought)["resultType"], "input_required");
    assert_eq!(workplace.git(&["status", "--short"]), " M README.md\n M src/lib.rs\n");
}

#[test]
fn every_version_of_the_protocol_is_understood() {
    let workplace = Workplace::new(None);
    let spoken = |version: &str| {
        let mut client = McpClient::start(&mut workplace.checkstone(&["mcp"]));
        let answer = client.initialize(version, json!({}));
        assert_eq!(client.call("run_status", json!({}))["structuredContent"], json!({"runs": []}));
        (answer["protocolVersion"].as_str().unwrap().to_owned(), answer["serverInfo"]["name"].clone())
    };
    for (asked, expected) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        // That one has no greeting any more, and nobody knows the others.
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
    ] {
        assert_eq!(spoken(asked), (expected.to_owned(), json!("checkstone")), "{asked}");
    }
}
