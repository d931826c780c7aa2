//! Why there is nothing to read.

use std::io;

/// Why a transcript cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    #[error("cannot be opened: {0}")]
    NotOpened(io::Error),
    #[error("cannot be examined: {0}")]
    NotExamined(io::Error),
    #[error("it is a folder")]
    Folder,
    #[error("it is not a regular file")]
    NotRegular,
    #[error("the database cannot be read: {0}")]
    Database(String),
    #[error("the transcript is empty")]
    Empty,
    #[error("the content is not a transcript of a known client")]
    UnknownClient,
    #[error("a single document of {0} bytes is too large to load")]
    TooLarge(u64),
    #[error("reading stopped: {0}")]
    Stopped(io::Error),
}
