//! A snapshot that was taken at the start of a turn as the turn's baseline.
//!
//! It is taken beside the agent, so it may come after the agent's first edits. What had been written by then, after the
//! turn began, is known by its times (`late`), and says nothing about the beginning: such a file counts as changed. The
//! tree has no times, and needs none: a file that nobody has written since the turn began is as it was, and only the
//! others are read.

use std::os::unix::fs::MetadataExt;

use change_set::BytePath;
use changes::state::{
    CLOCK_TICK_NS, ContentIdentity, Disk, FileContent, FileState, ObjectFormat, modified_ns, nanoseconds,
};
use changes::{BASELINE_VERSION, Baseline, KnownFile};

use super::{Snapshot, SnapshotError, SnapshotReason, Snapshots};
use crate::difference::Version;

impl Snapshots {
    /// `None` if the snapshot is of no turn's start.
    pub fn baseline(
        &self,
        snapshot: &Snapshot,
        reflog_size: Option<u64>,
    ) -> Result<Option<Baseline>, SnapshotError> {
        let SnapshotReason::TurnStart { began_ns } = snapshot.facts.reason else { return Ok(None) };
        let format = ObjectFormat::of_id(&snapshot.commit);
        let head = snapshot.head.as_deref().unwrap_or(format.empty_tree());
        let mut disk = Disk::new(&self.repository.root, format);
        let mut files = Vec::new();
        for difference in self.differences(head, &snapshot.commit, &[])? {
            if snapshot.facts.late.contains(&difference.path) {
                continue;
            }
            let state = state(&mut disk, &difference.path, difference.new.as_ref(), began_ns);
            files.push(KnownFile { path: difference.path, state, staged: None });
        }
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(Some(Baseline {
            version: BASELINE_VERSION,
            taken_ns: began_ns,
            root: BytePath::from(self.repository.root.as_path()),
            git_dir: BytePath::from(self.repository.git_dir.as_path()),
            head: snapshot.head.clone(),
            branch: None,
            object_format: format,
            reflog_size,
            // Of what was left out nobody knows what it was.
            complete: snapshot.facts.left_out.is_empty(),
            files,
        }))
    }
}

/// What was at `path` when the turn began, told such that a comparison needs no second reading.
fn state(disk: &mut Disk<'_>, path: &BytePath, version: Option<&Version>, began_ns: i64) -> FileState {
    let Some(version) = version else { return FileState::Absent };
    let kind = match version.mode.as_str() {
        "160000" => return FileState::Repository { commit: Some(version.id.clone()), dirt: None },
        "120000" => FileState::Symlink,
        "100755" => FileState::Executable,
        _ => FileState::File,
    };
    let found = disk.metadata(path).map(|(metadata, _)| metadata);
    let same = found.filter(|metadata| {
        let changed_ns = nanoseconds(metadata.ctime(), metadata.ctime_nsec());
        changed_ns.saturating_add(CLOCK_TICK_NS) < began_ns
            || (disk.git_mode(path) == version.mode && disk.blob_id(path).as_ref() == Some(&version.id))
    });
    kind(match same {
        Some(metadata) => FileContent {
            size: metadata.len(),
            modified_ns: modified_ns(&metadata),
            changed_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
            identity: ContentIdentity::Unread(()),
        },
        // No file has this size: whatever is there now is something else.
        None => FileContent {
            size: u64::MAX,
            modified_ns: 0,
            changed_ns: 0,
            identity: ContentIdentity::Blob(version.id.clone()),
        },
    })
}
