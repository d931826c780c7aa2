//! S10: a `PATH` with relative folders leads into the repository, whose own `git` is never started.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::json;

use crate::workplace::{SESSION, Workplace};

/// Relative folders in every spelling; an empty one means the current folder.
const RELATIVE: &str = "./node_modules/.bin:node_modules/.bin:.:";

/// Every command that may ask git, or did once; in an order in which each finds what it needs.
const COMMANDS: &[&[&str]] = &[
    &["check"],
    &["check", "--json"],
    &["status"],
    &["statusline"],
    &["explain"],
    &["explain", "--list"],
    &["policy", "check"],
    &["policy", "show"],
    &["session", "--agent", "claude", "--id", SESSION, "--new"],
    &["session", "--agent", "claude", "--id", SESSION, "--new", "--slug", "one"],
    &["trust", "--yes"],
    &["log"],
    &["snapshot", "create"],
    &["snapshot", "list"],
    &["snapshot", "diff", "latest"],
    &["snapshot", "restore", "latest", "--yes"],
    &["snapshot", "prune", "--keep", "1"],
    &["workflow", "start", "implement", "--feature", "parser"],
    &["workflow", "start", "ship", "--feature", "parser"],
    &["workflow", "phase", "implement", "implementation", "--feature", "parser", "--status", "complete"],
    &["workflow", "show", "implement", "--feature", "parser"],
    &["workflow", "list"],
    &["workflow", "resume-point", "implement", "--feature", "parser"],
    &["workflow", "gate", "ship", "--feature", "parser"],
    &["workflow", "diff", "implement", "--feature", "parser"],
    &["workflow", "archive", "implement", "--feature", "parser"],
    &["handoff", "new", "--mode", "code", "--instructions", "Write the parser"],
    &["prove", "--", "true"],
    &["verify", "HEAD"],
    &["attest"],
    &["ci", "--base", "HEAD"],
    &["autosave", "--dry-run"],
    &["autosave"],
    &["init", "--dry-run", "--agent", "claude", "--project"],
    &["init", "--agent", "claude", "--project", "--yes"],
    &["doctor"],
    &["uninstall", "--yes"],
    &["demo"],
];

/// A repository with a program `git` of its own, at both places that the relative folders lead to.
fn with_own_git() -> Workplace {
    let workplace = Workplace::new(Some("presets = [\"rust\"]\n"));
    // A branch that is a link: what HEAD is, git has to be asked.
    workplace.git(&["branch", "--move", "main", "real"]);
    workplace.git(&["symbolic-ref", "refs/heads/main", "refs/heads/real"]);
    workplace.git(&["symbolic-ref", "HEAD", "refs/heads/main"]);
    let text = format!("#!/bin/sh\necho \"$*\" >>'{}'\nexit 1\n", workplace.path("started").display());
    for path in ["node_modules/.bin/git", "git"] {
        workplace.write(path, &text);
        std::fs::set_permissions(workplace.repo().join(path), PermissionsExt::from_mode(0o755)).unwrap();
    }
    workplace
}

/// What the repository's own git was called with, since this was asked last.
fn started(workplace: &Workplace) -> String {
    let calls = std::fs::read_to_string(workplace.path("started")).unwrap_or_default();
    let _ = std::fs::remove_file(workplace.path("started"));
    calls
}

/// Runs every command with this `PATH`: the commands that started the repository's own git, and all exit codes.
fn run_all(workplace: &Workplace, path: &str) -> (Vec<String>, Vec<(String, Option<i32>)>) {
    let (mut guilty, mut codes) = (Vec::new(), Vec::new());
    let mut note = |name: String| {
        let calls = started(workplace);
        if !calls.is_empty() {
            guilty.push(format!("{name}: git {}", calls.trim_end()));
        }
    };
    workplace.turn(&[]);
    workplace.hook_with_path(path, "SessionStart", json!({"source": "startup"}));
    note("session start".to_owned());
    workplace.hook_with_path(path, "UserPromptSubmit", json!({"prompt": "Fix it"}));
    note("prompt".to_owned());
    workplace.write("src/lib.rs", "pub fn one() -> u32 { 2 - 1 }\n");
    workplace.turn(&[("./generate", true)]);
    let stop = json!({"stop_hook_active": false, "last_assistant_message": "Done."});
    workplace.hook_with_path(path, "Stop", stop);
    note("stop".to_owned());
    for arguments in COMMANDS {
        let mut command = workplace.checkstone(arguments);
        let status = command.env("PATH", path).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        note(arguments.join(" "));
        codes.push((arguments.join(" "), status.code()));
    }
    (guilty, codes)
}

#[test]
fn s10_the_repositorys_own_git_is_never_started() {
    let real = std::env::var("PATH").unwrap();
    let (guilty, codes) = run_all(&with_own_git(), &format!("{RELATIVE}:{real}"));
    assert_eq!(guilty, [""; 0]);
    // The real git is found behind the relative folders: every command ends as it does without them.
    let (_, expected) = run_all(&with_own_git(), &real);
    assert_eq!(codes, expected);
}

/// Where there is no other git, there is none.
#[test]
fn s10_nor_where_there_is_no_other() {
    assert_eq!(run_all(&with_own_git(), RELATIVE).0, [""; 0]);
}
