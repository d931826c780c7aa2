//! How two snapshots differ, or a snapshot and the working tree as it is now.

use serde::Serialize;

use super::create::{NewSnapshot, new_id};
use super::{Reason, Snapshot, SnapshotError, Snapshots};
use crate::error::Error;
use crate::git::WRITING;
use crate::path::BytePath;

/// Where the working tree is kept while it is compared; a comparison that was killed leaves it to `prune`.
pub(super) const COMPARED: &str = "refs/checkstone/compared";

#[derive(Clone, Copy, Debug)]
pub enum Side<'a> {
    Snapshot(&'a Snapshot),
    /// As it is now, at this time in nanoseconds since 1970.
    WorkingTree {
        now_ns: i64,
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

impl Snapshots {
    /// What has to change in `old` to make it `new`, in `paths` or everywhere.
    pub fn diff(
        &self,
        old: Side<'_>,
        new: Side<'_>,
        paths: &[BytePath],
    ) -> Result<Vec<Difference>, SnapshotError> {
        self.with_commits(old, new, |old, new| Ok(self.differences(old, new, paths)?))
    }

    /// The same as a patch, as git writes it.
    pub fn patch(&self, old: Side<'_>, new: Side<'_>, paths: &[BytePath]) -> Result<Vec<u8>, SnapshotError> {
        let how = ["-p", "--no-ext-diff", "--no-textconv", "--no-color"];
        self.with_commits(old, new, |old, new| Ok(self.diff_tree(&how, old, new, paths)?))
    }

    fn with_commits<T>(
        &self,
        old: Side<'_>,
        new: Side<'_>,
        compare: impl FnOnce(&str, &str) -> Result<T, SnapshotError>,
    ) -> Result<T, SnapshotError> {
        let mut kept = Vec::new();
        let mut commit = |side: Side<'_>| match side {
            Side::Snapshot(snapshot) => Ok(snapshot.commit.clone()),
            Side::WorkingTree { now_ns } => {
                let id = new_id(now_ns);
                let name = format!("{COMPARED}/{id}");
                let new = NewSnapshot {
                    reason: Reason::Asked,
                    message: "compared",
                    now_ns,
                    session: None,
                    turn: None,
                };
                let taken = self.create_at(&new, id, &name)?;
                kept.push((name, taken.commit.clone()));
                Ok::<String, SnapshotError>(taken.commit)
            }
        };
        let sides = commit(old).and_then(|old| Ok((old, commit(new)?)));
        let result = sides.and_then(|(old, new)| compare(&old, &new));
        self.delete_refs(&kept)?;
        result
    }

    pub(super) fn differences(
        &self,
        old: &str,
        new: &str,
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

    fn diff_tree(&self, how: &[&str], old: &str, new: &str, paths: &[BytePath]) -> Result<Vec<u8>, Error> {
        use std::ffi::OsStr;
        let mut arguments: Vec<&OsStr> =
            ["--literal-pathspecs", "diff-tree", "-r", "--no-renames", "--no-commit-id"]
                .map(OsStr::new)
                .to_vec();
        arguments.extend(how.iter().map(OsStr::new));
        arguments.extend([OsStr::new(old), OsStr::new(new), OsStr::new("--")]);
        arguments.extend(paths.iter().map(|path| path.as_path().as_os_str()));
        self.git.run(&arguments, &[])
    }

    /// In one step, and only where they still are what they were.
    pub(super) fn delete_refs(&self, refs: &[(String, String)]) -> Result<(), Error> {
        if refs.is_empty() {
            return Ok(());
        }
        let input: String = refs.iter().map(|(name, commit)| format!("delete {name}\0{commit}\0")).collect();
        let arguments: Vec<&str> =
            WRITING.iter().copied().chain(["update-ref", "--no-deref", "--stdin", "-z"]).collect();
        self.run(&arguments, input.as_bytes()).map(|_| ())
    }
}
