//! What all tests stand on: a hermetic folder with its own home and git, programs that are run to their end and
//! compared whole, and the one place where a test waits or looks at the clock.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod answer;
mod browser;
mod contents;
mod folder;
mod open_browser;
mod page_server;
mod redaction;
mod secret_samples;
pub mod waiting;

pub use answer::{Answer, RunToEnd, finish};
pub use browser::shown_by_browser;
pub use contents::{Contents, contents};
pub use folder::{Sandbox, make_executable, make_pipe};
pub use open_browser::{Brightness, OpenBrowser};
pub use page_server::{PageResponse, PageServer};
pub use redaction::{redacted, without_durations};
pub use secret_samples::{CARRIERS, SecretSample, secret_samples};
pub use waiting::{ago, finishes, now, wait_for, wait_for_equal, wait_for_file, wait_for_some};
