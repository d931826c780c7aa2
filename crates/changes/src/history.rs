//! What git's history says once HEAD has moved: how two commits differ, and which files the commits of this
//! turn touched. None of this runs while HEAD stands still.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};

use change_set::BytePath;

use crate::error::Error;
use crate::git::Git;

/// How a path differs between two commits.
#[derive(Debug, PartialEq)]
pub(crate) struct TreeChange {
    pub(crate) old_mode: String,
    pub(crate) new_mode: String,
    pub(crate) old_id: String,
    pub(crate) new_id: String,
    /// The old path, where the file was renamed; ids and mode on the old side are then those of that path.
    pub(crate) renamed_from: Option<BytePath>,
}

impl TreeChange {
    /// Whether the older commit has a file of this very path.
    pub(crate) fn was_there(&self) -> bool {
        self.renamed_from.is_none() && self.old_mode != ABSENT
    }

    pub(crate) fn is_there(&self) -> bool {
        self.new_mode != ABSENT
    }
}

const ABSENT: &str = "000000";

/// All paths that differ between two commits (or trees). A renamed file's old path is there too, as absent.
pub(crate) fn between(git: &Git, old: &str, new: &str) -> Result<BTreeMap<BytePath, TreeChange>, Error> {
    let arguments = ["diff-tree", "-r", "-z", "--raw", "--find-renames", old, new, "--"].map(OsStr::new);
    parse_raw(&git.run(&arguments, &[])?)
}

fn parse_raw(output: &[u8]) -> Result<BTreeMap<BytePath, TreeChange>, Error> {
    let mut changes = BTreeMap::new();
    let mut records = output.split(|byte| *byte == 0).filter(|record| !record.is_empty());
    while let Some(record) = records.next() {
        let not_understood = || Error::NotUnderstood {
            command: "git diff-tree".to_owned(),
            record: record.escape_ascii().to_string(),
        };
        // `:old-mode new-mode old-id new-id status`
        let text = String::from_utf8_lossy(record.strip_prefix(b":").ok_or_else(not_understood)?);
        let fields: Vec<&str> = text.split(' ').collect();
        let [old_mode, new_mode, old_id, new_id, status] = fields.as_slice() else {
            return Err(not_understood());
        };
        let change = |renamed_from: Option<BytePath>| TreeChange {
            old_mode: (*old_mode).to_owned(),
            new_mode: (*new_mode).to_owned(),
            old_id: (*old_id).to_owned(),
            new_id: (*new_id).to_owned(),
            renamed_from,
        };
        let path = BytePath::from(records.next().ok_or_else(not_understood)?);
        if status.starts_with('R') {
            let new_path = BytePath::from(records.next().ok_or_else(not_understood)?);
            let mut gone = change(None);
            gone.new_mode = ABSENT.to_owned();
            changes.insert(path.clone(), gone);
            changes.insert(new_path, change(Some(path)));
        } else {
            changes.insert(path, change(None));
        }
    }
    Ok(changes)
}

/// Commits of this turn: those that the log of HEAD names, and those whose commit time lies in the turn (made
/// by a sub-agent in another worktree, for example). Commit times are whole seconds; the second in which the turn
/// began belongs to what was before.
pub(crate) struct Made<'a> {
    pub(crate) named: &'a BTreeSet<String>,
    pub(crate) since_seconds: i64,
}

/// The files that commits of this turn touched, among the commits that `tips` have and `excluded` have not; the
/// letter is git's status, of all those commits together. A merge counts only for what it changed against both
/// sides.
pub(crate) fn touched_by_commits(
    git: &Git,
    tips: &[String],
    excluded: &[&str],
    made: &Made<'_>,
) -> Result<BTreeMap<BytePath, u8>, Error> {
    let mut arguments: Vec<OsString> =
        ["rev-list", "--timestamp", "--reverse", "--ignore-missing"].map(OsString::from).to_vec();
    arguments.extend(tips.iter().map(OsString::from));
    arguments.push(OsString::from("--not"));
    arguments.extend(excluded.iter().map(OsString::from));
    arguments.push(OsString::from("--"));
    let arguments: Vec<&OsStr> = arguments.iter().map(OsString::as_os_str).collect();
    let list = git.run(&arguments, &[])?;
    let mut commits = String::new();
    for line in String::from_utf8_lossy(&list).lines() {
        let Some((time, id)) = line.split_once(' ') else { continue };
        let in_turn = time.parse::<i64>().is_ok_and(|time| time > made.since_seconds);
        if in_turn || made.named.contains(id) {
            commits.push_str(id);
            commits.push('\n');
        }
    }
    if commits.is_empty() {
        return Ok(BTreeMap::new());
    }
    let arguments = [
        "diff-tree",
        "--stdin",
        "-r",
        "-z",
        "-c",
        "--root",
        "--no-commit-id",
        "--name-status",
        "--no-renames",
    ];
    let output = git.run(&arguments.map(OsStr::new), commits.as_bytes())?;
    Ok(parse_name_status(&output))
}

fn parse_name_status(output: &[u8]) -> BTreeMap<BytePath, u8> {
    let mut touched = BTreeMap::new();
    let mut records = output.split(|byte| *byte == 0);
    while let (Some(status), Some(path)) = (records.next(), records.next()) {
        let Some(letter) = status.first() else { continue };
        let path = BytePath::from(path);
        match (touched.get(&path), letter) {
            // Added and removed again: nothing is left of it.
            (Some(b'A'), b'D') => {
                touched.remove(&path);
            }
            (Some(b'A'), _) => {}
            (Some(b'D'), b'A') => {
                touched.insert(path, b'M');
            }
            _ => {
                touched.insert(path, *letter);
            }
        }
    }
    touched
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "1111111111111111111111111111111111111111";
    const B: &str = "2222222222222222222222222222222222222222";

    #[test]
    fn a_rename_is_two_paths() {
        let output = format!(":100644 100644 {A} {B} R090\0old\0new\0:100644 100755 {A} {A} M\0tool\0");
        let changes = parse_raw(output.as_bytes()).unwrap();
        assert_eq!(changes.len(), 3);
        let new = &changes[&BytePath::from("new")];
        assert_eq!(new.renamed_from, Some(BytePath::from("old")));
        assert!(!new.was_there() && new.is_there());
        let old = &changes[&BytePath::from("old")];
        assert!(old.was_there() && !old.is_there());
    }

    #[test]
    fn several_commits_of_one_file_are_one_change() {
        let touched = parse_name_status(b"A\0a\0M\0a\0A\0b\0D\0b\0D\0c\0A\0c\0M\0d\0D\0d\0MM\0e\0");
        let letters: Vec<(String, char)> =
            touched.iter().map(|(path, letter)| (path.to_string(), char::from(*letter))).collect();
        let expected = [("a", 'A'), ("c", 'M'), ("d", 'D'), ("e", 'M')];
        assert_eq!(letters, expected.map(|(path, letter)| (path.to_owned(), letter)));
    }
}
