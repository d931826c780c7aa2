//! The payload from stdin: until its end, or until it is a whole JSON document where a client keeps the pipe open
//! (H10). Bounded in size and in time.

use std::io::Stdin;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

const LARGEST: usize = 64 * 1024 * 1024;

/// A client that has written nothing for so long will not write more.
const PATIENCE: Duration = Duration::from_secs(2);
/// And one that writes on and on is not waited for any longer.
const LONGEST: Duration = Duration::from_secs(10);
/// Between two pieces of one payload.
const PAUSE: Duration = Duration::from_millis(20);

pub(crate) fn read() -> Vec<u8> {
    let stdin = std::io::stdin();
    let mut bytes = Vec::with_capacity(4 * 1024);
    // Payloads are small, and fresh memory costs time before git can start.
    let mut chunk = [0; 4 * 1024];
    let deadline = Instant::now() + LONGEST;
    let mut looked_at = 0;
    while bytes.len() < LARGEST && Instant::now() < deadline {
        // What was written may be all there is, though the pipe stays open. Looked at again only when there is twice as much or
        // nothing comes, since a large payload comes in thousands of pieces.
        if !is_ready(&stdin, Duration::ZERO) && (bytes.len() >= 2 * looked_at || !is_ready(&stdin, PAUSE)) {
            if is_whole(&bytes) || !is_ready(&stdin, PATIENCE) {
                break;
            }
            looked_at = bytes.len();
        }
        // Past the buffer of the standard library: what lay there, `poll` would not see.
        match rustix::io::read(&stdin, &mut chunk) {
            Ok(0) | Err(_) => break,
            Ok(length) => bytes.extend_from_slice(chunk.get(..length).unwrap_or_default()),
        }
    }
    bytes
}

fn is_ready(stdin: &Stdin, wait: Duration) -> bool {
    let wait = Timespec { tv_sec: wait.as_secs().cast_signed(), tv_nsec: i64::from(wait.subsec_nanos()) };
    poll(&mut [PollFd::new(stdin, PollFlags::IN)], Some(&wait)).unwrap_or(0) > 0
}

fn is_whole(bytes: &[u8]) -> bool {
    let ends = bytes.trim_ascii_end().last() == Some(&b'}');
    ends && serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
}
