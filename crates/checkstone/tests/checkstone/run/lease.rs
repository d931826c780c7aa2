//! Runs that are taken in hand by a lease, as where hosts share a file system: an engine that is paused for too long loses its
//! run, and changes nothing when it wakes up.

use rustix::process::{Pid, Signal, kill_process};
use sandbox::{RunToEnd as _, wait_for};

use super::{Project, plan, stage};

/// The second stage waits until `go` is there.
fn waiting() -> Project {
    let project = Project::new(&plan(&[
        stage("S01_make_word", "command = 'echo word > $CHECKSTONE_ARTIFACT_DIR/word'"),
        stage(
            "S02_wait_here",
            "command = 'touch begun; while ! test -e go; do sleep 0.02; done; echo done > $CHECKSTONE_ARTIFACT_DIR/done'",
        ),
    ]));
    let folder = project.workplace.path("home").join(".config/checkstone");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), "[storage]\nlease = \"1s\"\n").unwrap();
    project
}

#[test]
fn a_paused_engine_loses_its_run_and_records_nothing_more() {
    let project = waiting();
    let mut paused = project.start(&[]);
    project.wait_for("begun");
    // While it gives signs of life, nobody else gets it.
    let busy = project.resume();
    assert_eq!(busy.code, Some(4), "{busy:?}");
    kill_process(Pid::from_child(&paused), Signal::STOP).unwrap();
    std::fs::write(project.path("go"), "").unwrap();
    let resumed = project.resume();
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    let record = project.read("reports/study/checkpoints/r1/events.jsonl");
    let published = project.published();
    kill_process(Pid::from_child(&paused), Signal::CONT).unwrap();
    wait_for("the paused engine to end", || paused.try_wait().unwrap().is_some());
    assert_eq!(paused.wait().unwrap().code(), Some(5));
    assert_eq!(project.read("reports/study/checkpoints/r1/events.jsonl"), record);
    assert_eq!(project.published(), published);
    assert_eq!((project.attempts("S01_make_word"), project.attempts("S02_wait_here")), (1, 2));
    assert_eq!(project.run_state(), "COMPLETED");
}

/// A dead engine of this machine is not waited for, and what it left is ended.
#[test]
fn a_killed_engine_is_followed_at_once() {
    let project = waiting();
    let mut killed = project.start(&[]);
    project.wait_for("begun");
    killed.kill().unwrap();
    killed.wait().unwrap();
    std::fs::write(project.path("go"), "").unwrap();
    assert_eq!(project.resume().code, Some(0));
    assert_eq!(project.run_state(), "COMPLETED");
    // Given back, it is free for the next.
    assert_eq!(project.checkstone(&["resume", "r1"]).answer().code, Some(0));
}
