//! The turn as the client wrote it down. Claude Code writes its last lines up to 90 ms after it has called us (T21).

use std::path::Path;
use std::time::{Duration, Instant};

use transcript::{Agent, Options, Reading};

use crate::hook::Context;

/// Most turns are smaller, and a window that is not needed costs time.
const FIRST_WINDOW: u64 = 256 * 1024;

const FLUSH_LIMIT: Duration = Duration::from_millis(250);
const FLUSH_POLL: Duration = Duration::from_millis(5);

/// The turn as far as it is written.
pub(super) fn read(context: &Context) -> Reading {
    let options =
        Options { agent: Some(context.payload.agent), first_window: FIRST_WINDOW, ..Options::default() };
    match &context.payload.transcript {
        Some(path) => transcript::read(path, &options),
        None => transcript::read_bytes(&[], &options),
    }
}

/// Whether the agent's last words, which the payload tells, are written already. Without them, calls may be missing
/// too.
pub(super) fn are_there(context: &Context, reading: &Reading) -> bool {
    context.payload.transcript_is_complete(reading.last_assistant.as_deref())
}

/// Whether they can still come: the other clients have written everything when they call us.
pub(super) fn may_come(context: &Context, reading: &Reading) -> bool {
    let is_late = context.payload.agent == Agent::Claude && context.payload.transcript.is_some();
    is_late && !are_there(context, reading)
}

/// Waits until the last words are written, in short, bounded steps, and then goes on with what is there.
pub(super) fn wait(context: &Context) -> Reading {
    let path = context.payload.transcript.as_deref();
    // Before the reading: what is written during it must be seen as new.
    let mut length = path.and_then(size);
    let mut reading = read(context);
    let deadline = Instant::now() + FLUSH_LIMIT;
    while !are_there(context, &reading) && Instant::now() < deadline {
        std::thread::sleep(FLUSH_POLL);
        let now = path.and_then(size);
        if now != length {
            length = now;
            reading = read(context);
        }
    }
    reading
}

fn size(path: &Path) -> Option<u64> {
    fs_err::metadata(path).ok().map(|metadata| metadata.len())
}
