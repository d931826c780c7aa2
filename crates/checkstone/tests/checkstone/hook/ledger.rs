//! What is proven and what is not, from stop to stop: a hold that was ignored, a commit of what it was about, content that
//! comes back, and what other sessions proved.

use sandbox::RunToEnd as _;

use super::session::{AGENTS, Session};
use super::world::{IGNORED, PYTHON, RUN_TESTS, STILL_UNPROVEN, World};

const FIXED: &str = "def add(a, b):\n    return a + b\n";
const OTHER: &str = "def add(a, b):\n    return b + a\n";

/// Edits, is held, and goes on without a test.
fn ignored<'a>(world: &'a World, agent: &'static str) -> Session<'a> {
    let mut session = Session::new(world, agent);
    session.prompt("Fix add");
    session.edit("calc.py", FIXED);
    assert_eq!(session.stop("Done.").holds(), RUN_TESTS, "{agent}");
    session.receive(RUN_TESTS);
    assert_eq!(session.stop("I am done, really.").notifies(), IGNORED, "{agent}");
    session
}

#[test]
fn l2_an_ignored_hold_is_told_to_the_person_and_again_once_a_turn() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let mut session = ignored(&world, agent);
        session.stop("Still done.").passes();
        session.prompt("What does it do?");
        assert_eq!(session.stop("It adds.").notifies(), STILL_UNPROVEN, "{agent}");
        session.stop("It does add.").passes();
        // A run in any later turn proves what lies there.
        session.prompt("Run the tests");
        session.test();
        session.stop("They pass.").passes();
        session.prompt("Thanks");
        session.stop("Welcome.").passes();
        assert_eq!(world.holds(), [1, 0, 0, 0], "{agent}");
    }
}

#[test]
fn l3_a_commit_of_what_was_never_tested_is_told() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let mut session = ignored(&world, agent);
        session.prompt("Commit it");
        world.commit("work");
        session.shell("git commit -am work", "[main 1234567] work", 0);
        let told = session.stop("Committed.").notifies();
        assert_eq!(
            told, "[checkstone] This turn committed unproven work: `calc.py` needs `python-tests`.",
            "{agent}"
        );
        session.prompt("And now?");
        assert_eq!(session.stop("Nothing.").notifies(), STILL_UNPROVEN, "{agent}");
    }
}

#[test]
fn l3_an_option_holds_once_at_the_commit() {
    let world = World::new("presets = [\"python\"]\n[gate]\nunproven_commit = \"hold\"\n");
    let mut session = ignored(&world, "claude");
    session.prompt("Commit it");
    world.commit("work");
    session.shell("git commit -am work", "[main 1234567] work", 0);
    let held =
        "[checkstone] This turn committed unproven work: `calc.py` needs `python-tests`. Run `pytest`.";
    assert_eq!(session.stop("Committed.").holds(), held);
    session.receive(held);
    session.test();
    session.stop("They pass.").passes();
}

/// What one session proved is proven for all, in every worktree, and when it comes back.
#[test]
fn l14_the_same_content_as_when_it_was_proven_is_proven() {
    let world = World::new(PYTHON);
    let mut first = Session::new(&world, "claude");
    first.prompt("Fix add");
    first.edit("calc.py", FIXED);
    first.test();
    first.stop("Done.").notifies();
    first.prompt("The other way round");
    first.edit("calc.py", OTHER);
    assert_eq!(first.stop("Done.").holds(), RUN_TESTS);
    first.receive(RUN_TESTS);
    assert_eq!(first.stop("No.").notifies(), IGNORED);
    let mut second = Session::new(&world, "codex");
    second.prompt("Back to what it was");
    second.edit("calc.py", FIXED);
    let told = second.stop("Done.").notifies();
    assert!(told.ends_with("All expected validations were observed. Commit if ready."), "{told}");
    // The unproven content is not there any more, and so nobody is told of it.
    second.prompt("Thanks");
    second.stop("Welcome.").passes();
}

/// H6: without a journal that can be used, the agent passes, and the log has why.
#[test]
fn a_ledger_that_is_locked_or_newer_holds_nobody() {
    let world = World::new(PYTHON);
    let mut session = ignored(&world, "claude");
    world.database().execute_batch("PRAGMA user_version = 999999").unwrap();
    session.prompt("More");
    session.edit("calc.py", OTHER);
    session.stop("Done.").passes();
    assert_eq!(world.checkstone(&["status"]).answer_to("").code, Some(0));
}
