use sandbox::without_durations;
use serde_json::{Value, json};

use crate::workplace::Workplace;

const RUST: &str = "presets = [\"rust\"]\n";
const SCHEMA: &str = "explain.schema.json";

#[test]
fn the_latest_verdict_with_every_rule() {
    let workplace = Workplace::new(Some(RUST));
    let commands =
        [("ls missing", false), ("npm install", false), ("npm install", true), ("cargo test | wc -l", true)];
    assert_eq!(workplace.held_turn(&commands)["decision"], "block");
    insta::assert_snapshot!("latest", without_durations(workplace.shown(&["explain"])));
    let value = workplace.json(&["explain", "--json"], SCHEMA);
    assert_eq!(value["replay"], json!({"same": true, "problem": null}));
    assert_eq!((&value["answered"], &value["verdict"]["verdict"]), (&json!("hold"), &json!("hold")));
    let rules: Vec<(&Value, &Value)> =
        value["rules"].as_array().unwrap().iter().map(|rule| (&rule["rule"], &rule["state"])).collect();
    insta::assert_snapshot!(json!(rules).to_string(), @r#"[["missing-action","fired"],["unresolved-error","suppressed"],["wide-blast-radius","suppressed"]]"#);
}

#[test]
fn satisfied_actions_name_their_evidence() {
    let workplace = Workplace::new(Some(RUST));
    workplace.held_turn(&[("cargo test", true)]);
    let value = workplace.json(&["explain", "1", "--json"], SCHEMA);
    assert_eq!(value["rules"][0]["state"], "suppressed");
    assert_eq!(value["rules"][0]["evidence"], json!({"command": "cargo test", "line": 2}));
}

#[test]
fn the_recent_verdicts_in_a_list() {
    let workplace = Workplace::new(Some(RUST));
    assert_eq!(
        workplace.shown(&["explain", "--list"]),
        "exit code: 0\n--- stdout\nNo verdict is recorded for this repository.\n--- stderr\n"
    );
    workplace.held_turn(&[]);
    let value = workplace.json(&["explain", "--list", "--json"], "explain-list.schema.json");
    assert_eq!(value["verdicts"][0]["verdict"], "hold");
    assert_eq!(value["verdicts"][0]["reason"], "missing: rust-tests");
    let text = workplace.run(&["explain", "--list"]).stdout;
    assert!(
        text.starts_with("     1  20") && text.ends_with("  claude  hold    missing: rust-tests\n"),
        "{text}"
    );
}

/// A policy that was changed since does not matter: the one that was recorded is judged with.
#[test]
fn the_policy_as_it_was_is_what_counts() {
    let workplace = Workplace::new(Some(RUST));
    workplace.held_turn(&[]);
    workplace.write("checkstone.toml", "this is broken");
    assert_eq!(workplace.json(&["explain", "--json"], SCHEMA)["replay"]["same"], true);
}

/// What does not come out the same is said.
#[test]
fn a_verdict_that_its_inputs_do_not_give_is_told() {
    let workplace = Workplace::new(Some(RUST));
    workplace.held_turn(&[]);
    let database = rusqlite::Connection::open(workplace.path("state/journal.db")).unwrap();
    let changed = database
        .execute(
            "UPDATE verdicts SET inputs = CAST(replace(CAST(inputs AS TEXT), '\"reason\":\"missing: rust-tests\"', \
             '\"reason\":\"a whim\"') AS BLOB)",
            (),
        )
        .unwrap();
    assert_eq!(changed, 1);
    drop(database);
    let value = workplace.json(&["explain", "--json"], SCHEMA);
    assert_eq!(value["replay"]["same"], false);
    let text = workplace.run(&["explain"]).stdout;
    insta::assert_snapshot!(without_durations(&text), @"
    Verdict 1 of [time], claude, session 9f3c2f1e-1111-4222-8333-444455556666

    hold  a whim

    Changed in this turn
      Rust code: src/lib.rs

    Actions
      ✗ rust-tests: Run `cargo test` (it may have made the changes itself)

    Observations
      ! `./generate` does not count for `rust-tests`: it may have made the changes itself
        (line 2)

    Message to the agent
      │ [checkstone] Not verified yet
      │
      │ Changed: Rust code (`src/lib.rs`)
      │
      │ 1. Run `cargo test` (rust-tests)
      │
      │ Observations:
      │ - `./generate` does not count for `rust-tests`: it may have made the changes itself
      │
      │ If a step cannot be done here, say so on a line of its own:
      │ `checkstone: cannot ACTION: REASON` (actions: rust-tests).

    transcript: complete, understood 4 of 4 records

    Rules
      fired      missing-action, rust-tests: it may have made the changes itself
      suppressed wide-blast-radius, 1 changed file: at most 3 top-level folders

    ✗ the recorded inputs no longer give this verdict
      judged again it is `hold`: missing: rust-tests
    [timings]

    unproven now: 1 file needs rust-tests: src/lib.rs
    ");
}

#[test]
fn what_cannot_be_explained_is_said_in_one_sentence() {
    let workplace = Workplace::new(Some(RUST));
    insta::assert_snapshot!("nothing_recorded", workplace.shown(&["explain"]));
    insta::assert_snapshot!("unknown_id", workplace.shown(&["explain", "77"]));
    assert!(!workplace.path("state").exists(), "looking creates nothing");
    workplace.held_turn(&[]);
    insta::assert_snapshot!("unknown_id", workplace.shown(&["explain", "77"]));
    let _ = std::fs::remove_file(workplace.path("state/journal.db-wal"));
    std::fs::write(workplace.path("state/journal.db"), "no database at all, whatever is said".repeat(50))
        .unwrap();
    insta::assert_snapshot!("unreadable_journal", workplace.shown(&["explain"]));
}

#[test]
fn drift_from_the_work_item_is_explained() {
    let workplace = Workplace::new(Some("presets = [\"rust\"]\n[gate.rules]\nhygiene = \"off\"\n"));
    workplace.write(
        "todos/parser/implementation-plan.md",
        "## Files to Change\n\n| File |\n| --- |\n| `src/parser.rs` |\n",
    );
    let claude = ["session", "--agent", "claude", "--id", crate::workplace::SESSION];
    workplace.run(&[&claude[..], &["--new", "--slug", "parser"]].concat());
    workplace.held_turn(&[("cargo test", true)]);
    let value = workplace.json(&["explain", "--json"], SCHEMA);
    let state = |rule: &str| {
        let rules = value["rules"].as_array().unwrap();
        rules.iter().find(|one| one["rule"] == rule).map(|one| one["state"].clone())
    };
    assert_eq!(state("plan-drift"), Some(json!("fired")));
    assert_eq!(state("wide-blast-radius"), Some(json!("off")));
    assert_eq!(value["replay"]["same"], true);
}

/// An agent that waits is not asked anything, and neither is any rule.
#[test]
fn rules_that_were_not_asked_are_not_told() {
    let workplace = Workplace::new(Some("presets = [\"rust\"]\n[gate]\nmin_turn = \"1h\"\n"));
    workplace.held_turn(&[]);
    let value = workplace.json(&["explain", "--json"], SCHEMA);
    assert_eq!((&value["answered"], &value["rules"]), (&json!("pass"), &json!([])));
    let text = workplace.run(&["explain"]).stdout;
    insta::assert_snapshot!(without_durations(&text), @"
    Verdict 1 of [time], claude, session 9f3c2f1e-1111-4222-8333-444455556666

    pass  the turn was short, or its start is unknown

    transcript: complete, understood 4 of 4 records

    Rules
      no rule was evaluated: the reason above was enough

    ✓ judged again from the recorded inputs: the same, bit for bit
    [timings]
    ");
}

#[test]
fn checks_are_told_with_how_they_ended() {
    let workplace = Workplace::new(Some("[[check]]\nwhen = [\"src/**\"]\nrun = \"echo no; exit 1\"\n"));
    workplace.run(&["trust", "--yes"]);
    assert_eq!(workplace.held_turn(&[])["decision"], "block");
    let value = workplace.json(&["explain", "--json"], SCHEMA);
    assert_eq!(value["checks"][0]["outcome"], "failed");
    assert_eq!(value["replay"]["same"], true);
    let text = workplace.run(&["explain"]).stdout;
    insta::assert_snapshot!(without_durations(&text), @"
    Verdict 1 of [time], claude, session 9f3c2f1e-1111-4222-8333-444455556666

    hold  a check failed

    Changed in this turn
      other code: src/lib.rs

    Message to the agent
      │ [checkstone] A check failed
      │
      │ `echo no; exit 1` FAILED ([duration]):
      │ no
      │
      │ Changed: other code (`src/lib.rs`)
      │
      │ 1. Fix what `echo no; exit 1` reports, until it passes

    transcript: complete, understood 4 of 4 records

    Rules
      suppressed wide-blast-radius, 1 changed file: at most 3 top-level folders
      failed     check `echo no; exit 1`

    ✓ judged again from the recorded inputs: the same, bit for bit
    [timings]
    ");
}
