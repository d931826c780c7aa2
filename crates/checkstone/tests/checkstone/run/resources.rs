//! What stages use of the machine, and the plan as a drawing.

use sandbox::without_durations;

use super::{Project, plan, stage};

/// With one license two stages never run at once, however many jobs there are; with two they do.
#[test]
fn stages_that_need_the_same_thing_take_turns() {
    let alone = "command = 'mkdir busy && rmdir busy'\nresources = { license = 1 }";
    let ids = ["S01_use_it", "S02_use_it", "S03_use_it", "S04_use_it"];
    let project = Project::new(&plan(&ids.map(|id| stage(id, alone))));
    let done = project.output(&["run", "--id", "r1", "--jobs", "4", "--resources", "license=1,memory=64G"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let mut running = 0;
    for event in project.events().iter().filter(|event| event["event"] == "stage-state") {
        running += i32::from(event["to"] == "RUNNING") - i32::from(event["from"] == "RUNNING");
        assert!(running <= 1, "{event}");
    }

    let together = "command = 'touch $CHECKSTONE_STAGE_ID; until test -e S01_meet_other -a -e S02_meet_other; do sleep 0.01; done'\n\
                    resources = { license = 1 }\nmaxDurationSec = 60";
    let project = Project::new(&plan(&["S01_meet_other", "S02_meet_other"].map(|id| stage(id, together))));
    let done = project.output(&["run", "--id", "r1", "--jobs", "2", "--resources", "license=2"]);
    assert_eq!(done.code, Some(0), "{done:?}");
}

#[test]
fn what_nobody_has_is_refused_with_its_line() {
    let project = Project::new(&plan(&[stage(
        "S01_train_model",
        "command = 'touch ran'\nresources = { license = 2, memory = \"4G\" }",
    )]));
    let refused = project.output(&["run", "--resources", "license=1,memory=2G"]);
    assert_eq!(refused.code, Some(2));
    assert_eq!(
        refused.stderr,
        "error: the plan cannot be run:\n  \
         plan.toml:6:15: it asks for 2 of `license`, but there is 1\n  \
         plan.toml:6:28: it asks for 4.0 GiB of `memory`, but there is 2.0 GiB\n\
         hint: `--resources NAME=NUMBER` sets what is available, if it is more\n"
    );
    assert!(!project.path("ran").exists());
    let wrong = project.output(&["run", "--resources", "license"]);
    assert_eq!(
        wrong.stderr,
        "error: `license` is not NAME=NUMBER\nhint: write it like `--resources gpus=2,memory=16G`\n"
    );
    project.workplace.write("plan.toml", &project.read("plan.toml").replace("\"4G\"", "4"));
    let wrong = project.output(&["run"]);
    assert_eq!(
        wrong.stderr,
        "error: the plan cannot be run:\n  plan.toml:6:37: `4` is not a size such as `\"512M\"` or `\"4G\"`\n"
    );
}

/// All processes of the stage count together, and it is not asked to end first.
#[test]
fn a_stage_that_uses_too_much_memory_is_ended() {
    let project = Project::new(&plan(&[stage(
        "S01_fill_memory",
        "command = 'trap \"\" INT TERM; (head -c 200M /dev/zero | tail -c 200M | sleep 1000) & wait'\n\
         resources = { memory = \"64M\" }\nmaxDurationSec = 120",
    )]));
    let done = project.run();
    assert_eq!(done.code, Some(1), "{done:?}");
    let events = project.events();
    let failed = events.iter().find(|event| event["to"] == "FAILED").unwrap();
    assert_eq!(failed["ending"]["how"], "out-of-memory");
    let reason = failed["reason"].as_str().unwrap();
    assert_eq!(reason.split(';').next(), Some("it used more memory than its `resources` allow"), "{reason}");
    let signals: Vec<&str> = events
        .iter()
        .filter(|event| event["event"] == "signal")
        .map(|event| event["signal"].as_str().unwrap())
        .collect();
    assert_eq!(signals, ["SIGKILL"]);
}

/// The limit is the plan's; what would be too much for it is not published in part.
#[test]
fn a_folder_of_too_many_files_is_no_output() {
    let project = Project::new(&plan(&[stage(
        "S01_split_table",
        "command = 'mkdir $CHECKSTONE_ARTIFACT_DIR/parts; cd $CHECKSTONE_ARTIFACT_DIR/parts; seq 50 | xargs touch'\n\
         outputs = { parts = \"parts/\" }",
    )]));
    let text = project.read("plan.toml");
    project.workplace.write("plan.toml", &text.replacen('\n', "\nmaxFiles = 49\n", 1));
    let done = project.run();
    assert_eq!(done.code, Some(1));
    insta::assert_snapshot!(without_durations(&done.stdout), @"
    S01_split_table  FAILED        plan.toml:7:21: `[folder]/repo/reports/study/r1/.attempts/S01_split_table/1/artifacts/parts` has more than 49 files; put them into one archive, or set `maxFiles`
    run r1 FAILED: 0 of 1 stage completed; `checkstone resume r1` continues it
    ");
    assert_eq!(project.published(), []);
    project.workplace.write("plan.toml", &text.replacen('\n', "\nmaxFiles = 50\n", 1));
    let done = project.resume();
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(project.published().len(), 50);
}

#[test]
fn a_plan_can_be_drawn() {
    let project = Project::new(&plan(&[
        stage("S01_list_parts", "command = 'true'\noutputs = { parts = \"parts\" }"),
        stage("S02_load_seeds", "command = 'true'\noutputs = { a = \"a\" }\nforEach = { seed = [1, 2] }"),
        stage(
            "S03_train_part",
            "command = 'true'\nforEach = { part = { lines = \"S01_list_parts/parts\" } }\ninputs = \"S02_load_seeds/*/a\"",
        ),
        stage("S04_send_mail", "command = 'true'\ndependencies = [\"S01_list_parts\"]"),
        stage("S05_end_work", "command = 'true'\ndependencies = [\"S03_train_part\"]"),
    ]));
    let drawn = project.output(&["run", "--graph"]);
    insta::assert_snapshot!(drawn.stdout, @"
    S01_list_parts
    └─ S04_send_mail
    S02_load_seeds × 2
    └─ S03_train_part known during the run, also after S01_list_parts
       └─ S05_end_work
    ");
    let written = project.output(&["run", "--graph=plan.svg"]);
    assert_eq!(written.stdout, "wrote `plan.svg`\n", "{written:?}");
    let svg = project.read("plan.svg");
    assert_eq!((svg.matches("<rect x").count(), svg.matches("marker-end").count()), (5, 4), "{svg}");
    // It is drawn again, but over nothing else, and into no folder that is mistyped.
    assert_eq!(project.output(&["run", "--graph=plan.svg"]).code, Some(0));
    let over = project.output(&["run", "--graph=plan.toml"]);
    assert_eq!(
        (over.code, over.stderr.as_str()),
        (
            Some(4),
            "error: `plan.toml` is not a picture and is not overwritten\n\
             hint: name another file: `checkstone run --graph=plan.svg`\n"
        )
    );
    let nowhere = project.output(&["run", "--graph=no/where/plan.svg"]);
    assert_eq!(
        (nowhere.code, nowhere.stderr.as_str()),
        (Some(3), "error: there is no folder `no/where`\nhint: make it first: `mkdir -p no/where`\n")
    );
    assert!(!project.path("no").exists());

    // Cells share a session, so that each comes after the one before it.
    let cell = |id: &str, more: &str| stage(id, &format!("kind = \"python\"\ncommand = 'x = 1'\n{more}"));
    project.workplace.write(
        "plan.toml",
        &plan(&[
            cell("S01_load_data", "outputs = { a = \"a\" }"),
            stage("S02_send_mail", "command = 'true'\ninputs = \"S01_load_data/a\""),
            cell("S03_fit_model", "forEach = { seed = [1, 2] }"),
            cell("S04_draw_plot", ""),
        ]),
    );
    let drawn = project.output(&["run", "--graph"]);
    insta::assert_snapshot!(drawn.stdout, @"
    S01_load_data
    ├─ S02_send_mail
    └─ S03_fit_model × 2
       └─ S04_draw_plot
    ");
}
