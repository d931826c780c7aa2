//! Codex CLI.

use std::io;

use serde_json::json;

use super::{Client, ClientForm, ClientProgram, Installed, McpToolNames};

/// A model of Codex CLI 0.166 that works in code mode, and one of every version that does not.
const CODE_MODE_MODEL: &str = "gpt-6.1-sol";
const PLAIN_TOOLS_MODEL: &str = "gpt-5.5";

pub(super) static CLIENT: ClientForm = ClientForm {
    folder: ".codex",
    versions: ["0.166.0", "0.144.6"],
    ways: &[],
    // What a script of its “code mode” did is not recorded by the older one; see LIMITS.md.
    added_milliseconds: 40,
    skipped_tests: [&[], &["codex::"]],
    packages: |machine, version| vec![format!("@openai/codex@{version}-linux-{machine}")],
    program: |_| {
        let machine = std::env::consts::ARCH;
        ClientProgram::At(format!("node_modules/@openai/codex/vendor/{machine}-unknown-linux-musl/bin/codex"))
    },
    settle,
    settle_screen,
    screen: (
        &["--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"],
        "? for shortcuts",
    ),
    prompt: |prompt, goes_on| {
        // Trust is a person's to give, in the client itself.
        let words = [
            "exec",
            "--json",
            "--dangerously-bypass-approvals-and-sandbox",
            "--dangerously-bypass-hook-trust",
        ];
        let resumed: &[&str] = if goes_on { &["resume", "--last"] } else { &[] };
        words.iter().chain(resumed).chain([&prompt]).map(|word| (*word).to_owned()).collect()
    },
    environment: |_, command| {
        command.env("SCRIPTED_MODEL_KEY", "none");
    },
    turn_end: "turn.completed",
    mcp_tools: McpToolNames { prefix: "", namespace: Some("mcp__checkstone") },
    ..ClientForm::BASE
};

fn settle(client: &Installed<'_>) -> io::Result<()> {
    let has_plain_tools = client.client == Client::CodexPlainTools;
    let model = if has_plain_tools { PLAIN_TOOLS_MODEL } else { CODE_MODE_MODEL };
    let settings = SETTINGS.replace("{model}", model).replace("{address}", client.address);
    fs_err::write(client.home.join(".codex/config.toml"), settings)
}

fn settle_screen(client: &Installed<'_>) -> io::Result<()> {
    let file = client.home.join(".codex/config.toml");
    let settings = fs_err::read_to_string(&file)?;
    let folder = json!(client.folder);
    // A daemon would outlive the screen.
    let settings =
        format!("{settings}daemon_auto_start = false\n\n[projects.{folder}]\ntrust_level = \"trusted\"\n");
    fs_err::write(file, settings)
}

const SETTINGS: &str = r#"model = "{model}"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{address}/v1"
wire_api = "responses"
env_key = "SCRIPTED_MODEL_KEY"
requires_openai_auth = false
supports_websockets = false
request_max_retries = 1
stream_max_retries = 1

[analytics]
enabled = false

[features]
apps = false
plugins = false
remote_plugin = false
enable_request_compression = false
"#;
