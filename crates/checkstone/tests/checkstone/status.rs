use std::fs::File;
#[cfg(target_os = "linux")]
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use sandbox::{RunToEnd as _, ago, without_durations};
use serde_json::{Value, json};

use crate::workplace::{SESSION, Workplace};

const RUST: &str = "presets = [\"rust\"]\n";
const SCHEMA: &str = "status.schema.json";

#[test]
fn what_is_on_and_what_was_decided() {
    let workplace = Workplace::new(Some(RUST));
    workplace.held_turn(&[]);
    let text = workplace.shown(&["status"]);
    let (before, verdict) = text.split_once("     1  ").unwrap();
    insta::assert_snapshot!("on", before);
    insta::assert_snapshot!(without_durations(verdict), @"
    [time]  claude  hold    missing: rust-tests
    --- stderr
    ");
    let value = workplace.json(&["status", "--json"], SCHEMA);
    assert_eq!(value["switch"], json!({"on": true, "reason": null}));
    assert_eq!(value["policy"]["presets"], json!(["rust"]));
    assert_eq!(value["verdicts"][0]["reason"], "missing: rust-tests");
}

/// What later parts will bring is told as it is: not there.
#[test]
fn nothing_is_claimed_that_is_not_there() {
    let value = Workplace::new(None).json(&["status", "--json"], SCHEMA);
    assert_eq!(value["autonomous_execution"]["enabled"], false);
    assert_eq!((&value["lastCheckpoint"], &value["resumable"]), (&Value::Null, &json!([])));
    assert_eq!(value["switch"], json!({"on": false, "reason": "there is no policy here"}));
}

/// Invariant 7: what is ignored for lack of trust is told.
#[test]
fn ignored_checks_are_told() {
    let workplace = Workplace::new(Some("[[check]]\nwhen = [\"**\"]\nrun = \"make test\"\n"));
    insta::assert_snapshot!("untrusted", workplace.shown(&["status"]));
    let value = workplace.json(&["status", "--json"], SCHEMA);
    assert_eq!(
        (&value["trust"]["state"], &value["trust"]["ignored"][0]["run"]),
        (&json!("untrusted"), &json!("make test"))
    );
    workplace.run(&["trust", "--yes"]);
    insta::assert_snapshot!("trusted", workplace.shown(&["status"]));
}

#[test]
fn every_switch_is_named() {
    let workplace = Workplace::new(Some("[gate]\nenabled = false\n"));
    let reason = |variables: &[(&str, &str)]| {
        let output = workplace.checkstone(&["status", "--json"]).envs(variables.iter().copied()).answer();
        let value: Value = serde_json::from_str(&output.stdout).unwrap();
        value["switch"]["reason"].as_str().unwrap().to_owned()
    };
    assert_eq!(reason(&[]), "`enabled = false` in the policy");
    assert_eq!(reason(&[("CHECKSTONE", "off")]), "`CHECKSTONE=off` is set");
    workplace.run(&["session", "--agent", "claude", "--id", SESSION, "--new", "--off"]);
    assert!(reason(&[("CLAUDE_CODE_SESSION_ID", SESSION)]).starts_with("this session is switched off"));
}

#[test]
fn broken_things_are_part_of_the_answer() {
    let workplace = Workplace::new(Some("presetz = 1\n"));
    std::fs::create_dir(workplace.path("state")).unwrap();
    std::fs::write(workplace.path("state/journal.db"), "no database at all, whatever is said".repeat(50))
        .unwrap();
    insta::assert_snapshot!("broken", workplace.shown(&["status"]));
    let value = workplace.json(&["status", "--json"], SCHEMA);
    assert_eq!(value["policy"]["state"], "broken");
    let home = workplace.path("home");
    insta::assert_snapshot!("no_repository", workplace.shown(&["status", "--repo", home.to_str().unwrap()]));
}

fn configured(workplace: &Workplace, configuration: &str) {
    let file = workplace.path("home/.config/checkstone/config.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, configuration).unwrap();
}

/// Everything that reads the file stumbles over it: what, where and what it does are said in one line.
#[test]
fn a_broken_configuration_is_told_once() {
    let workplace = Workplace::new(Some(RUST));
    configured(&workplace, "[[\n");
    insta::assert_snapshot!("broken_configuration", workplace.shown(&["status"]));
    configured(&workplace, "[snapshot]\nkep = 2\nmirrors = true\n");
    insta::assert_snapshot!("mistaken_configuration", workplace.shown(&["status"]));
    insta::assert_snapshot!("mistaken_configuration_of_verify", workplace.shown(&["verify"]));
    insta::assert_snapshot!("mistaken_configuration_of_policy", workplace.shown(&["policy", "check"]));
    std::fs::remove_file(workplace.repo().join("checkstone.toml")).unwrap();
    insta::assert_snapshot!("mistaken_configuration_without_policy", workplace.shown(&["status"]));
}

/// Nothing is held there, whatever the policy says.
#[test]
fn without_git_the_gate_is_off() {
    let workplace = Workplace::new(Some(RUST));
    let status = workplace.checkstone(&["status", "--json"]).env("PATH", "/nowhere").answer();
    let value: Value = serde_json::from_str(&status.stdout).unwrap();
    assert_eq!(value["switch"], json!({"on": false, "reason": "there is no `git` on `PATH`"}));
    let check = workplace.checkstone(&["check"]).env("PATH", "/nowhere").answer();
    assert_eq!(
        check.to_string(),
        "exit code: 2\n--- stdout\n--- stderr\nerror: cannot ask git: there is no program `git`\n\
         hint: install git, or add its folder to `PATH`\n"
    );
}

/// Without a place for the journal every stop passes.
#[cfg(target_os = "linux")]
#[test]
fn without_a_place_for_the_journal_the_gate_is_off() {
    let workplace = Workplace::new(Some(RUST));
    std::fs::write(workplace.path("a-file"), "").unwrap();
    let closed = workplace.path("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o555)).unwrap();
    for state in [closed.join("state"), workplace.path("a-file/state")] {
        let status = workplace.as_a_user(&["status", "--json"]).env("CHECKSTONE_STATE_DIR", state).answer();
        let value: Value = serde_json::from_str(&status.stdout).unwrap();
        assert_eq!(value["switch"], json!({"on": false, "reason": "the state directory cannot be written"}));
    }
}

/// Sentences are broken between words, and what is in backticks stays whole.
#[test]
fn sixty_columns_are_enough() {
    let workplace = Workplace::new(Some(RUST));
    let narrow = |arguments: &[&str]| {
        let answer = workplace.checkstone(arguments).env("COLUMNS", "60").answer();
        let is_wide = |line: &&str| line.chars().count() > 60 && !line.contains("/");
        let wide: Vec<&str> = answer.stdout.lines().filter(is_wide).collect();
        assert_eq!(wide, [""; 0], "{arguments:?}");
        answer.stdout
    };
    narrow(&["status"]);
    narrow(&["doctor"]);
    insta::assert_snapshot!("overview_in_60_columns", narrow(&[]));
    workplace.held_turn(&[]);
    insta::assert_snapshot!("overview_of_unproven_in_60_columns", narrow(&[]));
    narrow(&["init", "--yes", "--agent", "codex"]);
    narrow(&["uninstall", "--yes"]);
}

#[test]
fn looking_creates_nothing() {
    let workplace = Workplace::new(Some(RUST));
    for arguments in
        [&["status"][..], &["explain", "--list"], &["trust", "--list"], &["policy", "show"], &["log"]]
    {
        let output = workplace.run(arguments);
        assert_eq!(output.code, Some(0), "{arguments:?}: {output}");
    }
    assert!(!workplace.path("state").exists());
    // Not even for a moment, where it would be.
    let parent = workplace.path("parent");
    std::fs::create_dir(&parent).unwrap();
    let changed = || std::fs::metadata(&parent).and_then(|folder| folder.modified()).unwrap();
    File::open(&parent).unwrap().set_modified(ago(Duration::from_secs(3600))).unwrap();
    let before = changed();
    let status = workplace.checkstone(&["status"]).env("CHECKSTONE_STATE_DIR", parent.join("state")).answer();
    assert_eq!((status.code, changed()), (Some(0), before), "{status}");
}
