//! `init` on files of every kind: registered once, nothing else touched, nothing damaged.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sandbox::{Answer, RunToEnd as _, redacted};
use serde_json::{Value, json};

use crate::program::without_clients;
use crate::trust::terminal;
use crate::workplace::{Workplace, valid};

/// A home in which all three clients have been, and a `PATH` with nothing on it but git and the program.
pub(crate) struct Home {
    pub(crate) workplace: Workplace,
}

pub(crate) const FILES: [&str; 3] = [".claude/settings.json", ".gemini/settings.json", ".codex/hooks.json"];

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self { workplace: Workplace::new(None) };
        std::fs::create_dir(home.workplace.path("bin")).unwrap();
        symlink(env!("CARGO_BIN_EXE_checkstone"), home.workplace.path("bin/checkstone")).unwrap();
        let path = std::env::var_os("PATH").unwrap();
        let git = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|git| git.is_file());
        symlink(git.unwrap(), home.workplace.path("bin/git")).unwrap();
        for file in FILES {
            std::fs::create_dir_all(home.path(file).parent().unwrap()).unwrap();
        }
        home
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.workplace.path("home").join(name)
    }

    pub(crate) fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn value(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.workplace.checkstone(arguments);
        command.env("PATH", self.workplace.path("bin"));
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Answer {
        self.command(arguments).answer()
    }

    pub(crate) fn succeeds(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.code, Some(0), "{output}");
        output.stdout
    }

    /// All that was answered but the diffs, which are long and shown elsewhere.
    pub(crate) fn told(&self, arguments: &[&str]) -> String {
        self.told_by(&self.run(arguments))
    }

    pub(crate) fn told_by(&self, output: &Answer) -> String {
        let shown = redacted(output.to_string());
        let is_diff = |line: &&str| {
            let is_part = line.starts_with(['+', '@', ' ', '\\']) && !line.starts_with("  →");
            is_part
                || line.is_empty()
                || line.starts_with('-') && *line != "--- stdout" && *line != "--- stderr"
        };
        let mut told = String::new();
        for line in shown.lines().filter(|line| !is_diff(line)) {
            // The name of a backup is the hash of what is in it, and paths are in some.
            let line = match line.split_once("/backups/") {
                Some((before, _)) => format!("{before}/backups/[hash].json`"),
                None => line.to_owned(),
            };
            told.push_str(&format!("{line}\n"));
        }
        told
    }

    pub(crate) fn json(&self, arguments: &[&str], schema: &str) -> Value {
        let output = self.run(arguments);
        assert_eq!(output.stderr, "");
        valid(&output.stdout, schema)
    }

    /// Every file below the home, the repository and the state directory, with its content.
    pub(crate) fn everything(&self) -> Vec<(PathBuf, Option<Vec<u8>>)> {
        let mut all = Vec::new();
        for folder in ["home", "repo", "state"] {
            collect(&self.workplace.path(folder), &mut all);
        }
        all.sort();
        all
    }
}

fn collect(folder: &Path, all: &mut Vec<(PathBuf, Option<Vec<u8>>)>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            collect(&path, all);
        }
        let content = std::fs::read(&path).ok();
        all.push((path, content));
    }
}

fn registered(home: &Home, file: &str) -> bool {
    let stop = if file.contains("gemini") { "AfterAgent" } else { "Stop" };
    let hooks = home.value(file)["hooks"][stop].to_string();
    hooks.contains("/bin/checkstone")
}

#[test]
fn what_a_person_sees() {
    let home = Home::new();
    home.put(FILES[0], "{\n  \"model\": \"opus\"\n}\n");
    home.workplace.write("Cargo.toml", "");
    let shown = |arguments: &[&str]| redacted(home.run(arguments).to_string());
    insta::assert_snapshot!("init_dry_run_of_claude", shown(&["init", "--dry-run", "--agent", "claude"]));
    insta::assert_snapshot!("init", home.told(&["init", "--yes", "--diff"]));
    insta::assert_snapshot!("init_again", shown(&["init"]));
    insta::assert_snapshot!("init_help", without_clients(&home.run(&["init", "--help"]).to_string()));
    insta::assert_snapshot!(
        "init_policy",
        std::fs::read_to_string(home.workplace.repo().join("checkstone.toml")).unwrap()
    );
}

#[test]
fn a_dry_run_writes_nothing() {
    let home = Home::new();
    home.put(FILES[0], "{}");
    let before = home.everything();
    home.succeeds(&["init", "--dry-run"]);
    home.succeeds(&["init", "--dry-run", "--json"]);
    home.succeeds(&["init", "--dry-run", "--project"]);
    home.succeeds(&["uninstall", "--dry-run"]);
    assert_eq!(home.everything(), before);
}

#[test]
fn without_a_terminal_only_yes_is_an_answer() {
    let home = Home::new();
    let before = home.everything();
    insta::assert_snapshot!("init_nobody_asked", home.told(&["init"]));
    insta::assert_snapshot!("init_nobody_asked_json", home.told(&["init", "--json"]));
    assert_eq!(home.everything(), before);
}

#[test]
fn a_person_at_a_terminal_is_asked_once() {
    for (answer, code) in [("n\n", 1), ("\n", 1), ("y\n", 0), ("d\nn\n", 1), ("d\ny\n", 0), ("x\n", 1)] {
        let home = Home::new();
        let before = home.everything();
        let (person, end) = terminal();
        rustix::io::write(&person, answer.as_bytes()).unwrap();
        let output = home.command(&["init"]).stdin(Stdio::from(end)).answer();
        assert_eq!(output.code, Some(code), "{output}");
        let questions = answer.matches('d').count() + 1;
        assert_eq!(output.stderr, "Do this? [y/N; d shows the differences] ".repeat(questions));
        assert_eq!(output.stdout.lines().any(|line| line.starts_with("+++ ")), answer.starts_with('d'));
        assert_eq!(home.everything() == before, code == 1);
    }
}

/// One client's bad file does not keep the others from being done; the file is as it was, and the exit code says so.
#[test]
fn a_file_that_is_not_understood_stays_as_it_is() {
    let mut told = String::new();
    for (file, bytes) in [
        (FILES[0], &b"{\"a\": 1,}"[..]),
        (FILES[0], b"{\n  // mine\n  \"a\": 1\n}\n"),
        (FILES[1], b"{\"a\": 1, // mine\n}"),
        (FILES[1], b"\xef\xbb\xbf{}"),
        (FILES[2], b"{\"hooks\": {}, \"hooks\": {}}"),
        (FILES[0], b"{\"hooks\": []}"),
        (FILES[2], b"{\"hooks\": {\"Stop\": \"x\"}}"),
        (FILES[0], b"[]"),
        (FILES[1], b"{\"a\": \"\xff\"}"),
        (".codex/config.toml", b"[hooks"),
    ] {
        let home = Home::new();
        home.put(file, bytes);
        let answer = home.told(&["init", "--yes"]);
        let lines: Vec<&str> = answer.lines().filter(|line| line.starts_with(['✗', 'e'])).collect();
        told.push_str(&format!(
            "{}\n{}\n\n",
            String::from_utf8_lossy(bytes).escape_debug(),
            lines.join("\n")
        ));
        assert_eq!(std::fs::read(home.path(file)).unwrap(), bytes);
        for other in FILES.iter().filter(|other| other.split('/').next() != file.split('/').next()) {
            assert!(registered(&home, other), "{file} {other}");
        }
    }
    insta::assert_snapshot!("init_refused", told);
}

#[test]
fn what_is_no_plain_file_of_ones_own_stays_as_it_is() {
    let home = Home::new();
    std::fs::create_dir(home.path(FILES[0])).unwrap();
    symlink("nowhere", home.path(FILES[1])).unwrap();
    home.put(FILES[2], "{}\n");
    std::fs::set_permissions(home.path(FILES[2]), PermissionsExt::from_mode(0o444)).unwrap();
    insta::assert_snapshot!("init_no_plain_files", home.told(&["init", "--yes"]));
    assert_eq!(home.read(FILES[2]), "{}\n");
    assert!(home.path(FILES[0]).is_dir() && home.path(FILES[1]).is_symlink());
    // A pipe must not be waited for.
    std::fs::remove_dir(home.path(FILES[0])).unwrap();
    assert!(Command::new("mkfifo").arg(home.path(FILES[0])).status().unwrap().success());
    let answer = home.told(&["init", "--yes", "--agent", "claude"]);
    insta::assert_snapshot!(redacted(&answer), @"
    exit code: 4
    --- stdout
    ✗ Claude Code: `~/.claude/settings.json` is not a regular file; fix that and run `init` again
    · checkstone.toml: `[folder]/repo/checkstone.toml` exists and is left unchanged
    --- stderr
    ");
}

#[test]
fn a_link_into_a_dotfiles_repository_stays_a_link() {
    let home = Home::new();
    home.put("dotfiles/claude.json", "{\n  \"model\": \"opus\"\n}\n");
    std::fs::set_permissions(home.path("dotfiles/claude.json"), PermissionsExt::from_mode(0o640)).unwrap();
    symlink("../dotfiles/claude.json", home.path(FILES[0])).unwrap();
    let answer = home.told(&["init", "--yes", "--agent", "claude"]);
    insta::assert_snapshot!(redacted(&answer), @"
    exit code: 0
    --- stdout
    ✓ Claude Code: registered in `~/.claude/settings.json`
      → it is a link to `~/dotfiles/claude.json`, which is written
      → the previous version is kept in `[folder]/state/backups/[hash].json`
    ✓ checkstone.toml: written, presets rust
      → I will ask for `cargo test` after changes to Rust code, because that is the usual way to test it.
    `[folder]/bin/checkstone` is in a build folder, and will be gone after `cargo clean`: install the program first, and run `init` from there.
    Next: `checkstone doctor` proves that the hooks fire. `checkstone uninstall` undoes this; `checkstone.toml` stays.
    Optional: `at_turn_start = true` under `[snapshot]` in `~/.config/checkstone/config.toml` saves the working tree at every prompt. It costs one `git status` and reads what is not committed, here 1 file (763 B), while the agent works.
    --- stderr
    ");
    assert!(home.path(FILES[0]).is_symlink());
    assert!(registered(&home, "dotfiles/claude.json"));
    let mode = std::fs::metadata(home.path("dotfiles/claude.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    home.succeeds(&["uninstall", "--yes"]);
    assert!(home.path(FILES[0]).is_symlink());
    assert_eq!(home.read("dotfiles/claude.json"), "{\n  \"model\": \"opus\"\n}\n");
}

#[test]
fn hooks_written_by_hand_are_recognised() {
    let home = Home::new();
    let hook = json!([{"hooks": [{"type": "command", "command": "exec ~/bin/checkstone hook claude"}]}]);
    home.put(FILES[0], json!({"hooks": {"Stop": hook}}).to_string());
    let config =
        "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"/a/checkstone hook codex\"\n";
    home.put(".codex/config.toml", config);
    insta::assert_snapshot!("init_by_hand", home.told(&["init", "--yes"]));
    assert_eq!(home.value(FILES[0])["hooks"]["Stop"], hook);
    assert_eq!(home.value(FILES[0])["hooks"]["SessionStart"].as_array().unwrap().len(), 1);
    assert!(!home.path(FILES[2]).exists());
    assert_eq!(home.read(".codex/config.toml"), config);
    insta::assert_snapshot!("uninstall_by_hand", home.told(&["uninstall", "--yes"]));
}

#[test]
fn hooks_that_are_switched_off_and_packages_are_told() {
    let home = Home::new();
    home.put(FILES[0], "{\"disableAllHooks\": true}");
    home.put(FILES[1], "{\"hooksConfig\": {\"enabled\": false}}");
    home.put(
        ".codex/config.toml",
        "[features]\nhooks = false\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = \"x\"\n",
    );
    insta::assert_snapshot!("init_switched_off", home.told(&["init", "--yes"]));
    let home = Home::new();
    home.put(FILES[2], "{\"$schema\": \"x\"}");
    let answer = home.told(&["init", "--yes", "--agent", "codex"]);
    insta::assert_snapshot!(redacted(&answer), @"
    exit code: 0
    --- stdout
    ✓ Codex CLI: registered in `~/.codex/hooks.json`
      → Codex ignores `hooks.json` as long as `$schema` is in it: remove it
      → Codex runs no hook that you have not allowed: start `codex` and choose “Trust all and continue” when it shows “Hooks need review”, or type `/hooks`
      → the previous version is kept in `[folder]/state/backups/[hash].json`
    ✓ checkstone.toml: written, presets rust
      → I will ask for `cargo test` after changes to Rust code, because that is the usual way to test it.
    `[folder]/bin/checkstone` is in a build folder, and will be gone after `cargo clean`: install the program first, and run `init` from there.
    Next: `checkstone doctor` proves that the hooks fire. `checkstone uninstall` undoes this; `checkstone.toml` stays.
    Optional: `at_turn_start = true` under `[snapshot]` in `~/.config/checkstone/config.toml` saves the working tree at every prompt. It costs one `git status` and reads what is not committed, here 1 file (763 B), while the agent works.
    --- stderr
    ");
    let home = Home::new();
    home.put(FILES[0], "{\"enabledPlugins\": {\"checkstone@tools\": true}}");
    home.put(".gemini/extensions/checkstone/gemini-extension.json", "{}");
    insta::assert_snapshot!("init_packages", home.told(&["init", "--yes"]));
    insta::assert_snapshot!(redacted(home.read(FILES[0])), @r#"{"enabledPlugins": {"checkstone@tools": true}}"#);
}

/// Codex's trust is for the command line: a path that works is kept, one that is gone is written anew, in its place.
#[test]
fn an_older_path_changes_only_where_it_is_gone() {
    let home = Home::new();
    let old = home.workplace.path("old");
    std::fs::create_dir(&old).unwrap();
    symlink(env!("CARGO_BIN_EXE_checkstone"), old.join("checkstone")).unwrap();
    let by_old = |arguments: &[&str]| {
        let mut command = home.command(arguments);
        command.env("PATH", format!("{}:{}", old.display(), home.workplace.path("bin").display()));
        assert!(command.answer().succeeded());
    };
    by_old(&["init", "--yes"]);
    let before: Vec<String> = FILES.iter().map(|file| home.read(file)).collect();
    insta::assert_snapshot!("init_older_path", home.told(&["init", "--yes"]));
    assert_eq!(FILES.map(|file| home.read(file)).to_vec(), before);
    std::fs::remove_file(old.join("checkstone")).unwrap();
    insta::assert_snapshot!("init_path_gone", home.told(&["init", "--yes"]));
    for (file, before) in FILES.iter().zip(before) {
        assert_eq!(home.read(file), before.replace("/old/checkstone", "/bin/checkstone"));
    }
    home.succeeds(&["uninstall", "--yes"]);
    assert!(FILES.iter().all(|file| !home.path(file).exists()));
}

#[test]
fn the_clients_folders_are_found_as_the_clients_find_them() {
    let home = Home::new();
    for folder in [".claude", ".gemini", ".codex"] {
        std::fs::remove_dir(home.path(folder)).unwrap();
    }
    insta::assert_snapshot!("init_no_client", without_clients(&home.told(&["init", "--yes"])));
    let output = home
        .command(&["init", "--yes", "--agent", "claude", "--agent", "gemini", "--agent", "codex"])
        .env("CLAUDE_CONFIG_DIR", home.path("c"))
        .env("GEMINI_CLI_HOME", home.path("g"))
        .env("CODEX_HOME", home.path("x"))
        .answer();
    assert!(output.succeeded(), "{output}");
    for file in ["c/settings.json", "g/.gemini/settings.json", "x/hooks.json"] {
        assert!(registered(&home, file), "{file}");
    }
    // On the PATH alone is enough.
    let home = Home::new();
    std::fs::remove_dir(home.path(".gemini")).unwrap();
    symlink("/bin/true", home.workplace.path("bin/gemini")).unwrap();
    home.succeeds(&["init", "--yes"]);
    assert!(registered(&home, FILES[1]));
}

#[test]
fn a_project_has_settings_of_its_own() {
    let home = Home::new();
    let told = home.told(&["init", "--yes", "--project"]);
    // The settings name the program, and so a folder whose name is not always as long.
    let (before, after) = told.split_once("here 4 files (").unwrap();
    let (_, after) = after.split_once(')').unwrap();
    insta::assert_snapshot!("init_project", format!("{before}here 4 files ([size]){after}"));
    assert!(FILES.iter().all(|file| !home.path(file).exists()));
    for file in FILES {
        assert!(home.workplace.repo().join(file).is_file());
    }
    let output = home.command(&["init", "--yes", "--project"]).current_dir(home.path("")).answer();
    insta::assert_snapshot!("init_project_outside", home.told_by(&output));
    // From anywhere, for it is recorded.
    let output = home.command(&["uninstall", "--yes"]).current_dir(home.path("")).answer();
    assert!(output.succeeded(), "{output}");
    assert!(FILES.iter().all(|file| !home.workplace.repo().join(file).parent().unwrap().exists()));
}

/// A link in a repository was chosen by whoever made the repository; one in the home is the person's own.
#[test]
fn a_repository_whose_settings_lead_elsewhere_is_not_registered() {
    let home = Home::new();
    let repository = home.workplace.repo();
    let elsewhere = home.workplace.path("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("claude.json"), "{}").unwrap();
    symlink("../elsewhere", repository.join(".claude")).unwrap();
    symlink("../elsewhere/claude.json", repository.join(".mcp.json")).unwrap();
    symlink("../elsewhere", repository.join(".qwen")).unwrap();
    // One that stays in the repository is followed.
    std::fs::create_dir(repository.join("settings")).unwrap();
    symlink("settings", repository.join(".gemini")).unwrap();
    let agents = ["--agent", "claude", "--agent", "gemini", "--agent", "qwen"];
    let told = home.told(&[&["init", "--yes", "--project", "--mcp"], agents.as_slice()].concat());
    let clients: Vec<&str> =
        told.lines().filter(|line| line.starts_with(['✓', '✗']) && line.contains(".json")).collect();
    assert_eq!(
        clients.iter().map(redacted).collect::<Vec<_>>(),
        [
            "✗ Claude Code: `[folder]/repo/.claude/settings.json` is not written: a link leads out of the repository, to \
             `[folder]/elsewhere/settings.json`; replace the link with a file or folder of the repository's own, or run `init` \
             without `--project`",
            "✓ Gemini CLI: registered in `[folder]/repo/.gemini/settings.json`",
            "✗ Qwen Code: `[folder]/repo/.qwen/settings.json` is not written: a link leads out of the repository, to \
             `[folder]/elsewhere/settings.json`; replace the link with a file or folder of the repository's own, or run `init` \
             without `--project`",
            "✗ Claude Code: `[folder]/repo/.mcp.json` is not written: a link leads out of the repository, to \
             `[folder]/elsewhere/claude.json`; replace the link with a file or folder of the repository's own, or run `init` \
             without `--project`",
            "✓ Gemini CLI: the MCP server is registered in `[folder]/repo/.gemini/settings.json`",
        ]
    );
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 1);
    assert_eq!(std::fs::read_to_string(elsewhere.join("claude.json")).unwrap(), "{}");
    assert!(repository.join("settings/settings.json").is_file());
    // As a dotfile manager does it.
    std::fs::remove_dir(home.path(".claude")).unwrap();
    std::fs::create_dir(home.path("dotfiles")).unwrap();
    symlink("dotfiles", home.path(".claude")).unwrap();
    home.succeeds(&["init", "--yes", "--agent", "claude"]);
    assert!(registered(&home, "dotfiles/settings.json") && home.path(".claude").is_symlink());
}

/// Whoever comes second finds it done, or is told that the file changed meanwhile.
#[test]
fn many_at_once_register_once() {
    let home = Home::new();
    FILES.iter().for_each(|file| home.put(file, "{\n  \"hooks\": {}\n}\n"));
    let start =
        || home.command(&["init", "--yes"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let children: Vec<_> = (0..8).map(|_| start()).collect();
    let codes: Vec<_> = children.into_iter().map(|mut child| child.wait().unwrap().code().unwrap()).collect();
    assert!(codes.iter().all(|code| matches!(code, 0 | 4)), "{codes:?}");
    home.succeeds(&["init", "--yes"]);
    let once = Home::new();
    FILES.iter().for_each(|file| once.put(file, "{\n  \"hooks\": {}\n}\n"));
    once.succeeds(&["init", "--yes"]);
    let (here, there) = (home.workplace.path("bin"), once.workplace.path("bin"));
    for file in FILES {
        let wanted = once.read(file).replace(there.to_str().unwrap(), here.to_str().unwrap());
        assert_eq!(home.read(file), wanted);
    }
    home.succeeds(&["uninstall", "--yes"]);
    FILES.iter().for_each(|file| assert_eq!(home.read(file), "{\n  \"hooks\": {}\n}\n"));
}

#[test]
fn the_policy_is_written_once() {
    let home = Home::new();
    let policy = home.workplace.repo().join("checkstone.toml");
    home.succeeds(&["init", "--yes", "--preset", "python", "--preset", "make"]);
    let text = std::fs::read_to_string(&policy).unwrap();
    insta::assert_snapshot!(redacted(&text), @r#"
    # What must be done before an agent may end its turn here.
    # `checkstone policy show` prints all that follows from this file, `checkstone policy check` finds mistakes in it.

    # Ready-made rules: c, dart, docs, dotnet, elixir, go, java, make, node, php, python, ruby, rust, shell, swift.
    presets = ["python", "make"]

    # Files that need nothing. A category below beats this.
    # prose = ["docs/**", "*.md"]

    # [gate]
    # all_clear = "notify"     # notify | hold | silent

    # What else changed files require:
    #
    # [[category]]
    # name = "service code"
    # include = ["service/**"]
    # require = ["restart"]
    #
    # [action.restart]
    # say = "Run `make restart`"
    # evidence = ["make restart"]
    "#);
    home.succeeds(&["policy", "check"]);
    std::fs::write(&policy, "presets = []\n").unwrap();
    home.succeeds(&["init", "--yes", "--preset", "rust"]);
    assert_eq!(std::fs::read_to_string(&policy).unwrap(), "presets = []\n");
    let output = home.run(&["init", "--preset", "cobol"]);
    assert_eq!(output.code, Some(2));
}

#[test]
fn what_is_printed_as_json_fits_its_schema() {
    let home = Home::new();
    home.put(FILES[0], "[]");
    home.put(FILES[1], "{}");
    let value = home.json(&["init", "--json", "--yes"], "init.schema.json");
    let states: Vec<&Value> =
        value["clients"].as_array().unwrap().iter().map(|client| &client["state"]).collect();
    assert_eq!(states, ["refused", "changed", "changed"]);
    assert_eq!(value["policy"]["state"], "changed");
    let value = home.json(&["init", "--json", "--dry-run"], "init.schema.json");
    assert_eq!(
        (&value["clients"][1]["state"], &value["clients"][1]["diff"]),
        (&json!("unchanged"), &json!(""))
    );
    let output = home.command(&["init", "--json", "--yes"]).current_dir(home.path("")).answer();
    assert_eq!(valid(&output.stdout, "init.schema.json")["policy"], Value::Null);
    let value = home.json(&["uninstall", "--json", "--yes"], "uninstall.schema.json");
    assert_eq!(value["files"].as_array().unwrap().len(), 2);
    assert_eq!(home.json(&["uninstall", "--json", "--yes"], "uninstall.schema.json")["files"], json!([]));
}

/// Clients call the program by the path that lives longest: a link on the `PATH` before what it leads to.
#[test]
fn the_path_that_lives_longest_is_registered() {
    let home = Home::new();
    let command = |home: &Home| home.value(FILES[0])["hooks"]["Stop"][0]["hooks"][0]["command"].clone();
    home.succeeds(&["init", "--yes", "--agent", "claude"]);
    assert_eq!(command(&home), json!(home.workplace.path("bin/checkstone")));
    home.succeeds(&["uninstall", "--yes"]);
    // Not on the PATH: by the name that it was called with, if that is its own.
    for (link, registered) in [
        ("other/checkstone", home.workplace.path("other/checkstone")),
        ("other/cs", Path::new(env!("CARGO_BIN_EXE_checkstone")).canonicalize().unwrap()),
    ] {
        std::fs::create_dir_all(home.workplace.path("other")).unwrap();
        symlink(env!("CARGO_BIN_EXE_checkstone"), home.workplace.path(link)).unwrap();
        let plain = home.command(&[]);
        let output = Command::new(home.workplace.path(link))
            .args(["init", "--yes", "--agent", "claude"])
            .env_clear()
            .envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .env("PATH", "/nonexistent")
            .current_dir(home.workplace.repo())
            .answer();
        assert!(output.succeeded(), "{output}");
        assert_eq!(command(&home), json!(registered));
        home.succeeds(&["uninstall", "--yes"]);
    }
}
