//! Gemini CLI.

use super::{ClientForm, ClientProgram};

/// What it runs in; a distribution's own may be too old for it.
const NODE: &str = "22.23.2";

pub(super) static CLIENT: ClientForm = ClientForm {
    folder: ".gemini",
    versions: ["0.61.0", "0.44.0"],
    added_milliseconds: 60,
    skipped_tests: [&[], &[]],
    packages: |machine, version| {
        vec![format!("@google/gemini-cli@{version}"), format!("node-linux-{machine}@{NODE}")]
    },
    program: |machine| ClientProgram::Script {
        node: format!("node_modules/node-linux-{machine}/bin/node"),
        script: "node_modules/@google/gemini-cli/bundle/gemini.js".to_owned(),
    },
    settle: |client| client.settle_with(".gemini/settings.json", SETTINGS),
    settle_screen: |_| Ok(()),
    screen: (&["--approval-mode", "yolo"], "Type your message"),
    prompt: |prompt, goes_on| {
        let words = ["-p", prompt, "--approval-mode", "yolo", "--output-format", "stream-json"];
        let resumed: &[&str] = if goes_on { &["--resume", "latest"] } else { &[] };
        words.iter().chain(resumed).map(|word| (*word).to_owned()).collect()
    },
    environment: |client, command| {
        command.env("GOOGLE_GEMINI_BASE_URL", client.address).env("GEMINI_API_KEY", "none");
        command.env("GEMINI_TELEMETRY_ENABLED", "false").env("GEMINI_CLI_TRUST_WORKSPACE", "true");
        // One process, not two.
        command.env("GEMINI_CLI_NO_RELAUNCH", "true").env("NO_BROWSER", "1");
    },
    chat: None,
};

const SETTINGS: &str = r#"{
  "security": {"auth": {"selectedType": "gemini-api-key"}},
  "privacy": {"usageStatisticsEnabled": false},
  "telemetry": {"enabled": false},
  "general": {"disableAutoUpdate": true, "disableUpdateNag": true, "enableAutoUpdate": false}
}
"#;
