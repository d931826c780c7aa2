//! What the ledger knew before a stop of the contents of files. Proof belongs to content: the same content needs no second
//! proof, whoever gave the first.

use serde::{Deserialize, Serialize};

use crate::strength::Strength;

/// What the ledger knows of the files that a stop is about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LedgerExtract {
    /// Changed files whose present content was proven before; sorted by path and action.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proven: Vec<ProvenFile>,
    /// Files that did not change since, and whose present content is unproven.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unproven: Vec<UnprovenFile>,
    /// What the person was told in this turn of unproven files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProvenFile {
    pub path: String,
    pub action: String,
    /// What proved it.
    pub command: String,
    /// How little that says, if its package has more; older versions did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weak: Option<Strength>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UnprovenFile {
    pub path: String,
    pub action: String,
    /// Nanoseconds since 1970.
    pub modified_ns: Option<i64>,
    /// A commit of this turn has this content.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub committed: bool,
}

impl LedgerExtract {
    /// What proved the present content of a file.
    pub(crate) fn proof_of(&self, path: &str, action: &str) -> Option<&ProvenFile> {
        let key = (path, action);
        let place = self.proven.binary_search_by(|file| (file.path.as_str(), file.action.as_str()).cmp(&key));
        self.proven.get(place.ok()?)
    }
}
