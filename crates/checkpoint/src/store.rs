//! The artifact store: files that are named by the SHA-256 of their content, shared by all runs of a title. What a
//! checkpoint holds survives here when the artifact itself is overwritten, and is kept once however many checkpoints hold it.
//!
//! - An artifact is cloned where the file system can, and copied otherwise. It is never hard-linked: a program that
//!   changes its file in place would change what was checkpointed.
//! - A file gets its name before it is flushed, since on ext4, xfs and btrfs flushing a new file flushes its name as well,
//!   and a checkpoint of k new artifacts then costs k flushes for them. Elsewhere the folders are flushed too.
//!   So a name alone proves nothing: an object counts as there only where [`KnownFiles`] has seen it flushed.
//! - After a failed flush the file is removed, never flushed again.
//! - Saving holds the lock shared, and taking files away holds it alone.
//! - With a [`RemoteStore`] behind it, a content that is missing here is fetched from there.

mod known;

use std::collections::HashSet;
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use files::{FileError, Folder, Lock, LockError, Sharing, TemporaryFile};

use crate::hash::{self, Hashed};
use crate::identity::Identity;
use crate::layout::STORE;
use crate::remote_store::{self, RemoteContent, RemoteError, RemoteStore};

pub(crate) use known::{KnownFiles, LARGE};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(transparent)]
    Folder(#[from] FileError),
    #[error("`{}` has been in use by another process for too long; try again when it is done", path.display())]
    Busy { path: PathBuf },
    #[error(transparent)]
    Lock(LockError),
    #[error("cannot copy `{path}` into the store")]
    Copy { path: String, source: io::Error },
    #[error("cannot flush the copy of `{path}` in the store")]
    Flush { path: String, source: io::Error },
    #[error("cannot keep artifacts in `{name}`")]
    Remote { name: String, source: RemoteError },
}

#[derive(Debug)]
pub(crate) struct Store {
    folder: Folder,
    /// Flushing a new file here flushes its name, and the new folders that it is in.
    pub(crate) names_follow: bool,
    /// The report title, whose contents are kept apart from those of others.
    title: String,
    remote: Option<Arc<dyn RemoteStore>>,
}

/// Nobody holds a lock longer than it takes to copy artifacts or to remove files.
pub(crate) const WAIT: Duration = Duration::from_secs(120);

const TEMPORARY: &str = ".tmp";
const LOCK: &str = "lock";
const COMMIT_LOCK: &str = "commit-lock";

#[derive(Clone, Debug)]
pub(crate) struct StoredContent {
    pub(crate) hashed: Hashed,
    /// It was not there before.
    pub(crate) new: bool,
    /// It takes as much room again: the file system could not clone it.
    pub(crate) is_copy: bool,
}

impl Store {
    /// The store beside the checkpoints, made where it is missing.
    pub(crate) fn made(checkpoints: &Folder) -> Result<Self, FileError> {
        Self::of(checkpoints.folder_made(STORE)?)
    }

    /// The store where there is one.
    pub(crate) fn existing(checkpoints: &Folder) -> Result<Option<Self>, FileError> {
        match checkpoints.folder(STORE) {
            Ok(folder) => Self::of(folder).map(Some),
            Err(error) if error.is_not_found() && remote_store::in_use().is_some() => {
                Self::made(checkpoints).map(Some)
            }
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn of(folder: Folder) -> Result<Self, FileError> {
        let names_follow = machine::names_follow_files(folder.as_file());
        let title = folder.path().parent().and_then(Path::parent).and_then(Path::file_name);
        let title = title.map(|title| title.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self { folder, names_follow, title, remote: remote_store::in_use() })
    }

    /// For what is not yet in its place. Only those who hold the lock may have something in it.
    pub(crate) fn temporary(&self) -> Result<Folder, FileError> {
        self.folder.folder_made(TEMPORARY)
    }

    /// The time as the file system tells it now: that of a file which is made for it, and gone again.
    pub(crate) fn tick(&self) -> Result<Identity, FileError> {
        let temporary = self.temporary()?;
        let tick = TemporaryFile::new(&temporary, "tick", 0o600)?;
        Identity::of(tick.file()).map_err(FileError::failed("inspect a file in", temporary.path()))
    }

    pub(crate) fn known(&self) -> KnownFiles {
        KnownFiles::of(&self.folder)
    }

    pub(crate) fn write_known(&self, known: &KnownFiles) -> Result<(), FileError> {
        known.write(&self.folder, &self.temporary()?)
    }

    /// For those who add: nothing is taken away meanwhile.
    pub(crate) fn share(&self, limit: Duration) -> Result<Lock, StoreError> {
        self.lock(LOCK, Sharing::Shared, limit)
    }

    /// For those who take away: nobody adds meanwhile.
    pub(crate) fn exclude(&self, limit: Duration) -> Result<Lock, StoreError> {
        self.lock(LOCK, Sharing::Alone, limit)
    }

    /// Checkpoints get their numbers one after the other.
    pub(crate) fn commit(&self, limit: Duration) -> Result<Lock, StoreError> {
        self.lock(COMMIT_LOCK, Sharing::Alone, limit)
    }

    fn lock(&self, name: &str, sharing: Sharing, limit: Duration) -> Result<Lock, StoreError> {
        Lock::acquire_in(&self.folder, name, sharing, limit).map_err(|error| match error {
            LockError::Busy { path } => StoreError::Busy { path },
            LockError::Open(error) => StoreError::Folder(error),
            error => StoreError::Lock(error),
        })
    }

    /// The content of that hash, as far as its name says; from the remote store if it is missing here.
    pub(crate) fn object(&self, sha256: &str) -> Result<File, FileError> {
        match (self.local_object(sha256), &self.remote) {
            (Err(error), Some(remote)) if error.is_not_found() => {
                self.fetched(sha256, remote.as_ref(), error)
            }
            (found, _) => found,
        }
    }

    fn local_object(&self, sha256: &str) -> Result<File, FileError> {
        self.folder.folder(prefix(sha256))?.file(sha256)
    }

    fn fetched(&self, sha256: &str, remote: &dyn RemoteStore, missing: FileError) -> Result<File, FileError> {
        let failed = FileError::failed("fetch what is missing in", self.folder.path());
        let staging = self.temporary()?;
        let mut temporary = TemporaryFile::new(&staging, "object", 0o600)?;
        let fetched = remote.fetch(&self.title, sha256, temporary.file());
        let Some(fetched) = fetched.map_err(|error| failed(io::Error::other(error)))? else {
            return Err(missing);
        };
        let mode = if fetched.is_executable { 0o555 } else { 0o444 };
        temporary.file().set_permissions(Permissions::from_mode(mode)).map_err(&failed)?;
        let placed = self.place("what was fetched", &mut temporary, sha256);
        placed.map_err(|error| failed(io::Error::other(error)))?;
        self.local_object(sha256)
    }

    /// Puts contents of this store into the remote one, where there is one, unless they are known to be there.
    pub(crate) fn put_remotely<'s>(
        &self,
        contents: impl Iterator<Item = &'s str>,
        known: &KnownFiles,
    ) -> Result<(), StoreError> {
        let Some(remote) = &self.remote else { return Ok(()) };
        let name = remote.name();
        let mut wanted: Vec<&str> = contents.filter(|sha256| !known.is_remote(sha256, &name)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let content = |sha256: &str| {
            let file = self.local_object(sha256)?;
            let mode = file.metadata().map_err(FileError::failed("inspect", self.folder.path()))?.mode();
            Ok(RemoteContent { sha256: sha256.to_owned(), file, is_executable: mode & 0o111 != 0 })
        };
        // So few are open at a time.
        for some in wanted.chunks(256) {
            let contents =
                some.iter().map(|sha256| content(sha256)).collect::<Result<Vec<_>, FileError>>()?;
            let put = remote.put(&self.title, contents);
            put.map_err(|source| StoreError::Remote { name: name.clone(), source })?;
        }
        Ok(())
    }

    /// Notes what [`Store::put_remotely`] has put.
    pub(crate) fn note_remote(&self, sha256: &str, known: &KnownFiles) {
        // What is only referred to is not in the store.
        if let Some(remote) = self.remote.as_ref().filter(|_| self.local_object(sha256).is_ok()) {
            known.set_remote(sha256, &remote.name());
        }
    }

    /// Whether it was put into the remote store that is in use.
    pub(crate) fn is_remote(&self, sha256: &str, known: &KnownFiles) -> bool {
        self.remote.as_ref().is_some_and(|remote| known.is_remote(sha256, &remote.name()))
    }

    /// Frees what is not wanted in the remote store, where there is one.
    pub(crate) fn free_remotely(&self, is_wanted: &dyn Fn(&str) -> bool) -> Result<(), StoreError> {
        let Some(remote) = &self.remote else { return Ok(()) };
        let freed = remote.free(&self.title, is_wanted);
        freed.map_err(|source| StoreError::Remote { name: remote.name(), source })
    }

    pub(crate) fn object_identity(&self, sha256: &str) -> Option<Identity> {
        Identity::of(&self.local_object(sha256).ok()?).ok()
    }

    /// Whether it was seen flushed, and has not been touched since.
    pub(crate) fn has(&self, sha256: &str, known: &KnownFiles) -> bool {
        known.object(sha256).is_some_and(|identity| self.object_identity(sha256) == Some(identity))
    }

    /// Takes in the content of a file. `claimed` are those that this save has taken in already.
    pub(crate) fn put(
        &self,
        path: &str,
        source: &File,
        known: &KnownFiles,
        claimed: &Mutex<HashSet<String>>,
    ) -> Result<StoredContent, StoreError> {
        let copying = |source| StoreError::Copy { path: path.to_owned(), source };
        let staging = self.temporary()?;
        // Removed unless it gets its place; if that fails, prune finds it.
        let mut temporary = TemporaryFile::new(&staging, "object", 0o600)?;
        let (hashed, is_copy) = hash::clone_or_copy(source, temporary.file()).map_err(copying)?;
        let first = claimed.lock().is_ok_and(|mut claimed| claimed.insert(hashed.sha256.clone()));
        if !first || self.has(&hashed.sha256, known) {
            return Ok(StoredContent { hashed, new: false, is_copy: false });
        }
        // Who may not read the artifact may not read its copy, nor what is brought back from it.
        let mode = source.metadata().map_err(copying)?.mode() & 0o555;
        let permissions = Permissions::from_mode(0o400 | mode);
        temporary.file().set_permissions(permissions).map_err(copying)?;
        self.place(path, &mut temporary, &hashed.sha256)?;
        Ok(StoredContent { hashed, new: true, is_copy })
    }

    /// Gives the file its name, and flushes both.
    fn place(&self, path: &str, temporary: &mut TemporaryFile<'_>, sha256: &str) -> Result<(), StoreError> {
        let failed = |source| StoreError::Flush { path: path.to_owned(), source };
        let folder = self.folder.folder_made(prefix(sha256))?;
        match temporary.place(&folder, sha256) {
            Ok(()) => {}
            // Another save may rely on the one that is there, so it is replaced only by one that is flushed.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                temporary.file().sync_all().map_err(failed)?;
                temporary.replace(&folder, sha256)?;
            }
            Err(error) => return Err(error.into()),
        }
        let flushed = temporary.file().sync_all().map_err(failed).and_then(|()| {
            if !self.names_follow {
                folder.sync()?;
                self.folder.sync()?;
            }
            Ok(())
        });
        if flushed.is_err() {
            let _ = folder.remove_file(sha256);
        }
        flushed
    }

    /// Removes all that `wanted` does not want, and what killed processes left behind. The caller holds the lock alone.
    pub(crate) fn sweep(&self, wanted: impl Fn(&str) -> bool) -> Result<FreedObjects, FileError> {
        let mut swept = FreedObjects::default();
        for prefix in self.folder.visible_folders()? {
            let folder = self.folder.folder(&prefix)?;
            for (name, _) in folder.entries()? {
                if !wanted(&name) {
                    let size = folder.file(&name).ok().and_then(|file| file.metadata().ok());
                    folder.remove_file(&name)?;
                    swept.objects += 1;
                    swept.bytes += size.map_or(0, |metadata| metadata.blocks() * 512);
                }
            }
        }
        // Former versions had all that they knew in one file.
        let _ = self.folder.remove_file("known");
        let temporary = self.temporary()?;
        for (name, _) in temporary.entries()? {
            // What is somebody else's stays, and keeps nobody from freeing the rest: who moved it here has reported it.
            let _ = temporary.remove_own(&name);
        }
        Ok(swept)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FreedObjects {
    pub(crate) objects: usize,
    /// On the disk.
    pub(crate) bytes: u64,
}

/// Where the content of that hash lies.
pub(crate) fn object_path(store: &Path, sha256: &str) -> PathBuf {
    store.join(prefix(sha256)).join(sha256)
}

fn prefix(sha256: &str) -> &str {
    sha256.get(..2).unwrap_or(sha256)
}
