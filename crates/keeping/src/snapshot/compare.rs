//! How two snapshots differ, or a snapshot and the working tree as it is now. The latter is put into a repository
//! beside the user's, in which nothing is written.

use std::path::Path;

use change_set::BytePath;
use changes::Error;

use super::scratch::Scratch;
use super::{Snapshot, SnapshotError, Snapshots};
use crate::difference::Difference;

#[derive(Clone, Copy, Debug)]
pub enum Side<'a> {
    Snapshot(&'a Snapshot),
    /// As it is now. What differs from HEAD is copied into this folder for the time of the comparison.
    WorkingTree {
        scratch: &'a Path,
    },
}

/// A commit, and what has to live as long as it is looked at.
struct ComparedSide {
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

    fn compared(&self, side: Side<'_>) -> Result<ComparedSide, SnapshotError> {
        match side {
            Side::Snapshot(snapshot) => Ok(ComparedSide { commit: snapshot.commit.clone(), scratch: None }),
            Side::WorkingTree { scratch } => {
                let scratch = Scratch::new(scratch, &self.repository)?;
                let commit = scratch.take(self)?;
                Ok(ComparedSide { commit, scratch: Some(scratch) })
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
        let side = |commit: &str| ComparedSide { commit: commit.to_owned(), scratch: None };
        self.differences_of(&side(old), &side(new), paths)
    }

    fn differences_of(
        &self,
        old: &ComparedSide,
        new: &ComparedSide,
        paths: &[BytePath],
    ) -> Result<Vec<Difference>, Error> {
        let output = self.diff_tree(&["-z", "--raw", "--no-abbrev"], old, new, paths)?;
        Difference::parse(&output)
    }

    /// In the user's repository, whose attributes say how a file is shown; the other objects are lent to it.
    fn diff_tree(
        &self,
        how: &[&str],
        old: &ComparedSide,
        new: &ComparedSide,
        paths: &[BytePath],
    ) -> Result<Vec<u8>, Error> {
        let command = ["--literal-pathspecs", "diff-tree", "-r", "--no-renames", "--no-commit-id"];
        let sides = [old.commit.as_str(), &new.commit, "--"];
        let mut arguments: Vec<&Path> = command.iter().chain(how).chain(&sides).map(Path::new).collect();
        arguments.extend(paths.iter().map(BytePath::as_path));
        let lent = [old, new].into_iter().filter_map(|side| side.scratch.as_ref());
        let git = self.git.with_objects_of(lent.map(Scratch::objects).collect());
        git.run(&arguments, &[])
    }
}
