//! Copilot CLI.

use super::{ChatDialect, ClientForm, ClientProgram, McpToolNames};

pub(super) static CLIENT: ClientForm = ClientForm {
    folder: ".copilot",
    versions: ["1.0.102", "1.0.92"],
    packages: |machine, version| vec![format!("@github/copilot-linux-{machine}@{version}")],
    program: |machine| ClientProgram::At(format!("node_modules/@github/copilot-linux-{machine}/copilot")),
    screen: (&["--allow-all-tools"], "/ commands"),
    prompt: |prompt, goes_on| {
        let words = ["-p", prompt, "--allow-all-tools", "--output-format", "json"];
        words.into_iter().chain(goes_on.then_some("--continue")).map(str::to_owned).collect()
    },
    environment: |client, command| {
        // It unpacks itself at its first start, which takes longer than all the rest.
        if let Some(folder) = client.program.parent() {
            command.env("COPILOT_PKG_CACHE_HOME", folder.with_file_name("unpacked"));
        }
        // It trusts every folder then.
        command.env("COPILOT_ALLOW_ALL", "true");
        command.env("COPILOT_OFFLINE", "true").env("COPILOT_AUTO_UPDATE", "false");
        command.env("COPILOT_PROVIDER_BASE_URL", format!("{}/v1", client.address));
        command.env("COPILOT_PROVIDER_API_KEY", "none").env("COPILOT_MODEL", "gpt-4.1");
    },
    chat: Some(ChatDialect {
        tools: ["bash", "view", "create", "edit"],
        run: r#"{"mode": "sync", "initial_wait": 30}"#,
        inputs: &[
            ("file_path", "path"),
            ("content", "file_text"),
            ("old_string", "old_str"),
            ("new_string", "new_str"),
        ],
    }),
    mcp_tools: McpToolNames { prefix: "checkstone-", namespace: None },
    ..ClientForm::BASE
};
