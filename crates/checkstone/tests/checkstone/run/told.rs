//! What is told of runs: JSON, `watch`, `markers`, `status`, and to an agent whose session begins.

use std::process::Stdio;

use sandbox::{RunToEnd as _, finish, without_durations};
use serde_json::json;

use super::{Project, plan, stage, valid_events};
use crate::workplace::valid;

#[test]
fn json_is_the_record_itself() {
    let project =
        Project::new(&plan(&[stage("S01_say_things", "command = 'echo \"[METRIC:accuracy:value=0.9]\"'")]));
    let output = project.output(&["run", "plan.toml", "--id", "r1", "--json"]);
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    let stdout = output.stdout;
    let events = valid_events(&stdout);
    assert_eq!(stdout, project.read("reports/study/checkpoints/r1/events.jsonl"));
    assert!(events.iter().any(|event| event["marker"] == "[METRIC:accuracy:value=0.9]"));
    // Every number once, from one.
    let numbers: Vec<u64> = events.iter().map(|event| event["sequence"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>());
    let watched = project.output(&["watch", "r1", "--json"]);
    assert_eq!(watched.stdout, stdout);
}

#[test]
fn a_run_is_followed_while_it_runs() {
    let waits = "command = 'echo \"[STAGE:progress:pct=50:msg=half way]\"; touch begun; until test -e go; do sleep 0.02; done'";
    let project = Project::new(&plan(&[stage("S01_wait_long", waits)]));
    let child = project.start(&[]);
    project.wait_for("begun");
    let watcher =
        project.checkstone(&["watch"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    project.workplace.write("go", "");
    let watched = finish(watcher);
    assert_eq!(finish(child).code, Some(0));
    assert_eq!(watched.code, Some(0), "{watched:?}");
    insta::assert_snapshot!(without_durations(&watched.stderr), @"
    run r1 of study
    S01_wait_long  running, at most [duration]
    S01_wait_long  [STAGE:progress:pct=50:msg=half way]
    S01_wait_long  checkpoint ckpt-000001-[id], 0 artifacts
    S01_wait_long  completed in [duration], 0 artifacts
    ");
    insta::assert_snapshot!(without_durations(&watched.stdout), @"
    S01_wait_long  COMPLETED
    run r1 COMPLETED: 1 of 1 stage completed; the artifacts are in `reports/study/r1`; `checkstone report r1` writes the report
    ");
}

/// Nobody has to guess why a run cannot be resumed that is running.
#[test]
fn a_run_that_is_running_is_not_resumed_and_that_is_told() {
    let waits = "command = 'touch begun; until test -e go; do sleep 0.02; done'";
    let project = Project::new(&plan(&[stage("S01_wait_long", waits)]));
    let child = project.start(&[]);
    project.wait_for("begun");
    for arguments in [&["resume"] as &[&str], &["resume", "r1"]] {
        let told = project.output(arguments);
        let since =
            told.stderr.split("since ").nth(1).and_then(|rest| rest.lines().next()).unwrap_or_default();
        assert_eq!(since.len(), "2026-11-16 09:15 UTC".len(), "{told:?}");
        assert_eq!(
            (told.code, told.stderr.replace(since, "[time]").as_str()),
            (
                Some(4),
                "error: run `r1` of study has been running since [time]\n\
                 hint: `checkstone watch r1` follows it; `checkstone abort r1` ends it\n"
            )
        );
    }
    project.workplace.write("go", "");
    assert_eq!(finish(child).code, Some(0));
}

/// What a stage leaves running does not outlive it, and whoever counted on it is told.
#[test]
fn what_is_left_running_and_ended_is_told() {
    let project = Project::new(&plan(&[
        stage("S01_leave_two", "command = 'sleep 1000 & sleep 1000 & exit 0'"),
        stage("S02_leave_none", "command = 'true'\nverify = 'sleep 1000 & exit 0'"),
    ]));
    let done = project.run();
    assert_eq!(done.code, Some(0), "{done:?}");
    insta::assert_snapshot!(without_durations(&done.stderr), @"
    run r1 of study
    S01_leave_two  running, at most [duration]
    S01_leave_two  warning: 2 processes that it left running were killed
    S01_leave_two  checkpoint ckpt-000001-[id], 0 artifacts
    S01_leave_two  completed in [duration], 0 artifacts
    S02_leave_none  running, at most [duration]
    S02_leave_none  warning: `verify`: a process that it left running was killed
    S02_leave_none  checkpoint ckpt-000002-[id], 0 artifacts
    S02_leave_none  completed in [duration], 0 artifacts
    ");
}

/// R12 among others: the markers of a log, as a table and as JSON.
#[test]
fn the_markers_of_a_log_are_shown() {
    let project = Project::new("");
    let log = "noise\n[STAGE:begin:id=S01_load_data]\n  [METRIC:loss:value=\"a:b]\"] fell\nnot [STAGE:end]\n[WEIRD-THING] x\n[STAGE:]\n";
    project.workplace.write("log", log);
    let value = project.workplace.json(&["markers", "log", "--json"], "markers.schema.json");
    assert_eq!(value["counts"], json!({"METRIC": 1, "STAGE": 1, "WEIRD_THING": 1}));
    assert_eq!(value["unknown"], json!({"WEIRD_THING": 1}));
    assert_eq!(value["markers"][1]["attributes"], json!({"value": "a:b]"}));
    assert_eq!(value["markers"][1]["category"], "calculations");
    let shown = project.output(&["markers", "log"]);
    insta::assert_snapshot!(without_durations(&shown.stdout), @"
    STAGE          begin      id=S01_load_data
    METRIC         loss       value=a:b]  fell
    WEIRD_THING               x
    3 markers METRIC 1, STAGE 1, WEIRD_THING 1
    not in the taxonomy: WEIRD_THING
    ");
    let again = project.checkstone(&["markers", "-", "--json"]).answer_to(log);
    let again = valid(&again.stdout, "markers.schema.json");
    assert_eq!(again, value);
    assert_eq!(project.output(&["markers", "nothing"]).code, Some(3));
}

/// Spec 5, task 5.1; and an agent whose session begins is told, once, what can be resumed.
#[test]
fn status_and_session_start_tell_what_is_resumable() {
    let project = Project::new(&plan(&[
        stage("S01_load_data", "command = 'true'"),
        stage("S02_fail_once", "command = 'test -e go'\ndependencies = [\"S01_load_data\"]"),
    ]));
    assert_eq!(project.run().code, Some(1));
    let status = project.workplace.json(&["status", "--json"], "status.schema.json");
    assert_eq!(
        status["resumable"],
        json!([{"kind": "run", "reportTitle": "study", "runId": "r1", "status": "FAILED"}])
    );
    let last = &status["lastCheckpoint"];
    assert_eq!((&last["stageId"], &last["status"]), (&json!("S02_fail_once"), &json!("interrupted")));
    assert_eq!(last["checkpointId"], project.checkpoints()[0]["checkpointId"]);
    assert_eq!(last["resumable"], true);
    let shown = project.output(&["status"]);
    insta::assert_snapshot!(without_durations(&shown.stdout), @"
    gate        off: there is no policy here
    repository  [folder]/repo
    policy      none, so every stop passes
    state       [folder]/state
    resumable   run r1 of study: FAILED, `checkstone resume r1`
    checkpoint  ckpt-emergency-000002-[id] of S02_fail_once, interrupted
    ");
    let told = project.workplace.hook("SessionStart", json!({"source": "startup"}));
    let context = told["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    insta::assert_snapshot!(without_durations(context), @"[checkstone] The run `r1` of `study` is FAILED and can be resumed: `checkstone resume r1` continues exactly where it stopped; completed stages are not run again.");
    // A run goes by the name of its folder.
    let checkpoints = project.path("reports/study/checkpoints");
    std::fs::rename(checkpoints.join("r1"), checkpoints.join("other")).unwrap();
    let status = project.workplace.json(&["status", "--json"], "status.schema.json");
    assert_eq!(status["resumable"][0]["runId"], "other");
    std::fs::rename(checkpoints.join("other"), checkpoints.join("r1")).unwrap();
    project.workplace.write("go", "");
    assert_eq!(project.resume().code, Some(0));
    let status = project.workplace.json(&["status", "--json"], "status.schema.json");
    assert_eq!(status["resumable"], json!([]));
    assert_eq!(status["lastCheckpoint"]["status"], "saved");
    // Its own validity, whatever there is to resume.
    let id = status["lastCheckpoint"]["checkpointId"].as_str().unwrap();
    let manifest = format!("reports/study/checkpoints/r1/{id}/checkpoint.json");
    let damaged = project.read(&manifest).replace("\"executionCount\": ", "\"executionCount\": 1");
    project.workplace.write(&manifest, &damaged);
    let status = project.workplace.json(&["status", "--json"], "status.schema.json");
    assert_eq!(status["lastCheckpoint"]["resumable"], false);
    let silent = project.workplace.hook("SessionStart", json!({"source": "clear"}));
    assert_eq!(silent, serde_json::Value::Null);
}

/// What a person is told to type can be typed, whatever the run is called.
#[test]
fn a_run_with_a_blank_in_its_name_is_quoted_in_commands() {
    let project = Project::new(&plan(&[stage("S01_fail_once", "command = 'test -e go'")]));
    let failed = project.output(&["run", "--id", "my run"]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    insta::assert_snapshot!(without_durations(&failed.stdout), @"
    S01_fail_once  FAILED        exit status 1
    run my run FAILED: 0 of 1 stage completed; `checkstone resume 'my run'` continues it
    ");
    project.workplace.write("go", "");
    let done = project.output(&["resume", "my run"]);
    insta::assert_snapshot!(without_durations(&done.stdout), @"
    S01_fail_once  COMPLETED
    run my run COMPLETED: 1 of 1 stage completed; the artifacts are in `reports/study/my run`; `checkstone report 'my run'` writes the report
    ");
}
