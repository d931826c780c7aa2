//! What git's history says once HEAD has moved: how two commits differ, and which files the commits of this
//! turn touched. None of this runs while HEAD stands still.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use change_set::BytePath;

use crate::error::Error;
use crate::git::Git;
use crate::git_program::GitProgram;
use crate::repository::Repository;
use crate::state::ABSENT;
use crate::tree_change::TreeChange;

/// All paths that differ between two commits (or trees). A renamed file's old path is there too, as absent.
pub(crate) fn between(git: &Git, old: &str, new: &str) -> Result<BTreeMap<BytePath, TreeChange>, Error> {
    let arguments = ["diff-tree", "-r", "-z", "--raw", "--find-renames", old, new, "--"];
    Ok(by_path(TreeChange::parse(&git.run(&arguments, &[])?)?))
}

/// How some paths differ between two commits.
pub fn between_of<'a>(
    repository: &Repository,
    program: &GitProgram,
    commits: (&str, &str),
    paths: impl Iterator<Item = &'a BytePath>,
) -> Result<Vec<TreeChange>, Error> {
    let git = Git::of(repository, program)?;
    let fixed =
        ["--literal-pathspecs", "diff-tree", "-r", "-z", "--raw", "--no-renames", commits.0, commits.1, "--"];
    let mut arguments: Vec<&OsStr> = fixed.iter().map(OsStr::new).collect();
    arguments.extend(paths.map(|path| path.as_path().as_os_str()));
    TreeChange::parse(&git.run(&arguments, &[])?)
}

/// Two states of a repository whose difference is asked for.
#[derive(Clone, Copy, Debug)]
pub enum Compared<'a> {
    /// A commit with its first parent.
    Commit(&'a str),
    /// The ends of a range: `A..B`, or `A...B` from where the two parted. An end that is left out is HEAD.
    Range(&'a str),
    /// The index with HEAD.
    Staged,
    /// The same for the index that git names to its hooks, which is another one in `git commit -a`.
    StagedIn(&'a Path),
    /// What the commits up to this one changed that no remote has yet, nor any of the `known` ones.
    Unpublished { commit: &'a str, known: &'a [String] },
}

/// How two states differ. A file that was renamed stands there by its new path.
pub fn compared(
    repository: &Repository,
    program: &GitProgram,
    what: Compared<'_>,
) -> Result<Vec<TreeChange>, Error> {
    let mut git = Git::of(repository, program)?;
    if let Compared::StagedIn(index) = what {
        git = git.with_index(index);
    }
    let line = |arguments: &[&str]| {
        git.run(arguments, &[]).map(|output| String::from_utf8_lossy(&output).trim().to_owned())
    };
    let commit = |name: &str| {
        let name = format!("{}^{{commit}}", if name.is_empty() { "HEAD" } else { name });
        line(&["rev-parse", "--verify", "--end-of-options", &name])
    };
    let empty = repository.object_format().empty_tree();
    let (old, new) = match what {
        Compared::Commit(name) => {
            let new = commit(name)?;
            (commit(&format!("{new}^1")).unwrap_or_else(|_| empty.to_owned()), new)
        }
        Compared::Range(range) => match range.split_once("...") {
            Some((one, other)) => {
                let (one, other) = (commit(one)?, commit(other)?);
                (line(&["merge-base", &one, &other])?, other)
            }
            None => {
                let (old, new) = range.split_once("..").unwrap_or((range, ""));
                (commit(old)?, commit(new)?)
            }
        },
        Compared::Unpublished { commit: name, known } => {
            // A tag may lead to something else than a commit.
            let Ok(new) = commit(name) else { return Ok(Vec::new()) };
            return unpublished(&git, &new, known, empty);
        }
        Compared::Staged | Compared::StagedIn(_) => {
            let head = commit("").unwrap_or_else(|_| empty.to_owned());
            let arguments = ["diff-index", "--cached", "-r", "-z", "--raw", "--find-renames", &head, "--"];
            return TreeChange::parse(&git.run(&arguments, &[])?);
        }
    };
    TreeChange::parse(&git.run(&["diff-tree", "-r", "-z", "--raw", "--find-renames", &old, &new, "--"], &[])?)
}

/// A merge counts only for what it changed against both sides: what it brought along, a remote has already.
fn unpublished(git: &Git, new: &str, known: &[String], empty: &str) -> Result<Vec<TreeChange>, Error> {
    let mut arguments = vec!["rev-list", "--boundary", "--ignore-missing", new, "--not", "--remotes"];
    arguments.extend(known.iter().map(String::as_str));
    arguments.push("--");
    let list = git.run(&arguments, &[])?;
    let list = String::from_utf8_lossy(&list);
    let (mut commits, mut published) = (String::new(), None);
    for line in list.lines() {
        match line.strip_prefix('-') {
            Some(boundary) => published = published.or(Some(boundary)),
            None => commits.extend([line, "\n"]),
        }
    }
    let touched = touched_by(git, &commits)?;
    if touched.is_empty() {
        return Ok(Vec::new());
    }
    let mut changes = between(git, published.unwrap_or(empty), new)?;
    changes.retain(|path, _| touched.contains_key(path));
    Ok(changes.into_values().collect())
}

/// The content ids of all files in the index; a file with conflicts has none.
pub fn index_contents(
    repository: &Repository,
    program: &GitProgram,
) -> Result<BTreeMap<BytePath, String>, Error> {
    let output = Git::of(repository, program)?.run(&["ls-files", "-s", "-z"], &[])?;
    let entry = |record: &[u8]| {
        let end = record.iter().position(|byte| *byte == b'\t')?;
        let (head, path) = (record.get(..end)?, record.get(end + 1..)?);
        let mut fields = std::str::from_utf8(head).ok()?.split(' ');
        let (mode, id, stage) = (fields.next()?, fields.next()?, fields.next()?);
        (mode != "160000" && stage == "0").then(|| (BytePath::from(path), id.to_owned()))
    };
    Ok(output.split(|byte| *byte == 0).filter_map(entry).collect())
}

/// The content ids that some paths have in a commit.
pub fn contents_at<'a>(
    repository: &Repository,
    program: &GitProgram,
    commit: &str,
    paths: impl Iterator<Item = &'a BytePath>,
) -> Result<BTreeMap<BytePath, String>, Error> {
    let git = Git::of(repository, program)?;
    let fixed = ["--literal-pathspecs", "ls-tree", "-r", "-z", commit, "--"];
    let mut arguments: Vec<&OsStr> = fixed.iter().map(OsStr::new).collect();
    arguments.extend(paths.map(|path| path.as_path().as_os_str()));
    let output = git.run(&arguments, &[])?;
    let entry = |record: &[u8]| {
        let end = record.iter().position(|byte| *byte == b'\t')?;
        let (head, path) = (record.get(..end)?, record.get(end + 1..)?);
        let id = std::str::from_utf8(head).ok()?.rsplit(' ').next()?;
        Some((BytePath::from(path), id.to_owned()))
    };
    Ok(output.split(|byte| *byte == 0).filter_map(entry).collect())
}

/// The folder in which git looks for hooks, wherever the configuration puts it; it need not be there.
pub fn hooks_folder(repository: &Repository, program: &GitProgram) -> Result<PathBuf, Error> {
    let git = Git::at(repository.root.clone(), program);
    let output = git.run(&["rev-parse", "--git-path", "hooks"], &[])?;
    Ok(repository.root.join(BytePath::from(output.trim_ascii_end()).as_path()))
}

fn by_path(changes: Vec<TreeChange>) -> BTreeMap<BytePath, TreeChange> {
    let mut found = BTreeMap::new();
    for change in changes {
        if let Some(from) = &change.renamed_from {
            let new_mode = ABSENT.to_owned();
            let gone = TreeChange { path: from.clone(), new_mode, renamed_from: None, ..change.clone() };
            found.insert(from.clone(), gone);
        }
        found.insert(change.path.clone(), change);
    }
    found
}

/// Commits of this turn: those that the log of HEAD names, and those whose commit time lies in the turn (made
/// by a sub-agent in another worktree, for example). Commit times are whole seconds; the second in which the turn
/// began belongs to what was before.
pub(crate) struct TurnCommits<'a> {
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
    made: &TurnCommits<'_>,
) -> Result<BTreeMap<BytePath, u8>, Error> {
    let mut arguments = vec!["rev-list", "--timestamp", "--reverse", "--ignore-missing"];
    arguments.extend(tips.iter().map(String::as_str));
    arguments.push("--not");
    arguments.extend(excluded);
    arguments.push("--");
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
    touched_by(git, &commits)
}

/// The files that these commits touched, one commit a line.
fn touched_by(git: &Git, commits: &str) -> Result<BTreeMap<BytePath, u8>, Error> {
    if commits.is_empty() {
        return Ok(BTreeMap::new());
    }
    let command = "diff-tree --stdin -r -z -c --root --no-commit-id --name-status --no-renames";
    let arguments: Vec<&str> = command.split(' ').collect();
    let output = git.run(&arguments, commits.as_bytes())?;
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
        let changes = by_path(TreeChange::parse(output.as_bytes()).unwrap());
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
