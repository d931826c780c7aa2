//! Codex CLI without hooks, as a person uses it: its TUI in a tmux pane, `notify` set, and no hook registered.

/// Named as the other tests of the versions that record what a script did.
mod codex {
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};

    use sandbox::wait_for;
    use scripted_model::{Client, Scenario, Server, Settings};
    use serde_json::{Value, json};

    use crate::workplace::{Played, RUN_TESTS, Workplace, with};

    /// Runs a fact where the client is there, and tmux too.
    fn in_tmux(fact: impl FnOnce(&Workplace)) {
        if Command::new("tmux").arg("-V").stdout(Stdio::null()).status().is_ok() {
            with(Client::Codex, fact);
        }
    }

    /// Whether the hooks are registered beside `notify`.
    #[derive(PartialEq)]
    enum Hooks {
        Registered,
        None,
    }

    /// The client's screen, in a tmux server of its own.
    struct Screen<'a> {
        workplace: &'a Workplace,
        socket: PathBuf,
    }

    impl<'a> Screen<'a> {
        /// Starts the client with its first prompt.
        fn start(workplace: &'a Workplace, address: &str, prompt: &str) -> Self {
            let screen = Self { workplace, socket: workplace.home.join("tmp/tmux") };
            let mut command = screen.tmux(&["new-session", "-d", "-x", "120", "-y", "50", "--"]);
            workplace.installed(address).environment(&mut command);
            command.arg(&workplace.program).arg("--dangerously-bypass-approvals-and-sandbox");
            // Trust is a person's to give; without hooks there is none to give.
            command.args(["--dangerously-bypass-hook-trust", prompt]);
            assert!(command.status().unwrap().success());
            screen
        }

        fn tmux(&self, arguments: &[&str]) -> Command {
            let mut command = Command::new("tmux");
            command.args(["-u", "-f", "/dev/null", "-S"]).arg(&self.socket).args(arguments);
            command.env_remove("TMUX").stdin(Stdio::null());
            command
        }

        fn text(&self) -> String {
            let output = self.tmux(&["capture-pane", "-p"]).output().unwrap();
            String::from_utf8_lossy(&output.stdout).into_owned()
        }

        #[track_caller]
        fn wait_until(&self, server: &Server, condition: impl Fn() -> bool) {
            let shown = std::panic::AssertUnwindSafe(|| wait_for("the decisions in the log", condition));
            if std::panic::catch_unwind(shown).is_err() {
                panic!("{}\n--- screen\n{}", self.workplace.told(server), self.text());
            }
        }
    }

    impl Drop for Screen<'_> {
        fn drop(&mut self) {
            let _ = self.tmux(&["kill-server"]).stderr(Stdio::null()).status();
        }
    }

    /// `notify` instead of hooks; and no daemon, which would outlive the test.
    fn set_notify(home: &Path, repository: &Path) {
        let file = home.join(".codex/config.toml");
        let settings = fs_err::read_to_string(&file).unwrap();
        let notify = json!([env!("CARGO_BIN_EXE_checkstone"), "hook", "codex", "--notify"]);
        let trusted = format!("[projects.{}]\ntrust_level = \"trusted\"\n", json!(repository));
        let settings = format!("notify = {notify}\n{settings}daemon_auto_start = false\n\n{trusted}");
        fs_err::write(file, settings).unwrap();
    }

    /// Plays the steps until the log tells of these decisions.
    fn play(workplace: &Workplace, steps: &[Value], hooks: Hooks, decisions: &[&str]) -> Played {
        let scenario: Scenario = serde_json::from_value(json!({ "steps": steps })).unwrap();
        let settings = Settings { port: 0, folder: workplace.repository.clone(), log: None };
        let server = Server::start(scenario, &settings).unwrap();
        let address = server.address();
        workplace.installed(&address).settle().unwrap();
        set_notify(&workplace.home, &workplace.repository);
        if hooks == Hooks::Registered {
            workplace.init();
        }
        let screen = Screen::start(workplace, &address, "Fix add");
        screen.wait_until(&server, || workplace.decisions() == decisions);
        let requests = server.requests().into_iter().filter(|request| request.is_turn).collect();
        Played { requests }
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
        in_tmux(|workplace| {
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
        in_tmux(|workplace| {
            let steps = tested_when_told();
            let played = play(workplace, &steps, Hooks::Registered, &["hold", "pass", "pass"]);
            assert_eq!(played.holds(), [(3, RUN_TESTS.to_owned())]);
            assert_eq!(played.requests.len(), steps.len(), "nothing was typed on top");
        });
    }

    #[test]
    fn a_tested_turn_is_left_alone() {
        in_tmux(|workplace| {
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
