//! The watchdog, Ctrl-C and `abort`: what runs is ended, and what there was of it is kept.

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use sandbox::{finish, wait_for, without_durations};

use super::{Project, plan, signal, stage};
use crate::trust::terminal;

/// Ignores what can be ignored, and says that it is there.
const STUBBORN: &str = "command = 'trap \"\" INT TERM; echo so far; echo part > $CHECKSTONE_ARTIFACT_DIR/part.txt; touch started; while :; do sleep 0.05; done'";

/// The manifest of the emergency checkpoint of `S01_hang_forever`, which was ended for a reason. Who may read what a stage writes
/// is the umask's to say.
fn interrupted_manifest(project: &Project, reason: &str) -> String {
    let mode = std::fs::metadata(project.path("started")).unwrap().permissions().mode();
    let manifest = r#"{
  "checkpointId": "ckpt-emergency-000001-[id]",
  "researchSessionID": "r1",
  "reportTitle": "study",
  "runId": "r1",
  "stageId": "S01_hang_forever",
  "status": "interrupted",
  "reason": "REASON",
  "trustLevel": "local",
  "createdAt": "[time]",
  "executionCount": 0,
  "notebook": {
    "path": "none",
    "checkpointCellId": "none"
  },
  "pythonEnv": {
    "pythonPath": "none",
    "packages": [],
    "platform": "linux"
  },
  "artifacts": [
    {
      "relativePath": "reports/study/r1/.attempts/S01_hang_forever/1/artifacts/part.txt",
      "sha256": "[hash]",
      "sizeBytes": 5,
      "permissions": "MODE"
    },
    {
      "relativePath": "reports/study/r1/.attempts/S01_hang_forever/1/output.log",
      "sha256": "[hash]",
      "sizeBytes": 7,
      "permissions": "MODE"
    }
  ],
  "rehydration": {
    "mode": "artifacts_only",
    "rehydrationCellSource": []
  },
  "manifestSha256": "[hash]"
}"#;
    manifest.replace("REASON", reason).replace("MODE", &format!("{:04o}", mode & 0o444))
}

/// Success criterion 4 (within 30 s of its limit), R1, R2, R3: a stage that ignores everything is gone, its output and its
/// partial artifacts are in an emergency checkpoint that is valid, and R4: it runs again on resume.
#[test]
fn a_stuck_stage_is_interrupted_and_what_there_was_is_kept() {
    let limits = "maxDurationSec = 1\ngrace = { interruptSec = 0, terminateSec = 0 }";
    let project = Project::new(&plan(&[stage("S01_hang_forever", &format!("{STUBBORN}\n{limits}"))]));
    let done = project.run();
    assert_eq!(done.code, Some(1), "{done:?}");
    insta::assert_snapshot!(without_durations(&done.stdout), @"
    S01_hang_forever  RESUMABLE     it exceeded its time limit; interrupted after [duration]
    run r1 INTERRUPTED: 0 of 1 stage completed; `checkstone resume r1` continues it
    ");
    assert_eq!(project.run_state(), "INTERRUPTED");
    let newest = project.checkpoints()[0].clone();
    assert_eq!((&newest["status"], &newest["stageId"]), (&"interrupted".into(), &"S01_hang_forever".into()));
    let id = newest["checkpointId"].as_str().unwrap();
    assert!(id.starts_with("ckpt-emergency-"), "{id}");
    let manifest = project.read(&format!("reports/study/checkpoints/r1/{id}/checkpoint.json"));
    assert_eq!(without_durations(&manifest), interrupted_manifest(&project, "timeout"));
    let valid = project.output(&["checkpoint", "validate", id, "--title", "study", "--run", "r1"]);
    assert!(valid.succeeded(), "{valid:?}");
    assert_eq!(project.read("reports/study/r1/.attempts/S01_hang_forever/1/output.log"), "so far\n");
    // The plan is mended, and the stage is run again, not skipped.
    project.workplace.write(
        "plan.toml",
        &plan(&[stage("S01_hang_forever", "command = 'echo 2 > $CHECKSTONE_ARTIFACT_DIR/done'")]),
    );
    let resumed = project.resume();
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    insta::assert_snapshot!(without_durations(&resumed.stderr), @"
    run r1 of study
    the plan has changed; the run continues with the new one
    continues from checkpoint ckpt-emergency-000001-[id] of S01_hang_forever
    resumed
    S01_hang_forever  running, at most [duration], attempt 2
    S01_hang_forever  checkpoint ckpt-000002-[id], 1 artifact
    S01_hang_forever  completed in [duration], 1 artifact
    ");
    assert_eq!(project.attempts("S01_hang_forever"), 2);
    assert_eq!(project.published(), [("S01_hang_forever/done".to_owned(), b"2\n".to_vec())]);
}

#[test]
fn control_c_aborts_and_a_second_one_skips_the_grace() {
    let slow = "grace = { interruptSec = 30, terminateSec = 30 }";
    let project = Project::new(&plan(&[
        stage("S01_hang_forever", &format!("{STUBBORN}\n{slow}")),
        stage("S02_never_run", "command = 'true'"),
    ]));
    let child = project.start(&[]);
    project.wait_for("started");
    signal(&child, Signal::INT);
    wait_for("the first signal on record", || {
        project.read("reports/study/checkpoints/r1/events.jsonl").contains("SIGINT")
    });
    signal(&child, Signal::INT);
    let done = finish(child);
    assert_eq!(done.code, Some(130), "{done:?}");
    assert_eq!(project.run_state(), "ABORTED");
    assert_eq!(project.state("S01_hang_forever"), "RESUMABLE");
    // Nothing stands in its way, so that it is not blocked.
    assert_eq!(project.state("S02_never_run"), "PENDING");
    let newest = project.checkpoints()[0].clone();
    let id = newest["checkpointId"].as_str().unwrap();
    let manifest = project.read(&format!("reports/study/checkpoints/r1/{id}/checkpoint.json"));
    assert_eq!(without_durations(&manifest), interrupted_manifest(&project, "abort"));
}

/// The inputs of a stage are read before it is started, which takes a while where they are large.
#[test]
fn an_abort_while_inputs_are_read_starts_nothing() {
    let large = "command = 'touch ran'\ninputs = { large = \"large\" }";
    let project = Project::new(&plan(&[stage("S01_read_much", large)]));
    // Nothing but a hole, and yet too much to be hashed within the time of a test.
    std::fs::File::create(project.path("large")).unwrap().set_len(1 << 40).unwrap();
    let child = project.start(&[]);
    project.wait_for("reports/study/r1/.attempts/S01_read_much/1/artifacts");
    signal(&child, Signal::INT);
    let done = finish(child);
    assert_eq!(done.code, Some(130), "{done:?}");
    assert_eq!(
        (project.run_state().as_str(), project.state("S01_read_much").as_str()),
        ("ABORTED", "RESUMABLE")
    );
    assert!(!project.path("ran").exists());
}

/// A terminal that is closed is a hang-up, and not being able to draw on it any more ends nothing before its time.
#[test]
fn closing_the_terminal_aborts_with_an_emergency_checkpoint() {
    let project = Project::new(&plan(&[stage("S01_sleep_long", "command = 'touch one; exec sleep 100'")]));
    let (person, terminal) = terminal();
    // Whoever runs the tests under `nohup` has hang-ups ignored, and runs go on then.
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP", "setsid", "--wait", "--ctty"]);
    command.args([env!("CARGO_BIN_EXE_checkstone"), "run", "plan.toml", "--id", "r1"]);
    let mut command = project.workplace.prepared(command);
    // Without a kind of terminal nothing is drawn.
    command.env("TERM", "xterm");
    command.stdin(terminal.try_clone().unwrap()).stdout(terminal.try_clone().unwrap()).stderr(terminal);
    let mut child = command.spawn().unwrap();
    drop(command);
    project.wait_for("one");
    drop(person);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(project.run_state(), "ABORTED");
    assert_eq!(project.state("S01_sleep_long"), "RESUMABLE");
    assert_eq!(project.checkpoints()[0]["status"], "interrupted");
}

#[test]
fn what_was_started_with_nohup_outlives_the_hang_up() {
    let waits = "command = 'touch begun; until test -e go; do sleep 0.02; done'";
    // In an aborted run the second one would not be started.
    let project =
        Project::new(&plan(&[stage("S01_wait_long", waits), stage("S02_do_nothing", "command = 'true'")]));
    let mut command = Command::new("nohup");
    command.args([env!("CARGO_BIN_EXE_checkstone"), "run", "plan.toml", "--id", "r1"]);
    let mut command = project.workplace.prepared(command);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    project.wait_for("begun");
    signal(&child, Signal::HUP);
    project.workplace.write("go", "");
    let done = finish(child);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(project.run_state(), "COMPLETED");
}

#[test]
fn a_run_is_aborted_from_elsewhere_and_so_is_one_stage_of_it() {
    let gentle = |name: &str| format!("command = 'touch {name}; exec sleep 100'");
    let project = Project::new(&plan(&[
        stage("S01_sleep_long", &gentle("one")),
        stage("S02_sleep_longer", &gentle("two")),
    ]));
    let child = project.start(&["--jobs", "2"]);
    project.wait_for("one");
    project.wait_for("two");
    // One writer at a time.
    let busy = project.resume();
    assert_eq!(busy.code, Some(4));
    insta::assert_snapshot!(without_durations(&busy.stderr), @"
    error: run `r1` of study has been running since [time]
    hint: `checkstone watch r1` follows it; `checkstone abort r1` ends it
    ");
    let stage = project.output(&["abort", "r1", "S01_sleep_long"]);
    assert_eq!(stage.code, Some(0), "{stage:?}");
    assert_ne!(project.state("S01_sleep_long"), "RUNNING");
    assert_eq!(project.state("S02_sleep_longer"), "RUNNING");
    assert_eq!(project.output(&["abort", "r1", "S01_sleep_long"]).code, Some(3), "it is not running");
    let whole = project.output(&["abort", "r1"]);
    assert_eq!((whole.code, whole.stdout.as_str()), (Some(0), "run r1 ABORTED\n"));
    assert_eq!(finish(child).code, Some(130));
    assert_eq!(project.state("S02_sleep_longer"), "RESUMABLE");
    assert_eq!(project.output(&["abort", "nobody"]).code, Some(3));
}

#[test]
fn a_run_whose_supervisor_was_lost_can_be_aborted() {
    let project = Project::new(&plan(&[stage("S01_sleep_long", "command = 'touch one; exec sleep 100'")]));
    let mut child = project.start(&[]);
    project.wait_for("one");
    child.kill().unwrap();
    child.wait().unwrap();
    let aborted = project.output(&["abort", "r1"]);
    assert_eq!((aborted.code, aborted.stdout.as_str()), (Some(0), "run r1 ABORTED\n"), "{aborted:?}");
    assert_eq!(project.state("S01_sleep_long"), "RESUMABLE");
    assert_eq!(project.checkpoints()[0]["status"], "interrupted");
}

/// A stage that fails many times leaves no more than its last attempts, and prune frees what the others left.
#[test]
fn emergencies_do_not_pile_up() {
    let project = Project::new(&plan(&[stage(
        "S01_fail_often",
        "command = 'cat /proc/sys/kernel/random/uuid > $CHECKSTONE_ARTIFACT_DIR/part; exit 1'\nretries = 8",
    )]));
    assert_eq!(project.run().code, Some(1));
    assert_eq!(project.attempts("S01_fail_often"), 9);
    let checkpoints = project.checkpoints();
    assert_eq!(checkpoints.len(), 5);
    for checkpoint in &checkpoints {
        assert_eq!(checkpoint["artifactCount"], 2, "its own part and output: {checkpoint}");
    }
    let pruned = project.workplace.json(
        &["checkpoint", "prune", "--title=study", "--run=r1", "--keep=1", "--json"],
        "checkpoint-prune.schema.json",
    );
    assert_eq!((&pruned["pruned"], &pruned["freedFiles"]), (&4.into(), &4.into()), "{pruned}");
}
