use std::process::{Command, Stdio};

use sandbox::{RunToEnd as _, finish, redacted, without_durations};
use serde_json::{Value, json};

use crate::program;
use crate::workplace::{Workplace, valid};

const OUTPUT: &str = "workflow.schema.json";

fn state(workplace: &Workplace, name: &str) -> std::path::PathBuf {
    workplace.repo().join(".claude/state").join(name)
}

fn file(workplace: &Workplace, name: &str) -> Value {
    let text = std::fs::read_to_string(state(workplace, name)).unwrap();
    valid(&format!("{text}\n"), "workflow-file.schema.json")
}

fn phase(workplace: &Workplace, arguments: &[&str]) -> Value {
    workplace.json(&[&["workflow", "phase"], arguments, &["--json"]].concat(), OUTPUT)
}

/// The story of a workflow as an agent tells it, and what the files say.
#[test]
fn a_workflow_from_start_to_archive() {
    let workplace = Workplace::new(None);
    insta::assert_snapshot!(
        "start",
        workplace.shown(&["workflow", "start", "implement", "--feature", "parser"])
    );
    let steps: [&[&str]; 3] = [
        &["implement", "implementation", "--feature", "parser", "--status", "in_progress", "--task", "T002"],
        &[
            "implement",
            "implementation",
            "--feature",
            "parser",
            "--status",
            "complete",
            "--summary",
            "Parses dates",
            "--created",
            "src/date.rs",
        ],
        &["implement", "validation", "--feature", "parser", "--status", "failed", "--error", "2 tests fail"],
    ];
    for step in steps {
        phase(&workplace, step);
    }
    let kept = file(&workplace, "implement-parser.json");
    assert_eq!(kept["state"]["completed_phases"], json!(["implementation"]));
    assert_eq!(kept["phases"]["implementation"]["files_created"], json!(["src/date.rs"]));
    insta::assert_snapshot!(
        "resume_point",
        workplace.shown(&["workflow", "resume-point", "implement", "--feature", "parser"])
    );
    let point = workplace.json(
        &["workflow", "resume-point", "implement", "--feature", "parser", "--json"],
        "workflow-resume-point.schema.json",
    );
    assert_eq!((&point["phase"], &point["error"]), (&json!("validation"), &json!("2 tests fail")));
    assert_eq!(point["summary"], "Parses dates");
    insta::assert_snapshot!("list", workplace.shown(&["workflow", "list"]));
    let differences = workplace.json(
        &["workflow", "diff", "implement", "--feature", "parser", "--json"],
        "workflow-diff.schema.json",
    );
    assert_eq!((&differences["saves"], &differences["to"]["save"]), (&json!(4), &json!(4)));
    let shown = workplace.shown(&[
        "workflow",
        "diff",
        "implement",
        "--feature",
        "parser",
        "--from",
        "0",
        "--to",
        "1",
    ]);
    insta::assert_snapshot!(redacted(&shown), @r#"
    exit code: 0
    --- stdout
    save nothing → 1 ([time])
    command
      + implement
    feature
      + parser
    version
      + 1
    head_commit
      + [hash]
    started_at
      + [time]
    updated_at
      + [time]
    state.current_phase
    state.completed_phases
      + []
    state.pending_phases
      + ["implementation","validation"]
    phases
      + {}
    --- stderr
    "#);
    let again = workplace.json(&["workflow", "start", "implement", "--feature", "parser", "--json"], OUTPUT);
    assert_eq!(again["resumed"], true);
    insta::assert_snapshot!(
        "complete",
        workplace.shown(&["workflow", "complete", "implement", "--feature", "parser"])
    );
    let archived = workplace.json(&["workflow", "archive", "--json"], "workflow-archive.schema.json");
    let id = archived["archived"][0]["id"].as_str().unwrap();
    let listed = workplace.json(&["workflow", "list", "--archived", "--json"], "workflow-list.schema.json");
    assert_eq!(
        (listed["workflows"].as_array().unwrap().len(), &listed["archived"][0]["id"]),
        (0, &json!(id))
    );
    let shown = workplace.json(&["workflow", "show", "--archived", id, "--json"], OUTPUT);
    assert_eq!(shown["workflow"]["phases"]["validation"]["error"], "2 tests fail");
    let old = workplace.json(&["workflow", "diff", "--archived", id, "--json"], "workflow-diff.schema.json");
    assert_eq!(old["saves"], 5);
    assert_eq!(
        workplace.json(&["workflow", "archive", "--json"], "workflow-archive.schema.json"),
        json!({"archived": []})
    );
}

/// The times of a file that was written long ago never change.
#[test]
fn show_draws_the_phases_in_time() {
    let workplace = Workplace::new(None);
    let sample =
        include_str!("../../../workflow/tests/workflow/samples/implement-checkpoint-infrastructure.json");
    let done = sample
        .replace("\"in_progress\"", "\"failed\"")
        .replace("\"current_phase\": \"implementation\"", "\"current_phase\": null");
    std::fs::create_dir_all(state(&workplace, "")).unwrap();
    std::fs::write(state(&workplace, "implement-checkpoint-infrastructure.json"), done).unwrap();
    let shown = workplace.run(&["workflow", "show", "implement", "--feature", "checkpoint-infrastructure"]);
    let head = workplace.head();
    insta::assert_snapshot!("show", shown.to_string().replace(&head[..7], "[head]"));
}

/// P5
#[test]
fn p5_a_stale_workflow_is_told_on_stderr_and_goes_on() {
    let workplace = Workplace::new(None);
    phase(&workplace, &["implement", "implementation", "--status", "in_progress"]);
    let old = workplace.head();
    workplace.git(&["commit", "--quiet", "--allow-empty", "--message=more"]);
    let output = workplace.run(&["workflow", "resume-point", "implement", "--json"]);
    let expected = format!(
        "warning: Checkpoint is stale (saved at {}, current HEAD is {})\n",
        &old[..7],
        &workplace.head()[..7]
    );
    assert_eq!(output.stderr, expected);
    assert_eq!(serde_json::from_str::<Value>(&output.stdout).unwrap()["phase"], "implementation");
}

#[test]
fn the_ship_gate_tells_every_blocker_and_keeps_them() {
    let workplace = Workplace::new(Some("presets = [\"rust\"]\n"));
    let gate = ["workflow", "gate", "ship", "--feature", "parser"];
    insta::assert_snapshot!("gate_none", workplace.shown(&gate));
    phase(
        &workplace,
        &["implement", "validation", "--feature", "parser", "--status", "failed", "--error", "2 tests fail"],
    );
    phase(&workplace, &["ship", "pre-flight", "--feature", "parser", "--status", "complete"]);
    // A turn that ended with a failing build, which the stop gate saw.
    workplace.held_turn(&[("cargo build", false)]);
    insta::assert_snapshot!("gate_blocked", workplace.shown(&gate));
    let kept = file(&workplace, "ship-parser.json");
    assert_eq!(kept["gate"]["ship_allowed"], false);
    assert_eq!(kept["gate"]["head_commit"], workplace.head());
    let output = workplace.run(&[&gate[..], &["--json"]].concat());
    assert_eq!(output.code, Some(1));
    let told = valid(&output.stdout, "workflow-gate.schema.json");
    assert_eq!(told["blockers"], kept["gate"]["blockers"], "asked twice, it says the same");
}

#[test]
fn what_is_done_and_committed_may_be_shipped() {
    let workplace = Workplace::new(None);
    for name in ["pre-flight", "commit"] {
        phase(&workplace, &["ship", name, "--status", "complete"]);
    }
    insta::assert_snapshot!("gate_open", workplace.shown(&["workflow", "gate", "ship"]));
    workplace.git(&["commit", "--quiet", "--allow-empty", "--message=more"]);
    let output = workplace.run(&["workflow", "gate", "ship"]);
    assert_eq!(output.code, Some(1));
    insta::assert_snapshot!(redacted(&output.stdout), @"
    ship is blocked:
      - Checkpoint is stale (saved at [hash], current HEAD is [hash]): update a phase once
        [hash] is what you want to ship
    ");
}

/// Without git nothing is known against it, which is not the same as good.
#[test]
fn the_ship_gate_says_what_it_could_not_look_at() {
    let workplace = Workplace::new(None);
    std::fs::remove_dir_all(workplace.repo().join(".git")).unwrap();
    for name in ["pre-flight", "commit"] {
        phase(&workplace, &["ship", name, "--status", "complete"]);
    }
    let output = workplace.run(&["workflow", "gate", "ship", "--json"]);
    let told = valid(&output.stdout, "workflow-gate.schema.json");
    let unknown = "there is no git repository here: commits and uncommitted changes were not looked at";
    assert_eq!((&told["ship_allowed"], &told["warnings"]), (&json!(true), &json!([unknown])));
    assert_eq!(output.stderr, format!("warning: {unknown}\n"));
}

/// P4, with processes: none of their updates is lost.
#[test]
fn p4_many_processes_lose_no_update() {
    let workplace = Workplace::new(None);
    let mut children = Vec::new();
    for writer in 0..16 {
        let mark = format!("file-{writer}");
        let own = format!("phase-{writer}");
        for name in ["implementation", &own] {
            let mut command = workplace.checkstone(&[
                "workflow",
                "phase",
                "implement",
                name,
                "--status",
                "complete",
                "--created",
                &mark,
            ]);
            children.push(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
        }
    }
    for child in children {
        let output = finish(child);
        assert!(output.succeeded(), "{output:?}");
    }
    let kept = file(&workplace, "implement-checkpoint.json");
    assert_eq!(kept["phases"]["implementation"]["files_created"].as_array().unwrap().len(), 16);
    assert_eq!(kept["phases"].as_object().unwrap().len(), 17);
    assert_eq!(kept["state"]["completed_phases"].as_array().unwrap().len(), 17);
    let told = workplace.json(&["workflow", "diff", "implement", "--json"], "workflow-diff.schema.json");
    assert_eq!(told["saves"], 32);
}

/// A kill at any call that writes leaves the old state or the new one.
#[test]
fn a_kill_at_any_write_leaves_the_old_state_or_the_new_one() {
    let strace =
        ["/usr/bin/strace", "/bin/strace"].into_iter().find(|path| std::path::Path::new(path).exists());
    let Some(strace) = strace else { return };
    let workplace = Workplace::new(None);
    phase(&workplace, &["implement", "implementation", "--status", "in_progress"]);
    let mut kills = 0;
    for call in ["write", "fsync", "rename", "renameat", "renameat2", "flock"] {
        for number in 1..60 {
            let before = file(&workplace, "implement-checkpoint.json");
            let inject = format!("inject={call}:signal=SIGKILL:when={number}");
            let mut command = workplace.prepared(Command::new(strace));
            command.args(["-f", "-qq", "-o", "/dev/null", "-e", &inject, env!("CARGO_BIN_EXE_checkstone")]);
            let summary = format!("{call} {number}");
            command.args(["workflow", "phase", "implement", "implementation", "--summary", &summary]);
            let killed = !command.answer().succeeded();
            let after = file(&workplace, "implement-checkpoint.json");
            if after != before {
                assert_eq!(after["phases"]["implementation"]["context_summary"], summary.as_str());
            }
            if !killed {
                assert_eq!(after["phases"]["implementation"]["context_summary"], summary.as_str());
                break;
            }
            kills += 1;
        }
    }
    assert!(kills > 5, "{kills}");
    // Nothing that the kills left behind is in the way.
    phase(&workplace, &["implement", "implementation", "--status", "complete"]);
}

/// Killed at any call while it archives: the workflow is live or in the archive, and the next run ends it well.
#[test]
fn a_kill_while_archiving_loses_nothing() {
    let strace =
        ["/usr/bin/strace", "/bin/strace"].into_iter().find(|path| std::path::Path::new(path).exists());
    let Some(strace) = strace else { return };
    let workplace = Workplace::new(None);
    let mut kills = 0;
    for call in ["write", "fsync", "rename", "renameat", "renameat2", "unlink", "unlinkat"] {
        for number in 1.. {
            let feature = format!("{call}-{number}");
            phase(&workplace, &["review", "analysis", "--feature", &feature, "--status", "complete"]);
            workplace.run(&["workflow", "complete", "review", "--feature", &feature]);
            let mut command = workplace.prepared(Command::new(strace));
            command.args(["-f", "-qq", "-o", "/dev/null", "-e"]);
            command.arg(format!("inject={call}:signal=SIGKILL:when={number}"));
            command.args([env!("CARGO_BIN_EXE_checkstone"), "workflow", "archive"]);
            let killed = !command.answer().succeeded();
            let known = |list: &str| {
                let output = workplace.run(&["workflow", "list", "--archived", "--json"]);
                let value = valid(&output.stdout, "workflow-list.schema.json");
                let is_ours = |one: &&Value| {
                    let summary = one.get("workflow").unwrap_or(one);
                    summary["feature"] == feature.as_str()
                };
                value[list].as_array().unwrap().iter().filter(is_ours).count()
            };
            assert!(known("workflows") + known("archived") >= 1, "{feature} is lost");
            assert!(workplace.run(&["workflow", "archive"]).succeeded());
            assert_eq!((known("workflows"), known("archived")), (0, 1), "{feature}");
            if !killed {
                break;
            }
            kills += 1;
            assert!(kills < 100);
        }
    }
    assert!(kills > 5, "{kills}");
}

/// The issue's bad input: one clear sentence each, and no panic.
#[test]
fn bad_input_is_told_in_one_sentence() {
    let workplace = Workplace::new(None);
    let long = "x".repeat(300);
    let words = "word ".repeat(501);
    for (name, arguments) in [
        ("unknown_command", &["workflow", "start", "desing"][..]),
        ("path_in_feature", &["workflow", "start", "design", "--feature", "../../x"]),
        ("path_in_command", &["workflow", "start", "../design", "--phases", "a"]),
        ("long_feature", &["workflow", "start", "design", "--feature", &long]),
        ("no_workflow", &["workflow", "show", "design"]),
        ("nothing_to_complete", &["workflow", "complete", "design"]),
        ("long_summary", &["workflow", "phase", "design", "specs", "--summary", &words]),
        ("no_phase", &["workflow", "phase", "design", "", "--status", "complete"]),
        ("not_an_object", &["workflow", "phase", "design", "specs", "--data", "[1]"]),
        ("known_key", &["workflow", "phase", "design", "specs", "--data", "{\"status\": 1}"]),
        ("bad_status", &["workflow", "phase", "design", "specs", "--status", "done"]),
        ("no_archive", &["workflow", "show", "--archived", "../../x"]),
        ("read_only", &["workflow", "start", "design", "--repo", "/sys/kernel"]),
    ] {
        insta::assert_snapshot!(format!("bad_{name}"), workplace.shown(arguments));
    }
    let files = [
        ("empty", &b""[..]),
        ("binary", b"\x00\xff\x7fELF"),
        ("other_version", b"{\"version\": 2, \"command\": \"design\"}"),
        ("wrong_types", b"{\"version\": 1, \"state\": [], \"phases\": 3}"),
    ];
    for (name, bytes) in files {
        std::fs::create_dir_all(state(&workplace, "")).unwrap();
        std::fs::write(state(&workplace, "design-checkpoint.json"), bytes).unwrap();
        insta::assert_snapshot!(format!("bad_file_{name}"), workplace.shown(&["workflow", "show", "design"]));
        let hook = workplace.hook("SessionStart", json!({"source": "startup"}));
        assert_eq!(hook, Value::Null, "{name}: a hook is silent");
    }
    let listed = workplace.run(&["workflow", "list", "--json"]);
    let value = valid(&listed.stdout, "workflow-list.schema.json");
    assert_eq!(value["problems"][0]["file"], "design-checkpoint.json");
}

#[test]
fn a_summary_of_few_long_words_is_warned_about() {
    let workplace = Workplace::new(None);
    let summary = "要約".repeat(700);
    let shown = workplace.shown(&[
        "workflow",
        "phase",
        "design",
        "specs",
        "--status",
        "complete",
        "--summary",
        &summary,
    ]);
    insta::assert_snapshot!("long_estimate", shown);
    let mut quiet = workplace.checkstone(&["workflow", "phase", "design", "specs", "--status", "complete"]);
    let output = quiet.env("CHECKSTONE_SUMMARY_WARNING", "2000").answer();
    assert_eq!(output.stderr, "");
}

#[test]
fn a_command_of_ones_own_names_its_phases() {
    let workplace = Workplace::new(None);
    let started =
        workplace.json(&["workflow", "start", "deploy", "--phases", "build,roll-out", "--json"], OUTPUT);
    assert_eq!(started["resume_point"]["phase"], "build");
    phase(&workplace, &["deploy", "build", "--status", "complete"]);
    let output = workplace.run(&["workflow", "phase", "deplyo", "build", "--status", "complete"]);
    assert_eq!(output.code, Some(3));
}

/// Where there is unfinished work, a session that begins is told, in every client's own form, and once.
#[test]
fn a_session_that_begins_is_told_where_work_goes_on() {
    let workplace = Workplace::new(None);
    let start = |source: &str| workplace.hook("SessionStart", json!({"source": source}));
    assert_eq!(start("startup"), Value::Null);
    phase(&workplace, &["implement", "implementation", "--status", "complete", "--summary", "Parses dates"]);
    let told = start("startup");
    let context = told["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    insta::assert_snapshot!("session_start", context);
    assert_eq!(told["hookSpecificOutput"]["hookEventName"], "SessionStart");
    assert_eq!(start("startup"), Value::Null, "registered twice, it is told once");
    assert_eq!(start("resume"), Value::Null, "the session still knows it");
    phase(&workplace, &["implement", "validation", "--status", "in_progress"]);
    let resumed = start("resume");
    insta::assert_snapshot!(redacted(resumed["hookSpecificOutput"]["additionalContext"].as_str().unwrap()), @"
    [checkstone] Unfinished work in this repository, as an earlier session left it (a record, not an instruction).
    Workflow `implement`: phase `validation` is in progress.
    Summary of `implementation`: Parses dates
    If the user's request is about this: `checkstone workflow resume-point implement` shows more, and `checkstone workflow phase implement 'validation' --status complete --summary '…'` records progress.
    ");
    for (agent, event) in [("gemini", "SessionStart"), ("codex", "SessionStart")] {
        let payload = json!({
            "session_id": format!("{agent}-1"), "transcript_path": null, "cwd": workplace.repo(),
            "hook_event_name": event, "source": "startup", "model": "m", "timestamp": "2026-11-15T00:00:00.000Z",
        });
        let mut child = workplace
            .checkstone(&["hook", agent])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), payload.to_string().as_bytes()).unwrap();
        let output = finish(child);
        let answer: Value = serde_json::from_str(&output.stdout).unwrap();
        let keys: Vec<_> = answer.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["systemMessage", "hookSpecificOutput"], "{agent} forbids others");
        assert_eq!(
            answer["systemMessage"],
            "[checkstone] Unfinished work was found here, and the agent was told where to resume it (`checkstone status`)."
        );
        assert!(
            answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().starts_with("[checkstone]")
        );
    }
    workplace.run(&["workflow", "complete", "implement"]);
    assert_eq!(start("startup"), Value::Null);
}

/// A journal that cannot be used keeps nobody from being told, and from nothing else.
#[test]
fn without_a_journal_a_session_is_told_all_the_same() {
    let workplace = Workplace::new(None);
    std::fs::create_dir_all(workplace.path("state/journal.db")).unwrap();
    let start = || workplace.hook("SessionStart", json!({"source": "startup"}));
    assert_eq!(start(), Value::Null);
    phase(&workplace, &["implement", "implementation", "--status", "in_progress"]);
    assert_ne!(start(), Value::Null);
    let log = std::fs::read_to_string(workplace.path("state/log")).unwrap();
    insta::assert_snapshot!(without_durations(&log), @"
    [time] claude 9f3c2f1e-1111-4222-8333-444455556666 pass: not recorded: `[folder]/state/journal.db` is not a regular file [[timings]]
    [time] claude 9f3c2f1e-1111-4222-8333-444455556666 resume point: not recorded: `[folder]/state/journal.db` is not a regular file [[timings]]
    ");
}

/// Switched off, for the session or for the repository, the hook says nothing.
#[test]
fn where_hooks_are_off_nothing_is_told() {
    let workplace = Workplace::new(Some("[gate]\nenabled = false\n"));
    phase(&workplace, &["implement", "implementation", "--status", "in_progress"]);
    assert_eq!(workplace.hook("SessionStart", json!({"source": "startup"})), Value::Null);
}

/// After a compaction the agent has forgotten it.
#[test]
fn a_compacted_session_is_told_again() {
    let workplace = Workplace::new(None);
    phase(&workplace, &["implement", "implementation", "--status", "in_progress"]);
    let start = |source: &str| workplace.hook("SessionStart", json!({"source": source}));
    assert_ne!(start("startup"), Value::Null);
    workplace.age_deliveries();
    assert_ne!(start("compact"), Value::Null);
    assert_eq!(start("compact"), Value::Null, "registered twice, it is told once");
}

#[test]
fn status_tells_what_is_resumable() {
    let workplace = Workplace::new(None);
    phase(&workplace, &["implement", "implementation", "--feature", "parser", "--status", "in_progress"]);
    let value = workplace.json(&["status", "--json"], "status.schema.json");
    let expected = json!([{
        "kind": "workflow", "command": "implement", "feature": "parser", "phase": "implementation",
        "status": "in_progress",
    }]);
    assert_eq!(value["resumable"], expected);
    let shown = workplace.shown(&["status"]);
    insta::assert_snapshot!(redacted(&shown), @"
    exit code: 0
    --- stdout
    gate        off: there is no policy here
    repository  [folder]/repo
    policy      none, so every stop passes
    state       [folder]/state
    resumable   workflow implement (parser): implementation in progress
    --- stderr
    ");
}

#[test]
fn help_has_examples() {
    for command in ["start", "phase", "show", "list", "resume-point", "complete", "gate", "diff", "archive"] {
        let output = program::run(&["workflow", command, "--help"]);
        let help = output.stdout;
        assert!(help.contains("Example"), "{help}");
    }
}

/// A feature that was mistyped would be followed by nobody, and the one that was meant would stand still.
#[test]
fn a_slip_of_a_feature_starts_nothing() {
    let workplace = Workplace::new(None);
    let phase = |feature: &str, more: &[&str]| {
        let fixed =
            ["workflow", "phase", "implement", "discovery", "--feature", feature, "--status", "complete"];
        workplace.shown(&[&fixed[..], more].concat())
    };
    insta::assert_snapshot!(phase("parser", &[]), @"
    exit code: 0
    --- stdout
    implement (parser), new: discovery (new phase) is complete; next phase: implementation
    --- stderr
    ");
    insta::assert_snapshot!(phase("praser", &[]), @"
    exit code: 4
    --- stdout
    --- stderr
    error: no feature `praser` is known here, but `parser` is
    hint: name it with `--feature parser`, or pass `--new` to start another
    ");
    insta::assert_snapshot!(phase("praser", &["--new"]), @"
    exit code: 0
    --- stdout
    implement (praser), new: discovery (new phase) is complete; next phase: implementation
    --- stderr
    ");
    // What is no slip: a known feature, another number, another word.
    workplace.run(&["workflow", "start", "design", "--feature", "printer"]);
    insta::assert_snapshot!(phase("printer", &[]), @"
    exit code: 0
    --- stdout
    implement (printer), new: discovery (new phase) is complete; next phase: implementation
    --- stderr
    ");
    insta::assert_snapshot!(phase("issue-101", &[]), @"
    exit code: 0
    --- stdout
    implement (issue-101), new: discovery (new phase) is complete; next phase: implementation
    --- stderr
    ");
    insta::assert_snapshot!(phase("issue-102", &[]), @"
    exit code: 0
    --- stdout
    implement (issue-102), new: discovery (new phase) is complete; next phase: implementation
    --- stderr
    ");
}

/// A phase that was mistyped would be complete, and the one that was meant would stay open.
#[test]
fn a_slip_of_a_phase_adds_nothing() {
    let workplace = Workplace::new(None);
    let phase = |phase: &str, more: &[&str]| {
        let fixed = ["workflow", "phase", "implement", phase, "--status", "complete"];
        workplace.shown(&[&fixed[..], more].concat())
    };
    workplace.run(&["workflow", "start", "implement"]);
    insta::assert_snapshot!(phase("implementaton", &[]), @"
    exit code: 4
    --- stdout
    --- stderr
    error: no phase `implementaton` is known here, but `implementation` is
    hint: name it `implementation`, or pass `--new` to add another
    ");
    assert!(!workplace.shown(&["workflow", "show", "implement"]).contains("implementaton"));
    insta::assert_snapshot!(phase("implementaton", &["--new"]), @"
    exit code: 0
    --- stdout
    implement: implementaton (new phase) is complete; next phase: implementation
    --- stderr
    ");
    // What is no slip: a phase that was added, another word.
    insta::assert_snapshot!(phase("implementaton", &[]), @"
    exit code: 0
    --- stdout
    implement: implementaton is complete; next phase: implementation
    --- stderr
    ");
    insta::assert_snapshot!(phase("discovery", &[]), @"
    exit code: 0
    --- stdout
    implement: discovery (new phase) is complete; next phase: implementation
    --- stderr
    ");
    insta::assert_snapshot!(phase("benchmarks", &[]), @"
    exit code: 0
    --- stdout
    implement: benchmarks (new phase) is complete; next phase: implementation
    --- stderr
    ");
}
