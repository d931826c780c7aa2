//! Packs that an import began and did not finish: git removes none of them when it fails or is killed, and `git gc` only
//! after two weeks.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use changes::Repository;

use crate::leftover_file::is_open;

/// What git calls a pack that it is writing.
const BEGUN: &[u8] = b"tmp_pack_";

#[derive(Debug)]
pub(super) struct UnfinishedPacks {
    folder: PathBuf,
    names: BTreeSet<OsString>,
}

pub(super) fn folder(repository: &Repository) -> PathBuf {
    repository.common_dir.join("objects/pack")
}

impl UnfinishedPacks {
    pub(super) fn look(folder: PathBuf) -> Self {
        let names = names(&folder).collect();
        Self { folder, names }
    }

    /// Removes those that came since and that nobody writes: they are of the import that has failed.
    pub(super) fn remove_newer(&self) {
        for name in names(&self.folder).filter(|name| !self.names.contains(name)) {
            remove_abandoned(&self.folder.join(name));
        }
    }
}

fn names(folder: &Path) -> impl Iterator<Item = OsString> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).filter(|name| is_unfinished(name))
}

pub(super) fn is_unfinished(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(BEGUN)
}

/// Removes a file of ours that no process has open. Where that cannot be known, as of other users' processes, it stays.
pub(super) fn remove_abandoned(path: &Path) {
    let user = rustix::process::geteuid().as_raw();
    if path.metadata().is_ok_and(|found| found.uid() != user) {
        return;
    }
    if is_open(path) == Some(false) {
        let _ = fs_err::remove_file(path);
    }
}
