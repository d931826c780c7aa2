//! Python stages as people run them: what is left when checkstone itself is killed in the middle of a cell.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;

use super::{Done, LIMIT, Project};

/// An environment with ipykernel and the like, made once and shared with the tests of the library.
fn environment() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = here.join("../../target/python");
    let script = here.join("../run/tests/python/make.sh");
    assert!(Command::new("sh").arg(script).arg(&folder).status().unwrap().success());
    folder.canonicalize().unwrap()
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
            (joined(&cell["source"]), outputs.map(|output| joined(&output["text"])).collect())
        })
        .collect()
}

#[test]
fn what_a_cell_had_printed_when_checkstone_was_killed_is_in_the_log_and_in_the_notebook() {
    let hanging = stage(
        "S02_use_data",
        "import time\nprint('half', value, flush=True)\nif value == 1:\n    value = 2\n    time.sleep(1000)",
    )
    .replace("goal", "dependencies = [\"S01_load_data\"]\ngoal");
    let first = stage("S01_load_data", "value = 1");
    let head = "title = \"study\"\n[python]\nvariables = true\n";
    let project = Project::new(&format!("{head}{first}{hanging}"));
    let environment = environment();
    let mut supervisor = project
        .checkstone(&["run", "plan.toml", "--id", "r1"])
        .env("VIRTUAL_ENV", &environment)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let log = "reports/study/r1/.attempts/S02_use_data/1/output.log";
    let began = Instant::now();
    while !std::fs::read_to_string(project.path(log)).is_ok_and(|text| text == "half 1\n") {
        assert!(began.elapsed() < LIMIT, "the cell never printed");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    supervisor.kill().unwrap();
    supervisor.wait().unwrap();
    assert_eq!(project.read(log), "half 1\n");

    let working = hanging.replace("time.sleep(1000)", "print('whole', value)");
    project.workplace.write("plan.toml", &format!("{head}{first}{working}"));
    let resumed =
        Done::of(project.checkstone(&["resume", "r1"]).env("VIRTUAL_ENV", &environment).output().unwrap());
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    let cells = cells(&project);
    let lost = cells.iter().find(|(source, _)| source.contains("sleep(1000)")).unwrap();
    assert!(lost.1.starts_with("half 1\n[checkstone was ended while this cell ran;"), "{lost:?}");
    assert!(lost.1.contains(log), "{lost:?}");
    let whole = cells.iter().find(|(source, _)| source.contains("'whole'")).unwrap();
    assert_eq!(whole.1, "half 1\nwhole 2\n");
    assert!(!project.read("notebooks/study.ipynb").contains("\"running\""));
}
