//! The decision log.

use std::collections::BTreeSet;
use std::os::unix::fs::{MetadataExt, symlink};

use files::FileError;
use journal::log::append;

use crate::support::{State, finish, spawn};

#[test]
fn lines_are_appended_for_the_user_alone() {
    let state = State::new();
    append(&state.directory(), "first\nline").unwrap();
    append(&state.directory(), "second").unwrap();
    let path = state.directory().join("log");
    assert_eq!(fs_err::read_to_string(&path).unwrap(), "first\\nline\nsecond\n");
    assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
    assert_eq!(state.directory().metadata().unwrap().mode() & 0o777, 0o700);
}

#[test]
fn three_older_files_of_a_megabyte_are_kept() {
    let state = State::new();
    let line = "x".repeat(4000);
    for number in 0..1500 {
        append(&state.directory(), &format!("{number:04} {line}")).unwrap();
    }
    let read = |name: &str| fs_err::read_to_string(state.directory().join(name)).unwrap();
    let files = ["log.3", "log.2", "log.1", "log"].map(read);
    for file in &files {
        assert!(file.len() <= 1024 * 1024 && file.ends_with('\n'));
    }
    assert!(files[..3].iter().all(|file| file.len() > 1000 * 1024));
    let numbers: Vec<usize> =
        files.iter().flat_map(|file| file.lines()).map(|line| line[..4].parse().unwrap()).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "in order and without a gap");
    assert_eq!(numbers.last(), Some(&1499));
    assert!(!state.directory().join("log.4").exists());
}

/// H11: lines of processes side by side do not mix, and none is lost, also while the file is rotated.
#[test]
fn lines_of_many_processes_stay_whole() {
    let state = State::new();
    fs_err::create_dir_all(state.directory()).unwrap();
    let directory = state.directory();
    let mut children: Vec<_> = (0..8)
        .map(|name| spawn(&["append_log", directory.to_str().unwrap(), &name.to_string(), "300"]))
        .collect();
    children.iter_mut().for_each(|child| drop(child.stdin.take()));
    children.into_iter().for_each(|child| drop(finish(child)));
    let mut lines = BTreeSet::new();
    for name in ["log.3", "log.2", "log.1", "log"] {
        for line in fs_err::read_to_string(directory.join(name)).unwrap_or_default().lines() {
            let parts: Vec<&str> = line.split(' ').collect();
            assert_eq!((parts.len(), parts[2].len()), (3, 1000));
            assert!(
                lines.insert((parts[0].to_owned(), parts[1].to_owned())),
                "twice: {} {}",
                parts[0],
                parts[1]
            );
        }
    }
    assert_eq!(lines.len(), 8 * 300);
}

#[test]
fn what_is_no_file_is_refused_without_waiting() {
    let state = State::new();
    fs_err::create_dir_all(state.directory()).unwrap();
    let path = state.directory().join("log");
    symlink("elsewhere", &path).unwrap();
    assert!(matches!(append(&state.directory(), "x"), Err(FileError::SymbolicLink { .. })));
    fs_err::remove_file(&path).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    assert!(matches!(append(&state.directory(), "x"), Err(FileError::NotAFile { .. })));
    fs_err::remove_file(&path).unwrap();
    fs_err::create_dir(&path).unwrap();
    assert!(matches!(append(&state.directory(), "x"), Err(FileError::NotAFile { .. })));
}
