//! What each rule looked at, and what silenced it.

use gate::{Changes, Explanation, Inputs, PlanFile, explain, judge};

use crate::turns::*;

fn explained(text: &str, turn: &Inputs) -> Vec<Explanation> {
    let policy = policy(text);
    explain(&policy, turn, &judge(&policy, turn))
}

fn lines(explanations: &[Explanation]) -> Vec<String> {
    let line = |one: &Explanation| {
        let mut line = format!("{:?} {} {:?}", one.rule, one.subject, one.state);
        if let Some(evidence) = &one.evidence {
            line.push_str(&format!(" by {} in line {:?}", evidence.command, evidence.line));
        }
        if let Some(reason) = &one.reason {
            line.push_str(&format!(": {reason}"));
        }
        line
    };
    explanations.iter().map(line).collect()
}

/// R8: every rule says what silenced it, or why what it saw does not.
#[test]
fn r8_every_rule_tells_its_evidence() {
    let mut turn = inputs(
        vec![
            read("src/a.rs"),
            edit("src/a.rs"),
            failed("cargo test", 101, "test result: FAILED."),
            ran("cargo test"),
            edit("src/b.rs"),
        ],
        &["src/a.rs", "src/b.rs"],
    );
    let text = "## Files to Change\n| `src/a.rs` |\n".to_owned();
    turn.plan = Some(PlanFile { slug: "lexer".to_owned(), text });
    assert_eq!(
        lines(&explained(r#"presets = ["rust"]"#, &turn)),
        [
            "MissingAction rust-tests Fired: it ran before the last change",
            "UnresolvedError `cargo test` Suppressed by cargo test in line Some(4)",
            "EditWithoutRead src/a.rs Suppressed by read src/a.rs in line Some(1)",
            "EditWithoutRead src/b.rs Fired",
            "WideBlastRadius 2 changed files Suppressed: at most 3 top-level folders",
            "PlanDrift work item lexer Suppressed by src/a.rs in line None",
        ]
    );
}

#[test]
fn what_is_waived_or_off_is_told_as_such() {
    let mut turn = inputs(vec![write("src/a.rs"), failed("cargo test", 101, "no linker")], &["src/a.rs"]);
    turn.said = vec!["checkstone: cannot rust-tests: no linker".to_owned()];
    let told = lines(&explained("presets = [\"rust\"]\n[gate.rules]\nhygiene = \"off\"", &turn));
    assert_eq!(
        told,
        [
            "MissingAction rust-tests Waived: no linker",
            "UnresolvedError `cargo test` Waived",
            "WideBlastRadius 1 changed file Off: at most 3 top-level folders",
        ]
    );
}

#[test]
fn nothing_is_explained_that_was_not_asked() {
    let mut turn = inputs(vec![failed("make", 2, "")], &[]);
    turn.plan = Some(PlanFile { slug: "x".to_owned(), text: "## Files to Change\n| `a.rs` |".to_owned() });
    assert_eq!(lines(&explained("", &turn)), ["UnresolvedError `make` Fired"]);
    turn.changes = Changes::Unknown("no git".to_owned());
    assert!(explained("", &turn).is_empty());
}

/// What is red goes by its own level, and what is weaker and not understood is explained too.
#[test]
fn red_weaker_and_not_understood_are_explained() {
    let red =
        inputs(vec![write("src/a.rs"), failed("cargo test", 101, "test result: FAILED.")], &["src/a.rs"]);
    let other = inputs(vec![failed("cargo test", 101, "test result: FAILED.")], &[]);
    let told = |turn: &Inputs| {
        let policy = "presets = [\"rust\"]\n[gate.rules]\nerrors = \"off\"\nred = \"hold\"";
        let explained = lines(&explained(policy, turn));
        explained.into_iter().filter(|line| line.starts_with("UnresolvedError")).collect::<Vec<_>>()
    };
    assert_eq!(told(&red), ["UnresolvedError `cargo test` Fired"]);
    assert_eq!(told(&other), ["UnresolvedError `cargo test` Off"]);

    let mut weaker = inputs(vec![write("src/a.rs"), ran("cargo check")], &["src/a.rs"]);
    weaker.repository = Some(crate::real_sessions::repository(&[("Cargo.toml", "[package]\nname = 'x'")]));
    assert_eq!(
        lines(&explained(r#"presets = ["rust"]"#, &weaker)),
        [
            "MissingAction rust-tests Suppressed by cargo check in line Some(2)",
            "WeakerVerification rust-tests Fired: The changes were only built or type checked — `cargo test` would verify more",
            "WideBlastRadius 1 changed file Suppressed: at most 3 top-level folders",
        ]
    );

    let mut unknown = inputs(vec![], &["src/a.rs"]);
    unknown.coverage = transcript::Coverage {
        extent: transcript::Extent::Unavailable,
        records: 3,
        understood: 0,
        reason: None,
    };
    assert_eq!(lines(&explained(r#"presets = ["rust"]"#, &unknown)), ["NotUnderstood the transcript Fired"]);
}
