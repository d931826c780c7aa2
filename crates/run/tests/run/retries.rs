//! Attempts after one that failed.

use std::sync::atomic::Ordering;

use checkpoint::layout::Layout;
use run::engine::{self, PlanText, Settings};
use run::event::{Event, What};
use run::plan::Plan;
use run::record::Record;
use run::state::{RunState, StageState};

const PLAN: &str = "title = \"t\"\n[[stage]]\nstageId = \"S01_copy_data\"\ngoal = \"Copy the data of this project\"\n\
    command = 'cp d.txt copy; mv copy d.txt'\ninputs = \"d.txt\"\nretries = 1\nbackoffSec = 3600\n";

/// A stage that writes its own input, and leaves it as it was, fails over that once, however its next attempt comes about.
#[test]
fn a_stage_whose_next_attempt_was_aborted_before_it_began_does_not_fail_over_the_same_again() {
    let root = tempfile::tempdir().unwrap();
    fs_err::write(root.path().join("d.txt"), "data\n").unwrap();
    let layout = Layout::new(root.path(), "t", "r").unwrap();
    let plan = || {
        let plan = Plan::read("plan.toml", PLAN, root.path()).unwrap();
        PlanText { plan, text: PLAN.to_owned(), file: None }
    };
    let path = ("PATH".into(), std::env::var_os("PATH").unwrap());
    let settings = Settings { environment: vec![path], ..Settings::default() };
    // Nobody waits for the hour after which it would be tried again.
    let abort_before_retry = |event: &Event| {
        if let What::StageState { to: StageState::Resumable, .. } = event.what {
            settings.interrupt.store(true, Ordering::SeqCst);
        }
    };
    let state = engine::run(root.path(), plan(), "r", &settings, &mut { abort_before_retry });
    assert_eq!(state.unwrap(), RunState::Aborted);
    let stage = Record::read(&layout.events()).unwrap().stage("S01_copy_data");
    let why = "aborted before it was tried again: input `d.txt` was written to while it ran";
    assert_eq!((stage.state, stage.reason.as_deref()), (StageState::Blocked, Some(why)));

    let state = engine::resume(&layout, plan(), &settings, &mut { abort_before_retry });
    assert_eq!(state.unwrap(), RunState::Completed);
}
