//! Why a file or a folder was not opened, read, made or moved.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("`{}` is not there", path.display())]
    NotFound { path: PathBuf },
    #[error("`{}` is a symbolic link", path.display())]
    SymbolicLink { path: PathBuf },
    #[error("`{}` is not a regular file", path.display())]
    NotAFile { path: PathBuf },
    #[error("`{}` is not a folder", path.display())]
    NotAFolder { path: PathBuf },
    #[error("`{}` is larger than {limit} bytes", path.display())]
    TooLarge { path: PathBuf, limit: u64 },
    /// A name that the caller's own rules for names refuse.
    #[error(transparent)]
    Name(Box<dyn std::error::Error + Send + Sync>),
    #[error("cannot {doing} `{}`", path.display())]
    Failed { doing: &'static str, path: PathBuf, source: io::Error },
}

impl FileError {
    /// For `map_err`: what was being done to which path.
    pub fn failed(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Failed { doing, path: path.to_owned(), source }
    }

    pub(crate) fn new(doing: &'static str, path: PathBuf, errno: Errno) -> Self {
        Self::Failed { doing, path, source: errno.into() }
    }

    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }

    /// The kind that an `io::Error` would have.
    pub fn kind(&self) -> io::ErrorKind {
        match self {
            Self::NotFound { .. } => io::ErrorKind::NotFound,
            Self::Failed { source, .. } => source.kind(),
            Self::TooLarge { .. } => io::ErrorKind::FileTooLarge,
            _ => io::ErrorKind::InvalidInput,
        }
    }
}

/// For callers whose own errors hold an `io::Error`.
impl From<FileError> for io::Error {
    fn from(error: FileError) -> Self {
        Self::new(error.kind(), error)
    }
}
