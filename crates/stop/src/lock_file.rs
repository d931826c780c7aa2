//! Locks that belong to a working tree. They lie beside the journal, so that nothing of the user's is written for them.

use std::path::{Path, PathBuf};

use changes::Repository;
use sha2::{Digest as _, Sha256};
use text::hexadecimal;

/// The lock for one kind of work in one working tree.
pub fn lock_file(state: &Path, work: &str, repository: &Repository) -> PathBuf {
    let digest = Sha256::digest(repository.git_dir.as_os_str().as_encoded_bytes());
    let name = hexadecimal(digest.get(..8).unwrap_or_default());
    state.join(format!("{work}-{name}.lock"))
}
