//! Runs whose record is in a database, seen from where the engine is not, or is no more.

use std::process::{Command, Stdio};

use sandbox::{RunToEnd as _, finish, redacted, wait_for_file};

use crate::project::Project;
use crate::servers::{new_database, shared};

/// The database has the first event, and the file beside the run has nothing.
#[test]
fn an_engine_killed_before_its_first_line_is_in_the_file_can_be_gone_on_with() {
    let Some(_servers) = shared() else { return };
    let project = Project::new("CHECKSTONE_DATABASE", &new_database());
    let record = project.path("reports/study/checkpoints/r1/events.jsonl");
    let mut killed = Command::new("strace");
    killed.args(["-f", "-qq", "-o", "/dev/null", "-b", "execve", "-P"]).arg(&record);
    killed.args(["-e", "trace=write", "-e", "inject=write:signal=SIGKILL"]);
    killed.args([env!("CARGO_BIN_EXE_checkstone"), "run", "--id", "r1"]);
    let killed = project.prepared(killed).answer();
    assert_ne!(killed.code, Some(0), "{killed:?}");
    assert_eq!(project.record(), "", "killed right before the write");
    let again = project.run(&["run", "--id", "r1"]);
    assert_eq!(again.code, Some(4), "{again:?}");
    let resumed = project.run(&["resume", "r1"]);
    assert_eq!((resumed.code, project.starts()), (Some(0), 2), "{resumed:?}");
    let [table, _] = project.published();
    assert_eq!(table.lines().count(), 2000);
}

const WAITING: &str = r#"
title = "study"

[[stage]]
stageId = "S01_wait_here"
goal = "Wait for somebody"
command = 'touch began; until test -e go; do sleep 0.05; done; echo done > $CHECKSTONE_ARTIFACT_DIR/done'
"#;

/// Two folders that share nothing but the name of the project and the database.
#[test]
fn another_host_watches_and_reports_a_run_that_is_not_in_its_folder() {
    let Some(_servers) = shared() else { return };
    let address = new_database();
    let host = || Project::new("CHECKSTONE_DATABASE", &address).with_plan(WAITING).called("churn");
    let (here, there) = (host(), host());
    let start = |mut command: Command| {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let engine = start(here.checkstone(&["run", "--id", "r1"]));
    wait_for_file(&here.path("began"));
    let listed = there.run(&["run", "--list", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed["runs"][0]["state"], "RUNNING", "{listed}");
    let status = there.run(&["status", "--json"]);
    let status: serde_json::Value = serde_json::from_str(&status.stdout).unwrap();
    assert_eq!(status["resumable"], serde_json::json!([]), "it is running");
    let refused = there.run(&["abort", "r1"]);
    let owner = refused.stderr.split("process ").nth(1).and_then(|rest| rest.split('`').next()).unwrap();
    assert_eq!(
        refused.stderr.replace(owner, "N on "),
        format!(
            "error: `r1` is being run by process N on `{}`\nhint: run `checkstone abort` on that host\n",
            fs_err::read_to_string("/proc/sys/kernel/hostname").unwrap().trim()
        )
    );
    let watch = start(there.checkstone(&["watch", "r1"]));
    let follow = start(there.checkstone(&["watch", "r1", "--json"]));
    fs_err::write(here.path("go"), "").unwrap();
    assert_eq!(finish(engine).code, Some(0));
    let (watched, followed) = (finish(watch), finish(follow));
    assert_eq!((watched.code, followed.code), (Some(0), Some(0)), "{watched:?}");
    assert_eq!(followed.stdout, here.record());
    assert_eq!(there.record(), here.record());
    let [report, reported] = [&there, &here].map(|host| host.run(&["report", "r1"]));
    assert_eq!(redacted(&report.stdout), redacted(&reported.stdout));
}

/// Whoever reads has replaced the copy of the record under an engine: it goes on with the new one.
#[test]
fn an_engine_whose_copy_was_replaced_by_one_from_the_database_goes_on() {
    let Some(_servers) = shared() else { return };
    let project = Project::new("CHECKSTONE_DATABASE", &new_database()).with_plan(WAITING);
    let mut engine = project.checkstone(&["run", "--id", "r1"]);
    let engine = engine.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_file(&project.path("began"));
    let path = project.path("reports/study/checkpoints/r1/events.jsonl");
    let begun = project.record();
    fs_err::write(path.with_extension("new"), &begun).unwrap();
    fs_err::rename(path.with_extension("new"), &path).unwrap();
    fs_err::write(project.path("go"), "").unwrap();
    let done = finish(engine);
    assert_eq!(done.code, Some(0), "{done:?}");
    let record = project.record();
    assert!(record.starts_with(&begun));
    let last: serde_json::Value = serde_json::from_str(record.lines().last().unwrap()).unwrap();
    assert_eq!(last["to"], "COMPLETED");
}
