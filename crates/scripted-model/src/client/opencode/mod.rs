//! opencode.

use super::{ChatDialect, ClientForm, ClientProgram, ClientWay, McpToolNames};

pub(super) static CLIENT: ClientForm = ClientForm {
    folder: ".config/opencode",
    versions: ["1.18.33", "1.17.19"],
    ways: &[ClientWay {
        name: "`\"snapshot\": false`",
        settle: |client| {
            let file = client.home.join(".config/opencode/opencode.json");
            let settings = fs_err::read_to_string(&file)?;
            fs_err::write(file, settings.replacen('{', "{\n  \"snapshot\": false,", 1))
        },
    }],
    packages: |machine, version| vec![format!("opencode-linux-{machine}@{version}")],
    program: |machine| ClientProgram::At(format!("node_modules/opencode-linux-{machine}/bin/opencode")),
    settle: |client| {
        client.settle_with(".config/opencode/opencode.json", SETTINGS)?;
        // With a plugin it would fetch a package for plugins first.
        fs_err::create_dir_all(client.home.join(".config/opencode/node_modules"))?;
        client.settle_with(".config/opencode/package-lock.json", INSTALLED)
    },
    screen: (&[], "Ask anything"),
    prompt: |prompt, goes_on| {
        let words = ["run", "--format", "json"];
        let words = words.into_iter().chain(goes_on.then_some("--continue"));
        words.chain(["--", prompt]).map(str::to_owned).collect()
    },
    environment: |client, command| {
        // Settings are written once, and every play has a model at an address of its own.
        command.env("SCRIPTED_MODEL", client.address);
        let folder = |name: &str| client.home.join(name);
        command.env("XDG_CONFIG_HOME", folder(".config")).env("XDG_DATA_HOME", folder(".local/share"));
        command.env("XDG_CACHE_HOME", folder(".cache")).env("XDG_STATE_HOME", folder(".local/state"));
        for name in ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE"] {
            command.env(format!("OPENCODE_DISABLE_{name}"), "1");
        }
    },
    chat: Some(ChatDialect {
        tools: ["bash", "read", "write", "edit"],
        run: "{}",
        inputs: &[("file_path", "filePath"), ("old_string", "oldString"), ("new_string", "newString")],
    }),
    turn_end: "step_finish",
    mcp_tools: McpToolNames { prefix: "checkstone_", namespace: None },
    ..ClientForm::BASE
};

const SETTINGS: &str = r#"{
  "autoupdate": false,
  "share": "disabled",
  "model": "scripted/scripted",
  "small_model": "scripted/scripted",
  "enabled_providers": ["scripted"],
  "provider": {
    "scripted": {
      "npm": "@ai-sdk/openai-compatible",
      "name": "scripted",
      "options": {"baseURL": "{env:SCRIPTED_MODEL}/v1", "apiKey": "none"},
      "models": {"scripted": {"name": "scripted", "limit": {"context": 100000, "output": 8000}}}
    }
  },
  "permission": {"bash": "allow", "edit": "allow", "external_directory": "allow"}
}
"#;

const INSTALLED: &str = r#"{"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}"#;
