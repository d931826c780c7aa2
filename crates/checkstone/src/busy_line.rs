//! A line at the terminal that says that work goes on. It comes after a second, and is gone before anything else is printed.

use std::io::{IsTerminal as _, Write as _};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Nobody wonders about less.
const SHOWN_AFTER: Duration = Duration::from_secs(1);
const REDRAWN_AFTER: Duration = Duration::from_millis(250);
const FRAMES: [char; 4] = ['◐', '◓', '◑', '◒'];

/// Goes away when it is dropped.
#[derive(Debug)]
pub(crate) struct BusyLine {
    /// Nothing is ever sent: that it is dropped is the message.
    end: Option<Sender<()>>,
    drawing: Option<JoinHandle<()>>,
}

impl BusyLine {
    /// `None` where nobody watches.
    pub(crate) fn start(what: &str) -> Option<Self> {
        if !std::io::stderr().is_terminal() {
            return None;
        }
        let (end, ended) = mpsc::channel::<()>();
        let (what, began) = (what.to_owned(), Instant::now());
        let drawing = std::thread::spawn(move || {
            let mut wait = SHOWN_AFTER;
            for frame in FRAMES.into_iter().cycle() {
                if ended.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
                wait = REDRAWN_AFTER;
                draw(&format!("{frame} {what}: {} s", began.elapsed().as_secs()));
            }
            if wait == REDRAWN_AFTER {
                draw("");
            }
        });
        Some(Self { end: Some(end), drawing: Some(drawing) })
    }
}

impl Drop for BusyLine {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(drawing) = self.drawing.take() {
            let _ = drawing.join();
        }
    }
}

/// The line anew, from its beginning.
fn draw(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = write!(stderr, "\r{text}\x1b[K").and_then(|()| stderr.flush());
}
