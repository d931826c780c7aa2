//! `checkstone checkpoint` as people and scripts use it.

mod faults;
mod power_cuts;
pub(crate) mod project;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use sandbox::redacted;
use serde_json::Value;

use project::{Project, strace};

#[test]
fn a_checkpoint_is_saved_listed_validated_found_and_pruned() {
    let project = Project::new();
    project.write("data/a.csv", "one\n");
    let saved = project.save("S01_load_data", &["data/a.csv"]);
    let id = saved["checkpointId"].as_str().unwrap();
    assert_eq!(saved["manifestPath"], format!("reports/churn/checkpoints/run-001/{id}/checkpoint.json"));
    assert_eq!((&saved["success"], &saved["action"]), (&Value::Bool(true), &"save".into()));
    assert_eq!((&saved["artifactCount"], &saved["newArtifacts"]), (&1.into(), &1.into()));
    let list = project.json(&["list"], "checkpoint-list.schema.json");
    assert_eq!((&list["count"], &list["checkpoints"][0]["checkpointId"]), (&1.into(), &id.into()));
    let validated = project.json(&["validate", id], "checkpoint-validate.schema.json");
    assert_eq!((&validated["valid"], &validated["issues"]), (&Value::Bool(true), &Value::Array(Vec::new())));
    let found = project.json(&["resume"], "checkpoint-resume.schema.json");
    assert_eq!((&found["found"], &found["nextStageId"]), (&Value::Bool(true), &"S02_".into()));
    assert_eq!(found["checkpoint"]["checkpointId"], id);
    let emergency = project.json(
        &[
            "emergency",
            "--title=churn",
            "--run=run-001",
            "--stage=S02_train_model",
            "--reason=watchdog_timeout",
            "--add=data/a.csv",
        ],
        "checkpoint-emergency.schema.json",
    );
    assert_eq!((&emergency["status"], &emergency["reason"]), (&"interrupted".into(), &"timeout".into()));
    assert_eq!(emergency["artifactsValidated"], false);
    let found = project.json(&["resume"], "checkpoint-resume.schema.json");
    assert_eq!(found["nextStageId"], "S02_train_model");
    let pruned = project.json(&["prune", "--keep=1"], "checkpoint-prune.schema.json");
    // The newest saved one stays beside the emergency.
    assert_eq!(
        (&pruned["pruned"], &pruned["kept"], &pruned["totalBefore"]),
        (&0.into(), &2.into(), &2.into())
    );
}

#[test]
fn people_are_told_what_is_wrong_and_what_is_kept() {
    let project = Project::new();
    project.write("a.csv", "one\n");
    let first = project.save("S01_load_data", &["a.csv"]);
    let first = first["checkpointId"].as_str().unwrap();
    project.write("a.csv", "longer\n");
    let output = project.run(&["validate", first]);
    let shown = output.to_string();
    assert_eq!(output.code, Some(1));
    insta::assert_snapshot!(redacted(&shown), @"");
    let second = project.save("S02_load_data", &["a.csv"]);
    fs::write(project.path(second["manifestPath"].as_str().unwrap()), "{}").unwrap();
    let shown = project.run(&["resume"]).to_string();
    insta::assert_snapshot!(redacted(&shown), @"");
    let list = project.run(&["list"]).to_string();
    insta::assert_snapshot!(redacted(&list), @"");
}

#[test]
fn mistakes_are_told_with_what_to_do() {
    let project = Project::new();
    project.write("a.csv", "one\n");
    let save = ["save", "--title=churn", "--run=run-001", "--stage=S01_load_data"];
    let told = [
        vec!["missing"],
        vec!["../outside"],
        vec!["a.csv", "--max-size=3"],
        vec!["a.csv", "--status=interrupted"],
    ]
    .map(|arguments| project.run(&[&save[..], &arguments].concat()).to_string());
    insta::assert_snapshot!(redacted(told.concat()), @"");
    let shown = project.run(&["resume"]).to_string();
    insta::assert_snapshot!(redacted(&shown), @"");
    let shown = project.run(&["save", "--title=../x", "--run=r", "--stage=S01_a_b"]).to_string();
    insta::assert_snapshot!(redacted(&shown), @"");
    let shown = project.run(&["validate", "nothing"]).to_string();
    insta::assert_snapshot!(redacted(&shown), @"");
}

/// A checkpoint without new artifacts costs two flushes, one with k new ones k + 2.
#[test]
fn flushes_are_few() {
    let Some(strace) = strace() else { return };
    let project = Project::new();
    if !project.is_on_a_known_file_system() {
        println!("not on ext4, xfs or btrfs: not counted");
        return;
    }
    let names: Vec<String> = (0..7).map(|number| format!("artifact-{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for (number, name) in names.iter().enumerate() {
        project.write(name, &format!("{number}\n"));
    }
    assert_eq!(project.flushes(strace, &names), 7 + 2, "the first one, with all its folders");
    assert_eq!(project.flushes(strace, &names), 2, "nothing new");
    project.write(names[3], "other\n");
    assert_eq!(project.flushes(strace, &names), 1 + 2, "one new");
    project.write(names[4], "other\n");
    assert_eq!(project.flushes(strace, &names), 2, "a content that is there already");
    for _ in 0..6 {
        assert_eq!(project.flushes(strace, &names), 2, "with others taken away");
    }
}

/// R15, by the program; as root on mounts of their own, where they can be made
#[test]
fn r15_full_and_read_only_disks_are_clear_errors_and_the_checkpoint_before_stays() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().to_str().unwrap();
    let mounted = rustix::process::geteuid().is_root()
        && project::succeeds("mount", &["-t", "tmpfs", "-o", "size=1m,mode=777", "tmpfs", at]);
    if !mounted {
        println!("no mount here: left out");
        return;
    }
    let _mounted = project::Mounted(folder.path().to_owned());
    let project = Project::at(folder.path());
    project.write("a", "small\n");
    project.save("S01_load_data", &["a"]);
    fs::write(project.path("b"), vec![7; 700 << 10]).unwrap();
    let full = project.try_save("S02_load_data", &["a", "b"]).to_string();
    project.assert_sound();
    let left = fs::read_dir(project.path("reports/churn/checkpoints/.store/.tmp")).unwrap().count();
    let count = project.count();
    assert!(project::succeeds("mount", &["-o", "remount,ro", at]));
    let read_only = project.try_save("S02_load_data", &["a"]).to_string();
    project.assert_sound();
    let found = project.json(&["resume"], "checkpoint-resume.schema.json");
    insta::assert_snapshot!(redacted(&full), @"");
    assert_eq!((left, count), (0, 1));
    insta::assert_snapshot!(redacted(&read_only), @"");
    assert_eq!(found["checkpoint"]["stageId"], "S01_load_data");
}

/// R15: a folder that may not be written to
#[test]
fn r15_a_folder_of_another_owner_is_a_clear_error() {
    if rustix::process::geteuid().is_root() {
        return;
    }
    let project = Project::new();
    project.save("S01_load_data", &[]);
    let store = project.path("reports/churn/checkpoints/.store");
    fs::set_permissions(store.join(".tmp"), fs::Permissions::from_mode(0o555)).unwrap();
    let shown = project.try_save("S02_load_data", &[]).to_string();
    insta::assert_snapshot!(redacted(&shown), @"");
    project.assert_sound();
}
