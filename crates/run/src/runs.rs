//! The runs of a project, found by their records: what lies in its `reports` folder is the truth, wherever it was copied from.

use std::path::Path;

use files::Folder;
use jiff::Timestamp;

use checkpoint::layout::{CHECKPOINTS, Layout, REPORTS};

#[derive(Clone, Debug)]
pub struct FoundRun {
    pub layout: Layout,
    /// When its record was last written to.
    pub changed_at: Timestamp,
}

/// All runs below `root`, the one whose record was written to last first.
pub fn all(root: &Path) -> Vec<FoundRun> {
    let mut found = Vec::new();
    for title in folders(&root.join(REPORTS)) {
        for run in folders(&root.join(REPORTS).join(&title).join(CHECKPOINTS)) {
            let Ok(layout) = Layout::new(root, &title, &run) else { continue };
            let Ok(metadata) = layout.events().symlink_metadata() else { continue };
            let modified = metadata.modified().ok().and_then(|time| Timestamp::try_from(time).ok());
            if metadata.is_file() {
                found.push(FoundRun { layout, changed_at: modified.unwrap_or(Timestamp::UNIX_EPOCH) });
            }
        }
    }
    // Of equally old ones the one whose name comes last, so that the answer is always the same.
    let key = |run: &FoundRun| (run.changed_at, run.layout.run().to_owned(), run.layout.title().to_owned());
    found.sort_by_key(|run| std::cmp::Reverse(key(run)));
    found
}

/// The runs that are called `name`, or `title/name`.
pub fn named(root: &Path, name: &str) -> Vec<FoundRun> {
    let (title, run) = match name.split_once('/') {
        Some((title, run)) => (Some(title), run),
        None => (None, name),
    };
    let is_it = |found: &FoundRun| {
        found.layout.run() == run && title.is_none_or(|title| found.layout.title() == title)
    };
    all(root).into_iter().filter(is_it).collect()
}

/// Names of folders that are no links.
fn folders(path: &Path) -> Vec<String> {
    Folder::open(path).and_then(|folder| folder.visible_folders()).unwrap_or_default()
}
