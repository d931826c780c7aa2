//! Aborts that come while no cell of a stage runs yet: the kernel starts, or is being rehydrated.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use checkpoint::manifest::Status;
use run::engine;
use run::event::What;
use run::state::{RunState, StageState};
use sandbox::{wait_for, wait_for_file, waiting::receive};

use crate::python_runs::{Project, TITLE, stage};

/// Aborts when the file is there; how the run ended.
fn aborted_at(file: PathBuf, interrupt: Arc<AtomicBool>, run: impl FnOnce() -> RunState) -> RunState {
    std::thread::scope(|scope| {
        scope.spawn(move || {
            wait_for_file(&file);
            interrupt.store(true, Ordering::SeqCst);
        });
        run()
    })
}

/// Processes that were started for this project.
fn alive(root: &Path) -> usize {
    let needle = format!("CHECKSTONE_ARTIFACT_DIR={}", root.display());
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let environments = processes.filter_map(|process| std::fs::read(process.path().join("environ")).ok());
    environments.filter(|environment| String::from_utf8_lossy(environment).contains(&needle)).count()
}

fn check(project: &Project, stage: &str, state: RunState) {
    assert_eq!(state, RunState::Aborted, "{:?}", project.events);
    assert_eq!(alive(project.root()), 0);
    let listing = checkpoint::list(project.root(), Some("houses"), Some("run-001")).unwrap();
    assert_eq!(listing.checkpoints[0].status, Status::Interrupted);
    assert_eq!(listing.checkpoints[0].stage_id, stage);
    let states = project.events.iter().filter_map(|event| match &event.what {
        What::StageState { stage_id, to, .. } if stage_id == stage => Some(*to),
        _ => None,
    });
    let states: Vec<StageState> = states.collect();
    assert_eq!(states, [StageState::Running, StageState::Interrupted, StageState::Resumable]);
}

#[test]
fn an_abort_while_the_kernel_starts_is_seen_at_once_and_leaves_no_kernel() {
    let mut project = Project::new();
    std::fs::create_dir(project.root().join("slow")).unwrap();
    std::fs::write(
        project.root().join("slow/sitecustomize.py"),
        "import pathlib, sys, time\nif 'ipykernel_launcher' in sys.orig_argv:\n    pathlib.Path('starting').touch()\n    time.sleep(1000)\n",
    )
    .unwrap();
    let path = project.root().join("slow").display().to_string();
    let text = format!(
        "{TITLE}{}",
        stage("S01_load_data", "value = 1", &format!("environment = {{ PYTHONPATH = \"{path}\" }}"))
    );
    let (plan, settings, root) = (project.plan(&text), project.settings(), project.root().to_owned());
    let mut events = Vec::new();
    let ended = aborted_at(root.join("starting"), Arc::clone(&settings.interrupt), || {
        engine::run(&root, plan, "run-001", &settings, &mut |event| events.push(event.clone())).unwrap()
    });
    project.events = events;
    check(&project, "S01_load_data", ended);
}

#[test]
fn an_abort_during_rehydration_is_seen_at_once_and_the_run_goes_on_later() {
    let mut project = Project::new();
    let root = project.root().to_owned();
    std::fs::write(
        root.join("slow.py"),
        "import pathlib, time\nclass Slow:\n    def __init__(self):\n        self.number = 41\n    def __setstate__(self, state):\n        self.__dict__.update(state)\n        if pathlib.Path('slow-now').exists():\n            pathlib.Path('rehydrating').touch()\n            time.sleep(1000)\n",
    )
    .unwrap();
    let first = stage("S01_load_data", "import slow\nvalue = slow.Slow()", "");
    let failing = stage("S02_use_data", "1 / 0", "dependencies = [\"S01_load_data\"]");
    assert_eq!(project.run(&format!("{TITLE}{first}{failing}")), RunState::Failed, "{:?}", project.events);

    std::fs::write(root.join("slow-now"), "").unwrap();
    let text = format!("{TITLE}{first}{}", failing.replace("1 / 0", "print(value.number + 1)"));
    let (plan, settings, layout) = (project.plan(&text), project.settings(), project.layout());
    let mut events = Vec::new();
    let ended = aborted_at(root.join("rehydrating"), Arc::clone(&settings.interrupt), || {
        engine::resume(&layout, plan, &settings, &mut |event| events.push(event.clone())).unwrap()
    });
    // The states of before were told again.
    project.events = events;
    let is_new = |event: &run::event::Event| !matches!(&event.what, What::StageState { stage_id, from: StageState::Failed, .. } if stage_id == "S02_use_data");
    project.events.retain(is_new);
    check(&project, "S02_use_data", ended);

    std::fs::remove_file(root.join("slow-now")).unwrap();
    let (plan, settings) = (project.plan(&text), project.settings());
    let state = engine::resume(&layout, plan, &settings, &mut |_| {}).unwrap();
    assert_eq!(state, RunState::Completed);
    let output = std::fs::read_to_string(layout.attempt_output("S02_use_data", 3).unwrap());
    assert_eq!(output.unwrap(), "42\n");
}

/// The cell is done by then; its stage is not.
#[test]
fn an_abort_while_variables_are_saved_is_seen_at_once() {
    let mut project = Project::new();
    let root = project.root().to_owned();
    std::fs::write(
        root.join("slow.py"),
        "import pathlib, time\nclass Slow:\n    def __getstate__(self):\n        pathlib.Path('saving').touch()\n        time.sleep(1000)\n",
    )
    .unwrap();
    let text = format!("{TITLE}{}", stage("S01_load_data", "import slow\nvalue = slow.Slow()", ""));
    let (plan, settings) = (project.plan(&text), project.settings());
    let mut events = Vec::new();
    let ended = aborted_at(root.join("saving"), Arc::clone(&settings.interrupt), || {
        engine::run(&root, plan, "run-001", &settings, &mut |event| events.push(event.clone())).unwrap()
    });
    project.events = events;
    check(&project, "S01_load_data", ended);
}

/// Two stages at once: whoever has the kernel first does `first`, and the other `second`.
fn two_at_once(first: &str, second: &str) -> String {
    let code = format!(
        "import os, pathlib, time\nmine = os.environ['CHECKSTONE_STAGE_ID']\n\
         def wait():\n    while not pathlib.Path('go').exists(): time.sleep(0.01)\n\
         if list(pathlib.Path('.').glob('has-*')):\n    {second}\nelse:\n    pathlib.Path('has-' + mine).touch()\n    {first}"
    );
    let stages = ["S01_load_data", "S02_use_data"].map(|id| stage(id, &code, "maxDurationSec = 100"));
    format!("title = \"houses\"\n{}", stages.concat())
}

/// With several jobs, a stage that waits for the kernel is aborted at once, and the one that has it goes on.
#[test]
fn an_abort_of_a_stage_that_waits_for_its_turn_is_seen_at_once() {
    let project = Project::new();
    let root = project.root().to_owned();
    let (plan, layout) = (project.plan(&two_at_once("wait()", "pass")), project.layout());
    let settings = engine::Settings { jobs: 2, ..project.settings() };
    let (tell, told) = std::sync::mpsc::channel();
    let state = std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            engine::run(&root, plan, "run-001", &settings, &mut |event| tell.send(event.clone()).unwrap())
                .unwrap()
        });
        let is_to = |event: &run::event::Event, stage: &str, wanted: StageState| matches!(&event.what, What::StageState { stage_id, to, .. } if stage_id == stage && *to == wanted);
        let (has_it, waits) = ("S01_load_data", "S02_use_data");
        wait_for("the first cell", || root.join(format!("has-{has_it}")).exists());
        run::control::request_abort(&layout, Some(waits)).unwrap();
        while !is_to(&receive("an event", &told), waits, StageState::Blocked) {}
        // The other one has noticed nothing.
        std::fs::write(root.join("go"), "").unwrap();
        while !is_to(&receive("an event", &told), has_it, StageState::Completed) {}
        running.join().unwrap()
    });
    assert_eq!(state, RunState::Aborted);
    let listing = checkpoint::list(&root, Some("houses"), Some("run-001")).unwrap();
    assert_eq!(listing.checkpoints.len(), 1, "nothing of the other one was begun: {listing:?}");
    assert_eq!(alive(&root), 0);
}

/// The checkpoint of a finished stage does not wait for the next one's cell.
#[test]
fn a_stage_is_completed_while_the_next_one_has_the_kernel() {
    let mut project = Project::new();
    let root = project.root().to_owned();
    let plan = project.plan(&two_at_once("pass", "wait()"));
    let settings = engine::Settings { jobs: 2, ..project.settings() };
    let mut events = Vec::new();
    let state = engine::run(&root, plan, "run-001", &settings, &mut |event| {
        if matches!(event.what, What::StageState { to: StageState::Completed, .. }) {
            std::fs::write(root.join("go"), "").unwrap();
        }
        events.push(event.clone());
    });
    project.events = events;
    assert_eq!(state.unwrap(), RunState::Completed, "{:?}", project.events);
    let counts: Vec<u64> = project.saved().iter().map(|manifest| manifest.execution_count).collect();
    assert_eq!(counts, [2, 1], "each of its own time");
}
