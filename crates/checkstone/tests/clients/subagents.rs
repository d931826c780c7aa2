//! What a sub-agent did counts for its parent's turn: the tests that it ran are evidence there.

use scripted_model::Client;
use serde_json::{Value, json};

use crate::workplace::{self, Workplace};

/// Words of the task, by which the model knows the sub-agent's conversation.
const TASK: &str = "Delegated: run the tests";

#[test]
fn claude() {
    let call = json!({"name": "Agent", "input": {
        "description": "Run the tests", "prompt": TASK, "subagent_type": "general-purpose", "run_in_background": false}});
    workplace::with(Client::Claude, |workplace| {
        tests_of_a_subagent_count(workplace, &[call], json!({"text": "They pass."}))
    });
}

#[test]
fn gemini() {
    let call = json!({"name": "invoke_agent", "input": {"agent_name": "generalist", "prompt": TASK}});
    // A sub-agent of Gemini CLI ends by a call.
    let report = json!({"calls": [{"tool": {
        "name": "complete_task", "input": {"result": {"response": "They pass."}}}}]});
    workplace::with(Client::Gemini, |workplace| tests_of_a_subagent_count(workplace, &[call], report));
}

#[test]
fn qwen() {
    let call = json!({"name": "agent", "input": {
        "description": "Run the tests", "prompt": TASK, "subagent_type": "general-purpose", "run_in_background": false}});
    workplace::with(Client::Qwen, |workplace| {
        tests_of_a_subagent_count(workplace, &[call], json!({"text": "They pass."}))
    });
}

#[test]
fn opencode() {
    let call = json!({"name": "task", "input": {
        "description": "Run the tests", "prompt": TASK, "subagent_type": "general"}});
    workplace::with(Client::Opencode, |workplace| {
        tests_of_a_subagent_count(workplace, &[call], json!({"text": "They pass."}))
    });
}

#[test]
fn copilot() {
    let call = json!({"name": "task", "input": {
        "description": "Run the tests", "prompt": TASK, "agent_type": "general-purpose", "name": "tester", "mode": "sync"}});
    workplace::with(Client::Copilot, |workplace| {
        tests_of_a_subagent_count(workplace, &[call], json!({"text": "They pass."}))
    });
}

#[test]
pub(crate) fn droid() {
    let call = json!({"name": "Task", "input": {
        "description": "Run the tests", "prompt": TASK, "subagent_type": "worker", "await": true}});
    workplace::with(Client::Droid, |workplace| {
        tests_of_a_subagent_count(workplace, &[call], json!({"text": "They pass."}))
    });
}

/// Only the models that work in code mode have sub-agents at hand.
mod codex {
    use super::*;

    #[test]
    fn codex() {
        let spawn = json!({"name": "spawn_agent", "namespace": "collaboration", "input": {
            "task_name": "tester", "message": TASK, "fork_turns": "none"}});
        let wait =
            json!({"name": "wait_agent", "namespace": "collaboration", "input": {"timeout_ms": 30_000}});
        let report = json!({"text": "They pass."});
        workplace::with(Client::Codex, |workplace| {
            tests_of_a_subagent_count(workplace, &[spawn, wait], report)
        });
    }
}

fn tests_of_a_subagent_count(workplace: &Workplace, delegation: &[Value], report: Value) {
    let mut steps = vec![
        json!({"calls": [{"read": "src/calc.py"}]}),
        json!({"calls": [{"edit": {"path": "src/calc.py", "old": "    return a - b", "new": "    return a + b"}}]}),
    ];
    steps.extend(delegation.iter().map(|call| json!({"calls": [{"tool": call}]})));
    steps.push(json!({"text": "Fixed, and tested by another.", "delay_ms": 200}));
    let delegated = json!({"when": TASK, "steps": [{"calls": [{"run": "./run-tests"}]}, report]});
    let played = workplace.play(json!({"steps": steps, "conversations": [delegated]}), &["Fix add"]);
    let of_the_subagent = played.requests.iter().filter(|request| request.conversation.is_some()).count();
    assert_eq!(of_the_subagent, 2, "the sub-agent played its part");
    assert_eq!(played.holds(), []);
    let action = &workplace.verdict()["verdict"]["actions"][0];
    assert_eq!(
        (&action["state"], &action["evidence"]["command"]),
        (&json!("satisfied"), &json!("./run-tests"))
    );
}
