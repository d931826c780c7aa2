//! What a report says after runs that took results over, went on with another plan, or left files that are hard to read.

use super::{Project, plan, stage};

fn block(project: &Project, run: &str, name: &str) -> String {
    let done = project.output(&["report", run]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let report = project.read("reports/study/README.md");
    let (_, rest) = report.split_once(&format!("<!-- GYOSHU:REPORT:{name}:BEGIN -->\n")).unwrap();
    rest.split_once("<!-- GYOSHU:REPORT:").unwrap().0.to_owned()
}

fn run(project: &Project, plan: &str, arguments: &[&str]) {
    project.workplace.write("plan.toml", plan);
    let done = project.output(arguments);
    assert_eq!(done.code, Some(0), "{done:?}");
}

fn scores(seeds: &str) -> String {
    let train =
        format!("forEach = {{ seed = {seeds} }}\ncommand = 'echo \"[METRIC:score] {{params.seed}}0\"'");
    plan(&[stage("S01_train_model", &train)])
}

/// What a stage told of its result is taken over with it, also by a run that takes it from one that took it over.
#[test]
fn what_was_told_is_taken_over_with_the_result() {
    let project = Project::new("");
    run(&project, &scores("[1, 2]"), &["run", "--id", "r1"]);
    // As a cell that shows a plot leaves it.
    let shown = r#"{"type":"display_data","content":{"data":{"image/svg+xml":"<svg/>"}}}"#;
    project.workplace.write("reports/study/r1/.attempts/S01_train_model_a/1/displays.jsonl", shown);
    run(&project, &scores("[3, 2, 1]"), &["run", "--id", "r2"]);
    insta::assert_snapshot!(block(&project, "r2", "METRICS"), @"
    ## Performance Metrics

    `S01_train_model`

    | Parameters | score | Stage |
    |---|---|---|
    | seed = 3 | 30 | S01_train_model_a |
    | seed = 2 | 20 | S01_train_model_b |
    | seed = 1 | 10 | S01_train_model_c |
    ");
    assert_eq!(project.read("reports/study/r2/.figures/S01_train_model_c-1.svg"), "<svg/>");
    run(&project, &scores("[1]"), &["run", "--id", "r3"]);
    let compared = project.output(&["report", "--compare", "r1", "r3", "--json"]).stdout;
    let compared: serde_json::Value = serde_json::from_str(&compared).unwrap();
    let values = |value: &serde_json::Value| {
        ["stage", "a", "b"].map(|key| value[key].as_str().unwrap_or("-").to_owned()).join(" | ")
    };
    let metrics: Vec<String> = compared["metrics"].as_array().unwrap().iter().map(values).collect();
    assert_eq!(metrics, ["S01_train_model (seed = 2) | 20 | -", "S01_train_model (seed = 1) | 10 | 10"]);
}

/// Each attempt has the parameters that it had, and what is no longer in the plan is never accepted.
#[test]
fn another_list_leaves_the_old_values_with_their_parameters() {
    let project = Project::new("");
    run(&project, &scores("[1, 2]"), &["run", "--id", "r1"]);
    run(&project, &scores("[3]"), &["resume", "r1"]);
    insta::assert_snapshot!(block(&project, "r1", "METRICS"), @"
    ## Performance Metrics

    `S01_train_model`

    | Parameters | score | Stage |
    |---|---|---|
    | seed = 3 | 30 | S01_train_model_a |
    | seed = 1 | 10 | S01_train_model_a (attempt 1, superseded) |
    | seed = 2 | 20 | S01_train_model_b (attempt 1, no longer in the plan) |
    ");
    insta::assert_snapshot!(sandbox::without_durations(block(&project, "r1", "EXECUTION_HISTORY")), @r"
    ## Execution History

    | Stage | Status | Duration |
    |-------|--------|----------|
    | S01_train_model_a (seed = 1) | ✅ completed, superseded | [duration] |
    | S01_train_model_a (seed = 3) | ✅ completed | [duration] |
    | S01_train_model_b (seed = 2) | ✅ completed, no longer in the plan | [duration] |

    - Resumed: once. Stages that were already done and not run again: 0.
    - Warning: no longer in the plan, and still in \`reports/study/r1\`: \`S01_train_model_b\`
    ");
}

#[test]
fn a_renamed_stage_and_one_that_fails_at_its_second_attempt() {
    let project = Project::new("");
    let first = |name: &str| {
        let rows = "command = 'echo \"[METRIC:rows] 7\"; echo 1 > $CHECKSTONE_ARTIFACT_DIR/rows.csv'";
        let check = "command = 'echo \"[METRIC:gaps] 0\"; echo \"{\\\"mean\\\": 1}\" > \
                     $CHECKSTONE_ARTIFACT_DIR/metrics.json; test ! -e broken'";
        plan(&[stage(name, rows), stage("S02_check_data", check)])
    };
    run(&project, &first("S01_load_data"), &["run", "--id", "r1"]);
    project.workplace.write("broken", "");
    project.workplace.write("plan.toml", &first("S01_read_data"));
    let failed = project.output(&["resume", "r1", "--again", "S02_check_data"]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    insta::assert_snapshot!(block(&project, "r1", "METRICS"), @"
    ## Performance Metrics

    | Stage | Metric | Value | Attempt |
    |---|---|---|---|
    | S01_read_data | rows | 7 | accepted |
    | S02_check_data | gaps | 0 | attempt 1, before the re-run |
    | S02_check_data | gaps | 0 | attempt 2, failed |
    | S02_check_data | mean | 1 | attempt 1, before the re-run |
    | S01_load_data | rows | 7 | attempt 1, no longer in the plan |
    ");
    insta::assert_snapshot!(block(&project, "r1", "ARTIFACTS"), @"
    ## Output Files

    - [`r1/S01_read_data/rows.csv`](r1/S01_read_data/rows.csv) (2 B)
    - [`r1/S02_check_data/metrics.json`](r1/S02_check_data/metrics.json) (12 B, before the re-run)
    - [`r1/S01_load_data/rows.csv`](r1/S01_load_data/rows.csv) (2 B, no longer in the plan)
    ");
    let summary = block(&project, "r1", "EXEC_SUMMARY");
    let status = summary.lines().find_map(|line| line.split_once(" (run")).unwrap().0;
    assert_eq!(status, "**Status**: FAILED, 1 of 2 stages completed");
}

/// Python's `json` writes numbers that JSON does not have.
#[test]
fn values_that_are_no_numbers_are_shown_and_a_torn_file_is_named() {
    let project = Project::new("");
    let train = r#"command = ['sh', '-c', '''
cd $CHECKSTONE_ARTIFACT_DIR
echo '{"loss": NaN, "range": [-Infinity, Infinity], "note": "NaN, \"-Infinity\"", "seed": 1}' > metrics.json
echo '{"loss": ' > torn-metrics.json
echo "[METRIC:acc] 0.12"
echo "[METRIC:acc:split=test] 0.9"
for epoch in $(seq 15); do echo "[METRIC:error:epoch=$epoch] 0.$epoch"; done
''']"#;
    run(&project, &plan(&[stage("S01_train_model", train)]), &["run", "--id", "r1"]);
    insta::assert_snapshot!(block(&project, "r1", "METRICS"), @r#"
    ## Performance Metrics

    | Stage | Metric | Value |
    |---|---|---|
    | S01_train_model | acc | 0.12 |
    | S01_train_model | acc (split = test) | 0.9 |
    | S01_train_model | error | 0.15 |
    | S01_train_model | loss | NaN |
    | S01_train_model | range | -Infinity, Infinity |
    | S01_train_model | note | NaN, "-Infinity" |
    | S01_train_model | seed | 1 |
    "#);
    let history = block(&project, "r1", "EXECUTION_HISTORY");
    let warnings: Vec<&str> = history.lines().filter(|line| line.starts_with("- Warning")).collect();
    assert_eq!(
        warnings,
        [
            "- Warning: the metrics in \\`S01_train_model/torn-metrics.json\\` cannot be read: EOF while parsing a value at line 2 column 0"
        ]
    );
}

#[test]
fn a_run_whose_stages_are_all_left_out_says_so() {
    let project = Project::new("");
    let all = plan(&[stage("S01_load_data", "when = \"params.full\"\ncommand = 'true'")]);
    let all = all.replacen('\n', "\n[params]\nfull = false\n", 1);
    project.workplace.write("plan.toml", &all);
    let done = project.run();
    assert_eq!(
        (done.code, done.stdout.as_str()),
        (Some(0), "run r1 COMPLETED: there was nothing to run: `when` leaves out every stage\n")
    );
    let summary = block(&project, "r1", "EXEC_SUMMARY");
    let status = summary.lines().find_map(|line| line.split_once(" (run")).unwrap().0;
    assert_eq!(status, "**Status**: COMPLETED, there was nothing to run: `when` leaves out every stage");
}

/// A stage that says all of its figures at once loses none of them, whatever it says of its progress meanwhile.
#[test]
fn figures_come_as_fast_as_they_are_made() {
    let project = Project::new(&plan(&[stage(
        "S01_train_model",
        "command = 'for n in $(seq 60); do echo \"[STAGE:progress:pct=$n]\"; echo \"[METRIC:m$n] $n\"; done'",
    )]));
    assert_eq!(project.run().code, Some(0));
    let said = project
        .events()
        .iter()
        .filter_map(|event| event["marker"].as_str().map(str::to_owned))
        .collect::<Vec<_>>();
    let metrics: Vec<&String> = said.iter().filter(|marker| marker.starts_with("[METRIC")).collect();
    assert_eq!(
        metrics,
        (1..=60).map(|n| format!("[METRIC:m{n}] {n}")).collect::<Vec<_>>().iter().collect::<Vec<_>>()
    );
    // Of its progress nobody can follow more than some.
    assert!(said.len() < 120, "{said:?}");
}

#[test]
fn figures_that_are_too_many_are_told() {
    let project = Project::new(&plan(&[stage(
        "S01_train_model",
        "command = 'seq 10003 | sed \"s/.*/[METRIC:loss:step=&] &/\"'",
    )]));
    let done = project.run();
    assert_eq!(done.code, Some(0), "{done:?}");
    let warned: Vec<&str> =
        done.stderr.lines().filter(|line| line.starts_with("S01_train_model  warning")).collect();
    assert_eq!(
        warned,
        [
            "S01_train_model  warning: 3 markers are only in its output, and missing in the report: at most 10000 per attempt are \
          recorded; write figures into `metrics.json`"
        ]
    );
}
