//! The folder that `reports/` lies in: that of the repository around a folder, or the folder itself where there is none.

use std::path::{Path, PathBuf};

pub(crate) fn of(folder: &Path) -> PathBuf {
    let repository = folder.ancestors().find(|ancestor| ancestor.join(".git").symlink_metadata().is_ok());
    repository.unwrap_or(folder).to_owned()
}
