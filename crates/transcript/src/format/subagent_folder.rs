//! The folder in which a session's sub-agents write, a file each.

use std::path::Path;
use std::time::SystemTime;

use jiff::Timestamp;

use super::IdentifiedFiles;

/// The clock of the file system and that of the client may differ by a little.
const SLACK: jiff::SignedDuration = jiff::SignedDuration::from_secs(2);

/// `agent-<id>.jsonl`, those written to since the turn began.
pub(super) fn written_since(folder: &Path, began: Timestamp) -> IdentifiedFiles {
    let Ok(entries) = fs_err::read_dir(folder) else { return Vec::new() };
    let mut files = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let id = name.to_str().and_then(|name| name.strip_prefix("agent-")?.strip_suffix(".jsonl"));
        // No symbolic link is followed: a link in there is not the client's doing.
        let (Some(id), Ok(metadata)) = (id, entry.metadata()) else { continue };
        let touched = metadata.modified().ok().and_then(|time: SystemTime| Timestamp::try_from(time).ok());
        let stale =
            touched.is_some_and(|touched| touched.saturating_add(SLACK).is_ok_and(|late| late < began));
        if metadata.is_file() && !stale {
            files.push((id.to_owned(), entry.path()));
        }
    }
    files.sort();
    files
}
