//! Every file below a folder, for tests of what must not be written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// By path: the bytes, and the time of the last change. A folder's time tells of a file that was made in it and
/// removed again.
pub type Contents = BTreeMap<PathBuf, (Vec<u8>, SystemTime)>;

pub fn contents(folder: &Path) -> Contents {
    let mut found = Contents::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs_err::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs_err::symlink_metadata(&path).unwrap();
            let bytes = if metadata.is_file() { fs_err::read(&path).unwrap() } else { Vec::new() };
            found.insert(path.clone(), (bytes, metadata.modified().unwrap()));
            if metadata.is_dir() {
                folders.push(path);
            }
        }
    }
    found
}
