//! Where Codex's sub-agents write.

use std::path::{Path, PathBuf};

/// `rollout-<time>-<id>.jsonl` beside the parent's file, for the ids that the turn names.
pub(super) fn named(transcript: &Path, named: &[String]) -> Vec<(String, PathBuf)> {
    let (false, Some(folder)) = (named.is_empty(), transcript.parent()) else { return Vec::new() };
    let Ok(entries) = fs_err::read_dir(folder) else { return Vec::new() };
    let mut files = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let stem = name.to_str().and_then(|name| name.strip_prefix("rollout-")?.strip_suffix(".jsonl"));
        let id = stem.and_then(|stem| named.iter().find(|id| stem.ends_with(id.as_str())));
        if let (Some(id), Ok(metadata)) = (id, entry.metadata())
            && metadata.is_file()
        {
            files.push((id.clone(), entry.path()));
        }
    }
    files.sort();
    files
}
