//! An open folder, through which everything in it is reached by name: no symbolic link is ever followed, whoever puts one there
//! and when.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use crate::{FileError, regular_file};

/// Held open: whatever happens to its path, names are looked up in this very folder. A name is one name; with a slash in
/// it, it is refused.
#[derive(Debug)]
pub struct Folder {
    file: File,
    path: PathBuf,
}

const LOOK: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW);

impl Folder {
    /// The outermost folder: links on the way to it are the caller's own.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY;
        match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(file) => Ok(Self { file: file.into(), path: path.to_owned() }),
            Err(Errno::NOENT) => Err(FileError::NotFound { path: path.to_owned() }),
            Err(Errno::NOTDIR) => Err(FileError::NotAFolder { path: path.to_owned() }),
            Err(error) => Err(FileError::new("open", path.to_owned(), error)),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn as_file(&self) -> &File {
        &self.file
    }

    fn at(&self, name: &OsStr) -> PathBuf {
        self.path.join(name)
    }

    fn open_at(&self, name: &OsStr, flags: OFlags, mode: u32) -> Result<OwnedFd, Errno> {
        if !is_one_name(name) {
            return Err(Errno::INVAL);
        }
        rustix::fs::openat(&self.file, name, flags | OFlags::CLOEXEC, machine::mode(mode))
    }

    pub fn folder(&self, name: impl AsRef<OsStr>) -> Result<Self, FileError> {
        let name = name.as_ref();
        let path = self.at(name);
        match self.open_at(name, LOOK | OFlags::DIRECTORY, 0) {
            Ok(file) => Ok(Self { file: file.into(), path }),
            Err(Errno::NOENT) => Err(FileError::NotFound { path }),
            // With DIRECTORY a link is reported as something that is no folder.
            Err(Errno::LOOP | Errno::NOTDIR) if self.is_link(name) => Err(FileError::SymbolicLink { path }),
            Err(Errno::NOTDIR) => Err(FileError::NotAFolder { path }),
            Err(error) => Err(FileError::new("open", path, error)),
        }
    }

    /// A folder further down, by names with `/` between them.
    pub fn below(self, path: &str) -> Result<Self, FileError> {
        path.split('/').filter(|name| !name.is_empty()).try_fold(self, |above, name| above.folder(name))
    }

    /// A folder in this one, made if it is missing.
    pub fn folder_made(&self, name: impl AsRef<OsStr>) -> Result<Self, FileError> {
        let name = name.as_ref();
        match self.folder(name) {
            Err(error) if error.is_not_found() => match self.make_folder(name) {
                Ok(()) => self.folder(name),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.folder(name),
                Err(error) => Err(error),
            },
            opened => opened,
        }
    }

    /// A new folder; nothing of the name may be there.
    pub fn new_folder(&self, name: impl AsRef<OsStr>) -> Result<Self, FileError> {
        let name = name.as_ref();
        self.make_folder(name)?;
        self.folder(name)
    }

    fn make_folder(&self, name: &OsStr) -> Result<(), FileError> {
        rustix::fs::mkdirat(&self.file, name, Mode::from_raw_mode(0o777))
            .map_err(|error| FileError::new("create the folder", self.at(name), error))
    }

    /// A regular file, for reading.
    pub fn file(&self, name: impl AsRef<OsStr>) -> Result<File, FileError> {
        let name = name.as_ref();
        // Without NONBLOCK a named pipe would wait for a writer.
        regular_file::checked(self.open_at(name, LOOK | OFlags::NONBLOCK, 0), &self.at(name), true)
    }

    /// The whole content of a regular file; an error if it is larger than `limit` bytes.
    pub fn read(&self, name: impl AsRef<OsStr>, limit: u64) -> Result<Vec<u8>, FileError> {
        let name = name.as_ref();
        regular_file::read_opened(&self.file(name)?, &self.at(name), limit)
    }

    /// A regular file in a folder of this one, in one step if the machine can do that without following a link. `None`
    /// says nothing: [`Folder::folder`] and [`Folder::file`] say what is wrong.
    pub fn file_in(&self, folder: &str, name: &str) -> Option<File> {
        if !is_one_name(OsStr::new(folder)) || !is_one_name(OsStr::new(name)) {
            return None;
        }
        let flags = LOOK | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = machine::open_below(&self.file, &Path::new(folder).join(name), flags).ok()?;
        let stat = rustix::fs::fstat(&file).ok()?;
        FileType::from_raw_mode(stat.st_mode).is_file().then_some(file)
    }

    /// A new file, for reading and writing; nothing of the name may be there.
    pub fn new_file(&self, name: impl AsRef<OsStr>, mode: u32) -> Result<File, FileError> {
        let name = name.as_ref();
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        match self.open_at(name, flags, mode) {
            Ok(file) => Ok(file.into()),
            Err(error) => Err(FileError::new("create", self.at(name), error)),
        }
    }

    /// A file that is only ever locked, made if it is missing.
    pub(crate) fn lock_file(&self, name: &OsStr) -> Result<File, FileError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        regular_file::checked(self.open_at(name, flags, 0o666), &self.at(name), true)
    }

    /// What is known of an entry, a link itself for one; `None` if there is none.
    pub fn stat(&self, name: impl AsRef<OsStr>) -> Result<Option<Stat>, FileError> {
        let name = name.as_ref();
        match rustix::fs::statat(&self.file, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(FileError::new("inspect", self.at(name), error)),
        }
    }

    /// Moves one entry, over a file that may be there.
    pub fn rename(
        &self,
        name: impl AsRef<OsStr>,
        to: &Self,
        new: impl AsRef<OsStr>,
    ) -> Result<(), FileError> {
        let new = new.as_ref();
        rustix::fs::renameat(&self.file, name.as_ref(), &to.file, new)
            .map_err(|error| FileError::new("move a file to", to.at(new), error))
    }

    /// Moves one entry; nothing of the new name may be there.
    pub fn rename_new(
        &self,
        name: impl AsRef<OsStr>,
        to: &Self,
        new: impl AsRef<OsStr>,
    ) -> Result<(), FileError> {
        let (name, new) = (name.as_ref(), new.as_ref());
        let renamed = match rustix::fs::renameat_with(&self.file, name, &to.file, new, RenameFlags::NOREPLACE)
        {
            // A file system that cannot promise it.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => self.move_by_link(name, to, new),
            renamed => renamed,
        };
        renamed.map_err(|error| FileError::new("move a file to", to.at(new), error))
    }

    /// A second name is given only where there is none. A folder can have no second one, and replaces only an empty folder.
    fn move_by_link(&self, name: &OsStr, to: &Self, new: &OsStr) -> Result<(), Errno> {
        match rustix::fs::linkat(&self.file, name, &to.file, new, AtFlags::empty()) {
            Ok(()) => rustix::fs::unlinkat(&self.file, name, AtFlags::empty()),
            Err(Errno::EXIST) => Err(Errno::EXIST),
            Err(_) => rustix::fs::renameat(&self.file, name, &to.file, new),
        }
    }

    pub fn remove_file(&self, name: impl AsRef<OsStr>) -> Result<(), FileError> {
        let name = name.as_ref();
        rustix::fs::unlinkat(&self.file, name, AtFlags::empty())
            .map_err(|error| FileError::new("remove", self.at(name), error))
    }

    pub fn remove_empty_folder(&self, name: impl AsRef<OsStr>) -> Result<(), FileError> {
        let name = name.as_ref();
        rustix::fs::unlinkat(&self.file, name, AtFlags::REMOVEDIR)
            .map_err(|error| FileError::new("remove the folder", self.at(name), error))
    }

    /// Removes a file or a folder with all that is in it; a link is removed, never followed. What somebody else removes
    /// meanwhile is removed.
    pub fn remove_all(&self, name: impl AsRef<OsStr>) -> Result<(), FileError> {
        let name = name.as_ref();
        let removed = match self.folder(name) {
            Ok(folder) => {
                for (inner, _) in folder.first_entries(usize::MAX)? {
                    folder.remove_all(&inner)?;
                }
                self.remove_empty_folder(name)
            }
            Err(FileError::NotAFolder { .. } | FileError::SymbolicLink { .. }) => self.remove_file(name),
            Err(error) => Err(error),
        };
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    /// As [`Folder::remove_all`], for what is ours alone: a folder in it that was made read-only is made writable first. If
    /// something cannot be removed all the same, the rest is, and the first error is returned.
    pub fn remove_own(&self, name: impl AsRef<OsStr>) -> Result<(), FileError> {
        let name = name.as_ref();
        let writable = self.let_owner_write(name);
        let removed = match self.folder(name) {
            Ok(folder) => {
                let mut removed = Ok(());
                for (inner, _) in folder.first_entries(usize::MAX)? {
                    removed = removed.and(folder.remove_own(&inner));
                }
                removed.and_then(|()| self.remove_empty_folder(name))
            }
            Err(FileError::NotAFolder { .. } | FileError::SymbolicLink { .. }) => self.remove_file(name),
            Err(error) => writable.and(Err(error)),
        };
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    /// If the entry is a folder, its owner may list it and write into it from now on. What is changed is what was opened:
    /// somebody may put a link in its place at any moment.
    pub fn let_owner_write(&self, name: impl AsRef<OsStr>) -> Result<(), FileError> {
        let name = name.as_ref();
        let opened = match self.open_at(name, LOOK | OFlags::DIRECTORY, 0) {
            Ok(folder) => open_to_owner(&folder),
            Err(Errno::ACCESS) => machine::open_to_owner(&self.file, name),
            Err(error) => Err(error),
        };
        match opened {
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(()),
            Err(error) => Err(FileError::new("make writable the folder", self.at(name), error)),
        }
    }

    /// Its owner may write into this folder until the answer is dropped, which gives it its mode back.
    pub fn writable_meanwhile(&self) -> Result<WritableMeanwhile<'_>, FileError> {
        let failed = FileError::failed("make writable the folder", &self.path);
        let before = self.file.metadata().map_err(&failed)?.permissions();
        let writable = Permissions::from_mode(before.mode() | 0o700);
        self.file.set_permissions(writable).map_err(&failed)?;
        Ok(WritableMeanwhile { folder: self, before })
    }

    fn first_entries(&self, most: usize) -> Result<Vec<(OsString, FileType)>, FileError> {
        let failed = |error: Errno| FileError::new("read the folder", self.path.clone(), error);
        let mut found = Vec::new();
        for entry in Dir::read_from(&self.file).map_err(failed)? {
            if found.len() == most {
                break;
            }
            let entry = entry.map_err(failed)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                found.push((name.to_owned(), self.file_type(name, entry.file_type())));
            }
        }
        Ok(found)
    }

    /// The names in it, and what they are; names that are no text are left out.
    pub fn entries(&self) -> Result<Vec<(String, FileType)>, FileError> {
        self.entries_up_to(usize::MAX)
    }

    /// As [`Folder::entries`], of so many at most: a folder may hold millions.
    pub fn entries_up_to(&self, most: usize) -> Result<Vec<(String, FileType)>, FileError> {
        let entries = self.first_entries(most)?.into_iter();
        Ok(entries.filter_map(|(name, kind)| Some((name.into_string().ok()?, kind))).collect())
    }

    /// Folders that do not begin with a dot, in no order.
    pub fn visible_folders(&self) -> Result<Vec<String>, FileError> {
        let entries = self.entries()?.into_iter();
        Ok(entries
            .filter(|(name, kind)| kind.is_dir() && !name.starts_with('.'))
            .map(|(name, _)| name)
            .collect())
    }

    fn file_type(&self, name: &OsStr, told: FileType) -> FileType {
        if told != FileType::Unknown {
            return told;
        }
        let stat = self.stat(name).ok().flatten();
        stat.map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
    }

    fn is_link(&self, name: &OsStr) -> bool {
        self.file_type(name, FileType::Unknown).is_symlink()
    }

    /// Flushes the names in it.
    pub fn sync(&self) -> Result<(), FileError> {
        self.file.sync_all().map_err(FileError::failed("flush the folder", &self.path))
    }
}

fn open_to_owner(folder: &OwnedFd) -> Result<(), Errno> {
    let mode = Mode::from_raw_mode(rustix::fs::fstat(folder)?.st_mode);
    if mode.contains(Mode::RWXU) { Ok(()) } else { rustix::fs::fchmod(folder, mode | Mode::RWXU) }
}

/// A folder that somebody made read-only, and that is writable as long as this is held.
#[derive(Debug)]
pub struct WritableMeanwhile<'a> {
    folder: &'a Folder,
    before: Permissions,
}

impl Drop for WritableMeanwhile<'_> {
    fn drop(&mut self) {
        // If that fails, it stays writable for its owner, which loses nothing.
        let _ = self.folder.file.set_permissions(self.before.clone());
    }
}

/// Flushes the names in a folder: what was made, renamed or removed there survives a power cut.
pub fn sync_directory(path: &Path) -> Result<(), FileError> {
    Folder::open(path)?.sync()
}

fn is_one_name(name: &OsStr) -> bool {
    !name.as_bytes().contains(&b'/') && name != "." && name != ".."
}
