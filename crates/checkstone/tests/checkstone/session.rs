use sandbox::{RunToEnd as _, redacted};
use serde_json::{Value, json};

use crate::workplace::{SESSION, Workplace};

const RUST: &str = "presets = [\"rust\"]\n";
const SCHEMA: &str = "session.schema.json";

/// Runs as a tool of an agent, with what its client puts into the environment.
fn called_by(workplace: &Workplace, variable: (&str, &str), arguments: &[&str]) -> String {
    let output = workplace.checkstone(arguments).env(variable.0, variable.1).answer();
    output.to_string()
}

#[test]
fn an_agent_sets_its_own_work_item() {
    let workplace = Workplace::new(Some(RUST));
    let claude = ("CLAUDE_CODE_SESSION_ID", SESSION);
    insta::assert_snapshot!("slug", called_by(&workplace, claude, &["session", "--slug", "parser"]));
    let named = ["session", "--agent", "claude", "--id", SESSION, "--json"];
    let value = workplace.json(&named, SCHEMA);
    assert_eq!((&value["slug"], &value["on"]), (&json!("parser"), &json!(true)));
    called_by(&workplace, claude, &["session", "--slug", ""]);
    assert_eq!(workplace.json(&named, SCHEMA)["slug"], Value::Null);
    let codex = called_by(&workplace, ("CODEX_SESSION_ID", "c-1"), &["session"]);
    insta::assert_snapshot!(redacted(&codex), @"
    exit code: 0
    --- stdout
    codex session c-1
      hooks:     on
      work item: none
    --- stderr
    ");
}

#[test]
fn a_session_that_is_switched_off_is_not_held() {
    let workplace = Workplace::new(Some(RUST));
    let claude = ["session", "--agent", "claude", "--id", SESSION, "--new"];
    insta::assert_snapshot!("off", workplace.shown(&[&claude[..], &["--off"]].concat()));
    assert_eq!(workplace.held_turn(&[]), Value::Null);
    called_by(&workplace, ("CLAUDE_CODE_SESSION_ID", SESSION), &["session", "--on"]);
    workplace.git(&["checkout", "--quiet", "."]);
    assert_eq!(workplace.held_turn(&[])["decision"], "block");
}

/// Gemini CLI does not tell its tools the id of the session.
#[test]
fn gemini_is_found_by_its_latest_session_in_the_repository() {
    let workplace = Workplace::new(Some(RUST));
    let gemini = ("GEMINI_CLI", "1");
    insta::assert_snapshot!("gemini_unknown", called_by(&workplace, gemini, &["session"]));
    let payload = json!({
        "session_id": "g-1", "transcript_path": workplace.transcript(), "cwd": workplace.repo(),
        "hook_event_name": "BeforeAgent", "timestamp": "2026-11-15T00:00:00.000Z", "prompt": "Fix it",
    });
    let mut child =
        workplace.checkstone(&["hook", "gemini"]).stdin(std::process::Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), payload.to_string().as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    let shown = called_by(&workplace, gemini, &["session"]);
    insta::assert_snapshot!(redacted(&shown), @"
    exit code: 0
    --- stdout
    gemini session g-1
      hooks:     on
      work item: none
    --- stderr
    ");
}

#[test]
fn what_is_no_session_is_said_in_one_sentence() {
    let workplace = Workplace::new(Some(RUST));
    insta::assert_snapshot!("none", workplace.shown(&["session"]));
    insta::assert_snapshot!("no_claude", workplace.shown(&["session", "--agent", "claude"]));
    let named = ["session", "--agent", "claude", "--id", "x", "--new", "--slug", "../../etc"];
    insta::assert_snapshot!("bad_slug", workplace.shown(&named));
    assert!(!workplace.path("state").exists(), "looking creates nothing");
}

/// A slip of an id would be switched off or given a work item, and nobody would ever be in it.
#[test]
fn an_id_that_nobody_has_seen_is_refused() {
    let workplace = Workplace::new(Some(RUST));
    for more in [&[][..], &["--slug", "parser"], &["--off"], &["--on"]] {
        let named = [&["session", "--agent", "claude", "--id", "0a1b"][..], more].concat();
        insta::allow_duplicates! {
            insta::assert_snapshot!(workplace.shown(&named), @"
            exit code: 3
            --- stdout
            --- stderr
            error: no session `0a1b` of claude is recorded
            hint: `checkstone session --list` lists those that were seen here; `--new` is for one that no hook has seen yet
            ");
        }
    }
    assert!(!workplace.path("state").exists(), "nothing is created");
    workplace.held_turn(&[]);
    let slip = SESSION.replacen('9', "8", 1);
    insta::assert_snapshot!(workplace.shown(&["session", "--agent", "claude", "--id", &slip]), @"
    exit code: 3
    --- stdout
    --- stderr
    error: no session `8f3c2f1e-1111-4222-8333-444455556666` of claude is recorded
    hint: did you mean `9f3c2f1e-1111-4222-8333-444455556666`?
    ");
    let own = called_by(
        &workplace,
        ("CLAUDE_CODE_SESSION_ID", "new-1"),
        &["session", "--agent", "claude", "--id", "new-1"],
    );
    insta::assert_snapshot!(own, @"
    exit code: 0
    --- stdout
    claude session new-1
      hooks:     on
      work item: none
    --- stderr
    ");
}
