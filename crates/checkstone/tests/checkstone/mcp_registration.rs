//! `init --mcp`: the server is registered where each client looks for it, `uninstall` takes it back to the byte, and `doctor` looks.

use std::collections::BTreeMap;
use std::path::PathBuf;

use sandbox::contents;
use serde_json::json;

use crate::init::Home;

const ALL: [&str; 7] = ["claude", "gemini", "codex", "qwen", "opencode", "copilot", "droid"];

fn agents() -> Vec<&'static str> {
    ALL.iter().flat_map(|agent| ["--agent", agent]).collect()
}

fn init(home: &Home) -> String {
    home.succeeds(&[&["init", "--mcp", "--yes"], agents().as_slice()].concat())
}

/// A home whose clients were used before.
fn used() -> Home {
    let home = Home::new();
    home.put(".claude.json", "{\n  \"numStartups\": 7,\n  \"mcpServers\": {\n    \"other\": {\n      \"command\": \"x\"\n    }\n  }\n}\n");
    home.put(".gemini/settings.json", "{\"security\": {\"auth\": {}}}");
    home.put(".codex/config.toml", "model = \"x\" # mine\n\n[mcp_servers.other]\ncommand = \"y\"\n");
    home.put(".qwen/settings.json", "{}\n");
    home.put(".factory/mcp.json", "{\"note\": \"cut \\ud83d\", \"most\": 1e999}\n");
    home
}

/// Every file, and what is in it.
fn files(home: &Home) -> BTreeMap<PathBuf, Vec<u8>> {
    let all = contents(&home.path("")).into_iter().filter(|(path, _)| path.is_file());
    all.map(|(path, (bytes, _))| (path, bytes)).collect()
}

/// The lines of `doctor` about servers.
fn said_of_servers(home: &Home) -> String {
    let doctor = home.run(&["doctor"]).stdout;
    let said: Vec<&str> = doctor.lines().filter(|line| line.contains(" mcp ")).collect();
    sandbox::redacted(said.join("\n"))
}

#[test]
fn there_and_back_is_the_same_to_the_byte() {
    for home in [Home::new(), used()] {
        let before = files(&home);
        init(&home);
        let program = home.workplace.path("bin/checkstone");
        let plain = json!({"command": program, "args": ["mcp"]});
        assert_eq!(home.value(".gemini/settings.json")["mcpServers"]["checkstone"], plain);
        assert_eq!(
            home.value(".gemini/settings.json")["hooks"]["AfterAgent"][0]["hooks"][0]["type"],
            "command"
        );
        assert_eq!(home.value(".claude.json")["mcpServers"]["checkstone"]["command"], json!(program));
        assert_eq!(
            home.value(".config/opencode/opencode.json")["mcp"]["checkstone"]["command"],
            json!([program, "mcp"])
        );
        let codex =
            format!("[mcp_servers.checkstone]\ncommand = \"{}\"\nargs = [\"mcp\"]\n", program.display());
        assert!(home.read(".codex/config.toml").ends_with(&codex), "{}", home.read(".codex/config.toml"));
        let once = files(&home);
        init(&home);
        assert_eq!(files(&home), once, "a second time changes nothing");
        home.succeeds(&["uninstall", "--yes"]);
        assert_eq!(files(&home), before);
    }
}

/// Claude Code and Copilot CLI read the same file of a repository.
#[test]
fn a_file_of_two_clients_is_taken_back_once() {
    for agents in [&["claude"][..], &["copilot"], &["claude", "copilot"]] {
        let home = Home::new();
        let there = || -> BTreeMap<PathBuf, Vec<u8>> {
            let all = contents(&home.workplace.repo()).into_iter();
            all.map(|(path, (bytes, _))| (path, bytes)).collect()
        };
        let before = there();
        let named: Vec<&str> = agents.iter().flat_map(|agent| ["--agent", agent]).collect();
        home.succeeds(
            &[&["init", "--project", "--mcp", "--preset", "docs", "--yes"], named.as_slice()].concat(),
        );
        assert!(home.workplace.repo().join(".mcp.json").is_file());
        home.succeeds(&["uninstall", "--yes"]);
        std::fs::remove_file(home.workplace.repo().join("checkstone.toml")).unwrap();
        let (left, was): (Vec<_>, Vec<_>) = (there().into_keys().collect(), before.keys().cloned().collect());
        assert_eq!(left, was, "{agents:?}");
        assert!(there() == before, "{agents:?}");
    }
}

/// Somebody changed the files since: only our own goes.
#[test]
fn what_others_added_since_stays() {
    let home = used();
    init(&home);
    let text = home.read(".claude.json").replace("\"numStartups\": 7", "\"numStartups\": 8");
    home.put(".claude.json", &text);
    let codex = home.read(".codex/config.toml");
    home.put(".codex/config.toml", format!("{codex}\n[mcp_servers.third]\ncommand = \"z\"\n"));
    home.succeeds(&["uninstall", "--yes"]);
    assert_eq!(
        home.read(".claude.json"),
        "{\n  \"numStartups\": 8,\n  \"mcpServers\": {\n    \"other\": {\n      \"command\": \"x\"\n    }\n  }\n}\n"
    );
    assert_eq!(
        home.read(".codex/config.toml"),
        "model = \"x\" # mine\n\n[mcp_servers.other]\ncommand = \"y\"\n\n[mcp_servers.third]\ncommand = \"z\"\n"
    );
}

#[test]
fn the_plan_and_the_result_are_told() {
    let home = used();
    home.put(".copilot/mcp-config.json", "{\"mcpServers\": {\"checkstone\": {\"command\": \"mine\"}}}");
    home.put(".factory/mcp.json", "{\"mcpServers\": []}");
    let arguments = [&["init", "--mcp", "--yes"], agents().as_slice()].concat();
    insta::assert_snapshot!(home.told(&arguments));
    std::fs::remove_file(home.workplace.path("bin/checkstone")).unwrap();
    insta::assert_snapshot!(said_of_servers(&home));
}

/// What would not be the same document with our server in it is not written: Codex would not start any more.
#[test]
fn a_list_that_takes_no_server_is_left_as_it_is() {
    for text in [
        "mcp_servers = {}\n",
        "mcp_servers = { other = { command = \"x\" } }\n",
        "mcp_servers = 3\n",
        "[[mcp_servers]]\n",
    ] {
        for scope in [&[][..], &["--project", "--preset", "docs"]] {
            let home = Home::new();
            let file = match scope.is_empty() {
                true => home.path(".codex/config.toml"),
                false => home.workplace.repo().join(".codex/config.toml"),
            };
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, text).unwrap();
            let arguments = [&["init", "--agent", "codex", "--mcp", "--yes"], scope].concat();
            let answer = home.run(&arguments);
            assert_eq!(answer.code, Some(4), "{answer}");
            let told = answer.stdout.matches("config.toml` is left unchanged: `").count();
            assert_eq!(told, 1, "{answer}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
        }
    }
}

/// An older version made a file invalid. What it was before is still known; and if somebody else has changed it since, they learn what
/// to do.
#[test]
fn a_file_that_is_no_toml_any_more_is_seen_and_taken_back() {
    let home = used();
    let before = home.read(".codex/config.toml");
    home.succeeds(&["init", "--mcp", "--yes", "--agent", "codex"]);
    let ours = home.read(".codex/config.toml");
    home.put(".codex/config.toml", format!("mcp_servers = {{}}\n{ours}"));
    insta::assert_snapshot!(said_of_servers(&home), @"  ✗ mcp        `~/.codex/config.toml`, in which the MCP server was registered: it is not valid TOML: cannot extend value of type inline table with a dotted key → fix the file; the client cannot read it either");
    let answer = home.told(&["uninstall", "--yes"]);
    insta::assert_snapshot!(answer, @"
    exit code: 4
    --- stdout
    ✓ Codex CLI: `~/.codex/hooks.json` is removed, because `init` created it
    ✗ Codex CLI: `~/.codex/config.toml` is left unchanged: it is not valid TOML: cannot extend value of type inline table with a dotted key; remove the server `checkstone` by hand, or fix it and run `uninstall` again
    `[folder]/repo/checkstone.toml` and the record in `[folder]/state` stay; delete them if you no longer want them.
    --- stderr
    ");
    home.put(".codex/config.toml", &ours);
    home.succeeds(&["uninstall", "--yes"]);
    assert_eq!(home.read(".codex/config.toml"), before);
}

/// Somebody took our server out with the client's own command.
#[test]
fn a_server_that_was_taken_out_is_seen() {
    let home = used();
    let before = home.read(".claude.json");
    home.succeeds(&["init", "--mcp", "--yes", "--agent", "claude"]);
    home.put(".claude.json", before);
    insta::assert_snapshot!(said_of_servers(&home), @"  – mcp        the MCP server is no longer in `~/.claude.json` → `checkstone init --mcp --agent claude` registers it again");
}

/// Who uninstalled does not miss it, also if there was nothing left to take out.
#[test]
fn a_server_that_was_taken_out_is_not_missed_after_uninstall() {
    for takes_hooks_first in [false, true] {
        let home = used();
        let before = home.read(".claude.json");
        home.succeeds(&["init", "--mcp", "--yes", "--agent", "claude"]);
        if takes_hooks_first {
            std::fs::remove_file(home.path(".claude/settings.json")).unwrap();
        }
        home.put(".claude.json", &before);
        home.succeeds(&["uninstall", "--dry-run"]);
        home.succeeds(&["uninstall", "--yes", "--agent", "gemini"]);
        assert_ne!(said_of_servers(&home), "");
        home.succeeds(&["uninstall", "--yes"]);
        assert_eq!((said_of_servers(&home), home.read(".claude.json")), (String::new(), before));
    }
}

/// Only what is no JSON the client cannot read either.
#[test]
fn a_file_that_only_we_do_not_understand_is_seen() {
    let home = used();
    home.succeeds(&["init", "--mcp", "--yes", "--agent", "claude"]);
    let said: Vec<String> = ["{\"mcpServers\": {}, \"mcpServers\": {}}", "{\"mcpServers\": []}", "[]", "{"]
        .into_iter()
        .map(|text| {
            home.put(".claude.json", text);
            said_of_servers(&home)
        })
        .collect();
    std::fs::File::create(home.path(".claude.json")).unwrap().set_len(17 * 1024 * 1024).unwrap();
    insta::assert_snapshot!([said, vec![said_of_servers(&home)]].concat().join("\n"), @"
    – mcp        `~/.claude.json`, in which the MCP server was registered: `mcpServers` appears in it twice → fix that, so that `doctor` can check the file
    – mcp        `~/.claude.json`, in which the MCP server was registered: `mcpServers` in it is not an object → fix that, so that `doctor` can check the file
    – mcp        `~/.claude.json`, in which the MCP server was registered: it is not a JSON object → fix that, so that `doctor` can check the file
    ✗ mcp        `~/.claude.json`, in which the MCP server was registered: it is not valid JSON: EOF while parsing an object at line 1 column 1 → fix the file; the client cannot read it either
    – mcp        `~/.claude.json`, in which the MCP server was registered, is larger than 16 MiB → fix that, so that `doctor` can check the file
    ");
}
