//! Where Claude Code keeps its transcripts.

use std::path::{Path, PathBuf};

use crate::transcripts::{Introduction, dashed, files_of, first_folder, folders_of};

/// `projects/<folder>/<session>.jsonl`.
pub(super) fn all(home: &Path) -> Vec<PathBuf> {
    let projects = folders_of(&home.join("projects"));
    let files = projects.iter().flat_map(|project| files_of(project));
    files.filter(|file| !is_subagent(file)).collect()
}

pub(super) fn of_folder(home: &Path, folder: &Path) -> Vec<PathBuf> {
    files_of(&home.join("projects").join(dashed(folder)))
}

pub(super) fn introduction(transcript: &Path) -> Introduction {
    Introduction {
        session: transcript.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned),
        folder: first_folder(transcript),
        is_subagent: is_subagent(transcript),
        ..Introduction::default()
    }
}

/// `subagents/agent-<id>.jsonl`; older versions kept `agent-<id>.jsonl` beside the sessions.
pub(super) fn is_subagent(transcript: &Path) -> bool {
    transcript.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("agent-"))
}
