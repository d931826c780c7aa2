//! `checkstone doctor --fix`: shows what it will do, asks once, does that and nothing else, and looks again.

use std::time::Duration;

use sandbox::{Answer, RunToEnd as _, ago, contents, redacted, without_durations};
use serde_json::json;
use transcript::Agent;

use super::{Examination, Patient, RUST};
use crate::workplace::valid;

fn fix(patient: &Patient, options: &[&str]) -> Answer {
    patient.command(&[&["--fix"], options].concat()).answer_to("")
}

/// The part of the output that is about changes.
fn changes(answer: &Answer) -> Vec<String> {
    let lines =
        answer.stdout.lines().filter(|line| line.starts_with(['✓', '✗', '·']) || line.starts_with("  →"));
    lines.map(redacted).collect()
}

fn leave(patient: &Patient, name: &str, hours: u64) {
    patient.write(name, "left");
    let file = std::fs::File::options().append(true).open(patient.path(name)).unwrap();
    file.set_modified(ago(Duration::from_secs(hours * 3600))).unwrap();
}

#[test]
fn a_hook_that_calls_a_program_that_is_gone_calls_this_one() {
    let patient = Patient::registered(RUST);
    patient.register(Agent::Claude, "/nowhere/checkstone");
    let broken = contents(&patient.path("home"));
    let offer = "`checkstone doctor --fix` can repair 1 file; it shows how, and asks first.";
    assert_eq!(patient.command(&[]).answer().stdout.lines().last(), Some(offer));

    // Only shown, or nobody there to ask: nothing changes.
    let shown = fix(&patient, &["--dry-run"]);
    assert_eq!(
        (shown.code, changes(&shown)),
        (
            Some(1),
            vec![
                "✓ Claude Code: `~/.claude/settings.json` would be changed as shown".to_owned(),
                "  → `/nowhere/checkstone` no longer exists; its entries get the current path".to_owned(),
            ]
        )
    );
    let refused = fix(&patient, &[]);
    assert_eq!(
        (refused.code, refused.stderr.as_str()),
        (
            Some(4),
            "error: nothing changed: not a terminal\nhint: pass `--yes`, or see the differences with `--dry-run`\n"
        )
    );
    let refused = patient.command(&["--fix", "--json"]).answer();
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(4), ""));
    assert_eq!(contents(&patient.path("home")), broken);

    let done = patient.command(&["--fix", "--yes", "--json"]).answer();
    valid(&done.stdout, super::SCHEMA);
    let examined = Examination::of(&done);
    assert_eq!((examined.code, &examined.value["sound"]), (Some(0), &json!(true)), "{:#}", examined.value);
    assert_eq!(examined.value["changes"][0]["state"], "changed");
    let fires = without_durations(examined.one("claude", "fires"));
    assert_eq!(fires, "good: held a turn without tests, passed one with tests ([duration])");

    // Once more there is nothing to do.
    let sound = contents(&patient.path("home"));
    let again = fix(&patient, &["--yes"]);
    let last = again.stdout.lines().last().unwrap();
    assert_eq!((again.code, last), (Some(0), "There is nothing here that `--fix` can repair."));
    assert_eq!(contents(&patient.path("home")), sound);
}

/// A lock that may be somebody's, and a file that only looks like ours, stay.
#[test]
fn what_killed_processes_left_is_removed() {
    let patient = Patient::registered("");
    for (name, hours) in [
        ("repo/.git/HEAD.lock", 3),
        ("repo/.git/refs/heads/topic.lock", 3),
        ("repo/.git/index.lock", 0),
        ("repo/.notes.md.AbCdEf123456.tmp", 1),
        ("repo/notes.tmp", 1),
    ] {
        leave(&patient, name, hours);
    }
    let done = fix(&patient, &["--yes"]);
    assert_eq!(
        (done.code, changes(&done)),
        (
            Some(0),
            vec![
                "✓ left by a killed process: `[folder]/repo/.git/HEAD.lock` removed".to_owned(),
                "✓ left by a killed process: `[folder]/repo/.git/refs/heads/topic.lock` removed".to_owned(),
                "✓ left by a killed process: `[folder]/repo/.notes.md.AbCdEf123456.tmp` removed".to_owned(),
            ]
        )
    );
    let is_there = |name: &str| patient.path(name).exists();
    assert_eq!(
        ["repo/.git/HEAD.lock", "repo/.git/index.lock", "repo/.notes.md.AbCdEf123456.tmp", "repo/notes.tmp"]
            .map(is_there),
        [false, true, false, true]
    );
}

#[test]
fn our_lines_come_back_into_a_hook_of_gits() {
    let patient = Patient::registered(RUST);
    assert!(patient.workplace.run(&["init", "--git-hook", "--yes", "--agent", "claude"]).succeeded());
    let hook = patient.path("repo/.git/hooks/pre-push");
    let lines = std::fs::read_to_string(&hook).unwrap();
    std::fs::remove_file(&hook).unwrap();
    let done = fix(&patient, &["--yes"]);
    assert_eq!((done.code, std::fs::read_to_string(&hook).unwrap()), (Some(0), lines));
}

/// Every start of Codex writes into its folder: it is asked in a copy, which has no sessions and no credentials in it.
#[test]
fn a_client_that_is_asked_writes_nothing_into_its_own_folder() {
    let patient = Patient::new(RUST);
    let program = env!("CARGO_BIN_EXE_checkstone");
    patient.register(Agent::Codex, program);
    let home = patient.path("home/.codex");
    let trusted =
        format!("[hooks.state.\"{}/hooks.json:stop:0:0\"]\ntrusted_hash = \"sha256:0\"\n", home.display());
    patient.write("home/.codex/config.toml", &trusted);
    patient.write("home/.codex/auth.json", "{}");
    let seen = patient.path("seen");
    let answer = r#"{"id":2,"result":{"data":[{"hooks":[{"eventName":"stop","command":"PROGRAM hook codex","source":"user",
        "sourcePath":"'$CODEX_HOME'/hooks.json","enabled":true,"trustStatus":"trusted"}]}]}}"#;
    let answer = answer.replace('\n', "").replace("PROGRAM", program);
    patient.script(
        "bin/codex",
        &format!(
            "case $1 in --version) echo lock > \"$CODEX_HOME/lock\"; echo codex-cli 1.2.3; exit;; esac\n\
             for file in \"$CODEX_HOME\"/*; do echo \"${{file##*/}}\"; done > '{seen}'\n\
             while read -r line; do echo \"$line\"; done < \"$CODEX_HOME/config.toml\" >> '{seen}'\n\
             echo log > \"$CODEX_HOME/logs.sqlite\"\n\
             while read -r line; do case $line in *hooks/list*) echo '{answer}';; esac; done",
            seen = seen.display()
        ),
    );
    let before = contents(&patient.path("home"));
    let examined = patient.examine();
    assert_eq!(examined.one("codex", "trusted"), "good: Codex runs all of them");
    assert_eq!(examined.of_kind("codex", "registered").len(), 1, "{:#}", examined.value);
    assert_eq!(contents(&patient.path("home")), before);
    let copy = std::fs::read_to_string(&seen).unwrap();
    let copy = copy.replace(&*std::fs::canonicalize(patient.path("tmp")).unwrap().to_string_lossy(), "[tmp]");
    let copy: Vec<String> = copy
        .lines()
        .map(|line| {
            let folder =
                line.find("checkstone-doctor-").map(|at| &line[at..at + "checkstone-doctor-".len() + 6]);
            folder.map_or(line.to_owned(), |folder| line.replace(folder, "[copy]"))
        })
        .collect();
    assert_eq!(
        copy,
        [
            "config.toml",
            "hooks.json",
            "[hooks.state.\"[tmp]/[copy]/hooks.json:stop:0:0\"]",
            "trusted_hash = \"sha256:0\"",
        ]
    );
    assert_eq!(std::fs::read_dir(patient.path("tmp")).unwrap().count(), 0);
}
