//! Plans: what is read, and every mistake with its line.

use std::time::Duration;

use run::plan::{InputSource, Plan, Program, TEMPLATES, Template};

fn problems(text: &str) -> Vec<String> {
    let root = tempfile::tempdir().unwrap();
    problems_in(root.path(), text)
}

fn problems_in(root: &std::path::Path, text: &str) -> Vec<String> {
    match Plan::read("plan.toml", text, root) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.0.iter().map(ToString::to_string).collect(),
    }
}

fn stage(more: &str) -> String {
    format!(
        "title = \"t\"\n[[stage]]\nstageId = \"S01_load_data\"\ngoal = \"Load the data of the study\"\ncommand = \"true\"\n{more}"
    )
}

#[test]
fn a_plan_is_read_with_its_defaults() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("raw.csv"), "1\n").unwrap();
    let text = r#"
title = "study"
[[stage]]
stageId = "S01_load_data"
goal = "Load the data of the study"
command = ["cp", "raw.csv", "x"]
inputs = { raw = "raw.csv" }
outputs = { table = "tables/data.csv" }
[[stage]]
stageId = "S002_train_model"
goal = "Train the model on the data"
command = "train"
inputs = { table = "S01_load_data/tables/data.csv" }
maxDurationSec = 1
retries = 2
checkpointAfter = false
"#;
    let plan = Plan::read("plan.toml", text, root.path()).unwrap();
    assert_eq!(plan.title, "study");
    let [load, train] = plan.stages.as_slice() else { panic!("{plan:?}") };
    assert_eq!(load.max_duration, Duration::from_secs(240));
    assert!(load.is_retryable && load.checkpoint_after && load.retries == 0);
    assert_eq!(load.grace.interrupt, Duration::from_secs(5));
    assert_eq!(load.grace.terminate, Duration::from_secs(3));
    assert_eq!(load.command, Program::Words(vec!["cp".into(), "raw.csv".into(), "x".into()]));
    // What a stage reads from another one is what it depends on.
    assert_eq!(train.dependencies, [0]);
    let from = InputSource::Output { stage: 0, path: "tables/data.csv".to_owned() };
    assert_eq!(train.inputs[0].source, from);
    assert_eq!(train.inputs[0].variable(), "CHECKSTONE_INPUT_TABLE");
    assert_eq!((train.max_duration, train.retries), (Duration::from_secs(1), 2));
    assert!(plan.warnings.is_empty());
}

#[test]
fn all_mistakes_are_told_at_once_with_their_lines() {
    let text = r#"titel = "study"
[[stage]]
stageId = "S1_load"
goal = "Short"
command = []
[[stage]]
stageId = "S02_train_model"
goal = "Train the model on the data"
command = "train"
maxDurationsec = 30
maxDurationSec = 601
dependencies = ["S02_trian_model", "S03_evaluate_model"]
inputs = { table = "S03_evaluate_model/modle.bin", raw = "raw.csv" }
[[stage]]
stageId = "S03_evaluate_model"
goal = "Evaluate the model on the data"
command = "evaluate"
outputs = { one = "model.bin", two = "model.bin" }
dependencies = ["S02_train_model"]
[[stage]]
stageId = "S03_evaluate_model"
goal = "Evaluate the model on the data"
"#;
    assert_eq!(
        problems(text),
        [
            "plan.toml:1:1: unknown key `titel`; did you mean `title`?",
            "plan.toml:1:1: the plan has no `title`",
            "plan.toml:3:11: `S1_load` is not a stage id; write it like `S01_load_data`: number, verb, noun",
            "plan.toml:4:8: a goal is 10 to 200 characters long; this one has 5",
            "plan.toml:5:11: `[]` is not something to run",
            "plan.toml:6:1: these stages wait for each other: S02_train_model → S03_evaluate_model → S02_train_model",
            "plan.toml:10:1: unknown key `maxDurationsec`; did you mean `maxDurationSec`?",
            "plan.toml:11:18: a stage may take more than 600 s only if it prints `[CHECKPOINT:saved:…]` along the way and \
             sets `midStageCheckpoints = true`",
            "plan.toml:12:17: there is no stage `S02_trian_model`; did you mean `S02_train_model`?",
            "plan.toml:13:20: `S03_evaluate_model` has no output `modle.bin`; did you mean `model.bin`?",
            "plan.toml:13:58: `raw.csv` does not exist",
            "plan.toml:18:38: the output `model.bin` collides with `model.bin`",
            "plan.toml:20:1: `[[stage]]` has no `command`",
            "plan.toml:21:11: `S03_evaluate_model` is defined twice; the first is the stage on line 14",
        ]
    );
}

#[test]
fn no_name_and_no_path_leaves_its_place() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "x").unwrap();
    let root = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), root.path().join("link")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret"), root.path().join("file")).unwrap();
    let absolute = outside.path().join("secret");
    for more in [
        "outputs = { a = \"../x\" }",
        "outputs = { a = \"/etc/passwd\" }",
        "outputs = { a = \"a/../../x\" }",
        "outputs = { a = \"a//b\" }",
        "outputs = { a = \"CON\" }",
        "outputs = { a = \"a\\u0000b\" }",
        "outputs = { a = \"\" }",
        "outputs = { a = \"a\", b = \"a/b\" }",
        "outputs = { a = \"e\\u0301\", b = \"\\u00e9\" }",
        "inputs = { a = \"../secret\" }",
        "inputs = { a = \"link/secret\" }",
        "inputs = { a = \"file\" }",
        &format!("inputs = {{ a = \"{}\" }}", absolute.display()),
        "inputs = { \"a-b\" = \"plan\" }",
        "inputs = { a = \"plan\", A = \"plan\" }",
        "directory = \"..\"",
        "directory = \"/tmp\"",
        "directory = \"link\"",
        "directory = \"plan\"",
        "environment = { CHECKSTONE_RUN_ID = \"x\" }",
        "environment = { \"a=b\" = \"x\" }",
        "command2 = 1",
        "retryable = false\nretries = 1",
        "kind = \"notebook\"",
        "dependencies = [\"S01_load_data\"]",
        "grace = { interruptSec = 31 }",
        "stall = { interrupt = \"kill\" }",
    ] {
        std::fs::write(root.path().join("plan"), "").unwrap();
        let told = problems_in(root.path(), &stage(more));
        assert_eq!(told.len(), 1, "{more}: {told:#?}");
    }
    for title in ["..", ".hidden", "a/b", "", "x\\u0000", "con"] {
        let told = problems(&stage("").replace("title = \"t\"", &format!("title = \"{title}\"")));
        assert_eq!(told.len(), 1, "{title}: {told:#?}");
    }
    assert_eq!(problems(&stage("")), Vec::<String>::new());
}

/// A stage's id names a folder, so that it is no longer than a name may be.
#[test]
fn an_id_that_is_too_long_is_told() {
    let plan = |noun: usize| stage("").replace("S01_load_data", &format!("S01_load_{}", "d".repeat(noun)));
    assert_eq!(problems(&plan(246)), Vec::<String>::new());
    assert_eq!(problems(&plan(247)).len(), 1);
}

#[test]
fn carriage_returns_of_the_file_are_no_part_of_a_command() {
    let text = stage("").replace("\"true\"", "'''\necho a\necho b'''").replace('\n', "\r\n");
    let root = tempfile::tempdir().unwrap();
    let plan = Plan::read("plan.toml", &text, root.path()).unwrap();
    assert_eq!(plan.stages[0].command, Program::Shell("echo a\necho b".to_owned()));
    assert_eq!(
        problems(&text.replace("Load the data of the study", "x"))[0].split(':').nth(1),
        Some("4"),
        "lines are what they were"
    );
}

#[test]
fn a_text_that_is_not_toml_is_told_once() {
    assert_eq!(problems("title = \n").len(), 1);
    assert_eq!(problems("").len(), 2, "no title, no stage");
}

/// Success criterion 1: nothing runs for more than four minutes without a checkpoint, unless somebody was told.
#[test]
fn a_long_stage_without_checkpoints_of_its_own_is_warned_about() {
    let root = tempfile::tempdir().unwrap();
    let warnings = |more: &str| Plan::read("plan.toml", &stage(more), root.path()).unwrap().warnings.len();
    assert_eq!(warnings(""), 0);
    assert_eq!(warnings("maxDurationSec = 240"), 0);
    assert_eq!(warnings("maxDurationSec = 241"), 1);
    assert_eq!(warnings("maxDurationSec = 600\nmidStageCheckpoints = true"), 0);
    assert_eq!(warnings("maxDurationSec = 600\nunchecked = true"), 1, "which the report shows");
    let day =
        Plan::read("plan.toml", &stage("maxDurationSec = 86400\nmidStageCheckpoints = true"), root.path());
    assert_eq!(day.unwrap().stages[0].max_duration, Duration::from_secs(86_400));
}

#[test]
fn the_templates_are_sound_plans() {
    let root = tempfile::tempdir().unwrap();
    for template in TEMPLATES {
        let plan = Plan::read(template.kind, &template.text("mine"), root.path()).unwrap();
        assert_eq!(plan.title, "mine");
        assert!(plan.warnings.is_empty());
    }
    assert!(Template::of_kind("nothing").is_none());
}

#[test]
fn a_plan_may_have_ten_thousand_stages() {
    let mut text = "title = \"t\"\n".to_owned();
    for number in 0..10_000 {
        let before = if number == 0 {
            String::new()
        } else {
            format!("dependencies = [\"S{:05}_do_work\"]\n", number - 1)
        };
        text.push_str(&format!(
            "[[stage]]\nstageId = \"S{number:05}_do_work\"\ngoal = \"Do the work of this stage\"\ncommand = [\"true\"]\noutputs = {{ a = \"a.txt\" }}\n{before}"
        ));
    }
    let root = tempfile::tempdir().unwrap();
    let plan = Plan::read("plan.toml", &text, root.path()).unwrap();
    assert_eq!(plan.stages.len(), 10_000);
}
