//! From what is written to the stages that run: parameters, fan-outs, conditions, and every mistake with its line.

use run::plan::{InputSource, Plan, Program, SetParameter};

fn stage(id: &str, more: &str) -> String {
    format!("[[stage]]\nstageId = \"{id}\"\ngoal = \"Something that a test needs\"\n{more}\n")
}

fn plan(top: &str, stages: &[String]) -> String {
    format!("title = \"t\"\n{top}\n{}", stages.concat())
}

fn set(arguments: &[&str]) -> Vec<SetParameter> {
    arguments.iter().map(|argument| SetParameter::of_argument(argument).unwrap()).collect()
}

fn read(root: &std::path::Path, text: &str, arguments: &[&str]) -> Plan {
    Plan::read_with("plan.toml", text, root, &set(arguments)).unwrap_or_else(|problems| panic!("{problems}"))
}

fn problems(root: &std::path::Path, text: &str, arguments: &[&str]) -> Vec<String> {
    match Plan::read_with("plan.toml", text, root, &set(arguments)) {
        Ok(plan) => panic!("{plan:?}"),
        Err(problems) => problems.0.iter().map(ToString::to_string).collect(),
    }
}

fn ids(plan: &Plan) -> Vec<&str> {
    plan.stages.iter().map(|stage| stage.id.as_str()).collect()
}

fn shell(plan: &Plan) -> Vec<String> {
    plan.stages.iter().map(|stage| stage.command.argv().last().cloned().unwrap()).collect()
}

#[test]
fn parameters_are_filled_in_and_can_be_set() {
    let root = tempfile::tempdir().unwrap();
    let text = plan(
        "[params]\nlr = 1e-4\nname = \"two words\"\n[params.model]\ndepth = 3",
        &[stage(
            "S01_train_model",
            "command = [\"train\", \"--lr={params.lr}\", \"{params.name}\"]\nverify = 'test {params.lr} {{params.lr}}'\n\
             environment = { NAME = \"{params.name}\", DEPTH = \"{params.model.depth}\" }",
        )],
    );
    let read_one = |arguments: &[&str]| read(root.path(), &text, arguments).stages.remove(0);
    let stage = read_one(&[]);
    assert_eq!(stage.command, Program::Words(vec!["train".into(), "--lr=1e-4".into(), "two words".into()]));
    assert_eq!(stage.verify, Some(Program::Shell("test 1e-4 {params.lr}".into())));
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(stage.environment, [pair("NAME", "two words"), pair("DEPTH", "3")]);
    let stage = read_one(&["lr=0.5", "model.depth=9", "lr=0.6"]);
    assert_eq!(stage.verify, Some(Program::Shell("test 0.6 {params.lr}".into())));
    assert_eq!(stage.environment, [pair("NAME", "two words"), pair("DEPTH", "9")]);
}

#[test]
fn mistakes_with_parameters_have_their_line() {
    let root = tempfile::tempdir().unwrap();
    let text = plan(
        "[params]\nlr = 1\nname = \"$(rm -rf x)\"\nday = 2026-01-01\nseeds = [1]",
        &[
            stage("S01_train_model", "command = 'train {params.rl}'"),
            stage("S02_train_model", "command = 'train {params.name}'"),
            stage("S03_train_model", "command = ['train', '{params.seeds}']"),
        ],
    );
    assert_eq!(
        problems(root.path(), &text, &["leraning=1", "seds=[2]"]),
        [
            "plan.toml:2:2: the plan has no parameter `leraning` to set",
            "plan.toml:2:2: the plan has no parameter `seds` to set; did you mean `seeds`?",
            "plan.toml:5:7: `2026-01-01` is not a text, a number, true, false or a list of these",
            "plan.toml:10:11: there is no parameter `rl`; did you mean `lr`?",
            "plan.toml:14:11: `$(rm -rf x)` of the parameter `name` cannot be part of a text for the shell or for \
             Python: set an environment variable to it, or write the command as a list of words",
            "plan.toml:18:11: the parameter `seeds` is a list; `forEach` takes one value at a time",
        ]
    );
    let told =
        SetParameter::of_file("small.toml", "lr = 0.1\n\nday = 2026-01-01\n\"a b\" = 1\n").unwrap_err();
    assert_eq!(
        told.to_string(),
        "small.toml:3:7: `2026-01-01` is not a text, a number, true, false or a list of these\n\
         small.toml:4:1: `a b` cannot be a parameter; use letters, digits, `_` and `-`"
    );
    let set = SetParameter::of_file("small.toml", "\n\nrl = 0.1\n").unwrap();
    let text = plan("[params]\nlr = 1", &[stage("S01_train_model", "command = 'true'")]);
    let told = Plan::read_with("plan.toml", &text, root.path(), &set).unwrap_err();
    assert_eq!(told.to_string(), "small.toml:3:1: the plan has no parameter `rl` to set; did you mean `lr`?");
}

#[test]
fn each_combination_is_a_stage_of_its_own() {
    let root = tempfile::tempdir().unwrap();
    let text = plan(
        "[params]\nseeds = [1, 2]",
        &[
            stage(
                "S01_train_model",
                "forEach = { lr = [0.1, 0.01], seed = \"{params.seeds}\" }\n\
                 command = 'train {params.lr} {params.seed}'\noutputs = { metrics = \"metrics.json\" }",
            ),
            stage(
                "S02_score_model",
                "forEach = \"S01_train_model\"\ncommand = 'score {params.seed}'\n\
                 inputs = { metrics = \"S01_train_model/metrics\" }\noutputs = { score = \"score\" }",
            ),
            stage("S03_compare_models", "command = 'compare'\ninputs = \"S02_score_model/*/score\""),
            stage("S04_send_mail", "command = 'mail'\ndependencies = [\"S01_train_model\"]"),
        ],
    );
    let plan = read(root.path(), &text, &[]);
    assert_eq!(
        shell(&plan),
        [
            "train 0.1 1",
            "train 0.1 2",
            "train 0.01 1",
            "train 0.01 2",
            "score 1",
            "score 2",
            "score 1",
            "score 2",
            "compare",
            "mail"
        ]
    );
    assert_eq!(
        ids(&plan),
        [
            "S01_train_model_a",
            "S01_train_model_b",
            "S01_train_model_c",
            "S01_train_model_d",
            "S02_score_model_a",
            "S02_score_model_b",
            "S02_score_model_c",
            "S02_score_model_d",
            "S03_compare_models",
            "S04_send_mail",
        ]
    );
    assert_eq!(plan.stages[2].parameters_in_words(), "lr = 0.01, seed = 1");
    assert_eq!(plan.stages[6].parameters_in_words(), "lr = 0.01, seed = 1");
    assert_eq!(plan.stages[6].dependencies, [2]);
    let own = InputSource::Output { stage: 2, path: "metrics.json".to_owned() };
    assert_eq!(plan.stages[6].inputs[0].source, own);
    let gathered = InputSource::Gathered { stages: vec![4, 5, 6, 7], path: "score".to_owned() };
    assert_eq!(plan.stages[8].inputs[0].source, gathered);
    assert_eq!(plan.stages[8].inputs[0].variable(), "CHECKSTONE_INPUT_SCORE");
    assert_eq!(plan.stages[9].dependencies, [0, 1, 2, 3]);
}

/// Known only when the stage that makes the list is complete.
#[test]
fn a_fan_out_over_an_output_waits_for_it() {
    let root = tempfile::tempdir().unwrap();
    let text = plan(
        "",
        &[
            stage(
                "S01_list_parts",
                "command = 'list'\noutputs = { parts = \"parts.txt\", tables = \"tables/\" }",
            ),
            stage(
                "S02_load_part",
                "forEach = { part = { lines = \"S01_list_parts/parts.txt\" } }\ncommand = 'load {params.part}'\n\
                 outputs = { rows = \"rows\" }",
            ),
            stage(
                "S03_load_table",
                "forEach = { table = { files = \"S01_list_parts/tables\" } }\ncommand = 'load'\n\
                 inputs = { table = \"S01_list_parts/tables/{params.table}\" }",
            ),
            stage("S04_add_rows", "command = 'add'\ninputs = \"S02_load_part/*/rows\""),
            stage("S05_send_mail", "command = 'mail'"),
        ],
    );
    let plan = read(root.path(), &text, &[]);
    assert_eq!(ids(&plan), ["S01_list_parts", "S05_send_mail"]);
    let waiting: Vec<String> = plan.waiting().into_iter().map(|waiting| waiting.id).collect();
    assert_eq!(waiting, ["S02_load_part", "S03_load_table", "S04_add_rows"]);

    let published = root.path().join("published");
    let write = |path: &str, text: &str| {
        let path = published.join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    };
    write("parts.txt", "north\n\n  7 \r\n");
    write("tables/a.csv", "");
    write("tables/more/b.csv", "");
    assert_eq!(plan.grown(1, &published).map(|grown| grown.is_some()), Ok(false));
    let grown = plan.grown(0, &published).unwrap().unwrap();
    assert_eq!(
        ids(&grown),
        [
            "S01_list_parts",
            "S05_send_mail",
            "S02_load_part_a",
            "S02_load_part_b",
            "S03_load_table_a",
            "S03_load_table_b",
            "S04_add_rows",
        ]
    );
    assert_eq!(shell(&grown)[2..4], ["load north", "load 7"]);
    let table = InputSource::Output { stage: 0, path: "tables/more/b.csv".to_owned() };
    assert_eq!(grown.stages[5].inputs[0].source, table);
    assert_eq!(grown.stages[6].dependencies, [2, 3]);
    assert_eq!(grown.waiting(), []);

    let refused = |text: &str| {
        write("parts.txt", text);
        plan.grown(0, &published).unwrap_err().to_string()
    };
    assert_eq!(refused("\n"), "plan.toml:11:20: there is nothing to run it for: the list of `part` is empty");
    assert_eq!(
        refused(&"x\n".repeat(100_000)),
        "plan.toml:11:20: it would have more than 10000 instances; the limit is 10000, which `maxInstances` sets"
    );
    assert_eq!(
        refused("a b\n"),
        "plan.toml:12:11: `a b` of the parameter `part` cannot be part of a text for the shell or for Python: set an \
         environment variable to it, or write the command as a list of words"
    );
}

#[test]
fn mistakes_in_fan_outs_have_their_line() {
    let root = tempfile::tempdir().unwrap();
    let check = |stages: &[String], expected: &[&str]| {
        assert_eq!(problems(root.path(), &plan("[params]\nlr = 1\nnone = []", stages), &[]), expected);
    };
    let train = |each: &str| {
        stage("S01_train_model", &format!("forEach = {each}\ncommand = 'true'\noutputs = {{ a = \"a\" }}"))
    };
    check(
        &[train("{ x = [] }")],
        &["plan.toml:8:13: there is nothing to run it for: the list of `x` is empty"],
    );
    check(
        &[train("{ x = \"{params.none}\" }")],
        &["plan.toml:8:17: there is nothing to run it for: the list of `x` is empty"],
    );
    check(&[train("{ x = \"{params.lr}\" }")], &["plan.toml:8:17: the parameter `lr` is not a list"]);
    check(
        &[train("{ x = \"{params.nome}\" }")],
        &["plan.toml:8:17: there is no parameter `nome`; did you mean `none`?"],
    );
    check(&[train("{ x = { lines = \"parts.txt\" } }")], &["plan.toml:8:17: `parts.txt` does not exist"]);
    check(
        &[train("{ x = 3 }")],
        &[
            "plan.toml:8:17: `3` is not a list, `\"{params.NAME}\"`, `{ lines = \"FILE\" }` or `{ files = \"FOLDER\" }`",
        ],
    );
    check(
        &[train("\"S02_tune_model\""), stage("S02_tune_models", "command = 'true'")],
        &["plan.toml:8:11: there is no stage `S02_tune_model`; did you mean `S02_tune_models`?"],
    );
    let many = (0..101).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
    check(
        &[train(&format!("{{ x = [{many}], y = [{many}] }}"))],
        &["plan.toml:8:13: it would have 10201 instances; the limit is 10000, which `maxInstances` sets"],
    );
    check(
        &[train("{ x = [1] }"), stage("S01_train_model_a", "command = 'true'")],
        &["plan.toml:6:11: an instance would be called `S01_train_model_a`, which is another stage"],
    );
    check(
        &[train("{ x = [1] }"), stage("S02_use_model", "command = 'true'\ninputs = \"S01_train_model/a\"")],
        &[
            "plan.toml:15:10: `S01_train_model` has instances; write `S01_train_model/*/a` for all of them, or \
           `forEach = \"S01_train_model\"` for each",
        ],
    );
    check(
        &[
            stage("S01_make_one", "command = 'true'\noutputs = { a = \"a\" }"),
            stage("S02_use_model", "command = 'true'\ninputs = \"S01_make_one/*/a\""),
        ],
        &["plan.toml:14:10: `S01_make_one` has no instances; write `S01_make_one/a`"],
    );
    check(
        &[
            train("{ x = { lines = \"S02_list_all/all\" } }"),
            stage(
                "S02_list_all",
                "command = 'true'\ninputs = \"S01_train_model/*/a\"\noutputs = { all = \"all\" }",
            ),
        ],
        &[
            "plan.toml:5:1: these stages wait for each other: S01_train_model → S02_list_all → S01_train_model",
        ],
    );
    // Through pairs, through gathered outputs, and with itself.
    check(
        &[
            train("\"S02_score_model\""),
            stage("S02_score_model", "command = 'true'\nforEach = \"S01_train_model\""),
        ],
        &[
            "plan.toml:5:1: these stages wait for each other: S01_train_model → S02_score_model → S01_train_model",
        ],
    );
    check(
        &[
            train("{ x = [1, 2] }").replace("outputs", "inputs = \"S02_add_models/sum\"\noutputs"),
            stage(
                "S02_add_models",
                "command = 'true'\ninputs = \"S01_train_model/*/a\"\noutputs = { sum = \"sum\" }",
            ),
        ],
        &[
            "plan.toml:5:1: these stages wait for each other: S01_train_model → S02_add_models → S01_train_model",
        ],
    );
    check(
        &[train("{ x = { lines = \"S01_train_model/a\" } }")],
        &[
            "plan.toml:5:1: these stages wait for each other: S01_train_model → S01_train_model",
            "plan.toml:8:17: `S01_train_model` has instances; a list must come from a single stage",
        ],
    );
    check(
        &[
            train("{ x = { lines = \"S02_list_all/al\" } }"),
            stage("S02_list_all", "command = 'true'\noutputs = { all = \"all\" }"),
        ],
        &["plan.toml:8:17: `S02_list_all` has no output `al`; did you mean `all`?"],
    );
    check(
        &[
            train("{ x = { lines = \"S02_list_all/all\" } }").replace("'true'", "'echo {params.yesterday}'"),
            stage("S02_list_all", "command = 'true'\noutputs = { all = \"all\" }"),
        ],
        &["plan.toml:9:11: there is no parameter `yesterday`"],
    );
}

#[test]
fn what_is_left_out_takes_its_readers_along() {
    let root = tempfile::tempdir().unwrap();
    let text = plan(
        "[params]\nfull = false\nmodel = \"linear\"",
        &[
            stage("S01_load_all", "when = \"params.full\"\ncommand = 'true'\noutputs = { a = \"a\" }"),
            stage("S02_use_all", "command = 'true'\ninputs = \"S01_load_all/a\""),
            stage("S03_follow_all", "command = 'true'\ndependencies = [\"S01_load_all\"]"),
            stage(
                "S04_train_model",
                "forEach = { x = [1, 2, 3] }\nwhen = \"params.x != 2\"\ncommand = 'true'\noutputs = { a = \"a\" }",
            ),
            stage(
                "S05_score_model",
                "forEach = \"S04_train_model\"\ncommand = 'true'\ninputs = \"S04_train_model/a\"",
            ),
            stage("S06_plot_tree", "when = \"params.model == tree\"\ncommand = 'true'"),
        ],
    );
    let plan_without = read(root.path(), &text, &[]);
    assert_eq!(
        ids(&plan_without),
        [
            "S03_follow_all",
            "S04_train_model_a",
            "S04_train_model_c",
            "S05_score_model_a",
            "S05_score_model_c"
        ]
    );
    assert_eq!(plan_without.left_out, ["S01_load_all", "S02_use_all", "S06_plot_tree"]);
    // A list that is not made is not waited for.
    let text_of_lists = plan(
        "[params]\nfull = false",
        &[
            stage("S01_list_all", "when = \"params.full\"\ncommand = 'true'\noutputs = { a = \"a\" }"),
            stage(
                "S02_train_all",
                "forEach = { x = { lines = \"S01_list_all/a\" } }\ncommand = 'true'\noutputs = { a = \"a\" }",
            ),
            stage("S03_add_all", "command = 'true'\ninputs = \"S02_train_all/*/a\""),
            stage("S04_follow_all", "command = 'true'\ndependencies = [\"S02_train_all\"]"),
        ],
    );
    let without_lists = read(root.path(), &text_of_lists, &[]);
    assert_eq!(ids(&without_lists), ["S04_follow_all"]);
    assert_eq!(without_lists.left_out, ["S01_list_all", "S02_train_all", "S03_add_all"]);
    assert_eq!(without_lists.waiting(), []);
    assert_eq!(read(root.path(), &text_of_lists, &["full=true"]).waiting().len(), 3);
    let plan_with = read(root.path(), &text, &["full=true", "model=tree"]);
    assert_eq!(plan_with.left_out, Vec::<String>::new());
    assert_eq!(plan_with.stages.len(), 8);
    let told = problems(root.path(), &text.replace("params.full\"", "full\""), &[]);
    assert_eq!(
        told,
        [
            "plan.toml:8:8: `full` is not a condition; write `params.NAME`, `not params.NAME`, `params.NAME == VALUE` or `!=`"
        ]
    );
}

#[test]
fn outputs_may_be_paths_alone() {
    let root = tempfile::tempdir().unwrap();
    let text = plan(
        "",
        &[
            stage("S01_load_data", "command = 'true'\noutputs = [\"table.csv\", \"parts/\"]"),
            stage(
                "S02_fit_model",
                "command = 'true'\ninputs = [\"S01_load_data/table\", \"S01_load_data/parts/a.csv\"]",
            ),
        ],
    );
    let read_plan = read(root.path(), &text, &[]);
    let outputs: Vec<(&str, &str)> = read_plan.stages[0]
        .outputs
        .iter()
        .map(|output| (output.name.as_str(), output.path.as_str()))
        .collect();
    assert_eq!(outputs, [("table", "table.csv"), ("parts", "parts")]);
    let source = |path: &str| InputSource::Output { stage: 0, path: path.to_owned() };
    let sources: Vec<InputSource> =
        read_plan.stages[1].inputs.iter().map(|input| input.source.clone()).collect();
    assert_eq!(sources, [source("table.csv"), source("parts/a.csv")]);
}

#[test]
fn folders_are_inputs_with_all_their_files() {
    let root = tempfile::tempdir().unwrap();
    fs_err::create_dir_all(root.path().join("data/raw")).unwrap();
    let text = plan("", &[stage("S01_load_data", "command = 'true'\ninputs = [\"data/raw\"]")]);
    assert_eq!(problems(root.path(), &text, &[]), ["plan.toml:7:11: the folder `data/raw` has no files"]);
    fs_err::write(root.path().join("data/raw/a.csv"), "1\n").unwrap();
    let read_plan = read(root.path(), &text, &[]);
    assert_eq!(read_plan.stages[0].inputs[0].source, InputSource::Project("data/raw".into()));
    assert_eq!(read_plan.stages[0].inputs[0].variable(), "CHECKSTONE_INPUT_RAW");
    fs_err::write(root.path().join("data/raw/b.csv"), "2\n").unwrap();
    let folder = fs_err::canonicalize(root.path()).unwrap().join("data/raw");
    assert_eq!(
        problems(root.path(), &text.replacen('\n', "\nmaxFiles = 1\n", 1), &[]),
        [format!(
            "plan.toml:8:11: the input `data/raw`: `{}` has more than 1 files; put them into one archive, or set `maxFiles`",
            folder.display()
        )]
    );
    fs_err::os::unix::fs::symlink("/etc/passwd", root.path().join("data/raw/link")).unwrap();
    assert_eq!(
        problems(root.path(), &text, &[]),
        [
            "plan.toml:7:11: the input `data/raw`: `link` in it is a symbolic link, which is not followed; put a file in its \
             place"
        ]
    );
}
