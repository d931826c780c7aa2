//! Where Gemini CLI's sub-agents write.

use std::path::{Path, PathBuf};

/// `<session id>/<id>.jsonl` beside the parent's file, whose name ends in the first part of the session's id.
pub(super) fn named(transcript: &Path, named: &[String]) -> Vec<(String, PathBuf)> {
    let stem = transcript.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let session = stem.rsplit('-').next().unwrap_or_default();
    let (false, false, Some(folder)) = (named.is_empty(), session.is_empty(), transcript.parent()) else {
        return Vec::new();
    };
    let Ok(entries) = fs_err::read_dir(folder) else { return Vec::new() };
    let mut files = Vec::new();
    for entry in entries.flatten() {
        let is_session = entry.file_name().to_str().is_some_and(|name| name.starts_with(session))
            && entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_session {
            continue;
        }
        // The id is the client's, but it comes from a file: it must not lead anywhere else.
        for id in
            named.iter().filter(|id| id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'))
        {
            let path = entry.path().join(format!("{id}.jsonl"));
            if fs_err::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file()) {
                files.push((id.clone(), path));
            }
        }
    }
    files.sort();
    files
}
