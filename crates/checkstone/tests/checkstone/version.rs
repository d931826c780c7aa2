//! What a bug report needs: versions, features, git, the system, the agents found, and paths without the name of anybody's home.

use std::ffi::OsString;

use sandbox::{RunToEnd as _, make_executable};
use serde_json::{Value, json};

use crate::workplace::{Workplace, valid};

/// A program in the home's own folder of programs, in front of all others.
fn with_agents(workplace: &Workplace) -> OsString {
    let bin = workplace.path("home").join("bin");
    fs_err::create_dir_all(&bin).unwrap();
    for (name, script) in
        [("claude", "#!/bin/sh\necho '2.1.325 (Claude Code)'\n"), ("codex", "#!/bin/sh\nexit 3\n")]
    {
        fs_err::write(bin.join(name), script).unwrap();
        make_executable(&bin.join(name));
    }
    let mut path = bin.into_os_string();
    path.push(":/usr/local/bin:/usr/bin:/bin");
    path
}

#[test]
fn a_bug_report_has_it_all() {
    let workplace = Workplace::new(None);
    let path = with_agents(&workplace);
    let mut command = workplace.checkstone(&["version", "--json"]);
    let answer = command.env("PATH", &path).env_remove("CHECKSTONE_STATE_DIR").answer();
    assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""));
    let mut said = valid(&answer.stdout, "version.schema.json");
    let git = workplace.git(&["version"]);
    assert_eq!(said["git"]["version"], git.trim().trim_start_matches("git version "));
    assert!(said["system"]["kernel"].as_str().unwrap().starts_with("Linux "));
    // Differs from machine to machine.
    for key in ["git", "system", "program", "target", "features"] {
        assert_ne!(said[key].take(), Value::Null, "{key}");
    }
    assert_eq!(
        said,
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "commit": null,
            "target": null,
            "debug": true,
            "features": null,
            "program": null,
            "git": null,
            "system": null,
            "agents": [
                {"agent": "claude", "version": "2.1.325", "program": "~/bin/claude", "problem": null},
                {"agent": "codex", "version": null, "program": "~/bin/codex", "problem": "ended with exit code 3"},
            ],
            "paths": {"configuration": "~/.config/checkstone/config.toml", "state": "~/.local/state/checkstone"},
        })
    );
}

#[test]
fn people_read_the_same_in_lines() {
    let workplace = Workplace::new(None);
    let path = with_agents(&workplace);
    let mut command = workplace.checkstone(&["version"]);
    let answer = command.env("PATH", &path).env_remove("CHECKSTONE_STATE_DIR").answer();
    assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""));
    let names: Vec<&str> =
        answer.stdout.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    let expected =
        ["checkstone", "program", "features", "git", "system", "claude", "codex", "configuration", "state"];
    assert_eq!(names, expected);
    let codex = answer.stdout.lines().nth(6).unwrap();
    assert_eq!(codex, "codex         unknown version, ~/bin/codex (`--version` ended with exit code 3)");
}

/// Nothing has to be there for the answer.
#[test]
fn without_git_and_agents_it_answers_too() {
    let workplace = Workplace::new(None);
    let answer = workplace.checkstone(&["version", "--json"]).env("PATH", "/nonexistent").answer();
    let said = valid(&answer.stdout, "version.schema.json");
    assert_eq!((&said["git"], &said["agents"]), (&Value::Null, &json!([])));
}
