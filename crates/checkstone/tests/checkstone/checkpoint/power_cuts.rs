//! Power cuts: what is on the disk of a file system at an instant, and nothing of what was only in memory, mounted again.
//!
//! The disk is an image, and the cut is a copy of it, taken while the file system is still mounted. The program is killed before
//! some system call of a save, or has just answered. Needs root and the tools of the file systems. A sample here; `cargo
//! xtask soak` makes many cuts (`CHECKSTONE_SOAK_POWER_CUTS`).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use checkpoint::{Depth, last_valid, list, restore, validate};
use sandbox::RunToEnd as _;
use serde_json::Value;

use super::disk::new_disk;
use super::project::{Project, strace, traced};
use crate::program;

fn cuts() -> usize {
    std::env::var("CHECKSTONE_SOAK_POWER_CUTS").ok().and_then(|count| count.parse().ok()).unwrap_or(5)
}

#[test]
fn ext4_keeps_what_was_answered() {
    cut_the_power("mkfs.ext4", &["-q", "-F"], 64);
}

#[test]
fn xfs_keeps_what_was_answered() {
    cut_the_power("mkfs.xfs", &["-q", "-f"], 320);
}

#[test]
fn btrfs_keeps_what_was_answered() {
    cut_the_power("mkfs.btrfs", &["-q", "-f"], 128);
}

/// Numbers that look random, and are the same every time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// The run has answered, or was killed on its way, and the power is cut: its record is whole up to some event, and the artifacts
/// that lie in the project may have lost their contents; they are brought back from the checkpoint, or made anew.
#[test]
fn a_run_that_was_cut_off_goes_on_with_the_same_artifacts() {
    let Some(strace) = strace() else { return };
    let Some(mut disk) = new_disk("mkfs.ext4", &["-q", "-F"], 64) else { return };
    let plan = r#"title = "churn"
[[stage]]
stageId = "S01_make_table"
goal = "a file that is not flushed by the stage"
command = "seq 1 20000 > $CHECKSTONE_ARTIFACT_DIR/table.txt"
outputs = { table = "table.txt" }
[[stage]]
stageId = "S02_sum_table"
goal = "a file that is made from it"
command = "cksum < $CHECKSTONE_INPUT_TABLE > $CHECKSTONE_ARTIFACT_DIR/sum.txt"
inputs = { table = "S01_make_table/table.txt" }
[[stage]]
stageId = "S03_keep_nothing"
goal = "a file that no checkpoint holds"
command = "rev $CHECKSTONE_INPUT_TABLE > $CHECKSTONE_ARTIFACT_DIR/reversed.txt"
inputs = { table = "S01_make_table/table.txt" }
checkpointAfter = false
"#;
    let state = tempfile::tempdir().unwrap();
    let command = |project: &Project, arguments: &[&str]| {
        let mut command = program::checkstone(arguments);
        command.current_dir(project.path("")).env("CHECKSTONE_STATE_DIR", state.path());
        command.env("PATH", std::env::var_os("PATH").unwrap());
        command
    };
    let succeed = |project: &Project, arguments: &[&str], at: &str| {
        let output = command(project, arguments).answer();
        assert!(output.succeeded(), "{at}: {output}");
    };
    let table: String = (1..=20_000).map(|number| format!("{number}\n")).collect();
    let reversed: String = (1..=20_000)
        .map(|number: u32| number.to_string().chars().rev().chain(['\n']).collect::<String>())
        .collect();
    let mut numbers = Numbers(1);
    let (mut killed, mut lost) = (0, 0);
    for cut in 0..cuts().min(100) {
        let id = format!("r{cut}");
        let at = |name: &str| format!("reports/churn/{id}/{name}");
        let project = Project::at(&disk.place());
        project.write("plan.toml", plan);
        let mut how = "after its answer".to_owned();
        if cut % 2 == 0 {
            succeed(&project, &["run", "plan.toml", "--id", &id], "the run");
        } else {
            let call =
                ["fdatasync", "fsync", "write", "renameat2"][usize::try_from(numbers.below(4)).unwrap()];
            how = format!("inject={call}:signal=SIGKILL:when={}", 1 + numbers.below(12));
            let run = command(&project, &["run", "plan.toml", "--id", &id]);
            let output = traced(strace, &["-b", "execve", "-o", "/dev/null", "-e", &how], &run);
            killed += usize::from(!output.succeeded());
        }
        drop(project);
        disk.cut();
        let project = Project::at(&disk.place());
        let read = |name: &str| fs::read_to_string(project.path(&at(name))).unwrap_or_default();
        let (first, last) = ("S01_make_table/table.txt", "S03_keep_nothing/reversed.txt");
        lost += usize::from(read(first) != table) + usize::from(read(last) != reversed);
        // Nobody flushed the plan either.
        project.write("plan.toml", plan);
        let record =
            fs::read_to_string(project.path(&format!("reports/churn/checkpoints/{id}/events.jsonl")));
        match record.is_ok_and(|text| text.contains('\n')) {
            true => succeed(&project, &["resume", &id], &how),
            false => succeed(&project, &["run", "plan.toml", "--id", &id], &how),
        }
        assert!(read(first) == table, "cut {cut} {how}: {} bytes", read(first).len());
        assert!(read(last) == reversed, "cut {cut} {how}: {} bytes", read(last).len());
        assert_eq!(
            read("S02_sum_table/sum.txt").split_whitespace().nth(1),
            Some(table.len().to_string().as_str())
        );
        fs::remove_dir_all(project.path("reports")).unwrap();
    }
    println!("{} cuts, {killed} in a run, {lost} files had lost their contents", cuts().min(100));
}

fn cut_the_power(make: &str, options: &[&str], megabytes: u64) {
    let Some(strace) = strace() else { return };
    let Some(mut disk) = new_disk(make, options, megabytes) else { return };
    let mut numbers = Numbers(megabytes);
    // What was answered, the newest last: the id, and what its artifacts were.
    let mut answered: Vec<(String, BTreeMap<String, String>)> = Vec::new();
    let (mut killed, mut newer) = (0, 0);
    for cut in 0..cuts() {
        let project = Project::at(&disk.place());
        for save in 0..1 + numbers.below(2) {
            let contents = change(&project, &mut numbers, &format!("{cut} {save}"));
            let saved = project.save("S01_load_data", &names());
            answered.push((saved["checkpointId"].as_str().unwrap().to_owned(), contents));
        }
        // Then one more, which is killed somewhere, or answers.
        let contents = change(&project, &mut numbers, &format!("{cut} last"));
        let calls = ["fsync", "renameat2", "write", "pwrite64", "mkdirat", "openat", "unlinkat", "flock"];
        let call = calls[usize::try_from(numbers.below(calls.len() as u64)).unwrap()];
        let most = if call == "openat" { 60 } else { 4 };
        let inject = format!("inject={call}:signal=SIGKILL:when={}", 1 + numbers.below(most));
        let arguments = Project::save_arguments("S02_load_data", &names());
        let output = traced(strace, &["-o", "/dev/null", "-e", &inject], &project.command(&arguments));
        if output.succeeded() {
            let saved: Value = serde_json::from_str(&output.stdout).unwrap();
            answered.push((saved["checkpointId"].as_str().unwrap().to_owned(), contents));
        } else {
            killed += 1;
        }
        if numbers.below(2) == 0 {
            // Somebody else's flush takes parts of ours along.
            fs::write(project.path("unrelated"), "x").unwrap();
            fs::File::open(project.path("unrelated")).unwrap().sync_all().unwrap();
        }
        drop(project);
        disk.cut();
        newer += usize::from(verify(&disk.place(), &answered, &format!("{make}, cut {cut} after {inject}")));
    }
    println!("{make}: {} cuts, {killed} while saving, {newer} with one that was not answered", cuts());
}

fn names() -> [&'static str; 3] {
    ["a", "folder/b", "c"]
}

/// Changes some of the artifacts in place.
fn change(project: &Project, numbers: &mut Numbers, text: &str) -> BTreeMap<String, String> {
    for name in names() {
        if !project.path(name).exists() || numbers.below(2) == 0 {
            let repeated = usize::try_from(1 + numbers.below(20_000)).unwrap();
            project.write(name, &format!("{name} {text}\n").repeat(repeated));
        }
    }
    names().map(|name| (name.to_owned(), fs::read_to_string(project.path(name)).unwrap())).into()
}

/// Nothing that was answered is lost, and nothing torn is accepted. Whether there is one that was not answered.
fn verify(root: &Path, answered: &[(String, BTreeMap<String, String>)], at: &str) -> bool {
    let project = Project::at(root);
    let layout = project.layout();
    let listing = list(root, Some("churn"), Some("run-001")).unwrap();
    assert!(listing.unreadable.is_empty(), "{at}: {:?}", listing.unreadable);
    let ids: Vec<&str> = listing.checkpoints.iter().map(|found| found.checkpoint_id.as_str()).collect();
    // Five stay, among them those that were killed when they were there already, and those that were saved below.
    for (id, contents) in answered.iter().rev().take(5) {
        if !ids.contains(&id.as_str()) {
            assert!(
                ids.iter().filter(|other| *other > &id.as_str()).count() >= 5,
                "{at}: {id} is lost of {ids:?}"
            );
            continue;
        }
        let validated = validate(&layout, id, Depth::Full).unwrap();
        assert!(validated.is_usable(), "{at}: {id}: {:?}", validated.issues);
        restore(&layout, &validated.to_restore).unwrap();
        for (name, content) in contents {
            assert!(fs::read_to_string(project.path(name)).unwrap() == *content, "{at}: {name} of {id}");
        }
    }
    let found = last_valid(root, "churn", Some("run-001"), Depth::Full).unwrap();
    assert!(found.skipped.is_empty(), "{at}: {:?}", found.skipped);
    let found = found.checkpoint.unwrap();
    let newest = &answered.last().unwrap().0;
    assert!(found.id >= *newest, "{at}: {} is older than {newest}", found.id);
    // And it goes on from there.
    let output = project.try_save("S03_load_data", &[]);
    assert!(output.succeeded(), "{at}: {output}");
    found.id != *newest
}
