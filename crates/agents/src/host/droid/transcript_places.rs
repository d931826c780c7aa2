//! Where Droid keeps its transcripts.

use std::path::{Path, PathBuf};

use crate::transcripts::{Introduction, dashed, files_of, first_folder, folders_of};

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
        ..Introduction::default()
    }
}
