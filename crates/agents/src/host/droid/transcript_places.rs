//! Where Droid keeps its transcripts.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::transcripts::{Introduction, dashed, files_of, first_folder, first_line, folders_of};

/// `sessions/<folder>/<session>.jsonl`, with the settings of each session beside it.
pub(super) fn all(home: &Path) -> Vec<PathBuf> {
    folders_of(&home.join("sessions")).iter().flat_map(|project| transcripts_in(project)).collect()
}

pub(super) fn of_folder(home: &Path, folder: &Path) -> Vec<PathBuf> {
    transcripts_in(&home.join("sessions").join(dashed(folder)))
}

fn transcripts_in(folder: &Path) -> Vec<PathBuf> {
    let mut files = files_of(folder);
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    files
}

pub(super) fn introduction(transcript: &Path) -> Introduction {
    Introduction {
        session: transcript.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned),
        folder: first_folder(transcript),
        is_subagent: is_subagent(transcript),
        ..Introduction::default()
    }
}

/// A sub-agent is a session of its own, beside the others, whose first line names the session that launched it.
pub(super) fn is_subagent(transcript: &Path) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct SessionStart {
        calling_session_id: Option<String>,
    }
    let is_in_place = transcript.ancestors().nth(2).and_then(Path::file_name) == Some("sessions".as_ref());
    let start = is_in_place.then(|| first_line(transcript)).flatten();
    let start = start.and_then(|line| serde_json::from_slice::<SessionStart>(&line).ok());
    start.is_some_and(|start| start.calling_session_id.is_some())
}
