//! Kills and failing disks at chosen system calls of the real program: the state is the old one or the new one.
//!
//! A sample here; `cargo xtask soak` takes every call of every command (`CHECKSTONE_SOAK_FAULTS=all`).

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use checkpoint::prune;
use sandbox::{Answer, redacted};

use super::project::{Project, strace, traced};

/// The calls that change something, each of which is tried at every occurrence.
const CHANGING: &[&str] = &[
    "openat",
    "write",
    "pwrite64",
    "ftruncate",
    "fchmod",
    "fsync",
    "mkdirat",
    "renameat",
    "renameat2",
    "unlinkat",
    "flock",
    "ioctl",
];

/// The calls that a failing or full disk makes fail.
const FAILING: &[&str] =
    &["write", "pwrite64", "ftruncate", "fsync", "mkdirat", "renameat", "renameat2", "unlinkat"];

fn everything() -> bool {
    std::env::var_os("CHECKSTONE_SOAK_FAULTS").is_some_and(|value| value == "all")
}

/// All system calls that a command makes, each name once.
fn calls_of(strace: &str, project: &Project, command: &Command) -> Vec<String> {
    let log = project.path(".git/strace");
    traced(strace, &["-o", log.to_str().unwrap()], command);
    let log = fs::read_to_string(log).unwrap();
    let names =
        log.lines().filter_map(|line| line.split_whitespace().nth(1)?.split_once('(').map(|(name, _)| name));
    let names: BTreeSet<&str> =
        names.filter(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')).collect();
    names.into_iter().filter(|name| *name != "exit_group").map(ToOwned::to_owned).collect()
}

/// What is tried: a name, what is done before each time, the arguments, and whether a new checkpoint comes of it.
struct Deed {
    name: &'static str,
    prepare: fn(&Project, usize),
    arguments: &'static [&'static str],
}

const DEEDS: &[Deed] = &[
    Deed {
        name: "save",
        prepare: |project, round| {
            // As many as are kept: those that were killed before they took others away left them, and others saved none.
            prune(&project.layout(), 3).unwrap();
            for _ in project.count()..3 {
                project.save_here("S01_load_data", &["same"]);
            }
            project.write("a", &format!("{round}\n"));
            project.write("b", &format!("{}\n", round / 7));
        },
        arguments: &[
            "save",
            "--title=churn",
            "--run=run-001",
            "--stage=S02_load_data",
            "--keep=3",
            "a",
            "b",
            "same",
        ],
    },
    Deed {
        name: "prune",
        prepare: |project, round| {
            // Every killed one would leave more for the next, which would then make more calls, without end.
            prune(&project.layout(), 1).unwrap();
            for number in 0..2 {
                project.write("a", &format!("{round} {number}\n"));
                project.save_here("S01_load_data", &["a", "same"]);
            }
        },
        arguments: &["prune", "--title=churn", "--run=run-001", "--keep=1"],
    },
    Deed {
        name: "emergency",
        prepare: |project, round| {
            prune(&project.layout(), 2).unwrap();
            project.write("log", &format!("{round}\n"));
        },
        arguments: &[
            "emergency",
            "--title=churn",
            "--run=run-001",
            "--stage=S02_load_data",
            "--reason=abort",
            "--add=log",
        ],
    },
    Deed { name: "resume", prepare: |_, _| (), arguments: &["resume", "--title=churn"] },
];

fn project() -> Project {
    let project = Project::new();
    project.write("same", "same\n");
    project.save_here("S01_load_data", &["same"]);
    project
}

/// So many kills leave their traces in one folder. With all of them in it each command would have more to do than the one before,
/// and so more calls to be killed at.
const KILLS_IN_ONE: usize = 10;

/// Nothing that was left behind is in the way.
fn assert_nothing_is_in_the_way(project: &Project, deed: &Deed) {
    (deed.prepare)(project, 2_000_000);
    project.save("S03_load_data", &["same"]);
    assert!(project.run(&["prune", "--title=churn", "--run=run-001", "--keep=2"]).succeeded());
    project.assert_sound();
    assert_eq!(fs::read_dir(project.path("reports/churn/checkpoints/.store/.tmp")).unwrap().count(), 0);
}

/// What was there before is there after, as far as the command does not take it away, and at most one is new.
fn check(project: &Project, deed: &Deed, before: &BTreeSet<String>, at: &str, output: &Answer) {
    project.assert_sound();
    let after = project.ids();
    let new: Vec<&String> = after.difference(before).collect();
    let gone: Vec<&String> = before.difference(&after).collect();
    let told = || format!("{at}: {} new {new:?}, gone {gone:?}\n{}", deed.name, output.stderr);
    match deed.name {
        // Older ones go only after the new one is there.
        "save" => assert!(new.len() <= 1 && (gone.is_empty() || new.len() == 1), "{}", told()),
        "emergency" => assert!(new.len() <= 1 && gone.is_empty(), "{}", told()),
        "prune" => assert!(new.is_empty() && after.last() == before.last(), "{}", told()),
        _ => assert_eq!(&after, before, "{}", told()),
    }
    // An answer is true; an error means that nothing was saved, but for what was to be added to an emergency.
    if matches!(deed.name, "save" | "emergency") {
        match output.code {
            Some(0) => assert_eq!(new.len(), 1, "{}", told()),
            Some(5) => assert!(new.is_empty(), "{}", told()),
            _ => {}
        }
    }
}

#[test]
fn a_kill_at_a_system_call_leaves_the_old_or_the_new() {
    let Some(strace) = strace() else { return };
    let mut kills = 0;
    for deed in DEEDS {
        let mut project = project();
        (deed.prepare)(&project, 1_000_000);
        let made = calls_of(strace, &project, &project.command(deed.arguments));
        let tried: Vec<&String> =
            made.iter().filter(|call| everything() || CHANGING.contains(&call.as_str())).collect();
        let mut round = 0;
        for call in tried {
            // Before the program itself is at work there is nothing to see; the sample begins after that.
            let first = if call == "openat" && !everything() { 8 } else { 1 };
            for number in (first..).step_by(if everything() || call != "openat" { 1 } else { 5 }) {
                round += 1;
                if round % KILLS_IN_ONE == 0 {
                    assert_nothing_is_in_the_way(&project, deed);
                    project = self::project();
                }
                (deed.prepare)(&project, round);
                let before = project.ids();
                let inject = format!("inject={call}:signal=SIGKILL:when={number}");
                let output =
                    traced(strace, &["-o", "/dev/null", "-e", &inject], &project.command(deed.arguments));
                check(&project, deed, &before, &format!("killed at {call} {number}"), &output);
                if output.code.is_some() {
                    break;
                }
                kills += 1;
                assert!(number < 2000, "{call}");
            }
        }
        assert_nothing_is_in_the_way(&project, deed);
        println!("{}: {kills} kills so far", deed.name);
    }
    assert!(kills > 60, "{kills}");
}

#[test]
fn a_failing_or_full_disk_leaves_the_old_or_the_new() {
    let Some(strace) = strace() else { return };
    let mut faults = 0;
    for deed in DEEDS {
        let project = project();
        let mut round = 0;
        for call in FAILING {
            for error in ["EIO", "ENOSPC"] {
                if error == "ENOSPC" && !everything() && !matches!(*call, "write" | "pwrite64" | "fsync") {
                    continue;
                }
                for number in 1..2000 {
                    round += 1;
                    (deed.prepare)(&project, round);
                    let before = project.ids();
                    let inject = format!("inject={call}:error={error}:when={number}");
                    let log = project.path(".git/strace");
                    let options =
                        ["-o", log.to_str().unwrap(), "-e", &format!("trace={call}"), "-e", &inject];
                    let output = traced(strace, &options, &project.command(deed.arguments));
                    check(&project, deed, &before, &format!("{error} at {call} {number}"), &output);
                    let is_unheard = output.code == Some(6)
                        && output.stderr.starts_with("error: the output could not be written: ");
                    assert!(matches!(output.code, Some(0 | 1 | 5)) || is_unheard, "{output}");
                    if !fs::read_to_string(&log).unwrap().contains("INJECTED") {
                        break;
                    }
                    faults += 1;
                }
            }
        }
        project.save("S03_load_data", &["same"]);
        project.assert_sound();
    }
    println!("{faults} faults");
    assert!(faults > 40, "{faults}");
}

/// After a failed flush the file is given up: it is not flushed again, and the next save writes it anew.
#[test]
fn a_failed_flush_is_never_tried_again() {
    let Some(strace) = strace() else { return };
    let project = project();
    project.write("a", "one\n");
    let arguments = Project::save_arguments("S02_load_data", &["a"]);
    let log = project.path(".git/strace");
    let options = [
        "-y",
        "-o",
        log.to_str().unwrap(),
        "-e",
        "trace=fsync,unlinkat",
        "-e",
        "inject=fsync:error=EIO:when=1",
    ];
    let output = traced(strace, &options, &project.command(&arguments));
    let shown = output.to_string();
    insta::assert_snapshot!(redacted(&shown), @"
    exit code: 5
    --- stdout
    --- stderr
    error: cannot flush the copy of `a` in the store: Input/output error
    hint: check the disk, then save again; earlier checkpoints are unchanged
    ");
    let log = fs::read_to_string(log).unwrap();
    assert_eq!(log.matches("fsync(").count(), 1, "{log}");
    let sha256 = checkpoint::hash::of_bytes(b"one\n");
    assert!(!project.path("reports/churn/checkpoints/.store").join(&sha256[..2]).join(&sha256).exists());
    assert_eq!(project.save("S02_load_data", &["a"])["newArtifacts"], 1);
}
