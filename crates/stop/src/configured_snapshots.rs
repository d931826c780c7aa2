//! The snapshots of a working tree as the user's settings want them, and where their mirror lies.

use std::path::Path;

use change_set::BytePath;
use changes::{GitProgram, Repository};
use gate::policy::SnapshotSettings;
use keeping::snapshot::{self, AbandonedMirror, Mirror, SnapshotError, Snapshots};
use sha2::{Digest as _, Sha256};
use text::hexadecimal;

/// In the state directory.
const MIRRORS: &str = "mirrors";

pub fn configured_snapshots(
    repository: Repository,
    git: &GitProgram,
    settings: &SnapshotSettings,
    state: &Path,
) -> Result<Snapshots, SnapshotError> {
    let mirror = settings.mirror.then(|| mirror_of(&repository.root, settings, state));
    let largest = settings.largest_file_mb.saturating_mul(1_000_000);
    let snapshots = Snapshots::of(repository, git)?.with_largest_file(largest);
    Ok(match mirror {
        Some(mirror) => snapshots.with_mirror(mirror),
        None => snapshots,
    })
}

/// The mirror of the working tree at this root, whether it is there or not.
pub fn mirror_of(root: &Path, settings: &SnapshotSettings, state: &Path) -> Mirror {
    let digest = Sha256::digest(root.as_os_str().as_encoded_bytes());
    let name = hexadecimal(digest.get(..8).unwrap_or_default());
    let files = settings.mirror_files.iter().map(|path| BytePath::from(path.as_str())).collect();
    Mirror::new(state.join(MIRRORS).join(name), files, settings.keep)
}

/// The mirrors of projects that are not where they were.
pub fn abandoned_mirrors(state: &Path) -> Vec<AbandonedMirror> {
    snapshot::abandoned_mirrors(&state.join(MIRRORS))
}
