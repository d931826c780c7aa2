//! What is proven and what is not, from stop to stop: a hold that was ignored, a commit of what it was about, content that
//! comes back, and what other sessions proved.

use sandbox::RunToEnd as _;

use super::counting::together;
use super::session::{AGENTS, Session};
use super::world::{HookAnswer, IGNORED, PYTHON, RUN_TESTS, STILL_UNPROVEN, World};

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

/// L2: the evidence of an action of one's own is a script, and nothing else is known of it.
#[test]
fn l2_an_ignored_script_of_ones_own_is_told() {
    for script in ["./ci.sh", "./go.sh"] {
        let world = World::new(&format!(
            "[[category]]\nname = \"code\"\ninclude = [\"*.py\"]\nrequire = [\"ci\"]\n\n\
             [action.ci]\nsay = \"Run `{script}`\"\nevidence = [\"{script}\"]\n"
        ));
        let mut session = Session::new(&world, "claude");
        session.prompt("Fix add");
        session.edit("calc.py", FIXED);
        let held = session.stop("Done.").holds();
        session.receive(&held);
        let told =
            "[checkstone] Unproven: `calc.py` needs `ci`. The agent was asked for this and did not do it.";
        assert_eq!(session.stop("I am done, really.").notifies(), told, "{script}");
        assert_eq!(world.checkstone(&["verify"]).answer_to("").code, Some(1), "{script}");
        session.prompt("Run it");
        session.shell(script, "fine", 0);
        session.stop("It is green.").passes();
        session.prompt("Thanks");
        session.stop("Welcome.").passes();
        assert_eq!(world.checkstone(&["verify"]).answer_to("").code, Some(0), "{script}");
    }
}

/// Fifty sessions in two worktrees of one repository are prompted at once, and stop at once: every proof and every unproven content
/// is in the ledger.
#[test]
fn fifty_sessions_at_once_lose_nothing() {
    let world = World::new(PYTHON);
    let other = world.sandbox.path("other");
    world.git(&["worktree", "add", "--quiet", other.to_str().unwrap()]);
    let session = |number: usize| {
        let mut session = Session::named(&world, "claude", &format!("session-{number:02}"));
        if number % 2 == 1 {
            session.folder.clone_from(&other);
        }
        session.type_prompt("Write a part");
        session
    };
    let mut sessions: Vec<Session<'_>> = (0..50).map(session).collect();
    let prompts: Vec<String> =
        sessions.iter().map(|session| session.prompt_event("Write a part").to_string()).collect();
    together(&world, "claude", &prompts).iter().for_each(HookAnswer::passes);
    for (number, session) in sessions.iter_mut().enumerate() {
        let file = session.folder.join(format!("part{number:02}.py"));
        session.edit(file.to_str().unwrap(), &format!("def part():\n    return part_{number}\n"));
    }
    for session in sessions.iter_mut().step_by(2) {
        session.test();
    }
    let stops: Vec<String> = sessions
        .iter_mut()
        .map(|session| {
            session.say("Done.");
            session.stop_event().to_string()
        })
        .collect();
    let answers = together(&world, "claude", &stops);
    let held: Vec<usize> = (0..50).filter(|number| answers[*number].is_hold()).collect();
    assert_eq!(held, (0..50).filter(|number| number % 2 == 1).collect::<Vec<_>>(), "{}", world.log());
    let unproven = |folder: &std::path::Path| {
        let answer = world.checkstone(&["status", "--json"]).current_dir(folder).answer_to("").stdout;
        let status: serde_json::Value = serde_json::from_str(&answer).unwrap();
        let files = status["unproven"].as_array().unwrap().iter();
        let mut files: Vec<String> =
            files.map(|file| format!("{} {}", file["path"], file["session"])).collect();
        files.sort();
        files
    };
    let left = held.iter().map(|number| format!("\"part{number:02}.py\" \"session-{number:02}\""));
    assert_eq!(unproven(&other), left.collect::<Vec<_>>());
    assert_eq!(unproven(&world.repository), [""; 0]);
    let verified = world.checkstone(&["verify"]).answer_to("").to_string();
    assert_eq!(verified, "exit code: 0\n--- stdout\nproven  25 files\n--- stderr\n");
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
