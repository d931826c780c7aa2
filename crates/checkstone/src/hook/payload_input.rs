//! The payload from stdin: until its end, or until it is a whole JSON document where a client keeps the pipe open
//! (H10). Bounded in size and in time.

use std::io::Read as _;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

const LARGEST: usize = 64 * 1024 * 1024;

/// A client that has not written its payload by then will not.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) fn read() -> Vec<u8> {
    let mut stdin = std::io::stdin().lock();
    let mut bytes = Vec::with_capacity(4 * 1024);
    // Payloads are small, and fresh memory costs time before git can start.
    let mut chunk = [0; 4 * 1024];
    let deadline = Instant::now() + PATIENCE;
    while bytes.len() < LARGEST {
        let left = deadline.saturating_duration_since(Instant::now());
        let wait = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: i64::from(left.subsec_nanos()) };
        // What was written may be all there is, though the pipe stays open.
        let ready = {
            let mut descriptors = [PollFd::new(&stdin, PollFlags::IN)];
            poll(&mut descriptors, Some(&wait)).unwrap_or(0) > 0
        };
        if !ready || left.is_zero() {
            break;
        }
        match stdin.read(&mut chunk) {
            Ok(0) | Err(_) => break,
            Ok(length) => bytes.extend_from_slice(chunk.get(..length).unwrap_or_default()),
        }
        let ends = bytes.trim_ascii_end().last() == Some(&b'}');
        if ends && serde_json::from_slice::<serde::de::IgnoredAny>(&bytes).is_ok() {
            break;
        }
    }
    bytes
}
