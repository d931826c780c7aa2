//! The artifact store: files that are named by the SHA-256 of their content, shared by all runs of a title. What a
//! checkpoint holds survives here when the artifact itself is overwritten, and is kept once however many checkpoints hold it.
//!
//! - An artifact is cloned where the file system can, and copied otherwise. It is never hard-linked: a program that
//!   changes its file in place would change what was checkpointed.
//! - A file gets its name before it is flushed, since on ext4, xfs and btrfs flushing a new file flushes its name as well,
//!   and a checkpoint of k new artifacts then costs k flushes for them. Elsewhere the folders are flushed too.
//!   So a name alone proves nothing: an object counts as there only where [`KnownFiles`] has seen it flushed.
//! - After a failed flush the file is removed, never flushed again.
//! - Who may not read an artifact may not read its copy either: of several artifacts of one content the most private one says
//!   who may. With which permissions each is restored is in its manifest.
//! - Saving holds the lock shared, and taking files away holds it alone.
//! - With a [`RemoteStore`] behind it, a content that is missing here is fetched from there.

mod known;

use std::collections::HashSet;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use files::{FileError, Folder, Lock, LockError, Sharing, TemporaryFile};
use rustix::fs::Stat;

use crate::hash::{self, Hashed};
use crate::identity::Identity;
use crate::layout::STORE;
use crate::manifest::Artifact;
use crate::read_permissions::ReadPermissions;
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
    #[error("cannot make private the copy of a private artifact, `{sha256}`")]
    Narrow { sha256: String, source: io::Error },
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
    /// Somebody may read it there who may not read the file.
    pub(crate) is_too_open: bool,
}

impl StoredContent {
    /// Of a file that the store has no copy of.
    pub(crate) fn elsewhere(hashed: Hashed) -> Self {
        Self { hashed, new: false, is_copy: false, is_too_open: false }
    }
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

    /// The artifact's content, as far as its name says; from the remote store if it is missing here.
    pub(crate) fn object(&self, artifact: &Artifact) -> Result<File, FileError> {
        match (self.local_object(&artifact.sha256), &self.remote) {
            (Err(error), Some(remote)) if error.is_not_found() => {
                self.fetched(artifact, remote.as_ref(), error)
            }
            (found, _) => found,
        }
    }

    fn local_object(&self, sha256: &str) -> Result<File, FileError> {
        self.folder.folder(prefix(sha256))?.file(sha256)
    }

    fn fetched(
        &self,
        artifact: &Artifact,
        remote: &dyn RemoteStore,
        missing: FileError,
    ) -> Result<File, FileError> {
        let sha256 = &artifact.sha256;
        let failed = FileError::failed("fetch what is missing in", self.folder.path());
        let staging = self.temporary()?;
        let mut temporary = TemporaryFile::new(&staging, "object", 0o600)?;
        let fetched = remote.fetch(&self.title, sha256, temporary.file());
        let Some(fetched) = fetched.map_err(|error| failed(io::Error::other(error)))? else {
            return Err(missing);
        };
        let permissions =
            artifact.permissions.unwrap_or_else(|| ReadPermissions::for_everybody(fetched.is_executable));
        temporary.file().set_permissions(permissions.of_copy()).map_err(&failed)?;
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

    fn object_metadata(&self, sha256: &str) -> Option<Metadata> {
        self.local_object(sha256).ok()?.metadata().ok()
    }

    pub(crate) fn object_identity(&self, sha256: &str) -> Option<Identity> {
        self.object_metadata(sha256).map(|metadata| Identity::new(&metadata))
    }

    /// Whether it was seen flushed, and has not been touched since.
    pub(crate) fn has(&self, sha256: &str, known: &KnownFiles) -> bool {
        self.permissions(sha256, known).is_some()
    }

    /// Of what the store has.
    fn permissions(&self, sha256: &str, known: &KnownFiles) -> Option<ReadPermissions> {
        let identity = known.object(sha256)?;
        let metadata = self.object_metadata(sha256)?;
        (Identity::new(&metadata) == identity).then(|| ReadPermissions::of_metadata(&metadata))
    }

    /// The content of a file with these permissions, where the store has it.
    pub(crate) fn stored(
        &self,
        hashed: &Hashed,
        permissions: ReadPermissions,
        known: &KnownFiles,
    ) -> Option<StoredContent> {
        let of_copy = self.permissions(&hashed.sha256, known)?;
        let is_too_open = !of_copy.is_for_readers_of(permissions);
        Some(StoredContent { hashed: hashed.clone(), new: false, is_copy: false, is_too_open })
    }

    /// Takes the copy away from those who may not read a file of this content. Whether it was known as flushed, and is to be
    /// known again. What another user has put there is theirs, and comes from a file that was theirs to show.
    pub(crate) fn narrow(
        &self,
        sha256: &str,
        permissions: ReadPermissions,
        known: &KnownFiles,
    ) -> Result<bool, StoreError> {
        let _alone = self.commit(WAIT)?;
        let failed = |source| StoreError::Narrow { sha256: sha256.to_owned(), source };
        let object = self.local_object(sha256)?;
        let of_copy = ReadPermissions::of(&object).map_err(failed)?;
        if of_copy.is_for_readers_of(permissions) {
            return Ok(false);
        }
        let is_known = self.has(sha256, known);
        match object.set_permissions(of_copy.for_readers_of(permissions).of_copy()) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(false),
            narrowed => narrowed.map(|()| is_known).map_err(failed),
        }
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
        let permissions = ReadPermissions::of(source).map_err(copying)?;
        if !claimed.lock().is_ok_and(|mut claimed| claimed.insert(hashed.sha256.clone())) {
            // Another thread is putting it there, with the permissions of another file.
            return Ok(StoredContent { hashed, new: false, is_copy: false, is_too_open: true });
        }
        if let Some(stored) = self.stored(&hashed, permissions, known) {
            return Ok(stored);
        }
        temporary.file().set_permissions(permissions.of_copy()).map_err(copying)?;
        self.place(path, &mut temporary, &hashed.sha256)?;
        Ok(StoredContent { hashed, new: true, is_copy, is_too_open: false })
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
                // Nobody narrows the one that is there meanwhile.
                let _alone = self.commit(WAIT)?;
                narrow_as_present(temporary.file(), &folder, sha256).map_err(failed)?;
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

/// Who may not read our own object of this name may not read this one either.
fn narrow_as_present(file: &File, folder: &Folder, name: &str) -> io::Result<()> {
    let present = folder.stat(name).map_err(io::Error::other)?;
    let is_ours = |present: &Stat| present.st_uid == rustix::process::geteuid().as_raw();
    let Some(present) = present.filter(is_ours) else { return Ok(()) };
    let present = ReadPermissions::of_mode(machine::mode_bits(&present));
    file.set_permissions(ReadPermissions::of(file)?.for_readers_of(present).of_copy())
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use serde_json::Map;

    use super::*;
    use crate::remote_store::FetchedFile;

    /// One content, wherever it is asked for.
    #[derive(Debug)]
    struct RemoteFile;

    impl RemoteStore for RemoteFile {
        fn name(&self) -> String {
            "remote".to_owned()
        }

        fn put(&self, _: &str, _: Vec<RemoteContent>) -> Result<(), RemoteError> {
            Ok(())
        }

        fn fetch(&self, _: &str, _: &str, mut to: &File) -> Result<Option<FetchedFile>, RemoteError> {
            io::Write::write_all(&mut to, b"one\n")?;
            Ok(Some(FetchedFile { is_executable: true }))
        }

        fn free(&self, _: &str, _: &dyn Fn(&str) -> bool) -> Result<(), RemoteError> {
            Ok(())
        }
    }

    #[test]
    fn what_is_fetched_may_be_read_by_those_who_could_read_the_artifact() {
        for (permissions, expected) in [(Some(0o640), 0o440), (Some(0o755), 0o555), (None, 0o555)] {
            let folder = tempfile::tempdir().unwrap();
            let remote: Option<Arc<dyn RemoteStore>> = Some(Arc::new(RemoteFile));
            let store = Store { remote, ..Store::made(&Folder::open(folder.path()).unwrap()).unwrap() };
            let artifact = Artifact {
                relative_path: "a".to_owned(),
                sha256: hash::of_bytes(b"one\n"),
                size_bytes: 4,
                permissions: permissions.map(ReadPermissions::of_mode),
                unknown: Map::new(),
            };
            let mode = store.object(&artifact).unwrap().metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, expected);
        }
    }
}
