use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use crate::workplace::Workplace;
use sandbox::without_durations;

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
