//! Supervisors that are killed, stopped, or have no rights: real processes of their own.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Child;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use sandbox::{wait_for, waiting::at_moment, waiting::let_time_pass};
use supervise::{Isolated, Isolation, SweepError, sweep};

use crate::processes::{Stage, each_way, start_supervisor, supervise};

const TREE: &str = "trap '' INT TERM HUP; setsid sleep 1000 & (setsid sleep 1000 &)
    echo kept; sleep 1000";

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), signal).unwrap();
}

fn started(stage: &Stage, settings: &[&str], script: &str) -> Child {
    let child = start_supervisor(&supervise(), stage, settings, script).spawn().unwrap();
    wait_for("the stage has written", || {
        stage.path("output.log").exists() && stage.output().contains("kept")
    });
    child
}

/// Of the supervisor itself the variable is known too, so it is waited for first.
fn kill(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn when_the_supervisor_is_killed_its_tree_goes_with_it_and_the_output_stays() {
    each_way(|stage| {
        let mut supervisor = started(&stage, &[], TREE);
        kill(&mut supervisor);
        wait_for("the end of the tree", || stage.alive().is_empty());
        assert_eq!(stage.output(), "kept\n");
        let swept = sweep(&stage.path("supervisor.json")).unwrap();
        assert_eq!((swept.lost, swept.killed, swept.survivors), (true, 0, 0));
        assert!(!stage.path("supervisor.json").exists());
        assert!(!sweep(&stage.path("supervisor.json")).unwrap().lost, "a second time there is nothing");
    });
}

/// Killed at any instant, also while the stage is being started.
#[test]
fn a_supervisor_that_is_killed_at_any_instant_leaves_nobody() {
    for (number, isolation) in
        [Isolation::Best, Isolation::Only(Isolated::Subreaper)].iter().cycle().take(30).enumerate()
    {
        let stage = Stage::new(*isolation);
        let mut supervisor = start_supervisor(&supervise(), &stage, &[], TREE).spawn().unwrap();
        at_moment(Duration::from_micros(number as u64 * 400), || kill(&mut supervisor));
        wait_for("the end of the tree", || stage.alive().is_empty());
        assert_eq!(sweep(&stage.path("supervisor.json")).unwrap().survivors, 0);
    }
}

#[test]
fn bounded_output_of_a_killed_supervisor_is_completed_by_the_sweep() {
    let stage = Stage::new(Isolation::Best);
    let mut supervisor =
        start_supervisor(&supervise(), &stage, &["kept=2000"], "seq 1 5000; echo end; sleep 1000")
            .spawn()
            .unwrap();
    let newest = || {
        let parts = std::fs::read_dir(stage.folder.path()).unwrap().flatten();
        let mut parts: Vec<_> =
            parts.map(|entry| std::fs::read_to_string(entry.path()).unwrap_or_default()).collect();
        parts.retain(|part| part.ends_with("end\n"));
        !parts.is_empty()
    };
    wait_for("all is written", newest);
    kill(&mut supervisor);
    sweep(&stage.path("supervisor.json")).unwrap();
    let whole: String = (1..=5000).map(|number| format!("{number}\n")).chain(["end\n".to_owned()]).collect();
    let output = stage.output();
    assert!(output.contains(&format!("[checkstone: {} bytes are left out here]", whole.len() - 2000)));
}

/// Without a namespace, when the shim is killed together with the supervisor.
#[test]
fn who_has_lost_shim_and_supervisor_is_swept() {
    let stage = Stage::new(Isolation::Only(Isolated::Subreaper));
    let mut supervisor = started(&stage, &[], TREE);
    let record = stage.path("supervisor.json");
    let shim = serde_json::from_slice::<serde_json::Value>(&std::fs::read(&record).unwrap()).unwrap();
    let shim = Pid::from_raw(i32::try_from(shim["shim"]["pid"].as_i64().unwrap()).unwrap()).unwrap();
    // Stopped, it cannot clear up after the shim.
    signal(&supervisor, Signal::STOP);
    kill_process(shim, Signal::KILL).unwrap();
    kill(&mut supervisor);
    assert!(stage.alive().len() >= 2, "the daemons live on");
    let swept = sweep(&record).unwrap();
    assert!(swept.lost && swept.killed >= 2 && swept.survivors == 0, "{swept:?}");
    assert!(stage.alive().is_empty());
}

/// Without a namespace a stage could kill its shim; its supervisor notices, and ends what is left.
#[test]
fn a_killed_shim_does_not_set_its_tree_free() {
    each_way(|stage| {
        let mut supervisor = started(&stage, &[], TREE);
        let record = std::fs::read(stage.path("supervisor.json")).unwrap();
        let shim = serde_json::from_slice::<serde_json::Value>(&record).unwrap();
        let shim = Pid::from_raw(i32::try_from(shim["shim"]["pid"].as_i64().unwrap()).unwrap()).unwrap();
        kill_process(shim, Signal::KILL).unwrap();
        assert!(supervisor.wait().unwrap().success());
        assert!(stage.alive().is_empty());
        assert_eq!(stage.output(), "kept\n");
    });
}

#[test]
fn a_living_supervisor_is_left_in_peace() {
    let stage = Stage::new(Isolation::Best);
    let mut supervisor = started(&stage, &[], TREE);
    assert!(matches!(sweep(&stage.path("supervisor.json")), Err(SweepError::Alive { .. })));
    assert!(stage.alive().len() >= 3);
    kill(&mut supervisor);
}

/// A number that has gone to somebody else is not a reason to kill.
#[test]
fn nobody_is_killed_by_its_number_alone() {
    let stage = Stage::new(Isolation::Best);
    let mut bystander = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    let identity = serde_json::json!({"pid": bystander.id(), "started": 1});
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let record = serde_json::json!({
        "version": 1, "boot": boot.trim(), "supervisor": identity, "shim": identity, "isolation": "subreaper",
        "token": "of-nobody", "output": "output.log", "kept": 1000,
    });
    std::fs::write(stage.path("supervisor.json"), record.to_string()).unwrap();
    std::fs::write(stage.path("output.log"), "").unwrap();
    let swept = sweep(&stage.path("supervisor.json")).unwrap();
    assert_eq!((swept.lost, swept.killed), (true, 0));
    assert!(bystander.try_wait().unwrap().is_none(), "it lives");
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[test]
fn a_record_that_is_cut_short_belongs_to_nobody() {
    let stage = Stage::new(Isolation::Best);
    std::fs::write(stage.path("supervisor.json"), "{\"version\":1,\"bo").unwrap();
    assert!(sweep(&stage.path("supervisor.json")).unwrap().lost);
    assert!(!stage.path("supervisor.json").exists());
}

/// A repository can hold any record; it leads to no file outside of its folder.
#[test]
fn a_hostile_record_writes_nowhere_else() {
    let stage = Stage::new(Isolation::Best);
    let elsewhere = tempfile::tempdir().unwrap();
    let victim = elsewhere.path().join("victim");
    std::fs::write(&victim, "mine").unwrap();
    let identity = serde_json::json!({"pid": 1, "started": 1});
    let hostile = |output: &str| {
        let record = serde_json::json!({
            "version": 1, "boot": "another", "supervisor": identity, "shim": identity, "isolation": "subreaper",
            "token": "t", "output": output, "kept": 1000,
        });
        std::fs::write(stage.path("supervisor.json"), record.to_string()).unwrap();
        let _ = sweep(&stage.path("supervisor.json"));
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "mine", "{output}");
    };
    std::fs::write(elsewhere.path().join("victim.from-0"), "theirs").unwrap();
    hostile(victim.to_str().unwrap());
    std::os::unix::fs::symlink(&victim, stage.path("output.log")).unwrap();
    std::fs::write(stage.path("output.log.from-0"), "theirs").unwrap();
    hostile("output.log");
}

/// R14: a supervisor that was stopped for longer than the stage's limit.
#[test]
fn r14_a_stopped_supervisor_does_not_use_up_the_stages_time() {
    let stage = Stage::new(Isolation::Best);
    let go = stage.path("go");
    let script = format!("echo kept; while [ ! -e {} ]; do sleep 0.02; done; exit 9", go.display());
    let mut supervisor = started(&stage, &["limit=3000"], &script);
    signal(&supervisor, Signal::STOP);
    let_time_pass(Duration::from_secs(4));
    signal(&supervisor, Signal::CONT);
    let mut lines = BufReader::new(supervisor.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("Suspended")));
    std::fs::write(go, "").unwrap();
    let ended = lines.last().unwrap_or_default();
    assert!(ended.starts_with("ended Exited(9)"), "{ended}");
    supervisor.wait().unwrap();
}

/// As root: a user without rights gets a user namespace where the machine allows it, and is told what it got.
#[test]
fn without_rights_the_strongest_way_that_is_allowed_is_taken() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let stage = Stage::new(Isolation::Best);
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(stage.folder.path(), open).unwrap();
    // The folder of the build may be closed to others.
    let program = stage.path("supervise");
    std::fs::copy(supervise(), &program).unwrap();
    sandbox::make_executable(&program);
    let mut command = start_supervisor(&program, &stage, &[], "id -u; exit 2");
    let output = command.uid(65_534).gid(65_534).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("ended Exited(2)"), "{told}");
    assert!(
        told.starts_with("began PID namespace in a user namespace") || told.starts_with("began subreaper"),
        "{told}"
    );
    assert_eq!(stage.output(), "65534\n");
    // The shim has said that nobody is left, and may itself be an instant from its end.
    wait_for("the tree is gone", || stage.alive().is_empty());
}
