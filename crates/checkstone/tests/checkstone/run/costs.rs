//! What checkpoints of long runs cost, and that nothing is lost by it.

use std::collections::BTreeMap;

use sandbox::RunToEnd as _;

use super::{Project, plan, stage};

/// Eight stages without anything in common but the file that each of them copies.
fn eight() -> Project {
    let stages: Vec<String> = (1..=8)
        .map(|number| {
            let more = format!(
                "command = 'cat in.txt > $CHECKSTONE_ARTIFACT_DIR/out.txt; echo {number} >> $CHECKSTONE_ARTIFACT_DIR/out.txt'\ninputs = {{ in = \"in.txt\" }}"
            );
            stage(&format!("S0{number}_copy_file"), &more)
        })
        .collect();
    let project = Project::new(&plan(&stages));
    project.workplace.write("in.txt", "one\n");
    let done = project.run();
    assert_eq!(done.code, Some(0), "{done:?}");
    project
}

/// The contents in the store, each with how often it is there.
fn stored(project: &Project) -> BTreeMap<String, usize> {
    let store = project.path("reports/study/checkpoints/.store");
    let prefixes = std::fs::read_dir(store).unwrap().flatten().filter(|entry| entry.file_name().len() == 2);
    let mut found = BTreeMap::new();
    for object in prefixes.flat_map(|prefix| std::fs::read_dir(prefix.path()).unwrap().flatten()) {
        *found.entry(std::fs::read_to_string(object.path()).unwrap()).or_default() += 1;
    }
    found
}

fn contents(first_line: &str) -> BTreeMap<String, usize> {
    (1..=8).map(|number| (format!("{first_line}\n{number}\n"), 1)).collect()
}

/// The manifest of a long run does not grow with it.
#[test]
fn a_checkpoint_lists_what_its_stage_made() {
    let project = eight();
    let counts: Vec<(String, u64)> = project
        .checkpoints()
        .iter()
        .map(|checkpoint| {
            (super::text(&checkpoint["stageId"]), checkpoint["artifactCount"].as_u64().unwrap())
        })
        .collect();
    let expected: Vec<(String, u64)> =
        (4..=8).rev().map(|number| (format!("S0{number}_copy_file"), 1)).collect();
    assert_eq!(counts, expected);
}

/// The record of the run holds on to what its stages made when their checkpoints are long gone.
#[test]
fn results_come_back_without_their_checkpoints() {
    let project = eight();
    let published = project.published();
    let prune = ["checkpoint", "prune", "--title=study", "--run=r1", "--keep=1", "--json"];
    let pruned = project.workplace.json(&prune, "checkpoint-prune.schema.json");
    assert_eq!((&pruned["kept"], &pruned["freedFiles"]), (&1.into(), &0.into()), "{pruned}");
    std::fs::remove_dir_all(project.path("reports/study/r1")).unwrap();
    let resumed = project.resume();
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(project.published(), published);
    let attempts: Vec<usize> =
        (1..=8).map(|number| project.attempts(&format!("S0{number}_copy_file"))).collect();
    assert_eq!(attempts, [1; 8]);
}

/// What was replaced is held on to by nobody, and freed when the run is over.
#[test]
fn replaced_results_are_freed() {
    let project = eight();
    assert_eq!(stored(&project), contents("one"));
    for first_line in ["two", "three"] {
        project.workplace.write("in.txt", &format!("{first_line}\n"));
        assert_eq!(project.resume().code, Some(0));
        assert_eq!(stored(&project), contents(first_line));
    }
}

/// How many bytes the program itself reads of a file, by its name, while it runs the plan.
fn bytes_read(project: &Project, strace: &str, name: &str, arguments: &[&str]) -> u64 {
    let log = project.path("trace");
    let mut command = std::process::Command::new(strace);
    // Not those of the stages, which are other processes.
    command.args(["-f", "-qq", "-y", "-e", "trace=read,pread64", "-o"]).arg(&log);
    command.arg(env!("CARGO_BIN_EXE_checkstone")).args(arguments);
    let answer = project.workplace.prepared(command).answer();
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let log = std::fs::read_to_string(log).unwrap();
    let of_file = |line: &&str| line.contains(&format!("/{name}>"));
    let count = |line: &str| line.rsplit_once("= ")?.1.trim().parse::<u64>().ok();
    log.lines().filter(of_file).filter_map(count).sum()
}

/// 2 MiB that one stage makes and two others read: it is read once, when it is checkpointed, and not at all by a run that goes on.
#[test]
fn what_a_stage_made_is_read_once() {
    const SIZE: u64 = 2 << 20;
    let Some(strace) =
        ["/usr/bin/strace", "/bin/strace"].into_iter().find(|path| std::path::Path::new(path).exists())
    else {
        println!("no strace here: left out");
        return;
    };
    let reads = "command = 'test -e $CHECKSTONE_INPUT_BIG'\ninputs = { big = \"S01_make_big/big.bin\" }";
    let project = Project::new(&plan(&[
        // Nothing of the clock's tick in which the file was written is left when it ends.
        stage(
            "S01_make_big",
            &format!(
                "command = 'head -c {SIZE} /dev/zero > $CHECKSTONE_ARTIFACT_DIR/big.bin; sleep 0.05'\noutputs = {{ big = \"big.bin\" }}"
            ),
        ),
        stage("S02_read_big", reads),
        stage("S03_read_big", reads),
    ]));
    let first = bytes_read(&project, strace, "big.bin", &["run", "plan.toml", "--id", "r1"]);
    assert!(first <= SIZE, "{first} bytes; none if it was cloned");
    assert_eq!(bytes_read(&project, strace, "big.bin", &["resume", "r1"]), 0);
}

/// Only the published files are there, and the stage is run again when they are gone.
#[test]
fn a_stage_may_do_without_copies_of_its_artifacts() {
    let project = Project::new(&plan(&[
        stage("S01_make_big", "command = 'echo big > $CHECKSTONE_ARTIFACT_DIR/big'\nstore = \"reference\""),
        stage("S02_make_small", "command = 'echo small > $CHECKSTONE_ARTIFACT_DIR/small'"),
    ]));
    assert_eq!(project.run().code, Some(0));
    assert_eq!(stored(&project), BTreeMap::from([("small\n".to_owned(), 1)]));
    let published = project.published();
    std::fs::remove_dir_all(project.path("reports/study/r1/S01_make_big")).unwrap();
    std::fs::remove_dir_all(project.path("reports/study/r1/S02_make_small")).unwrap();
    assert_eq!(project.resume().code, Some(0));
    assert_eq!(project.published(), published);
    assert_eq!((project.attempts("S01_make_big"), project.attempts("S02_make_small")), (2, 1));
}
