//! An open folder, through which everything in it is reached by name: no symbolic link is ever followed, whoever puts one there
//! and when. All files of checkpoints and all artifacts are opened, made and renamed through this.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, ResolveFlags};
use rustix::io::Errno;

use crate::layout::NameError;

#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("`{}` is not there", path.display())]
    NotFound { path: PathBuf },
    #[error("`{}` is a symbolic link", path.display())]
    SymbolicLink { path: PathBuf },
    #[error("`{}` is not a regular file", path.display())]
    NotAFile { path: PathBuf },
    #[error("`{}` is not a folder", path.display())]
    NotAFolder { path: PathBuf },
    #[error("cannot {doing} `{}`", path.display())]
    Failed { doing: &'static str, path: PathBuf, source: io::Error },
}

impl FolderError {
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }

    pub(crate) fn kind(&self) -> io::ErrorKind {
        match self {
            Self::NotFound { .. } => io::ErrorKind::NotFound,
            Self::Failed { source, .. } => source.kind(),
            _ => io::ErrorKind::InvalidInput,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Folder {
    file: File,
    path: PathBuf,
}

const LOOK: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

impl Folder {
    /// The outermost folder: links on the way to it are the caller's own.
    pub(crate) fn open(path: &Path) -> Result<Self, FolderError> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY;
        match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(file) => Ok(Self { file: file.into(), path: path.to_owned() }),
            Err(Errno::NOENT) => Err(FolderError::NotFound { path: path.to_owned() }),
            Err(Errno::NOTDIR) => Err(FolderError::NotAFolder { path: path.to_owned() }),
            Err(error) => Err(failed("open", path.to_owned(), error)),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn as_file(&self) -> &File {
        &self.file
    }

    fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(crate) fn folder(&self, name: &str) -> Result<Self, FolderError> {
        let path = self.at(name);
        match rustix::fs::openat(&self.file, name, LOOK | OFlags::DIRECTORY, Mode::empty()) {
            Ok(file) => Ok(Self { file: file.into(), path }),
            Err(Errno::NOENT) => Err(FolderError::NotFound { path }),
            // With DIRECTORY a link is reported as something that is no folder.
            Err(Errno::LOOP | Errno::NOTDIR) if self.is_link(name) => Err(FolderError::SymbolicLink { path }),
            Err(Errno::NOTDIR) => Err(FolderError::NotAFolder { path }),
            Err(error) => Err(failed("open", path, error)),
        }
    }

    /// The folder, made where it is missing.
    pub(crate) fn folder_made(&self, name: &str) -> Result<Self, FolderError> {
        match self.folder(name) {
            Err(error) if error.is_not_found() => {
                match rustix::fs::mkdirat(&self.file, name, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => self.folder(name),
                    Err(error) => Err(failed("create the folder", self.at(name), error)),
                }
            }
            opened => opened,
        }
    }

    /// A new folder; nothing of the name may be there.
    pub(crate) fn new_folder(&self, name: &str) -> Result<Self, FolderError> {
        rustix::fs::mkdirat(&self.file, name, Mode::from_raw_mode(0o777))
            .map_err(|error| failed("create the folder", self.at(name), error))?;
        self.folder(name)
    }

    /// A regular file, for reading.
    pub(crate) fn file(&self, name: &str) -> Result<File, FolderError> {
        let path = self.at(name);
        // Without NONBLOCK a named pipe would wait for a writer.
        match rustix::fs::openat(&self.file, name, LOOK | OFlags::NONBLOCK, Mode::empty()) {
            Ok(file) => {
                let file = File::from(file);
                let metadata = file.metadata().map_err(|source| FolderError::Failed {
                    doing: "look at",
                    path: path.clone(),
                    source,
                })?;
                if metadata.is_file() { Ok(file) } else { Err(FolderError::NotAFile { path }) }
            }
            Err(Errno::NOENT) => Err(FolderError::NotFound { path }),
            Err(Errno::LOOP) => Err(FolderError::SymbolicLink { path }),
            Err(Errno::NXIO) => Err(FolderError::NotAFile { path }),
            Err(Errno::NOTDIR) => Err(FolderError::NotAFolder { path: self.path.clone() }),
            Err(error) => Err(failed("open", path, error)),
        }
    }

    /// A regular file in a folder of this one, in one step where the machine can do that without following a link. `None`
    /// says nothing: [`Folder::folder`] and [`Folder::file`] tell what is wrong.
    pub(crate) fn file_in(&self, folder: &str, name: &str) -> Option<File> {
        let inside = |part: &str| !part.contains('/') && part != "." && part != "..";
        if !inside(folder) || !inside(name) {
            return None;
        }
        let flags = LOOK | OFlags::NONBLOCK;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let path = format!("{folder}/{name}");
        let file = rustix::fs::openat2(&self.file, path, flags, Mode::empty(), resolve).ok()?;
        let stat = rustix::fs::fstat(&file).ok()?;
        FileType::from_raw_mode(stat.st_mode).is_file().then(|| file.into())
    }

    /// A new file, for reading and writing; nothing of the name may be there.
    pub(crate) fn new_file(&self, name: &str, mode: u32) -> Result<File, FolderError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        match rustix::fs::openat(&self.file, name, flags, Mode::from_raw_mode(mode)) {
            Ok(file) => Ok(file.into()),
            Err(error) => Err(failed("create", self.at(name), error)),
        }
    }

    /// A file that is only ever locked.
    pub(crate) fn lock_file(&self, name: &str) -> Result<File, FolderError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        match rustix::fs::openat(&self.file, name, flags, Mode::from_raw_mode(0o666)) {
            Ok(file) => Ok(file.into()),
            Err(Errno::LOOP) => Err(FolderError::SymbolicLink { path: self.at(name) }),
            Err(error) => Err(failed("open the lock file", self.at(name), error)),
        }
    }

    /// Moves one entry, over a file that may be there.
    pub(crate) fn rename(&self, name: &str, to: &Self, new: &str) -> Result<(), FolderError> {
        rustix::fs::renameat(&self.file, name, &to.file, new)
            .map_err(|error| failed("move a file to", to.at(new), error))
    }

    /// Moves one entry; nothing of the new name may be there.
    pub(crate) fn rename_new(&self, name: &str, to: &Self, new: &str) -> Result<(), FolderError> {
        match rustix::fs::renameat_with(&self.file, name, &to.file, new, RenameFlags::NOREPLACE) {
            // A file system that cannot promise it. Names of ours are unique, and a folder replaces only an empty one.
            Err(Errno::INVAL | Errno::NOSYS) => self.rename(name, to, new),
            Err(error) => Err(failed("move a file to", to.at(new), error)),
            Ok(()) => Ok(()),
        }
    }

    pub(crate) fn remove_file(&self, name: &str) -> Result<(), FolderError> {
        rustix::fs::unlinkat(&self.file, name, AtFlags::empty())
            .map_err(|error| failed("remove", self.at(name), error))
    }

    pub(crate) fn remove_empty_folder(&self, name: &str) -> Result<(), FolderError> {
        rustix::fs::unlinkat(&self.file, name, AtFlags::REMOVEDIR)
            .map_err(|error| failed("remove the folder", self.at(name), error))
    }

    /// Removes a file or a folder with all that is in it; a link is removed, never followed. What somebody else removes
    /// meanwhile is removed.
    pub(crate) fn remove_all(&self, name: &str) -> Result<(), FolderError> {
        let removed = match self.folder(name) {
            Ok(folder) => {
                for (inner, _) in folder.entries()? {
                    folder.remove_all(&inner)?;
                }
                self.remove_empty_folder(name)
            }
            Err(FolderError::NotAFolder { .. } | FolderError::SymbolicLink { .. }) => self.remove_file(name),
            Err(error) => Err(error),
        };
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    /// The names in it, and what they are; names that are no text are left out.
    pub(crate) fn entries(&self) -> Result<Vec<(String, FileType)>, FolderError> {
        let failed = |error: Errno| failed("read the folder", self.path.clone(), error);
        let mut found = Vec::new();
        for entry in Dir::read_from(&self.file).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            match entry.file_name().to_str() {
                Ok("." | "..") | Err(_) => {}
                Ok(name) => found.push((name.to_owned(), self.file_type(name, entry.file_type()))),
            }
        }
        Ok(found)
    }

    /// Folders that do not begin with a dot, in no order.
    pub(crate) fn visible_folders(&self) -> Result<Vec<String>, FolderError> {
        let entries = self.entries()?.into_iter();
        Ok(entries
            .filter(|(name, kind)| kind.is_dir() && !name.starts_with('.'))
            .map(|(name, _)| name)
            .collect())
    }

    fn file_type(&self, name: &str, told: FileType) -> FileType {
        if told != FileType::Unknown {
            return told;
        }
        let looked = rustix::fs::statat(&self.file, name, AtFlags::SYMLINK_NOFOLLOW);
        looked.map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
    }

    fn is_link(&self, name: &str) -> bool {
        self.file_type(name, FileType::Unknown).is_symlink()
    }

    pub(crate) fn sync(&self) -> Result<(), FolderError> {
        self.file.sync_all().map_err(|source| FolderError::Failed {
            doing: "flush",
            path: self.path.clone(),
            source,
        })
    }
}

fn failed(doing: &'static str, path: PathBuf, error: Errno) -> FolderError {
    FolderError::Failed { doing, path, source: error.into() }
}
