//! The MCP server in the hands of each client, registered by `init --mcp`: the model is offered every tool, calls each of them once, and
//! is told what it answered.

use std::collections::BTreeMap;

use scripted_model::{McpToolNames, Request, form};
use serde_json::{Value, json};

use crate::workplace::Workplace;

/// Every tool, what it is called with, and what stands in no text but its answer.
fn calls() -> Vec<(&'static str, Value, &'static str)> {
    let workflow = json!({"command": "implement", "feature": "parser"});
    let phase =
        json!({"command": "implement", "feature": "parser", "phase": "implementation", "status": "complete"});
    let run = json!({"reportTitle": "study", "runId": "r0"});
    let save = json!({"reportTitle": "study", "runId": "r0", "stageId": "S01_load_data", "artifacts": ["README.md"]});
    let request = json!({"task_id": "T1"}).to_string();
    vec![
        ("check", json!({}), "\"verdict\":"),
        ("explain", json!({}), "\"answered\":"),
        ("status", json!({}), "\"state_directory\":"),
        ("timeline", json!({}), "\"calls\":"),
        ("unproven", json!({}), "\"proven\":"),
        ("snapshot_create", json!({"message": "before"}), "\"message\":\"before\""),
        ("snapshot_list", json!({}), "\"snapshots\":"),
        ("snapshot_diff", json!({"snapshot": "latest"}), "\"old\":"),
        // Nobody is there to say yes.
        ("snapshot_restore", json!({"snapshot": "latest"}), "needs a person's consent"),
        ("workflow_start", workflow.clone(), "\"resume_point\":"),
        ("workflow_phase", phase, "\"resume_point\":"),
        ("workflow_resume_point", workflow.clone(), "\"summaries\":"),
        ("workflow_gate", workflow, "\"ship_allowed\":"),
        ("handoff_new", json!({"mode": "code", "instructions": "Write it"}), "\"instructions\":\"Write it\""),
        ("handoff_check", json!({"document": request}), "\"accepted\":"),
        ("checkpoint_save", save, "\"manifestSha256\":"),
        ("checkpoint_list", run.clone(), "\"checkpoints\":"),
        (
            "checkpoint_validate",
            json!({"checkpointId": "none", "reportTitle": "study", "runId": "r0"}),
            "\"valid\":",
        ),
        ("checkpoint_resume", run, "\"found\":"),
        ("run_start", json!({"id": "r1"}), "\"run\":\"r1\""),
        ("run_status", json!({}), "\"runs\":"),
        ("run_abort", json!({"run": "r1"}), "\"state\":\"ABORTED\""),
    ]
}

const PLAN: &str = "title = \"study\"\n[[stage]]\nstageId = \"S01_load_data\"\ngoal = \"Wait for ever and ever\"\n\
    command = \"sleep 1000\"\n";

pub(crate) fn every_tool_is_offered_and_answers(workplace: &Workplace) {
    workplace.configure("[mcp]\nwrite = true\n");
    workplace.write("plan.toml", PLAN);
    workplace.write(".gitignore", "reports/\n.claude/\n");
    workplace.git(&["add", "--all"]);
    workplace.git(&["commit", "--quiet", "--message=plan"]);
    let register = || {
        let told = workplace.json(&["init", "--mcp", "--agent", workplace.client.agent(), "--yes", "--json"]);
        assert_eq!(told["mcp"][0]["state"], "changed", "{told:#}");
    };
    let calls = calls();
    let mut steps = vec![json!({"text": "Hello."})];
    let McpToolNames { prefix, namespace } = form(workplace.client.host()).mcp_tools;
    steps.extend(calls.iter().map(|(tool, arguments, _)| {
        let call = json!({"name": format!("{prefix}{tool}"), "input": arguments, "namespace": namespace});
        json!({"calls": [{"tool": call}]})
    }));
    steps.push(json!({"text": "Done."}));
    let played = workplace.play_with(|_| register(), json!({"steps": steps}), &["Hello", "Ask all"]);
    let told: Vec<(&str, Vec<&str>)> = calls
        .iter()
        .zip(played.requests.windows(2).skip(1))
        .map(|((tool, ..), requests)| (*tool, new_texts(&requests[0], &requests[1])))
        .collect();
    let answered: Vec<(&str, bool)> = calls
        .iter()
        .zip(&told)
        .map(|((tool, _, sign), (_, texts))| (*tool, texts.iter().any(|text| has_words(text, sign))))
        .collect();
    if let Some(folder) = std::env::var_os("CHECKSTONE_TEST_MCP_TABLE") {
        let row: BTreeMap<&str, bool> = answered.iter().copied().collect();
        let file = std::path::Path::new(&folder).join(format!("{}.json", workplace.client.agent()));
        fs_err::write(file, json!(row).to_string()).unwrap();
    }
    let expected: Vec<(&str, bool)> = calls.iter().map(|(tool, ..)| (*tool, true)).collect();
    assert_eq!(answered, expected, "{told:#?}");
}

/// What the second request holds and the first did not: the call, and what it was answered.
fn new_texts<'a>(before: &Request, after: &'a Request) -> Vec<&'a str> {
    let mut known = texts(&before.body);
    let mut new = texts(&after.body);
    new.retain(|text| match known.iter().position(|one| one == text) {
        Some(place) => {
            known.swap_remove(place);
            false
        }
        None => true,
    });
    new
}

/// Whether these words are in a text, also where that is itself a document in quotes, or was laid out anew.
fn has_words(text: &str, words: &str) -> bool {
    text.replace("\\\"", "\"").replace("\": ", "\":").contains(words)
}

fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(values) => values.iter().flat_map(texts).collect(),
        Value::Object(values) => values.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}
