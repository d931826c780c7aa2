//! The snapshots of a working tree as the user's settings want them.

use changes::{GitProgram, Repository};
use gate::policy::SnapshotSettings;
use keeping::snapshot::{SnapshotError, Snapshots};

pub fn configured_snapshots(
    repository: Repository,
    git: &GitProgram,
    settings: &SnapshotSettings,
) -> Result<Snapshots, SnapshotError> {
    let largest = settings.largest_file_mb.saturating_mul(1_000_000);
    Ok(Snapshots::of(repository, git)?.with_largest_file(largest))
}
