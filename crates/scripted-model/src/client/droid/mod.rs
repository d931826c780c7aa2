//! Droid.

use serde_json::{Value, json};

use super::{ChatDialect, ClientForm, ClientProgram, McpToolNames};

/// It goes on with a session only after it has asked its maker's servers for it.
const NEEDS_ITS_SERVERS: &[&str] = &[
    "droid::two_prompts_in_one_session",
    "droid::what_cannot_be_done_is_not_asked_for_again",
    "droid::unfinished_work_is_told_once_in_a_session",
];

/// And 0.117.0 asks them at its screen who is there, also in its mode for machines without a network.
const PREVIOUS_NEEDS_ITS_SERVERS: &[&str] = &[
    "droid::two_prompts_in_one_session",
    "droid::what_cannot_be_done_is_not_asked_for_again",
    "droid::unfinished_work_is_told_once_in_a_session",
    "screen::droid::",
];

pub(super) static CLIENT: ClientForm = ClientForm {
    folder: ".factory",
    versions: ["0.215.0", "0.117.0"],
    skipped_tests: [NEEDS_ITS_SERVERS, PREVIOUS_NEEDS_ITS_SERVERS],
    packages: |machine, version| vec![format!("@factory/cli-linux-{machine}@{version}")],
    program: |machine| ClientProgram::At(format!("node_modules/@factory/cli-linux-{machine}/bin/droid")),
    settle: |client| {
        client.settle_with(".factory/settings.json", "{\n  \"cloudSessionSync\": false\n}\n")?;
        // Every play has a model at an address of its own; the person's settings stay as they are.
        fs_err::write(client.home.join(MODEL), SETTINGS.replace("ADDRESS", client.address))
    },
    settle_screen: |client| {
        let file = client.home.join(".factory/settings.json");
        let mut settings: Value = serde_json::from_str(&fs_err::read_to_string(&file)?)?;
        if let Some(settings) = settings.as_object_mut() {
            let folder = json!({client.folder.to_string_lossy(): {"trustedAt": "2026-01-31T09:00:00.000Z"}});
            settings.insert("trustedFolders".to_owned(), folder);
        }
        fs_err::write(file, serde_json::to_string_pretty(&settings)?)
    },
    screen: (&["--auto", "high"], "? for help"),
    prompt: |prompt, _| {
        let words = ["exec", "-m", "custom:scripted", "--auto", "high", "-o", "stream-json", prompt];
        words.map(str::to_owned).to_vec()
    },
    environment: |client, command| {
        command
            .env("FACTORY_API_KEY", "fk-none")
            // Its own mode for machines without a network; otherwise its screen asks its maker's servers who is there.
            .env("FACTORY_AIRGAP_ENABLED", "true")
            .env("FACTORY_RUNTIME_SETTINGS_PATH", client.home.join(MODEL));
    },
    chat: Some(ChatDialect {
        tools: ["Execute", "Read", "Create", "Edit"],
        run: r#"{"summary": "Run a command", "riskLevel": "low", "riskLevelReason": "A test", "timeout": 30}"#,
        inputs: &[("old_string", "old_str"), ("new_string", "new_str")],
    }),
    turn_end: "completion",
    mcp_tools: McpToolNames { prefix: "checkstone___", namespace: None },
    ..ClientForm::BASE
};

const MODEL: &str = "tmp/model.json";

const SETTINGS: &str = r#"{
  "customModels": [
    {
      "model": "scripted",
      "displayName": "scripted",
      "baseUrl": "ADDRESS/v1",
      "apiKey": "none",
      "provider": "generic-chat-completion-api",
      "maxOutputTokens": 8000
    }
  ]
}
"#;
