//! How a path differs between two trees, or between a tree and the index: git's raw format.

use change_set::BytePath;

use crate::error::Error;
use crate::state::ABSENT;

#[derive(Clone, Debug, PartialEq)]
pub struct TreeChange {
    pub path: BytePath,
    pub(crate) old_mode: String,
    pub(crate) new_mode: String,
    pub(crate) old_id: String,
    pub(crate) new_id: String,
    /// The old path, if the file was renamed; id and mode on the old side are then those of that path.
    pub(crate) renamed_from: Option<BytePath>,
    /// The index has several versions of it that are still to be merged, and so none.
    pub(crate) is_unmerged: bool,
}

impl TreeChange {
    /// What git wrote with `--raw -z`: `:old-mode new-mode old-id new-id letter`, then the path, or two of a rename.
    pub fn parse(output: &[u8]) -> Result<Vec<Self>, Error> {
        let mut changes = Vec::new();
        let mut records = output.split(|byte| *byte == 0).filter(|record| !record.is_empty());
        while let Some(record) = records.next() {
            let not_understood = || Error::NotUnderstood {
                command: "git diff-tree".to_owned(),
                record: record.escape_ascii().to_string(),
            };
            let text = String::from_utf8_lossy(record.strip_prefix(b":").ok_or_else(not_understood)?);
            let fields: Vec<&str> = text.split(' ').collect();
            let [old_mode, new_mode, old_id, new_id, letter] = fields.as_slice() else {
                return Err(not_understood());
            };
            let mut path = BytePath::from(records.next().ok_or_else(not_understood)?);
            let mut renamed_from = None;
            if letter.starts_with('R') {
                let new_path = BytePath::from(records.next().ok_or_else(not_understood)?);
                renamed_from = Some(std::mem::replace(&mut path, new_path));
            }
            changes.push(Self {
                path,
                old_mode: (*old_mode).to_owned(),
                new_mode: (*new_mode).to_owned(),
                old_id: (*old_id).to_owned(),
                new_id: (*new_id).to_owned(),
                renamed_from,
                is_unmerged: *letter == "U",
            });
        }
        Ok(changes)
    }

    /// Mode and content id on the old side, if there is such a file there.
    pub fn old_side(&self) -> Option<(&str, &str)> {
        (self.old_mode != ABSENT).then_some((&self.old_mode, &self.old_id))
    }

    /// Mode and content id on the new side.
    pub fn new_side(&self) -> Option<(&str, &str)> {
        self.is_there().then_some((&self.new_mode, &self.new_id))
    }

    /// Whether it is open what the new side has: a merge left the path with conflicts.
    pub fn is_unmerged(&self) -> bool {
        self.is_unmerged
    }

    /// Whether the old side has a file of this very path.
    pub(crate) fn was_there(&self) -> bool {
        self.renamed_from.is_none() && self.old_mode != ABSENT
    }

    pub(crate) fn is_there(&self) -> bool {
        self.new_mode != ABSENT
    }
}
