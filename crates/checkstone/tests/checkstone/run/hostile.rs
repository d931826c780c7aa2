//! What a machine, a stage or a repository can do to a run: numbers of processes that went to others, clocks that are set while it
//! runs, links in place of artifacts, and a project that cannot be written to.

use std::os::unix::fs::symlink;
use std::process::Command;

use sandbox::{Answer, RunToEnd as _, finish, waiting::let_files_age, without_durations};
use serde_json::{Value, json};

use super::{Project, plan, stage};

/// The processes that a lost supervisor noted are gone, and their numbers belong to somebody else now.
#[test]
fn a_number_that_went_to_somebody_else_is_not_killed() {
    let project = Project::new(&plan(&[stage("S01_sleep_long", "command = 'touch one; exec sleep 100'")]));
    let mut child = project.start(&[]);
    project.wait_for("one");
    child.kill().unwrap();
    child.wait().unwrap();
    // Start times are told in hundredths of a second, and no number goes around within one: time itself has to pass.
    let_files_age();
    let mut bystander = Command::new("sleep").arg("1000").spawn().unwrap();
    let path = "reports/study/r1/.attempts/S01_sleep_long/1/supervisor.json";
    let mut record: Value = serde_json::from_str(&project.read(path)).unwrap();
    record["supervisor"]["pid"] = json!(bystander.id());
    record["shim"]["pid"] = json!(bystander.id());
    project.workplace.write(path, &record.to_string());
    project.workplace.write("plan.toml", &plan(&[stage("S01_sleep_long", "command = 'true'")]));
    let resumed = project.resume();
    let lives = bystander.try_wait().unwrap().is_none();
    bystander.kill().unwrap();
    bystander.wait().unwrap();
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert!(lives, "the bystander was killed");
}

/// What there was of an attempt cannot be kept: it must not look as if it had been. It waits for somebody who mends that.
#[test]
fn a_stage_without_an_emergency_checkpoint_is_blocked() {
    // Links are refused for checkpoints; the record can still be read through this one.
    let spoil = "test -e go && exit 0; cd reports/study/checkpoints; mv r1 kept; ln -s kept r1; ";
    let mut told = Vec::new();
    for ending in ["exit 3", "exec sleep 100"] {
        let limits = "maxDurationSec = 1\ngrace = { interruptSec = 0, terminateSec = 0 }";
        let command = format!("command = '{spoil}{ending}'\n{limits}");
        let project = Project::new(&plan(&[
            stage("S01_spoil_place", &command),
            stage("S02_wait_behind", "command = 'true'\ndependencies = [\"S01_spoil_place\"]"),
        ]));
        let done = project.run();
        assert_eq!(done.code, Some(1), "{done:?}");
        // Without any grace, the first signal may end it before the others are sent.
        let later = |line: &&str| !line.ends_with("  SIGTERM") && !line.ends_with("  SIGKILL");
        let shown = without_durations(done.to_string());
        told.push(shown.lines().filter(later).map(|line| format!("{line}\n")).collect::<String>());
        // Mended, it goes on.
        let checkpoints = project.path("reports/study/checkpoints");
        std::fs::remove_file(checkpoints.join("r1")).unwrap();
        std::fs::rename(checkpoints.join("kept"), checkpoints.join("r1")).unwrap();
        assert_eq!(project.state("S01_spoil_place"), "BLOCKED");
        assert_ne!(project.run_state(), "COMPLETED");
        project.workplace.write("go", "");
        let resumed = project.resume();
        assert_eq!(resumed.code, Some(0), "{resumed:?}");
    }
    insta::assert_snapshot!(told.join("\n"), @"
    exit code: 1
    --- stdout
    S01_spoil_place  BLOCKED       exit status 3; and there is no checkpoint of it
    S02_wait_behind  BLOCKED       `S01_spoil_place` did not complete
    run r1 FAILED: 0 of 2 stages completed; `checkstone resume r1` continues it
    --- stderr
    run r1 of study
    S01_spoil_place  running, at most [duration]
    S01_spoil_place  warning: no emergency checkpoint: `[folder]/repo/reports/study/checkpoints/r1` is a symbolic link
    S01_spoil_place  failed: exit status 3 (see `reports/study/r1/.attempts/S01_spoil_place/1/output.log`)
    S01_spoil_place  blocked: exit status 3; and there is no checkpoint of it
    S02_wait_behind  blocked: `S01_spoil_place` did not complete

    exit code: 1
    --- stdout
    S01_spoil_place  BLOCKED       it exceeded its time limit; interrupted after [duration]; and there is no checkpoint of it
    S02_wait_behind  BLOCKED       `S01_spoil_place` did not complete
    run r1 INTERRUPTED: 0 of 2 stages completed; `checkstone resume r1` continues it
    --- stderr
    run r1 of study
    S01_spoil_place  running, at most [duration]
    S01_spoil_place  being interrupted
    S01_spoil_place  SIGINT
    S01_spoil_place  warning: no emergency checkpoint: `[folder]/repo/reports/study/checkpoints/r1` is a symbolic link
    S01_spoil_place  interrupted: it exceeded its time limit; interrupted after [duration] (see `reports/study/r1/.attempts/S01_spoil_place/1/output.log`)
    S01_spoil_place  blocked: it exceeded its time limit; interrupted after [duration]; and there is no checkpoint of it
    S02_wait_behind  blocked: `S01_spoil_place` did not complete
    ");
}

/// Where the library of `faketime` is, which is what a clock can be set with for one process alone.
fn fake_clock() -> Option<String> {
    let output = Command::new("faketime").args(["-f", "+0", "sh", "-c", "echo $LD_PRELOAD"]).output().ok()?;
    let library = Answer::from(output).stdout.trim().to_owned();
    (!library.is_empty()).then_some(library)
}

/// R5: the clock is set back by a day, and forward by two, while a run is running. Limits go by another clock, and the newest
/// checkpoint is the one that was saved last.
#[test]
fn r5_a_clock_that_is_set_while_it_runs_does_not_matter() {
    let Some(library) = fake_clock() else {
        println!("skipped: there is no `faketime` here");
        return;
    };
    let waits = |id: &str, before: &str| {
        let dependency =
            if before.is_empty() { String::new() } else { format!("dependencies = [\"{before}\"]") };
        stage(
            id,
            &format!(
                "command = 'echo {id} > $CHECKSTONE_ARTIFACT_DIR/name; touch {id}.begun; until test -e {id}.go; do sleep 0.02; done'\nmaxDurationSec = 60\n{dependency}"
            ),
        )
    };
    let ids = ["S01_wait_first", "S02_wait_second", "S03_wait_third"];
    let project = Project::new(&plan(&[waits(ids[0], ""), waits(ids[1], ids[0]), waits(ids[2], ids[1])]));
    let clock = project.workplace.path("clock");
    std::fs::write(&clock, "+0").unwrap();
    let mut command = project.checkstone(&["run", "plan.toml", "--id", "r1"]);
    command
        .env("LD_PRELOAD", library)
        .env("FAKETIME_TIMESTAMP_FILE", &clock)
        .env("FAKETIME_NO_CACHE", "1")
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    let child =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    for (id, time) in ids.iter().zip(["-1d", "+2d", "-3d"]) {
        project.wait_for(&format!("{id}.begun"));
        std::fs::write(&clock, time).unwrap();
        project.workplace.write(&format!("{id}.go"), "");
    }
    let done = finish(child);
    assert_eq!(done.code, Some(0), "{done:?}");
    let events = project.events();
    let times: Vec<&str> = events.iter().map(|event| event["at"].as_str().unwrap()).collect();
    assert!(!times.is_sorted(), "the clock was never set: {times:?}");
    assert!(ids.iter().all(|id| project.state(id) == "COMPLETED"));
    assert!(!events.iter().any(|event| event["event"] == "signal"), "{events:#?}");
    let newest = project.checkpoints();
    assert_eq!(newest[0]["stageId"], ids[2], "{newest:#?}");
    // Goes on from there, and can tell of it.
    let resumed = project.resume();
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert!(ids.iter().all(|id| project.attempts(id) == 1));
    project.workplace.json(&["report", "r1", "--json"], "report.schema.json");
}

/// Artifacts and places that lead out of the project are refused where a stage would be accepted, with a checkpoint after it or
/// without; and nothing is written where they lead.
#[test]
fn artifacts_that_lead_out_are_not_accepted() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "theirs\n").unwrap();
    let out = outside.path().display();
    let artifacts = "$CHECKSTONE_ARTIFACT_DIR";
    for (deed, verify) in [
        (format!("ln -s {out}/secret {artifacts}/a.txt"), "true"),
        (format!("echo 1 > {artifacts}/a.txt; ln -s {out} {artifacts}/folder"), "true"),
        (format!("echo 1 > {artifacts}/a.txt; mkfifo {artifacts}/pipe"), "true"),
        (format!("rm -r {artifacts}; ln -s {out} {artifacts}; echo 1 > {artifacts}/a.txt"), "true"),
        (format!("echo 1 > {artifacts}/a.txt; ln -s {out} reports/study/r1/S01_lead_out"), "true"),
        (
            format!("echo 1 > {artifacts}/a.txt; echo {out} > out"),
            "ln -sf $(cat out)/secret $CHECKSTONE_ARTIFACT_DIR/a.txt",
        ),
    ] {
        for checkpoint in [true, false] {
            let more = format!(
                "command = '{deed}'\nverify = '{verify}'\noutputs = {{ a = \"a.txt\" }}\ncheckpointAfter = {checkpoint}"
            );
            let project = Project::new(&plan(&[stage("S01_lead_out", &more)]));
            let done = project.run();
            assert_eq!(done.code, Some(1), "{deed}: {done:?}");
            assert_eq!(project.state("S01_lead_out"), "FAILED", "{deed}");
            let published = project.path("reports/study/r1/S01_lead_out").symlink_metadata();
            // The one that the stage itself made is as the stage made it.
            assert!(published.is_err() || deed.contains("S01_lead_out"), "{deed}");
            assert_eq!(std::fs::read_to_string(outside.path().join("secret")).unwrap(), "theirs\n");
            let _ = std::fs::remove_file(outside.path().join("a.txt"));
            assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1, "{deed}");
        }
    }
}

/// Inputs, outputs and working directories that lead out of the project, by the program: all told at once, and nothing runs.
#[test]
fn plans_that_lead_out_are_not_run() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "theirs\n").unwrap();
    let project = Project::new(&plan(&[
        stage(
            "S01_read_out",
            "command = 'touch ran'\ninputs = { a = \"../secret\", b = \"link/secret\", c = \"/etc/passwd\" }",
        ),
        stage("S02_write_out", "command = 'touch ran'\noutputs = { a = \"../a\", b = \"/tmp/b\" }"),
        stage("S03_work_out", "command = 'touch ran'\ndirectory = \"link\""),
        stage("S04_work_up", "command = 'touch ran'\ndirectory = \"src/../..\""),
    ]));
    symlink(outside.path(), project.path("link")).unwrap();
    let done = project.run();
    assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{done:?}");
    assert_eq!(done.stderr.lines().count(), 1 + 7, "{done:?}");
    assert!(!project.path("ran").exists() && !project.path("reports").exists());
}

/// A record that came with a repository: what it says cannot move the cursor of whoever watches.
#[test]
fn a_record_from_elsewhere_is_shown_and_not_obeyed() {
    let project = Project::new(&plan(&[stage("S01_do_nothing", "command = 'true'")]));
    assert_eq!(project.run().code, Some(0));
    let escape = "\u{1b}[2J";
    let mut events = project.events();
    for event in &mut events {
        match (event["event"].as_str().unwrap(), event["to"].as_str()) {
            ("run-state", Some("IN_PROGRESS")) => event["reason"] = json!(escape),
            ("checkpoint", _) => {
                event["checkpointId"] = json!(escape);
                event["status"] = json!(escape);
            }
            _ => {}
        }
    }
    let (last, at) = (events.len() as u64, events[0]["at"].clone());
    for (number, kind) in ["stall", "signal"].into_iter().enumerate() {
        let sequence = last + 1 + number as u64;
        events.push(json!({
            "sequence": sequence, "at": at, "event": kind, "stageId": "S01_do_nothing", "attempt": 1, "signal": escape,
        }));
    }
    let text: String = events.iter().map(|event| format!("{event}\n")).collect();
    project.workplace.write("reports/study/checkpoints/r1/events.jsonl", &text);
    let watched = project.output(&["watch", "r1"]);
    assert_eq!(watched.code, Some(0), "{watched:?}");
    // What is not a terminal gets no escape sequence at all; these are the signs that stand for one.
    assert_eq!(watched.stderr.matches("␛[2J").count(), 5, "{watched:?}");
}

/// A named pipe or a device in place of an input or of the plan: nobody waits for it, and what it is is told.
#[test]
fn what_has_no_end_is_not_read() {
    // It is a file when the plan is checked, and a pipe when its turn comes.
    let project = Project::new(&plan(&[
        stage("S01_make_pipe", "command = 'rm a; mkfifo a'"),
        stage(
            "S02_read_pipe",
            "command = 'true'\ninputs = { a = \"a\" }\ndependencies = [\"S01_make_pipe\"]",
        ),
    ]));
    project.workplace.write("a", "");
    let done = project.run();
    assert_eq!(done.code, Some(1), "{done:?}");
    insta::assert_snapshot!(without_durations(&done.stderr), @"
    run r1 of study
    S01_make_pipe  running, at most [duration]
    S01_make_pipe  checkpoint ckpt-000001-[id], 0 artifacts
    S01_make_pipe  completed in [duration], 0 artifacts
    S02_read_pipe  running, at most [duration]
    S02_read_pipe  checkpoint ckpt-emergency-000002-[id] (interrupted), 0 artifacts
    S02_read_pipe  failed: the input `[folder]/repo/a` cannot be read: it is not a regular file
    ");
    let told = ["a", "/dev/zero"].map(|plan| project.output(&["run", plan, "--check"]).to_string());
    insta::assert_snapshot!(without_durations(told.concat()), @"
    exit code: 2
    --- stdout
    --- stderr
    error: cannot read the plan `a`: it is not a regular file
    exit code: 2
    --- stdout
    --- stderr
    error: cannot read the plan `/dev/zero`: it is not a regular file
    ");
}

/// What an attempt noted for the next one is a pipe by then: the next one does without, and waits for nobody.
#[test]
fn a_pipe_in_place_of_a_note_hangs_nobody() {
    let spoil = "command = '''test -e go && exit 0
        echo 1 > $CHECKSTONE_ARTIFACT_DIR/part; echo '[CHECKPOINT:saved:id=a]'
        until grep -q midStage.:true reports/study/checkpoints/r1/events.jsonl; do sleep 0.02; done
        cd $CHECKSTONE_ARTIFACT_DIR/..; rm fingerprint && mkfifo fingerprint; exit 1'''\nmidStageCheckpoints = true";
    let project = Project::new(&plan(&[stage("S01_leave_pipe", spoil)]));
    assert_eq!(project.run().code, Some(1));
    project.workplace.write("go", "");
    let resumed = project.resume();
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
}

/// R15: a project that cannot be written to. As root it takes a mount that is read-only, so that the test needs mounts of its own.
#[test]
fn r15_a_read_only_project_is_a_clear_error_and_the_checkpoint_before_stays() {
    let project = Project::new(&plan(&[
        stage("S01_load_data", "command = 'echo 1 > $CHECKSTONE_ARTIFACT_DIR/a.txt'"),
        stage("S02_fail_once", "command = 'test -e go'\ndependencies = [\"S01_load_data\"]"),
    ]));
    assert_eq!(project.run().code, Some(1));
    project.workplace.write("go", "");
    let before = (project.checkpoints(), project.read("reports/study/checkpoints/r1/events.jsonl"));
    let script = "mount --bind . . && cd \"$PWD\" && mount -o remount,bind,ro . || exit 77
        \"$0\" run plan.toml --id r2; echo code=$?
        \"$0\" resume r1; echo code=$?
        \"$0\" report r1; echo code=$?
        \"$0\" status > /dev/null; echo code=$?";
    let mut command = project.workplace.prepared(Command::new("unshare"));
    let user = if rustix::process::geteuid().is_root() { "--mount" } else { "-rm" };
    let program = env!("CARGO_BIN_EXE_checkstone");
    let done = command.args([user, "sh", "-c", script, program]).answer();
    if done.code == Some(77) || done.stderr.contains("unshare failed") {
        println!("skipped: nothing can be mounted here: {}", done.stderr);
        return;
    }
    assert_eq!(done.stdout, "code=5\ncode=5\ncode=5\ncode=0\n", "{done:?}");
    assert_eq!(done.stderr.matches("Read-only file system").count(), 3, "{done:?}");
    assert_eq!(done.stderr.matches("error: ").count(), 3, "{done:?}");
    let hint = "hint: make the folder writable, then try again\n";
    assert_eq!(done.stderr.matches(hint).count(), 3, "{done:?}");
    assert_eq!((project.checkpoints(), project.read("reports/study/checkpoints/r1/events.jsonl")), before);
    // Writable again, it goes on.
    let resumed = project.resume();
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    insta::assert_snapshot!(without_durations(&resumed.stderr), @"
    run r1 of study
    continues from checkpoint ckpt-emergency-000002-[id] of S02_fail_once
    resumed
    S01_load_data  unchanged, not run again
    S02_fail_once  running, at most [duration], attempt 2
    S02_fail_once  checkpoint ckpt-000003-[id], 0 artifacts
    S02_fail_once  completed in [duration], 0 artifacts
    ");
}

/// Where the record is lost and the same run begins again, what the attempts before it left is nobody's output.
#[test]
fn what_an_unknown_attempt_left_is_not_taken_for_an_output() {
    let project = Project::new(&plan(&[stage(
        "S01_write_once",
        "command = 'test -e done || echo old > $CHECKSTONE_ARTIFACT_DIR/out.txt; test -e fail && exit 1; touch done'\noutputs = { out = \"out.txt\" }",
    )]));
    project.workplace.write("fail", "");
    assert_eq!(project.run().code, Some(1));
    std::fs::remove_file(project.path("fail")).unwrap();
    project.workplace.write("done", "");
    std::fs::remove_dir_all(project.path("reports/study/checkpoints")).unwrap();
    let done = project.run();
    assert_eq!(done.code, Some(1), "{done:?}");
    insta::assert_snapshot!(without_durations(&done.stdout), @"
    S01_write_once  FAILED        it did not write its output `out.txt` into `$CHECKSTONE_ARTIFACT_DIR`
    run r1 FAILED: 0 of 1 stage completed; `checkstone resume r1` continues it
    ");
    assert_eq!(project.published(), []);
}

/// What stands where the artifacts of the attempt before would go is told before anything is moved.
#[test]
fn nothing_is_published_where_something_is_in_the_way() {
    let project = Project::new(&plan(&[stage(
        "S01_leave_folder",
        "command = 'cp n $CHECKSTONE_ARTIFACT_DIR/n; mkdir $CHECKSTONE_ARTIFACT_DIR/../replaced; touch $CHECKSTONE_ARTIFACT_DIR/../replaced/x'\ninputs = { n = \"n\" }",
    )]));
    project.workplace.write("n", "1");
    assert_eq!(project.run().code, Some(0));
    project.workplace.write("n", "2");
    let resumed = project.resume();
    assert_eq!(resumed.code, Some(1), "{resumed:?}");
    insta::assert_snapshot!(without_durations(&resumed.stderr), @"
    run r1 of study
    continues from checkpoint ckpt-000001-[id] of S01_leave_folder
    resumed
    S01_leave_folder  will run again: something in it has changed
    S01_leave_folder  running, at most [duration], attempt 2
    S01_leave_folder  checkpoint ckpt-emergency-000002-[id] (interrupted), 3 artifacts
    S01_leave_folder  failed: `[folder]/repo/reports/study/r1/.attempts/S01_leave_folder/2/replaced` is in the way of publishing; a stage writes into its artifact folder and nowhere else (see `reports/study/r1/.attempts/S01_leave_folder/2/output.log`)
    ");
    assert_eq!(project.read("reports/study/r1/S01_leave_folder/n"), "1");
}

/// An attempt whose checkpoint cannot be saved has failed, and what was accepted before it stays published.
#[test]
fn what_cannot_be_checkpointed_is_not_published() {
    let project = Project::new(&plan(&[stage(
        "S01_break_store",
        "command = 'cp n $CHECKSTONE_ARTIFACT_DIR/n; test -e break || exit 0; cd reports/study/checkpoints; rm -r .store; touch .store'\ninputs = { n = \"n\" }",
    )]));
    project.workplace.write("n", "1");
    project.workplace.write("break", "");
    assert_eq!(project.run().code, Some(1));
    assert_eq!(project.published(), [], "it has no earlier attempt to fall back on");
    std::fs::remove_file(project.path("break")).unwrap();
    std::fs::remove_file(project.path("reports/study/checkpoints/.store")).unwrap();
    assert_eq!(project.resume().code, Some(0));
    project.workplace.write("n", "2");
    project.workplace.write("break", "");
    let resumed = project.resume();
    assert_eq!(resumed.code, Some(1), "{resumed:?}");
    insta::assert_snapshot!(without_durations(&resumed.stdout), @"
    S01_break_store  FAILED        its checkpoint cannot be saved: `[folder]/repo/reports/study/checkpoints/.store` is not a folder
    run r1 FAILED: 0 of 1 stage completed; `checkstone resume r1` continues it
    ");
    assert_eq!(project.read("reports/study/r1/S01_break_store/n"), "1");
    assert_eq!(project.read("reports/study/r1/.attempts/S01_break_store/3/artifacts/n"), "2");
}

/// A name that no manifest can hold is told before anything is published.
#[test]
fn names_that_lead_elsewhere_are_refused_among_the_artifacts() {
    let project = Project::new(&plan(&[stage(
        "S01_name_badly",
        "command = 'touch \"$CHECKSTONE_ARTIFACT_DIR/..\\\\bad\"'",
    )]));
    let done = project.run();
    assert_eq!(done.code, Some(1), "{done:?}");
    insta::assert_snapshot!(without_durations(&done.stderr), @r"
    run r1 of study
    S01_name_badly  running, at most [duration]
    S01_name_badly  checkpoint ckpt-emergency-000001-[id] (interrupted), 1 artifact
    S01_name_badly  failed: the artifact `[folder]/repo/reports/study/r1/.attempts/S01_name_badly/1/artifacts/..\bad` has a name that means another place on other systems; rename it (see `reports/study/r1/.attempts/S01_name_badly/1/output.log`)
    ");
    assert_eq!(project.published(), []);
}

/// R10: a stage that failed, and of which nothing could be kept, makes the run a failed one; and what must not be repeated
/// is not, though it was blocked.
#[test]
fn a_failure_without_a_checkpoint_is_a_failure() {
    let project = Project::new(&plan(&[stage(
        "S01_move_away",
        "command = 'echo x >> ran; cd reports/study; mv checkpoints aside; ln -s aside checkpoints; exit 1'\nretryable = false",
    )]));
    let done = project.run();
    assert_eq!(done.code, Some(1), "{done:?}");
    insta::assert_snapshot!(without_durations(&done.stderr), @"
    run r1 of study
    S01_move_away  running, at most [duration]
    S01_move_away  warning: no emergency checkpoint: `[folder]/repo/reports/study/checkpoints` is a symbolic link
    S01_move_away  failed: exit status 1 (see `reports/study/r1/.attempts/S01_move_away/1/output.log`)
    S01_move_away  blocked: exit status 1; and there is no checkpoint of it
    ");
    assert_eq!(
        (project.state("S01_move_away").as_str(), project.run_state().as_str()),
        ("BLOCKED", "FAILED")
    );
    std::fs::remove_file(project.path("reports/study/checkpoints")).unwrap();
    std::fs::rename(project.path("reports/study/aside"), project.path("reports/study/checkpoints")).unwrap();
    let resumed = project.resume();
    insta::assert_snapshot!(without_durations(&resumed.stderr), @"
    run r1 of study
    warning: there is no valid checkpoint; the run continues with the first stage that is not complete
    resumed
    S01_move_away  warning: it is not retryable, and was started before; `--again` runs it anyway
    S01_move_away  blocked: it is not retryable, and was started before; `--again` runs it anyway
    ");
    assert_eq!(project.read("ran"), "x\n");
    assert_eq!(
        (project.state("S01_move_away").as_str(), project.run_state().as_str()),
        ("BLOCKED", "FAILED")
    );
}

/// The report of a title and its checkpoints have their places, which no run takes.
#[test]
fn no_run_is_called_like_what_lies_beside_it() {
    let project = Project::new(&plan(&[stage("S01_do_nothing", "command = 'true'")]));
    let told = ["README.md", "checkpoints"]
        .map(|name| project.output(&["run", "plan.toml", "--id", name]).to_string());
    insta::assert_snapshot!(without_durations(told.concat()), @"
    exit code: 2
    --- stdout
    --- stderr
    error: `README.md` cannot be the name of a run: checkstone uses that name for something else
    exit code: 2
    --- stdout
    --- stderr
    error: `checkpoints` cannot be the name of a run: checkstone uses that name for something else
    ");
}

/// Neither a secret that the plan sets nor one that is inherited is in any file of the run; what stages print is theirs.
#[test]
fn secrets_of_the_environment_do_not_go_into_the_record() {
    let (set, inherited) = ("hunter2-of-the-plan", "hunter2-of-the-shell");
    let working = "command = 'echo \"[INFO] $DB_PASSWORD $API_TOKEN $COLOUR\"; test -n \"$DB_PASSWORD\"'";
    let stages = plan(&[stage(
        "S01_use_secrets",
        &format!("{working}\nenvironment = {{ DB_PASSWORD = \"{set}\", COLOUR = \"red\" }}"),
    )]);
    let project = Project::new(&stages);
    let run = project.checkstone(&["run", "plan.toml", "--id", "r1"]).env("API_TOKEN", inherited).answer();
    assert_eq!(run.code, Some(0), "{run:?}");
    let record = project.read("reports/study/checkpoints/r1/events.jsonl");
    let found: Vec<&str> =
        [set, inherited, "red"].into_iter().filter(|value| record.contains(value)).collect();
    assert_eq!(found, ["red"]);
    let markers: Vec<Value> =
        project.events().into_iter().filter(|event| event["event"] == "marker").collect();
    assert_eq!(markers[0]["marker"], "[INFO] (withheld by checkstone) (withheld by checkstone) red");
    // The plan file is as it was.
    assert_eq!(project.attempts("S01_use_secrets"), 1);
    let again = project.checkstone(&["resume", "r1"]).env("API_TOKEN", inherited).answer();
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(project.attempts("S01_use_secrets"), 1);
    // The recorded one needs the value from elsewhere.
    let recorded = ["resume", "r1", "--recorded-plan", "--again", "S01_use_secrets"];
    let without = project.output(&recorded);
    assert_eq!(without.code, Some(1), "{without:?}");
    let with = project.checkstone(&recorded).env("DB_PASSWORD", set).answer();
    assert_eq!(with.code, Some(0), "{with:?}");
    let record = project.read("reports/study/checkpoints/r1/events.jsonl");
    assert_eq!(record.matches(set).count(), 0);
}
