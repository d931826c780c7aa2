//! R6 and R7: habits and plans. Alone they are told to the person, and hold nobody.

use gate::{PlanFile, judge};
use transcript::{Call, Extent, Kind};

use crate::turns::*;

const BLIND: &str = "Files were edited without being read first this turn — verify changes are correct";
const WIDE: &str = "Changes span multiple subsystems — consider committing completed work incrementally";

fn habits(rows: Vec<(Vec<Call>, &str)>) {
    table(&policy(""), &["src/a.json"], rows);
}

#[test]
fn r6_an_edit_without_a_read_is_told() {
    let verdict = judge(&policy(""), &inputs(vec![edit("src/a.json")], &["src/a.json"]));
    assert_eq!(brief(&verdict), "notify +edit-without-read");
    assert_eq!(sentences(&verdict), [BLIND]);
    habits(vec![
        (vec![read("src/a.json"), edit("src/a.json")], "pass"),
        (vec![edit("src/a.json"), read("src/a.json")], "notify +edit-without-read"),
        (vec![read("src/b.json"), edit("src/a.json")], "notify +edit-without-read"),
        (vec![edit("src/a.json"), edit("src/b.json")], "notify +edit-without-read"),
    ]);
}

/// Where the owner lets habits hold, the hold says no more than that.
#[test]
fn r6_habits_hold_where_the_policy_says_so() {
    let strict = policy("[gate.rules]\nhygiene = \"hold\"");
    let verdict = judge(&strict, &inputs(vec![edit("src/a.json")], &["src/a.json"]));
    assert_eq!(
        (brief(&verdict).as_str(), verdict.reason.as_str()),
        ("hold +edit-without-read", "observations")
    );
    let message = format!(
        "[checkstone] Before you stop\n\nChanged: other files (`src/a.json`)\n\nObservations:\n- {BLIND}"
    );
    assert_eq!(verdict.message, Some(message));
}

/// E12
#[test]
fn e12_one_file_has_one_spelling_and_many_ways_to_be_known() {
    let notebook = Call { tool: "NotebookEdit".to_owned(), ..edit("/repo/src/n.ipynb") };
    let patch = Call { tool: "apply_patch".to_owned(), ..edit("src/a.json") };
    let cat = Call { paths: vec!["src/a.json".to_owned()], ..ran("cat src/a.json") };
    habits(vec![
        (vec![read("/repo/src/a.json"), edit("src/a.json")], "pass"),
        (vec![read("src/a.json"), edit("/repo/src/../src/a.json")], "pass"),
        (vec![write("src/a.json"), edit("src/a.json")], "pass"),
        (vec![write("src/a.json")], "pass"),
        (vec![cat, patch.clone()], "pass"),
        (vec![ran("cd src && sed -n 1,40p a.json"), patch.clone()], "pass"),
        (vec![ran("sed -i s/a/b/ src/a.json"), patch.clone()], "pass"),
        (vec![ran("git mv src/old.json src/a.json"), edit("src/a.json")], "pass"),
        (vec![patch], "notify +edit-without-read"),
        (vec![notebook.clone()], "notify +edit-without-read"),
        (vec![read("src/n.ipynb"), notebook], "pass"),
        (vec![Call { created: vec!["src/a.json".to_owned()], ..edit("src/a.json") }], "pass"),
        // It changed nothing.
        (vec![stopped_by_user(edit("src/a.json"))], "pass"),
        // A sub-agent reads in its own conversation.
        (vec![by_subagent(edit("src/a.json"))], "pass"),
    ]);
}

/// E12: every one of these is an edit that makes tests stale.
#[test]
fn e12_edits_by_any_tool_make_tests_stale() {
    let multi = Call { tool: "MultiEdit".to_owned(), ..edit("src/a.rs") };
    let patch = Call {
        tool: "apply_patch".to_owned(),
        paths: vec!["x.rs".to_owned(), "src/a.rs".to_owned()],
        ..edit("x.rs")
    };
    let rust = policy(r#"presets = ["rust"]"#);
    for call in [
        multi,
        patch,
        ran("sed -i s/a/b/ src/a.rs"),
        ran("echo x >> src/a.rs"),
        ran("cd src && tee a.rs < b"),
    ] {
        let shown = format!("{call:?}");
        let verdict = judge(&rust, &inputs(vec![write("src/a.rs"), ran("cargo test"), call], &["src/a.rs"]));
        assert_eq!(required(&verdict), ["rust-tests"], "{shown}");
    }
}

#[test]
fn r6_changes_in_more_than_three_folders_are_told() {
    let spread =
        |folders: usize| -> Vec<String> { (0..folders).map(|n| format!("part{n}/a.json")).collect() };
    let judged = |files: &[String]| {
        let files: Vec<&str> = files.iter().map(String::as_str).chain(["root.json", "other.json"]).collect();
        judge(&policy(""), &inputs(vec![], &files))
    };
    assert_eq!(brief(&judged(&spread(3))), "pass");
    let verdict = judged(&spread(4));
    assert_eq!(brief(&verdict), "notify +wide-blast-radius");
    assert_eq!(sentences(&verdict), [WIDE]);
    let wider = policy("[gate]\nblast_radius = 4");
    let files = spread(4);
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    assert_eq!(brief(&judge(&wider, &inputs(vec![], &files))), "pass");
}

/// Rules that need the whole turn stay silent without it.
#[test]
fn a_truncated_turn_says_nothing_about_reading() {
    let mut turn = inputs(vec![edit("src/a.json")], &["src/a.json"]);
    turn.coverage.extent = Extent::Truncated;
    assert_eq!(brief(&judge(&policy(""), &turn)), "pass");
}

#[test]
fn only_prose_says_nothing_about_habits() {
    assert_eq!(brief(&judge(&policy(""), &inputs(vec![edit("README.md")], &["README.md"]))), "pass");
}

#[test]
fn the_key_of_a_rule_overrides() {
    let turn = || inputs(vec![edit("src/a.json")], &["src/a.json"]);
    for (level, expected) in [("hold", "hold +edit-without-read"), ("off", "pass")] {
        assert_eq!(brief(&judge(&policy(&format!("[gate.rules]\nhygiene = {level:?}")), &turn())), expected);
    }
}

/// E13
#[test]
fn e13_r7_drift_is_no_overlap_with_the_plan() {
    let plan = |text: &str| Some(PlanFile { slug: "fast-start".to_owned(), text: text.to_owned() });
    let table = "# Plan\n\n## Files to Change\n\n| File | Change |\n|---|---|\n| `src/start.json` (NEW) | add |\n\
                 | `lib/` | edit |\n";
    let judged = |text: &str, files: &[&str]| {
        let mut turn = inputs(vec![], files);
        turn.plan = plan(text);
        judge(&policy(""), &turn)
    };
    let verdict = judged(table, &["src/other.json"]);
    assert_eq!(brief(&verdict), "notify +plan-drift");
    assert_eq!(
        sentences(&verdict),
        [
            "Active work item `fast-start` expects changes in different files — verify you are working on the right task"
        ]
    );
    assert_eq!(brief(&judged(table, &["src/other.json", "src/start.json"])), "pass");
    assert_eq!(brief(&judged(table, &["lib/deep/x.json"])), "pass");
    assert_eq!(brief(&judged("# Plan without a table", &["src/other.json"])), "pass");
    assert_eq!(brief(&judged(table, &[])), "pass");
    let mut turn = inputs(vec![], &["src/other.json"]);
    turn.plan = plan(table);
    assert_eq!(brief(&judge(&policy("[gate.rules]\ndrift = \"hold\""), &turn)), "hold +plan-drift");
    assert_eq!(brief(&judge(&policy("[gate.rules]\ndrift = \"off\""), &turn)), "pass");
}

#[test]
fn a_read_that_failed_is_no_read() {
    let missing = Call { kind: Kind::Read, outcome: transcript::Outcome::Error, ..read("src/a.json") };
    habits(vec![(vec![missing, edit("src/a.json")], "notify +edit-without-read")]);
}
