//! Where Copilot CLI keeps its transcripts: each session has a folder.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::transcripts::{Introduction, first_line, folders_of, spelled};

/// The folder of all sessions.
const SESSIONS: &str = "session-state";

/// The events of a session.
const EVENTS: &str = "events.jsonl";

pub(super) fn of_session(home: &Path, session: &str) -> Option<PathBuf> {
    let is_name = session.chars().all(|character| character.is_ascii_alphanumeric() || character == '-');
    let file = home.join(SESSIONS).join(session).join(EVENTS);
    (is_name && !session.is_empty() && file.is_file()).then_some(file)
}

/// The folder is named after the session, whoever else writes into it.
pub(super) fn session_of_path(transcript: &Path) -> Option<&str> {
    let folder = transcript.parent().filter(|_| transcript.ends_with(EVENTS))?;
    folder.file_name()?.to_str().filter(|_| folder.parent().is_some_and(|all| all.ends_with(SESSIONS)))
}

/// `session-state/<session>/events.jsonl`.
pub(super) fn all(home: &Path) -> Vec<PathBuf> {
    let sessions = folders_of(&home.join(SESSIONS)).into_iter();
    sessions.map(|session| session.join(EVENTS)).filter(|file| file.is_file() && !file.is_symlink()).collect()
}

/// The first event of a session tells where it began.
pub(super) fn introduction(transcript: &Path) -> Introduction {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Start {
        session_id: Option<String>,
        context: Option<Context>,
    }
    #[derive(Deserialize)]
    struct Context {
        cwd: Option<PathBuf>,
    }
    #[derive(Deserialize)]
    struct FirstEvent {
        data: Start,
    }
    let first = first_line(transcript).and_then(|line| serde_json::from_slice::<FirstEvent>(&line).ok());
    let Some(FirstEvent { data: Start { session_id, context } }) = first else {
        return Introduction::default();
    };
    let folder = context.and_then(|context| context.cwd).map(spelled);
    Introduction { session: session_id, folder, ..Introduction::default() }
}
