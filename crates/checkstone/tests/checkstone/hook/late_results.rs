//! A result that the client writes just after the stop: the verdict is corrected at the session's next event.

use sandbox::RunToEnd as _;
use serde_json::Value;

use super::session::{AGENTS, Session};
use super::world::{IGNORED, PYTHON, RUN_TESTS, World, answer};
use crate::workplace::valid;

const FIXED: &str = "def add(a, b):\n    return a + b\n";

/// Edits, is held and runs the tests, whose end is written after the second stop.
fn late<'a>(world: &'a World, agent: &'static str, exit: i32) -> Session<'a> {
    let mut session = Session::new(world, agent);
    session.prompt("Fix add");
    session.edit("calc.py", FIXED);
    assert_eq!(session.stop("Done.").holds(), RUN_TESTS);
    session.receive(RUN_TESTS);
    let before = fs_err::read(&session.transcript).unwrap();
    session.shell("pytest", if exit == 0 { "1 passed in 0.01s" } else { "1 failed in 0.01s" }, exit);
    session.say("Done, really.");
    let whole = fs_err::read(&session.transcript).unwrap();
    fs_err::write(&session.transcript, before).unwrap();
    assert_eq!(answer(world.hook(agent), &session.stop_event()).notifies(), IGNORED, "{agent}");
    fs_err::write(&session.transcript, whole).unwrap();
    session
}

fn unproven(world: &World) -> usize {
    let printed = world.checkstone(&["status", "--json"]).answer_to("").stdout;
    valid(&printed, "status.schema.json")["unproven"].as_array().unwrap().len()
}

fn explained(world: &World, arguments: &[&str]) -> Value {
    let arguments = [&["explain", "--json"], arguments].concat();
    valid(&world.checkstone(&arguments).answer_to("").stdout, "explain.schema.json")
}

const REASON: &str = "corrects verdict 2: the result of `pytest` was written after that stop; already held this turn; no \
    action is missing now";

#[test]
fn a_result_that_was_written_after_the_stop_counts_at_the_next_prompt() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let mut session = late(&world, agent, 0);
        assert_eq!(unproven(&world), 1, "{agent}");
        session.type_prompt("Thank you");
        let told = answer(world.hook(agent), &session.prompt_event("Thank you")).notifies();
        assert_eq!(
            told,
            "[checkstone] Corrected: the result of `pytest` was written after the last stop. `calc.py` is proven.",
            "{agent}"
        );
        assert_eq!(unproven(&world), 0, "{agent}");
        let explained_now = explained(&world, &[]);
        assert_eq!(explained_now["verdict"]["reason"], REASON, "{agent}");
        assert_eq!(
            (&explained_now["id"], &explained_now["replay"]["same"]),
            (&3.into(), &true.into()),
            "{agent}"
        );
        assert_eq!(explained(&world, &["2"])["corrected_by"], 3, "{agent}");
        let logged = world
            .log()
            .lines()
            .filter_map(|line| Some(line.split_once(" corrected: ")?.1.to_owned()))
            .collect::<Vec<_>>();
        assert_eq!(logged.len(), 1, "{agent}");
        assert_eq!(logged[0].split_once(" [").unwrap().0, REASON, "{agent}");
        // The next turn is not reminded of what is proven.
        session.stop("You are welcome.").passes();
    }
}

#[test]
fn the_end_of_a_session_corrects_it_too() {
    let world = World::new(PYTHON);
    let session = late(&world, "claude", 0);
    answer(world.hook("claude"), &session.event("SessionEnd")).passes();
    assert_eq!(unproven(&world), 0);
    assert_eq!(explained(&world, &[])["verdict"]["reason"], REASON);
}

/// What failed stays unproven, and the record knows that it failed; what a person does next corrects nothing.
#[test]
fn only_a_run_of_the_turn_that_passed_proves_anything() {
    let world = World::new(PYTHON);
    let mut session = late(&world, "claude", 1);
    session.type_prompt("Thank you");
    answer(world.hook("claude"), &session.prompt_event("Thank you")).passes();
    assert_eq!(unproven(&world), 1);
    assert_eq!(explained(&world, &[])["id"], 3);

    let world = World::new(PYTHON);
    let mut session = Session::new(&world, "claude");
    session.prompt("Fix add");
    session.edit("calc.py", FIXED);
    session.stop("Done.").holds();
    session.receive(RUN_TESTS);
    assert_eq!(session.stop("Done, really.").notifies(), IGNORED);
    session.type_prompt("Test it");
    session.test();
    answer(world.hook("claude"), &session.prompt_event("Test it")).passes();
    assert_eq!(unproven(&world), 1);
    assert_eq!(explained(&world, &[])["id"], 2);
}
