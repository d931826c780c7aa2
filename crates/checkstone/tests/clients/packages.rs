//! The packages in the real clients: accepted by their own validation, installed as a person installs them, and the hook
//! fires from them. And `checkstone doctor` beside a real client.

use std::path::{Path, PathBuf};

use scripted_model::{Client, Installed};
use serde_json::{Value, json};

use crate::facts::{fix, look, run, say};
use crate::workplace::{RUN_TESTS, Workplace};

fn steps() -> Value {
    json!({"steps": [look(), fix(), say("Fixed."), run("./run-tests"), say("Fixed and tested.")]})
}

/// The folder that people unpack.
fn package(workplace: &Workplace) -> PathBuf {
    let packages = std::env::var_os("CHECKSTONE_TEST_PACKAGES").unwrap();
    Path::new(&packages).join(format!(
        "checkstone-{}-{}",
        workplace.client.agent(),
        env!("CARGO_PKG_VERSION")
    ))
}

/// By the client's own commands, and nothing else.
fn install(workplace: &Workplace) {
    let folder = package(workplace);
    let folder = folder.to_str().unwrap();
    match workplace.client {
        Client::Claude => {
            let told = workplace.client_says(&["plugin", "validate", folder], "");
            assert!(told.contains("Validation passed"), "{told}");
            workplace.client_says(&["plugin", "marketplace", "add", folder], "");
            workplace.client_says(&["plugin", "install", "checkstone@checkstone"], "");
        }
        Client::Gemini => {
            let told = workplace.client_says(&["extensions", "validate", folder], "");
            assert!(told.contains("successfully validated"), "{told}");
            workplace.client_says(&["extensions", "install", folder, "--consent"], "y\n");
        }
        _ => {
            let file = workplace.home().join(".codex/config.toml");
            let settings = fs_err::read_to_string(&file).unwrap();
            fs_err::write(&file, settings.replace("\nplugins = false", "\nplugins = true")).unwrap();
            workplace.client_says(&["plugin", "marketplace", "add", folder], "");
            workplace.client_says(&["plugin", "add", "checkstone@checkstone"], "");
        }
    }
}

/// What doctor says of the client.
struct Examined {
    agent: &'static str,
    findings: Vec<Value>,
}

fn examine(workplace: &Workplace) -> Examined {
    let agent = workplace.client.agent();
    let told = workplace.json(&["doctor", "--json", "--agent", agent]);
    Examined { agent, findings: told["findings"].as_array().unwrap().clone() }
}

impl Examined {
    /// `good`, `note` or `problem` first.
    fn of(&self, check: &str) -> Vec<String> {
        let is_asked = |finding: &&Value| finding["about"] == self.agent && finding["check"] == check;
        let text = |finding: &Value, name: &str| finding[name].as_str().unwrap().to_owned();
        let asked = self.findings.iter().filter(is_asked);
        asked.map(|finding| format!("{}: {}", text(finding, "state"), text(finding, "text"))).collect()
    }
}

pub(crate) fn is_accepted_installed_and_holds(workplace: &Workplace) {
    let played = workplace.play_with(|_| install(workplace), steps(), &["Fix add"]);
    assert_eq!(played.holds(), [(3, RUN_TESTS.to_owned())]);
    assert_eq!(workplace.decisions(), ["hold", "pass"]);
    let examined = examine(workplace);
    let registered = examined.of("registered");
    let by = if workplace.client == Client::Gemini { "by the extension" } else { "by the plugin" };
    assert_eq!(registered.len(), 1, "{registered:?}");
    assert!(registered[0].starts_with("good: ") && registered[0].ends_with(by), "{registered:?}");
    let fires = examined.of("fires");
    assert!(fires[0].starts_with("good: "), "{fires:?}");
}

/// H9: two hooks run at every event, and the agent hears one of them.
pub(crate) fn beside_the_settings_holds_once(workplace: &Workplace) {
    let both = |_: &Installed<'_>| {
        workplace.init();
        install(workplace);
    };
    let played = workplace.play_with(both, steps(), &["Fix add"]);
    assert_eq!(played.holds(), [(3, RUN_TESTS.to_owned())]);
    let decisions = workplace.decisions();
    assert_eq!(decisions.iter().filter(|decision| *decision == "hold").count(), 1, "{decisions:?}");
    let examined = examine(workplace);
    let registered = examined.of("registered");
    assert_eq!(registered.len(), 3, "{registered:?}");
    assert!(registered[2].starts_with("note: more than once"), "{registered:?}");
}

/// `/checkpoint`, typed by a person after a turn that was held: the model gets what the program prints, to show it.
pub(crate) fn shows_what_the_gate_would_say(workplace: &Workplace) {
    let typed = match workplace.client {
        Client::Claude => "/checkstone:checkpoint",
        Client::Gemini => "/checkpoint",
        // Codex has no commands of plugins; a skill is named in the prompt, and the model reads it.
        _ => "$checkstone:checkpoint",
    };
    let scenario = json!({"steps": [look(), fix(), say("Fixed."), say("No more."), say("Shown.")]});
    let played = workplace.play_with(|_| install(workplace), scenario, &["Fix add", typed]);
    let said = played.requests.last().unwrap().user_texts().join("\n");
    match workplace.client {
        Client::Claude | Client::Gemini => {
            assert!(said.contains("What the gate would decide now:"), "{said}");
            assert!(said.contains("missing: tests"), "{said}");
        }
        _ => assert!(said.contains("`checkstone check`"), "{said}"),
    }
}

pub(crate) fn doctor_proves_that_the_hook_fires(workplace: &Workplace) {
    workplace.play(steps(), &["Fix add"]);
    let examined = examine(workplace);
    let installed = examined.of("installed");
    let shown = format!(", `{}`", workplace.program().display());
    assert!(installed[0].starts_with("good: ") && installed[0].ends_with(&shown), "{installed:?}");
    assert!(examined.of("registered")[0].contains("` for every repository"));
    assert!(examined.of("fires")[0].starts_with("good: held a turn without tests"));
    let transcript = examined.of("transcript");
    assert!(transcript[0].starts_with("good: "), "{transcript:?}");
    let trusted = examined.of("trusted");
    match workplace.client {
        Client::Claude | Client::Gemini => assert_eq!(trusted, [""; 0]),
        // The test lets it run without asking; the person has not been asked.
        _ => {
            assert_eq!(trusted, ["problem: Codex does not run the hook: you have not trusted it yet"]);
        }
    }
}
