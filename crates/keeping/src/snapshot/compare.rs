//! How two snapshots differ, or a snapshot and the working tree as it is now. The latter is put into a repository
//! beside the user's, in which nothing is written.

use std::collections::BTreeSet;
use std::path::Path;

use change_set::BytePath;
use changes::state::ObjectFormat;
use changes::{Error, submodules};

use super::scratch::Scratch;
use super::submodule_snapshot::{joined, paths_inside};
use super::{Snapshot, SnapshotError, Snapshots};
use crate::difference::Difference;

#[derive(Clone, Copy, Debug)]
pub enum Side<'a> {
    Snapshot(&'a Snapshot),
    /// A commit of a submodule, which had no changes of its own.
    Commit(&'a str),
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

/// The same side inside of a submodule.
enum InnerSide<'a> {
    Snapshot(Box<Snapshot>),
    Commit(String),
    WorkingTree { scratch: &'a Path },
}

impl InnerSide<'_> {
    fn side(&self) -> Side<'_> {
        match self {
            Self::Snapshot(snapshot) => Side::Snapshot(snapshot),
            Self::Commit(commit) => Side::Commit(commit),
            Self::WorkingTree { scratch } => Side::WorkingTree { scratch },
        }
    }
}

impl Snapshots {
    /// What has to change in `old` to make it `new`, in `paths` or everywhere, submodules included.
    pub fn diff(
        &self,
        old: Side<'_>,
        new: Side<'_>,
        paths: &[BytePath],
    ) -> Result<Vec<Difference>, SnapshotError> {
        let (old_side, new_side) = (self.compared(old)?, self.compared(new)?);
        let mut all = self.differences_of(&old_side, &new_side, paths)?;
        for (path, inside, old, new) in self.compared_submodules(old, new)? {
            let Some(paths) = paths_inside(&path, paths) else { continue };
            let found = inside.diff(old.side(), new.side(), &paths)?.into_iter();
            all.extend(found.map(|inner| Difference { path: joined(&path, &inner.path), ..inner }));
        }
        Ok(all)
    }

    /// The same as a patch, as git writes it.
    pub fn patch(&self, old: Side<'_>, new: Side<'_>, paths: &[BytePath]) -> Result<Vec<u8>, SnapshotError> {
        self.patch_below(old, new, paths, &BytePath::default())
    }

    /// `folder` is where this submodule lies, and stands before its paths.
    fn patch_below(
        &self,
        old: Side<'_>,
        new: Side<'_>,
        paths: &[BytePath],
        folder: &BytePath,
    ) -> Result<Vec<u8>, SnapshotError> {
        let at = |side: &str| match folder.as_bytes() {
            b"" => format!("{side}/"),
            _ => format!("{side}/{folder}/"),
        };
        let prefixes = [format!("--src-prefix={}", at("a")), format!("--dst-prefix={}", at("b"))];
        let [source, destination] = &prefixes;
        let how = ["-p", "--no-ext-diff", "--no-textconv", "--no-color", source, destination];
        let (old_side, new_side) = (self.compared(old)?, self.compared(new)?);
        let mut all = self.diff_tree(&how, &old_side, &new_side, paths)?;
        for (path, inside, old, new) in self.compared_submodules(old, new)? {
            let Some(paths) = paths_inside(&path, paths) else { continue };
            all.extend(inside.patch_below(old.side(), new.side(), &paths, &joined(folder, &path))?);
        }
        Ok(all)
    }

    fn compared(&self, side: Side<'_>) -> Result<ComparedSide, SnapshotError> {
        match side {
            Side::Snapshot(Snapshot { commit, .. }) => {
                Ok(ComparedSide { commit: commit.clone(), scratch: None })
            }
            Side::Commit(commit) => Ok(ComparedSide { commit: commit.to_owned(), scratch: None }),
            Side::WorkingTree { scratch } => {
                let scratch = Scratch::new(scratch, &self.repository)?;
                let commit = scratch.take(self)?;
                Ok(ComparedSide { commit, scratch: Some(scratch) })
            }
        }
    }

    /// The submodules that may differ, with both sides. One that is not here, or that a side does not have, shows the change
    /// of its commit only.
    fn compared_submodules<'a>(
        &self,
        old: Side<'a>,
        new: Side<'a>,
    ) -> Result<Vec<(BytePath, Self, InnerSide<'a>, InnerSide<'a>)>, SnapshotError> {
        let mut paths = BTreeSet::new();
        for side in [old, new] {
            match side {
                Side::Snapshot(snapshot) => {
                    paths.extend(snapshot.facts.submodules.iter().map(|taken| taken.path.clone()));
                }
                Side::Commit(_) => {}
                Side::WorkingTree { .. } => {
                    paths.extend(submodules::checked_out(&self.repository).into_iter().map(|(path, _)| path));
                }
            }
        }
        let mut all = Vec::new();
        for path in paths {
            let Ok(inside) = self.submodule(&path) else { continue };
            let sides = (self.inner_side(old, &path, &inside)?, self.inner_side(new, &path, &inside)?);
            if let (Some(old), Some(new)) = sides {
                all.push((path, inside, old, new));
            }
        }
        Ok(all)
    }

    fn inner_side<'a>(
        &self,
        side: Side<'a>,
        path: &BytePath,
        inside: &Self,
    ) -> Result<Option<InnerSide<'a>>, SnapshotError> {
        let commit = match side {
            Side::WorkingTree { scratch } => return Ok(Some(InnerSide::WorkingTree { scratch })),
            Side::Snapshot(snapshot) if snapshot.facts.submodules.iter().any(|one| one.path == *path) => {
                return Ok(inside.inner_of(snapshot, path).ok().map(Box::new).map(InnerSide::Snapshot));
            }
            Side::Snapshot(snapshot) => snapshot.commit.as_str(),
            Side::Commit(commit) => commit,
        };
        let recorded =
            self.differences(ObjectFormat::of_id(commit).empty_tree(), commit, std::slice::from_ref(path))?;
        let recorded = recorded.into_iter().find_map(|one| one.new.filter(|_| one.path == *path));
        let commit = recorded.filter(|version| version.mode == "160000").map(|version| version.id);
        let is_there = |commit: &String| inside.git.run(&["cat-file", "-e", commit], &[]).is_ok();
        Ok(commit.filter(is_there).map(InnerSide::Commit))
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
