//! Child processes with bounds.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use files::{BoundedChild, Bounds, ChildError, Ended, Leftovers, Lock, LockError};

/// Nothing here takes so long.
const LONG: Duration = Duration::from_secs(60);

fn start(script: &str, bounds: Bounds) -> BoundedChild {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    BoundedChild::start(&mut command, bounds).unwrap()
}

fn finish(script: &str, bounds: Bounds) -> Result<Ended, ChildError> {
    start(script, bounds).finish()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn status_and_both_outputs_come_back() {
    let ended = finish("echo out; echo err >&2; exit 7", Bounds::within(LONG)).unwrap();
    let ended = (ended.status.code(), text(&ended.stdout).to_owned(), text(&ended.stderr).to_owned());
    assert_eq!(ended, (Some(7), "out\n".to_owned(), "err\n".to_owned()));
}

#[test]
fn an_input_of_any_length_arrives_whole() {
    for length in [0, 1, 4096, 4097, 1_000_000] {
        let mut child = start("cat", Bounds::within(LONG));
        child.feed(&vec![b'x'; length]);
        assert_eq!(child.finish().unwrap().stdout, vec![b'x'; length]);
    }
    // A program that reads nothing is none the worse.
    let mut child = start("exit 3", Bounds::within(LONG));
    child.feed(&vec![b'x'; 1_000_000]);
    assert_eq!(child.finish().unwrap().status.code(), Some(3));
}

/// A background process holds both pipes open; what the program itself wrote comes back all the same, at once.
#[test]
fn nobody_waits_for_a_pipe_that_a_grandchild_holds_and_it_is_ended_if_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lock");
    let script = format!("exec 9>'{}'; flock 9; sleep 600 & echo $!", path.display());
    let bounds = Bounds { leftovers: Leftovers::Leave, ..Bounds::within(LONG) };
    let ended = finish(&script, bounds).unwrap();
    assert!(matches!(Lock::acquire(&path, Duration::ZERO), Err(LockError::Busy { .. })), "it lives");
    assert!(Command::new("kill").arg(text(&ended.stdout).trim()).status().unwrap().success());
    drop(Lock::acquire(&path, LONG).unwrap());
    finish(&script, Bounds::within(LONG)).unwrap();
    Lock::acquire(&path, LONG).unwrap();
}

#[test]
fn at_the_limit_the_whole_group_is_ended() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lock");
    let script = format!("exec 9>'{}'; flock 9; sleep 600 & sleep 600", path.display());
    let mut child = start(&format!("{script} & echo ready; wait"), Bounds::within(LONG));
    assert_eq!(child.line().unwrap().as_deref(), Some(b"ready\n".as_slice()));
    drop(child);
    Lock::acquire(&path, LONG).unwrap();
    let limit = Duration::from_millis(50);
    let ended =
        finish("sleep 600 & sleep 600", Bounds { leftovers: Leftovers::Leave, ..Bounds::within(limit) });
    assert_eq!(ended.unwrap_err().to_string(), "it took longer than 50 ms");
}

/// A program that has closed its pipes still has its time, and no more.
#[test]
fn closed_pipes_are_no_end() {
    let ended = finish("exec >&- 2>&-; sleep 600", Bounds::within(Duration::from_millis(50)));
    assert!(matches!(ended, Err(ChildError::TimedOut { .. })));
    let ended = finish("exec >&- 2>&-; exit 4", Bounds::within(LONG)).unwrap();
    assert_eq!(ended.status.code(), Some(4));
}

#[test]
fn too_much_output_ends_it_and_complaints_are_cut() {
    let bounds = Bounds { stdout: 1000, stderr: 10, ..Bounds::within(LONG) };
    let ended = finish("yes", bounds.clone());
    assert_eq!(ended.unwrap_err().to_string(), "it wrote more than 1000 bytes");
    let ended = finish("yes | head -c 1000000 >&2; echo fine", bounds).unwrap();
    assert_eq!((text(&ended.stdout), text(&ended.stderr)), ("fine\n", "y\ny\ny\ny\ny\n"));
}

#[test]
fn an_interruption_ends_it() {
    let bounds = Bounds { interruption: Some(Arc::new(AtomicBool::new(true))), ..Bounds::within(LONG) };
    assert!(matches!(finish("sleep 600", bounds), Err(ChildError::Interrupted)));
}

#[test]
fn lines_come_one_by_one() {
    let mut child = start("echo one; read answer; echo \"two $answer\"; printf three", Bounds::within(LONG));
    assert_eq!(child.line().unwrap().as_deref(), Some(b"one\n".as_slice()));
    child.stdin().unwrap().write_all(b"yes\n").unwrap();
    let rest: Vec<_> = std::iter::from_fn(|| child.line().unwrap()).collect();
    assert_eq!(rest, [b"two yes\n".to_vec(), b"three".to_vec()]);
    assert!(child.finish().unwrap().status.success());
}

#[test]
fn a_program_that_is_not_there_is_not_started() {
    let started = BoundedChild::start(&mut Command::new("/nowhere/program"), Bounds::within(LONG));
    assert_eq!(started.unwrap_err().kind(), std::io::ErrorKind::NotFound);
}
