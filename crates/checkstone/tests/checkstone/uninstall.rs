//! There and back: after `uninstall` every file is what it was.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::init::{FILES, Home};
use sandbox::{Answer, RunToEnd as _, redacted};

/// Settings as people have them, in the layouts of editors and of programs; every client accepts them.
const REAL: &[&str] = &[
    "{\n  \"model\": \"opus\",\n  \"permissions\": {\n    \"allow\": [\"Bash(git *)\"]\n  }\n}\n",
    "{\n  \"model\": \"opus\"\n}",
    "{\r\n    \"theme\": \"dark\",\r\n    \"hooks\": {\r\n        \"Notification\": []\r\n    }\r\n}\r\n",
    "{\n\t\"hooks\": {\n\t\t\"STOP\": [\n\t\t\t{ \"hooks\": [{ \"type\": \"command\", \"command\": \"say done\" }] }\n\t\t]\n\t}\n}\n",
    "{\"hooks\":{\"STOP\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"true\"}]}]},\"env\":{\"A\":\"b\"}}",
    "{\"model\": \"x\", \"env\": {}}\n\n",
    "{\n  \"hooks\": {\n  }\n}\n",
    "{\n  \"hooks\": {\n    \"STOP\": []\n  }\n}\n",
    "{}",
    "{ }\n",
    "{\n}\n",
    "",
    "\n\n",
];

fn of(file: &str, text: &str) -> String {
    text.replace("STOP", if file.contains("gemini") { "AfterAgent" } else { "Stop" })
}

#[test]
fn there_and_back_is_the_same_to_the_byte() {
    for text in REAL {
        let home = Home::new();
        FILES.iter().for_each(|file| home.put(file, of(file, text)));
        home.succeeds(&["init", "--yes"]);
        let after = FILES.map(|file| home.read(file));
        for (file, after) in FILES.iter().zip(&after) {
            assert!(after.contains("/bin/checkstone"), "{file}: {after}");
        }
        let everything = home.everything();
        home.succeeds(&["init", "--yes"]);
        assert_eq!(home.everything(), everything);
        home.succeeds(&["uninstall", "--yes"]);
        for file in FILES {
            assert_eq!(home.read(file), of(file, text), "{file}");
        }
        assert_eq!(home.succeeds(&["uninstall"]), "checkstone is not registered in any client.\n");
    }
}

/// A repository's folder may be a link to the person's own: one file by two names, which is taken back once.
#[test]
fn a_file_with_two_names_is_taken_back_once() {
    let claude = FILES[0];
    for text in REAL {
        let home = Home::new();
        home.put(claude, of(claude, text));
        home.succeeds(&["init", "--agent", "claude", "--mcp", "--yes"]);
        std::os::unix::fs::symlink(home.path(".claude"), home.workplace.repo().join(".claude")).unwrap();
        let told = home.succeeds(&["uninstall", "--agent", "claude", "--yes"]);
        assert_eq!(told.matches("settings.json").count(), 1, "{told}");
        assert_eq!(home.read(claude), of(claude, text));
    }
}

/// A person's own folder may be a link into a repository of theirs: what `init` wrote by either name is taken out.
#[test]
fn a_file_that_was_written_by_two_names_is_taken_back() {
    let home = Home::new();
    let settings = home.workplace.repo().join(".gemini/settings.json");
    std::fs::create_dir(settings.parent().unwrap()).unwrap();
    std::fs::write(&settings, "{\"model\": {}}").unwrap();
    std::fs::remove_dir(home.path(".gemini")).unwrap();
    std::os::unix::fs::symlink(settings.parent().unwrap(), home.path(".gemini")).unwrap();
    home.succeeds(&["init", "--project", "--agent", "gemini", "--yes"]);
    home.succeeds(&["init", "--mcp", "--agent", "gemini", "--yes"]);
    let told = home.succeeds(&["uninstall", "--yes"]);
    assert_eq!(told.matches("settings.json").count(), 2, "{told}");
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), "{\"model\": {}}");
}

/// The status line of Claude Code goes the same way, there and back.
#[test]
fn a_status_line_is_added_where_there_is_none_and_taken_back() {
    let claude = FILES[0];
    for text in REAL {
        let home = Home::new();
        home.put(claude, of(claude, text));
        home.succeeds(&["init", "--agent", "claude", "--statusline", "--yes"]);
        let command = home.value(claude)["statusLine"]["command"].as_str().unwrap().to_owned();
        assert!(command.ends_with("/bin/checkstone statusline"), "{command}");
        let told = home.run(&["doctor", "--agent", "claude"]);
        assert!(told.stdout.contains("is ours"), "{told:?}");
        home.succeeds(&["uninstall", "--yes"]);
        assert_eq!(home.read(claude), of(claude, text));
    }
}

#[test]
fn a_persons_own_status_line_stays() {
    let claude = FILES[0];
    let home = Home::new();
    let text = "{\n  \"statusLine\": { \"type\": \"command\", \"command\": \"~/line.sh\" }\n}\n";
    home.put(claude, text);
    let told = home.succeeds(&["init", "--agent", "claude", "--statusline", "--yes"]);
    insta::assert_snapshot!(redacted(&told), @r#"
    ✓ Claude Code: registered in `~/.claude/settings.json`
      → you have a status line of your own, which stays; it can call `checkstone statusline` and use its output
      → the previous version is kept in `[folder]/state/backups/[hash].json`
    ✓ checkstone.toml: written, presets rust
      → I will ask for `cargo test` after changes to Rust code, because that is the usual way to test it.
    `[folder]/bin/checkstone` is in a build folder, and will be gone after `cargo clean`: install the program first, and run `init` from there.
    Next: `checkstone doctor` proves that the hooks fire. `checkstone uninstall` undoes this; `checkstone.toml` stays.
    Optional: `at_turn_start = true` under `[snapshot]` in `~/.config/checkstone/config.toml` saves the working tree at every prompt. It costs one `git status` and reads what is not committed, here 1 file (763 B), while the agent works.
    "#);
    assert_eq!(home.value(claude)["statusLine"]["command"], "~/line.sh");
    home.succeeds(&["uninstall", "--yes"]);
    assert_eq!(home.read(claude), text);
}

/// In a file that was changed since, only what is ours goes.
#[test]
fn a_status_line_goes_from_a_file_that_changed_since() {
    let claude = FILES[0];
    let home = Home::new();
    home.put(claude, "{\n  \"model\": \"opus\"\n}\n");
    home.succeeds(&["init", "--agent", "claude", "--statusline", "--yes"]);
    home.put(claude, home.read(claude).replace("opus", "sonnet"));
    home.succeeds(&["uninstall", "--yes"]);
    assert_eq!(home.read(claude), "{\n  \"model\": \"sonnet\"\n}\n");
}

/// Only Gemini CLI accepts comments.
#[test]
fn comments_survive() {
    let home = Home::new();
    let text = "{\n  // Dark, please\n  \"ui\": { \"theme\": \"dark\" }, /* and\n  so on */\n  \"hooks\": {\n    // none\n  } // end\n}\n";
    home.put(FILES[1], text);
    home.succeeds(&["init", "--yes"]);
    let registered = redacted(home.read(FILES[1]));
    let (first, others) = registered.split_once(",\n    \"BeforeAgent\"").unwrap();
    let (_, entry) = first.split_once("\"SessionStart\": ").unwrap();
    let others = others.replace(entry, "[the same]");
    insta::assert_snapshot!(format!("{first},\n    \"BeforeAgent\"{others}"), @r#"
    {
      // Dark, please
      "ui": { "theme": "dark" }, /* and
      so on */
      "hooks": {
        // none
        "SessionStart": [
          {
            "matcher": "*",
            "hooks": [
              {
                "name": "checkstone",
                "type": "command",
                "command": "[folder]/bin/checkstone hook gemini || true",
                "timeout": 120000
              }
            ]
          }
        ],
        "BeforeAgent": [the same],
        "AfterAgent": [the same],
        "SessionEnd": [the same]
      } // end
    }
    "#);
    home.succeeds(&["uninstall", "--yes"]);
    assert_eq!(home.read(FILES[1]), text);
}

#[test]
fn thousands_of_lines_are_no_matter() {
    let home = Home::new();
    let lines: String = (0..20_000).map(|number| format!("    \"Bash(tool-{number} *)\",\n")).collect();
    let text = format!("{{\n  \"permissions\": {{\"allow\": [\n{lines}    \"Read\"\n  ]}}\n}}\n");
    home.put(FILES[0], &text);
    home.succeeds(&["init", "--yes"]);
    home.succeeds(&["uninstall", "--yes"]);
    assert_eq!(home.read(FILES[0]), text);
}

#[test]
fn what_init_made_is_removed() {
    let home = Home::new();
    std::fs::remove_dir(home.path(".codex")).unwrap();
    home.succeeds(&["init", "--yes", "--agent", "codex", "--agent", "claude"]);
    home.put(".claude/other", "");
    insta::assert_snapshot!("uninstall", home.told(&["uninstall", "--yes"]));
    assert!(!home.path(".codex").exists() && !home.path(FILES[0]).exists());
    assert!(home.path(".claude/other").exists());
    assert!(home.workplace.repo().join("checkstone.toml").exists());
}

/// A folder that stays would make the next `init` believe that the client is installed.
#[test]
fn every_folder_that_init_made_goes_with_what_was_in_it() {
    let home = Home::new();
    let paths = || -> Vec<_> {
        let below = |path: &PathBuf| path.starts_with(home.workplace.path("home"));
        home.everything().into_iter().map(|(path, _)| path).filter(below).collect()
    };
    let before = paths();
    let agents: Vec<&str> = ["codex", "copilot", "droid", "gemini", "opencode", "qwen"]
        .into_iter()
        .flat_map(|agent| ["--agent", agent])
        .collect();
    home.succeeds(&[&["init", "--yes", "--mcp"][..], &agents].concat());
    assert!(home.path(".copilot").is_dir() && home.path(".config/opencode").is_dir());
    home.succeeds(&["uninstall", "--yes"]);
    assert_eq!(paths(), before);

    // Not those in which something else is.
    home.succeeds(&["init", "--yes", "--agent", "copilot"]);
    home.put(".copilot/notes", "mine");
    home.succeeds(&["uninstall", "--yes"]);
    let after = paths().into_iter().filter(|path| !before.contains(path)).collect::<Vec<_>>();
    assert_eq!(after, [home.path(".copilot"), home.path(".copilot/notes")]);

    // Not one that was there before, even if it is empty.
    std::fs::remove_file(home.path(".copilot/notes")).unwrap();
    home.succeeds(&["init", "--yes", "--agent", "copilot"]);
    home.succeeds(&["uninstall", "--yes"]);
    let after = paths().into_iter().filter(|path| !before.contains(path)).collect::<Vec<_>>();
    assert_eq!(after, [home.path(".copilot")]);
}

#[test]
fn in_a_file_that_changed_since_only_our_entries_go() {
    let home = Home::new();
    home.put(FILES[0], "{\n  \"model\": \"opus\"\n}\n");
    home.put(FILES[1], "{\"hooks\": {\"AfterAgent\": []}}");
    home.succeeds(&["init", "--yes"]);
    home.put(FILES[0], home.read(FILES[0]).replace("opus", "haiku"));
    let own_stop = "\"AfterAgent\": [{\"hooks\": [{\"command\": \"mine\"}]}, ";
    home.put(FILES[1], home.read(FILES[1]).replace("\"AfterAgent\": [", own_stop));
    home.put(FILES[2], home.read(FILES[2]).replacen('{', "{\n  \"description\": \"mine\",", 1));
    insta::assert_snapshot!("uninstall_changed", home.told(&["uninstall", "--yes"]));
    assert_eq!(home.read(FILES[0]), "{\n  \"model\": \"haiku\"\n}\n");
    assert_eq!(
        home.read(FILES[1]),
        "{\"hooks\": {\"AfterAgent\": [{\"hooks\": [{\"command\": \"mine\"}]}]}}"
    );
    assert_eq!(home.read(FILES[2]), "{\n  \"description\": \"mine\"\n}\n");
}

#[test]
fn a_second_init_does_not_forget_what_was_there_first() {
    let home = Home::new();
    let text = "{\n  \"model\": \"opus\"\n}\n";
    home.put(FILES[0], text);
    home.succeeds(&["init", "--yes"]);
    // A person takes one entry away, and changes their mind.
    let mut value = home.value(FILES[0]);
    value["hooks"].as_object_mut().unwrap().remove("Stop");
    home.put(FILES[0], serde_json::to_string_pretty(&value).unwrap());
    home.succeeds(&["init", "--yes"]);
    home.succeeds(&["uninstall", "--yes"]);
    assert_eq!(home.value(FILES[0]), serde_json::json!({"model": "opus"}));
}

#[test]
fn lost_records_and_backups_are_no_obstacle() {
    let home = Home::new();
    home.put(FILES[0], "{\n  \"model\": \"opus\"\n}\n");
    home.succeeds(&["init", "--yes"]);
    std::fs::remove_dir_all(home.workplace.path("state")).unwrap();
    home.succeeds(&["uninstall", "--yes"]);
    assert_eq!(home.read(FILES[0]), "{\n  \"model\": \"opus\"\n}\n");
    // A backup that is not what it was is not put back.
    home.succeeds(&["init", "--yes"]);
    for entry in std::fs::read_dir(home.workplace.path("state/backups")).unwrap() {
        std::fs::write(entry.unwrap().path(), "{\"evil\": 1}").unwrap();
    }
    home.succeeds(&["uninstall", "--yes"]);
    assert_eq!(home.read(FILES[0]), "{\n  \"model\": \"opus\"\n}\n");
}

#[test]
fn a_broken_file_with_our_entries_stays_as_it_is() {
    let home = Home::new();
    home.succeeds(&["init", "--yes"]);
    let broken = home.read(FILES[0]).replacen('{', "{,", 1);
    home.put(FILES[0], &broken);
    insta::assert_snapshot!("uninstall_broken", home.told(&["uninstall", "--yes"]));
    assert_eq!(home.read(FILES[0]), broken);
    assert!(!home.path(FILES[1]).exists());
}

/// A line with a minus says what goes.
#[test]
fn what_is_removed_is_marked_so() {
    let home = Home::new();
    home.succeeds(&["init", "--yes", "--agent", "claude"]);
    let planned = home.run(&["uninstall", "--agent", "claude"]);
    assert_eq!(
        planned.to_string(),
        "exit code: 4\n--- stdout\nPlanned changes:\n- Claude Code: `~/.claude/settings.json`\n--- stderr\n\
         error: nothing changed: not a terminal\nhint: pass `--yes`, or see the differences with `--dry-run`\n"
    );
}

/// Who is held must not be able to shake it off.
#[test]
fn an_agent_cannot_take_its_hooks_away() {
    let home = Home::new();
    home.succeeds(&["init", "--yes"]);
    let before = home.everything();
    // Either variable alone: a client need not name its session.
    for variable in ["CLAUDE_CODE_SESSION_ID", "CLAUDECODE"] {
        let output = home.command(&["uninstall", "--yes"]).env(variable, "1").answer();
        insta::assert_snapshot!("uninstall_by_agent", home.told_by(&output));
        assert_eq!(home.everything(), before, "{variable}");
    }
}

/// Killed before any call that changes a file: each is old or new, and the next run brings everything to its end.
#[test]
fn a_kill_at_any_instant_leaves_the_old_or_the_new() {
    let strace =
        ["/usr/bin/strace", "/bin/strace"].into_iter().find(|path| std::path::Path::new(path).exists());
    let Some(strace) = strace else { return };
    // One home for all: after a round it is as at the beginning, which is part of what is shown.
    let home = Home::new();
    std::fs::write(home.workplace.repo().join("checkstone.toml"), "").unwrap();
    let text = "{\n  \"model\": \"opus\"\n}\n";
    FILES.iter().for_each(|file| home.put(file, text));
    home.succeeds(&["init", "--yes"]);
    let after = FILES.map(|file| home.read(file));
    let mut kills = 0;
    let calls = ["write", "fsync", "rename", "renameat", "renameat2", "mkdir", "fchmod"];
    for (command, call) in
        calls.map(|call| ("init", call)).into_iter().chain(calls.map(|call| ("uninstall", call)))
    {
        // The counting is per call.
        for number in 1.. {
            FILES.iter().for_each(|file| home.put(file, text));
            if number % 2 == 0 && home.workplace.path("state").exists() {
                // As on a machine that has never seen it.
                std::fs::remove_dir_all(home.workplace.path("state")).unwrap();
            }
            if command == "uninstall" {
                home.succeeds(&["init", "--yes"]);
            }
            let output = killed_at(strace, call, number, &home.command(&[command, "--yes", "--json"]));
            for (file, after) in FILES.iter().zip(&after) {
                let now = home.read(file);
                assert!(now == text || &now == after, "{file} at {call} {number} of {command}: {now}");
            }
            if output.succeeded() {
                break;
            }
            kills += 1;
            assert!(kills < 500, "{output}");
            if kills % 4 == 0 {
                home.succeeds(&["init", "--yes"]);
                assert_eq!(FILES.map(|file| home.read(file)), after);
                home.succeeds(&["uninstall", "--yes"]);
                FILES.iter().for_each(|file| assert_eq!(home.read(file), text));
            }
        }
    }
    assert!(kills > 40, "{kills}");
}

/// Runs a command and kills it before it makes a call for the `number`th time.
fn killed_at(strace: &str, call: &str, number: usize, plain: &Command) -> Answer {
    Command::new(strace)
        .args(["-f", "-qq", "-o", "/dev/null", "-e"])
        .arg(format!("inject={call}:signal=SIGKILL:when={number}"))
        .arg(plain.get_program())
        .args(plain.get_args())
        .env_clear()
        .envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(plain.get_current_dir().unwrap())
        .stdin(Stdio::null())
        .answer()
}
