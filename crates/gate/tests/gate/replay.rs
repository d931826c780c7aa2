//! Every verdict can be made again from what was recorded of it, bit for bit.

use gate::policy::{Policy, Source};
use gate::{Inputs, PlanFile, Stop, Verdict, Waiting, Waived, judge};

use crate::turns::*;

fn turns() -> Vec<Inputs> {
    let plain = inputs(vec![read("src/a.rs"), edit("src/a.rs"), ran("cargo test | tail")], &["src/a.rs"]);
    let failing = inputs(
        vec![write("src/ä \n.rs"), failed("bash -c 'cargo test && make x'", 101, "error[E0308] \u{1b}[31m")],
        &["src/ä \n.rs", "README.md"],
    );
    let mut told =
        with_files(vec![ran("if then"), by_subagent(ran("cargo test"))], vec![written("src/b.rs", 0, 3)]);
    told.said = vec!["checkstone: cannot rust-tests: no compiler".to_owned()];
    told.history.held_before = vec!["rust-tests".to_owned()];
    told.history.waived = vec![Waived { action: "rust-build".to_owned(), reason: "offline".to_owned() }];
    told.plan = Some(PlanFile { slug: "x".to_owned(), text: "## Files to Change\n| `a.rs` |".to_owned() });
    let mut waits = inputs(vec![], &["src/a.rs"]);
    waits.stop = Stop { waiting: Some(Waiting::PlanMode), ..Stop::default() };
    vec![plain, failing, told, waits]
}

#[test]
fn a_verdict_is_replayed_from_recorded_inputs() {
    let sources =
        vec![r#"presets = ["rust"]"#.to_owned(), r#"presets = ["teleclaude"]"#.to_owned(), String::new()];
    let recorded: Vec<String> = serde_json::from_str(&serde_json::to_string(&sources).unwrap()).unwrap();
    for (text, again) in sources.iter().zip(&recorded) {
        let policy = policy(text);
        let reloaded = Policy::load(&[Source { name: "checkstone.toml", text: again }]).unwrap();
        for turn in turns() {
            let verdict = judge(&policy, &turn);
            let json = serde_json::to_string(&turn).unwrap();
            let read: Inputs = serde_json::from_str(&json).unwrap();
            assert_eq!(read, turn);
            assert_eq!(serde_json::to_string(&read).unwrap(), json);
            let replayed = judge(&reloaded, &read);
            assert_eq!(serde_json::to_string(&replayed).unwrap(), serde_json::to_string(&verdict).unwrap());
            assert_eq!(judge(&policy, &turn), verdict, "judging twice");
            let back: Verdict = serde_json::from_str(&serde_json::to_string(&verdict).unwrap()).unwrap();
            // What goes into the ledger is no part of what is told, nor what the messages were made of.
            let mut told = Verdict { standings: Vec::new(), told_unproven: None, hold: None, ..verdict };
            told.observations.iter_mut().for_each(|observation| observation.failure = None);
            told.actions.iter_mut().for_each(|action| action.was_asked_before = false);
            assert_eq!(back, told);
        }
    }
}
