//! The directory that everything here lives in. Which one it is, the caller says.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Makes the directory and its missing parents, for this user only; an existing one stays as it is.
pub(crate) fn create(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)
}
