//! Python stages as people run them: aborted while the kernel starts, and what is left when checkstone itself is killed in
//! the middle of a cell.

use std::path::PathBuf;
use std::process::Stdio;

use sandbox::{RunToEnd as _, ago, finish, wait_for, without_durations};
use serde_json::Value;

use super::Project;
use super::origin::accepted_by_origin;
use crate::program::python_environment;

/// An environment with ipykernel and the like, made once and shared with the tests of the library.
pub(super) fn environment() -> PathBuf {
    python_environment("python", &[])
}

fn stage(id: &str, code: &str) -> String {
    format!(
        "[[stage]]\nstageId = \"{id}\"\nkind = \"python\"\ngoal = \"Do what the test wants\"\ncommand = '''\n{code}\n'''\n"
    )
}

fn cells(project: &Project) -> Vec<(String, String)> {
    let notebook: Value = serde_json::from_str(&project.read("notebooks/study.ipynb")).unwrap();
    let joined = |lines: &Value| -> String {
        lines.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    };
    let cells = notebook["cells"].as_array().unwrap().iter();
    cells
        .map(|cell| {
            let outputs = cell["outputs"].as_array().unwrap().iter();
            let said = |output: &Value| joined(&output["text"]) + &joined(&output["data"]["text/markdown"]);
            (joined(&cell["source"]), outputs.map(said).collect())
        })
        .collect()
}

#[test]
fn what_a_cell_had_put_out_when_checkstone_was_killed_is_on_disk_and_in_the_notebook() {
    let hanging = stage(
        "S02_use_data",
        "import time\nfrom IPython.display import Markdown\nprint('half', value)\ndisplay(Markdown('**shown**'))\nprint('more', flush=True)\nif value == 1:\n    value = 2\n    time.sleep(1000)",
    )
    .replace("goal", "dependencies = [\"S01_load_data\"]\ngoal");
    let first = stage("S01_load_data", "value = 1");
    let head = "title = \"study\"\n[python]\nvariables = true\n";
    let project = Project::new(&format!("{head}{first}{hanging}"));
    let environment = environment();
    let scratch = tempfile::tempdir().unwrap();
    let mut supervisor = project
        .checkstone(&["run", "plan.toml", "--id", "r1"])
        .env("VIRTUAL_ENV", &environment)
        .env("XDG_RUNTIME_DIR", scratch.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let log = "reports/study/r1/.attempts/S02_use_data/1/output.log";
    wait_for("the words of the cell", || {
        std::fs::read_to_string(project.path(log)).is_ok_and(|text| text == "half 1\nmore\n")
    });
    supervisor.kill().unwrap();
    supervisor.wait().unwrap();
    assert_eq!(project.read(log), "half 1\nmore\n");

    // Nobody was there to remove the kernel's folder: whoever makes the next one does, once it is old enough.
    let folder = std::fs::read_dir(scratch.path()).unwrap().next().unwrap().unwrap().path();
    let long_ago = ago(std::time::Duration::from_secs(3600));
    std::fs::File::open(folder).unwrap().set_modified(long_ago).unwrap();

    let working = hanging.replace("time.sleep(1000)", "print('whole', value)");
    project.workplace.write("plan.toml", &format!("{head}{first}{working}"));
    let mut resume = project.checkstone(&["resume", "r1"]);
    resume.env("VIRTUAL_ENV", &environment).env("XDG_RUNTIME_DIR", scratch.path());
    let resumed = resume.answer();
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
    let cells = cells(&project);
    let lost = cells.iter().find(|(source, _)| source.contains("sleep(1000)")).unwrap();
    insta::assert_snapshot!(without_durations(&lost.1), @"
    half 1
    **shown**more
    [checkstone was stopped while this cell ran; its output so far is above, and its text in `reports/study/r1/.attempts/S02_use_data/1/output.log`]
    ");
    let whole = cells.iter().find(|(source, _)| source.contains("'whole'")).unwrap();
    assert_eq!(whole.1, "half 1\n**shown**more\nwhole 2\n");
    assert!(!project.read("notebooks/study.ipynb").contains("\"running\""));
    // It stands for the emergency checkpoint of the attempt that was lost.
    let emergencies = cells.iter().filter(|(source, _)| source.starts_with("# [CHECKPOINT:emergency:"));
    assert_eq!(emergencies.count(), 1);
    assert_eq!(accepted_by_origin(&project), 3);
}

/// Processes that were started for this project's stages.
fn alive(project: &Project) -> usize {
    let needle = format!("CHECKSTONE_ARTIFACT_DIR={}", project.path("").display());
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let environments = processes.filter_map(|process| std::fs::read(process.path().join("environ")).ok());
    environments.filter(|environment| String::from_utf8_lossy(environment).contains(&needle)).count()
}

/// R2, R3: by `abort`, of the run and of its one stage; the start of Python itself takes for ever.
#[test]
fn an_abort_while_the_kernel_starts_leaves_an_emergency_checkpoint_and_no_process() {
    for (arguments, told) in [
        (&["abort", "r1"][..], "run r1 ABORTED\n"),
        (&["abort", "r1", "S01_load_data"], "S01_load_data RESUMABLE\n"),
    ] {
        let first = stage("S01_load_data", "value = 1");
        let plan = format!("title = \"study\"\n{first}environment = {{ PYTHONPATH = \"slow\" }}\n");
        let project = Project::new(&plan);
        let slow = "import pathlib, subprocess, time\npathlib.Path('starting').touch()\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)\ntime.sleep(1000)\n";
        project.workplace.write("slow/sitecustomize.py", slow);
        let scratch = tempfile::tempdir().unwrap();
        let running = project
            .checkstone(&["run", "plan.toml", "--id", "r1"])
            .env("VIRTUAL_ENV", environment())
            .env("XDG_RUNTIME_DIR", scratch.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        project.wait_for("starting");
        assert!(alive(&project) > 0);
        let aborted = project.output(arguments);
        assert_eq!((aborted.code, aborted.stdout.as_str()), (Some(0), told), "{aborted:?}");
        let done = finish(running);
        assert_eq!(done.code, Some(130), "{done:?}");
        assert_eq!(project.run_state(), "ABORTED");
        assert_eq!(project.state("S01_load_data"), "RESUMABLE");
        assert_eq!(alive(&project), 0);
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0, "the sockets' folder is gone");
        let newest = project.checkpoints()[0].clone();
        assert_eq!(newest["status"], "interrupted");
        let id = newest["checkpointId"].as_str().unwrap();
        let manifest = project.read(&format!("reports/study/checkpoints/r1/{id}/checkpoint.json"));
        let manifest: Value = serde_json::from_str(&manifest).unwrap();
        assert_eq!(manifest["reason"], "abort");
        let valid = project.output(&["checkpoint", "validate", id, "--title", "study", "--run", "r1"]);
        assert!(valid.succeeded(), "{valid:?}");

        // The next start is a quick one, and the stage is run.
        project.workplace.write("slow/sitecustomize.py", "");
        let resumed = project.checkstone(&["resume", "r1"]).env("VIRTUAL_ENV", environment()).answer();
        assert_eq!(resumed.code, Some(0), "{resumed:?}");
        assert_eq!(project.state("S01_load_data"), "COMPLETED");
    }
}

/// A new run takes over a session that is whole; if one of its stages has to run, those before it do as well.
#[test]
fn python_stages_are_made_once_if_the_whole_session_is_as_it_was() {
    let count = "with open('ran', 'a') as ran: ran.write(STAGE + '\\n')\nopen(os.environ['CHECKSTONE_ARTIFACT_DIR'] + '/a', 'w').write(str(value))";
    let cell = |id: &str, code: &str| {
        let code = format!("import os\n{code}\n{}", count.replace("STAGE", &format!("'{id}'")));
        stage(id, &code).replace("goal", "outputs = { a = \"a\" }\ngoal")
    };
    let plan = |second: &str, last: &str| {
        [
            "title = \"study\"\n".to_owned(),
            cell("S01_load_data", "value = 1"),
            cell("S02_use_data", second),
            super::stage(
                "S03_copy_data",
                &format!("command = 'cat $CHECKSTONE_INPUT_A > $CHECKSTONE_ARTIFACT_DIR/{last}; echo {last} >> ran'\ninputs = \"S02_use_data/a\""),
            ),
        ]
        .concat()
    };
    let project = Project::new(&plan("value += 1", "b"));
    let environment = environment();
    let run = |arguments: &[&str]| {
        let _ = std::fs::remove_file(project.path("ran"));
        let done = project.checkstone(arguments).env("VIRTUAL_ENV", &environment).answer();
        assert_eq!(done.code, Some(0), "{done:?}");
        let ran = std::fs::read_to_string(project.path("ran")).unwrap_or_default();
        (ran.lines().map(str::to_owned).collect::<Vec<_>>(), without_durations(&done.stdout))
    };
    assert_eq!(run(&["run", "--id", "r1"]).0, ["S01_load_data", "S02_use_data", "b"]);
    project.workplace.write("plan.toml", &plan("value += 1", "c"));
    insta::assert_snapshot!(run(&["run", "--dry-run"]).1, @"
    S01_load_data  made by run `r1`
    S02_use_data   made by run `r1`
    S03_copy_data  would run: command changed
    1 of 3 stages would run
    ");
    assert_eq!(run(&["run", "--id", "r2"]).0, ["c"]);
    assert_eq!(project.read("reports/study/r2/S03_copy_data/c"), "2");
    // What the second one begins with is not there, so that the first one is run as well.
    project.workplace.write("plan.toml", &plan("value += 2", "c"));
    insta::assert_snapshot!(run(&["run", "--dry-run"]).1, @"
    S01_load_data  would run: a new run begins with an empty Python session
    S02_use_data   would run: command changed
    S03_copy_data  may run: `S02_use_data` runs first
    2 of 3 stages would run, and 1 may run
    ");
    assert_eq!(run(&["run", "--id", "r3"]).0, ["S01_load_data", "S02_use_data", "c"]);
    assert_eq!(project.read("reports/study/r3/S03_copy_data/c"), "3");
}

/// The kernel with all that it started counts, and is not asked to end first.
#[test]
fn a_cell_that_uses_too_much_memory_is_ended_with_its_kernel() {
    let cell = stage("S01_fill_memory", "hold = bytearray(900 << 20)\nimport time\ntime.sleep(1000)")
        .replace("goal", "resources = { memory = \"500M\" }\ngoal");
    let project = Project::new(&format!("title = \"study\"\n{cell}"));
    let done = project.checkstone(&["run", "--id", "r1"]).env("VIRTUAL_ENV", environment()).answer();
    assert_eq!(done.code, Some(1), "{done:?}");
    let events = project.events();
    let failed = events.iter().find(|event| event["to"] == "FAILED").unwrap();
    assert_eq!(failed["ending"]["how"], "out-of-memory", "{failed}");
    let asked: Vec<&Value> = events.iter().filter(|event| event["signal"] == "SIGINT").collect();
    assert_eq!(asked, Vec::<&Value>::new());
}
