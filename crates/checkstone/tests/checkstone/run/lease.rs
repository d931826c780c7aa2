//! Runs that are taken in hand by a lease, as where hosts share a file system: an engine that is paused for too long loses its
//! run, and changes nothing when it wakes up.

use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use sandbox::{RunToEnd as _, wait_for};
use serde_json::Value;

use super::{Project, plan, stage};
use crate::checkpoint::project::strace;

/// The second stage waits until `go` is there.
fn waiting() -> Project {
    let project = Project::new(&plan(&[
        stage("S01_make_word", "command = 'echo word > $CHECKSTONE_ARTIFACT_DIR/word'"),
        stage(
            "S02_wait_here",
            "command = 'touch begun; while ! test -e go; do sleep 0.02; done; echo done > $CHECKSTONE_ARTIFACT_DIR/done'",
        ),
    ]));
    short_lease(&project);
    project
}

fn short_lease(project: &Project) {
    let folder = project.workplace.path("home").join(".config/checkstone");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), "[storage]\nlease = \"1s\"\n").unwrap();
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

/// Stopped between taking what it is about to publish and publishing it, which is as late as an engine can be.
#[test]
fn an_engine_that_wakes_up_too_late_publishes_nothing() {
    let Some(strace) = strace() else { return };
    let project = Project::new(&plan(&[stage(
        "S01_copy_word",
        "command = 'cat word > $CHECKSTONE_ARTIFACT_DIR/word'",
    )]));
    short_lease(&project);
    std::fs::write(project.path("word"), "of the first").unwrap();
    let attempt = project.path("reports/study/r1/.attempts/S01_copy_word/1");
    let plain = project.checkstone(&["run", "plan.toml", "--id", "r1"]);
    let renames = "rename,renameat,renameat2";
    let mut engine = Command::new(strace);
    engine.args(["-f", "-qq", "-o", "/dev/null", "-b", "execve", "-P"]).arg(attempt.join("artifacts"));
    engine.args(["-e", &format!("trace={renames}"), "-e", &format!("inject={renames}:signal=SIGSTOP")]);
    engine.arg(plain.get_program()).args(plain.get_args()).env_clear();
    engine.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    engine.current_dir(plain.get_current_dir().unwrap()).stdin(Stdio::null());
    let mut engine = engine.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let is_taken = || {
        let names =
            std::fs::read_dir(&attempt).into_iter().flatten().flatten().map(|entry| entry.file_name());
        names.filter_map(|name| name.into_string().ok()).any(|name| name.starts_with("taken-1-"))
    };
    wait_for("the artifacts to be taken", is_taken);
    let lease: Value = serde_json::from_str(&project.read("reports/study/checkpoints/r1/.lease/1")).unwrap();
    let pid = i32::try_from(lease["owner"]["process"]["pid"].as_i64().unwrap()).unwrap();
    wait_for("the engine to be stopped", || {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        state.rsplit(") ").next().is_some_and(|rest| rest.starts_with(['T', 't']))
    });
    std::fs::write(project.path("word"), "of the second").unwrap();
    let resumed = project.resume();
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    let record = project.read("reports/study/checkpoints/r1/events.jsonl");
    kill_process(Pid::from_raw(pid).unwrap(), Signal::CONT).unwrap();
    wait_for("the late engine to end", || engine.try_wait().unwrap().is_some());
    assert_eq!(engine.wait().unwrap().code(), Some(5));
    assert_eq!(project.published(), [("S01_copy_word/word".to_owned(), b"of the second".to_vec())]);
    assert_eq!(project.read("reports/study/checkpoints/r1/events.jsonl"), record);
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
