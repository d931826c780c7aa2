//! The context of a real client fills up: notes, commit and push happen, and the model gets the continuation prompt.

use sandbox::wait_for_some;
use scripted_model::Client;
use serde_json::{Value, json};

use crate::facts::{fix, look, run, say};
use crate::workplace::{RUN_TESTS, Workplace};

/// More than 40 % of the window of every client, and less than makes it compact.
fn full(workplace: &Workplace, text: &str) -> Value {
    let tokens = match workplace.client {
        Client::Claude => 420_000,
        Client::Gemini => 450_000,
        _ => 110_000,
    };
    json!({"text": text, "delay_ms": 200, "tokens": tokens})
}

fn notes(workplace: &Workplace) -> &'static str {
    match workplace.client {
        Client::Claude => "CLAUDE.md",
        Client::Gemini => "GEMINI.md",
        _ => "AGENTS.md",
    }
}

/// The push is another process; it ends by itself.
fn pushed(workplace: &Workplace) -> Value {
    wait_for_some("the end of the push", || {
        let status = workplace.json(&["status", "--json"]);
        let push = &status["autosave"]["last"]["push"]["state"];
        (push != "started" && *push != Value::Null).then_some(status)
    })
}

pub(crate) fn a_full_context_is_saved_and_the_agent_goes_on(workplace: &Workplace) {
    workplace.configure("[autosave]\nmode = \"autonomous\"\nwait = \"60s\"\n");
    workplace.write("buildguide.md", "- [x] add\n- [ ] subtract\n");
    let origin = workplace.add_origin();
    let steps =
        [look(), fix(), run("./run-tests"), full(workplace, "Fixed and tested."), say("All of it is done.")];
    let played = workplace.play(json!({"steps": steps}), &["Fix add"]);
    let holds = played.holds();
    assert_eq!(holds.len(), 1, "{holds:?}\n{}", workplace.log());
    let (step, said) = &holds[0];
    assert_eq!(*step, 4, "{said}");
    let commit = workplace.git(&["rev-parse", "HEAD"]).trim().to_owned();
    for part in [
        "[checkstone] The context is 4",
        &format!("Notes and 1 other file committed as {} on `main`", &commit[..10]),
        "push to `origin` started",
        "- Task: Fix add",
        "- Next item of `buildguide.md`: subtract",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let status = pushed(workplace);
    assert_eq!(status["autosave"]["last"]["push"]["state"], "pushed", "{status:#}");
    let there =
        workplace.git(&["--git-dir", origin.to_str().unwrap(), "log", "-1", "--format=%H %s", "main"]);
    assert_eq!(there.trim(), format!("{commit} checkpoint: auto-checkpoint"));
    let index = workplace.git(&["show", &format!("HEAD:{}", notes(workplace))]);
    assert_eq!(index.split("## Last Session").count(), 2, "{index}");
    let kept = workplace.git(&["show", "HEAD", "--", ".checkstone"]);
    assert!(kept.contains("- Asked: `Fix add`") && kept.contains("- Files changed: `src/calc.py`"), "{kept}");
    // What the agent changed is neither committed nor staged, and in the snapshot.
    assert_eq!(workplace.git(&["diff", "--name-only"]).trim(), "src/calc.py");
    let snapshot = status["autosave"]["last"]["snapshot"].as_str().unwrap();
    let name = format!("refs/checkstone/snapshots/main/{snapshot}:src/calc.py");
    assert_eq!(workplace.git(&["show", &name]), "def add(a, b):\n    return a + b\n");
}

pub(crate) fn the_gate_and_the_save_share_one_hold(workplace: &Workplace) {
    workplace.configure("[autosave]\nmode = \"autonomous\"\nwait = \"60s\"\n");
    let steps = [look(), fix(), full(workplace, "Fixed."), run("./run-tests"), say("Fixed and tested.")];
    let played = workplace.play(json!({"steps": steps}), &["Fix add"]);
    let holds = played.holds();
    assert_eq!(holds.len(), 1, "{holds:?}\n{}", workplace.log());
    assert!(holds[0].1.starts_with(RUN_TESTS), "{}", holds[0].1);
    assert!(holds[0].1.contains("\n\nThe context is "), "{}", holds[0].1);
}
