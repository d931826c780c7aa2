//! Snapshots that are taken at the start of turns, where the user switched that on, and what becomes of them.

use sandbox::{RunToEnd as _, redacted, wait_for_some, waiting::let_files_age, without_durations};
use serde_json::{Value, json};

use crate::workplace::{SESSION, Workplace};

pub(crate) const ON: &str = "[snapshot]\nat_turn_start = true\n";

/// The user's own configuration.
pub(crate) fn configure(workplace: &Workplace, text: &str) {
    let folder = workplace.path("home/.config/checkstone");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), text).unwrap();
}

fn prompt(workplace: &Workplace, turn: &str) {
    workplace.turn(&[]);
    workplace.hook("UserPromptSubmit", json!({"prompt": "Fix it", "prompt_id": turn}));
}

fn log(workplace: &Workplace) -> String {
    std::fs::read_to_string(workplace.path("state/log")).unwrap_or_default()
}

/// Waits until the log tells of so many snapshots, taken or not.
pub(crate) fn told(workplace: &Workplace, count: usize) -> Vec<String> {
    wait_for_some(&format!("{count} lines of the log about snapshots"), || {
        let log = log(workplace);
        let lines: Vec<String> =
            log.lines().filter(|line| line.contains(" snapshot: ")).map(str::to_owned).collect();
        (lines.len() >= count).then_some(lines)
    })
}

pub(crate) fn list(workplace: &Workplace) -> Vec<Value> {
    let value = workplace.json(&["snapshot", "list", "--json"], "snapshot-list.schema.json");
    value["snapshots"].as_array().unwrap().clone()
}

/// In any repository, with a policy or without one, as soon as the user wants it. `status` tells the newest.
#[test]
fn every_turn_begins_with_one_where_the_user_wants_it() {
    let mut lines = Vec::new();
    for policy in [None, Some("presets = [\"rust\"]\n")] {
        let workplace = Workplace::new(policy);
        workplace.write("notes.txt", "untracked\n");
        let_files_age();
        configure(&workplace, ON);
        prompt(&workplace, "prompt-1");
        lines.extend(told(&workplace, 1));
        let found = list(&workplace);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0]["reason"], "turn-start");
        assert_eq!(found[0]["session"], json!({"agent": "claude", "id": SESSION}));
        assert_eq!((&found[0]["turn"], &found[0]["late"]), (&json!("prompt-1"), &json!([])));
        // The same prompt once more, from a hook that is registered twice (H9).
        prompt(&workplace, "prompt-1");
        prompt(&workplace, "prompt-2");
        told(&workplace, 2);
        let found = list(&workplace);
        let turns: Vec<&Value> = found.iter().map(|one| &one["turn"]).collect();
        assert_eq!(turns, [&json!("prompt-2"), &json!("prompt-1")]);
        let status = workplace.json(&["status", "--json"], "status.schema.json");
        assert_eq!(status["snapshot"], found[0]);
        lines.push(workplace.shown(&["status"]));
    }
    insta::assert_snapshot!(without_durations(lines.join("\n")), @"
    [time] claude 9f3c2f1e-1111-4222-8333-444455556666 snapshot: [id], 1 files that differ from HEAD, 0 older ones removed [[duration]]
    exit code: 0
    --- stdout
    gate        off: there is no policy here
    repository  [folder]/repo
    policy      none, so every stop passes
    snapshot    [id] at the start of a turn (claude 9f3c2f1e-1111-4222-8333-444455556666)
    state       [folder]/state
    --- stderr

    [time] claude 9f3c2f1e-1111-4222-8333-444455556666 snapshot: [id], 1 files that differ from HEAD, 0 older ones removed [[duration]]
    exit code: 0
    --- stdout
    gate        on here, but no client calls `checkstone hook` (`checkstone init`)
    repository  [folder]/repo
    policy      config.toml, checkstone.toml, preset rust
    snapshot    [id] at the start of a turn (claude 9f3c2f1e-1111-4222-8333-444455556666)
    state       [folder]/state
    --- stderr
    ");
}

/// Off unless it is asked for, and a repository cannot ask for it before it is trusted (invariant 7).
#[test]
fn a_repository_has_to_be_trusted_first() {
    let workplace = Workplace::new(Some(ON));
    prompt(&workplace, "prompt-1");
    let status = workplace.shown(&["status"]);
    insta::assert_snapshot!(redacted(&status), @"
    exit code: 0
    --- stdout
    gate        on, but nothing is asked for in this repository
    repository  [folder]/repo
    policy      checkstone.toml: nothing is asked for in this repository: no category of the policy requires anything (`checkstone doctor`)
    trust       not given: snapshots at the start of turns ignored, see `checkstone trust`
    state       [folder]/state
    --- stderr
    ");
    let trusted = workplace.shown(&["trust", "--yes"]);
    insta::assert_snapshot!(redacted(&trusted), @"
    exit code: 0
    --- stdout
    [folder]/repo/checkstone.toml
      snapshot.at_turn_start = true: takes a snapshot of the working tree at the start of every turn
    ✓ trusted, until the file changes
    --- stderr
    ");
    prompt(&workplace, "prompt-2");
    told(&workplace, 1);
    let found = list(&workplace);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["turn"], "prompt-2");
    let plain = Workplace::new(Some("presets = [\"rust\"]\n"));
    prompt(&plain, "prompt-1");
    assert_eq!((list(&plain), log(&plain)), (vec![], String::new()));
    assert_eq!(plain.json(&["status", "--json"], "status.schema.json")["snapshot"], Value::Null);
}

/// Retention: by count and by age, never what a person asked for; what goes takes no room once git collects.
#[test]
fn old_ones_go_by_themselves() {
    let workplace = Workplace::new(None);
    workplace.run(&["snapshot", "create", "--message", "mine"]);
    configure(&workplace, "[snapshot]\nat_turn_start = true\nkeep = 2\n");
    for turn in 1..=4 {
        workplace.write("work.txt", &format!("turn {turn}\n"));
        prompt(&workplace, &format!("prompt-{turn}"));
        told(&workplace, turn);
    }
    let turns = |found: &[Value]| -> Vec<Value> { found.iter().map(|one| one["turn"].clone()).collect() };
    let found = list(&workplace);
    assert_eq!(turns(&found), [json!("prompt-4"), json!("prompt-3"), Value::Null]);
    configure(&workplace, "[snapshot]\nat_turn_start = true\nkeep_for = \"0s\"\n");
    prompt(&workplace, "prompt-5");
    let lines = told(&workplace, 5);
    insta::assert_snapshot!(without_durations(&lines[4]), @"[time] claude 9f3c2f1e-1111-4222-8333-444455556666 snapshot: [id], 1 files that differ from HEAD, 2 older ones removed [[duration]]");
    assert_eq!(turns(&list(&workplace)), [json!("prompt-5"), Value::Null]);
    workplace.git(&["gc", "--quiet", "--prune=now"]);
    let gone = found[0]["commit"].as_str().unwrap();
    let mut look = workplace.prepared(std::process::Command::new("git"));
    assert!(!look.args(["cat-file", "-e", gone]).answer().succeeded());
}

/// What ends the hook's process group, as a client may do once it has its answer, does not reach the child.
#[test]
fn the_child_has_a_process_group_of_its_own() {
    let workplace = Workplace::new(None);
    configure(&workplace, ON);
    let path = script(
        &workplace,
        "case \"$*\" in *fast-import*) read -r stat </proc/$PPID/stat; echo \"$stat\" >\"$here/stat\";; esac",
    );
    workplace.turn(&[]);
    workplace.hook_with_path(&path, "UserPromptSubmit", json!({"prompt": "Fix it"}));
    told(&workplace, 1);
    let stat = std::fs::read_to_string(workplace.path("bin/stat")).unwrap();
    let fields: Vec<&str> = stat.split(' ').collect();
    assert_eq!(fields[0], fields[4], "{stat}");
}

/// A `git` before the real one in the path, which does something first. The path.
pub(crate) fn script(workplace: &Workplace, first: &str) -> String {
    let folder = workplace.path("bin");
    std::fs::create_dir(&folder).unwrap();
    let path = std::env::var("PATH").unwrap();
    let text = format!("#!/bin/sh\nhere='{}'\n{first}\nPATH='{path}' exec git \"$@\"\n", folder.display());
    std::fs::write(folder.join("git"), text).unwrap();
    sandbox::make_executable(&folder.join("git"));
    format!("{}:{path}", folder.display())
}

/// Where the prompt could take no baseline, the snapshot is one: older dirt is not the turn's.
#[test]
fn the_snapshot_is_the_baseline_where_there_is_no_other() {
    let mut logs = Vec::new();
    for on in [true, false] {
        let workplace = Workplace::new(Some("presets = [\"rust\"]\n"));
        workplace.write("src/older.rs", "// dirt of before\n");
        let_files_age();
        if on {
            configure(&workplace, ON);
        }
        // The first look at the tree fails, and with it the prompt's own baseline.
        let fails =
            "case \"$*\" in *status*) [ -e \"$here/failed\" ] || { : >\"$here/failed\"; exit 9; };; esac";
        let path = script(&workplace, fails);
        workplace.turn(&[]);
        workplace.hook_with_path(&path, "UserPromptSubmit", json!({"prompt": "Fix it"}));
        if on {
            told(&workplace, 1);
        }
        // Whenever the snapshot is told, it is told beside the prompt.
        let lines = log(&workplace);
        logs.extend(lines.lines().filter(|line| line.contains(" prompt: ")).map(without_durations));
        workplace.write("src/lib.rs", "pub fn one() -> u32 { 2 - 1 }\n");
        workplace.turn(&[("./generate", true)]);
        workplace.hook("Stop", json!({"stop_hook_active": false, "last_assistant_message": "Done."}));
        let explained = workplace.json(&["explain", "--json"], "explain.schema.json");
        // Without it only what the transcript shows as written would count, which is nothing here.
        assert_eq!(explained["verdict"]["scope"], if on { "turn-baseline" } else { "touched" });
        let changed = json!([{"category": "Rust code", "files": ["src/lib.rs"]}]);
        assert_eq!(explained["verdict"]["changed"], if on { changed } else { json!([]) });
    }
    insta::assert_snapshot!(logs.join("\n"), @"
    [time] claude 9f3c2f1e-1111-4222-8333-444455556666 prompt: without a baseline: `git status` failed: exit status: 9 [[timings]]
    [time] claude 9f3c2f1e-1111-4222-8333-444455556666 prompt: without a baseline: `git status` failed: exit status: 9 [[timings]]
    ");
}

/// A snapshot that cannot be taken disturbs nobody, and the log says why.
#[test]
fn what_goes_wrong_is_in_the_log() {
    let workplace = Workplace::new(None);
    configure(&workplace, ON);
    let path = script(&workplace, "case \"$*\" in *fast-import*) echo 'fatal: no room' >&2; exit 128;; esac");
    workplace.turn(&[]);
    assert_eq!(workplace.hook_with_path(&path, "UserPromptSubmit", json!({"prompt": "Fix it"})), Value::Null);
    let lines = told(&workplace, 1);
    insta::assert_snapshot!(without_durations(&lines[0]), @"[time] claude 9f3c2f1e-1111-4222-8333-444455556666 snapshot: not taken: `git fast-import` failed: fatal: no room [[duration]]");
}

/// A restore that an agent asks for is recorded with its session and turn.
#[test]
fn a_restore_knows_who_asked_for_it() {
    let workplace = Workplace::new(None);
    prompt(&workplace, "prompt-7");
    workplace.run(&["snapshot", "create"]);
    workplace.write("README.md", "changed\n");
    let mut command = workplace.checkstone(&["snapshot", "restore", "latest", "--yes"]);
    assert!(command.env("CLAUDE_CODE_SESSION_ID", SESSION).answer().succeeded());
    let found = list(&workplace);
    assert_eq!(found[0]["reason"], "before-restore");
    assert_eq!(found[0]["session"], json!({"agent": "claude", "id": SESSION}));
    assert_eq!(found[0]["turn"], "prompt-7");
}
