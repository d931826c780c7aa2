//! Qwen Code.

use super::{ChatDialect, ClientForm, ClientProgram};

/// It asks for this one; a distribution's own may be too old for it.
const NODE: &str = "22.23.2";

pub(super) static CLIENT: ClientForm = ClientForm {
    folder: ".qwen",
    versions: ["0.24.4", "0.23.4"],
    packages: |machine, version| {
        vec![format!("@qwen-code/qwen-code@{version}"), format!("node-linux-{machine}@{NODE}")]
    },
    program: |machine| ClientProgram::Script {
        node: format!("node_modules/node-linux-{machine}/bin/node"),
        script: "node_modules/@qwen-code/qwen-code/cli.js".to_owned(),
    },
    settle: |client| client.settle_with(".qwen/settings.json", SETTINGS),
    screen: (&["--approval-mode", "yolo"], "Type your message"),
    prompt: |prompt, goes_on| {
        let words = ["-p", prompt, "--approval-mode", "yolo", "--output-format", "stream-json"];
        words.into_iter().chain(goes_on.then_some("--continue")).map(str::to_owned).collect()
    },
    environment: |client, command| {
        command.env("OPENAI_BASE_URL", format!("{}/v1", client.address));
        command.env("OPENAI_API_KEY", "none").env("OPENAI_MODEL", "scripted");
        // One process, not two.
        command.env("QWEN_CODE_NO_RELAUNCH", "true").env("NO_BROWSER", "1");
    },
    chat: Some(ChatDialect {
        tools: ["run_shell_command", "read_file", "write_file", "edit"],
        run: r#"{"is_background": false}"#,
        inputs: &[],
    }),
    ..ClientForm::BASE
};

const SETTINGS: &str = r#"{
  "security": {"auth": {"selectedType": "openai"}},
  "privacy": {"usageStatisticsEnabled": false},
  "telemetry": {"enabled": false},
  "general": {"enableAutoUpdate": false},
  "memory": {"enableManagedAutoMemory": false, "enableManagedAutoDream": false, "enableAutoSkill": false}
}
"#;
