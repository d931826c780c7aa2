//! What is seen of a command while it works, and that `--quiet` keeps it silent.

use std::fs::File;
use std::io::Read as _;
use std::process::{Command, Stdio};

use sandbox::{RunToEnd as _, finishes};

use crate::hook::world::{PYTHON, World};
use crate::trust::terminal;
use crate::workplace::Workplace;

/// What takes a line away that said that work goes on.
const TAKEN_AWAY: &str = "\r\x1b[K";

#[test]
fn a_command_that_is_silent_for_long_says_that_it_works() {
    let world = World::new(PYTHON);
    let found = Command::new("sh").args(["-c", "command -v git"]).answer().stdout;
    let may_go_on = world.sandbox.path("may-go-on");
    let waits =
        format!("until [ -e '{}' ]; do sleep 0.1; done; exec '{}' \"$@\"", may_go_on.display(), found.trim());
    let path = format!("{}:{}", world.fake_git(&waits).display(), std::env::var("PATH").unwrap());
    let (person, console) = terminal();
    let mut child = world
        .checkstone(&["verify"])
        .env("PATH", path)
        .stdout(Stdio::from(console.try_clone().unwrap()))
        .stderr(Stdio::from(console))
        .spawn()
        .unwrap();
    let seen = finishes("the answer", move || {
        let mut person = File::from(person);
        let (mut seen, mut byte) = (Vec::new(), [0]);
        // The last end of the program closes the terminal, which reads as an error.
        while person.read(&mut byte).is_ok_and(|read| read == 1) {
            seen.extend_from_slice(&byte);
            if seen.ends_with("working: 1 s".as_bytes()) {
                fs_err::write(&may_go_on, "").unwrap();
            }
        }
        String::from_utf8(seen).unwrap()
    });
    assert!(child.wait().unwrap().success(), "{seen}");
    let (drawn, answer) = seen.rsplit_once(TAKEN_AWAY).unwrap();
    assert!(drawn.starts_with("\r◐ working: 1 s"), "{drawn:?}");
    assert_eq!(answer, "proven  nothing here needs proof\r\n");
}

#[test]
fn quiet_leaves_the_answer_alone() {
    let workplace = Workplace::new(None);
    assert!(workplace.run(&["run", "--new", "pipeline", "plan.toml"]).succeeded());
    let quiet = workplace.run(&["run", "--quiet"]);
    assert_eq!((quiet.code, quiet.stderr.as_str()), (Some(0), ""));
    let usual = workplace.run(&["run", "--fresh"]);
    assert!(!usual.stderr.is_empty());
    // An error is no progress.
    let wrong = workplace.run(&["-q", "explain", "7"]);
    assert_eq!((wrong.code, wrong.stderr.lines().next()), (Some(3), Some("error: there is no verdict 7")));
}
