//! Modules of the project that Python code imports, one through the other, count as the scripts do.

#[cfg(feature = "python")]
use sandbox::RunToEnd as _;

use super::{Project, plan, stage};

/// Why a new run would run its only stage, or which run made it.
fn reason(project: &Project) -> String {
    let told = project.output(&["run", "--dry-run"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    let line = told.stdout.lines().next().unwrap();
    line.split_once("  ").map_or(line, |(_, reason)| reason).trim().to_owned()
}

/// Packages, relative imports, a package without `__init__.py`, one that shadows an installed one, two that import each
/// other, one that cannot be read as Python, and one in a function.
#[test]
fn a_module_that_a_script_imports_counts_wherever_it_is_imported_from() {
    let project = Project::new(&plan(&[stage(
        "S01_fit_model",
        "command = ['python3', 'code/fit.py']\noutputs = { model = \"model\" }",
    )]));
    let write = |path: &str, text: &str| project.workplace.write(path, text);
    write(
        "code/fit.py",
        "import json, os, features\nfrom pkg.deep import tool\nimport space.part\nimport statistics\n\
         try:\n    import broken\nexcept SyntaxError:\n    pass\n\
         def late():\n    import later\n    return later.x\n\
         with open(os.environ['CHECKSTONE_ARTIFACT_DIR'] + '/model', 'w') as file:\n    \
         file.write(repr([features.x, tool.x, space.part.x, statistics.x, late()]))\n",
    );
    write("code/features.py", "import circle\nx = 1\n");
    write("code/circle.py", "import features\n");
    write("code/pkg/__init__.py", "");
    write("code/pkg/base.py", "x = 2\n");
    write("code/pkg/deep/__init__.py", "from .. import base\n");
    write("code/pkg/deep/tool.py", "from ..base import x\n");
    write("code/space/part.py", "x = 3\n");
    write("code/statistics.py", "x = 4\n");
    write("code/broken.py", "def (\n");
    write("code/later.py", "x = 5\n");
    write("code/unused.py", "x = 6\n");
    write("features.py", "x = 'nobody looks here'\n");
    let run = |id: &str| {
        let done = project.output(&["run", "--id", id]);
        assert_eq!(done.code, Some(0), "{done:?}");
        project.read(&format!("reports/study/{id}/S01_fit_model/model"))
    };
    assert_eq!(run("r1"), "[1, 2, 3, 4, 5]");
    assert_eq!(reason(&project), "made by run `r1`");
    for path in ["code/unused.py", "features.py"] {
        write(path, "x = 'another'\n");
        assert_eq!(reason(&project), "made by run `r1`", "{path}");
    }
    for path in [
        "code/features.py",
        "code/circle.py",
        "code/pkg/__init__.py",
        "code/pkg/base.py",
        "code/pkg/deep/__init__.py",
        "code/pkg/deep/tool.py",
        "code/space/part.py",
        "code/statistics.py",
        "code/broken.py",
        "code/later.py",
    ] {
        let text = project.read(path);
        write(path, &format!("{text}# more\n"));
        assert_eq!(reason(&project), format!("would run: module `{path}` changed"));
        write(path, &text);
        assert_eq!(reason(&project), "made by run `r1`", "{path}");
    }
    // One that was not there is found before the installed one from now on.
    write("code/json.py", "x = 7\n");
    assert_eq!(reason(&project), "would run: module `code/json.py` is new");
    std::fs::remove_file(project.path("code/json.py")).unwrap();
    std::fs::remove_file(project.path("code/broken.py")).unwrap();
    assert_eq!(reason(&project), "would run: module `code/broken.py` was removed");
    write("code/broken.py", "def (\n");
    write("code/pkg/base.py", "x = 20\n");
    assert_eq!(run("r2"), "[1, 20, 3, 4, 5]");
}

/// However Python is started, and with the folders that the stage adds to its path.
#[test]
fn every_way_to_start_python_counts() {
    for (command, more, module) in [
        ("['python3', '-m', 'own.tool']", "", "own/tool.py"),
        ("['python3', '-um', 'own']", "", "own/__main__.py"),
        ("['python3', '-u', '-m', 'own']", "", "own/__main__.py"),
        ("['python3', '-c', 'import own.tool']", "", "own/tool.py"),
        ("'python3 -c \"import sys; import own.tool\"'", "", "own/tool.py"),
        ("\"python3 - <<'END'\\nimport own.tool\\nEND\"", "", "own/tool.py"),
        ("'cd inner && python3 script.py'", "", "inner/beside.py"),
        ("'(cd inner; python3 -m beside); python3 -m beside'", "", "beside.py"),
        ("'(cd inner; python3 -m beside); python3 -m beside'", "", "inner/beside.py"),
        ("'python3 inner/script.py'", "", "inner/beside.py"),
        ("['./run-it']", "", "beside.py"),
        ("['python3', 'script.py']", "directory = \"inner\"", "inner/beside.py"),
        ("['python3', 'inner/script.py']", "environment = { PYTHONPATH = \"lib:other\" }", "other/far.py"),
        ("'true'", "verify = ['python3', '-m', 'own.tool']", "own/tool.py"),
    ] {
        let project = Project::new(&plan(&[stage("S01_do_work", &format!("command = {command}\n{more}"))]));
        for (path, text) in [
            ("own/__init__.py", ""),
            ("own/__main__.py", "import own.tool\n"),
            ("own/tool.py", ""),
            ("inner/script.py", "import beside\ntry:\n    import far\nexcept ImportError:\n    pass\n"),
            ("inner/beside.py", ""),
            ("beside.py", ""),
            ("other/far.py", ""),
            ("run-it", "#!/usr/bin/env python3\nimport beside\n"),
        ] {
            project.workplace.write(path, text);
        }
        sandbox::make_executable(&project.path("run-it"));
        let done = project.output(&["run", "--id", "r1"]);
        assert_eq!(done.code, Some(0), "{command}: {done:?}");
        project.workplace.write(module, &format!("{}# more\n", project.read(module)));
        assert_eq!(reason(&project), format!("would run: module `{module}` changed"), "{command}");
    }
}

/// A module that changes while a stage runs may be of either kind in it.
#[test]
fn a_module_that_changes_while_its_stage_runs_is_noticed() {
    let project = Project::new(&plan(&[stage("S01_do_work", "command = ['python3', 'work.py']")]));
    project.workplace.write("work.py", "import own\nopen('own.py', 'a').write('# more\\n')\n");
    project.workplace.write("own.py", "");
    assert_eq!(project.run().code, Some(1));
    let failed = project.events().into_iter().find(|event| event["to"] == "FAILED").unwrap();
    assert_eq!(failed["reason"], "module `own.py` changed while it ran");
}

/// A cell, a file with one, and what a later cell has of an earlier one's module.
#[cfg(feature = "python")]
#[test]
fn modules_of_cells_count_for_the_session() {
    let cells = [
        "[[stage]]\nstageId = \"S01_load_data\"\nkind = \"python\"\ngoal = \"Load what the others use\"\n\
         command = 'from lib import numbers'\n",
        "[[stage]]\nstageId = \"S02_add_data\"\nkind = \"python\"\ngoal = \"Add all numbers up\"\n\
         command = ['cells/add.py']\n",
    ];
    let project = Project::new(&format!("title = \"study\"\n{}", cells.concat()));
    project.workplace.write("lib/numbers.py", "all = [1, 2]\n");
    project.workplace.write("plus.py", "plus = sum\n");
    let code = "import os\nfrom plus import plus\n\
                with open(os.environ['CHECKSTONE_ARTIFACT_DIR'] + '/sum', 'w') as file:\n    \
                file.write(str(plus(numbers.all)))\n";
    project.workplace.write("cells/add.py", code);
    let environment = super::python::environment();
    let ask = |arguments: &[&str]| {
        let answer = project.checkstone(arguments).env("VIRTUAL_ENV", &environment).answer();
        assert_eq!(answer.code, Some(0), "{answer:?}");
        answer.stdout
    };
    ask(&["run", "--id", "r1"]);
    // Of another length: Python keeps what it compiled by length and second, and takes the old code for this one.
    project.workplace.write("plus.py", "plus = max # not all\n");
    insta::assert_snapshot!(ask(&["resume", "r1", "--dry-run"]), @r"
    S01_load_data  unchanged
    S02_add_data   would run: module `plus.py` changed
    1 of 2 stages would run
    ");
    project.workplace.write("lib/numbers.py", "all = [1, 2, 3]\n");
    insta::assert_snapshot!(ask(&["resume", "r1", "--dry-run"]), @r"
    S01_load_data  would run: module `lib/numbers.py` changed
    S02_add_data   may run: `S01_load_data` runs first
    1 of 2 stages would run, and 1 may run
    ");
    ask(&["resume", "r1"]);
    assert_eq!(project.read("reports/study/r1/S02_add_data/sum"), "3");
}
