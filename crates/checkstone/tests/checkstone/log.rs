use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use sandbox::{RunToEnd as _, without_durations};
use serde_json::{Value, json};

use crate::hook::session::Session;
use crate::hook::world::{PYTHON, RUN_TESTS, World};
use crate::workplace::{Workplace, valid};

fn append(workplace: &Workplace, lines: std::ops::Range<u32>) {
    for number in lines {
        journal::log::append(&workplace.path("state"), &format!("line {number}")).unwrap();
    }
}

#[test]
fn the_last_lines_across_rotated_files() {
    let workplace = Workplace::new(None);
    append(&workplace, 0..3);
    std::fs::rename(workplace.path("state/log"), workplace.path("state/log.1")).unwrap();
    append(&workplace, 3..5);
    assert_eq!(
        workplace.shown(&["log", "-n", "3"]),
        "exit code: 0\n--- stdout\nline 2\nline 3\nline 4\n--- stderr\n"
    );
    assert_eq!(workplace.run(&["log"]).stdout.split('\n').count(), 6);
}

#[test]
fn a_stop_leaves_a_line() {
    let workplace = Workplace::new(Some("presets = [\"rust\"]\n"));
    workplace.held_turn(&[]);
    let text = workplace.run(&["log"]).stdout;
    insta::assert_snapshot!(without_durations(&text), @"[time] claude 9f3c2f1e-1111-4222-8333-444455556666 hold: missing: rust-tests [[timings]]");
}

#[test]
fn nothing_logged_is_said_with_a_hint() {
    insta::assert_snapshot!("nothing", Workplace::new(None).shown(&["log"]));
}

#[test]
fn following_goes_on_over_a_rotation_until_ended() {
    let workplace = Workplace::new(None);
    append(&workplace, 0..2);
    let mut child = workplace
        .checkstone(&["log", "--follow", "-n", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    assert_eq!(next(), "line 1");
    append(&workplace, 2..3);
    assert_eq!(next(), "line 2");
    std::fs::rename(workplace.path("state/log"), workplace.path("state/log.1")).unwrap();
    append(&workplace, 3..5);
    assert_eq!((next(), next()), ("line 3".to_owned(), "line 4".to_owned()));
    let process = rustix::process::Pid::from_child(&child);
    // Not INT, which is ignored in what a script starts in the background; for this command they mean the same.
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    let mut told = String::new();
    child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(told, "");
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(15));
}

/// Whether turns were recorded as they took place or are replayed from their transcripts, they add up to the same.
#[test]
fn the_journal_and_a_replay_add_up_to_the_same() {
    let world = World::new(PYTHON);
    let fixed = |number: u32| format!("def add(a, b):\n    return a + b + {number} - {number}\n");
    let mut session = Session::new(&world, "claude");
    // Held, and then tested.
    session.prompt("Fix add");
    session.edit("calc.py", &fixed(1));
    assert_eq!(session.stop("Done.").holds(), RUN_TESTS);
    session.receive(RUN_TESTS);
    session.test();
    session.stop("Tested.");
    // Nothing changed.
    session.prompt("Thanks");
    session.stop("You are welcome.").passes();
    // Held, and not tested.
    session.prompt("Fix it again");
    session.edit("calc.py", &fixed(2));
    session.stop("Done.").holds();
    session.receive(RUN_TESTS);
    session.stop("Done, really.").notifies();

    let json = |arguments: &[&str], schema: &str| {
        let answer = world.checkstone(arguments).answer();
        assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""));
        valid(&answer.stdout, schema);
        serde_json::from_str::<Value>(&answer.stdout).unwrap()
    };
    let recorded = json(&["log", "--stats", "--json"], "log-stats.schema.json");
    let replayed = json(&["replay", "--json", session.transcript.to_str().unwrap()], "replay.schema.json");
    let counts = json!({ "total": 3, "hold": 2, "notify": 0, "pass": 1, "not_judged": 0, "held": 2, "then_tested": 1 });
    assert_eq!(recorded["turns"], counts, "{recorded:#}");
    for part in ["turns", "agents", "projects", "days"] {
        assert_eq!(recorded[part], replayed[part], "{part}");
    }

    let shown = world.checkstone(&["log", "--stats", "--repo", "."]).answer().stdout;
    let (first, rest) = shown.split_once('\n').unwrap();
    assert!(first.starts_with("3 turns, 2"), "{first}");
    assert_eq!(
        rest,
        "       2  held\n       0  reported to the person\n       1  passed silently\n       0  not judged\n\n\
         Of 2 turns held, 1 then ran the tests, or whatever else was missing.\n"
    );
    let nothing = world.checkstone(&["log", "--stats", "--since", "2200-01-01"]).answer().stdout;
    assert_eq!(nothing, "0 turns\n");
}
