//! How two snapshots differ, or a snapshot and the working tree as it is now. The latter is put into a repository
//! beside the user's, in which nothing is written.

use std::ffi::OsStr;
use std::path::Path;

use change_set::BytePath;
use changes::Error;
use serde::Serialize;

use super::scratch::Scratch;
use super::{Snapshot, SnapshotError, Snapshots};

#[derive(Clone, Copy, Debug)]
pub enum Side<'a> {
    Snapshot(&'a Snapshot),
    /// As it is now. What differs from HEAD is copied into this folder for the time of the comparison.
    WorkingTree {
        scratch: &'a Path,
    },
}

/// Mode and content id of a path, as git has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Version {
    pub mode: String,
    pub id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub path: BytePath,
    /// `None` where there is no such path.
    pub old: Option<Version>,
    pub new: Option<Version>,
}

impl Difference {
    pub fn change(&self) -> &'static str {
        match (&self.old, &self.new) {
            (None, _) => "added",
            (_, None) => "deleted",
            (Some(old), Some(new)) if old.id == new.id => "mode",
            _ => "modified",
        }
    }
}

/// A commit, and what has to live as long as it is looked at.
struct Compared {
    commit: String,
    scratch: Option<Scratch>,
}

impl Snapshots {
    /// What has to change in `old` to make it `new`, in `paths` or everywhere.
    pub fn diff(
        &self,
        old: Side<'_>,
        new: Side<'_>,
        paths: &[BytePath],
    ) -> Result<Vec<Difference>, SnapshotError> {
        let (old, new) = (self.compared(old)?, self.compared(new)?);
        Ok(self.differences_of(&old, &new, paths)?)
    }

    /// The same as a patch, as git writes it.
    pub fn patch(&self, old: Side<'_>, new: Side<'_>, paths: &[BytePath]) -> Result<Vec<u8>, SnapshotError> {
        let how = ["-p", "--no-ext-diff", "--no-textconv", "--no-color"];
        let (old, new) = (self.compared(old)?, self.compared(new)?);
        Ok(self.diff_tree(&how, &old, &new, paths)?)
    }

    fn compared(&self, side: Side<'_>) -> Result<Compared, SnapshotError> {
        match side {
            Side::Snapshot(snapshot) => Ok(Compared { commit: snapshot.commit.clone(), scratch: None }),
            Side::WorkingTree { scratch } => {
                let scratch = Scratch::new(scratch, &self.repository)?;
                let commit = scratch.take(self)?;
                Ok(Compared { commit, scratch: Some(scratch) })
            }
        }
    }

    /// Between two commits or trees of the repository.
    pub(super) fn differences(
        &self,
        old: &str,
        new: &str,
        paths: &[BytePath],
    ) -> Result<Vec<Difference>, Error> {
        let side = |commit: &str| Compared { commit: commit.to_owned(), scratch: None };
        self.differences_of(&side(old), &side(new), paths)
    }

    fn differences_of(
        &self,
        old: &Compared,
        new: &Compared,
        paths: &[BytePath],
    ) -> Result<Vec<Difference>, Error> {
        let output = self.diff_tree(&["-z", "--raw", "--no-abbrev"], old, new, paths)?;
        let mut fields = output.split(|byte| *byte == 0);
        let mut differences = Vec::new();
        while let (Some(head), Some(path)) = (fields.next(), fields.next()) {
            let head = String::from_utf8_lossy(head);
            let words: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
            let [old_mode, new_mode, old_id, new_id, _] = words.as_slice() else {
                return Err(Error::NotUnderstood {
                    command: "git diff-tree".to_owned(),
                    record: head.into_owned(),
                });
            };
            let version = |mode: &str, id: &str| {
                (mode != "000000").then(|| Version { mode: mode.to_owned(), id: id.to_owned() })
            };
            differences.push(Difference {
                path: BytePath::from(path),
                old: version(old_mode, old_id),
                new: version(new_mode, new_id),
            });
        }
        Ok(differences)
    }

    /// In the user's repository, whose attributes say how a file is shown; the other objects are lent to it.
    fn diff_tree(
        &self,
        how: &[&str],
        old: &Compared,
        new: &Compared,
        paths: &[BytePath],
    ) -> Result<Vec<u8>, Error> {
        let mut arguments: Vec<&OsStr> =
            ["--literal-pathspecs", "diff-tree", "-r", "--no-renames", "--no-commit-id"]
                .map(OsStr::new)
                .to_vec();
        arguments.extend(how.iter().map(OsStr::new));
        arguments.extend([OsStr::new(&old.commit), OsStr::new(&new.commit), OsStr::new("--")]);
        arguments.extend(paths.iter().map(|path| path.as_path().as_os_str()));
        let lent = [old, new].into_iter().filter_map(|side| side.scratch.as_ref());
        let git = self.git.with_objects_of(lent.map(Scratch::objects).collect());
        git.run(&arguments, &[])
    }
}
