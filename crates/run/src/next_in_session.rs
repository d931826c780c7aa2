//! How a job on a node gets the next Python stage of its session, so that its kernel lives on. After a stage the node *offers*
//! to go on; the engine takes the offer by changing its name, and so does the node when it has waited for long enough.
//! One of the two renames succeeds, so that neither waits for the other for ever.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use files::{Links, atomic_file, regular_file};

use crate::job_file::JobReference;
use crate::stage_execution::names_in;

const OFFERED: &str = "session-offered";
const TAKEN: &str = "session-taken";
const OVER: &str = "session-over";
const NEXT: &str = "session-next.json";

/// So long a node keeps its kernel for a stage that has not come yet; later the checkpoint brings the session back.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(100);

/// By the node, before it says how its stage ended.
pub(crate) fn offer(folder: &Path) {
    let _ = fs_err::write(folder.join(OFFERED), "");
}

/// By the node: the next stage, or none if the session is over.
pub(crate) fn wait(folder: &Path, interrupt: &AtomicBool) -> Option<JobReference> {
    let began = Instant::now();
    loop {
        let names = names_in(folder);
        let has = |wanted: &str| names.iter().any(|name| name == wanted);
        if has(NEXT) {
            let bytes = regular_file::read(&folder.join(NEXT), Links::Refuse, 1 << 20).ok()?;
            return serde_json::from_slice(&bytes).ok();
        }
        if has(OVER) || interrupt.load(Ordering::SeqCst) {
            return None;
        }
        let is_over = began.elapsed() > PATIENCE && close(folder);
        // Taken, and then nothing came: its engine is gone.
        if is_over || began.elapsed() > 2 * PATIENCE {
            return None;
        }
        std::thread::sleep(LOOK);
    }
}

/// By the engine: hands the next stage to the node. False if the node does not wait any more.
pub(crate) fn hand_over(folder: &Path, next: &JobReference) -> bool {
    let Ok(bytes) = serde_json::to_vec(next) else { return false };
    fs_err::rename(folder.join(OFFERED), folder.join(TAKEN)).is_ok()
        && atomic_file::write(&folder.join(NEXT), &bytes, 0o644).is_ok()
}

/// By either: nothing follows. False if the engine has taken the offer.
pub(crate) fn close(folder: &Path) -> bool {
    fs_err::rename(folder.join(OFFERED), folder.join(OVER)).is_ok()
}
