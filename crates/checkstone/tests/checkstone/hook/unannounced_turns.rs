//! Clients that report no prompt: `droid exec` sends none, and what a client's screen sends, the same client started for one prompt may
//! not. The start of the session is the baseline then; a prompt that does come replaces it.

use serde_json::{Value, json};

use super::session::{AGENTS, Session};
use super::world::{HookAnswer, IGNORED, PYTHON, RUN_TESTS, World, answer};

const FIXED: &str = "def add(a, b):\n    return a + b\n";
const OTHERWISE: &str = "def add(a, b):\n    return b + a\n";

/// The client reports that the session begins or goes on.
fn start(session: &Session<'_>, source: &str) {
    let mut event = session.event("SessionStart");
    event["source"] = json!(source);
    for field in ["prompt_id", "turn_id"] {
        event.as_object_mut().unwrap().remove(field);
    }
    answer(session.world.hook(session.agent), &event).passes();
}

/// Committed work is seen by a baseline alone.
fn edit_and_commit(session: &mut Session<'_>, text: &str) {
    session.edit("calc.py", text);
    session.world.commit("work");
}

fn with_turns_opened_an_hour_ago(world: &World) {
    world.database().execute("UPDATE turns SET opened_at = opened_at - 3600000", []).unwrap();
}

#[test]
fn without_prompts_the_start_of_the_session_is_the_baseline() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let mut session = Session::new(&world, agent);
        start(&session, "startup");
        session.type_prompt("Fix add");
        edit_and_commit(&mut session, FIXED);
        assert_eq!(session.stop("Done.").holds(), RUN_TESTS, "{agent}");
        session.receive(RUN_TESTS);
        assert_eq!(session.stop("I did not run them.").notifies(), IGNORED, "{agent}");
        assert_eq!(world.holds()[0], 1, "{agent}");
    }
}

/// A process that takes one prompt after the other: the end of a turn is the beginning of the next one.
#[test]
fn without_prompts_every_turn_is_judged_for_itself() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let mut session = Session::new(&world, agent);
        start(&session, "startup");
        session.type_prompt("Fix add");
        edit_and_commit(&mut session, FIXED);
        session.test();
        session.stop("Done.").notifies();

        session.type_prompt("Turn it round");
        edit_and_commit(&mut session, OTHERWISE);
        assert_eq!(session.stop("Done.").holds(), RUN_TESTS, "{agent}");
        session.receive(RUN_TESTS);
        session.test();
        session.stop("They pass.").passes();

        session.type_prompt("What does it do?");
        session.stop("It adds.").passes();
        assert_eq!(world.holds()[..3], [0, 1, 0], "{agent}");
    }
}

/// Our own hold that comes back as a prompt is not the person's.
#[test]
fn t4_our_own_text_does_not_make_a_client_one_that_reports_prompts() {
    let world = World::new(PYTHON);
    let mut session = Session::new(&world, "gemini");
    start(&session, "startup");
    answer(world.hook("gemini"), &session.prompt_event(RUN_TESTS)).passes();
    session.type_prompt("Fix add");
    edit_and_commit(&mut session, FIXED);
    assert_eq!(session.stop("Done.").holds(), RUN_TESTS);
}

/// Copilot CLI 1.0.92 reports the prompt first, and then the beginning of the session, which names it; 1.0.102 the other way round.
#[test]
fn a_session_that_begins_with_a_prompt_has_one_turn_of_it() {
    let world = World::new(PYTHON);
    let tell = |event: Value| answer(world.hook("copilot"), &event).passes();
    let prompt = |text: &str| {
        tell(
            json!({"hook_event_name": "UserPromptSubmit", "session_id": "1", "cwd": world.repository, "prompt": text}),
        );
    };
    let start = |source: &str, prompt: &str| {
        tell(json!({
            "hook_event_name": "SessionStart", "session_id": "1", "cwd": world.repository, "source": source, "initial_prompt": prompt,
        }));
    };
    prompt("Fix add");
    start("new", "Fix add");
    assert_eq!(world.holds(), [0]);
    start("resume", "Turn it round");
    prompt("Turn it round");
    assert_eq!(world.holds(), [0, 0]);
}

/// C3: an hour at the screen in which the person works by hand.
#[test]
fn c3_what_a_person_did_before_the_first_prompt_is_not_blamed() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let mut session = Session::new(&world, agent);
        start(&session, "startup");
        world.write("calc.py", FIXED);
        world.commit("by hand");
        session.prompt("What does it do?");
        session.stop("It adds.").passes();
        assert_eq!(world.holds(), [0], "{agent}");
        edit_and_commit(&mut session, OTHERWISE);
        assert_eq!(session.stop("Done.").holds(), RUN_TESTS, "{agent}");
    }
}

/// The same at a screen whose prompts are not reported: the transcript tells when the agent was asked.
#[test]
fn c3_what_a_person_did_long_before_an_unreported_prompt_is_not_blamed() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let mut session = Session::new(&world, agent);
        start(&session, "startup");
        world.write("calc.py", FIXED);
        world.commit("by hand");
        with_turns_opened_an_hour_ago(&world);
        session.type_prompt("What does it do?");
        session.stop("It adds.").passes();
        // What the transcript shows counts all the same.
        session.type_prompt("Turn it round");
        with_turns_opened_an_hour_ago(&world);
        session.edit("calc.py", OTHERWISE);
        assert_eq!(session.stop("Done.").holds(), RUN_TESTS, "{agent}");
    }
}

#[test]
fn a_session_that_is_resumed_begins_where_it_is_resumed() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let mut session = Session::new(&world, agent);
        start(&session, "startup");
        session.type_prompt("Fix add");
        edit_and_commit(&mut session, FIXED);
        session.test();
        session.stop("Done.").notifies();
        world.write("calc.py", OTHERWISE);
        world.commit("by hand");
        start(&session, "resume");
        session.type_prompt("What does it do?");
        session.stop("It adds.").passes();
        start(&session, "resume");
        session.type_prompt("As it was");
        edit_and_commit(&mut session, "def add(a, b):\n    return sum([a, b])\n");
        assert_eq!(session.stop("Done.").holds(), RUN_TESTS, "{agent}");
    }
}

#[test]
fn a_compaction_in_the_middle_of_a_turn_begins_nothing() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let mut session = Session::new(&world, agent);
        start(&session, "startup");
        session.type_prompt("Fix add");
        edit_and_commit(&mut session, FIXED);
        start(&session, "compact");
        assert_eq!(session.stop("Done.").holds(), RUN_TESTS, "{agent}");
    }
}

/// L1: what was interrupted is judged at the next stop.
#[test]
fn l1_an_unannounced_turn_that_was_interrupted_is_judged_with_the_next_one() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let mut session = Session::new(&world, agent);
        start(&session, "startup");
        session.type_prompt("Fix add");
        edit_and_commit(&mut session, FIXED);
        start(&session, "resume");
        session.type_prompt("Go on");
        assert_eq!(session.stop("Done.").holds(), RUN_TESTS, "{agent}");
        assert_eq!(world.holds(), [0, 1], "{agent}");
    }
}

/// H4: a stop that passed here, and that another tool held, goes on in the same turn, which is held at most once.
#[test]
fn h4_another_tools_hold_does_not_end_an_unannounced_turn() {
    let world = World::new(PYTHON);
    let mut session = Session::new(&world, "claude");
    let stop = |session: &mut Session<'_>, is_active: bool| -> HookAnswer {
        session.say("Done.");
        let mut event = session.stop_event();
        event["stop_hook_active"] = json!(is_active);
        answer(world.hook("claude"), &event)
    };
    start(&session, "startup");
    session.type_prompt("Fix add");
    session.stop("Nothing to do.").passes();
    for (text, is_held) in [(FIXED, true), (OTHERWISE, false), ("def add(a, b):\n    return a\n", false)] {
        edit_and_commit(&mut session, text);
        assert_eq!(stop(&mut session, true).is_hold(), is_held, "{text}");
    }
    assert_eq!(world.holds().iter().sum::<u32>(), 1);
}
