//! Claude Code.

use serde_json::json;

use super::{ClientForm, ClientProgram};

pub(super) static CLIENT: ClientForm = ClientForm {
    folder: ".claude",
    versions: ["2.1.325", "2.1.197"],
    packages: |machine, version| vec![format!("@anthropic-ai/claude-code-linux-{machine}@{version}")],
    program: |machine| {
        ClientProgram::At(format!("node_modules/@anthropic-ai/claude-code-linux-{machine}/claude"))
    },
    settle: |_| Ok(()),
    settle_screen: |client| {
        let folder = json!({"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true});
        let state = json!({
            "hasCompletedOnboarding": true,
            "theme": "dark",
            "bypassPermissionsModeAccepted": true,
            "customApiKeyResponses": {"approved": ["none"], "rejected": []},
            "projects": {client.folder.to_string_lossy(): folder},
        });
        fs_err::write(client.home.join(".claude.json"), state.to_string())
    },
    screen: (&["--permission-mode", "bypassPermissions"], "bypass permissions on"),
    prompt: |prompt, goes_on| {
        let words = [
            "-p",
            prompt,
            "--permission-mode",
            "bypassPermissions",
            "--output-format",
            "stream-json",
            "--verbose",
        ];
        words.into_iter().chain(goes_on.then_some("--continue")).map(str::to_owned).collect()
    },
    environment: |client, command| {
        command.env("ANTHROPIC_BASE_URL", client.address).env("ANTHROPIC_API_KEY", "none");
        command.env("CLAUDE_CODE_TMPDIR", client.home.join("tmp"));
        for switch in SWITCHES {
            command.env(switch, "1");
        }
    },
    ..ClientForm::BASE
};

const SWITCHES: &[&str] = &[
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "DISABLE_TELEMETRY",
    "DISABLE_AUTOUPDATER",
    "DISABLE_ERROR_REPORTING",
    // Root may not skip permissions anywhere else.
    "IS_SANDBOX",
];
