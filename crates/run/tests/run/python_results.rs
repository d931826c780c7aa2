//! A run that was edited, retried or interrupted ends with the results of one that was not: real kernels, real sessions.

use checkpoint::manifest::Manifest;
use run::event::What;
use run::report::Report;
use run::state::{RunState, StageState};

use crate::python_runs::{Project, TITLE, source, stage};

fn after(id: &str, before: &str, code: &str) -> String {
    stage(id, code, &format!("dependencies = [\"{before}\"]"))
}

/// Writes an expression into the stage's artifacts.
fn write(expression: &str) -> String {
    format!(
        "import os, pathlib\npathlib.Path(os.environ['CHECKSTONE_ARTIFACT_DIR'], 'result.txt').write_text(str({expression}))"
    )
}

fn result(project: &Project, stage: &str) -> String {
    std::fs::read_to_string(project.layout().published(stage).unwrap().join("result.txt")).unwrap()
}

/// The stages that were begun since the run was last taken in hand, in their order.
fn begun(project: &Project) -> Vec<&str> {
    let begun = project.events.iter().filter_map(|event| match &event.what {
        What::StageState { stage_id, to: StageState::Running, .. } => Some(stage_id.as_str()),
        _ => None,
    });
    begun.collect()
}

#[track_caller]
fn completed(project: &Project, state: RunState) {
    assert_eq!(state, RunState::Completed, "{:#?}", project.events);
}

#[test]
fn a_stage_is_run_again_after_any_earlier_one_of_the_session_changed() {
    let mut project = Project::new();
    let plan = |data: &str| {
        let first = stage("S01_load_data", &format!("data = {data}"), "");
        let second = after("S02_sum_up", "S01_load_data", &write("sum(data)"));
        let third = after("S03_say_more", "S02_sum_up", &write("len(data)"));
        format!("{TITLE}{first}{second}{third}")
    };
    let state = project.run(&plan("[1, 2, 3]"));
    completed(&project, state);
    let state = project.resume(&plan("[10, 20]"));
    completed(&project, state);
    assert_eq!(begun(&project), ["S01_load_data", "S02_sum_up", "S03_say_more"]);
    assert_eq!([result(&project, "S02_sum_up"), result(&project, "S03_say_more")], ["30", "2"]);
    let state = project.resume(&plan("[10, 20]"));
    completed(&project, state);
    assert_eq!(begun(&project), [""; 0]);
}

#[test]
fn a_stage_that_is_wanted_again_brings_those_after_it_along() {
    let mut project = Project::new();
    let first = stage("S01_load_data", "import pathlib\ndata = pathlib.Path('given').read_text()", "");
    let second = after("S02_sum_up", "S01_load_data", &write("data"));
    let plan = format!("{TITLE}{first}{second}");
    std::fs::write(project.root().join("given"), "old").unwrap();
    let state = project.run(&plan);
    completed(&project, state);
    std::fs::write(project.root().join("given"), "new").unwrap();
    project.again = vec!["S01_load_data".to_owned()];
    let state = project.resume(&plan);
    completed(&project, state);
    assert_eq!(result(&project, "S02_sum_up"), "new");
}

/// What later stages did is not yet done when an earlier one is run again.
#[test]
fn a_stage_that_is_run_again_sees_what_was_there_before_it_and_no_more() {
    let mut project = Project::new();
    let plan = |more: &str| {
        let first = stage("S01_load_data", "data = [1]\nseen = 1", "");
        let second =
            after("S02_more_data", "S01_load_data", &format!("data.append({more})\n{}", write("data")));
        let third = after("S03_end_all", "S02_more_data", "data.append(3)\nlast = True");
        format!("{TITLE}{first}{second}{third}")
    };
    let state = project.run(&plan("2"));
    completed(&project, state);
    let state = project.resume(&plan("'last' in globals()"));
    completed(&project, state);
    assert_eq!(begun(&project), ["S02_more_data", "S03_end_all"]);
    assert_eq!(result(&project, "S02_more_data"), "[1, False]");
}

#[test]
fn python_stages_come_in_the_order_of_the_plan_however_many_run_at_once() {
    let mut project = Project::new();
    project.jobs = 4;
    let waits =
        "[[stage]]\nstageId = \"S01_wait_long\"\ngoal = \"Let the others go first\"\ncommand = \"true\"\n";
    let first = after("S02_set_value", "S01_wait_long", "value = 1");
    let second = stage("S03_use_value", &write("value"), "");
    let state = project.run(&format!("{TITLE}{waits}{first}{second}"));
    completed(&project, state);
    assert_eq!(result(&project, "S03_use_value"), "1");
}

const FAILS_ONCE: &str =
    "import pathlib\nif not pathlib.Path('tried').exists():\n    pathlib.Path('tried').touch()\n    1 / 0";

#[test]
fn a_retry_begins_where_a_resume_would() {
    let mut project = Project::new();
    let first = stage("S01_set_value", "n = 0", "");
    let counts = format!("n = n + 1\n{FAILS_ONCE}");
    let second = stage("S02_add_one", &counts, "dependencies = [\"S01_set_value\"]\nretries = 1");
    let third = after("S03_use_value", "S02_add_one", &write("n"));
    let state = project.run(&format!("{TITLE}{first}{second}{third}"));
    completed(&project, state);
    assert_eq!(result(&project, "S03_use_value"), "1");
    // Cells are counted over all kernels: the failed one is the second, and the one that rehydrates the third.
    let counts: Vec<u64> = project.saved().iter().map(|manifest| manifest.execution_count).collect();
    assert_eq!(counts, [5, 4, 1]);
}

/// Its cell ended well, but nothing of it was accepted.
#[test]
fn a_retry_after_a_failed_verification_begins_there_too() {
    let mut project = Project::new();
    let first = stage("S01_set_value", "n = 0", "");
    let verify = "verify = \"test -e tried || { touch tried; exit 1; }\"";
    let second = stage(
        "S02_add_one",
        "n = n + 1",
        &format!("dependencies = [\"S01_set_value\"]\nretries = 1\n{verify}"),
    );
    let third = after("S03_use_value", "S02_add_one", &write("n"));
    let state = project.run(&format!("{TITLE}{first}{second}{third}"));
    completed(&project, state);
    assert_eq!(result(&project, "S03_use_value"), "1");
}

/// A Python stage depends on every Python stage before it, also where it names another one: what it would compute without
/// that one looks like a result, and is none.
#[test]
fn a_stage_after_one_that_failed_does_not_begin() {
    let mut project = Project::new();
    let first = stage("S01_set_value", "n = 0", "");
    let second = after("S02_fail_half", "S01_set_value", "n = 7\n1 / 0");
    let third = after("S03_use_value", "S01_set_value", &write("n"));
    let sends = "[[stage]]\nstageId = \"S04_send_value\"\ngoal = \"Send what there is\"\ncommand = \"true\"\n\
                 dependencies = [\"S03_use_value\"]\n";
    assert_eq!(project.run(&format!("{TITLE}{first}{second}{third}{sends}")), RunState::Failed);
    assert_eq!(begun(&project), ["S01_set_value", "S02_fail_half"]);
    let blocked = project.events.iter().filter_map(|event| match &event.what {
        What::StageState { stage_id, to: StageState::Blocked, reason, .. } => {
            Some((stage_id.as_str(), reason.as_deref()?))
        }
        _ => None,
    });
    let expected = [
        ("S03_use_value", "`S02_fail_half` did not complete"),
        ("S04_send_value", "`S03_use_value` did not complete"),
    ];
    assert_eq!(blocked.collect::<Vec<_>>(), expected);
    let mended = second.replace("1 / 0", "");
    let state = project.resume(&format!("{TITLE}{first}{mended}{third}{sends}"));
    completed(&project, state);
    assert_eq!(begun(&project), ["S02_fail_half", "S03_use_value", "S04_send_value"]);
    assert_eq!(result(&project, "S03_use_value"), "7");
}

/// Nothing brings the state of the random generators back that another seed gave them.
#[test]
fn another_seed_gives_what_it_would_give_in_a_new_run() {
    let draw = stage("S01_draw_number", &format!("import random\n{}", write("random.random()")), "");
    let more = after("S02_draw_more", "S01_draw_number", &write("random.random()"));
    let plan = |seed: u32, variables: bool| {
        format!("title = \"houses\"\n[python]\nvariables = {variables}\nseed = {seed}\n{draw}{more}")
    };
    for variables in [true, false] {
        let (mut project, mut fresh) = (Project::new(), Project::new());
        let results = |project: &Project| ["S01_draw_number", "S02_draw_more"].map(|id| result(project, id));
        let state = project.run(&plan(1, variables));
        completed(&project, state);
        let old = results(&project);
        let state = project.resume(&plan(2, variables));
        completed(&project, state);
        let state = fresh.run(&plan(2, variables));
        completed(&fresh, state);
        assert_eq!(results(&project), results(&fresh));
        assert_ne!(results(&project), old);
    }
}

/// Ends the kernel by way of a thread that a cell left in it; every time but the first it is too late.
const KILL: &str = "[[stage]]\nstageId = \"S03_kill_kernel\"\ngoal = \"Take the kernel away\"\ncommand = \"touch end; until test -e ended; do sleep 0.01; done\"\n";

fn can_be_killed(code: &str) -> String {
    format!(
        "{code}\nimport os, pathlib, threading, time\n\
         def die():\n    while not pathlib.Path('end').exists(): time.sleep(0.01)\n    pathlib.Path('ended').touch()\n    os._exit(9)\n\
         if not pathlib.Path('ended').exists(): threading.Thread(target=die, daemon=True).start()"
    )
}

#[test]
fn a_kernel_that_ended_between_two_stages_is_started_again_and_no_stage_fails() {
    let mut project = Project::new();
    let first = stage("S01_set_value", "value = 41", "");
    let second = after("S02_name_kernel", "S01_set_value", &can_be_killed("value += 1"));
    let kill = format!("{KILL}dependencies = [\"S02_name_kernel\"]\n");
    let last = after("S04_use_value", "S03_kill_kernel", &write("value"));
    let state = project.run(&format!("{TITLE}{first}{second}{kill}{last}"));
    completed(&project, state);
    assert_eq!(result(&project, "S04_use_value"), "42");
    assert_eq!(begun(&project), ["S01_set_value", "S02_name_kernel", "S03_kill_kernel", "S04_use_value"]);
}

/// Where no checkpoint holds what a stage left in the session, the stage is run again before the next one needs it, and so is
/// whoever names it in `dependencies`: another attempt may leave other files.
#[test]
fn a_stage_whose_variables_are_in_no_checkpoint_is_run_again_before_they_are_needed() {
    let mut project = Project::new();
    let first = stage("S01_set_value", "value = 41", "");
    let unsaved = "dependencies = [\"S01_set_value\"]\ncheckpointAfter = false";
    let second = stage("S02_name_kernel", &can_be_killed("value += 1"), unsaved);
    let kill = format!("{KILL}dependencies = [\"S02_name_kernel\"]\ncheckpointAfter = false\n");
    let last = after("S04_use_value", "S03_kill_kernel", &write("value"));
    let state = project.run(&format!("{TITLE}{first}{second}{kill}{last}"));
    completed(&project, state);
    assert_eq!(result(&project, "S04_use_value"), "42");
    assert_eq!(
        begun(&project),
        [
            "S01_set_value",
            "S02_name_kernel",
            "S03_kill_kernel",
            "S02_name_kernel",
            "S03_kill_kernel",
            "S04_use_value"
        ]
    );
}

/// The stage that took the kernel along is the one that failed.
#[test]
fn a_kernel_that_ends_while_its_variables_are_saved_fails_the_stage_that_ended_it() {
    let mut project = Project::new();
    let ends = "class Ends:\n    def __reduce__(self):\n        import os\n        os._exit(3)\nend = Ends()";
    let state = project.run(&format!("{TITLE}{}", stage("S01_set_value", ends, "")));
    assert_eq!(state, RunState::Failed, "{:#?}", project.events);
    assert_eq!(project.reason("S01_set_value"), Some("the kernel ended with exit code 3"));
}

/// What ipykernel and the cells have set is theirs; only what the plan sets is another one's in the next stage.
#[test]
fn the_environment_of_cells_is_theirs() {
    let mut project = Project::new();
    let look = "import os\ndef look(): return [os.environ.get(name) for name in ('MPLBACKEND', 'MINE', 'COLOUR', 'LANG', 'PATH')]\n";
    let plan = "environment = { COLOUR = \"red\", LANG = \"C\" }";
    let first = stage("S01_set_mine", &format!("{look}os.environ['MINE'] = '1'\n{}", write("look()")), plan);
    let second = after("S02_look_again", "S01_set_mine", &write("look()"));
    let third = after("S03_fail_first", "S02_look_again", "1 / 0");
    assert_eq!(project.run(&format!("{TITLE}{first}{second}{third}")), RunState::Failed);
    let inline = "'module://matplotlib_inline.backend_inline', '1'";
    assert_eq!(result(&project, "S01_set_mine"), format!("[{inline}, 'red', 'C', '/usr/bin:/bin']"));
    assert_eq!(result(&project, "S02_look_again"), format!("[{inline}, None, None, '/usr/bin:/bin']"));
    // Also in a new kernel.
    let third = third.replace("1 / 0", &write("look()"));
    let state = project.resume(&format!("{TITLE}{first}{second}{third}"));
    completed(&project, state);
    assert_eq!(result(&project, "S03_fail_first"), format!("[{inline}, None, None, '/usr/bin:/bin']"));
}

#[test]
fn plots_are_in_the_notebook_and_in_the_report() {
    let mut project = Project::new();
    let load = stage("S01_load_data", "data = [1, 3, 2]", "");
    let code = "import os, pathlib\nimport matplotlib.pyplot as plt\nplt.plot(data)\n\
                plt.savefig(pathlib.Path(os.environ['CHECKSTONE_ARTIFACT_DIR'], 'curve of all.png'))\nplt.show()";
    let plot = after("S02_draw_curve", "S01_load_data", code);
    let state = project.run(&format!("{TITLE}{load}{plot}"));
    completed(&project, state);
    assert_eq!(project.warnings(), [""; 0]);
    let cells = project.notebook();
    let shown: Vec<&str> = cells[2]["outputs"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|output| output["data"]["image/png"].as_str())
        .collect();
    assert_eq!(shown.len(), 1, "{}", cells[2]);
    let report = Report::of_run(&project.layout(), "2026-11-16T00:00:00Z".parse().unwrap()).unwrap();
    let page = report.html();
    let pictures: Vec<&str> = page
        .split("<img src=\"data:image/png;base64,")
        .skip(1)
        .map(|rest| rest.split_once('"').unwrap().0)
        .collect();
    let file = project.layout().published("S02_draw_curve").unwrap().join("curve of all.png");
    let file = text::base64(&std::fs::read(file).unwrap());
    assert_eq!(pictures, [shown[0].trim(), file.as_str()]);
    let markdown = report.markdown(None);
    let images: Vec<&str> = markdown.lines().filter(|line| line.starts_with("![")).collect();
    let expected = [
        "![.figures/S02_draw_curve-1.png](run-001/.figures/S02_draw_curve-1.png)",
        "![S02_draw_curve/curve of all.png](run-001/S02_draw_curve/curve%20of%20all.png)",
    ];
    assert_eq!(images, expected);
}

/// Spec 5, 4.2.1: without its variables, a session has at least its imports again.
#[test]
fn modules_are_imported_again_also_where_variables_are_not_saved() {
    let mut project = Project::new();
    let first = stage("S01_load_tools", "import statistics\nimport matplotlib.pyplot as plt", "");
    let second = after(
        "S02_use_tools",
        "S01_load_tools",
        &format!("{FAILS_ONCE}\n{}", write("(plt.__name__, statistics.mean([1, 3]))")),
    );
    let plan = format!("title = \"houses\"\n{first}{second}");
    assert_eq!(project.run(&plan), RunState::Failed);
    let state = project.resume(&plan);
    completed(&project, state);
    assert_eq!(result(&project, "S02_use_tools"), "('matplotlib.pyplot', 2)");
}

/// Spec 5, 2.1.2 and 3.4: the notebook shows where a stage was cut short, and the manifest says which cell that is.
#[test]
fn an_emergency_has_its_cell_in_the_notebook() {
    let mut project = Project::new();
    let first = stage("S01_load_data", "data = [1, 2]", "");
    let second = after("S02_fail_always", "S01_load_data", "1 / 0");
    assert_eq!(project.run(&format!("{TITLE}{first}{second}")), RunState::Failed);
    let listing = checkpoint::list(project.root(), Some("houses"), Some("run-001")).unwrap();
    let [emergency, saved] = listing.checkpoints.as_slice() else { panic!("{listing:?}") };
    let path = project.layout().manifest(&emergency.checkpoint_id).unwrap();
    let manifest = Manifest::parse(&std::fs::read(&path).unwrap()).unwrap().manifest;
    let cells = project.notebook();
    let cell = cells.last().unwrap();
    assert_eq!(cell["id"], manifest.notebook.checkpoint_cell_id.as_str());
    assert_eq!(cell["metadata"]["tags"][0], "gyoshu-checkpoint");
    let id = &emergency.checkpoint_id;
    let marker = format!(
        "[CHECKPOINT:emergency:id={id}:stage=S02_fail_always:manifest=reports/houses/checkpoints/run-001/{id}/checkpoint.json:reason=error]"
    );
    assert_eq!(source(cell), format!("# {marker}\n# {}\nprint(\"{marker}\")", manifest.created_at));
    // Whoever resumes from it begins with what the stage before left.
    let before = &project.saved()[0];
    assert_eq!(before.checkpoint_id, saved.checkpoint_id);
    assert_eq!(manifest.rehydration, before.rehydration);
    assert_eq!(manifest.python_env.python_path, before.python_env.python_path);
    assert_eq!(manifest.execution_count, 2);
}

/// What a cell has saved on its way is there for its next attempt: it does not begin with its first epoch again.
#[test]
fn a_cell_goes_on_from_its_own_checkpoint() {
    let mut project = Project::new();
    let train = r#"
import json, os, pathlib, time
folder = pathlib.Path(os.environ["CHECKSTONE_ARTIFACT_DIR"])
kept = pathlib.Path(os.environ.get("CHECKSTONE_RESUME_DIR", folder), "state.json")
begin = json.loads(kept.read_text()) if kept.exists() else 0
for epoch in range(begin, 4):
    with open("epochs", "a") as epochs: print(epoch, file=epochs)
    (folder / "state.json").write_text(str(epoch + 1))
    print(f"[CHECKPOINT:saved:id=epoch-{epoch}]", flush=True)
    events = pathlib.Path("reports/houses/checkpoints/run-001/events.jsonl")
    while events.read_text().count('"midStage":true') < epoch + 1: time.sleep(0.01)
    if epoch == 1: raise ValueError("once")
"#;
    let first = stage("S01_load_data", "data = [1]", "");
    let second = stage(
        "S02_train_model",
        train,
        "dependencies = [\"S01_load_data\"]\nretries = 1\nmidStageCheckpoints = true",
    );
    let state = project.run(&format!("{TITLE}{first}{second}"));
    completed(&project, state);
    assert_eq!(std::fs::read_to_string(project.root().join("epochs")).unwrap(), "0\n1\n2\n3\n");
}
