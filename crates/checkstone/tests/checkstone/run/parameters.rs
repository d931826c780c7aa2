//! Parameters and fan-outs with real processes: what is run, what it is given, and what a person reads of it.

use sandbox::{RunToEnd as _, without_durations};

use super::{Project, plan, stage};

fn with_parameters(parameters: &str, stages: &[String]) -> String {
    plan(stages).replacen('\n', &format!("\n[params]\n{parameters}\n"), 1)
}

/// A study: parts that are known only during the run, each trained for each seed, and one table of all.
fn study() -> String {
    with_parameters(
        "parts = 2\nrates = [0.1, 0.01]",
        &[
            stage(
                "S01_list_parts",
                "command = ['sh', '-c', 'seq \"$1\" > $CHECKSTONE_ARTIFACT_DIR/parts.txt', 'list', '{params.parts}']\n\
                 outputs = { parts = \"parts.txt\" }",
            ),
            stage(
                "S02_train_model",
                "forEach = { part = { lines = \"S01_list_parts/parts\" }, rate = \"{params.rates}\" }\n\
                 command = 'echo $RATE of {params.part} > $CHECKSTONE_ARTIFACT_DIR/metrics.txt'\n\
                 environment = { RATE = \"{params.rate}\" }\noutputs = { metrics = \"metrics.txt\" }",
            ),
            stage(
                "S03_compare_models",
                "inputs = \"S02_train_model/*/metrics.txt\"\n\
                 command = 'xargs cat < $CHECKSTONE_INPUT_METRICS > $CHECKSTONE_ARTIFACT_DIR/all.txt; \
                 cp $CHECKSTONE_INPUTS $CHECKSTONE_ARTIFACT_DIR/inputs.json'\noutputs = { all = \"all.txt\" }",
            ),
        ],
    )
}

#[test]
fn a_study_with_instances_that_are_known_only_during_the_run() {
    let project = Project::new(&study());
    let checked = project.output(&["run", "--check"]);
    assert_eq!(
        checked.stdout,
        "`plan.toml` is valid: 1 stage, and those of S02_train_model, S03_compare_models, which are known only during \
         the run\n"
    );
    let done = project.output(&["run", "--id", "r1"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    insta::assert_snapshot!(without_durations(&done.stdout), @"
    S01_list_parts                             COMPLETED
    S02_train_model_a (part = 1, rate = 0.1)   COMPLETED
    S02_train_model_b (part = 1, rate = 0.01)  COMPLETED
    S02_train_model_c (part = 2, rate = 0.1)   COMPLETED
    S02_train_model_d (part = 2, rate = 0.01)  COMPLETED
    S03_compare_models                         COMPLETED
    run r1 COMPLETED: 6 of 6 stages completed; the artifacts are in `reports/study/r1`; `checkstone report r1` writes the report
    ");
    insta::assert_snapshot!(without_durations(&done.stderr), @"
    run r1 of study
    S01_list_parts  running, at most [duration]
    S01_list_parts  checkpoint ckpt-000001-[id], 1 artifact
    S01_list_parts  completed in [duration], 1 artifact
    S02_train_model  4 instances
    S02_train_model_a (part = 1, rate = 0.1)  running, at most [duration]
    S02_train_model_a (part = 1, rate = 0.1)  checkpoint ckpt-000002-[id], 1 artifact
    S02_train_model_a (part = 1, rate = 0.1)  completed in [duration], 1 artifact
    S02_train_model_b (part = 1, rate = 0.01)  running, at most [duration]
    S02_train_model_b (part = 1, rate = 0.01)  checkpoint ckpt-000003-[id], 1 artifact
    S02_train_model_b (part = 1, rate = 0.01)  completed in [duration], 1 artifact
    S02_train_model_c (part = 2, rate = 0.1)  running, at most [duration]
    S02_train_model_c (part = 2, rate = 0.1)  checkpoint ckpt-000004-[id], 1 artifact
    S02_train_model_c (part = 2, rate = 0.1)  completed in [duration], 1 artifact
    S02_train_model_d (part = 2, rate = 0.01)  running, at most [duration]
    S02_train_model_d (part = 2, rate = 0.01)  checkpoint ckpt-000005-[id], 1 artifact
    S02_train_model_d (part = 2, rate = 0.01)  completed in [duration], 1 artifact
    S03_compare_models  running, at most [duration]
    S03_compare_models  checkpoint ckpt-000006-[id], 2 artifacts
    S03_compare_models  completed in [duration], 2 artifacts
    ");
    let all = project.read("reports/study/r1/S03_compare_models/all.txt");
    assert_eq!(all, "0.1 of 1\n0.01 of 1\n0.1 of 2\n0.01 of 2\n");
    let inputs: serde_json::Value =
        serde_json::from_str(&project.read("reports/study/r1/S03_compare_models/inputs.json")).unwrap();
    assert_eq!(inputs["metrics"][3]["stage"], "S02_train_model_d");
    assert_eq!(inputs["metrics"][3]["parameters"], serde_json::json!({"part": 2, "rate": 0.01}));

    // Nothing changed: the instances are found again by the list that the first stage made.
    let again = project.resume();
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(project.attempts("S02_train_model_d"), 1);
    let told: Vec<&str> = again.stderr.lines().filter(|line| line.starts_with("S02_train_model_d")).collect();
    assert_eq!(told, ["S02_train_model_d (part = 2, rate = 0.01)  unchanged, not run again"]);
    let listed = project.output(&["checkpoint", "list"]).stdout;
    let last = |line: &str| line.rsplit("  ").next().unwrap_or_default().to_owned();
    assert_eq!(
        listed.lines().take(2).map(last).collect::<Vec<_>>(),
        ["study r1 S03_compare_models", "study r1 S02_train_model_d (part = 2, rate = 0.01)"]
    );
    // Another value makes another list, and only what is new runs.
    let more = project.output(&["resume", "r1", "--set", "parts=3"]);
    assert_eq!(more.code, Some(0), "{more:?}");
    let attempts =
        ["a", "b", "c", "d", "e", "f"].map(|letter| project.attempts(&format!("S02_train_model_{letter}")));
    assert_eq!(attempts, [1, 1, 1, 1, 1, 1]);
    assert_eq!(project.attempts("S03_compare_models"), 2);
    // Fewer parts: what the others made is named, since it is still there.
    let fewer = project.output(&["resume", "r1", "--set", "parts=2"]);
    assert_eq!(fewer.code, Some(0), "{fewer:?}");
    let warned: Vec<&str> = fewer.stderr.lines().filter(|line| line.starts_with("warning")).collect();
    assert_eq!(
        warned,
        [
            "warning: no longer in the plan, and still in `reports/study/r1`: `S02_train_model_e`, `S02_train_model_f`"
        ]
    );
    assert_eq!(project.output(&["resume", "r1", "--set", "parts=3"]).code, Some(0));
    // The run keeps it.
    let kept = project.resume();
    assert_eq!(kept.code, Some(0), "{kept:?}");
    assert_eq!(project.attempts("S01_list_parts"), 4);
    let report = project.output(&["report", "r1"]);
    assert!(report.succeeded(), "{report:?}");
    let rows = project.read("reports/study/README.md");
    let rows: Vec<&str> = rows.lines().filter(|line| line.starts_with("| S02_train")).collect();
    assert_eq!(rows.len(), 6, "{rows:?}");
}

#[test]
fn an_empty_list_blocks_the_fan_out_with_its_line_and_resume_goes_on() {
    let project = Project::new(&study());
    let done = project.output(&["run", "--id", "r1", "--set", "parts=0"]);
    assert_eq!(done.code, Some(1));
    insta::assert_snapshot!(without_durations(&done.stdout), @"
    S01_list_parts      COMPLETED
    S02_train_model     BLOCKED       plan.toml:13:20: there is nothing to run it for: the list of `part` is empty
    S03_compare_models  BLOCKED       `S02_train_model` did not complete
    run r1 FAILED: 1 of 3 stages completed; `checkstone resume r1` continues it
    ");
    assert_eq!(project.run_state(), "FAILED");
    let mended = project.output(&["resume", "r1", "--set", "parts=1"]);
    assert_eq!(mended.code, Some(0), "{mended:?}");
    assert_eq!(project.run_state(), "COMPLETED");
    let report = project.output(&["report", "r1"]);
    assert!(report.succeeded(), "{report:?}");
}

#[test]
fn values_come_from_the_plan_a_file_and_the_command_line() {
    let project = Project::new(&with_parameters(
        "one = \"plan\"\ntwo = \"plan\"\nthree = \"plan\"",
        &[stage(
            "S01_show_all",
            "command = ['sh', '-c', 'echo $1 $2 $3 > $CHECKSTONE_ARTIFACT_DIR/all', 'x', '{params.one}', '{params.two}', \
             '{params.three}']",
        )],
    ));
    project.workplace.write("small.toml", "two = \"file\"\nthree = \"file\"\n");
    let done =
        project.output(&["run", "--id", "r1", "--set", "three=command line", "--params", "small.toml"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(project.read("reports/study/r1/S01_show_all/all"), "plan file command line\n");
    assert_eq!(project.events()[0]["set"], serde_json::json!(["three=\"command line\"", "two=\"file\""]),);
    let unknown = project.output(&["run", "--set", "for=1"]);
    assert_eq!(unknown.code, Some(2));
    assert_eq!(
        unknown.stderr,
        "error: the plan cannot be run:\n  plan.toml:2:2: the plan has no parameter `for` to set\n"
    );
    let wrong = project.output(&["run", "--set", "for"]);
    assert_eq!(wrong.stderr, "error: `for` is not NAME=VALUE\nhint: write it like `--set lr=0.1`\n");
    let listed = project.output(&["run", "--list"]);
    let words: Vec<&str> = listed.stdout.split("  ").map(str::trim).collect();
    assert_eq!(words[..4], ["r1", "study", "COMPLETED", "1 done"]);
    assert_eq!(words[5..], ["three=\"command line\", two=\"file\""]);
    let listed = project.workplace.json(&["run", "--list", "--json"], "run-list.schema.json");
    assert_eq!(listed["runs"][0]["completedStages"], 1);
}

/// The folder of the shell is called `PWD`, which is no password: a value that begins with it is kept. One that holds a real
/// secret of the environment is not recorded, and nothing goes on without it.
#[test]
fn a_run_goes_on_with_the_values_it_began_with_or_not_at_all() {
    let project = Project::new(&with_parameters(
        "data = \"none\"",
        &[stage(
            "S01_show_value",
            "command = ['sh', '-c', 'echo $0 > $CHECKSTONE_ARTIFACT_DIR/o; test -e ok', '{params.data}']",
        )],
    ));
    let folder = project.path("").display().to_string();
    let answer = |arguments: &[&str]| {
        let mut command = project.checkstone(arguments);
        command.env("PWD", folder.trim_end_matches('/')).env("API_TOKEN", "adamoptimizer");
        command.answer()
    };
    let value = format!("{}/in.csv", folder.trim_end_matches('/'));
    assert_eq!(answer(&["run", "--id", "r1", "--set", &format!("data={value}")]).code, Some(1));
    assert_eq!(answer(&["run", "--id", "r2", "--set", "data=adamoptimizer"]).code, Some(1));
    project.workplace.write("ok", "");
    assert_eq!(answer(&["resume", "r1"]).code, Some(0));
    assert_eq!(project.read("reports/study/r1/S01_show_value/o"), format!("{value}\n"));
    let refused = answer(&["resume", "r2"]);
    assert_eq!(refused.code, Some(2));
    assert_eq!(
        refused.stderr,
        "error: the value of `data` was not recorded: it contains a secret from the environment\n\
         hint: pass it again: `--set data=VALUE`\n"
    );
    assert_eq!(answer(&["resume", "r2", "--set", "data=adamoptimizer"]).code, Some(0));
    assert_eq!(project.read("reports/study/r2/S01_show_value/o"), "adamoptimizer\n");
}

/// Another value is a change, also of a run that is complete.
#[test]
fn a_completed_run_goes_on_with_another_value_without_its_name() {
    let project = Project::new(&with_parameters(
        "lr = 1",
        &[stage("S01_show_value", "command = 'echo {params.lr} > $CHECKSTONE_ARTIFACT_DIR/o'")],
    ));
    assert_eq!(project.run().code, Some(0));
    assert_eq!(project.output(&["resume", "--set", "lr=1"]).code, Some(3), "nothing has changed");
    let wrong = project.output(&["resume", "--set", "rl=2"]);
    assert_eq!(
        (wrong.code, wrong.stderr.as_str()),
        (
            Some(2),
            "error: the plan cannot be run:\n  \
             plan.toml:2:2: the plan has no parameter `rl` to set; did you mean `lr`?\n"
        )
    );
    let resumed = project.output(&["resume", "--set", "lr=2"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(project.read("reports/study/r1/S01_show_value/o"), "2\n");
}

#[test]
fn folders_are_read_and_made() {
    let project = Project::new(&plan(&[
        stage(
            "S01_split_table",
            "command = 'mkdir $CHECKSTONE_ARTIFACT_DIR/parts; split -l 1 $CHECKSTONE_INPUT_RAW/all.csv $CHECKSTONE_ARTIFACT_DIR/parts/'\n\
             inputs = \"raw\"\noutputs = { parts = \"parts/\" }",
        ),
        stage(
            "S02_load_part",
            "forEach = { part = { files = \"S01_split_table/parts\" } }\n\
             inputs = { part = \"S01_split_table/parts/{params.part}\" }\n\
             command = 'cp $CHECKSTONE_INPUT_PART $CHECKSTONE_ARTIFACT_DIR/loaded'\noutputs = { loaded = \"loaded\" }",
        ),
        stage(
            "S03_count_parts",
            "inputs = { parts = \"S01_split_table/parts\" }\n\
             command = 'ls $CHECKSTONE_INPUT_PARTS > $CHECKSTONE_ARTIFACT_DIR/names'",
        ),
    ]));
    project.workplace.write("raw/all.csv", "one\ntwo\n");
    let done = project.run();
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(project.read("reports/study/r1/S02_load_part_b/loaded"), "two\n");
    assert_eq!(project.read("reports/study/r1/S03_count_parts/names"), "aa\nab\n");
    // Another file in the folder is another input, and what is as it was stays.
    project.workplace.write("raw/more.csv", "");
    let again = project.resume();
    assert_eq!(again.code, Some(0), "{again:?}");
    let attempts = ["S01_split_table", "S02_load_part_b", "S03_count_parts"].map(|id| project.attempts(id));
    assert_eq!(attempts, [2, 1, 1]);
}

#[test]
fn without_a_name_the_one_running_run_is_aborted() {
    let project = Project::new(&plan(&[stage("S01_wait_long", "command = 'touch began; exec sleep 100'")]));
    let none = project.output(&["abort"]);
    assert_eq!(none.code, Some(3), "{none:?}");
    let child = project.start(&[]);
    project.wait_for("began");
    let aborted = project.output(&["abort"]);
    assert_eq!(aborted.stdout, "run r1 ABORTED\n", "{aborted:?}");
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
}

/// A pause before each retry, in which others run.
#[test]
fn a_retry_waits_while_others_run() {
    let project = Project::new(&plan(&[
        stage(
            "S01_fail_once",
            "command = 'test -e second || { touch second; exit 1; }'\nretries = 1\nbackoffSec = 1",
        ),
        stage("S02_run_meanwhile", "command = 'true'"),
    ]));
    let done = project.run();
    assert_eq!(done.code, Some(0), "{done:?}");
    let events = project.events();
    let place = |stage: &str, to: &str, attempt: u32| {
        let is_it = |event: &serde_json::Value| {
            event["stageId"] == stage && event["to"] == to && event["attempt"] == attempt
        };
        events.iter().position(is_it).unwrap()
    };
    let waiting = &events[place("S01_fail_once", "RESUMABLE", 1)];
    assert_eq!(waiting["reason"], "it is tried again in 1 s: exit status 1");
    assert!(place("S02_run_meanwhile", "COMPLETED", 1) < place("S01_fail_once", "RUNNING", 2));
}

/// A condition that does not hold: the plan says so before it runs, and a value that changes it makes the stage run.
#[test]
fn a_stage_may_be_left_out() {
    let project = Project::new(&with_parameters(
        "full = false",
        &[
            stage(
                "S01_load_data",
                "command = 'echo 1 > $CHECKSTONE_ARTIFACT_DIR/a'\noutputs = { a = \"a\" }",
            ),
            stage(
                "S02_load_all",
                "when = \"params.full\"\ncommand = 'echo 2 > $CHECKSTONE_ARTIFACT_DIR/a'\noutputs = { a = \"a\" }",
            ),
            stage("S03_draw_all", "command = 'true'\ninputs = \"S02_load_all/a\""),
        ],
    ));
    let checked = project.output(&["run", "--check"]);
    assert_eq!(checked.stdout, "`plan.toml` is valid: 1 stage; left out: S02_load_all, S03_draw_all\n");
    let dry = |arguments: &[&str]| project.output(&[&["run", "--dry-run"], arguments].concat()).stdout;
    insta::assert_snapshot!(dry(&[]), @"
    S01_load_data  would run: it has not run yet
    S02_load_all   left out: its `when` does not hold, or what it reads is left out
    S03_draw_all   left out: its `when` does not hold, or what it reads is left out
    1 of 1 stage would run
    ");
    assert_eq!(project.run().code, Some(0));
    assert_eq!(project.states(), [("S01_load_data".to_owned(), "COMPLETED".to_owned())]);
    insta::assert_snapshot!(dry(&["--set", "full=true"]), @"
    S01_load_data  made by run `r1`
    S02_load_all   would run: it has not run yet
    S03_draw_all   would run: it has not run yet
    2 of 3 stages would run
    ");
    let done = project.output(&["resume", "r1", "--set", "full=true"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(project.read("reports/study/r1/S02_load_all/a"), "2\n");
}

/// An instance that no run had is new, whatever its letter was used for before.
#[test]
fn an_instance_that_never_ran_has_not_changed() {
    let study = |rates: &str| {
        let train = "forEach = { rate = \"{params.rates}\" }\ncommand = 'echo {params.rate} > $CHECKSTONE_ARTIFACT_DIR/model'";
        with_parameters(&format!("rates = {rates}"), &[stage("S01_train_model", train)])
    };
    let project = Project::new(&study("[0.1, 0.2]"));
    assert_eq!(project.run().code, Some(0));
    project.workplace.write("plan.toml", &study("[0.3, 0.2, 0.4]"));
    let told = project.output(&["run", "--dry-run"]);
    insta::assert_snapshot!(told.stdout, @"
    S01_train_model_a (rate = 0.3)  would run: it has not run yet
    S01_train_model_b (rate = 0.2)  made by run `r1`
    S01_train_model_c (rate = 0.4)  would run: it has not run yet
    2 of 3 stages would run
    ");
    let told = project.output(&["resume", "r1", "--dry-run"]);
    insta::assert_snapshot!(told.stdout, @"
    S01_train_model_a (rate = 0.3)  would run: it has not run yet
    S01_train_model_b (rate = 0.2)  unchanged
    S01_train_model_c (rate = 0.4)  would run: it has not run yet
    2 of 3 stages would run
    ");
    project.workplace.write("plan.toml", &study("[0.3, 0.2]").replace("echo {", "echo  {"));
    let told = project.output(&["run", "--dry-run"]);
    insta::assert_snapshot!(told.stdout, @"
    S01_train_model_a (rate = 0.3)  would run: it has not run yet
    S01_train_model_b (rate = 0.2)  would run: command changed
    2 of 2 stages would run
    ");
}

/// A value that stands twice in a list is one instance, and the person is told where it stands.
#[test]
fn a_value_that_stands_there_again_has_one_instance() {
    let project = Project::new(&plan(&[
        stage(
            "S01_list_parts",
            "command = 'printf \"x\\ny\\n\\nx\\n\" > $CHECKSTONE_ARTIFACT_DIR/parts'\noutputs = { parts = \"parts\" }",
        ),
        stage("S02_train_model", "forEach = { a = [1, 2, 1, 2] }\ncommand = 'true'"),
        stage(
            "S03_train_line",
            "forEach = { a = { lines = \"list.txt\" } }\ncommand = 'echo \"[METRIC:a] $A\"'\nenvironment = { A = \"{params.a}\" }",
        ),
        stage("S04_train_part", "forEach = { a = { lines = \"S01_list_parts/parts\" } }\ncommand = 'true'"),
        stage("S05_test_part", "forEach = \"S03_train_line\"\ncommand = 'true'"),
    ]));
    // As Notepad writes it.
    project.workplace.write("list.txt", "\u{feff}one\r\ntwo\r\n\r\none\r\n");
    let checked = project.output(&["run", "--check"]);
    insta::assert_snapshot!(checked.stderr, @"
    warning: plan.toml:10:13: item 3 is `1`, the same as item 1, and 1 more are repeated; each value has one instance
    warning: plan.toml:15:17: `list.txt`: line 4 is `one`, the same as line 1; each value has one instance
    ");
    let done = project.run();
    insta::assert_snapshot!(without_durations(&done.stdout), @"
    S01_list_parts              COMPLETED
    S02_train_model_a (a = 1)   COMPLETED
    S02_train_model_b (a = 2)   COMPLETED
    S03_train_line_a (a = one)  COMPLETED
    S03_train_line_b (a = two)  COMPLETED
    S05_test_part_a (a = one)   COMPLETED
    S05_test_part_b (a = two)   COMPLETED
    S04_train_part_a (a = x)    COMPLETED
    S04_train_part_b (a = y)    COMPLETED
    run r1 COMPLETED: 9 of 9 stages completed; the artifacts are in `reports/study/r1`; `checkstone report r1` writes the report
    ");
    let warned: Vec<&str> = done.stderr.lines().filter(|line| line.starts_with("warning")).collect();
    assert_eq!(
        warned,
        [
            "warning: plan.toml:10:13: item 3 is `1`, the same as item 1, and 1 more are repeated; each value has one instance",
            "warning: plan.toml:15:17: `list.txt`: line 4 is `one`, the same as line 1; each value has one instance",
            "warning: plan.toml:21:17: `S01_list_parts/parts`: line 4 is `x`, the same as line 1; each value has one instance",
        ]
    );
    let said: Vec<String> =
        project.events().iter().filter_map(|event| event["marker"].as_str().map(str::to_owned)).collect();
    assert_eq!(said, ["[METRIC:a] one", "[METRIC:a] two"]);
}
