//! Kills and a failing disk at chosen system calls of `run` and of `resume` themselves: a plain `resume` goes on afterwards, and
//! ends with the artifacts of a run that nobody disturbed, bit for bit.
//!
//! A sample here; `cargo xtask soak` takes every call that writes (`CHECKSTONE_SOAK_FAULTS=all`).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;

use checkpoint::layout::Layout;
use checkpoint::{Depth, list, validate};
use sandbox::{Answer, without_durations};

use super::kills::alive;
use super::{Project, plan, stage};
use crate::checkpoint::project::{strace, traced};

/// What changes something on the disk, or tells somebody.
const WRITING: &[&str] = &[
    "copy_file_range",
    "fchmod",
    "fdatasync",
    "flock",
    "fsync",
    "ftruncate",
    "ioctl",
    "mkdir",
    "mkdirat",
    "pwrite64",
    "rename",
    "renameat",
    "renameat2",
    "sendfile",
    "unlink",
    "unlinkat",
    "rmdir",
    "write",
    "writev",
];

/// What a failing or full disk makes fail.
const FAILING: &[&str] = &[
    "copy_file_range",
    "fdatasync",
    "fsync",
    "ftruncate",
    "mkdir",
    "mkdirat",
    "pwrite64",
    "rename",
    "renameat",
    "renameat2",
    "write",
    "writev",
];

const KILL: &str = "signal=SIGKILL";

/// Two stages; the second one fails until `go` is there.
fn two() -> Project {
    let project = Project::new(&plan(&[
        stage(
            "S01_make_table",
            "command = 'seq 1 2000 > $CHECKSTONE_ARTIFACT_DIR/table.txt; echo made'\noutputs = { table = \"table.txt\" }",
        ),
        stage(
            "S02_sum_table",
            "command = 'test -e go && cksum < $CHECKSTONE_INPUT_TABLE > $CHECKSTONE_ARTIFACT_DIR/sum.txt'\ninputs = { table = \"S01_make_table/table.txt\" }\noutputs = { sum = \"sum.txt\" }",
        ),
    ]));
    fs::create_dir(project.workplace.path("log")).unwrap();
    project
}

/// A command that is disturbed, and what was done before it.
struct Deed {
    arguments: &'static [&'static str],
    prepared: fn() -> Project,
}

const RUN: Deed = Deed {
    arguments: &["run", "plan.toml", "--id", "r1"],
    prepared: || {
        let project = two();
        project.workplace.write("go", "");
        project
    },
};

/// There is a stage that is as it was, one that failed, and something published to take the place of.
const RESUME: Deed = Deed {
    arguments: &["resume", "r1", "--again", "S01_make_table"],
    prepared: || {
        let project = two();
        assert_eq!(project.run().code, Some(1));
        project.workplace.write("go", "");
        project
    },
};

/// The engine and its shims, but not the programs of the stages: strace lets go of what starts another program.
fn disturbed(strace: &str, project: &Project, deed: &Deed, options: &[&str]) -> (Answer, String) {
    let log = project.workplace.path("log/strace");
    let options = [&["-b", "execve", "-o", log.to_str().unwrap()], options].concat();
    let output = traced(strace, &options, &project.checkstone(deed.arguments));
    (output, fs::read_to_string(log).unwrap())
}

/// How often each call was made by the thread that made it most often: strace counts for each thread by itself.
fn counts(log: &str) -> BTreeMap<String, usize> {
    let mut threads: HashMap<(&str, &str), usize> = HashMap::new();
    for line in log.lines() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let Some((call, _)) = rest.trim_start().split_once('(') else { continue };
        *threads.entry((thread, call)).or_default() += 1;
    }
    let mut most = BTreeMap::new();
    for ((_, call), count) in threads {
        let known = most.entry(call.to_owned()).or_default();
        *known = count.max(*known);
    }
    most
}

/// Every call with every fault, in the order of the calls' names; in a test so many of them, evenly.
fn cases(strace: &str, deed: &Deed, sample: usize) -> Vec<(String, String, usize)> {
    let trace = format!("trace={}", WRITING.join(","));
    let (output, log) = disturbed(strace, &(deed.prepared)(), deed, &["-e", &trace]);
    assert_eq!(output.code, Some(0), "{output:?}");
    let mut all = Vec::new();
    for (call, count) in counts(&log) {
        // Another time there may be a few more of them.
        for number in 1..=count + 2 {
            all.push((call.clone(), KILL.to_owned(), number));
            if FAILING.contains(&call.as_str()) {
                all.push((call.clone(), "error=EIO".to_owned(), number));
                all.push((call.clone(), "error=ENOSPC".to_owned(), number));
            }
        }
    }
    if std::env::var_os("CHECKSTONE_SOAK_FAULTS").is_some_and(|value| value == "all") {
        return all;
    }
    let step = (all.len() / sample).max(1);
    all.into_iter().skip(step / 2).step_by(step).collect()
}

/// Two attempts of a stage never live at once, nothing lives on, and every checkpoint that is listed can be used.
fn check(project: &Project, at: &str) {
    assert_eq!(alive(project), [""; 0], "{at}");
    let mut live = HashSet::new();
    for event in project.events().iter().filter(|event| event["event"] == "stage-state") {
        let stage = event["stageId"].as_str().unwrap().to_owned();
        if event["to"] == "RUNNING" {
            assert!(live.insert(stage), "{at}: two attempts at once");
        } else if event["to"] != "INTERRUPTING" {
            live.remove(&stage);
        }
    }
    let root = project.path("");
    let layout = Layout::new(&root, "study", "r1").unwrap();
    let listing = list(&root, Some("study"), Some("r1")).unwrap();
    assert!(listing.unreadable.is_empty(), "{at}: {:?}", listing.unreadable);
    assert!(!listing.checkpoints.is_empty(), "{at}");
    for found in &listing.checkpoints {
        let validated = validate(&layout, &found.checkpoint_id, Depth::Full).unwrap();
        assert!(validated.is_usable(), "{at}: {}: {:?}", found.checkpoint_id, validated.issues);
    }
}

fn disturb(deed: &Deed, sample: usize) {
    let Some(strace) = strace() else { return };
    let undisturbed = two();
    undisturbed.workplace.write("go", "");
    assert_eq!(undisturbed.run().code, Some(0));
    let expected = undisturbed.published();
    assert_eq!(expected.len(), 2, "{expected:?}");
    let mut met: BTreeMap<String, usize> = BTreeMap::new();
    for (call, fault, number) in cases(strace, deed, sample) {
        let project = (deed.prepared)();
        let inject = format!("inject={call}:{fault}:when={number}");
        let (output, log) =
            disturbed(strace, &project, deed, &["-e", &format!("trace={call}"), "-e", &inject]);
        if counts(&log).get(&call).is_none_or(|count| *count < number) {
            continue;
        }
        *met.entry(fault.clone()).or_default() += 1;
        let told = output.stderr.clone();
        let at = format!("{} with {inject}: {:?}\n{told}", deed.arguments[0], output.code);
        // It answers, unless it is killed; and where it says that all is done, all is.
        match output.code {
            Some(0) => assert_eq!(project.published(), expected, "{at}"),
            Some(code) => assert!([1, 5, 6].contains(&code) || fault == KILL, "{at}"),
            None => assert_eq!(fault, KILL, "{at}"),
        }
        let record = project.path("reports/study/checkpoints/r1/events.jsonl");
        let has_begun = fs::read_to_string(record).is_ok_and(|text| text.contains('\n'));
        let last = if has_begun { project.resume() } else { project.run() };
        assert_eq!(last.code, Some(0), "{at}\n{last:?}");
        assert_eq!(project.published(), expected, "{at}");
        check(&project, &at);
    }
    println!("{}: {met:?}", deed.arguments[0]);
    assert!(met.values().sum::<usize>() >= sample / 2, "{met:?}");
}

/// R15: output that a full disk has no room for is missed by nobody who is not told.
#[test]
fn r15_output_that_is_lost_is_told_and_the_stage_goes_on() {
    let Some(strace) = strace() else { return };
    let project = two();
    project.workplace.write("go", "");
    let output = project.path("reports/study/r1/.attempts/S01_make_table/1/output.log");
    let options = ["-P", output.to_str().unwrap(), "-e", "inject=pwrite64:error=ENOSPC:when=1"];
    let (done, log) = disturbed(strace, &project, &RUN, &options);
    assert!(log.contains("ENOSPC"), "{log}");
    assert_eq!(done.code, Some(0), "{done:?}");
    let told = done.stderr;
    insta::assert_snapshot!(without_durations(&told), @"
    run r1 of study
    S01_make_table  running, at most [duration]
    S01_make_table  warning: its output in `reports/study/r1/.attempts/S01_make_table/1/output.log` is incomplete: No space left on device (os error 28); 5 bytes are missing
    S01_make_table  checkpoint ckpt-000001-[id], 1 artifact
    S01_make_table  completed in [duration], 1 artifact
    S02_sum_table  running, at most [duration]
    S02_sum_table  checkpoint ckpt-000002-[id], 1 artifact
    S02_sum_table  completed in [duration], 1 artifact
    ");
    assert_eq!(fs::read_to_string(output).unwrap(), "\n[checkstone: 5 bytes could not be written here]\n");
}

/// R15: where the record itself has no room, what to do is said, and it helps.
#[test]
fn r15_a_run_on_a_full_disk_says_how_to_go_on() {
    let Some(strace) = strace() else { return };
    let project = (RUN.prepared)();
    let record = project.path("reports/study/checkpoints/r1/events.jsonl");
    let options = ["-P", record.to_str().unwrap(), "-e", "inject=write:error=ENOSPC:when=5"];
    let (done, log) = disturbed(strace, &project, &RUN, &options);
    assert!(log.contains("ENOSPC"), "{log}");
    assert_eq!(done.code, Some(5), "{done:?}");
    let told = done.stderr;
    insta::assert_snapshot!(without_durations(&told), @"
    run r1 of study
    S01_make_table  running, at most [duration]
    error: cannot write to the record `[folder]/repo/reports/study/checkpoints/r1/events.jsonl`: No space left on device
    hint: free some disk space, then `checkstone resume r1` continues it
    hint: everything up to the last recorded event is kept
    ");
    assert_eq!(project.resume().code, Some(0));
}

/// Success criteria 2 and 5, R15.
#[test]
fn a_fault_at_a_system_call_of_a_run_loses_nothing() {
    disturb(&RUN, 12);
}

/// Success criteria 2, 3 and 5, R15.
#[test]
fn a_fault_at_a_system_call_of_a_resume_loses_nothing() {
    disturb(&RESUME, 12);
}
