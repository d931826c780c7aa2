//! Each kind of error by a real command line: its exit code and all of stderr.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use sandbox::{Answer, RunToEnd as _, finish, redacted};
use serde_json::json;

use crate::workplace::{SESSION, Workplace};

fn error(code: u8, stderr: &str) -> String {
    format!("exit code: {code}\n--- stdout\n--- stderr\n{stderr}")
}

#[test]
fn every_kind_of_error_has_its_code() {
    let workplace = Workplace::new(None);
    workplace.write("plan.toml", "title = \"study\"\n");
    workplace.write("reports/study/checkpoints/r1/events.jsonl", "");
    for (arguments, code, stderr) in [
        (
            &["run", "plan.toml"][..],
            2,
            "error: the plan cannot be run:\n  plan.toml:1:1: the plan has no `[[stage]]`\n",
        ),
        (
            &["explain", "7"],
            3,
            "error: there is no verdict 7\nhint: `checkstone explain --list` lists recent ones; old ones are pruned\n",
        ),
        (
            &["run", "--new", "pipeline", "plan.toml"],
            4,
            "error: `plan.toml` already exists and is not overwritten\n\
             hint: name another file: `checkstone run --new pipeline other.toml`\n",
        ),
        (
            &["watch", "r1"],
            5,
            "error: the record `[folder]/repo/reports/study/checkpoints/r1/events.jsonl` is empty: the run never began\n",
        ),
    ] {
        assert_eq!(workplace.shown(arguments), error(code, stderr));
    }
    let mut homeless = workplace.checkstone(&["log"]);
    let output = homeless.env_remove("HOME").env_remove("CHECKSTONE_STATE_DIR").answer();
    assert_eq!(
        output.to_string(),
        error(
            6,
            "error: no place for the journal: neither `HOME` nor `CHECKSTONE_STATE_DIR` is set\n\
             hint: set `CHECKSTONE_STATE_DIR` to a folder of your own\n"
        )
    );
}

#[test]
fn an_unknown_name_has_one_code_everywhere() {
    let workplace = Workplace::new(None);
    for arguments in [
        &["abort", "nope"][..],
        &["checkpoint", "validate", "nope"],
        &["explain", "7"],
        &["handoff", "check", "nope"],
        &["replay", "nope"],
        &["report", "nope"],
        &["resume", "nope"],
        &["run", "nope"],
        &["session", "--agent", "claude"],
        &["session", "--agent", "claude", "--id", "nope"],
        &["snapshot", "restore", "nope", "--yes"],
        &["timeline", "--transcript", "nope"],
        &["tokens", "nope"],
        &["trust", "nope"],
        &["watch", "nope"],
        &["workflow", "archive", "nope"],
        &["workflow", "complete", "nope"],
        &["workflow", "diff", "nope"],
        &["workflow", "gate", "nope"],
        &["workflow", "phase", "nope", "build", "--status", "complete"],
        &["workflow", "resume-point", "nope"],
        &["workflow", "show", "nope"],
    ] {
        let output = workplace.run(arguments);
        assert_eq!(output.code, Some(3), "{arguments:?}: {output}");
    }
    // A usual workflow that nobody has started is no mistake: there is nothing to resume.
    assert_eq!(
        workplace.shown(&["workflow", "resume-point", "implement"]),
        "exit code: 0\n--- stdout\nNothing to resume\n--- stderr\n"
    );
}

/// Scripts ask `check` for a yes or a no.
#[test]
fn check_has_one_code_for_every_error() {
    let workplace = Workplace::new(Some("presets = [\"rust\"]\n"));
    for arguments in
        [&["check", "--transcript", "nope"][..], &["check", "--repo", "/nowhere"], &["check", "--nope"]]
    {
        assert_eq!(workplace.run(arguments).code, Some(2), "{arguments:?}");
    }
}

#[test]
fn ctrl_c_ends_the_demo_with_its_code() {
    let workplace = Workplace::new(None);
    let folder = workplace.path("demo");
    let mut command = workplace.checkstone(&["demo", "--folder", folder.to_str().unwrap()]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("1.") {
        line.clear();
        assert!(stdout.read_line(&mut line).unwrap() > 0, "it ended before its first scene");
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    std::io::copy(&mut stdout, &mut std::io::sink()).unwrap();
    let output = finish(child);
    assert_eq!(
        (output.code, redacted(output.stderr).as_str()),
        (Some(130), "error: interrupted\nhint: what was created so far is in `[folder]/demo`\n")
    );
}

/// What a command says whose stdout leads elsewhere.
#[track_caller]
fn writing_to(command: &mut Command, stdout: Stdio) -> Answer {
    let child = command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::piped()).spawn();
    finish(child.unwrap())
}

fn full_disk() -> Stdio {
    File::options().write(true).open("/dev/full").unwrap().into()
}

/// Whoever finds an empty file would take it for the answer.
#[test]
fn an_answer_that_cannot_be_written_is_an_error() {
    let workplace = Workplace::new(Some("presets = [\"rust\"]\n"));
    workplace.held_turn(&[]);
    let why = "error: the output could not be written: No space left on device\n\
               hint: free some disk space, then run the command again\n";
    for (arguments, code) in [
        (&["log"][..], 6),
        (&["status", "--json"], 6),
        (&["status"], 6),
        (&[], 6),
        (&["explain"], 6),
        (&["policy", "show"], 6),
        (&["help", "--all"], 6),
        (&["--help"], 6),
        (&["--version"], 6),
        (&["completions", "bash"], 6),
        (&["prove", "--", "echo", "said"], 6),
        // These have one code for every error.
        (&["check"], 2),
        (&["verify", "HEAD"], 2),
    ] {
        let answer = writing_to(&mut workplace.checkstone(arguments), full_disk());
        let stderr = answer.stderr.get(answer.stderr.find("error: ").unwrap_or_default()..).unwrap();
        assert_eq!((answer.code, stderr), (Some(code), why), "{arguments:?}: {answer}");
    }
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    let workplace = Workplace::new(Some("presets = [\"rust\"]\n"));
    workplace.held_turn(&[]);
    for arguments in [&["log"][..], &["status", "--json"], &["help", "--all"], &["--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let answer = writing_to(&mut workplace.checkstone(arguments), writer.into());
        assert_eq!(answer.to_string(), "exit code: 0\n--- stdout\n--- stderr\n", "{arguments:?}");
    }
}

/// Neither the client nor git is stopped by a disk of theirs.
#[test]
fn hooks_exit_0_though_nothing_can_be_written() {
    let workplace = Workplace::new(Some("presets = [\"rust\"]\n"));
    workplace.turn(&[]);
    workplace.hook("UserPromptSubmit", json!({"prompt": "Fix it"}));
    workplace.write("src/lib.rs", "pub fn one() -> u32 { 2 - 1 }\n");
    workplace.turn(&[("./generate", true)]);
    let payload = workplace.path("payload.json");
    let stop = json!({
        "session_id": SESSION, "transcript_path": workplace.transcript(), "cwd": workplace.repo(),
        "prompt_id": "prompt-1", "hook_event_name": "Stop", "stop_hook_active": false,
        "last_assistant_message": "Done.",
    });
    std::fs::write(&payload, stop.to_string()).unwrap();
    let mut hook = workplace.checkstone(&["hook", "claude"]);
    hook.stdin(File::open(payload).unwrap()).stdout(full_disk()).stderr(Stdio::piped());
    assert_eq!(finish(hook.spawn().unwrap()).to_string(), "exit code: 0\n--- stdout\n--- stderr\n");
    let recorded = workplace.json(&["status", "--json"], "status.schema.json");
    assert_eq!(recorded["verdicts"][0]["verdict"], "hold", "{recorded:#}");
}
