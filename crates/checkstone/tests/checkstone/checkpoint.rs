//! `checkstone checkpoint` as people and scripts use it.

#[cfg(target_os = "linux")]
mod disk;
#[cfg(target_os = "linux")]
mod faults;
#[cfg(target_os = "linux")]
mod power_cuts;
pub(crate) mod project;
#[cfg(target_os = "linux")]
mod room;

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

/// Spec 5, 2.3.2: `save` appends the cell itself.
#[cfg(feature = "python")]
#[test]
fn a_checkpoint_has_its_cell_in_the_notebook() {
    let project = Project::new();
    project.write("data/a.csv", "one\n");
    let cells = || -> Vec<Value> {
        let notebook = fs::read_to_string(project.path("notebooks/churn.ipynb")).unwrap();
        serde_json::from_str::<Value>(&notebook).unwrap()["cells"].as_array().unwrap().clone()
    };
    let names =
        ["--title=churn", "--run=run-001", "--stage=S01_load_data", "--notebook=notebooks/churn.ipynb"];
    let save = [&["save", "data/a.csv"], &names[..]].concat();
    for number in 1..=2 {
        let saved = project.json(&save, "checkpoint-save.schema.json");
        assert_eq!(saved["notebookPath"], "notebooks/churn.ipynb");
        assert_eq!(cells().len(), number);
        let cell = cells().pop().unwrap();
        assert_eq!(cell["id"], saved["checkpointCellId"]);
        assert_eq!(cell["metadata"]["gyoshu"]["checkpointId"], saved["checkpointId"]);
        let (id, path) = (&saved["checkpointId"].as_str().unwrap(), saved["manifestPath"].as_str().unwrap());
        let marker = format!("# [CHECKPOINT:saved:id={id}:stage=S01_load_data:manifest={path}]\n");
        assert_eq!(cell["source"][0], marker);
    }
    let emergency = [&["emergency", "--reason=abort"], &names[..]].concat();
    let saved = project.json(&emergency, "checkpoint-emergency.schema.json");
    assert_eq!(saved["cellAppendSucceeded"], true);
    assert_eq!(cells().pop().unwrap()["id"], saved["checkpointCellId"]);
    // A cell that is there already is only named.
    let named = [&save[..], &["--cell=mine"]].concat();
    assert_eq!(project.json(&named, "checkpoint-save.schema.json")["checkpointCellId"], "mine");
    assert_eq!(cells().len(), 3);
    // What cannot be written costs no checkpoint.
    project.write("notebooks/broken.ipynb", "no notebook");
    let broken = project.run(&[
        "save",
        "--title=churn",
        "--run=run-001",
        "--stage=S02_train_model",
        "--notebook=notebooks/broken.ipynb",
    ]);
    insta::assert_snapshot!(redacted(broken.to_string()), @"
    exit code: 0
    --- stdout
    ✓ saved ckpt-000005-[id]: 0 artifacts, 0 new
    reports/churn/checkpoints/run-001/ckpt-000005-[id]/checkpoint.json
    --- stderr
    warning: no cell was added to `notebooks/broken.ipynb`: `[folder]/notebooks/broken.ipynb` is not a notebook (expected ident at line 1 column 2), and nothing is written to it: move it away, or fix it
    ");
    assert_eq!(fs::read_to_string(project.path("notebooks/broken.ipynb")).unwrap(), "no notebook");
    let outside = project.run(&[
        "save",
        "--title=churn",
        "--run=run-001",
        "--stage=S02_train_model",
        "--notebook=../out.ipynb",
    ]);
    insta::assert_snapshot!(redacted(outside.to_string()), @"
    exit code: 2
    --- stdout
    --- stderr
    error: Path traversal detected: [folder]/../out.ipynb
    hint: artifacts are files inside the project's folder
    ");
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
    insta::assert_snapshot!(redacted(&shown), @"
    exit code: 1
    --- stdout
    ✗ Size mismatch for a.csv: expected 4, got 7
    → ckpt-000001-[id] is not valid as it is; its artifacts are stored, and are restored when the run is resumed
    --- stderr
    ");
    let second = project.save("S02_load_data", &["a.csv"]);
    fs::write(project.path(second["manifestPath"].as_str().unwrap()), "{}").unwrap();
    let shown = project.run(&["resume"]).to_string();
    insta::assert_snapshot!(redacted(&shown), @"
    exit code: 0
    --- stdout
    → ckpt-000002-[id] cannot be used:
        Manifest failed to parse or validate (it is not the JSON of a manifest: missing field `checkpointId` at line 1 column 2)
    ✓ ckpt-000001-[id] of run-001: S01_load_data saved, [time]
      1 artifact would be restored from the store
      next stage: S02_
    --- stderr
    ");
    let list = project.run(&["list"]).to_string();
    insta::assert_snapshot!(redacted(&list), @"
    exit code: 0
    --- stdout
    ✓ ckpt-000001-[id]  saved         1 artifact  churn run-001 S01_load_d…
    --- stderr
    warning: `ckpt-000002-[id]` of run-001 cannot be read: missing field `stageId` at line 1 column 2
    ");
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
    insta::assert_snapshot!(redacted(told.concat()), @"
    exit code: 3
    --- stdout
    --- stderr
    error: Artifact not found: missing
    exit code: 2
    --- stdout
    --- stderr
    error: Path traversal detected: [folder]/../outside
    hint: artifacts are files inside the project's folder
    exit code: 4
    --- stdout
    --- stderr
    error: the artifacts have 4 bytes in total, more than the limit of 3
    hint: leave files out, or raise the limit with `--max-size`
    exit code: 2
    --- stdout
    --- stderr
    error: the following required arguments were not provided:
      --reason <REASON>

    Usage: checkstone checkpoint save --title <TITLE> --run <RUN> --stage <STAGE> --status <STATUS> --reason <REASON> <ARTIFACTS>...

    For more information, try '--help'.
    ");
    let shown = project.run(&["resume"]).to_string();
    insta::assert_snapshot!(redacted(&shown), @"
    exit code: 3
    --- stdout
    --- stderr
    error: there are no checkpoints here
    hint: change to the project's folder, or name it with `--repo`
    ");
    let shown = project.run(&["save", "--title=../x", "--run=r", "--stage=S01_a_b"]).to_string();
    insta::assert_snapshot!(redacted(&shown), @"
    exit code: 2
    --- stdout
    --- stderr
    error: `../x` cannot be the name of a report title: leave out slashes, control characters, `.`, `..` and a dot or space at the end
    ");
    let shown = project.run(&["validate", "nothing"]).to_string();
    insta::assert_snapshot!(redacted(&shown), @"
    exit code: 3
    --- stdout
    --- stderr
    error: there is no checkpoint `nothing` here
    hint: `checkstone checkpoint list` shows the ids
    ");
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
    insta::assert_snapshot!(redacted(&full), @"
    exit code: 5
    --- stdout
    --- stderr
    error: cannot copy `b` into the store: No space left on device
    hint: free some disk space, then save again; earlier checkpoints are unchanged
    ");
    assert_eq!((left, count), (0, 1));
    insta::assert_snapshot!(redacted(&read_only), @"
    exit code: 5
    --- stdout
    --- stderr
    error: cannot open `[folder]/reports/churn/checkpoints/.store/lock`: Read-only file system
    hint: make the folder writable, then save again; earlier checkpoints are unchanged
    ");
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
    assert!(shown.contains("hint: make the folder writable for you"), "{shown}");
    project.assert_sound();
}
