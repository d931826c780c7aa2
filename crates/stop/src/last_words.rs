//! The turn as the client wrote it down. Claude Code writes its last lines up to 90 ms after it has called us (T21).

use std::path::Path;
use std::time::{Duration, Instant};

use journal::UnjudgedTurns;
use transcript::{Agent, Options, Reading, TurnStart};

use crate::client_event::ClientEvent;

/// Most turns are smaller, and a window that is not needed costs time.
const FIRST_WINDOW: u64 = 256 * 1024;

const FLUSH_LIMIT: Duration = Duration::from_millis(250);
const FLUSH_POLL: Duration = Duration::from_millis(5);

/// The turn as far as it is written, with the calls of the earlier ones of `span`.
pub fn read(event: &ClientEvent, span: Option<&UnjudgedTurns>) -> Reading {
    let since = span.map(|UnjudgedTurns { first, turns }| TurnStart {
        id: first.key.clone(),
        at: first.opened_at,
        turns: *turns,
    });
    let options = gate::reading_options(Some(event.payload.agent));
    let options = Options { first_window: FIRST_WINDOW, since, ..options };
    match &event.payload.transcript {
        Some(path) => transcript::read(path, &options),
        None => transcript::read_bytes(&[], &options),
    }
}

/// Whether the agent's last words, which the payload tells, are written already. Without them, calls may be missing
/// too.
pub(crate) fn are_there(event: &ClientEvent, reading: &Reading) -> bool {
    event.payload.transcript_is_complete(reading.last_assistant.as_deref())
}

/// Whether they can still come: the other clients have written everything when they call us.
pub(crate) fn may_come(event: &ClientEvent, reading: &Reading) -> bool {
    let is_late = event.payload.agent == Agent::Claude && event.payload.transcript.is_some();
    is_late && !are_there(event, reading)
}

/// Waits until the last words are written, in short, bounded steps, and then goes on with what is there.
pub(crate) fn wait(event: &ClientEvent, span: Option<&UnjudgedTurns>) -> Reading {
    let path = event.payload.transcript.as_deref();
    // Before the reading: what is written during it must be seen as new.
    let mut length = path.and_then(size);
    let mut reading = read(event, span);
    let deadline = Instant::now() + FLUSH_LIMIT;
    while !are_there(event, &reading) && Instant::now() < deadline {
        std::thread::sleep(FLUSH_POLL);
        let now = path.and_then(size);
        if now != length {
            length = now;
            reading = read(event, span);
        }
    }
    reading
}

fn size(path: &Path) -> Option<u64> {
    fs_err::metadata(path).ok().map(|metadata| metadata.len())
}
