//! Plans that ask for what cannot be: one sentence each, with file and line, before anything is begun.

use super::{Project, plan, stage};

/// Nothing ran, and nothing of a run is there.
fn check(head: &str, stages: &[String], arguments: &[&str], expected: &str) {
    let project = Project::new(&plan(stages).replacen('\n', &format!("\n{head}\n"), 1));
    project.workplace.write("parts.txt", &"part\n".repeat(100_000));
    project.workplace.write("empty.txt", "\n\n");
    project.workplace.write("small.toml", "\nrate = 1\n");
    for number in 0..4 {
        project.workplace.write(&format!("raw/{number}"), "");
    }
    let refused = project.output(&[&["run"], arguments].concat());
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{refused:?}");
    let told: Vec<&str> = refused.stderr.lines().filter(|line| line.starts_with("  ")).collect();
    let folder = project.workplace.repo().canonicalize().unwrap();
    assert_eq!(told, [format!("  {}", expected.replace("[folder]", &folder.display().to_string()))]);
    assert!(!project.path("reports").exists() && !project.path("ran").exists());
}

fn each(list: &str, more: &str) -> [String; 1] {
    [stage("S01_do_work", &format!("command = 'touch ran'\nforEach = {list}\n{more}"))]
}

#[test]
fn a_sentence_with_file_and_line_and_nothing_begun() {
    let work = |more: &str| [stage("S01_do_work", &format!("command = 'touch ran'\n{more}"))];
    let params = "[params]\nlr = 0.1\nnone = []";
    check(
        params,
        &[stage("S01_do_work", "command = ['touch', '{params.rl}']")],
        &[],
        "plan.toml:8:11: there is no parameter `rl`; did you mean `lr`?",
    );
    let unknown = |place: &str, name: &str| format!("{place}: the plan has no parameter `{name}` to set");
    check(params, &work(""), &["--set", "depth=1"], &unknown("plan.toml:2:2", "depth"));
    check(params, &work(""), &["--params", "small.toml"], &unknown("small.toml:2:1", "rate"));
    for (list, place) in [
        ("{ x = [] }", "8:13"),
        ("{ x = \"{params.none}\" }", "8:17"),
        ("{ x = { lines = \"empty.txt\" } }", "8:17"),
    ] {
        let empty = format!("plan.toml:{place}: there is nothing to run it for: the list of `x` is empty");
        check(params, &each(list, ""), &[], &empty.replace(":8:", ":9:"));
    }
    check(
        "",
        &each("{ x = { lines = \"parts.txt\" } }", ""),
        &[],
        "plan.toml:7:17: it would have more than 10000 instances; the limit is 10000, which `maxInstances` sets",
    );
    check(
        "maxInstances = 5",
        &each("{ x = [1, 2], y = [1, 2, 3] }", ""),
        &[],
        "plan.toml:7:13: it would have 6 instances; the limit is 5, which `maxInstances` sets",
    );
    let list =
        stage("S02_list_all", "command = 'true'\ninputs = \"S01_do_work/*/a\"\noutputs = { all = \"all\" }");
    let [work_for_each] = each("{ x = { lines = \"S02_list_all/all\" } }", "outputs = { a = \"a\" }");
    check(
        "",
        &[work_for_each, list],
        &[],
        "plan.toml:3:1: these stages wait for each other: S01_do_work → S02_list_all → S01_do_work",
    );
    check(
        "",
        &work("resources = { telescope = 1 }"),
        &[],
        "plan.toml:7:15: it asks for 1 of `telescope`, but there is 0",
    );
    // Whatever cards the machine has.
    check(
        "",
        &work("resources = { gpus = 2 }"),
        &["--resources", "gpus=1"],
        "plan.toml:7:15: it asks for 2 of `gpus`, but there is 1",
    );
    check(
        "maxFiles = 3",
        &work("inputs = \"raw\""),
        &[],
        "plan.toml:7:10: the input `raw`: `[folder]/raw` has more than 3 files; put them into one archive, or set `maxFiles`",
    );
}

/// Paths that a tired person writes, each with what to write instead.
#[test]
fn a_path_that_leads_elsewhere_comes_with_what_to_write_instead() {
    let work = |more: &str| [stage("S01_do_work", &format!("command = 'touch ran'\n{more}"))];
    check(
        "",
        &work("outputs = { a = \"/tmp/x/table.csv\" }"),
        &[],
        "plan.toml:7:17: the output `/tmp/x/table.csv`: outputs are written into `$CHECKSTONE_ARTIFACT_DIR`; write `table.csv`",
    );
    check(
        "",
        &work("outputs = { a = \"../table.csv\" }"),
        &[],
        "plan.toml:7:17: the output `../table.csv`: outputs are written into `$CHECKSTONE_ARTIFACT_DIR`; write `table.csv`",
    );
    let used = |made: &str, input: &str| {
        [
            stage("S01_do_work", &format!("command = 'touch ran'\n{made}")),
            stage("S02_use_it", &format!("command = 'true'\ninputs = \"{input}\"")),
        ]
    };
    check(
        "",
        &used("outputs = [\"a.csv\", \"b.csv\"]", "S01_do_work"),
        &[],
        "plan.toml:12:10: `S01_do_work` is a stage; an input is one of its outputs: `S01_do_work/a.csv` and `S01_do_work/b.csv`",
    );
    check(
        "",
        &used("", "S01_do_work"),
        &[],
        "plan.toml:12:10: `S01_do_work` is a stage without `outputs`; name it in `dependencies`",
    );
    check(
        "",
        &used("", "raw/*.csv"),
        &[],
        "plan.toml:12:10: `raw/*.csv` does not exist; patterns are not expanded: name the folder, and all its files are read",
    );
    let outside =
        "copy it into the project, or pass its path in `environment`, where its content does not count";
    for path in ["/etc/hostname", "../other/raw.csv"] {
        let expected = format!(
            "plan.toml:7:16: `{path}` must be relative to the project's root and stay inside it; {outside}"
        );
        check("", &work(&format!("inputs = {{ a = \"{path}\" }}")), &[], &expected);
    }
    check(
        "",
        &work("inputs = { a = \"../repo/README.md\" }"),
        &[],
        "plan.toml:7:16: `../repo/README.md` must be relative to the project's root and stay inside it; write `README.md`",
    );
}

#[test]
fn files_that_cannot_be_read_are_called_what_they_are() {
    let project = Project::new(&plan(&[stage("S01_do_work", "command = 'touch ran'")]));
    let told = |arguments: &[&str]| project.output(arguments).stderr;
    assert_eq!(
        told(&["run", "--params", "none.toml"]),
        "error: there is no file of parameters `none.toml`\n"
    );
    let hint = "hint: save it as UTF-8; `iconv -f latin1 -t utf-8` converts an older file\n";
    std::fs::write(project.path("p.toml"), b"a = 1\nb = \"\xe9\"\n").unwrap();
    assert_eq!(
        told(&["run", "--params", "p.toml"]),
        format!("error: p.toml:2: the file of parameters is not UTF-8 text\n{hint}")
    );
    std::fs::write(project.path("plan.toml"), b"title = \"study\"\n\n# caf\xe9\n").unwrap();
    assert_eq!(told(&["run"]), format!("error: plan.toml:3: the plan is not UTF-8 text\n{hint}"));
    assert!(!project.path("ran").exists());
}
