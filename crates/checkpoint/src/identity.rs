//! What a file is known by without reading it: device, inode, size and times of change. As long as they are the same, so is its
//! content, if the file was settled when it was read.

use std::fmt;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Device, inode, size, modified and changed in nanoseconds: what differs when a file was touched. The size is part of it: after
/// a power cut a file may have its times, and nothing of its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity(u64, u64, u64, i64, i64);

/// On another file system than the tick's, which may have a coarser clock.
const COARSEST_CLOCK: i64 = 2_000_000_000;

impl Identity {
    pub fn of(file: &File) -> io::Result<Self> {
        Ok(Self::new(&file.metadata()?))
    }

    /// Of a regular file, which is no link.
    pub fn of_path(path: &Path) -> Option<Self> {
        path.symlink_metadata().ok().filter(Metadata::is_file).map(|metadata| Self::new(&metadata))
    }

    /// Of a folder: another one once something in it was made, renamed or removed.
    pub fn of_folder(path: &Path) -> Option<Self> {
        path.metadata().ok().filter(Metadata::is_dir).map(|metadata| Self::new(&metadata))
    }

    pub(crate) fn new(metadata: &Metadata) -> Self {
        let nanoseconds =
            |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        let modified = nanoseconds(metadata.mtime(), metadata.mtime_nsec());
        let changed = nanoseconds(metadata.ctime(), metadata.ctime_nsec());
        Self(metadata.dev(), metadata.ino(), metadata.len(), modified, changed)
    }

    /// What differs once its content was written, and not once it was linked to or given other permissions.
    pub fn written(&self) -> (u64, u64, u64, i64) {
        (self.0, self.1, self.2, self.3)
    }

    pub fn size(&self) -> u64 {
        self.2
    }

    /// Whether a change from now on would show. `tick` is a file that was made before this one was looked at: what changes
    /// later has a later time than that, by the same clock.
    pub fn is_settled(&self, tick: &Self) -> bool {
        let margin = if self.0 == tick.0 { 0 } else { COARSEST_CLOCK };
        self.4.saturating_add(margin) < tick.4 && self.3 < tick.4
    }
}

/// As records of runs have it.
impl fmt::Display for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(device, inode, size, modified, changed) = self;
        let time = |time: &i64| (time.div_euclid(1_000_000_000), time.rem_euclid(1_000_000_000));
        let ((modified, modified_rest), (changed, changed_rest)) = (time(modified), time(changed));
        write!(formatter, "{device}:{inode}:{size}:{modified}.{modified_rest:09}:{changed}.{changed_rest:09}")
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

    #[test]
    fn it_is_written_with_seconds_and_nanoseconds() {
        let identity = Identity(1, 2, 3, 5_000_000_006, -1);
        assert_eq!(identity.to_string(), "1:2:3:5.000000006:-1.999999999");
    }
}
