//! What is known of files without reading them: which content an artifact had when it was last read, and which objects
//! were seen flushed, both by the file's identity (device, inode, size, times of change).
//!
//! It is only a cache: whatever is wrong with it, files are read again. A file that was changed in the same tick of the
//! clock as it was read in could change once more unseen, so it is not remembered.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;

use files::{FileError, Folder, TemporaryFile};
use serde::{Deserialize, Serialize};

use crate::hash;

const NAME: &str = "known";
/// Beyond this the oldest knowledge is not worth its reading.
const MOST: usize = 200_000;
const LARGEST: u64 = 256 << 20;

/// Device, inode, size, modified and changed in nanoseconds: what differs when a file was touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Identity(u64, u64, u64, i64, i64);

impl Identity {
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let nanoseconds =
            |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        let modified = nanoseconds(metadata.mtime(), metadata.mtime_nsec());
        let changed = nanoseconds(metadata.ctime(), metadata.ctime_nsec());
        Ok(Self(metadata.dev(), metadata.ino(), metadata.len(), modified, changed))
    }

    pub(crate) fn size(&self) -> u64 {
        self.2
    }

    /// Whether a change from now on would show. `tick` is a file that was made before this one was looked at: what changes
    /// later has a later time than that, by the same clock. Other file systems may have coarser clocks.
    pub(crate) fn is_settled(&self, tick: &Self) -> bool {
        let margin = if self.0 == tick.0 { 0 } else { 2_000_000_000 };
        self.4.saturating_add(margin) < tick.4 && self.3 < tick.4
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct KnownFiles {
    files: HashMap<String, (Identity, String)>,
    objects: HashMap<String, Identity>,
}

impl KnownFiles {
    pub(super) fn read(store: &Folder) -> Self {
        Self::try_read(store).unwrap_or_default()
    }

    fn try_read(store: &Folder) -> Option<Self> {
        let mut bytes = Vec::new();
        store.file(NAME).ok()?.take(LARGEST).read_to_end(&mut bytes).ok()?;
        // It is not flushed, so a power cut may leave anything: the first line says whether it is whole.
        let (digest, rest) = bytes.split_at_checked(65)?;
        let whole = digest.strip_suffix(b"\n")? == hash::of_bytes(rest).as_bytes();
        whole.then(|| serde_json::from_slice(rest).ok()).flatten()
    }

    pub(super) fn write(&self, store: &Folder, temporary: &Folder) -> Result<(), FileError> {
        let failed = |source| FileError::failed("write", &temporary.path().join(NAME))(source);
        let body = serde_json::to_vec(self).map_err(|error| failed(error.into()))?;
        let mut written = TemporaryFile::new(temporary, NAME, 0o644)?;
        let text = [hash::of_bytes(&body).as_bytes(), b"\n", &body].concat();
        written.file().write_all(&text).map_err(failed)?;
        written.replace(store, NAME)
    }

    /// The content of the file at that path, where it is the one that was read.
    pub(crate) fn content(&self, path: &str, identity: &Identity) -> Option<&str> {
        self.files.get(path).filter(|(known, _)| known == identity).map(|(_, sha256)| sha256.as_str())
    }

    /// Whether the file at that path was read before, as it is now or otherwise.
    pub(crate) fn has_path(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// The sizes of what is in the store.
    pub(crate) fn sizes(&self) -> HashSet<u64> {
        self.objects.values().map(Identity::size).collect()
    }

    pub(super) fn object(&self, sha256: &str) -> Option<&Identity> {
        self.objects.get(sha256)
    }

    pub(crate) fn set_content(&mut self, path: String, identity: Identity, sha256: String) {
        if self.files.len() >= MOST {
            self.files.clear();
        }
        self.files.insert(path, (identity, sha256));
    }

    pub(crate) fn set_object(&mut self, sha256: String, identity: Identity) {
        self.objects.insert(sha256, identity);
    }

    pub(crate) fn forget_files(&mut self, is_there: impl Fn(&str) -> bool) {
        self.files.retain(|path, _| is_there(path));
    }

    pub(crate) fn forget_objects(&mut self, keep: impl Fn(&str) -> bool) {
        self.objects.retain(|sha256, _| keep(sha256));
        self.files.retain(|_, (_, sha256)| keep(sha256));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Racily clean: what changed in the tick in which it was read, or after it, could change once more unseen.
    #[test]
    fn only_what_is_older_than_the_tick_is_settled() {
        let tick = Identity(1, 1, 0, 5_000_000_000, 5_000_000_000);
        let file = |device, modified, changed| Identity(device, 2, 4, modified, changed);
        assert!(file(1, 4_999_999_999, 4_999_999_999).is_settled(&tick));
        assert!(!file(1, 5_000_000_000, 5_000_000_000).is_settled(&tick));
        assert!(!file(1, 0, 5_000_000_000).is_settled(&tick), "times of modification can be set");
        assert!(!file(1, 6_000_000_000, 1).is_settled(&tick));
        assert!(!file(2, 0, 4_000_000_000).is_settled(&tick), "another file system's clock may be coarse");
        assert!(file(2, 0, 2_000_000_000).is_settled(&tick));
    }
}
