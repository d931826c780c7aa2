//! Clients that send nonsense, go away, or take back what they asked for.

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use sandbox::{wait_for, wait_for_some};
use serde_json::{Value, json};

use super::client::McpClient;
use super::{POLICY, writable};
use crate::workplace::Workplace;

#[test]
fn nonsense_is_survived() {
    let workplace = Workplace::new(Some(POLICY));
    let mut client = McpClient::start(&mut workplace.checkstone(&["mcp"]));
    client.write("\nhello\n{\"jsonrpc\": \"2.0\"\n\u{0}\u{1}\n");
    client.initialize("2025-11-25", json!({}));
    client.write("{}\n[]\nnull\n\"text\"\n{\"jsonrpc\": \"2.0\", \"id\": 1.5, \"method\": \"tools/list\"}\n");
    let unknown = client.begin("no/such/method", json!({}));
    let mut errors: Vec<(Value, Value)> = Vec::new();
    while errors.last().is_none_or(|(id, _)| *id != unknown) {
        let answer = client.next();
        errors.push((answer["id"].clone(), answer["error"].clone()));
    }
    let without_id = errors.iter().filter(|(id, _)| id.is_null());
    assert!(without_id.into_iter().all(|(_, error)| error["code"] == -32600), "{errors:?}");
    let refusal = "there is no method `no/such/method`: this server has tools only";
    assert_eq!(errors.last().unwrap().1, json!({"code": -32601, "message": refusal}));
    let form = "`tools/call` needs a text `name`; `arguments` must be an object if given";
    for wrong in [json!({}), json!({"name": 5}), json!({"name": "status", "arguments": []})] {
        client.begin("tools/call", wrong);
        assert_eq!(client.next()["error"], json!({"code": -32602, "message": form}));
    }
    let missing = client.call("no_such_tool", json!({}));
    assert_eq!(missing, json!({"code": -32602, "message": "there is no tool `no_such_tool`"}));
    assert_eq!(client.call("status", json!({}))["isError"], false);
    assert_eq!(client.leave().code, Some(0));
}

/// The library would print its own data structures.
#[test]
fn a_client_that_does_not_begin_is_told_in_a_sentence() {
    let workplace = Workplace::new(None);
    for version in [Value::Null, json!(5)] {
        let mut client = McpClient::start(&mut workplace.checkstone(&["mcp"]));
        client.begin("initialize", json!({"protocolVersion": version, "capabilities": {}}));
        client.write("{\"jsonrpc\": \"2.0\", \"method\": \"notifications/initialized\"}\n");
        let answer = client.leave();
        let told = "error: the MCP client did not begin with a valid `initialize` request\n";
        assert_eq!((answer.code, answer.stderr.as_str()), (Some(5), told));
    }
}

#[test]
fn a_client_that_says_nothing_is_no_error() {
    let workplace = Workplace::new(None);
    let answer = McpClient::start(&mut workplace.checkstone(&["mcp"])).leave();
    assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""));
}

#[test]
fn wrong_arguments_are_told_in_a_sentence() {
    let workplace = writable(POLICY);
    let mut client = McpClient::connected(&workplace, json!({}));
    let long = "x".repeat(200_000);
    let cases = [
        ("status", json!({"verbose": true}), "error: `status` has no argument `verbose`\nhint: it has "),
        (
            "check",
            json!({"file": "x"}),
            "error: `check` has no argument `file`\nhint: it has agent, transcript",
        ),
        ("snapshot_list", json!({"all": "yes"}), "error: `all` must be true or false"),
        ("explain", json!({"verdict": "last"}), "error: `verdict` must be a whole number"),
        ("explain", json!({"verdict": 1.5}), "error: `verdict` must be a whole number"),
        ("snapshot_create", json!({"message": 7}), "error: `message` must be a text"),
        ("snapshot_create", json!({"message": "a\u{0}b"}), "error: `message` contains a NUL character"),
        (
            "snapshot_create",
            json!({"message": long}),
            "error: `message` is longer than 102400 bytes\nhint: write it into a file of the project, and name that",
        ),
        ("workflow_phase", json!({"created": "a"}), "error: `created` must be a list, each a text"),
        ("workflow_phase", json!({"data": "{}"}), "error: `data` must be an object"),
        (
            "workflow_start",
            json!({"command": "deploy", "phases": ["a,b"]}),
            "error: `a,b` in `phases` contains `,`; give several values as a list",
        ),
        ("snapshot_diff", json!({"snapshot": "--patch"}), "error: `--patch` is not a valid `snapshot`"),
        ("snapshot_diff", json!({"other": "latest"}), "error: `other` needs `snapshot`"),
        ("workflow_gate", json!({"command": null}), "error: `workflow_gate` needs the argument `command`"),
        (
            "checkpoint_save",
            json!({"artifacts": [{"path": "x"}]}),
            "error: `artifacts` must be a list, each a path, or an object with `relativePath` and, if you like, `sha256` and `sizeBytes`",
        ),
    ];
    for (tool, arguments, expected) in cases {
        assert_eq!(client.refused(tool, arguments), expected, "{tool}");
    }
    // A value is never an option, and what the command itself refuses is told in its words.
    assert_eq!(
        client.refused("workflow_resume_point", json!({"command": "--help"})),
        "error: there is no workflow `--help`; the usual ones are start, design, reconcile, research, implement, ship, review\n\
         hint: start one of your own with `checkstone workflow start NAME --phases FIRST,SECOND`"
    );
}

/// A policy whose check, which the user trusts, tells its process and waits.
fn hanging() -> Workplace {
    let workplace = Workplace::new(Some(
        "presets = [\"rust\"]\n[[check]]\nwhen = [\"**\"]\nrun = \"echo $$ > PID; exec sleep 1000\"\ntimeout = \"60s\"\n",
    ));
    assert_eq!(workplace.run(&["trust", "--yes"]).code, Some(0));
    workplace.write("src/lib.rs", "pub fn two() -> u32 { 2 }\n");
    workplace
}

/// Waits for the check of a call that was begun.
fn hanging_process(workplace: &Workplace) -> Pid {
    wait_for_some("the check to run", || {
        let text = std::fs::read_to_string(workplace.repo().join("PID")).ok()?;
        Pid::from_raw(text.trim().parse().ok()?)
    })
}

fn is_gone(pid: Pid) {
    wait_for("the child to end", || test_kill_process(pid).is_err());
}

#[test]
fn a_client_that_leaves_takes_its_calls_with_it() {
    let workplace = hanging();
    let mut client = McpClient::connected(&workplace, json!({}));
    client.begin_call("check", json!({}));
    let child = hanging_process(&workplace);
    let answer = client.leave();
    assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""));
    is_gone(child);
}

#[test]
fn signals_end_the_server_and_its_children() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 0)] {
        let workplace = hanging();
        let mut client = McpClient::connected(&workplace, json!({}));
        client.begin_call("check", json!({}));
        let child = hanging_process(&workplace);
        kill_process(client.pid(), signal).unwrap();
        assert_eq!(client.ended().code, Some(code));
        is_gone(child);
    }
}

/// While one call hangs, another is answered; and the one that is taken back ends, without an answer.
#[test]
fn calls_go_side_by_side_and_can_be_taken_back() {
    let workplace = hanging();
    let mut client = McpClient::connected(&workplace, json!({}));
    let hanging = client.begin_call("check", json!({}));
    let child = hanging_process(&workplace);
    assert_eq!(client.call("snapshot_list", json!({}))["structuredContent"], json!({"snapshots": []}));
    let cancelled = json!({"requestId": hanging, "reason": "no longer wanted"});
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}));
    is_gone(child);
    assert_eq!(client.call("run_status", json!({}))["structuredContent"], json!({"runs": []}));
}
