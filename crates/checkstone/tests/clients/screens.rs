//! A person at a client's screen: a turn is held once, and passes after the test.

use serde_json::json;

use crate::facts::{fix, look, run, say};
use crate::workplace::{RUN_TESTS, Workplace};

pub(crate) fn a_turn_is_held_once_and_passes_after_the_test(workplace: &Workplace) {
    let steps = [look(), fix(), say("Fixed."), run("./run-tests"), say("Fixed and tested.")];
    let shown = workplace.show(json!({"steps": steps}), || workplace.init());
    shown.say("Fix add");
    shown.wait_until(|| workplace.decisions() == ["hold", "pass"]);
    assert_eq!(shown.played().holds(), [(3, RUN_TESTS.to_owned())]);
    let verdicts = workplace.verdicts();
    let states: Vec<_> = verdicts.iter().map(|verdict| &verdict["verdict"]["actions"][0]["state"]).collect();
    assert_eq!(states, ["required", "satisfied"]);
}
