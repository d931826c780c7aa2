//! How two trees, or a tree and the index, differ, path by path, and what each of them holds. Renames are not looked for.

use change_set::BytePath;
use changes::{Error, TreeChange};
use serde::Serialize;

/// Mode and content id of a file in a tree or in the index, as git has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Version {
    pub mode: String,
    pub id: String,
}

impl Version {
    /// A commit of a repository inside: a submodule, or one that only lies there.
    pub(crate) fn is_of_repository(&self) -> bool {
        self.mode == "160000"
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub path: BytePath,
    /// `None` if there is no such path; in both if nobody knows whether it differs.
    pub old: Option<Version>,
    pub new: Option<Version>,
}

impl Difference {
    pub fn change(&self) -> &'static str {
        match (&self.old, &self.new) {
            (None, None) => "unknown",
            (None, _) => "added",
            (_, None) => "deleted",
            (Some(old), Some(new)) if old.id == new.id => "mode",
            _ => "modified",
        }
    }

    /// One side or both do not hold what is or was there.
    pub fn is_unknown(&self) -> bool {
        self.old.is_none() && self.new.is_none()
    }

    /// Whether there is or was a repository.
    pub(crate) fn is_of_repository(&self) -> bool {
        [&self.old, &self.new].into_iter().flatten().any(Version::is_of_repository)
    }

    /// What git wrote with `--raw -z`.
    pub(crate) fn parse(output: &[u8]) -> Result<Vec<Self>, Error> {
        let version = |(mode, id): (&str, &str)| Version { mode: mode.to_owned(), id: id.to_owned() };
        let changes = TreeChange::parse(output)?.into_iter();
        Ok(changes
            .map(|change| {
                let (old, new) = (change.old_side().map(version), change.new_side().map(version));
                Self { path: change.path, old, new }
            })
            .collect())
    }
}

/// Records of `mode x y<TAB>path`, as `git ls-files --stage` and `git ls-tree` write them with `-z`.
pub(crate) fn listed(output: &[u8], command: &str) -> Result<Vec<([String; 3], BytePath)>, Error> {
    let records = output.split(|byte| *byte == 0).filter(|record| !record.is_empty());
    let parse = |record: &[u8]| {
        let (fields, path) = record.split_at(memchr::memchr(b'\t', record)?);
        let fields: Vec<String> = String::from_utf8_lossy(fields).split(' ').map(str::to_owned).collect();
        Some((fields.try_into().ok()?, BytePath::from(path.get(1..)?)))
    };
    let not_understood = |record: &[u8]| Error::NotUnderstood {
        command: command.to_owned(),
        record: record.escape_ascii().to_string(),
    };
    records.map(|record| parse(record).ok_or_else(|| not_understood(record))).collect()
}
