//! What each rule expected and saw, also where it kept silent.

use gate::{Changes, PlanFile, Rule, Saw, explain};

use crate::turns::*;

/// R8: every rule says what satisfied it, or why what it saw does not.
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
    let told: Vec<String> = explain(&policy(r#"presets = ["rust"]"#), &turn)
        .into_iter()
        .map(|explanation| {
            let saw = match explanation.saw {
                Saw::Evidence { evidence } => {
                    format!("silent: {} (line {:?})", evidence.command, evidence.line)
                }
                Saw::Ambiguous { like, why } => format!("speaks: {}: {why}", like.command),
                Saw::Nothing => "speaks".to_owned(),
            };
            format!("{:?} {}: {saw}", explanation.rule, explanation.about)
        })
        .collect();
    assert_eq!(
        told,
        [
            "MissingAction rust-tests: speaks: cargo test: it ran before the last change",
            "UnresolvedError cargo test: silent: cargo test (line Some(4))",
            "EditWithoutRead src/a.rs: silent: read src/a.rs (line Some(1))",
            "EditWithoutRead src/b.rs: speaks",
            "WideBlastRadius at most 3 folders: silent: folders changed: 1 (line None)",
            "PlanDrift lexer: silent: src/a.rs (line None)",
        ]
    );
}

#[test]
fn nothing_is_explained_that_did_not_change() {
    let mut turn = inputs(vec![failed("make", 2, "")], &[]);
    turn.plan = Some(PlanFile { slug: "x".to_owned(), text: "## Files to Change\n| `a.rs` |".to_owned() });
    let rules: Vec<Rule> =
        explain(&policy(""), &turn).into_iter().map(|explanation| explanation.rule).collect();
    assert_eq!(rules, [Rule::UnresolvedError]);
    turn.changes = Changes::Unknown("no git".to_owned());
    assert!(explain(&policy(""), &turn).is_empty());
}
