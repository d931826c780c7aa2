//! What the user allows: files, kinds, and single findings by their fingerprint.

use std::collections::BTreeSet;

use change_set::BytePath;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::Finding;

/// The allow list of the configuration.
#[derive(Clone, Debug, Default)]
pub struct Allow {
    paths: GlobSet,
    kinds: BTreeSet<String>,
    fingerprints: BTreeSet<String>,
}

impl Allow {
    /// `*` in a path stays inside a folder, `**` does not.
    pub fn new(paths: &[String], kinds: &[String], fingerprints: &[String]) -> Result<Self, globset::Error> {
        let mut globs = GlobSetBuilder::new();
        for pattern in paths {
            globs.add(GlobBuilder::new(pattern).literal_separator(true).build()?);
        }
        Ok(Self {
            paths: globs.build()?,
            kinds: kinds.iter().cloned().collect(),
            fingerprints: fingerprints.iter().cloned().collect(),
        })
    }

    /// Whether there is no file that anything would be looked for in: paths that nobody has in mind match too.
    pub fn has_every_path(&self) -> bool {
        const UNFORESEEN: [&str; 4] = ["qzx", ".qzx", "qzx/wvk", "qzx/.wvk/jhq/gfd.wvk"];
        UNFORESEEN.iter().all(|path| self.paths.is_match(path))
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
