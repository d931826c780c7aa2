//! Restoring, killed or failing at chosen system calls: every artifact is as it was found or as it was saved, and the next
//! attempt brings all of them back.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use checkpoint::layout::Layout;
use checkpoint::{Depth, last_valid, prune, restore};

use crate::checkpoints::Project;

const PLACE: &str = "RESTORED_PROJECT";
const NAMES: [&str; 3] = ["a", "folder/b", "gone/c"];

/// The process that is killed; a test of its own, since this program is the one that has the library.
#[test]
fn child() {
    let Some(root) = std::env::var_os(PLACE) else { return };
    let layout = Layout::new(Path::new(&root), "churn", "run-001").unwrap();
    let found =
        last_valid(layout.root(), "churn", Some("run-001"), Depth::Quick).unwrap().checkpoint.unwrap();
    if let Err(error) = restore(&layout, &found.to_restore) {
        println!("{error}");
        std::process::exit(3);
    }
}

fn injected(strace: &str, project: &Project, inject: &str) -> Output {
    Command::new(strace)
        .args(["-f", "-qq", "-o", "/dev/null", "-e", inject])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "restore_faults::child", "--test-threads=1", "--nocapture"])
        .env(PLACE, project.root())
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn a_restore_that_is_cut_short_is_done_by_the_next() {
    let Some(strace) = ["/usr/bin/strace", "/bin/strace"].into_iter().find(|path| Path::new(path).exists())
    else {
        println!("no strace here: left out");
        return;
    };
    let project = Project::new();
    for name in NAMES {
        project.write(name, &format!("saved {name}\n"));
    }
    project.save("S01_load_data", &NAMES);
    let mut faults = 0;
    for fault in ["signal=SIGKILL", "error=EIO", "error=ENOSPC"] {
        for call in ["renameat", "fsync", "pwrite64", "ftruncate", "fchmod", "mkdirat", "ioctl"] {
            for number in 1..100 {
                for name in &NAMES[..2] {
                    project.write(name, "found\n");
                }
                let _ = fs::remove_dir_all(project.path("gone"));
                let output = injected(strace, &project, &format!("inject={call}:{fault}:when={number}"));
                for name in NAMES {
                    let now = fs::read_to_string(project.path(name)).ok();
                    let whole = match now.as_deref() {
                        None => name == "gone/c",
                        Some(text) => text == "found\n" || text == format!("saved {name}\n"),
                    };
                    assert!(whole, "{fault} at {call} {number}: {name} is {now:?}");
                }
                let found =
                    last_valid(project.root(), "churn", None, Depth::Full).unwrap().checkpoint.unwrap();
                let done = found.to_restore.is_empty();
                assert!(done || !output.status.success(), "{fault} at {call} {number}");
                restore(&project.layout, &found.to_restore).unwrap();
                for name in NAMES {
                    assert_eq!(fs::read_to_string(project.path(name)).unwrap(), format!("saved {name}\n"));
                }
                if output.status.success() {
                    break;
                }
                faults += 1;
            }
        }
    }
    assert!(faults > 25, "{faults}");
    prune(&project.layout, 5).unwrap();
    assert_eq!(fs::read_dir(project.layout.store().join(".tmp")).unwrap().count(), 0);
}
