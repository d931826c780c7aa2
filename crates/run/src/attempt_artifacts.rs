//! The folder of an attempt's artifacts, on its way to its published place. If another engine may take the run over, a folder is
//! published only under a name with the token of the engine that does it. Whoever takes over changes that name first, so that an
//! engine that was paused and wakes up finds nothing to publish: the file system itself refuses its rename.
//!
//! - `artifacts` is what the stage writes into.
//! - `taken-TOKEN-INODE` is the same folder in the hands of the engine with that token. After an exchange with the published
//!   folder this name has another inode: then it is what was published before.
//! - A file called `artifacts` keeps an attempt that has none yet from ever making any.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use checkpoint::layout::Layout;
use files::{FileError, regular_file};
use rustix::io::Errno;

use crate::publish;

pub(crate) const ARTIFACTS: &str = "artifacts";
/// What an attempt has taken the place of.
pub(crate) const REPLACED: &str = "replaced";
const TAKEN: &str = "taken-";

/// Where the artifacts of an attempt are, for whoever only reads them.
pub(crate) fn find(attempt: &Path) -> PathBuf {
    let artifacts = attempt.join(ARTIFACTS);
    if inode(&artifacts).is_some() {
        return artifacts;
    }
    let mut taken = taken_folders(attempt).into_iter().filter(TakenFolder::is_own);
    taken.next().map_or(artifacts, |taken| taken.path)
}

/// Takes the artifacts of an attempt from whoever has them. None if there are none: not yet, or they are published.
pub(crate) fn take(attempt: &Path, token: u64) -> Result<Option<PathBuf>, FileError> {
    loop {
        let artifacts = attempt.join(ARTIFACTS);
        if let Some(inode) = inode(&artifacts) {
            let own = attempt.join(name(token, inode));
            if is_renamed(&artifacts, &own)? {
                return Ok(Some(own));
            }
            continue;
        }
        let Some(taken) = taken_folders(attempt).into_iter().next() else { return Ok(None) };
        if !taken.is_own() {
            // Published, and its engine did not live to put this away.
            is_renamed(&taken.path, &attempt.join(REPLACED))?;
            continue;
        }
        let own = attempt.join(name(token, taken.inode));
        if own == taken.path || is_renamed(&taken.path, &own)? {
            return Ok(Some(own));
        }
    }
}

/// After this no engine with an older token publishes the attempt. What it has made so far is left to be read.
pub(crate) fn fence(root: &Path, attempt: &Path, token: u64) -> Result<(), publish::PublishError> {
    publish::make_folder(root, attempt)?;
    loop {
        if take(attempt, token)?.is_some() {
            return Ok(());
        }
        let artifacts = attempt.join(ARTIFACTS);
        match regular_file::append_to_new(&artifacts, 0o644).map_err(io::Error::from) {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if inode(&artifacts).is_none() {
                    return Ok(());
                }
            }
            Err(error) => return Err(FileError::failed("make", &artifacts)(error).into()),
        }
    }
}

/// All attempts that have a folder, by stage and number.
pub(crate) fn numbers(layout: &Layout) -> Vec<(String, u32)> {
    let inner = |folder: &Path| {
        let entries = fs_err::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect::<Vec<String>>()
    };
    let attempts = layout.attempts();
    let mut found = Vec::new();
    for stage in inner(&attempts) {
        let numbers = inner(&attempts.join(&stage)).into_iter().filter_map(|name| name.parse().ok());
        found.extend(numbers.map(|number| (stage.clone(), number)));
    }
    found
}

fn name(token: u64, inode: u64) -> String {
    format!("{TAKEN}{token}-{inode}")
}

struct TakenFolder {
    path: PathBuf,
    /// By its name.
    inode: u64,
}

impl TakenFolder {
    /// What the attempt made, and not what it took the place of.
    fn is_own(&self) -> bool {
        inode(&self.path) == Some(self.inode)
    }
}

fn taken_folders(attempt: &Path) -> Vec<TakenFolder> {
    let entries = fs_err::read_dir(attempt).into_iter().flatten().flatten();
    let taken = entries.filter_map(|entry| {
        let name = entry.file_name();
        let (_, inode) = name.to_str()?.strip_prefix(TAKEN)?.split_once('-')?;
        Some(TakenFolder { path: entry.path(), inode: inode.parse().ok()? })
    });
    taken.collect()
}

/// Of a folder; none if there is none.
fn inode(path: &Path) -> Option<u64> {
    path.symlink_metadata().ok().filter(std::fs::Metadata::is_dir).map(|metadata| metadata.ino())
}

/// False if somebody else was faster.
fn is_renamed(from: &Path, to: &Path) -> Result<bool, FileError> {
    match rustix::fs::rename(from, to) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(FileError::failed("rename", from)(error.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let (attempt, published) = (folder.path().join("1"), folder.path().join("S01_do_work"));
        fs_err::create_dir_all(attempt.join(ARTIFACTS)).unwrap();
        fs_err::write(attempt.join("artifacts/out"), "made").unwrap();
        (folder, attempt, published)
    }

    fn content(folder: &Path) -> Option<String> {
        fs_err::read_to_string(folder.join("out")).ok()
    }

    #[test]
    fn what_was_taken_over_cannot_be_published_by_the_engine_that_had_it() {
        let (root, attempt, published) = attempt();
        let old = take(&attempt, 1).unwrap().unwrap();
        fence(root.path(), &attempt, 2).unwrap();
        assert!(publish::put_in_place(root.path(), &old, &published).is_err());
        assert_eq!((content(&published), content(&find(&attempt))), (None, Some("made".to_owned())));
        // Also if there is something to take the place of.
        fs_err::create_dir(&published).unwrap();
        fs_err::write(published.join("out"), "of the next one").unwrap();
        assert!(publish::put_in_place(root.path(), &old, &published).is_err());
        assert_eq!(content(&published).as_deref(), Some("of the next one"));
        // Nor may it begin anew.
        assert_eq!(take(&attempt, 2).unwrap(), Some(find(&attempt)));
    }

    #[test]
    fn an_attempt_that_made_nothing_yet_never_does() {
        let (root, _, _) = attempt();
        let next = root.path().join("2");
        fence(root.path(), &next, 2).unwrap();
        fence(root.path(), &next, 3).unwrap();
        assert!(publish::make_new_folder(root.path(), &next).is_err());
        assert!(publish::make_new_folder(root.path(), &next.join(ARTIFACTS)).is_err());
        assert_eq!(take(&next, 1).unwrap(), None);
    }

    #[test]
    fn what_an_engine_had_published_when_it_was_lost_is_not_taken_for_the_attempt_s() {
        let (root, attempt, published) = attempt();
        fs_err::create_dir(&published).unwrap();
        fs_err::write(published.join("out"), "before").unwrap();
        let old = take(&attempt, 1).unwrap().unwrap();
        // It is lost right after the exchange.
        let exchange = rustix::fs::RenameFlags::EXCHANGE;
        rustix::fs::renameat_with(rustix::fs::CWD, &old, rustix::fs::CWD, &published, exchange).unwrap();
        assert_eq!(take(&attempt, 2).unwrap(), None);
        assert_eq!(content(&published).as_deref(), Some("made"));
        assert_eq!(content(&attempt.join(REPLACED)).as_deref(), Some("before"));
        drop(root);
    }
}
