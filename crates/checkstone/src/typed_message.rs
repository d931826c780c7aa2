//! A hold that is typed into a pane, and the look whether it arrived: clients write a prompt into the transcript when
//! it is submitted.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

use agents::{Pane, Receiver, Tmux, TmuxError};
use text::OWN_PREFIX;

/// A client that has not written the prompt by then did not get it, or is at work and will take it later.
const PATIENCE: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(50);

/// Types the message; whether the client recorded it as a prompt.
pub(crate) fn deliver(
    tmux: &Tmux,
    pane: &Pane,
    receiver: Receiver,
    message: &str,
    transcript: &Path,
) -> Result<bool, TmuxError> {
    let before = length(transcript);
    tmux.deliver(pane, receiver, message)?;
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if has_own_message(transcript, before) {
            return Ok(true);
        }
        std::thread::sleep(POLL);
    }
    Ok(false)
}

fn length(transcript: &Path) -> u64 {
    fs_err::metadata(transcript).map_or(0, |metadata| metadata.len())
}

/// Whether our words are in what was written since.
fn has_own_message(transcript: &Path, before: u64) -> bool {
    let mut text = Vec::new();
    let read = fs_err::File::open(transcript).and_then(|mut file| {
        file.seek(SeekFrom::Start(before))?;
        file.read_to_end(&mut text)
    });
    read.is_ok() && text.windows(OWN_PREFIX.len()).any(|words| words == OWN_PREFIX.as_bytes())
}
