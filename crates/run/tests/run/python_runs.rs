//! Whole runs with Python stages: a real plan, a real kernel, a real notebook; interrupted, damaged and resumed.

use std::path::{Path, PathBuf};

use checkpoint::layout::Layout;
use checkpoint::manifest::{Manifest, RehydrationMode, Status};
use run::engine::{self, PlanText, Settings};
use run::event::{Event, What};
use run::plan::{Plan, Template};
use run::state::RunState;
use sandbox::redacted;
use serde_json::Value;

use crate::python::{python, run_script};

pub(crate) struct Project {
    folder: tempfile::TempDir,
    pub(crate) virtual_env: PathBuf,
    pub(crate) jobs: usize,
    pub(crate) again: Vec<String>,
    pub(crate) events: Vec<Event>,
}

impl Project {
    pub(crate) fn new() -> Self {
        let virtual_env = python().parent().unwrap().parent().unwrap().to_owned();
        let folder = tempfile::tempdir().unwrap();
        Self { folder, virtual_env, jobs: 1, again: Vec::new(), events: Vec::new() }
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn layout(&self) -> Layout {
        Layout::new(self.root(), "houses", "run-001").unwrap()
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings {
            environment: vec![
                ("PATH".into(), "/usr/bin:/bin".into()),
                ("HOME".into(), self.root().into()),
                ("VIRTUAL_ENV".into(), self.virtual_env.clone().into()),
            ],
            jobs: self.jobs,
            again: self.again.clone(),
            ..Settings::default()
        }
    }

    pub(crate) fn plan(&self, text: &str) -> PlanText {
        let plan = Plan::read("plan.toml", text, self.root()).unwrap();
        PlanText { plan, text: text.to_owned(), file: None }
    }

    pub(crate) fn run(&mut self, text: &str) -> RunState {
        let (plan, settings) = (self.plan(text), self.settings());
        let root = self.root().to_owned();
        self.events.clear();
        let events = &mut self.events;
        engine::run(&root, plan, "run-001", &settings, &mut |event| events.push(event.clone())).unwrap()
    }

    pub(crate) fn resume(&mut self, text: &str) -> RunState {
        let (plan, settings, layout) = (self.plan(text), self.settings(), self.layout());
        self.events.clear();
        let events = &mut self.events;
        engine::resume(&layout, plan, &settings, &mut |event| events.push(event.clone())).unwrap()
    }

    pub(crate) fn warnings(&self) -> Vec<&str> {
        let mut warnings = Vec::new();
        for event in &self.events {
            if let What::Warning { text, .. } = &event.what {
                warnings.push(text.as_str());
            }
        }
        warnings
    }

    /// Why the stage did not complete.
    pub(crate) fn reason(&self, stage: &str) -> Option<&str> {
        self.events.iter().find_map(|event| match &event.what {
            What::StageState { stage_id, reason, ending: Some(_), .. } if stage_id == stage => {
                reason.as_deref()
            }
            _ => None,
        })
    }

    pub(crate) fn notebook(&self) -> Vec<Value> {
        let path = self.layout().notebook();
        run_script(
            "import sys, nbformat\nnbformat.validate(nbformat.read(sys.argv[1], as_version=nbformat.NO_CONVERT))",
            &[&path],
        );
        let notebook: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        notebook["cells"].as_array().unwrap().clone()
    }

    pub(crate) fn saved(&self) -> Vec<Manifest> {
        let listing = checkpoint::list(self.root(), Some("houses"), Some("run-001")).unwrap();
        let saved = listing.checkpoints.iter().filter(|listed| listed.status == Status::Saved);
        saved
            .map(|listed| {
                let path = self.layout().manifest(&listed.checkpoint_id).unwrap();
                Manifest::parse(&std::fs::read(path).unwrap()).unwrap().manifest
            })
            .collect()
    }
}

pub(crate) fn source(cell: &Value) -> String {
    cell["source"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect()
}

pub(crate) fn text(cell: &Value) -> String {
    let outputs = cell["outputs"].as_array().unwrap().iter();
    let lines = outputs.filter_map(|output| output["text"].as_array()).flatten();
    lines.map(|line| line.as_str().unwrap()).collect()
}

pub(crate) fn stage(id: &str, code: &str, more: &str) -> String {
    format!(
        "[[stage]]\nstageId = \"{id}\"\nkind = \"python\"\ngoal = \"Do what the test wants\"\ncommand = '''\n{code}\n'''\n{more}\n"
    )
}

pub(crate) const TITLE: &str = "title = \"houses\"\n[python]\nvariables = true\nseed = 7\n";

#[test]
fn the_research_template_runs_as_it_is() {
    let mut project = Project::new();
    let template = Template::of_kind("research").unwrap().text("houses");
    assert_eq!(project.run(&template), RunState::Completed, "{:?}", project.events);
    let cells = project.notebook();
    assert_eq!(cells.len(), 8);
    assert!(text(&cells[0]).contains("[SHAPE] 500 rows, 3 columns"));
    assert!(text(&cells[6]).contains("[METRIC] mean error"));
    assert!(cells[2]["outputs"].to_string().contains("text/html"));
    for place in [1, 3, 5, 7] {
        assert_eq!(cells[place]["metadata"]["tags"][0], "gyoshu-checkpoint");
    }
    let newest = &project.saved()[0];
    assert_eq!(newest.stage_id, "S04_evaluate_model");
    assert_eq!(newest.notebook.path, "notebooks/houses.ipynb");
    assert_eq!(newest.notebook.checkpoint_cell_id, cells[7]["id"].as_str().unwrap());
    assert_eq!(newest.execution_count, 4);
    assert!(newest.python_env.python_path.ends_with("target/python/bin/python"));
    assert_eq!(newest.python_env.random_seeds.as_ref().unwrap()["numpy"], 42);
    assert_eq!(newest.rehydration.mode, RehydrationMode::WithVars);
    assert_eq!(project.warnings(), [""; 0]);
}

/// What each of the smaller templates says at its end.
#[test]
fn the_templates_for_single_steps_run_as_they_are() {
    let steps = [
        ("load", "[DATA] 489 rows are used, left out: {'twice': 5, 'incomplete': 10, 'out of range': 1}"),
        ("explore", "[CORR] rooms and price: 0.9"),
        ("train", "[METRIC:loss=0.0"),
        ("evaluate", "[METRIC] r squared 0.99"),
    ];
    for (kind, said) in steps {
        let mut project = Project::new();
        let template = Template::of_kind(kind).unwrap().text("houses");
        assert_eq!(project.run(&template), RunState::Completed, "{kind}: {:?}", project.events);
        let cells = project.notebook();
        let printed: String = cells.iter().map(text).collect();
        assert!(printed.contains(said), "{kind}: {printed}");
        assert_eq!(project.warnings(), [""; 0], "{kind}");
    }
}

#[test]
fn after_a_failure_the_session_is_rehydrated_and_the_next_stage_goes_on() {
    let mut project = Project::new();
    let first = stage(
        "S01_load_data",
        "import pandas as pd\ntable = pd.DataFrame({'a': [1, 2]})\ntotal = {'n': 3}\nhandle = open('/dev/null')",
        "",
    );
    let failing =
        stage("S02_use_data", "raise ValueError('not today')", "dependencies = [\"S01_load_data\"]");
    assert_eq!(project.run(&format!("{TITLE}{first}{failing}")), RunState::Failed);
    // Told, not dropped.
    let unsaved =
        "the variable `handle` (_io.TextIOWrapper) is not saved: TypeError: an open file cannot be saved";
    assert!(project.warnings().contains(&unsaved), "{:?}", project.warnings());
    assert_eq!(project.reason("S02_use_data"), Some("ValueError: not today"));
    // The last cell is that of the emergency checkpoint.
    let [.., failed, _] = &project.notebook()[..] else { panic!("there are fewer than two cells") };
    assert!(failed["outputs"].to_string().contains("not today"));

    let working = failing.replace("raise ValueError('not today')", "print(table['a'].sum() + total['n'])");
    assert_eq!(
        project.resume(&format!("{TITLE}{first}{working}")),
        RunState::Completed,
        "{:?}",
        project.events
    );
    let cells = project.notebook();
    let rehydrated = cells.iter().find(|cell| source(cell).starts_with("# What checkpoint ")).unwrap();
    assert!(text(rehydrated).starts_with("[REHYDRATED:from="));
    let used = cells.iter().find(|cell| source(cell).contains("total['n']")).unwrap();
    assert_eq!(text(used), "6\n");
    // What a person wrote into the notebook between the two would still be there: every cell of before is.
    assert!(cells.iter().any(|cell| source(cell).contains("raise ValueError")));
}

#[test]
fn a_stage_that_cannot_be_interrupted_is_ended_with_the_kernel_and_the_run_goes_on_later() {
    let mut project = Project::new();
    let first = stage("S01_load_data", "from IPython.display import HTML\nvalue = 41", "");
    let hanging = stage(
        "S02_use_data",
        "print('before it hung', value)\ndisplay(HTML('<table></table>'))\nwhile True:\n    try:\n        number = 0\n        while True: number += 1\n    except: pass",
        "dependencies = [\"S01_load_data\"]\nmaxDurationSec = 2\ngrace = { interruptSec = 1, terminateSec = 1 }",
    );
    assert_eq!(
        project.run(&format!("{TITLE}{first}{hanging}")),
        RunState::Interrupted,
        "{:?}",
        project.events
    );
    let log = project.layout().attempt_output("S02_use_data", 1).unwrap();
    assert!(std::fs::read_to_string(log).unwrap().starts_with("before it hung 41\n"));
    let [.., last, _] = &project.notebook()[..] else { panic!("there are fewer than two cells") };
    assert!(text(last).starts_with("before it hung 41\n"));
    assert!(last["outputs"][1]["data"]["text/html"].to_string().contains("<table"), "{last}");
    let listing = checkpoint::list(project.root(), Some("houses"), Some("run-001")).unwrap();
    assert_eq!(listing.checkpoints[0].status, Status::Interrupted);
    assert_eq!(listing.checkpoints[0].stage_id, "S02_use_data");
    let id = &listing.checkpoints[0].checkpoint_id;
    let checked = checkpoint::validate(&project.layout(), id, checkpoint::Depth::Full).unwrap();
    assert!(checked.is_usable(), "{:?}", checked.issues);
    let artifacts = checked.manifest.unwrap().manifest.artifacts;
    for kept in ["output.log", "displays.jsonl"] {
        let path = format!(".attempts/S02_use_data/1/{kept}");
        let artifact = artifacts.iter().find(|artifact| artifact.relative_path.ends_with(&path)).unwrap();
        assert!(artifact.size_bytes > 0, "{kept}");
    }

    let working = stage("S02_use_data", "print(value + 1)", "dependencies = [\"S01_load_data\"]");
    assert_eq!(
        project.resume(&format!("{TITLE}{first}{working}")),
        RunState::Completed,
        "{:?}",
        project.events
    );
    assert!(project.notebook().iter().any(|cell| text(cell) == "42\n"));
}

#[test]
fn a_damaged_checkpoint_is_passed_over_the_one_before_it_rehydrated_and_what_came_since_is_run_again() {
    let mut project = Project::new();
    let first = stage("S01_load_data", "value = 1", "");
    let second = stage("S02_more_data", "value += 1", "dependencies = [\"S01_load_data\"]");
    let failing = stage("S03_use_data", "1 / 0", "dependencies = [\"S02_more_data\"]");
    assert_eq!(project.run(&format!("{TITLE}{first}{second}{failing}")), RunState::Failed);
    let newest = &project.saved()[0];
    assert_eq!(newest.stage_id, "S02_more_data");
    let path: PathBuf = project.layout().manifest(&newest.checkpoint_id).unwrap();
    std::fs::write(&path, std::fs::read_to_string(&path).unwrap().replace("\"saved\"", "\"saved\" "))
        .unwrap();
    let working = failing.replace("1 / 0", "print('value', value)");
    assert_eq!(
        project.resume(&format!("{TITLE}{first}{second}{working}")),
        RunState::Completed,
        "{:?}",
        project.events
    );
    assert!(project.notebook().iter().any(|cell| text(cell) == "value 2\n"));
}

#[test]
fn a_python_stage_that_names_no_file_of_the_project_is_a_mistake_in_the_plan() {
    let project = Project::new();
    let text = stage("S01_load_data", "x", "").replace("'''\nx\n'''", "[\"missing.py\"]");
    let problems = Plan::read("plan.toml", &format!("{TITLE}{text}"), project.root()).unwrap_err();
    insta::assert_snapshot!(redacted(&problems.0[0].message), @r#"`missing.py` does not exist; a stage of kind `python` is its code as one string, or `["FILE"]` below the project's root"#);
}

#[test]
fn without_a_valid_checkpoint_the_session_goes_on_after_the_last_cell_and_says_so() {
    let mut project = Project::new();
    let first = stage("S01_load_data", "value = 1", "checkpointAfter = false");
    let failing = stage("S02_use_data", "1 / 0", "dependencies = [\"S01_load_data\"]");
    assert_eq!(project.run(&format!("{TITLE}{first}{failing}")), RunState::Failed);
    // What `checkstone resume` and `checkpoint resume` show a person.
    let last = run::last_executed_cell(&project.layout()).unwrap();
    assert_eq!(last.to_string(), "cell 2 of `notebooks/houses.ipynb`");
    let working = failing.replace("1 / 0", "print('value' in globals())");
    assert_eq!(
        project.resume(&format!("{TITLE}{first}{working}")),
        RunState::Completed,
        "{:?}",
        project.events
    );
    let told = "there is no valid checkpoint to rehydrate: the session continues after cell 2 of `notebooks/houses.ipynb`";
    assert!(project.warnings().iter().any(|text| text.starts_with(told)), "{:?}", project.warnings());
    assert!(project.notebook().iter().any(|cell| text(cell) == "False\n"));
}

#[test]
fn a_stage_gets_its_code_from_a_file_and_its_own_environment_and_folder() {
    let mut project = Project::new();
    std::fs::create_dir(project.root().join("stages")).unwrap();
    let code = "import os\nprint(os.environ['CHECKSTONE_STAGE_ID'], os.environ.get('COLOUR'), os.path.basename(os.getcwd()))";
    std::fs::write(project.root().join("stages/one.py"), code).unwrap();
    let first = stage("S01_look_around", "x", "directory = \"stages\"\nenvironment = { COLOUR = \"red\" }")
        .replace("'''\nx\n'''", "[\"stages/one.py\"]");
    let second =
        stage("S02_look_again", "print(os.environ.get('COLOUR'))", "dependencies = [\"S01_look_around\"]");
    assert_eq!(project.run(&format!("{TITLE}{first}{second}")), RunState::Completed, "{:?}", project.events);
    let cells = project.notebook();
    assert_eq!(text(&cells[0]), "S01_look_around red stages\n");
    assert_eq!(text(&cells[2]), "None\n");
}
