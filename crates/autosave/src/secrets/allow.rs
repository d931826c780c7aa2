//! What the user allows: files, kinds, and single findings by their fingerprint.

use std::collections::BTreeSet;

use change_set::BytePath;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::Finding;

#[derive(Debug, thiserror::Error)]
pub enum AllowError {
    #[error("`{pattern}` is not a pattern of paths: {source}")]
    Pattern { pattern: String, source: globset::Error },
}

/// The allow list of the configuration.
#[derive(Clone, Debug, Default)]
pub struct Allow {
    paths: GlobSet,
    kinds: BTreeSet<String>,
    fingerprints: BTreeSet<String>,
}

impl Allow {
    /// `*` in a path stays inside a folder, `**` does not.
    pub fn new(paths: &[String], kinds: &[String], fingerprints: &[String]) -> Result<Self, AllowError> {
        let mut globs = GlobSetBuilder::new();
        let wrong = |pattern: &str, source| AllowError::Pattern { pattern: pattern.to_owned(), source };
        for pattern in paths {
            let glob = GlobBuilder::new(pattern).literal_separator(true).build();
            globs.add(glob.map_err(|source| wrong(pattern, source))?);
        }
        Ok(Self {
            paths: globs.build().map_err(|source| wrong(&paths.join(" "), source))?,
            kinds: kinds.iter().cloned().collect(),
            fingerprints: fingerprints.iter().cloned().collect(),
        })
    }

    pub(super) fn has_path(&self, path: &BytePath) -> bool {
        self.paths.is_match(path.as_path())
    }

    pub(super) fn has(&self, finding: &Finding) -> bool {
        self.has_path(&finding.path)
            || self.kinds.contains(&finding.kind)
            || self.fingerprints.contains(&finding.fingerprint)
    }
}
