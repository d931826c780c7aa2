//! Whole runs whose record is in a database, or whose artifacts are in a bucket.

use std::process::Command;

use database::{RunKey, record_of};
use sandbox::RunToEnd as _;

use crate::plain_put;
use crate::project::Project;
use crate::servers::{connection, new_database, shared, variable};

#[test]
fn the_record_is_in_the_database_and_comes_back_from_there() {
    let Some(_servers) = shared() else { return };
    let address = new_database();
    // This server asks for no password; ours must not be anywhere all the same.
    let with_password = address.replacen("postgres@", "postgres:hunter2@", 1);
    let project = Project::new("CHECKSTONE_DATABASE", &with_password);
    let done = project.run(&["run", "--id", "r1"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let root = project.path("").canonicalize().unwrap().to_string_lossy().into_owned();
    let key = RunKey { project: root, title: "study".to_owned(), run: "r1".to_owned() };
    let recorded = || String::from_utf8(record_of(&mut connection(&address), &key).unwrap()).unwrap();
    let record = project.record();
    assert_eq!(recorded(), record);
    fs_err::remove_file(project.path("reports/study/checkpoints/r1/events.jsonl")).unwrap();
    let again = project.run(&["resume", "r1"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(project.record().get(..record.len()), Some(record.as_str()));
    assert_eq!((recorded(), project.starts()), (project.record(), 2));
    let exists = project.run(&["run", "--id", "r1"]);
    assert_eq!(exists.code, Some(4), "{exists:?}");
    assert!(!project.has_word("hunter2"));
}

#[test]
fn a_database_that_is_not_there_is_a_sentence() {
    let Some(_servers) = shared() else { return };
    let mut project = Project::new("CHECKSTONE_DATABASE", "postgres://ada:hunter2@127.0.0.1:1/lab");
    let refused = project.run(&["run", "--id", "r1"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(5), ""));
    insta::assert_snapshot!(refused.stderr);
    project.set("CHECKSTONE_DATABASE", "lab");
    let refused = project.run(&["run", "--id", "r1"]);
    insta::assert_snapshot!(refused.stderr);
}

#[test]
fn artifacts_are_in_the_bucket_and_come_back_from_there() {
    let Some(_servers) = shared() else { return };
    let project = Project::new("CHECKSTONE_STORE", &variable("CHECKSTONE_STORE").unwrap());
    let done = project.run(&["run", "--id", "r1"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let published = project.published();
    let store = project.path("reports/study/checkpoints/.store");
    for entry in fs_err::read_dir(&store).unwrap().map(Result::unwrap) {
        if entry.file_name().len() == 2 {
            fs_err::remove_dir_all(entry.path()).unwrap();
        }
    }
    fs_err::remove_dir_all(project.path("reports/study/r1")).unwrap();
    let resumed = project.run(&["resume", "r1"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!((project.published(), project.starts()), (published, 2));
    assert!(!project.has_word(&variable("AWS_SECRET_ACCESS_KEY").unwrap()));
}

/// What is wrong is said, and with the right bucket the run goes on.
#[test]
fn a_bucket_that_cannot_be_used_costs_no_run() {
    let Some(_servers) = shared() else { return };
    let right = variable("CHECKSTONE_STORE").unwrap();
    let secret = variable("AWS_SECRET_ACCESS_KEY").unwrap();
    let mut project = Project::new("CHECKSTONE_STORE", "s3://no-such-bucket/x");
    assert_eq!(project.run(&["run", "--id", "r1"]).code, Some(1));
    let missing = reason(&project);
    project.set("CHECKSTONE_STORE", &right);
    project.set("AWS_SECRET_ACCESS_KEY", "wrong");
    assert_eq!(project.run(&["resume", "r1"]).code, Some(1));
    assert_eq!(
        [missing.as_str(), &reason(&project)],
        [
            "its checkpoint cannot be saved: cannot keep artifacts in `s3://no-such-bucket/x`: there is no bucket \
             `no-such-bucket`: create it, or fix `store` in your configuration",
            "its checkpoint cannot be saved: cannot keep artifacts in `s3://checkstone/runs`: `s3://checkstone/runs` does not \
             accept the credentials: set `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, or `AWS_PROFILE`, to ones that may \
             read, write, list and delete there",
        ]
    );
    project.set("AWS_SECRET_ACCESS_KEY", &secret);
    let resumed = project.run(&["resume", "r1"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
}

/// A key that is not the service's any more, a request that is too old by the service's clock, and a service that knows no
/// conditional put.
#[test]
fn what_a_service_refuses_is_said_with_what_to_do() {
    let Some(_servers) = shared() else { return };
    let (store, service) = (variable("CHECKSTONE_STORE").unwrap(), variable("AWS_ENDPOINT_URL").unwrap());
    let key = variable("AWS_ACCESS_KEY_ID").unwrap();
    let mut project = Project::new("CHECKSTONE_STORE", &store);
    let refused = |project: &Project, command: Command| {
        let answer = project.prepared(command).answer();
        assert_eq!(answer.code, Some(1), "{answer:?}");
        let reason = reason(project);
        reason.split_once("cannot keep artifacts in `s3://checkstone/runs`: ").unwrap().1.to_owned()
    };
    let checkstone = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_checkstone"));
        command.args(words);
        command
    };
    project.set("AWS_ACCESS_KEY_ID", "withdrawn");
    let withdrawn = refused(&project, checkstone(&["run", "--id", "r1"]));
    project.set("AWS_ACCESS_KEY_ID", &key);
    let mut late = Command::new("faketime");
    late.args(["-f", "-2h", env!("CARGO_BIN_EXE_checkstone"), "resume", "r1"]);
    let late = refused(&project, late);
    project.set("AWS_ENDPOINT_URL", &plain_put::start(&service));
    let unconditional = refused(&project, checkstone(&["resume", "r1"]));
    assert_eq!(
        [withdrawn.as_str(), &late, &unconditional],
        [
            "`s3://checkstone/runs` does not accept the credentials: set `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, or \
             `AWS_PROFILE`, to ones that may read, write, list and delete there",
            "`s3://checkstone/runs` rejects requests because this machine's clock is wrong: set it, then resume the run",
            "`s3://checkstone/runs` has no conditional put (`If-None-Match`), without which two hosts could overwrite each \
             other: use a service that has it, such as AWS S3, MinIO or SeaweedFS",
        ]
    );
    project.set("AWS_ENDPOINT_URL", &service);
    let resumed = project.run(&["resume", "r1"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
}

/// Why the last stage failed.
pub(crate) fn reason(project: &Project) -> String {
    let record = project.record();
    let mut events = record.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let failed = events.rfind(|event| event["event"] == "stage-state" && event["to"] == "FAILED");
    failed.unwrap()["reason"].as_str().unwrap().to_owned()
}
