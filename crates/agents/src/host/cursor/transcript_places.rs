//! Where Cursor keeps its transcripts.

use std::path::{Path, PathBuf};

use crate::transcripts::{Introduction, dashed, files_of, folders_of};

/// `projects/<folder>/agent-transcripts/<session>/<session>.jsonl`, with those of sub-agents in a folder below.
pub(super) fn all(home: &Path) -> Vec<PathBuf> {
    folders_of(&home.join("projects")).iter().flat_map(|project| transcripts_in(project)).collect()
}

pub(super) fn of_folder(home: &Path, folder: &Path) -> Vec<PathBuf> {
    transcripts_in(&home.join("projects").join(dashed(folder).trim_start_matches('-')))
}

fn transcripts_in(project: &Path) -> Vec<PathBuf> {
    let sessions = folders_of(&project.join("agent-transcripts"));
    let mut files: Vec<PathBuf> = sessions.iter().flat_map(|session| files_of(session)).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    files
}

pub(super) fn introduction(transcript: &Path) -> Introduction {
    Introduction {
        session: transcript.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned),
        is_subagent: is_subagent(transcript),
        ..Introduction::default()
    }
}

pub(super) fn is_subagent(transcript: &Path) -> bool {
    let folder = transcript.parent().and_then(Path::file_name);
    folder.is_some_and(|name| name == "subagents")
        && transcript
            .ancestors()
            .any(|above| above.file_name().is_some_and(|name| name == "agent-transcripts"))
}
