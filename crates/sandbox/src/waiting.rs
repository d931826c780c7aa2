//! The one place where tests wait and look at the clock. A test waits for an event, never for a time to pass, and
//! asserts what happened and why, never how long it took: on a busy machine everything takes longer.

use std::fmt::Debug;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant, SystemTime};

/// Whatever a test waits for has long happened by then, also on a machine that is busy with other work.
pub const LIMIT: Duration = Duration::from_secs(180);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until the condition holds.
#[track_caller]
pub fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    wait_for_some(what, || condition().then_some(()));
}

/// Waits until there is something, and returns it.
#[track_caller]
pub fn wait_for_some<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited {} s in vain for: {what}", LIMIT.as_secs());
        std::thread::sleep(PAUSE);
    }
}

/// Waits until what is looked at is as expected; at the limit both are shown.
#[track_caller]
pub fn wait_for_equal<T: PartialEq + Debug>(what: &str, expected: &T, mut look: impl FnMut() -> T) {
    let deadline = Instant::now() + LIMIT;
    loop {
        let seen = look();
        if seen == *expected {
            return;
        }
        if Instant::now() >= deadline {
            assert_eq!(seen, *expected, "waited {} s for: {what}", LIMIT.as_secs());
        }
        std::thread::sleep(PAUSE);
    }
}

/// Waits until a file is there.
#[track_caller]
pub fn wait_for_file(path: &Path) {
    wait_for(&format!("`{}` to be there", path.display()), || path.exists());
}

/// The result of something that must come to an end by itself, whatever it is given.
#[track_caller]
pub fn finishes<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    let worker = std::thread::spawn(move || {
        let _ = sender.send(work());
    });
    match receiver.recv_timeout(LIMIT) {
        Ok(result) => result,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("{what}: not finished after {} s", LIMIT.as_secs()),
        Err(mpsc::RecvTimeoutError::Disconnected) => match worker.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => panic!("{what}: no result"),
        },
    }
}

/// The next message, which must come.
#[track_caller]
pub fn receive<T>(what: &str, receiver: &mpsc::Receiver<T>) -> T {
    receiver.recv_timeout(LIMIT).unwrap_or_else(|error| panic!("waited for {what}: {error}"))
}

/// For files that must look old, and for payloads that carry a time.
pub fn now() -> SystemTime {
    SystemTime::now()
}

pub fn ago(time: Duration) -> SystemTime {
    now() - time
}

/// Waits until a file that is written now is clearly younger than all that was written before, by the clock that files
/// have.
#[track_caller]
pub fn let_files_age() {
    let written = || {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().metadata().unwrap().modified().unwrap()
    };
    let before = written();
    wait_for("the clock of the file system", || written() > before + Duration::from_millis(150));
}

/// Where a test is about a limit that is exceeded by time alone.
pub fn let_time_pass(time: Duration) {
    std::thread::sleep(time);
}

/// How long some work takes here and now, so that kills can be spread over it. No reason for an assertion.
pub fn span_of<T>(work: impl FnOnce() -> T) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}

/// Does something, mostly a kill, at a moment of another process that a test has chosen at random.
pub fn at_moment<T>(moment: Duration, deed: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    // The instants of interest may be microseconds apart, which no sleep can tell.
    std::thread::sleep(moment.saturating_sub(PAUSE));
    while began.elapsed() < moment {
        std::hint::spin_loop();
    }
    deed()
}
