//! Locks that belong to a working tree. They lie beside the journal, so that nothing of the user's is written for them.

use std::path::{Path, PathBuf};

use changes::Repository;
use sha2::{Digest as _, Sha256};

/// The lock for one kind of work in one working tree.
pub fn lock_file(state: &Path, work: &str, repository: &Repository) -> PathBuf {
    let digest = Sha256::digest(repository.git_dir.as_os_str().as_encoded_bytes());
    let name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    state.join(format!("{work}-{name}.lock"))
}
