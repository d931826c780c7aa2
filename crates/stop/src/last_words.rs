//! The turn as the client wrote it down. Some write the last lines after they have called us (T21): up to 150 ms later, and one that waits
//! for the disk at every line as late as a slow disk makes it.

use std::path::Path;
use std::time::{Duration, Instant};

use agents::host;
use journal::UnjudgedTurns;
use transcript::{Options, Reading, TurnStart};

use crate::client_event::ClientEvent;

/// Most turns are smaller, and a window that is not needed costs time.
const FIRST_WINDOW: u64 = 256 * 1024;

/// A file that has not grown for so long is as whole as it will be.
const FLUSH_LIMIT: Duration = Duration::from_secs(1);
/// And one that grows on and on is not waited for any longer.
const LONGEST_FLUSH: Duration = Duration::from_secs(3);
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
    let Some(path) = &event.payload.transcript else { return transcript::read_bytes(&[], &options) };
    let reading = transcript::read(path, &options);
    // The lines of another host, known or not, can look like this one's, and like a turn in which nothing was done (L16).
    let is_empty = reading.calls.is_empty() && reading.coverage.records > 0;
    match is_empty.then(|| transcript::writer(path)) {
        Some(writer) if writer != options.agent => {
            transcript::read(path, &Options { agent: writer, ..options })
        }
        _ => reading,
    }
}

/// Whether the agent's last words, which the payload tells, are written already, or that its client calls us now. Without
/// them, calls may be missing too.
pub(crate) fn are_there(event: &ClientEvent, reading: &Reading) -> bool {
    let payload = &event.payload;
    payload.transcript_is_complete(reading.last_assistant.as_deref())
        && payload.stop_is_recorded(reading.stop_asked_at)
}

/// Whether they can still come: the other clients have written everything when they call us.
pub(crate) fn may_come(event: &ClientEvent, reading: &Reading) -> bool {
    let is_late = host(event.payload.agent).can.writes_late && event.payload.transcript.is_some();
    is_late && !are_there(event, reading)
}

/// Waits until the last words are written, in short, bounded steps, as long as something is being written, and then goes on with what
/// is there.
pub(crate) fn wait(event: &ClientEvent, span: Option<&UnjudgedTurns>) -> Reading {
    let path = event.payload.transcript.as_deref();
    // Before the reading: what is written during it must be seen as new.
    let mut length = path.and_then(size);
    let mut reading = read(event, span);
    let began = Instant::now();
    let mut deadline = began + FLUSH_LIMIT;
    while !are_there(event, &reading) && Instant::now() < deadline {
        std::thread::sleep(FLUSH_POLL);
        let now = path.and_then(size);
        if now != length {
            length = now;
            deadline = (Instant::now() + FLUSH_LIMIT).min(began + LONGEST_FLUSH);
            reading = read(event, span);
        }
    }
    reading
}

fn size(path: &Path) -> Option<u64> {
    fs_err::metadata(path).ok().map(|metadata| metadata.len())
}
