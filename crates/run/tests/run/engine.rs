//! The engine called as a library: decisions over large plans.

use std::sync::Arc;

use checkpoint::layout::Layout;
use jiff::Timestamp;
use run::engine::{self, PlanText, Settings};
use run::event::{Accepted, FORMAT, HowEnded, What};
use run::fingerprint::{self, Preceding};
use run::plan::Plan;
use run::project_code::ProjectCode;
use run::record::Recorder;
use run::state::{RunState, StageState};
use run::surroundings::Surroundings;

/// 9,999 of 10,000 stages are complete: each is looked at, and the last one begins. `cargo xtask bench run` says when.
#[test]
fn of_ten_thousand_stages_the_first_pending_one_begins() {
    let root = tempfile::tempdir().unwrap();
    let mut text = "title = \"t\"\n".to_owned();
    for number in 0..10_000 {
        let before = if number == 0 {
            String::new()
        } else {
            format!("dependencies = [\"S{:05}_do_work\"]\n", number - 1)
        };
        text.push_str(&format!(
            "[[stage]]\nstageId = \"S{number:05}_do_work\"\ngoal = \"Do the work of this stage\"\ncommand = [\"true\"]\n{before}"
        ));
    }
    let plan = Plan::read("plan.toml", &text, root.path()).unwrap();
    let layout = Layout::new(root.path(), "t", "r").unwrap();
    fs_err::create_dir_all(layout.run_checkpoints()).unwrap();
    let at = Timestamp::try_from(sandbox::now()).unwrap();
    let planned = What::RunPlanned {
        format: FORMAT,
        report_title: "t".to_owned(),
        run_id: "r".to_owned(),
        plan_file: None,
        plan: text.clone(),
        set: Vec::new(),
        surroundings: Surroundings::default(),
    };
    let (mut recorder, _) = Recorder::create(&layout.events(), at, planned).unwrap();
    let mut events = vec![What::RunState { from: RunState::Planned, to: RunState::InProgress, reason: None }];
    let mut known_by: Vec<String> = Vec::new();
    let code = ProjectCode::new(root.path(), Arc::default());
    for stage in plan.stages.iter().take(9_999) {
        let preceding = Preceding::of(&plan, stage, None, |on| known_by.get(on).map(String::as_str));
        let fingerprint = fingerprint::of_stage(stage, &plan.python, &code.of_stage(stage), &[], &preceding);
        known_by.push(fingerprint.clone());
        let state = |from, to, accepted| What::StageState {
            stage_id: stage.id.clone(),
            attempt: 1,
            from,
            to,
            reason: None,
            token: None,
            ending: None,
            accepted,
            refused: false,
        };
        let accepted = Accepted {
            fingerprint,
            parts: Default::default(),
            session: None,
            inputs: Vec::new(),
            artifacts: Vec::new(),
            folders: Vec::new(),
        };
        events.push(state(StageState::Pending, StageState::Running, None));
        events.push(state(StageState::Running, StageState::Completed, Some(accepted)));
    }
    recorder.append_all(at, events).unwrap();
    drop(recorder);

    let plan = Plan::read("plan.toml", &text, root.path()).unwrap();
    let mut started = None;
    let settings = Settings::default();
    let plan = PlanText { plan, text, file: None };
    let state = engine::resume(&layout, plan, &settings, &mut |event| {
        if matches!(event.what, What::StageState { to: StageState::Running, .. }) {
            started.get_or_insert(event.what.stage().map(str::to_owned));
        }
    });
    assert_eq!(started.unwrap().as_deref(), Some("S09999_do_work"));
    // Without a `PATH` nothing can be started, which is a failed stage and not an error of the engine.
    assert!(matches!(state, Ok(RunState::Failed | RunState::Completed)), "{state:?}");
}

/// Success criterion 1: what may run for long saves a checkpoint at least every so often, or has said that it does not.
#[test]
fn a_long_stage_that_saves_no_checkpoint_is_interrupted() {
    let root = tempfile::tempdir().unwrap();
    let stage = |id: &str, command: &str| {
        format!(
            "[[stage]]\nstageId = \"{id}\"\ngoal = \"Do the work of this stage\"\nmaxDurationSec = 100\n{command}\n"
        )
    };
    let text = [
        "title = \"t\"\n".to_owned(),
        stage("S01_work_silently", "command = 'exec sleep 100'"),
        stage("S02_work_unchecked", "command = 'sleep 4'\nunchecked = true"),
        stage(
            "S03_work_stepwise",
            "command = 'for step in $(seq 40); do echo \"[CHECKPOINT:saved:id=$step]\"; sleep 0.1; done'\nmidStageCheckpoints = true",
        ),
    ]
    .concat();
    let plan = Plan::read("plan.toml", &text, root.path()).unwrap();
    let plan = PlanText { plan, text, file: None };
    let settings = Settings {
        jobs: 3,
        longest_unchecked: std::time::Duration::from_secs(3),
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        ..Settings::default()
    };
    let mut ended = Vec::new();
    let state = engine::run(root.path(), plan, "r", &settings, &mut |event| {
        if let What::StageState { stage_id, ending: Some(ending), .. } = &event.what {
            ended.push((stage_id.clone(), ending.how));
        }
    });
    assert_eq!(state.unwrap(), RunState::Interrupted);
    ended.sort_by(|one, other| one.0.cmp(&other.0));
    let expected = [
        ("S01_work_silently", HowEnded::NoCheckpoint),
        ("S02_work_unchecked", HowEnded::Exited),
        ("S03_work_stepwise", HowEnded::Exited),
    ];
    assert_eq!(ended, expected.map(|(stage, how)| (stage.to_owned(), how)));
}
