//! Where Qwen Code keeps its transcripts.

use std::path::{Path, PathBuf};

use crate::transcripts::{Introduction, dashed, files_of, first_folder, folders_of};

/// `projects/<folder>/chats/<session>.jsonl`; sub-agents write into `projects/<folder>/subagents/<session>`.
pub(super) fn all(home: &Path) -> Vec<PathBuf> {
    let projects = folders_of(&home.join("projects"));
    projects.iter().flat_map(|project| files_of(&project.join("chats"))).collect()
}

pub(super) fn of_folder(home: &Path, folder: &Path) -> Vec<PathBuf> {
    files_of(&home.join("projects").join(dashed(folder)).join("chats"))
}

pub(super) fn introduction(transcript: &Path) -> Introduction {
    Introduction {
        session: transcript.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned),
        folder: first_folder(transcript),
        ..Introduction::default()
    }
}
