//! What a plan needs, told before anything runs: by `run --new` in a line, and by `run --check` with the command that
//! installs what is missing.

use std::process::Command;

use sandbox::{RunToEnd as _, redacted};

use super::{Project, plan, stage};

/// A Python with nothing but itself.
fn bare_environment(project: &Project) {
    let folder = project.path(".venv");
    let made = Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(folder).answer();
    assert!(made.succeeded(), "{made}");
}

#[cfg(feature = "python")]
#[test]
fn what_a_template_needs_is_checked_and_the_command_that_installs_it_is_told() {
    let project = Project::new("");
    let written = project.output(&["run", "--new", "research", "mine.toml"]);
    insta::assert_snapshot!(written, @"
    exit code: 0
    --- stdout
    wrote `mine.toml`; it needs Python with ipykernel and pandas
    check that with `checkstone run --check mine.toml`, run it with `checkstone run mine.toml`
    --- stderr
    runs write into `reports/`; to keep that out of git: `echo reports/ >> .gitignore`
    ");
    project.workplace.write(".gitignore", "/reports/\n");
    insta::assert_snapshot!(project.output(&["run", "--new", "pipeline", "other.toml"]), @"
    exit code: 0
    --- stdout
    wrote `other.toml`; it needs nothing but a shell
    check that with `checkstone run --check other.toml`, run it with `checkstone run other.toml`
    --- stderr
    ");
    insta::assert_snapshot!(project.output(&["run", "--new", "nothing"]), @"
    exit code: 2
    --- stdout
    --- stderr
    error: there is no kind of plan called `nothing`
    hint: pipeline: needs nothing but a shell
    hint: research: needs Python with ipykernel and pandas
    hint: load: needs Python with ipykernel and pandas
    hint: explore: needs Python with ipykernel and pandas
    hint: train: needs Python with ipykernel and pandas
    hint: evaluate: needs Python with ipykernel and pandas
    ");
    bare_environment(&project);
    insta::assert_snapshot!(redacted(project.output(&["run", "mine.toml", "--check"]).to_string()), @"
    exit code: 1
    --- stdout
    `mine.toml` is valid: 4 stages
    --- stderr
    warning: `[folder]/repo/.venv/bin/python` has no `ipykernel`, `numpy` and `pandas`, which `S01_load_data`, `S02_explore_data`, `S03_train_model` and 1 more would import
    hint: install it: `[folder]/repo/.venv/bin/python -m pip install ipykernel numpy pandas`
    ");
}

/// The line that says what a template needs is true: with it there, nothing is missing.
#[cfg(feature = "python")]
#[test]
fn with_what_they_say_that_they_need_all_templates_are_ready() {
    let environment = super::python::environment();
    for template in run::plan::TEMPLATES {
        let project = Project::new(&template.text("study"));
        let mut check = project.checkstone(&["run", "--check"]);
        let checked = check.env("VIRTUAL_ENV", &environment).answer();
        assert_eq!((checked.code, checked.stderr.as_str()), (Some(0), ""), "{}: {checked}", template.kind);
    }
}

/// A program that is not there, and a script whose own module is there while another one is not. What a script may do
/// without counts for nothing.
#[test]
fn programs_and_the_modules_of_scripts_are_looked_for() {
    let project = Project::new(&plan(&[
        stage("S01_load_data", "command = [\"no-such-program\", \"x\"]"),
        stage("S02_train_model", "command = [\".venv/bin/python\", \"code/train.py\"]"),
        stage("S03_draw_plot", "command = [\"./draw.sh\"]"),
        stage("S04_say_more", "command = [\"echo\", \"x\"]"),
    ]));
    bare_environment(&project);
    let code = "import json, own_module, no_such_module.part\nfrom yaml import load\ntry:\n    import cupy\nexcept ImportError:\n    cupy = None\n";
    project.workplace.write("code/train.py", code);
    project.workplace.write("code/own_module.py", "");
    insta::assert_snapshot!(redacted(project.output(&["run", "--check"]).to_string()), @"
    exit code: 1
    --- stdout
    `plan.toml` is valid: 4 stages
    --- stderr
    warning: there is no program `./draw.sh`, which `S03_draw_plot` would run
    warning: there is no program `no-such-program`, which `S01_load_data` would run
    warning: `[folder]/repo/.venv/bin/python` has no `no_such_module` and `yaml`, which `S02_train_model` would import
    hint: install it: `[folder]/repo/.venv/bin/python -m pip install no_such_module pyyaml`
    ");
}

/// A module that the project has elsewhere is not to be installed.
#[test]
fn a_module_of_the_project_that_is_elsewhere_is_not_to_be_installed() {
    let project = Project::new(&plan(&[
        stage("S01_fit_model", "command = [\".venv/bin/python\", \"code/fit.py\"]"),
        stage("S02_draw_plot", "command = [\".venv/bin/python\", \"code/draw.py\"]"),
    ]));
    bare_environment(&project);
    project.workplace.write("code/fit.py", "import features, package.part\n");
    project.workplace.write("code/draw.py", "import features, no_such_module\n");
    project.workplace.write("lib/features.py", "");
    project.workplace.write("lib/package/__init__.py", "");
    insta::assert_snapshot!(redacted(project.output(&["run", "--check"]).to_string()), @"
    exit code: 1
    --- stdout
    `plan.toml` is valid: 2 stages
    --- stderr
    warning: `S01_fit_model` would import `features`, which is not found from `code`: it is `lib/features.py`
    hint: add `environment = { PYTHONPATH = \"lib\" }` to it
    warning: `S01_fit_model` would import `package`, which is not found from `code`: it is `lib/package/__init__.py`
    hint: add `environment = { PYTHONPATH = \"lib\" }` to it
    warning: `S02_draw_plot` would import `features`, which is not found from `code`: it is `lib/features.py`
    hint: add `environment = { PYTHONPATH = \"lib\" }` to it
    warning: `[folder]/repo/.venv/bin/python` has no `no_such_module`, which `S02_draw_plot` would import
    hint: install it: `[folder]/repo/.venv/bin/python -m pip install no_such_module`
    ");
}

/// Each with its place, and nothing that may be meant as it is.
#[test]
fn code_that_is_no_python_missing_scripts_and_mistyped_parameters_are_refused() {
    let project = Project::new(&format!(
        "title = \"study\"\n[params]\nlr = 0.1\n{}",
        [
            stage("S01_fit_model", "command = ['python3', 'code/fit.py']"),
            stage("S02_run_nothing", "command = ['python3', 'nothing.py']"),
            stage("S03_run_nothing", "command = 'set -e; sh nothing.sh && true'"),
            stage("S04_slip_once", "command = '''\necho {params.lr}\necho {param.lr} {{params.lr}}\n'''"),
            stage("S05_come_over", "command = 'cat {input} {wildcards.lr} > {output}; echo {lr}'"),
            stage(
                "S06_mean_it",
                "command = '''\nawk '{print}' x; git log HEAD@{upstream}; echo ${HOME} {a,b} {}; x=1; { true; }\n\
                 python3 -c \"print(f'{x.y}')\"; cat > made.py; python3 made.py\n'''",
            ),
            stage(
                "S07_make_itself",
                "command = 'sh made.sh'\ndependencies = [\"S06_mean_it\"]\nenvironment = { LR = \"{prams.lr}\" }",
            ),
        ]
        .concat()
    ));
    project.workplace.write("code/fit.py", "import json\n\ndef f(:\n    pass\n");
    insta::assert_snapshot!(project.output(&["run", "--check"]), @"
    exit code: 2
    --- stdout
    --- stderr
    error: the plan cannot be run:
      code/fit.py:3:1: the code of `S01_fit_model` is not valid Python: invalid syntax
      plan.toml:11:11: there is no `nothing.py`, which `S02_run_nothing` would run
      plan.toml:15:11: there is no `nothing.sh`, which `S03_run_nothing` would run
      plan.toml:21:6: `{param.lr}` is not filled in: only `{params.NAME}` is; did you mean `{params.lr}`?
      plan.toml:26:16: `{input}` is not filled in: a command finds its inputs by `$CHECKSTONE_INPUT_NAME`
      plan.toml:26:24: `{wildcards.lr}` is not filled in: only `{params.NAME}` is; did you mean `{params.lr}`?
      plan.toml:26:41: `{output}` is not filled in: a command writes its outputs below `$CHECKSTONE_ARTIFACT_DIR`
      plan.toml:26:56: `{lr}` is not filled in; did you mean `{params.lr}`?
      plan.toml:39:23: `{prams.lr}` is not filled in: only `{params.NAME}` is; did you mean `{params.lr}`?
    ");
}

/// What IPython reads is no mistake in a cell.
#[cfg(feature = "python")]
#[test]
fn cells_are_read_as_ipython_reads_them() {
    let cell = |id: &str, command: &str| stage(id, &format!("kind = \"python\"\ncommand = {command}"));
    let check = |stages: &[String]| {
        let project = Project::new(&plan(stages));
        project.workplace.write("cells/bad.py", "x = 1\ny = (\n");
        let mut check = project.checkstone(&["run", "--check"]);
        check.env("VIRTUAL_ENV", super::python::environment()).answer()
    };
    let sound = check(&[
        cell("S01_use_shell", "'''\n%matplotlib inline\nfiles = !ls\nimport json\njson?\n'''"),
        cell("S02_use_magic", "'''%%bash\nfor x in a; do echo $x; done\n'''"),
        cell("S03_wait_for", "'''import asyncio\nawait asyncio.sleep(0)\nprint(f\"{param.lr}\")'''"),
    ]);
    assert_eq!((sound.code, sound.stderr.as_str()), (Some(0), ""), "{sound}");
    let unsound = check(&[
        cell("S01_load_data", "'''\nx = 1\n\nfor y in x\n    pass\n'''"),
        cell("S02_load_data", "'''x = 1\nx = = 2'''"),
        cell("S03_load_data", "\"x = 1\\nx = = 2\""),
        cell("S04_load_data", "['cells/bad.py']"),
    ]);
    insta::assert_snapshot!(unsound, @"
    exit code: 2
    --- stdout
    --- stderr
    error: the plan cannot be run:
      cells/bad.py:2:1: the code of `S04_load_data` is not valid Python: '(' was never closed
      plan.toml:9:1: the code of `S01_load_data` is not valid Python: expected ':'
      plan.toml:17:1: the code of `S02_load_data` is not valid Python: invalid syntax
      plan.toml:22:11: the code of `S03_load_data` is not valid Python: invalid syntax
    ");
}
