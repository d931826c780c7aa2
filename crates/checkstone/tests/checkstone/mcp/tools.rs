//! What is offered to whom, and what the calls do.

use sandbox::wait_for_file;
use serde_json::{Value, json};

use super::client::McpClient;
use super::{POLICY, TOOLS, writable};
use crate::workplace::Workplace;

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn only_what_reads_is_offered_by_default() {
    let workplace = Workplace::new(Some(POLICY));
    let mut client = McpClient::connected(&workplace, json!({}));
    let tools = client.tools();
    assert!(tools.iter().all(|tool| tool["annotations"]["readOnlyHint"] == true));
    let writing = [
        "snapshot_create",
        "snapshot_restore",
        "workflow_start",
        "workflow_phase",
        "workflow_gate",
        "checkpoint_save",
        "run_start",
        "run_abort",
    ];
    let reading: Vec<&str> = TOOLS.into_iter().filter(|name| !writing.contains(name)).collect();
    assert_eq!(names(&tools), reading);
    for tool in writing {
        let expected = format!(
            "error: `{tool}` writes, which is switched off\nhint: a person can set `write = true` in `[mcp]` of their own \
             `config.toml`, and start the client again"
        );
        assert_eq!(client.refused(tool, json!({})), expected);
    }
    let answer = client.leave();
    assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""));
    let writable = writable(POLICY);
    let mut client = McpClient::connected(&writable, json!({}));
    assert_eq!(names(&client.tools()), TOOLS);
}

/// A repository cannot switch it on, and a mistake in the user's own file is told.
#[test]
fn the_switch_is_the_users_own() {
    let workplace = Workplace::new(Some("[mcp]\nwrite = true\n"));
    let mut client = McpClient::connected(&workplace, json!({}));
    let answer = client.call("check", json!({}));
    assert_eq!(
        answer["content"][0]["text"],
        "error: the policy has 1 mistake:\ncheckstone.toml:1:2: `mcp` works only in your own `config.toml`\nhint: agents are not held until you fix this"
    );
    crate::at_turn_start::configure(&workplace, "[mcp]\nwrites = true\n");
    let answer = McpClient::start(&mut workplace.checkstone(&["mcp"])).leave();
    assert_eq!(answer.code, Some(2));
    assert_eq!(
        answer.stderr,
        "error: `[mcp]` of your `config.toml` has mistakes: config.toml:2:1: unknown key `writes`; did you mean `write`?\n"
    );
}

/// The definitions come from the command line itself. An argument that a command gets is seen here, before agents have it.
#[test]
fn arguments_are_those_of_the_command() {
    let workplace = writable(POLICY);
    let mut client = McpClient::connected(&workplace, json!({}));
    let tools = client.tools();
    let schema = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap()["inputSchema"].clone();
    let offered: String = tools
        .iter()
        .map(|tool| {
            let properties = tool["inputSchema"]["properties"].as_object().unwrap();
            let names: Vec<&str> = properties.keys().map(String::as_str).collect();
            format!("{}: {}\n", tool["name"].as_str().unwrap(), names.join(", "))
        })
        .collect();
    insta::assert_snapshot!("offered_arguments", offered);
    insta::assert_json_snapshot!("checkpoint_save_arguments", schema("checkpoint_save"));
    insta::assert_json_snapshot!("workflow_phase_arguments", schema("workflow_phase"));
    let validate = schema("checkpoint_validate");
    let properties: Vec<&String> = validate["properties"].as_object().unwrap().keys().collect();
    assert_eq!(properties, ["checkpointId", "reportTitle", "runId", "quick"]);
    assert_eq!(validate["required"], json!(["checkpointId"]));
}

/// What a hold says to the agent that asks, as the command prints it.
#[test]
fn a_no_is_an_answer() {
    let workplace = Workplace::new(Some(POLICY));
    workplace.write("src/lib.rs", "pub fn two() -> u32 { 2 }\n");
    let mut client = McpClient::connected(&workplace, json!({}));
    let answer = client.call("check", json!({}));
    let printed = workplace.run(&["check", "--json"]);
    assert_eq!(printed.code, Some(1));
    assert_eq!(answer["isError"], false);
    assert_eq!(answer["structuredContent"], serde_json::from_str::<Value>(&printed.stdout).unwrap());
    assert_eq!(
        answer["content"],
        json!([
            {"type": "text", "text": printed.stdout.trim_end()},
            {"type": "text", "text": "The answer is no (exit code 1)."},
        ])
    );
}

/// The project is the client's first root, unless the person named one.
#[test]
fn the_clients_first_root_is_the_project() {
    let workplace = Workplace::new(Some(POLICY));
    let elsewhere = workplace.path("home");
    let repository = |mut client: McpClient| {
        let id = client.begin_call("status", json!({}));
        let mut message = client.next();
        if message["method"] == "roots/list" {
            let root = format!("file://{}", workplace.repo().display());
            client
                .send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": {"roots": [{"uri": root}]}}));
            message = client.next();
        }
        assert_eq!(message["id"], id, "{message:#}");
        message["result"]["structuredContent"]["repository"].clone()
    };
    let with_roots = |arguments: &[&str]| {
        let mut client = McpClient::start(workplace.checkstone(arguments).current_dir(&elsewhere));
        client.initialize("2025-06-18", json!({"roots": {}}));
        client
    };
    assert_eq!(repository(with_roots(&["mcp"])), json!(workplace.repo()));
    assert_eq!(repository(with_roots(&["mcp", "--repo", "."])), Value::Null);
    assert_eq!(repository(McpClient::connected(&workplace, json!({}))), json!(workplace.repo()));
}

/// A run goes on without the call that started it, and is found again.
#[test]
fn a_run_is_started_found_and_aborted() {
    let workplace = writable(POLICY);
    workplace.write(
        "plan.toml",
        "title = \"study\"\n[[stage]]\nstageId = \"S01_load_data\"\ngoal = \"Wait for ever and ever\"\n\
         command = \"echo $$ > STARTED; sleep 1000\"\n",
    );
    let mut client = McpClient::connected(&workplace, json!({}));
    let started = client.call("run_start", json!({"id": "r1"}));
    assert_eq!(started["structuredContent"], json!({"title": "study", "run": "r1"}), "{started:#}");
    wait_for_file(&workplace.repo().join("STARTED"));
    // The server may go away meanwhile.
    assert_eq!(client.leave().code, Some(0));
    let mut client = McpClient::connected(&workplace, json!({}));
    let state = |client: &mut McpClient| {
        let runs = &client.call("run_status", json!({}))["structuredContent"]["runs"];
        json!([runs[0]["run"], runs[0]["state"], runs[1]])
    };
    assert_eq!(state(&mut client), json!(["r1", "RUNNING", null]));
    let aborted = client.call("run_abort", json!({"run": "r1"}));
    let expected = json!({"title": "study", "run": "r1", "stage": null, "state": "ABORTED"});
    assert_eq!(aborted["structuredContent"], expected, "{aborted:#}");
    assert_eq!(state(&mut client), json!(["r1", "ABORTED", null]));
    let wrong = client.refused("run_start", json!({"plan": "none.toml"}));
    assert_eq!(
        wrong,
        "error: there is no plan `none.toml`\nhint: `checkstone run --new pipeline` writes a plan to start from"
    );
}

/// Sizes and hashes that an agent gives must be right.
#[test]
fn artifacts_are_as_the_agent_says() {
    let workplace = writable(POLICY);
    workplace.write("data.csv", "a,b\n");
    let mut client = McpClient::connected(&workplace, json!({}));
    let mut save = |artifacts: Value| {
        let stage = json!({"reportTitle": "study", "runId": "r1", "stageId": "S01_load_data", "artifacts": artifacts});
        client.call("checkpoint_save", stage)
    };
    let sha256 = "7fde99d8b5a0f8e04f1f8d0a3a8ae1ed7f7b1d4c0f9b0c1a4a2f0c0f4f0b7a11";
    let wrong = save(json!([{"relativePath": "data.csv", "sizeBytes": 5}]));
    assert_eq!(
        wrong["content"][0]["text"],
        "error: `data.csv` does not match: it has 4 bytes\nhint: save it as it is now, or make it again"
    );
    let wrong = save(json!([{"relativePath": "data.csv", "sha256": sha256}]));
    assert_eq!(wrong["isError"], true);
    let wrong = save(json!([{"relativePath": "../home/x", "sizeBytes": 5}]));
    assert_eq!(wrong["content"][0]["text"], "error: `../home/x` is not below the project's folder");
    let saved = save(json!(["README.md", {"relativePath": "data.csv", "sizeBytes": 4}]));
    assert_eq!(saved["structuredContent"]["artifactCount"], 2, "{saved:#}");
}
