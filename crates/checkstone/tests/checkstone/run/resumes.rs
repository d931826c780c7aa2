//! Resuming: from where, what is run again and what is not, and what a person is told.

use super::{Project, plan, stage};
use sandbox::{RunToEnd as _, wait_for, without_durations};

/// Three stages in a row; the last one fails until `go` is there.
fn three() -> Project {
    let project = Project::new(&plan(&[
        stage(
            "S01_load_data",
            "command = 'sort raw.txt > $CHECKSTONE_ARTIFACT_DIR/sorted.txt'\ninputs = { raw = \"raw.txt\" }\noutputs = { sorted = \"sorted.txt\" }",
        ),
        stage(
            "S02_count_lines",
            "command = 'wc -l < $CHECKSTONE_INPUT_SORTED > $CHECKSTONE_ARTIFACT_DIR/count.txt'\ninputs = { sorted = \"S01_load_data/sorted.txt\" }\noutputs = { count = \"count.txt\" }",
        ),
        stage(
            "S03_finish_all",
            "command = 'test -e go && cp $CHECKSTONE_INPUT_COUNT $CHECKSTONE_ARTIFACT_DIR/final.txt'\ninputs = { count = \"S02_count_lines/count.txt\" }\noutputs = { end = \"final.txt\" }",
        ),
    ]));
    project.workplace.write("raw.txt", "b\na\n");
    let done = project.run();
    assert_eq!(done.code, Some(1), "{done:?}");
    assert_eq!(project.state("S03_finish_all"), "FAILED");
    project
}

fn attempts(project: &Project) -> [usize; 3] {
    ["S01_load_data", "S02_count_lines", "S03_finish_all"].map(|stage| project.attempts(stage))
}

/// Success criterion 3: it goes on exactly there; stages that are as they were are not run again.
#[test]
fn it_goes_on_with_what_failed() {
    let project = three();
    project.workplace.write("go", "");
    // Without a name: the newest that can be resumed.
    let resumed = project.output(&["resume"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    insta::assert_snapshot!(without_durations(&resumed.stderr), @"
    run r1 of study
    continues from checkpoint ckpt-emergency-000003-[id] of S03_finish_all
    resumed
    S01_load_data  unchanged, not run again
    S02_count_lines  unchanged, not run again
    S03_finish_all  running, at most [duration], attempt 2
    S03_finish_all  checkpoint ckpt-000004-[id], 1 artifact
    S03_finish_all  completed in [duration], 1 artifact
    ");
    assert_eq!(attempts(&project), [1, 1, 2]);
    assert_eq!(project.read("reports/study/r1/S03_finish_all/final.txt"), "2\n");
    let nothing = project.output(&["resume"]);
    assert_eq!(nothing.code, Some(3));
    insta::assert_snapshot!(without_durations(&nothing.stderr), @"
    error: there is no run that can be resumed in `[folder]/repo`
    hint: `checkstone run PLAN` starts one; `checkstone run --new pipeline` writes a plan to start from
    hint: run `r1` is complete, and nothing in it has changed; `--again STAGE` runs a stage of it again
    ");
    // Whoever wants a stage again means that run.
    assert_eq!(project.output(&["resume", "--again", "S03_finish_all"]).code, Some(0));
    assert_eq!(attempts(&project), [1, 1, 3]);
}

/// It is what a person does who corrects a script: nobody has to look for the name of the run.
#[test]
fn a_complete_run_goes_on_where_a_script_or_an_input_has_changed() {
    let project =
        Project::new(&plan(&[stage("S01_fit_model", "command = ['sh', 'fit.sh']\ninputs = \"raw.csv\"")]));
    project.workplace.write("fit.sh", "true\n");
    project.workplace.write("raw.csv", "1\n");
    assert_eq!(project.run().code, Some(0));
    for (number, (file, text)) in [("fit.sh", "true again\n"), ("raw.csv", "2\n")].into_iter().enumerate() {
        project.workplace.write(file, text);
        let resumed = project.output(&["resume"]);
        assert_eq!(resumed.code, Some(0), "{file}: {resumed:?}");
        assert_eq!(project.attempts("S01_fit_model"), number + 2, "{file}");
    }
    assert_eq!(project.output(&["resume"]).code, Some(3));
}

/// Spec 5, 4.3.2: a person sees what there is to go on from, and decides.
#[test]
fn a_person_at_a_terminal_is_shown_what_was_found_and_asked() {
    let project = three();
    project.workplace.write("go", "");
    let answered = |answer: &str, more: &[&str]| {
        let (person, terminal) = crate::trust::terminal();
        rustix::io::write(&person, answer.as_bytes()).unwrap();
        let mut command = project.checkstone(&[&["resume"], more].concat());
        command.stdin(std::process::Stdio::from(terminal)).answer()
    };
    let refused = answered("n\n", &[]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    insta::assert_snapshot!(without_durations(&refused.stderr), @"
    run r1 of study: FAILED, 2 of 3 stages completed
    checkpoint: ckpt-emergency-000003-[id] of S03_finish_all, interrupted, [time]
    to run: S03_finish_all
    Resume it? [y/N]
    ");
    assert_eq!(attempts(&project), [1, 1, 1]);
    // Somebody who says so is not asked.
    let resumed = answered("n\n", &["--yes"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(attempts(&project), [1, 1, 2]);
    // One without a valid checkpoint, and with everything to run.
    std::fs::remove_dir_all(project.path("reports/study/r1")).unwrap();
    for checkpoint in project.checkpoints() {
        let id = checkpoint["checkpointId"].as_str().unwrap();
        std::fs::remove_dir_all(project.path(&format!("reports/study/checkpoints/r1/{id}"))).unwrap();
    }
    std::fs::remove_dir_all(project.path("reports/study/checkpoints/.store")).unwrap();
    let resumed = answered("y\n", &["r1"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    let question = resumed.stderr.split_inclusive("[y/N] ").next().unwrap();
    insta::assert_snapshot!(without_durations(question), @"
    run r1 of study: COMPLETED, 3 of 3 stages completed
    checkpoint: none that is valid
    to run: S01_load_data; perhaps S02_count_lines, S03_finish_all
    Resume it? [y/N]
    ");
}

/// Some agents have a terminal for their shell, and nobody sits at it.
#[test]
fn an_agent_is_not_asked() {
    let project = three();
    project.workplace.write("go", "");
    let (_nobody, terminal) = crate::trust::terminal();
    let mut command = project.checkstone(&["resume"]);
    command.env("CODEX_SESSION_ID", "5b0e2a4c").stdin(std::process::Stdio::from(terminal));
    assert_eq!(command.answer().code, Some(0));
    assert_eq!(attempts(&project), [1, 1, 2]);
}

/// A completed run whose plan was edited is what somebody means who just says `resume`.
#[test]
fn a_completed_run_whose_plan_has_changed_is_taken_without_its_name() {
    let project = three();
    project.workplace.write("go", "");
    assert_eq!(project.resume().code, Some(0));
    assert_eq!(project.output(&["resume"]).code, Some(3), "nothing has changed");
    let changed = project.read("plan.toml").replace("wc -l", "wc -c");
    project.workplace.write("plan.toml", &changed);
    let resumed = project.output(&["resume"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(attempts(&project), [1, 2, 3]);
    assert_eq!(project.read("reports/study/r1/S03_finish_all/final.txt"), "4\n");
    assert_eq!(project.output(&["resume"]).code, Some(3));
    // What was asked for then, and answered, stays: a newer run has the plan of now.
    let changed = changed.replace("wc -c", "wc -w");
    project.workplace.write("plan.toml", &changed);
    assert_eq!(project.output(&["run", "--id", "r2"]).code, Some(0));
    assert_eq!(project.output(&["resume"]).code, Some(3));
    assert_eq!(project.read("reports/study/r1/S03_finish_all/final.txt"), "4\n");
}

/// Nobody expects `reports` in the folder from which they happened to name a plan.
#[test]
fn outside_a_repository_the_folder_of_the_plan_is_the_root() {
    let project = Project::new("");
    let outside = tempfile::tempdir().unwrap();
    let study = outside.path().join("study");
    std::fs::create_dir(&study).unwrap();
    std::fs::write(study.join("raw.txt"), "b\na\n").unwrap();
    let first = stage(
        "S01_sort_lines",
        "command = 'sort raw.txt > $CHECKSTONE_ARTIFACT_DIR/sorted.txt'\ninputs = { raw = \"raw.txt\" }",
    );
    std::fs::write(study.join("plan.toml"), plan(&[first])).unwrap();
    let mut run = project.checkstone(&["run", "study/plan.toml", "--id", "r1"]);
    let done = run.current_dir(outside.path()).answer();
    assert_eq!(done.code, Some(0), "{done:?}");
    let sorted = std::fs::read_to_string(study.join("reports/study/r1/S01_sort_lines/sorted.txt")).unwrap();
    assert_eq!(sorted, "a\nb\n");
    assert!(!outside.path().join("reports").exists());
    // In the plan's folder it is found again.
    let resumed = project.checkstone(&["resume", "r1"]).current_dir(&study).answer();
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
}

#[test]
fn what_has_changed_is_run_again_and_no_more_than_that() {
    let project = three();
    project.workplace.write("go", "");
    // Another order of the same lines: the first stage's output is what it was, so that the second need not run.
    project.workplace.write("raw.txt", "a\nb\n");
    assert_eq!(project.resume().code, Some(0));
    assert_eq!(attempts(&project), [2, 1, 2]);
    // Another line: everything behind it runs again, also in a run that was complete.
    project.workplace.write("raw.txt", "a\nb\nc\n");
    assert_eq!(project.resume().code, Some(0));
    assert_eq!(attempts(&project), [3, 2, 3]);
    assert_eq!(project.read("reports/study/r1/S03_finish_all/final.txt"), "3\n");
    // Nothing changed.
    assert_eq!(project.resume().code, Some(0));
    assert_eq!(attempts(&project), [3, 2, 3]);
    assert_eq!(project.output(&["resume", "r1", "--again", "S02_count_lines"]).code, Some(0));
    assert_eq!(attempts(&project), [3, 3, 3]);
    assert_eq!(project.output(&["resume", "r1", "--again", "S09_not_there"]).code, Some(3));
}

/// A script that a command names is part of the command.
/// The plan file is for another run by now, or gone: what is done about it is said.
#[test]
fn a_plan_file_that_cannot_be_used_is_told() {
    let project = three();
    project.workplace.write("go", "");
    let other = project.read("plan.toml").replace("\"study\"", "\"other\"");
    project.workplace.write("plan.toml", &other);
    let refused = project.resume();
    assert_eq!(refused.code, Some(2), "{refused:?}");
    insta::assert_snapshot!(without_durations(&refused.stderr), @"
    run r1 of study
    error: the plan is for `other`, but the run is one of `study`
    hint: `--recorded-plan` uses the plan that the run was started with
    ");
    std::fs::remove_file(project.path("plan.toml")).unwrap();
    let resumed = project.resume();
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    insta::assert_snapshot!(without_durations(&resumed.stderr), @"
    the plan file `plan.toml` is no longer in the project; the recorded plan is used
    run r1 of study
    continues from checkpoint ckpt-emergency-000003-[id] of S03_finish_all
    resumed
    S01_load_data  unchanged, not run again
    S02_count_lines  unchanged, not run again
    S03_finish_all  running, at most [duration], attempt 2
    S03_finish_all  checkpoint ckpt-000004-[id], 1 artifact
    S03_finish_all  completed in [duration], 1 artifact
    ");
}

#[test]
fn a_changed_script_is_a_changed_command() {
    let project = Project::new(&plan(&[stage("S01_run_script", "command = ['sh', 'work.sh']")]));
    project.workplace.write("work.sh", "echo 1 > $CHECKSTONE_ARTIFACT_DIR/n\n");
    assert_eq!(project.run().code, Some(0));
    project.workplace.write("work.sh", "echo 2 > $CHECKSTONE_ARTIFACT_DIR/n\n");
    assert_eq!(project.resume().code, Some(0));
    assert_eq!(project.read("reports/study/r1/S01_run_script/n"), "2\n");
}

/// Success criterion 5: outputs that were removed, changed or cut come back from the store.
#[test]
fn lost_outputs_are_brought_back() {
    let project = three();
    project.workplace.write("go", "");
    std::fs::remove_dir_all(project.path("reports/study/r1/S01_load_data")).unwrap();
    project.workplace.write("reports/study/r1/S02_count_lines/count.txt", "99\n");
    let resumed = project.resume();
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    insta::assert_snapshot!(without_durations(&resumed.stderr), @"
    run r1 of study
    continues from checkpoint ckpt-emergency-000003-[id] of S03_finish_all
    resumed
    S01_load_data  unchanged, not run again, 1 artifact restored from the store
    S02_count_lines  unchanged, not run again, 1 artifact restored from the store
    S03_finish_all  running, at most [duration], attempt 2
    S03_finish_all  checkpoint ckpt-000004-[id], 1 artifact
    S03_finish_all  completed in [duration], 1 artifact
    ");
    assert_eq!(attempts(&project), [1, 1, 2]);
    assert_eq!(project.read("reports/study/r1/S01_load_data/sorted.txt"), "a\nb\n");
    assert_eq!(project.read("reports/study/r1/S03_finish_all/final.txt"), "2\n");
    // Without the store too, they are made again.
    std::fs::remove_dir_all(project.path("reports/study/r1/S01_load_data")).unwrap();
    std::fs::remove_dir_all(project.path("reports/study/checkpoints/.store")).unwrap();
    let resumed = project.resume();
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(attempts(&project), [2, 1, 2]);
}

/// Spec 5, task 4.4.3: a checkpoint that is damaged is passed over with the reason; without any, it says so.
#[test]
fn damaged_checkpoints_are_passed_over() {
    let project = three();
    let newest = project.checkpoints()[0]["checkpointId"].as_str().unwrap().to_owned();
    let manifest = format!("reports/study/checkpoints/r1/{newest}/checkpoint.json");
    let text = project.read(&manifest);
    project.workplace.write(&manifest, &text.replacen("S03_finish_all", "S04_finish_all", 1));
    let resumed = project.resume();
    insta::assert_snapshot!(without_durations(&resumed.stderr), @"
    run r1 of study
    warning: the checkpoint `ckpt-emergency-000003-[id]` is skipped: Manifest SHA256 mismatch: expected [hash] got [hash]
    continues from checkpoint ckpt-000002-[id] of S02_count_lines
    resumed
    S01_load_data  unchanged, not run again
    S02_count_lines  unchanged, not run again
    S03_finish_all  running, at most [duration], attempt 2
    S03_finish_all  checkpoint ckpt-emergency-000004-[id] (interrupted), 2 artifacts
    S03_finish_all  failed: exit status 1 (see `reports/study/r1/.attempts/S03_finish_all/2/output.log`)
    ");
    for checkpoint in project.checkpoints() {
        let id = checkpoint["checkpointId"].as_str().unwrap();
        std::fs::remove_dir_all(project.path(&format!("reports/study/checkpoints/r1/{id}"))).unwrap();
    }
    std::fs::remove_dir_all(project.path(&format!("reports/study/checkpoints/r1/{newest}"))).ok();
    project.workplace.write("go", "");
    let resumed = project.resume();
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    insta::assert_snapshot!(without_durations(&resumed.stderr), @"
    run r1 of study
    warning: there is no valid checkpoint; the run continues with the first stage that is not complete
    resumed
    S01_load_data  unchanged, not run again
    S02_count_lines  unchanged, not run again
    S03_finish_all  running, at most [duration], attempt 3
    S03_finish_all  checkpoint ckpt-000001-[id], 1 artifact
    S03_finish_all  completed in [duration], 1 artifact
    ");
    assert_eq!(attempts(&project), [1, 1, 3]);
}

/// R11: a lock file with anything in it, or cut off, of an owner that is dead.
#[test]
fn no_lock_file_blocks_anybody() {
    for content in ["", "{\"pid\": 1, \"sta", "\0\0\0", "999999999"] {
        let project = three();
        project.workplace.write("go", "");
        project.workplace.write("reports/study/checkpoints/r1/lock", content);
        assert_eq!(project.resume().code, Some(0), "{content:?}");
    }
}

/// R5: times in the record that lie in the future, or go backwards, change nothing.
#[test]
fn clocks_that_were_set_back_do_not_matter() {
    let project = three();
    project.workplace.write("go", "");
    let record = "reports/study/checkpoints/r1/events.jsonl";
    let text = project.read(record);
    let moved = text.replacen("\"at\":\"20", "\"at\":\"21", 3);
    assert_ne!(moved, text);
    project.workplace.write(record, &moved);
    assert_eq!(project.resume().code, Some(0));
    assert_eq!(attempts(&project), [1, 1, 2]);
}

/// R13
#[test]
fn other_programs_than_before_are_told() {
    let project = Project::new(&plan(&[stage("S01_use_tool", "command = ['tool']")]));
    let tool = |content: &str| {
        project.workplace.write("bin/tool", content);
        sandbox::make_executable(&project.path("bin/tool"));
    };
    let path = format!("{}:{}", project.path("bin").display(), std::env::var("PATH").unwrap());
    let run = |arguments: &[&str]| project.checkstone(arguments).env("PATH", &path).answer();
    tool("#!/bin/sh\nexit 1\n");
    assert_eq!(run(&["run", "plan.toml", "--id", "r1"]).code, Some(1));
    tool("#!/bin/sh\nexit 0 # mended\n");
    let resumed = run(&["resume", "r1"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    insta::assert_snapshot!(without_durations(&resumed.stderr), @"
    run r1 of study
    warning: since the run was last active, the program `tool` (`[folder]/repo/bin/tool`) has been replaced
    continues from checkpoint ckpt-emergency-000001-[id] of S01_use_tool
    resumed
    S01_use_tool  running, at most [duration], attempt 2
    S01_use_tool  checkpoint ckpt-000002-[id], 0 artifacts
    S01_use_tool  completed in [duration], 0 artifacts
    ");
}

#[test]
fn what_must_not_be_repeated_is_not() {
    let once = "command = 'echo x >> ran; exit 1'\nretryable = false";
    let project = Project::new(&plan(&[stage("S01_send_mail", once)]));
    assert_eq!(project.run().code, Some(1));
    let resumed = project.resume();
    assert_eq!(resumed.code, Some(1), "{resumed:?}");
    insta::assert_snapshot!(without_durations(&resumed.stderr), @"
    run r1 of study
    continues from checkpoint ckpt-emergency-000001-[id] of S01_send_mail
    resumed
    S01_send_mail  warning: it is not retryable, and was started before; `--again` runs it anyway
    ");
    assert_eq!(project.read("ran"), "x\n");
    // What is printed last leads on, and without progress the warning is printed all the same.
    let quiet = project.output(&["resume", "r1", "--quiet"]);
    insta::assert_snapshot!(quiet.stdout, @"
    S01_send_mail  FAILED        exit status 1
    run r1 FAILED: 0 of 1 stage completed; `checkstone resume r1 --again S01_send_mail` runs again what is not retryable, and continues it
    ");
    assert_eq!(
        quiet.stderr,
        "warning: S01_send_mail: it is not retryable, and was started before; `--again` runs it anyway\n"
    );
    // Nor in a new run, which names the one that began it.
    let why = "it is not retryable, and run `r1` started it but did not complete it; `checkstone resume r1 --again S01_send_mail` runs it anyway";
    let dry = project.output(&["run", "--dry-run"]);
    assert_eq!(dry.stdout, format!("S01_send_mail  not run: {why}\n0 of 1 stage would run\n"));
    let other = project.output(&["run", "--id", "r2", "--quiet"]);
    assert_eq!((other.code, other.stderr), (Some(1), format!("warning: S01_send_mail: {why}\n")));
    assert_eq!(
        other.stdout,
        format!(
            "S01_send_mail  BLOCKED       {why}\n\
             run r2 FAILED: 0 of 1 stage completed; once `S01_send_mail` completed in the run that started it, \
             `checkstone resume r2` continues this one; where that run is gone, `checkstone resume r2 --again S01_send_mail` \
             runs it here\n"
        )
    );
    let resumed = project.output(&["resume", "r2", "--dry-run"]);
    assert_eq!(resumed.stdout, dry.stdout);
    assert_eq!(project.output(&["resume", "r2"]).code, Some(1));
    assert_eq!(project.read("ran"), "x\n");
    assert_eq!(project.output(&["resume", "r1", "--again", "S01_send_mail"]).code, Some(1));
    assert_eq!(project.read("ran"), "x\nx\n");
    // Where that run is gone, this one can run it.
    std::fs::remove_dir_all(project.path("reports/study/checkpoints/r1")).unwrap();
    assert_eq!(project.output(&["resume", "r2", "--again", "S01_send_mail"]).code, Some(1));
    assert_eq!(project.read("ran"), "x\nx\nx\n");
}

/// Nor where it was done, and something of it has changed since, or what it made is gone.
#[test]
fn what_was_done_and_must_not_be_repeated_stays_done() {
    let project = Project::new(&plan(&[
        stage(
            "S01_send_mail",
            "command = 'echo x >> ran; cp $CHECKSTONE_INPUT_TEXT $CHECKSTONE_ARTIFACT_DIR/sent'\ninputs = { text = \"text\" }\noutputs = { sent = \"sent\" }\nretryable = false",
        ),
        stage(
            "S02_file_mail",
            "command = 'test -e go && cp $CHECKSTONE_INPUT_SENT $CHECKSTONE_ARTIFACT_DIR/filed'\ninputs = { sent = \"S01_send_mail/sent\" }",
        ),
    ]));
    project.workplace.write("text", "one\n");
    assert_eq!(project.run().code, Some(1));
    project.workplace.write("text", "two\n");
    project.workplace.write("go", "");
    let resumed = project.resume();
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    insta::assert_snapshot!(without_durations(&resumed.stderr), @"
    run r1 of study
    continues from checkpoint ckpt-emergency-000002-[id] of S02_file_mail
    resumed
    S01_send_mail  warning: something in it has changed, but it is not retryable, so its earlier results stay; `--again` runs it anyway
    S02_file_mail  running, at most [duration], attempt 2
    S02_file_mail  checkpoint ckpt-000003-[id], 1 artifact
    S02_file_mail  completed in [duration], 1 artifact
    ");
    assert_eq!(project.read("ran"), "x\n");
    assert_eq!(project.read("reports/study/r1/S02_file_mail/filed"), "one\n");
    // Without its outputs the run cannot go on, and says what would help.
    std::fs::remove_dir_all(project.path("reports/study/r1/S01_send_mail")).unwrap();
    std::fs::rename(project.path("reports/study/checkpoints/.store"), project.path("aside")).unwrap();
    let resumed = project.resume();
    assert_eq!(resumed.code, Some(1), "{resumed:?}");
    insta::assert_snapshot!(without_durations(&resumed.stderr), @"
    run r1 of study
    continues from checkpoint ckpt-000003-[id] of S02_file_mail
    resumed
    S01_send_mail  warning: it is not retryable, and was started before; `--again` runs it anyway
    ");
    assert_eq!((project.read("ran").as_str(), project.run_state().as_str()), ("x\n", "FAILED"));
    assert_eq!(project.output(&["resume", "r1", "--again", "S01_send_mail"]).code, Some(0));
    assert_eq!(project.read("ran"), "x\nx\n");
}

/// What an instance made for other parameters is no result for those that its letter has now.
#[test]
fn an_instance_that_must_not_be_repeated_is_not_taken_for_another() {
    let once = "forEach = { x = \"{params.list}\" }\ncommand = 'echo {params.x} >> ran; echo {params.x} > $CHECKSTONE_ARTIFACT_DIR/sent'\n\
                outputs = { sent = \"sent\" }\nretryable = false";
    let text = plan(&[stage("S01_send_mail", once)]);
    let project = Project::new(&text.replacen("[[stage]]", "[params]\nlist = [1, 2]\n[[stage]]", 1));
    assert_eq!(project.run().code, Some(0));
    let other = ["resume", "r1", "--set", "list=[1, 3]"];
    let outlook = project.output(&[&other[..], &["--dry-run"]].concat());
    insta::assert_snapshot!(outlook.stdout, @"
    S01_send_mail_a (x = 1)  unchanged
    S01_send_mail_b (x = 3)  not run: it is not retryable, and was run for other parameters; `--again` runs it anyway
    0 of 2 stages would run
    ");
    let resumed = project.output(&other);
    insta::assert_snapshot!(without_durations(&resumed.stderr), @"
    run r1 of study
    the plan has changed; the run continues with the new one
    continues from checkpoint ckpt-000002-[id] of S01_send_mail_b
    resumed
    S01_send_mail  2 instances
    S01_send_mail_a (x = 1)  unchanged, not run again
    S01_send_mail_b (x = 3)  warning: it is not retryable, and was run for other parameters; `--again` runs it anyway
    ");
    assert_eq!((resumed.code, project.read("ran").as_str()), (Some(1), "1\n2\n"));
    assert_eq!(project.output(&["resume", "r1", "--again", "S01_send_mail_b"]).code, Some(0));
    assert_eq!(project.read("ran"), "1\n2\n3\n");
    assert_eq!(project.read("reports/study/r1/S01_send_mail_b/sent"), "3\n");
}

/// Nor where it was blocked after it had been begun: behind another stage, or because nothing of it could be kept.
#[test]
fn being_blocked_does_not_make_it_new() {
    let project = Project::new(&plan(&[
        stage("S01_go_first", "command = 'test ! -e stop'\ninputs = { seed = \"seed\" }"),
        stage(
            "S02_send_mail",
            "command = 'echo x >> ran; exec sleep 100'\nmaxDurationSec = 1\nretryable = false\ndependencies = [\"S01_go_first\"]",
        ),
    ]));
    project.workplace.write("seed", "1");
    assert_eq!(project.run().code, Some(1));
    assert_eq!(project.state("S02_send_mail"), "RESUMABLE");
    project.workplace.write("seed", "2");
    project.workplace.write("stop", "");
    assert_eq!(project.resume().code, Some(1));
    assert_eq!(project.state("S02_send_mail"), "BLOCKED");
    std::fs::remove_file(project.path("stop")).unwrap();
    let resumed = project.resume();
    assert_eq!(resumed.code, Some(1), "{resumed:?}");
    insta::assert_snapshot!(without_durations(&resumed.stderr), @"
    run r1 of study
    continues from checkpoint ckpt-emergency-000003-[id] of S01_go_first
    resumed
    S01_go_first  running, at most [duration], attempt 3
    S01_go_first  checkpoint ckpt-000004-[id], 0 artifacts
    S01_go_first  completed in [duration], 0 artifacts
    S02_send_mail  warning: it is not retryable, and was started before; `--again` runs it anyway
    S02_send_mail  blocked: it is not retryable, and was started before; `--again` runs it anyway
    ");
    assert_eq!(project.read("ran"), "x\n");
    assert_eq!(project.state("S02_send_mail"), "BLOCKED");
}

/// What a stage saved at its own word is there for its next attempt, as long as that does the same work.
#[test]
fn a_stage_goes_on_from_its_own_checkpoint() {
    let steps = |limit: &str| {
        stage(
            "S01_work_stepwise",
            &format!(
                "command = '''\n\
                 test -n \"$CHECKSTONE_RESUME_DIR\" && cp $CHECKSTONE_RESUME_DIR/* $CHECKSTONE_ARTIFACT_DIR/\n\
                 for step in 1 2 3; do\n\
                   test -e $CHECKSTONE_ARTIFACT_DIR/$step && continue\n\
                   echo $step >> steps; echo $step > $CHECKSTONE_ARTIFACT_DIR/$step; echo \"[CHECKPOINT:saved:id=$step]\"\n\
                   test $step = 2 && test ! -e go && exec sleep 100\n\
                 done; true'''\n{limit}"
            ),
        )
    };
    let project = Project::new(&plan(&[steps("midStageCheckpoints = true\nmaxDurationSec = 300")]));
    let mut child = project.start(&[]);
    let record = "reports/study/checkpoints/r1/events.jsonl";
    project.wait_for(record);
    let saved_two = |text: &str| {
        text.lines().any(|line| line.contains("\"midStage\":true") && line.contains("\"artifacts\":2"))
    };
    wait_for("the second checkpoint of the stage", || saved_two(&project.read(record)));
    child.kill().unwrap();
    child.wait().unwrap();
    project.workplace.write("go", "");
    let resumed = project.resume();
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(project.read("steps"), "1\n2\n3\n", "no step was done twice");
    assert_eq!(project.published().len(), 3);
}

/// What a stage saved on its way outlives the checkpoints of other stages, and where it is gone, that is told.
#[test]
fn checkpoints_of_others_do_not_push_out_what_a_stage_saved() {
    let mut stages = vec![stage(
        "S01_work_long",
        "command = '''\n\
         test -n \"$CHECKSTONE_RESUME_DIR\" && cat $CHECKSTONE_RESUME_DIR/half >> resumed\n\
         echo half > $CHECKSTONE_ARTIFACT_DIR/half; echo \"[CHECKPOINT:saved:id=half]\"\n\
         until grep -q midStage.:true reports/study/checkpoints/r1/events.jsonl; do sleep 0.01; done\n\
         test -e go'''",
    )];
    stages.extend((2..10).map(|number| stage(&format!("S0{number}_do_other"), "command = 'true'")));
    let project = Project::new(&plan(&stages));
    assert_eq!(project.run().code, Some(1));
    assert_eq!(project.resume().code, Some(1));
    assert_eq!(project.read("resumed"), "half\n");
    let saved = project.events().into_iter().rfind(|event| event["midStage"] == true).unwrap();
    let id = saved["checkpointId"].as_str().unwrap();
    std::fs::remove_dir_all(project.path(&format!("reports/study/checkpoints/r1/{id}"))).unwrap();
    project.workplace.write("go", "");
    let resumed = project.resume();
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    // Whether the marker or the checkpoint that it asks for is shown first is not settled.
    let (before, after) = resumed.stderr.split_once("S01_work_long  [CHECKPOINT:saved:id=half]\n").unwrap();
    insta::assert_snapshot!(without_durations(format!("{before}{after}")), @"
    run r1 of study
    continues from checkpoint ckpt-emergency-000012-[id] of S01_work_long
    resumed
    S01_work_long  warning: it starts over, because what it had saved in `ckpt-000011-[id]` cannot be restored: Manifest not found: reports/study/checkpoints/r1/ckpt-000011-[id]/checkpoint.json
    S01_work_long  running, at most [duration], attempt 3
    S01_work_long  checkpoint ckpt-000013-[id] (mid-stage), 1 artifact
    S01_work_long  checkpoint ckpt-000014-[id], 1 artifact
    S01_work_long  completed in [duration], 1 artifact
    S02_do_other  unchanged, not run again
    S03_do_other  unchanged, not run again
    S04_do_other  unchanged, not run again
    S05_do_other  unchanged, not run again
    S06_do_other  unchanged, not run again
    S07_do_other  unchanged, not run again
    S08_do_other  unchanged, not run again
    S09_do_other  unchanged, not run again
    ");
    assert_eq!(project.read("resumed"), "half\n");
}

/// A file that grows while a stage asks for a checkpoint is left out of it, and the rest is saved. The stage asks until it
/// has happened: nobody knows when the file is looked at.
#[test]
fn a_growing_file_does_not_void_a_checkpoint() {
    let project = Project::new(&plan(&[stage(
        "S01_write_log",
        "maxDurationSec = 170\ncommand = '''\n\
         cd $CHECKSTONE_ARTIFACT_DIR; head -c 5000000 /dev/zero > log; (while :; do echo x >> log; done) &\n\
         echo half > half; events=../../../../../checkpoints/r1/events.jsonl\n\
         until grep midStage.:true $events | grep -q artifacts.:1[,}]; do\n\
         echo \"[CHECKPOINT:saved:id=half]\"; sleep 0.1; done'''",
    )]));
    let done = project.run();
    assert_eq!(done.code, Some(0), "{done:?}");
    let log = "reports/study/r1/.attempts/S01_write_log/1/artifacts/log";
    let warning = format!(
        "S01_write_log  warning: a checkpoint does not contain `{log}`, which changed while it was being saved"
    );
    assert!(done.stderr.lines().any(|line| line == warning), "{done}");
}

/// A repository that was copied resumes, elsewhere and for somebody else; but only by name: its record says what to run.
#[test]
fn a_copied_repository_resumes_by_name() {
    let project = three();
    let copy = Project::new("");
    let status = std::process::Command::new("cp")
        .args(["-a", project.path("reports").to_str().unwrap(), copy.path("").to_str().unwrap()])
        .status();
    assert!(status.unwrap().success());
    for (name, text) in [("raw.txt", "b\na\n"), ("go", "")] {
        copy.workplace.write(name, text);
    }
    std::fs::remove_file(copy.path("plan.toml")).unwrap();
    let unnamed = copy.output(&["resume"]);
    assert_eq!(unnamed.code, Some(4));
    insta::assert_snapshot!(without_durations(&unnamed.stderr), @"
    error: the newest run, `r1`, was not started here
    hint: check its plan, then name it to run it: `checkstone resume r1`
    ");
    let resumed = copy.resume();
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(attempts(&copy), [1, 1, 2]);
}

/// A record that is damaged in its middle, and not just torn at its end: the way that is left is said, by all who read it.
#[test]
fn a_damaged_record_says_what_can_be_done() {
    let project = three();
    let path = "reports/study/checkpoints/r1/events.jsonl";
    let mut lines: Vec<String> = project.read(path).lines().map(str::to_owned).collect();
    lines[3].truncate(20);
    project.workplace.write(path, &format!("{}\n", lines.join("\n")));
    let told = ["resume", "watch", "report", "abort"]
        .map(|command| without_durations(project.output(&[command, "r1"]).to_string()));
    assert!(told.iter().all(|one| *one == told[0]), "{told:?}");
    insta::assert_snapshot!(told[0], @r"
    exit code: 5
    --- stdout
    --- stderr
    error: the record `[folder]/repo/reports/study/checkpoints/r1/events.jsonl` is damaged in line 4: control character (\u0000-\u001F) found while parsing a string at line 2 column 0
    hint: restore it from git or a backup, or start a new run: `checkstone run PLAN`
    hint: published artifacts and checkpoints of the run are not affected
    ");
}

/// R15: what cannot be written is told, and what was there stays.
#[test]
fn a_removed_directory_is_a_clear_error() {
    let project = three();
    let before = project.checkpoints();
    std::fs::remove_file(project.path("reports/study/checkpoints/r1/events.jsonl")).unwrap();
    let gone = project.resume();
    assert_eq!(gone.code, Some(3));
    insta::assert_snapshot!(without_durations(&gone.stderr), @"
    error: there is no run `r1` in `[folder]/repo`
    hint: `checkstone run PLAN` starts one; `checkstone run --new pipeline` writes a plan to start from
    ");
    assert_eq!(project.checkpoints(), before);
    // The folder of artifacts vanishes under a stage that is running.
    let project =
        Project::new(&plan(&[stage("S01_lose_folder", "command = 'rm -r $CHECKSTONE_ARTIFACT_DIR'")]));
    let done = project.run();
    assert_eq!(done.code, Some(1), "{done:?}");
    insta::assert_snapshot!(without_durations(&done.stdout), @"
    S01_lose_folder  FAILED        cannot read the artifacts in `[folder]/repo/reports/study/r1/.attempts/S01_lose_folder/1/artifacts`: failed to read directory `[folder]/repo/reports/study/r1/.attempts/S01_lose_folder/1/artifacts`: No such file or directory (os error 2)
    run r1 FAILED: 0 of 1 stage completed; `checkstone resume r1` continues it
    ");
    // And so does the record of the run: it ends there, for nothing of it could be kept.
    let project = Project::new(&plan(&[
        stage("S01_remove_reports", "command = 'rm -r reports'"),
        stage("S02_go_on", "command = 'touch on'\ndependencies = [\"S01_remove_reports\"]"),
    ]));
    let done = project.run();
    assert_eq!(done.code, Some(5), "{done:?}");
    insta::assert_snapshot!(without_durations(&done.stderr), @"
    run r1 of study
    S01_remove_reports  running, at most [duration]
    error: the record `[folder]/repo/reports/study/checkpoints/r1/events.jsonl` was removed while the run was in progress; the run ends here, because nothing more can be recorded
    ");
    assert!(!project.path("on").exists());
}

/// R15: a disk that is full. It needs a file system of its own, so root or user namespaces; where neither is allowed, the
/// test says so.
#[test]
fn a_full_disk_leaves_the_previous_checkpoint_intact() {
    let project = Project::new(&plan(&[
        stage(
            "S01_fit_easily",
            "command = 'echo 1 > $CHECKSTONE_ARTIFACT_DIR/a.txt'\noutputs = { a = \"a.txt\" }",
        ),
        stage(
            "S02_fill_disk",
            "command = 'test -e small && echo 2 > $CHECKSTONE_ARTIFACT_DIR/b.txt || head -c 20000000 /dev/zero > $CHECKSTONE_ARTIFACT_DIR/b.txt'\ninputs = { a = \"S01_fit_easily/a.txt\" }\noutputs = { b = \"b.txt\" }",
        ),
    ]));
    std::fs::create_dir(project.path("reports")).unwrap();
    let script = "mount -t tmpfs -o size=4m none reports || exit 77
        \"$0\" run plan.toml --id r1; echo code=$?
        rm -rf reports/study/r1/.attempts/S02_fill_disk/1/artifacts; touch small
        \"$0\" resume r1; echo code=$?; cat reports/study/r1/S02_fill_disk/b.txt";
    let mut command = project.workplace.prepared(std::process::Command::new("unshare"));
    let program = env!("CARGO_BIN_EXE_checkstone");
    let user = if rustix::process::geteuid().is_root() { "--mount" } else { "-rm" };
    let done = command.args([user, "sh", "-c", script, program]).answer();
    if done.code == Some(77) || done.stderr.contains("unshare failed") {
        println!("skipped: no file system can be mounted here: {}", done.stderr);
        return;
    }
    insta::assert_snapshot!(without_durations(&done.stdout), @"
    S01_fit_easily  COMPLETED
    S02_fill_disk   FAILED        exit status 1
    run r1 FAILED: 1 of 2 stages completed; `checkstone resume r1` continues it
    code=1
    S01_fit_easily  COMPLETED
    S02_fill_disk   COMPLETED
    run r1 COMPLETED: 2 of 2 stages completed; the artifacts are in `reports/study/r1`; `checkstone report r1` writes the report
    code=0
    2
    ");
    insta::assert_snapshot!(without_durations(&done.stderr), @"
    run r1 of study
    S01_fit_easily  running, at most [duration]
    S01_fit_easily  checkpoint ckpt-000001-[id], 1 artifact
    S01_fit_easily  completed in [duration], 1 artifact
    S02_fill_disk  running, at most [duration]
    S02_fill_disk  warning: its output in `reports/study/r1/.attempts/S02_fill_disk/1/output.log` is incomplete: No space left on device (os error 28); 63 bytes are missing
    S02_fill_disk  warning: the emergency checkpoint holds no partial artifacts: cannot copy `reports/study/r1/.attempts/S02_fill_disk/1/artifacts/b.txt` into the store: No space left on device (os error 28)
    S02_fill_disk  checkpoint ckpt-emergency-000002-[id] (interrupted), 1 artifact
    S02_fill_disk  failed: exit status 1 (see `reports/study/r1/.attempts/S02_fill_disk/1/output.log`)
    run r1 of study
    continues from checkpoint ckpt-emergency-000002-[id] of S02_fill_disk
    resumed
    S01_fit_easily  unchanged, not run again
    S02_fill_disk  running, at most [duration], attempt 2
    S02_fill_disk  checkpoint ckpt-000003-[id], 1 artifact
    S02_fill_disk  completed in [duration], 1 artifact
    ");
    assert!(done.stdout.ends_with("code=0\n2\n"), "{done:?}");
}
