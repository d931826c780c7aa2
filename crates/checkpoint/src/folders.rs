//! The folders that a run's checkpoints lie in, made where they are missing.

use files::{FileError, Folder};

use crate::layout::{CHECKPOINTS, Layout, REPORTS};

#[derive(Debug)]
pub(super) struct Folders {
    reports: Folder,
    title: Folder,
    pub(super) checkpoints: Folder,
    pub(super) run: Folder,
}

impl Folders {
    pub(super) fn made(root: &Folder, layout: &Layout) -> Result<Self, FileError> {
        let reports = root.folder_made(REPORTS)?;
        let title = reports.folder_made(layout.title())?;
        let checkpoints = title.folder_made(CHECKPOINTS)?;
        let run = checkpoints.folder_made(layout.run())?;
        Ok(Self { reports, title, checkpoints, run })
    }

    /// Flushes the names of all these folders, for file systems that do not do so with what is in them.
    pub(super) fn sync_names(&self, root: &Folder) -> Result<(), FileError> {
        [&self.checkpoints, &self.title, &self.reports, root].into_iter().try_for_each(Folder::sync)
    }
}
