//! The size of a session's context window, as the client told its status line: nobody else knows it for sure. Kept with
//! the model it was told for.

use journal::{JournalError, Reading, SessionId, Writing};
use serde::{Deserialize, Serialize};

const NAME: &str = "context-window";

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct ToldWindow {
    tokens: u64,
    model: Option<String>,
}

/// What was told for this session, unless it was for another model.
pub fn of_session(
    reader: &Reading<'_>,
    session: SessionId,
    model: Option<&str>,
) -> Result<Option<u64>, JournalError> {
    let told = stored(reader, session)?;
    let fits = |told: &ToldWindow| match (&told.model, model) {
        // The status line names variants, `…[1m]`, which a transcript does not.
        (Some(told), Some(model)) => told.starts_with(model),
        _ => true,
    };
    Ok(told.filter(|told| fits(told) && told.tokens > 0).map(|told| told.tokens))
}

/// Whether this is known already; then nothing has to be written.
pub fn is_known(
    reader: &Reading<'_>,
    session: SessionId,
    tokens: u64,
    model: Option<&str>,
) -> Result<bool, JournalError> {
    Ok(stored(reader, session)? == Some(ToldWindow { tokens, model: model.map(str::to_owned) }))
}

pub fn remember(
    writing: &Writing<'_>,
    session: SessionId,
    tokens: u64,
    model: Option<&str>,
) -> Result<(), JournalError> {
    let told = ToldWindow { tokens, model: model.map(str::to_owned) };
    let bytes = serde_json::to_vec(&told).unwrap_or_default();
    writing.set_value(session, NAME, &bytes)
}

fn stored(reader: &Reading<'_>, session: SessionId) -> Result<Option<ToldWindow>, JournalError> {
    let bytes = reader.value(session, NAME)?;
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}
