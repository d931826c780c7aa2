//! How two trees, or a tree and the index, differ, path by path. Renames are not looked for.

use change_set::BytePath;
use changes::{Error, TreeChange};
use serde::Serialize;

/// Mode and content id of a file in a tree or in the index, as git has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Version {
    pub mode: String,
    pub id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub path: BytePath,
    /// `None` if there is no such path.
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
