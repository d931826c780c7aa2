//! Codex CLI without hooks, as a person uses it: its TUI in a tmux pane, `notify` set, and no hook registered.

/// Named as the other tests of the versions that record what a script did.
mod codex {
    use std::path::Path;

    use scripted_model::Client;
    use serde_json::{Value, json};

    use crate::workplace::{Played, RUN_TESTS, Workplace, with_screen};

    /// Whether the hooks are registered beside `notify`.
    #[derive(PartialEq)]
    enum Hooks {
        Registered,
        None,
    }

    /// `notify` instead of hooks.
    fn set_notify(home: &Path) {
        let file = home.join(".codex/config.toml");
        let settings = fs_err::read_to_string(&file).unwrap();
        let notify = json!([env!("CARGO_BIN_EXE_checkstone"), "hook", "codex", "--notify"]);
        fs_err::write(file, format!("notify = {notify}\n{settings}")).unwrap();
    }

    /// Plays the steps until the log tells of these decisions.
    fn play(workplace: &Workplace, steps: &[Value], hooks: Hooks, decisions: &[&str]) -> Played {
        let register = || {
            set_notify(&workplace.home);
            if hooks == Hooks::Registered {
                workplace.init();
            }
        };
        let shown = workplace.show(json!({ "steps": steps }), register);
        shown.say("Fix add");
        shown.wait_until(|| workplace.decisions() == decisions);
        shown.played()
    }

    fn tested_when_told() -> [Value; 5] {
        [
            json!({"text": "I look first.", "calls": [{"read": "src/calc.py"}]}),
            json!({"text": "Here it is.", "calls": [
                {"edit": {"path": "src/calc.py", "old": "    return a - b", "new": "    return a + b"}}]}),
            json!({"text": "Fixed."}),
            json!({"calls": [{"run": "./run-tests"}]}),
            json!({"text": "Fixed and tested."}),
        ]
    }

    /// Spec 1: codex parity. The message is typed, the model gets it as it is, the test runs, the second end passes.
    #[test]
    fn a_turn_without_a_test_is_held_once_in_its_pane() {
        with_screen(Client::Codex, |workplace| {
            let steps = tested_when_told();
            let played = play(workplace, &steps, Hooks::None, &["hold", "pass"]);
            assert_eq!(played.holds(), [(3, RUN_TESTS.to_owned())]);
            assert_eq!(played.requests.len(), steps.len(), "nothing was typed twice");
            let list = workplace.json(&["explain", "--list", "--json"]);
            assert_eq!(list["verdicts"].as_array().unwrap().len(), 2, "{list:#}");
            assert_eq!(list["verdicts"][0]["verdict"], "pass", "after the hold");
            let held = workplace.json(&["explain", &list["verdicts"][1]["id"].to_string(), "--json"]);
            assert_eq!((&held["answered"], &held["replay"]["same"]), (&json!("hold"), &json!(true)));
            assert_eq!(held["verdict"]["scope"], "touched", "no prompt event, and so no baseline");
        });
    }

    /// The hook holds, and `notify`, which Codex calls after the second stop, finds the turn held.
    #[test]
    fn hooks_and_notify_together_hold_once() {
        with_screen(Client::Codex, |workplace| {
            let steps = tested_when_told();
            let played = play(workplace, &steps, Hooks::Registered, &["hold", "pass", "pass"]);
            assert_eq!(played.holds(), [(3, RUN_TESTS.to_owned())]);
            assert_eq!(played.requests.len(), steps.len(), "nothing was typed on top");
        });
    }

    #[test]
    fn a_tested_turn_is_left_alone() {
        with_screen(Client::Codex, |workplace| {
            let steps = [
                json!({"calls": [{"read": "src/calc.py"}]}),
                json!({"calls": [
                    {"edit": {"path": "src/calc.py", "old": "    return a - b", "new": "    return a + b"}}]}),
                json!({"calls": [{"run": "./run-tests"}]}),
                json!({"text": "Fixed and tested."}),
            ];
            let played = play(workplace, &steps, Hooks::None, &["notify"]);
            assert_eq!((played.holds(), played.requests.len()), (Vec::new(), steps.len()));
        });
    }
}
