//! Holds are counted by us: whatever the client's flag says, however many processes ask at once, and wherever one of
//! them is killed.

use std::process::{Child, Stdio};
use std::time::Duration;

use jiff::Timestamp;
use sandbox::waiting::{at_moment, span_of};
use sandbox::{RunToEnd as _, finish, now, redacted, without_durations};
use serde_json::json;

use super::session::{AGENTS, Session};
use super::world::{HookAnswer, IGNORED, PYTHON, RUN_TESTS, World, answer};

const FIXED: &str = "def add(a, b):\n    return a + b\n";

/// H4: another tool's hold has set the flag; our own count decides.
#[test]
fn h4_the_flag_of_another_tools_hold_does_not_count() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let mut session = Session::new(&world, agent);
        session.prompt("Fix add");
        session.edit("calc.py", FIXED);
        session.say("Done.");
        let mut event = session.stop_event();
        event["stop_hook_active"] = json!(true);
        assert_eq!(answer(world.hook(agent), &event).holds(), RUN_TESTS, "{agent}");
        session.say("Done, really.");
        let mut event = session.stop_event();
        event["stop_hook_active"] = json!(true);
        answer(world.hook(agent), &event).passes();
    }
}

/// H5: no client's own bound is needed: of thirty stops one is held, tools in between or not.
#[test]
fn h5_thirty_stops_of_a_turn_are_one_hold() {
    let world = World::new(PYTHON);
    let mut session = Session::new(&world, "codex");
    session.prompt("Fix add");
    let mut held = 0;
    for stop in 0..30 {
        session.edit("calc.py", &format!("def add(a, b):\n    return a + b + {stop}\n"));
        held += u32::from(session.stop(&format!("Done {stop}.")).is_hold());
    }
    assert_eq!(held, 1);
    assert_eq!(world.holds(), [1]);
}

/// H8: `min_turn` of `teleclaude` is 30 s, by the journal's own record of the turn's beginning.
#[test]
fn h8_a_turn_of_29_seconds_passes_and_one_of_30_is_held() {
    // A machine that stalls for a second in the hook makes 30 seconds of 29; then the case is made anew.
    let passed = (0..5).any(|_| {
        let (began, answer) = teleclaude_turn(29);
        let is_short = Timestamp::try_from(now()).unwrap().duration_since(began).as_millis() < 30_000;
        if is_short {
            answer.passes();
        }
        is_short
    });
    assert!(passed);
    let (_, answer) = teleclaude_turn(30);
    let reason = answer.holds();
    insta::assert_snapshot!(redacted(&reason), @"
    [checkstone] Context-aware checkpoint

    Changed: daemon code (1 file)

    Required actions:
    1. Run `make restart` then `make status`
    2. Check the logs: `instrukt-ai-logs teleclaude --since 2m`
    3. Run targeted tests for changed behavior
    4. Commit only after steps 1-3 are complete

    Observations:
    - Daemon code was modified but `make restart` was not observed this turn
    - Daemon code was modified but no test run was observed this turn

    Capture anything worth keeping (memories, bugs, ideas). If everything is clean, do not respond.
    ");
}

/// H8: the window of the logs.
#[test]
fn h8_the_window_of_the_logs_follows_the_turn() {
    let held_after = |seconds| teleclaude_turn(seconds).1.holds();
    let two_minutes = held_after(61);
    for (seconds, window) in [(121, "--since 3m"), (181, "--since 4m")] {
        assert_eq!(held_after(seconds), two_minutes.replace("--since 2m", window));
    }
}

/// A turn that began this many seconds ago, and the answer to its stop.
fn teleclaude_turn(seconds: i64) -> (Timestamp, HookAnswer) {
    let world = World::new("presets = [\"teleclaude\"]\n");
    let mut session = Session::new(&world, "claude");
    session.prompt("Fix add");
    session.edit("teleclaude/core.py", "x = 1\n");
    world.git(&["add", "--all"]);
    let began = Timestamp::try_from(now()).unwrap() - jiff::SignedDuration::from_secs(seconds);
    let changed =
        world.database().execute("UPDATE turns SET opened_at = ?1", [began.as_millisecond()]).unwrap();
    assert_eq!(changed, 1);
    (began, session.stop("Done."))
}

/// H8: where nobody knows when the turn began, it passes.
#[test]
fn h8_a_turn_of_unknown_beginning_passes() {
    let world = World::new("presets = [\"teleclaude\"]\n");
    let mut session = Session::new(&world, "claude");
    session.prompt("Fix add");
    session.edit("teleclaude/core.py", "x = 1\n");
    world.git(&["add", "--all"]);
    fs_err::remove_dir_all(&world.state).unwrap();
    let mut event = session.stop_event();
    event["transcript_path"] = json!(null);
    answer(world.hook("claude"), &event).passes();
    insta::assert_snapshot!(without_durations(world.log()), @"[time] claude 0a1b pass: the turn was short, or its start is unknown [[timings]]");
}

/// H9: registered by a plugin and by the settings: both processes run, one acts, at every event.
#[test]
fn h9_registered_twice_acts_once() {
    for agent in AGENTS {
        let world = World::new(PYTHON);
        let mut session = Session::new(&world, agent);
        session.type_prompt("Fix add");
        for answer in together(&world, agent, &vec![session.prompt_event("Fix add").to_string(); 2]) {
            answer.passes();
        }
        assert_eq!(world.holds(), [0], "{agent}");
        session.edit("calc.py", FIXED);
        session.say("Done.");
        let answers = together(&world, agent, &vec![session.stop_event().to_string(); 2]);
        assert_eq!(spoken(&answers), 1, "{agent}");
        assert_eq!(world.holds(), [1], "{agent}");

        // All clear is told once too.
        session.prompt("Again");
        session.edit("calc.py", "def add(a, b):\n    return b + a\n");
        session.test();
        session.say("Tested.");
        let answers = together(&world, agent, &vec![session.stop_event().to_string(); 2]);
        assert_eq!(spoken(&answers), 1, "{agent}");
    }
}

/// H9: where the owner chose a second hold, two registrations do not use it up at the first stop.
#[test]
fn h9_registered_twice_leaves_the_second_hold_for_the_second_stop() {
    let world = World::new("presets = [\"python\"]\n[gate]\nsecond_stop = \"hold-uncommitted\"\n");
    let mut session = Session::new(&world, "claude");
    session.prompt("Fix add");
    session.edit("calc.py", FIXED);
    session.say("Done.");
    let answers = together(&world, "claude", &vec![session.stop_event().to_string(); 2]);
    assert_eq!(spoken(&answers), 1);
    session.receive(RUN_TESTS);
    session.say("Tested.");
    let answers = together(&world, "claude", &vec![session.stop_event().to_string(); 2]);
    assert_eq!(spoken(&answers), 1);
    assert_eq!(session.stop("Not committed.").notifies(), IGNORED);
    assert_eq!(world.holds(), [2]);
}

/// H11: twenty stops of one session at once, each with other words, also where the turn has to be opened first.
#[test]
fn h11_twenty_stops_at_once_are_one_hold() {
    for agent in AGENTS {
        for announced in [true, false] {
            let world = World::new(PYTHON);
            let mut session = Session::new(&world, agent);
            session.type_prompt("Fix add");
            if announced {
                answer(world.hook(agent), &session.prompt_event("Fix add")).passes();
            }
            session.edit("calc.py", FIXED);
            session.say("Done.");
            let events: Vec<String> = (0..20)
                .map(|number| {
                    let mut event = session.stop_event();
                    event["stop_hook_active"] = json!(number % 2 == 0);
                    for field in ["last_assistant_message", "prompt_response"] {
                        if event.get(field).is_some() {
                            event[field] = json!(format!("{number}\nDone."));
                        }
                    }
                    event.to_string()
                })
                .collect();
            let answers = together(&world, agent, &events);
            assert_eq!(spoken(&answers), 1, "{agent}, announced: {announced}, {}", world.log());
            assert_eq!(world.holds(), [1], "{agent}, announced: {announced}");
        }
    }
}

/// H11: where there is no transcript and no id of the turn either.
#[test]
fn h11_twenty_stops_without_any_id_are_one_hold() {
    let world = World::new(PYTHON);
    world.write("calc.py", FIXED);
    let session = Session::new(&world, "gemini");
    let events: Vec<String> = (0..20)
        .map(|number| {
            let mut event = session.stop_event();
            event["transcript_path"] = json!(null);
            event["prompt_response"] = json!(number.to_string());
            event.to_string()
        })
        .collect();
    let answers = together(&world, "gemini", &events);
    assert_eq!(spoken(&answers), 1, "{}", world.log());
    assert_eq!(world.holds().len(), 1);
}

/// H11: two sessions at once are two turns.
#[test]
fn h11_two_sessions_at_once_are_each_held_once() {
    let world = World::new(PYTHON);
    let mut events = Vec::new();
    for id in ["one", "two"] {
        let mut session = Session::named(&world, "claude", id);
        session.prompt("Fix add");
        session.edit(&format!("{id}.py"), FIXED);
        session.say("Done.");
        events.push(session.stop_event().to_string());
    }
    let answers = together(&world, "claude", &events);
    assert_eq!(spoken(&answers), 2, "{}", world.log());
    assert_eq!(world.holds(), [1, 1]);
}

/// A notification that the client counts as a prompt of its own does not make a second turn, also where the
/// transcript cannot be read.
#[test]
fn a_notification_is_not_held_for_again() {
    let world = World::new(PYTHON);
    let mut session = Session::new(&world, "claude");
    session.prompt("Fix add");
    session.edit("calc.py", FIXED);
    session.stop("Done.").holds();
    let mut event = session.stop_event();
    event["prompt_id"] = json!("the-notification");
    event["transcript_path"] = json!(null);
    event["last_assistant_message"] = json!("The task ended.");
    answer(world.hook("claude"), &event).passes();
    assert_eq!(world.holds(), [1]);
}

/// H14: killed at any instant. The journal stays sound, the next stop is answered, and no turn is held twice.
/// `CHECKSTONE_SOAK_KILLS` sets the number of rounds.
#[test]
fn h14_killed_at_any_instant() {
    let rounds: u32 =
        std::env::var("CHECKSTONE_SOAK_KILLS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(25);
    let world = World::new(PYTHON);
    let mut session = Session::new(&world, "claude");
    // How long a whole stop takes here, so that the kills fall into it.
    session.prompt("Warm up");
    session.edit("calc.py", FIXED);
    let whole = span_of(|| session.stop("Done.").holds());
    let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
    for round in 0..rounds {
        let prompt = format!("Round {round}");
        session.type_prompt(&prompt);
        let events = [session.prompt_event(&prompt).to_string(), String::new()];
        killed(&world, &events[0], pause(&mut seed, whole));
        session.edit("calc.py", &format!("def add(a, b):\n    return {round}\n"));
        session.say("Done.");
        let stop = session.stop_event().to_string();
        let said = killed(&world, &stop, pause(&mut seed, whole));
        session.say("Done again.");
        let after = answer(world.hook("claude"), &session.stop_event());
        assert_eq!(after.0.code, Some(0), "round {round}");
        assert!(
            u32::from(said) + u32::from(after.is_hold()) <= 1,
            "round {round}: held twice\n{}",
            world.log()
        );
        let sound: String =
            world.database().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(sound, "ok", "round {round}");
        assert!(world.holds().iter().all(|holds| *holds <= 1), "round {round}: {:?}", world.holds());
    }
    session.prompt("Last");
    session.edit("calc.py", "def add(a, b):\n    return a\n");
    assert_eq!(session.stop("Done.").holds(), RUN_TESTS);
}

/// Runs a hook and kills it after a while; whether it had said a hold by then.
fn killed(world: &World, payload: &str, after: Duration) -> bool {
    let mut child = world.hook("claude").start_with(payload);
    at_moment(after, || {
        let _ = child.kill();
    });
    HookAnswer(finish(child)).is_hold()
}

/// An instant within `whole`, by a xorshift, so that a failure can be found again.
fn pause(seed: &mut u64, whole: Duration) -> Duration {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    whole.mul_f64((*seed % 1000) as f64 / 1000.0)
}

/// Starts all hooks before any of them is given its payload.
pub(super) fn together(world: &World, agent: &str, payloads: &[String]) -> Vec<HookAnswer> {
    use std::io::Write as _;
    let start = |_| {
        let mut hook = world.hook(agent);
        hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut children: Vec<Child> = payloads.iter().map(start).collect();
    for (child, payload) in children.iter_mut().zip(payloads) {
        let _ = child.stdin.take().unwrap().write_all(payload.as_bytes());
    }
    children.into_iter().map(finish).map(HookAnswer).collect()
}

/// How many of them said anything; all of them succeeded.
#[track_caller]
fn spoken(answers: &[HookAnswer]) -> usize {
    for answer in answers {
        assert_eq!((answer.0.code, answer.0.stderr.as_str()), (Some(0), ""));
    }
    answers.iter().filter(|answer| !answer.0.stdout.is_empty()).count()
}

/// What the agent made of the hold is recorded, and nothing is said of it.
#[test]
fn the_stop_after_the_hold_is_looked_at_for_the_record() {
    for (agent, does, answered, reason) in [
        ("claude", true, "pass", "already held this turn; no action is missing now"),
        ("codex", false, "notify", "already held this turn; still missing: python-tests; 1 file unproven"),
    ] {
        let world = World::new(PYTHON);
        let mut session = Session::new(&world, agent);
        session.prompt("Fix add");
        session.edit("calc.py", FIXED);
        assert_eq!(session.stop("Done.").holds(), RUN_TESTS);
        session.receive(RUN_TESTS);
        if does {
            session.test();
        }
        let again = session.stop("Done again.");
        match does {
            true => again.passes(),
            false => assert_eq!(again.notifies(), IGNORED),
        }
        let output = world.checkstone(&["explain", "--json"]).answer();
        let latest: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!((&latest["answered"], &latest["verdict"]["reason"]), (&json!(answered), &json!(reason)));
        assert_eq!(world.holds(), [1], "{agent}");
    }
}
