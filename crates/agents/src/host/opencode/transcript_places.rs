//! Where opencode keeps its sessions: all of them in one database.

use std::path::{Path, PathBuf};

use transcript::StoredSession;

use crate::transcripts::{Introduction, is_same};

const DATABASE: &str = "opencode.db";

pub(super) fn of_session(home: &Path, session: &str) -> Option<PathBuf> {
    let database = home.join(DATABASE);
    (database.is_file() && !session.is_empty() && !session.contains('/')).then(|| database.join(session))
}

/// The database alone stands for the session that was written to last.
pub(super) fn all(home: &Path) -> Vec<PathBuf> {
    Some(home.join(DATABASE)).filter(|database| database.is_file()).into_iter().collect()
}

pub(super) fn of_folder(home: &Path, folder: &Path) -> Vec<PathBuf> {
    let is_of_folder = |session: &StoredSession| {
        !session.is_subagent && session.folder.as_ref().is_some_and(|own| is_same(own, folder))
    };
    let sessions = transcript::sessions(&home.join(DATABASE)).into_iter();
    sessions.filter(is_of_folder).map(|session| session.path).collect()
}

pub(super) fn introduction(transcript: &Path) -> Introduction {
    let Some(session) = transcript::stored_session(transcript) else { return Introduction::default() };
    Introduction {
        session: Some(session.id),
        folder: session.folder,
        is_subagent: session.is_subagent,
        ..Introduction::default()
    }
}
