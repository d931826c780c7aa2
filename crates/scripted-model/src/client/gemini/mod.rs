//! Gemini CLI.

use super::{ClientForm, ClientProgram, McpToolNames};

/// What it runs in; a distribution's own may be too old for it.
const NODE: &str = "22.23.2";

const NOT_WITH_0_44: &[&str] = &[
    // It keeps what a hook said in a session that is resumed. 0.61.0 drops it, and nothing tells the two apart at that moment, so
    // that this one is told twice.
    "gemini::unfinished_work_is_told_once_in_a_session",
    // Its screen crashes if a command ends at once (google-gemini/gemini-cli#27510).
    "screen::gemini::",
];

pub(super) static CLIENT: ClientForm = ClientForm {
    folder: ".gemini",
    versions: ["0.61.0", "0.44.0"],
    skipped_tests: [&[], NOT_WITH_0_44],
    packages: |machine, version| {
        vec![format!("@google/gemini-cli@{version}"), format!("node-linux-{machine}@{NODE}")]
    },
    program: |machine| ClientProgram::Script {
        node: format!("node_modules/node-linux-{machine}/bin/node"),
        script: "node_modules/@google/gemini-cli/bundle/gemini.js".to_owned(),
    },
    settle: |client| client.settle_with(".gemini/settings.json", SETTINGS),
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
    mcp_tools: McpToolNames { prefix: "mcp_checkstone_", namespace: None },
    ..ClientForm::BASE
};

const SETTINGS: &str = r#"{
  "security": {"auth": {"selectedType": "gemini-api-key"}},
  "privacy": {"usageStatisticsEnabled": false},
  "telemetry": {"enabled": false},
  "general": {"disableAutoUpdate": true, "disableUpdateNag": true, "enableAutoUpdate": false}
}
"#;
