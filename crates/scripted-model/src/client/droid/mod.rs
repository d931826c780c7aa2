//! Droid.

use super::{ChatDialect, ClientForm, ClientProgram};

/// It goes on with a session only after it has asked its maker's servers for it.
const NEEDS_ITS_SERVERS: &[&str] = &[
    "droid::two_prompts_in_one_session",
    "droid::what_cannot_be_done_is_not_asked_for_again",
    "droid::unfinished_work_is_told_when_a_session_begins",
];

pub(super) static CLIENT: ClientForm = ClientForm {
    folder: ".factory",
    versions: ["0.215.0", "0.117.0"],
    added_milliseconds: 60,
    skipped_tests: [NEEDS_ITS_SERVERS, NEEDS_ITS_SERVERS],
    packages: |machine, version| vec![format!("@factory/cli-linux-{machine}@{version}")],
    program: |machine| ClientProgram::At(format!("node_modules/@factory/cli-linux-{machine}/bin/droid")),
    settle: |client| {
        client.settle_with(".factory/settings.json", "{\n  \"cloudSessionSync\": false\n}\n")?;
        // Every play has a model at an address of its own; the person's settings stay as they are.
        fs_err::write(client.home.join(MODEL), SETTINGS.replace("ADDRESS", client.address))
    },
    settle_screen: |_| Ok(()),
    screen: (&[], "Type"),
    prompt: |prompt, _| {
        let words = ["exec", "-m", "custom:scripted", "--auto", "high", "-o", "stream-json", prompt];
        words.map(str::to_owned).to_vec()
    },
    environment: |client, command| {
        command
            .env("FACTORY_API_KEY", "fk-none")
            .env("FACTORY_RUNTIME_SETTINGS_PATH", client.home.join(MODEL));
    },
    chat: Some(ChatDialect {
        tools: ["Execute", "Read", "Create", "Edit"],
        run: r#"{"summary": "Run a command", "riskLevel": "low", "riskLevelReason": "A test", "timeout": 30}"#,
        inputs: &[("old_string", "old_str"), ("new_string", "new_str")],
    }),
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
