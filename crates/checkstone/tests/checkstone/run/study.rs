//! The study in `docs/study` runs as its page says: all of it, again with nothing to do, with one seed more, and after a kill
//! in the middle of a training.

use std::path::Path;
use std::process::Command;

use sandbox::{Answer, RunToEnd as _};
use serde_json::Value;

use super::Project;
use super::python::environment;

struct Study {
    project: Project,
}

impl Study {
    fn new() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/study");
        let project = Project::new("");
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            project.workplace.write(name, &std::fs::read_to_string(&path).unwrap());
        }
        Self { project }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let environment = environment();
        let folders = std::env::var_os("PATH").unwrap();
        let folders = [environment.join("bin")].into_iter().chain(std::env::split_paths(&folders));
        let mut command = self.project.checkstone(arguments);
        command.env("VIRTUAL_ENV", &environment).env("PATH", std::env::join_paths(folders).unwrap());
        command
    }

    fn answer(&self, arguments: &[&str]) -> Answer {
        self.command(arguments).answer()
    }

    fn results(&self, run: &str) -> String {
        self.project.read(&format!("reports/learning-rates/{run}/S03_gather_results/results.csv"))
    }
}

#[test]
fn the_study_of_the_docs_runs_as_its_page_says() {
    let study = Study::new();
    let checked = study.answer(&["run", "--check"]);
    assert_eq!((checked.stdout.as_str(), checked.stderr.as_str()), ("`plan.toml` is valid: 12 stages\n", ""));
    let first = study.answer(&["run", "--jobs", "2", "--id", "first"]);
    assert_eq!(first.code, Some(0), "{first}");
    let results = study.results("first");
    assert_eq!((results.lines().next(), results.lines().count()), (Some("rate,seed,accuracy,loss"), 10));

    // One seed more: three models, and what gathers them.
    let more = ["--set", "seeds=[1,2,3,4]"];
    let dry = study
        .project
        .workplace
        .json(&[&["run", "--dry-run", "--json"], &more[..]].concat(), "run-outlook.schema.json");
    let is_new = |stage: &&Value| stage["would"] != "reuse";
    let new: Vec<&str> = dry["stages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(is_new)
        .map(|stage| stage["stageId"].as_str().unwrap())
        .collect();
    let expected = [
        "S02_train_model_j",
        "S02_train_model_k",
        "S02_train_model_l",
        "S03_gather_results",
        "S04_draw_plot",
    ];
    assert_eq!(new, expected);
    let second = study.answer(&[&["run", "--id", "second"], &more[..]].concat());
    assert_eq!(second.code, Some(0), "{second}");
    assert_eq!(study.results("second").lines().count(), 13);

    let compare = ["report", "--compare", "first", "second", "--json"];
    let compared = study.project.workplace.json(&compare, "run-comparison.schema.json");
    let expected = serde_json::json!({
        "stage": null, "name": "seeds", "a": "[1, 2, 3]", "b": "[1, 2, 3, 4]", "differs": true, "change": null,
    });
    assert_eq!(compared["parameters"][0], expected);
    let report = study.answer(&["report", "second"]);
    assert_eq!(report.code, Some(0), "{report}");
    let markdown = study.project.read("reports/learning-rates/README.md");
    let pictures: Vec<&str> = markdown.lines().filter(|line| line.starts_with("![")).collect();
    assert_eq!(pictures, ["![S04_draw_plot/accuracy.png](second/S04_draw_plot/accuracy.png)"]);
}

/// A training that loses its supervisor goes on from its last checkpoint, and comes to what it would have come to.
#[test]
fn a_training_of_the_study_goes_on_from_its_checkpoint() {
    let study = Study::new();
    let undisturbed = study.answer(&["run", "--id", "first", "--set", "seeds=[1]", "--set", "rates=[0.1]"]);
    assert_eq!(undisturbed.code, Some(0), "{undisturbed}");
    // The same training, which waits once after its twentieth epoch.
    let script = study.project.read("train.py");
    let flag = study.project.workplace.path("waited");
    let waiting = format!(
        "    if epoch == 21 and not pathlib.Path({flag:?}).exists():\n        pathlib.Path({flag:?}).touch()\n        import time\n        time.sleep(600)\n"
    );
    let begin = "    for batch in np.array_split";
    study.project.workplace.write("train.py", &script.replace(begin, &format!("{waiting}{begin}")));
    let mut supervisor = study
        .command(&["run", "--id", "second", "--set", "seeds=[1]", "--set", "rates=[0.1]"])
        .spawn()
        .unwrap();
    sandbox::wait_for("a checkpoint in the middle of the training", || {
        let events = study.project.path("reports/learning-rates/checkpoints/second/events.jsonl");
        let events = std::fs::read_to_string(events).unwrap_or_default();
        flag.exists() && events.lines().any(|line| line.contains("\"midStage\":true"))
    });
    supervisor.kill().unwrap();
    supervisor.wait().unwrap();
    let resumed = study.answer(&["resume", "second"]);
    assert_eq!(resumed.code, Some(0), "{resumed}");
    let said = study.project.read("reports/learning-rates/second/.attempts/S02_train_model_a/2/output.log");
    assert!(said.starts_with("[INFO] continues after epoch "), "{said}");
    let history = ["first", "second"].map(|run| {
        study.project.read(&format!("reports/learning-rates/{run}/S02_train_model_a/history.csv"))
    });
    assert_eq!(history[0], history[1]);
}
