//! The directory that everything here lives in. Which one it is, the caller says.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use files::FileError;

/// Makes the directory and its missing parents, for this user only; an existing one stays as it is.
pub(crate) fn create(directory: &Path) -> Result<(), FileError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.map_err(FileError::failed("create", directory))
}
