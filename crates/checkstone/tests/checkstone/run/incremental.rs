//! What a new run need not make again, and what a dry run says of it.

use sandbox::{Answer, without_durations};

use super::{Project, plan, stage, text};

/// Two inputs, a script, a fan-out over what the first stage makes, and one that needs none of it.
fn study() -> Project {
    let project = Project::new(&plan(&[
        stage(
            "S01_list_parts",
            "command = 'cat $CHECKSTONE_INPUT_RAW > $CHECKSTONE_ARTIFACT_DIR/parts.txt; echo ran >> ran-list'\n\
             inputs = \"raw.csv\"\noutputs = { parts = \"parts.txt\" }",
        ),
        stage(
            "S02_train_model",
            "forEach = { part = { lines = \"S01_list_parts/parts\" } }\n\
             command = ['sh', 'train.sh', '{params.part}']\noutputs = { model = \"model\" }",
        ),
        stage(
            "S03_add_models",
            "command = 'xargs cat < $CHECKSTONE_INPUT_MODEL > $CHECKSTONE_ARTIFACT_DIR/sum; echo ran >> ran-add'\n\
             inputs = \"S02_train_model/*/model\"\noutputs = { sum = \"sum\" }",
        ),
        stage("S04_draw_plot", "command = 'echo plot > $CHECKSTONE_ARTIFACT_DIR/plot'"),
    ]));
    project.workplace.write("raw.csv", "1\n2\n");
    project.workplace.write("train.sh", "echo $1 > $CHECKSTONE_ARTIFACT_DIR/model; echo $1 >> ran-train\n");
    project
}

fn run(project: &Project, id: &str, more: &[&str]) -> Answer {
    let done = project.output(&[&["run", "--id", id], more].concat());
    assert_eq!(done.code, Some(0), "{done:?}");
    done
}

fn dry(project: &Project) -> String {
    let told = project.output(&["run", "--dry-run"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    told.stdout
}

#[test]
fn a_new_run_makes_only_what_no_earlier_run_made() {
    let project = study();
    insta::assert_snapshot!(dry(&project), @"
    S01_list_parts   would run: it has not run yet
    S04_draw_plot    would run: it has not run yet
    S02_train_model  may run: it is known only after `S01_list_parts`
    S03_add_models   may run: it is known only after `S02_train_model`
    2 of 4 stages would run, and 2 may run
    ");
    run(&project, "r1", &[]);
    insta::assert_snapshot!(dry(&project), @"
    S01_list_parts                made by run `r1`
    S04_draw_plot                 made by run `r1`
    S02_train_model_a (part = 1)  made by run `r1`
    S02_train_model_b (part = 2)  made by run `r1`
    S03_add_models                made by run `r1`
    0 of 5 stages would run
    ");
    let nothing = project.output(&["run"]);
    assert_eq!(
        (nothing.code, nothing.stdout.as_str()),
        (Some(0), "nothing to run: everything is as run r1 made it; `--fresh` runs it all again\n")
    );

    // One more part: the others are taken over, and what they are gathered by runs again.
    project.workplace.write("raw.csv", "1\n2\n3\n");
    insta::assert_snapshot!(dry(&project), @"
    S01_list_parts   would run: input `raw.csv` changed
    S04_draw_plot    made by run `r1`
    S02_train_model  may run: it is known only after `S01_list_parts`
    S03_add_models   may run: it is known only after `S02_train_model`
    1 of 4 stages would run, and 2 may run
    ");
    let done = run(&project, "r2", &[]);
    insta::assert_snapshot!(without_durations(&done.stdout), @"
    S01_list_parts                COMPLETED
    S04_draw_plot                 COMPLETED     made by run `r1`
    S02_train_model_a (part = 1)  COMPLETED     made by run `r1`
    S02_train_model_b (part = 2)  COMPLETED     made by run `r1`
    S02_train_model_c (part = 3)  COMPLETED
    S03_add_models                COMPLETED
    run r2 COMPLETED: 6 of 6 stages completed; the artifacts are in `reports/study/r2`; `checkstone report r2` writes the report
    ");
    assert_eq!(project.read("ran-train"), "1\n2\n3\n");
    assert_eq!(project.read("reports/study/r2/S03_add_models/sum"), "1\n2\n3\n");
    assert_eq!(project.read("reports/study/r2/S04_draw_plot/plot"), "plot\n");

    // A script that a command names counts with its content.
    let script = project.read("train.sh").replace("echo $1", "echo  $1");
    project.workplace.write("train.sh", &script);
    insta::assert_snapshot!(dry(&project), @"
    S01_list_parts                made by run `r2`
    S04_draw_plot                 made by run `r2`
    S02_train_model_a (part = 1)  would run: `train.sh` changed
    S02_train_model_b (part = 2)  would run: `train.sh` changed
    S02_train_model_c (part = 3)  would run: `train.sh` changed
    S03_add_models                may run: `S02_train_model_a` runs first
    3 of 6 stages would run, and 1 may run
    ");
    // It makes what it made before, so that nothing behind it runs.
    run(&project, "r3", &[]);
    assert_eq!(project.read("ran-add"), "ran\nran\n");

    // Another order gives other letters, and what is made stays made.
    project.workplace.write("raw.csv", "3\n1\n");
    let done = run(&project, "r3a", &[]);
    let told: Vec<&str> = done.stdout.lines().filter(|line| line.starts_with("S02_train_model")).collect();
    assert_eq!(
        told,
        [
            "S02_train_model_a (part = 3)  COMPLETED     made by run `r3`",
            "S02_train_model_b (part = 1)  COMPLETED     made by run `r3`",
        ]
    );
    assert_eq!(project.read("reports/study/r3a/S03_add_models/sum"), "3\n1\n");

    // What an older run made counts as well.
    project.workplace.write("raw.csv", "1\n2\n");
    run(&project, "r4", &[]);
    assert_eq!(project.read("ran-list"), "ran\nran\nran\n");
    run(&project, "r5", &["--fresh"]);
    assert_eq!(project.read("ran-list"), "ran\nran\nran\nran\n");
}

/// Somebody changed what the earlier run published: it comes from the checkpoints, and without them is made again.
#[test]
fn what_was_changed_since_is_not_taken_over() {
    let project = study();
    run(&project, "r1", &[]);
    std::fs::write(project.path("reports/study/r1/S04_draw_plot/plot"), "forged\n").unwrap();
    run(&project, "r2", &[]);
    assert_eq!(project.read("reports/study/r2/S04_draw_plot/plot"), "plot\n");
    std::fs::write(project.path("reports/study/r2/S04_draw_plot/plot"), "forged\n").unwrap();
    std::fs::remove_dir_all(project.path("reports/study/checkpoints/.store")).unwrap();
    std::fs::remove_dir_all(project.path("reports/study/r1")).unwrap();
    let done = run(&project, "r3", &[]);
    assert_eq!(project.read("reports/study/r3/S04_draw_plot/plot"), "plot\n");
    let warned: Vec<&str> =
        done.stderr.lines().filter(|line| line.starts_with("S04_draw_plot  warning")).collect();
    assert_eq!(
        warned,
        [
            "S04_draw_plot  warning: it runs again, because the results of run `r2` cannot be reused: the store has no content \
          for `reports/study/r3/.attempts/S04_draw_plot/1/artifacts/plot`: the checkpoint cannot be restored"
        ]
    );
}

#[test]
fn a_resume_says_why_each_stage_would_run() {
    let project = Project::new(&plan(&[
        stage(
            "S01_load_data",
            "command = 'cat raw.csv > $CHECKSTONE_ARTIFACT_DIR/data'\noutputs = { data = \"data\" }\ninputs = \"raw.csv\"",
        ),
        stage("S02_fail_always", "command = 'exit 3'\ninputs = \"S01_load_data/data\""),
        stage("S03_never_begin", "command = 'true'\ndependencies = [\"S02_fail_always\"]"),
        stage(
            "S04_use_data",
            "command = 'true'\ninputs = \"S01_load_data/data\"\nenvironment = { A = \"1\" }",
        ),
        stage("S05_send_mail", "command = 'true'\nretryable = false"),
    ]));
    project.workplace.write("raw.csv", "1\n");
    assert_eq!(project.run().code, Some(1));
    let dry = || {
        let told = project.output(&["resume", "r1", "--dry-run"]);
        assert_eq!(told.code, Some(0), "{told:?}");
        told.stdout
    };
    insta::assert_snapshot!(dry(), @"
    S01_load_data    unchanged
    S02_fail_always  would run: it failed: exit status 3
    S03_never_begin  would run: it did not complete: `S02_fail_always` did not complete
    S04_use_data     unchanged
    S05_send_mail    unchanged
    2 of 5 stages would run
    ");
    project.workplace.write("raw.csv", "2\n");
    let text = project.read("plan.toml");
    let text = text.replace("A = \"1\"", "A = \"2\"").replace("'true'\nretryable", "'true;'\nretryable");
    project.workplace.write("plan.toml", &text);
    insta::assert_snapshot!(dry(), @"
    S01_load_data    would run: input `raw.csv` changed
    S02_fail_always  would run: it failed: exit status 3
    S03_never_begin  would run: it did not complete: `S02_fail_always` did not complete
    S04_use_data     may run: `S01_load_data` runs first
    S05_send_mail    kept, although command changed: it is not retryable
    3 of 5 stages would run, and 1 may run
    ");
    project.workplace.write("raw.csv", "1\n");
    insta::assert_snapshot!(dry(), @"
    S01_load_data    unchanged
    S02_fail_always  would run: it failed: exit status 3
    S03_never_begin  would run: it did not complete: `S02_fail_always` did not complete
    S04_use_data     would run: environment changed
    S05_send_mail    kept, although command changed: it is not retryable
    3 of 5 stages would run
    ");
    // An output that is gone comes back, as long as a checkpoint has it.
    std::fs::remove_file(project.path("reports/study/r1/S01_load_data/data")).unwrap();
    assert_eq!(dry().lines().next(), Some("S01_load_data    unchanged"));
    std::fs::remove_dir_all(project.path("reports/study/checkpoints/.store")).unwrap();
    assert_eq!(dry().lines().next(), Some("S01_load_data    would run: output `data` is missing"));
    let before = project.read("reports/study/checkpoints/r1/events.jsonl");
    let told = project.workplace.json(&["resume", "r1", "--dry-run", "--json"], "run-outlook.schema.json");
    assert_eq!(told["stages"][0]["would"], "run");
    assert_eq!(project.read("reports/study/checkpoints/r1/events.jsonl"), before, "nothing is recorded");
}

/// What somebody has changed since is not as the run made it: a new run has it as it was.
#[test]
fn outputs_that_were_changed_are_not_up_to_date() {
    let project = study();
    run(&project, "r1", &[]);
    let nothing = "nothing to run: everything is as run r1 made it; `--fresh` runs it all again\n";
    assert_eq!(project.output(&["run"]).stdout, nothing);
    project.workplace.write("reports/study/r1/S04_draw_plot/plot", "changed\n");
    assert_eq!(project.output(&["run"]).code, Some(0));
    let runs = std::fs::read_dir(project.path("reports/study")).unwrap().flatten();
    let mut plots: Vec<String> =
        runs.filter_map(|run| std::fs::read_to_string(run.path().join("S04_draw_plot/plot")).ok()).collect();
    plots.sort();
    assert_eq!(plots, ["changed\n", "plot\n"]);
}

/// Why stages of `r1` failed.
fn failures(project: &Project) -> Vec<(String, String)> {
    let events = project.events();
    let failed = events.iter().filter(|event| event["event"] == "stage-state" && event["to"] == "FAILED");
    failed.map(|event| (text(&event["stageId"]), text(&event["reason"]))).collect()
}

/// It would be filed under the content that the input had when the stage began, and was made of another one.
#[test]
fn a_stage_under_which_an_input_changes_is_not_accepted() {
    let project = Project::new(&plan(&[stage(
        "S01_copy_data",
        "command = 'touch begun; until test -e go; do sleep 0.01; done; cat $CHECKSTONE_INPUT_D > $CHECKSTONE_ARTIFACT_DIR/copy'\n\
         inputs = { d = \"d.txt\" }",
    )]));
    project.workplace.write("d.txt", "old\n");
    let mut running = project.start(&[]);
    project.wait_for("begun");
    project.workplace.write("d.txt", "new\n");
    project.workplace.write("go", "");
    assert_eq!(running.wait().unwrap().code(), Some(1));
    let expected = ("S01_copy_data".to_owned(), "input `d.txt` changed while it ran".to_owned());
    assert_eq!(failures(&project), [expected]);
    assert_eq!(project.published(), []);
    // Whichever content it has then.
    project.workplace.write("d.txt", "old\n");
    assert_eq!(project.resume().code, Some(0));
    assert_eq!(project.read("reports/study/r1/S01_copy_data/copy"), "old\n");
}

/// Nobody goes on with what another stage wrote into a result.
#[test]
fn a_result_that_was_changed_is_not_read_until_it_is_brought_back() {
    let reads = "command = 'cp $CHECKSTONE_INPUT_DATA $CHECKSTONE_ARTIFACT_DIR/copy'\n\
                 inputs = { data = \"S01_load_data/data\" }\ndependencies = [\"S02_change_result\"]";
    let project = Project::new(&plan(&[
        stage(
            "S01_load_data",
            "command = 'echo 1 > $CHECKSTONE_ARTIFACT_DIR/data'\noutputs = { data = \"data\" }",
        ),
        stage(
            "S02_change_result",
            "command = 'echo 2 > reports/study/r1/S01_load_data/data'\ndependencies = [\"S01_load_data\"]",
        ),
        stage("S03_read_result", reads),
    ]));
    assert_eq!(project.run().code, Some(1));
    let why = "the input `S01_load_data/data` was changed after it was made; `checkstone resume` restores it";
    assert_eq!(failures(&project), [("S03_read_result".to_owned(), why.to_owned())]);
    assert_eq!(project.resume().code, Some(0));
    assert_eq!(project.read("reports/study/r1/S03_read_result/copy"), "1\n");
}

/// Nor one that changes what it reads or runs by itself; what it only writes is none of that.
#[test]
fn a_stage_that_changes_what_it_is_known_by_is_not_accepted() {
    let project = Project::new(&plan(&[
        stage(
            "S01_load_data",
            "command = 'echo 1 > $CHECKSTONE_ARTIFACT_DIR/data'\noutputs = { data = \"data\" }",
        ),
        stage(
            "S02_change_output",
            "command = 'echo 2 >> $CHECKSTONE_INPUT_DATA'\ninputs = { data = \"S01_load_data/data\" }",
        ),
        stage("S03_remove_input", "command = 'rm d.txt'\ninputs = { d = \"d.txt\" }"),
        stage("S04_change_script", "command = 'sh work.sh'"),
        stage("S05_write_script", "command = 'echo true > made.sh'"),
        stage(
            "S06_fail_once",
            "command = 'echo more >> e.txt; head -c 2 e.txt > f; mv f e.txt'\ninputs = { e = \"e.txt\" }\nretries = 1",
        ),
    ]));
    project.workplace.write("d.txt", "1\n");
    project.workplace.write("e.txt", "1\n2\n");
    project.workplace.write("work.sh", "echo true >> work.sh\n");
    assert_eq!(project.run().code, Some(1));
    let expected = [
        ("S02_change_output", "input `S01_load_data/data` changed while it ran"),
        ("S03_remove_input", "input `d.txt` was removed while it ran"),
        ("S04_change_script", "`work.sh` changed while it ran"),
        ("S06_fail_once", "input `e.txt` changed while it ran"),
    ];
    assert_eq!(failures(&project), expected.map(|(stage, why)| (stage.to_owned(), why.to_owned())));
    let completed = project.states().into_iter().filter(|(_, state)| state == "COMPLETED");
    let completed: Vec<String> = completed.map(|(stage, _)| stage).collect();
    assert_eq!(completed, ["S01_load_data", "S05_write_script", "S06_fail_once"]);
}

/// What a stage leaves besides its outputs is seen by nobody, so that whoever names it runs again where it has changed.
#[test]
fn a_stage_that_names_a_changed_one_in_its_dependencies_runs_again() {
    let project = Project::new(&plan(&[
        stage("S01_write_side", "command = 'echo 1 > side'"),
        stage(
            "S02_read_side",
            "command = 'cp side $CHECKSTONE_ARTIFACT_DIR/copy'\ndependencies = [\"S01_write_side\"]",
        ),
        stage("S03_wait_only", "command = 'true'\ndependencies = [\"S02_read_side\"]"),
    ]));
    run(&project, "r1", &[]);
    let text = project.read("plan.toml").replace("echo 1", "echo 2");
    project.workplace.write("plan.toml", &text);
    insta::assert_snapshot!(dry(&project), @"
    S01_write_side  would run: command changed
    S02_read_side   would run: `S01_write_side`, which it depends on, changed
    S03_wait_only   would run: `S02_read_side`, which it depends on, changed
    3 of 3 stages would run
    ");
    let resumed = project.output(&["resume", "r1", "--dry-run"]);
    assert_eq!(resumed.stdout, dry(&project));
    run(&project, "r2", &[]);
    assert_eq!(project.read("reports/study/r2/S02_read_side/copy"), "2\n");
    assert_eq!(
        project.output(&["run"]).stdout,
        "nothing to run: everything is as run r2 made it; `--fresh` runs it all again\n"
    );
}

/// Another attempt may have left something else besides its outputs, although nothing of it changed.
#[test]
fn a_stage_that_names_one_that_is_wanted_again_runs_again() {
    let project = Project::new(&plan(&[
        stage("S01_write_side", "command = 'echo x >> tries; wc -l < tries > side'"),
        stage(
            "S02_read_side",
            "command = 'cp side $CHECKSTONE_ARTIFACT_DIR/copy'\ndependencies = [\"S01_write_side\"]",
        ),
        stage("S03_do_else", "command = 'true'"),
    ]));
    run(&project, "r1", &[]);
    let again = ["resume", "r1", "--again", "S01_write_side"];
    insta::assert_snapshot!(project.output(&[&again[..], &["--dry-run"]].concat()).stdout, @"
    S01_write_side  would run: it was requested again
    S02_read_side   would run: `S01_write_side`, which it depends on, changed
    S03_do_else     unchanged
    2 of 3 stages would run
    ");
    assert_eq!(project.output(&again).code, Some(0));
    assert_eq!(project.read("reports/study/r1/S02_read_side/copy"), "2\n");
    // What is taken over is what it was.
    assert_eq!(
        project.output(&["run"]).stdout,
        "nothing to run: everything is as run r1 made it; `--fresh` runs it all again\n"
    );
    let done = run(&project, "r2", &[]);
    let made = done.stdout.lines().filter(|line| line.ends_with("made by run `r1`")).count();
    assert_eq!(made, 3, "{done:?}");
}

/// What a stage sees of a file besides its content, and of a folder besides its files.
#[test]
fn what_can_be_executed_and_empty_folders_count() {
    let project = Project::new(&plan(&[
        stage("S01_use_tool", "command = '$CHECKSTONE_INPUT_TOOL'\ninputs = \"tool\""),
        stage("S02_list_folders", "command = 'ls raw'\ninputs = \"raw\""),
        stage("S03_run_script", "command = ['./script.sh']"),
    ]));
    for path in ["tool", "raw/tool", "script.sh"] {
        project.workplace.write(path, "#!/bin/sh\n");
        sandbox::make_executable(&project.path(path));
    }
    run(&project, "r1", &[]);
    let allow = |path: &str, mode: u32| {
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(project.path(path), permissions).unwrap();
    };
    ["tool", "raw/tool", "script.sh"].iter().for_each(|path| allow(path, 0o644));
    insta::assert_snapshot!(dry(&project), @"
    S01_use_tool      would run: input `tool` changed
    S02_list_folders  would run: input `raw` changed
    S03_run_script    would run: `./script.sh` changed
    3 of 3 stages would run
    ");
    ["tool", "raw/tool", "script.sh"].iter().for_each(|path| allow(path, 0o755));
    std::fs::create_dir_all(project.path("raw/inner/empty")).unwrap();
    insta::assert_snapshot!(dry(&project), @"
    S01_use_tool      made by run `r1`
    S02_list_folders  would run: input `raw` changed
    S03_run_script    made by run `r1`
    1 of 3 stages would run
    ");
    run(&project, "r2", &[]);
    std::fs::remove_dir(project.path("raw/inner/empty")).unwrap();
    std::fs::remove_dir(project.path("raw/inner")).unwrap();
    assert_eq!(dry(&project).lines().nth(1), Some("S02_list_folders  made by run `r1`"));
}

/// Nobody knows what was read of a file that was changed and changed back meanwhile.
#[test]
fn an_input_that_is_changed_and_changed_back_while_it_is_read_is_noticed() {
    let project = Project::new(&plan(&[
        stage(
            "S01_read_data",
            "command = 'test -e go || { echo new > d.txt; cp d.txt $CHECKSTONE_ARTIFACT_DIR/copy; echo old > d.txt; touch go; }'\n\
             inputs = \"d.txt\"",
        ),
        stage(
            "S02_read_only",
            "command = 'cat d.txt; chmod u+w d.txt; ln -f d.txt link'\ninputs = \"d.txt\"",
        ),
    ]));
    project.workplace.write("d.txt", "old\n");
    assert_eq!(project.run().code, Some(1));
    let why = "input `d.txt` was written to while it ran";
    assert_eq!(failures(&project), [("S01_read_data".to_owned(), why.to_owned())]);
    assert_eq!(project.resume().code, Some(0));
}

/// A list of the project that is another one when the run goes on: each instance is what the list says now.
#[test]
fn a_list_that_changes_between_resumes_gives_each_instance_its_own() {
    let project = Project::new(&plan(&[
        stage(
            "S01_train_model",
            "forEach = { part = { lines = \"parts.txt\" } }\n\
             command = 'echo {params.part} > $CHECKSTONE_ARTIFACT_DIR/model; test {params.part} != c'\noutputs = { model = \"model\" }",
        ),
        stage(
            "S02_add_models",
            "command = 'xargs cat < $CHECKSTONE_INPUT_MODEL > $CHECKSTONE_ARTIFACT_DIR/sum'\n\
             inputs = \"S01_train_model/*/model\"\noutputs = { sum = \"sum\" }",
        ),
    ]));
    project.workplace.write("parts.txt", "a\nb\nc\n");
    assert_eq!(project.run().code, Some(1));
    project.workplace.write("parts.txt", "b\na\n");
    let resumed = project.resume();
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(project.read("reports/study/r1/S02_add_models/sum"), "b\na\n");
    project.workplace.write("parts.txt", "a\n");
    assert_eq!(project.resume().code, Some(0));
    assert_eq!(project.read("reports/study/r1/S02_add_models/sum"), "a\n");
}
