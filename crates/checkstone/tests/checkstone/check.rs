use std::os::unix::fs::PermissionsExt as _;

use sandbox::{RunToEnd as _, redacted, without_durations};
use serde_json::{Value, json};

use crate::workplace::{SESSION, Workplace};

const RUST: &str = "presets = [\"rust\"]\n";
const SCHEMA: &str = "check.schema.json";

#[test]
fn a_change_without_a_transcript_names_every_action() {
    let workplace = Workplace::new(Some(RUST));
    workplace.write("src/lib.rs", "pub fn one() -> u32 { 2 }\n");
    insta::assert_snapshot!("hold", workplace.shown(&["check"]));
}

/// Nobody has to run anything for a comment; HEAD and the disk show that it is one.
#[test]
fn only_comments_changed_since_the_last_commit() {
    let workplace = Workplace::new(Some("presets = [\"rust\", \"shell\"]\n"));
    workplace.write("src/lib.rs", "pub fn one() -> u32 { 1 }\n");
    workplace.write("bin/deploy", "#!/bin/sh\nset -e\n");
    workplace.write("a b/ü.rs", "fn a() {}\n");
    workplace.git(&["add", "."]);
    workplace.git(&["commit", "--quiet", "-m", "scripts"]);
    workplace.write("src/lib.rs", "/// Always the same.\npub fn one() -> u32 {\n    1 // one\n}\n");
    workplace.write("bin/deploy", "#!/bin/sh\n# Stops at the first error.\nset -e\n");
    workplace.write("a b/ü.rs", "// A.\nfn a() {}\n");
    let judged = || {
        let value = workplace.json(&["check", "--json"], SCHEMA);
        (value["verdict"].clone(), value["reason"].clone())
    };
    assert_eq!(judged(), (json!("pass"), json!("no action is required for these changes")));
    workplace.write("bin/deploy", "#!/bin/sh\n# Goes on after errors.\nset +e\n");
    assert_eq!(judged(), (json!("hold"), json!("missing: shell-tests")));
}

/// What is there and cannot be understood proves nothing either way.
#[test]
fn a_transcript_of_an_unknown_client_is_reported_and_holds_nobody() {
    let workplace = Workplace::new(Some(RUST));
    workplace.write("src/lib.rs", "pub fn one() -> u32 { 2 }\n");
    for (text, decision) in [("user: fix it\nassistant: done\n", "notify"), ("\n\n", "hold"), ("", "hold")] {
        let transcript = workplace.path("transcript.txt");
        std::fs::write(&transcript, text).unwrap();
        let arguments = ["check", "--json", "--transcript", transcript.to_str().unwrap()];
        assert_eq!(workplace.json(&arguments, SCHEMA)["verdict"], decision, "{text:?}");
    }
}

#[test]
fn nothing_changed_passes() {
    insta::assert_snapshot!("clean", Workplace::new(Some(RUST)).shown(&["check"]));
}

#[test]
fn evidence_of_the_transcript_counts() {
    let workplace = Workplace::new(Some(RUST));
    workplace.write("src/lib.rs", "pub fn one() -> u32 { 2 }\n");
    workplace.turn(&[("sed -i s/1/2/ src/lib.rs", true), ("cargo test", true)]);
    let transcript = workplace.transcript();
    let arguments = ["check", "--transcript", transcript.to_str().unwrap()];
    insta::assert_snapshot!("satisfied", workplace.shown(&arguments));
}

#[test]
fn json_is_the_documented_one() {
    let workplace = Workplace::new(Some(RUST));
    workplace.write("src/lib.rs", "pub fn one() -> u32 { 2 }\n");
    let value = workplace.json(&["check", "--json"], SCHEMA);
    assert_eq!(value["verdict"], "hold");
    assert_eq!(value["scope"], "worktree");
    assert_eq!(value["changed"], json!([{"category": "Rust code", "files": ["src/lib.rs"]}]));
    assert_eq!(value["actions"][0]["id"], "rust-tests");
    assert_eq!(value["actions"][0]["state"], "required");
    assert_eq!(value["actions"][0]["evidence"], Value::Null);
    assert_eq!(value["transcript"]["coverage"], "unavailable");
    assert_eq!(workplace.run(&["check", "--json"]).code, Some(1));
}

#[test]
fn the_baseline_of_a_recorded_turn_is_used() {
    let workplace = Workplace::new(Some(RUST));
    workplace.write("src/older.rs", "// dirty before the turn\n");
    workplace.held_turn(&[]);
    let transcript = workplace.transcript();
    let value = workplace.json(&["check", "--json", "--transcript", transcript.to_str().unwrap()], SCHEMA);
    assert_eq!(value["scope"], "turn-baseline");
    assert_eq!(value["changed"], json!([{"category": "Rust code", "files": ["src/lib.rs"]}]));
}

#[test]
fn an_agent_that_asks_is_judged_by_its_own_transcript() {
    let workplace = Workplace::new(Some(RUST));
    workplace.held_turn(&[("cargo test", true)]);
    let judged = |session: Option<&str>| {
        let mut command = workplace.checkstone(&["check", "--json"]);
        command.envs(session.map(|session| ("CLAUDE_CODE_SESSION_ID", session)));
        let value: Value = serde_json::from_str(&command.answer().stdout).unwrap();
        (value["scope"].as_str().unwrap().to_owned(), value["transcript"]["coverage"].clone())
    };
    assert_eq!(judged(Some(SESSION)), ("turn-baseline".to_owned(), json!("complete")));
    // Anybody else is told of the last session that worked here.
    assert_eq!(judged(Some("another")), ("turn-baseline".to_owned(), json!("complete")));
    assert_eq!(judged(None), ("turn-baseline".to_owned(), json!("complete")));
}

#[test]
fn nothing_is_recorded() {
    let workplace = Workplace::new(Some(RUST));
    workplace.turn(&[("cargo test", true)]);
    workplace.run(&["check", "--transcript", workplace.transcript().to_str().unwrap()]);
    assert!(!workplace.path("state").exists());
}

#[test]
fn a_short_turn_is_no_excuse_for_who_asks() {
    let workplace = Workplace::new(Some("presets = [\"rust\"]\n[gate]\nmin_turn = \"30s\"\n"));
    workplace.write("src/lib.rs", "pub fn one() -> u32 { 2 }\n");
    assert_eq!(workplace.run(&["check"]).code, Some(1));
}

#[test]
fn without_a_policy_it_passes_and_says_how_to_have_one() {
    let workplace = Workplace::new(None);
    workplace.write("Cargo.toml", "[package]\n");
    workplace.write("package.json", "{}\n");
    insta::assert_snapshot!("no_policy", workplace.shown(&["check"]));
    let value = workplace.json(&["check", "--json"], SCHEMA);
    assert_eq!(
        (&value["verdict"], &value["reason"]),
        (&json!("pass"), &json!("the repository has no policy"))
    );
}

#[test]
fn what_cannot_be_checked_is_said_in_one_sentence() {
    let workplace = Workplace::new(Some("presets = [\"rusty\"]\n[gate]\nenabled = 1\n"));
    insta::assert_snapshot!("broken_policy", workplace.shown(&["check"]));
    let home = workplace.path("home");
    insta::assert_snapshot!("no_repository", workplace.shown(&["check", "--repo", home.to_str().unwrap()]));
    insta::assert_snapshot!("no_folder", workplace.shown(&["check", "--repo", "nowhere"]));
    let whole = Workplace::new(Some(RUST));
    insta::assert_snapshot!("no_transcript", whole.shown(&["check", "--transcript", "nowhere.jsonl"]));
}

#[test]
fn an_unreadable_journal_is_told_and_does_without() {
    let workplace = Workplace::new(Some(RUST));
    workplace.write("src/lib.rs", "pub fn one() -> u32 { 2 }\n");
    workplace.turn(&[("sed -i s/1/2/ src/lib.rs", true)]);
    let state = workplace.path("state");
    std::fs::create_dir(&state).unwrap();
    std::fs::write(
        state.join("journal.db"),
        "this is no database, and long enough to be looked at".repeat(40),
    )
    .unwrap();
    std::fs::set_permissions(state.join("journal.db"), std::fs::Permissions::from_mode(0o600)).unwrap();
    let output = workplace.run(&["check", "--transcript", workplace.transcript().to_str().unwrap()]);
    let told = redacted(&output.stderr);
    insta::assert_snapshot!("unreadable_journal", told);
    assert_eq!(output.code, Some(1));
}

#[test]
fn it_fits_the_terminal() {
    let workplace = Workplace::new(Some(RUST));
    for number in 0..12 {
        workplace.write(&format!("src/module_{number}.rs"), "pub fn one() -> u32 { 2 }\n");
    }
    for columns in [40, 60, 100] {
        let output = workplace.checkstone(&["check"]).env("COLUMNS", columns.to_string()).answer();
        let text = output.stdout;
        for line in text.lines() {
            assert!(line.chars().count() <= columns, "{columns}: {line}");
        }
    }
}

/// Invariant 7: what a repository's files say cannot move the cursor.
#[test]
fn names_from_a_repository_cannot_write_to_the_terminal() {
    let escape = "\\u001b[2J";
    let workplace = Workplace::new(Some(&format!(
        "[[category]]\nname = \"a{escape}\"\ninclude = [\"src/**\"]\nrequire = [\"b\"]\n[action.b]\nsay = \"do{escape}\"\n\
         evidence = [\"make b\"]\n[[check]]\nwhen = [\"**\"]\nrun = \"x{escape}\"\n"
    )));
    workplace.write("src/e\u{1b}[2Jvil.rs", "\n");
    for arguments in [&["check"][..], &["policy", "show"], &["trust", "--yes"], &["status"]] {
        let output = workplace.checkstone(arguments).env("CLICOLOR_FORCE", "1").answer();
        assert_eq!(output.stdout.matches("\u{1b}[2J").count(), 0, "{arguments:?}");
    }
    workplace.write("checkstone.toml", &format!("\"k{escape}\" = 1\n"));
    for arguments in [&["check"][..], &["policy", "check"], &["policy", "show"], &["trust", "--yes"]] {
        let output = workplace.checkstone(arguments).env("CLICOLOR_FORCE", "1").answer();
        assert_eq!(output.to_string().matches("\u{1b}[2J").count(), 0, "{arguments:?}");
    }
}

#[test]
fn without_git_nothing_can_be_said_unless_the_policy_has_words_for_it() {
    let without_git =
        |workplace: &Workplace| workplace.checkstone(&["check"]).env("PATH", "/nonexistent").answer();
    let silent = Workplace::new(Some(RUST));
    let told = without_git(&silent).to_string();
    assert_eq!(
        told,
        "exit code: 2\n--- stdout\n--- stderr\nerror: cannot ask git: there is no program `git`\n\
         hint: install git, or add its folder to `PATH`\n"
    );
    let generic = Workplace::new(Some("[gate]\nno_git = \"generic\"\n"));
    assert_eq!(without_git(&generic).code, Some(1));
}

#[test]
fn checks_run_where_they_are_trusted() {
    let workplace = Workplace::new(Some("[[check]]\nwhen = [\"src/**\"]\nrun = \"echo 3 failed; exit 1\"\n"));
    workplace.write("src/lib.rs", "pub fn one() -> u32 { 2 }\n");
    insta::assert_snapshot!("untrusted_check", workplace.shown(&["check"]));
    workplace.run(&["trust", "--yes"]);
    insta::assert_snapshot!("trusted_check", without_durations(workplace.shown(&["check"])));
}
