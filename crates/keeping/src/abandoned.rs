//! Folders for a moment, with a name by which those that a killed process has left are known and removed.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

/// Nobody uses one for so long.
const LONGEST_USE: Duration = Duration::from_secs(24 * 60 * 60);

/// A new folder in `parent` that only we may read, removed with all in it when it is dropped.
pub(crate) fn folder_in(parent: &Path, prefix: &str) -> io::Result<TempDir> {
    let ours_alone = Permissions::from_mode(0o700);
    let folder = tempfile::Builder::new().prefix(prefix).permissions(ours_alone).tempdir_in(parent)?;
    remove_abandoned(parent, prefix, folder.path());
    Ok(folder)
}

/// The new one tells what time it is on that disk.
fn remove_abandoned(parent: &Path, prefix: &str, new: &Path) {
    let Ok(now) = new.metadata().and_then(|found| found.modified()) else { return };
    for entry in parent.read_dir().into_iter().flatten().flatten() {
        let is_ours = entry.file_name().as_encoded_bytes().starts_with(prefix.as_bytes());
        let age = || now.duration_since(entry.metadata().ok()?.modified().ok()?).ok();
        if is_ours && age().is_some_and(|age| age > LONGEST_USE) {
            let _ = fs_err::remove_dir_all(entry.path());
        }
    }
}
