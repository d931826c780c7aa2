//! How a job on a node gets the next Python stage of its session, so that its kernel lives on. After a stage the node *offers*
//! to go on; the engine takes the offer by changing its name, and so does the node when it has waited for long enough.
//! One of the two renames succeeds, so that neither waits for the other for ever.
//!
//! Without a shared folder an object takes the place of both names: whoever makes it first has decided what follows. The engine
//! forgets the objects of an attempt only when that is settled, so that a node whose claim is gone knows that nothing follows.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use files::{Links, atomic_file, regular_file};

use crate::exchange::{ExchangeStore, object_name};
use crate::job_file::{CLAIM, JobReference};
use crate::stage_execution::names_in;

const OFFERED: &str = "session-offered";
const TAKEN: &str = "session-taken";
const OVER: &str = "session-over";
const NEXT: &str = "session-next.json";
/// The object: the token of the attempt that follows, or null.
const FOLLOWS: &str = "session-follows.json";

/// So long a node keeps its kernel for a stage that has not come yet; later the checkpoint brings the session back.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(100);
/// The same for objects, each of which is a request.
const LOOK_FOR_OBJECT: Duration = Duration::from_millis(500);

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

/// As [`wait`], for an object: the token of what follows.
pub(crate) fn wait_by(store: &dyn ExchangeStore, token: &str, interrupt: &AtomicBool) -> Option<String> {
    let (began, own) = (Instant::now(), object_name(token, ""));
    while !interrupt.load(Ordering::SeqCst) {
        if let Ok(objects) = store.list(&own) {
            let has = |name: &str| objects.iter().any(|object| object.name == object_name(token, name));
            if has(FOLLOWS) {
                return decided(store, token);
            }
            if !has(CLAIM) {
                return None;
            }
        }
        if began.elapsed() > PATIENCE && settle(store, token, None) {
            return None;
        }
        if began.elapsed() > 2 * PATIENCE {
            return None;
        }
        std::thread::sleep(LOOK_FOR_OBJECT);
    }
    None
}

/// As [`hand_over`], by an object.
pub(crate) fn hand_over_by(store: &dyn ExchangeStore, token: &str, next: &str) -> bool {
    settle(store, token, Some(next))
}

/// Whether this is what was decided. If the answer to a first try was lost, what is there may be this one.
fn settle(store: &dyn ExchangeStore, token: &str, next: Option<&str>) -> bool {
    let Ok(bytes) = serde_json::to_vec(&next) else { return false };
    match store.put_new(&object_name(token, FOLLOWS), &bytes) {
        Ok(true) => true,
        Ok(false) => decided(store, token).as_deref() == next,
        Err(_) => false,
    }
}

fn decided(store: &dyn ExchangeStore, token: &str) -> Option<String> {
    let bytes = store.get(&object_name(token, FOLLOWS)).ok()??;
    serde_json::from_slice(&bytes).ok()?
}
