//! Programs by name, in folders that the user chose.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The first program of this name in the folders of `path`, the value of a `PATH`. Relative and empty entries do not
/// count: they mean the folder in which one happens to be, and so a program of the repository's choice.
pub fn find_program(name: &OsStr, path: &OsStr) -> Option<PathBuf> {
    if name.is_empty() || Path::new(name).file_name() != Some(name) {
        return None;
    }
    let is_program = |path: &PathBuf| {
        let metadata = path.metadata();
        metadata.is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(is_program)
}
