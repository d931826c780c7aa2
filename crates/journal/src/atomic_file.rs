//! Files that are there whole or not at all, also after a kill or a power cut: a temporary file in the same
//! directory, flushed, renamed over the old one, the directory flushed.
//!
//! - The old file's mode and owner are kept. Other names of it (hard links) keep the old content.
//! - A symbolic link in the file's place is refused: neither followed nor replaced. A caller that means its
//!   target resolves it first. Links among the parent directories are followed.
//! - After a failed flush the temporary file is given up and the old one stays. It is never flushed again: the
//!   kernel may have dropped the data and would report success.
//! - A process killed midway leaves at most a temporary file `.NAME.….tmp` behind, which nothing reads.

use std::fs::{File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

#[derive(Debug, thiserror::Error)]
pub enum AtomicFileError {
    #[error("`{}` is a symbolic link", path.display())]
    SymbolicLink { path: PathBuf },
    #[error("`{}` is not a regular file", path.display())]
    NotAFile { path: PathBuf },
    #[error("`{}` has no directory or no name", path.display())]
    NoName { path: PathBuf },
    #[error("cannot read `{}`", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot create a temporary file for `{}`", path.display())]
    CreateTemporary { path: PathBuf, source: io::Error },
    #[error("cannot write the temporary file for `{}`", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot flush the temporary file for `{}`", path.display())]
    Sync { path: PathBuf, source: io::Error },
    #[error("cannot replace `{}`", path.display())]
    Rename { path: PathBuf, source: io::Error },
    /// The new content is in place, but a power cut might still bring the old one back.
    #[error("`{}` is written, but its directory cannot be flushed", path.display())]
    SyncDirectory { path: PathBuf, source: io::Error },
}

/// What `replace_if_unchanged` found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Replaced {
    Yes,
    /// The file has other content than expected; it was left alone.
    Changed,
}

/// Replaces or creates the file. `mode` is for a new file; an old one's is kept.
pub fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<(), AtomicFileError> {
    let old = examine(path)?;
    let temporary = prepare(path, bytes, mode, old.as_ref())?;
    temporary
        .persist(path)
        .map_err(|error| AtomicFileError::Rename { path: path.to_owned(), source: error.error })?;
    sync_directory(path)
}

/// Like `write`, but only where the file still has the `expected` content; `None` means that it must not
/// exist. It is compared again right before the rename; a change by someone else in the microseconds between
/// the two is lost, so those who know of each other take a `Lock` around this.
pub fn replace_if_unchanged(
    path: &Path,
    expected: Option<&[u8]>,
    bytes: &[u8],
    mode: u32,
) -> Result<Replaced, AtomicFileError> {
    let old = examine(path)?;
    if !has_content(path, expected)? {
        return Ok(Replaced::Changed);
    }
    let temporary = prepare(path, bytes, mode, old.as_ref())?;
    let renamed = match expected {
        None => temporary.persist_noclobber(path),
        Some(_) if has_content(path, expected)? => temporary.persist(path),
        Some(_) => return Ok(Replaced::Changed),
    };
    match renamed {
        Ok(_) => sync_directory(path).map(|()| Replaced::Yes),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(Replaced::Changed),
        Err(error) => Err(AtomicFileError::Rename { path: path.to_owned(), source: error.error }),
    }
}

/// What is in the file's place now; `None` where nothing is.
fn examine(path: &Path) -> Result<Option<Metadata>, AtomicFileError> {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_symlink() => Err(AtomicFileError::SymbolicLink { path: path.to_owned() }),
        Ok(metadata) if !metadata.is_file() => Err(AtomicFileError::NotAFile { path: path.to_owned() }),
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(AtomicFileError::Read { path: path.to_owned(), source }),
    }
}

fn has_content(path: &Path, expected: Option<&[u8]>) -> Result<bool, AtomicFileError> {
    match fs_err::read(path) {
        Ok(content) => Ok(expected == Some(&content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(expected.is_none()),
        Err(source) => Err(AtomicFileError::Read { path: path.to_owned(), source }),
    }
}

/// The new content in a flushed temporary file, which is removed where it is not renamed.
fn prepare(
    path: &Path,
    bytes: &[u8],
    mode: u32,
    old: Option<&Metadata>,
) -> Result<NamedTempFile, AtomicFileError> {
    let (directory, name) = parts(path).ok_or_else(|| AtomicFileError::NoName { path: path.to_owned() })?;
    let failed = |source| AtomicFileError::CreateTemporary { path: path.to_owned(), source };
    let mut prefix = std::ffi::OsString::from(".");
    prefix.push(name);
    prefix.push(".");
    let mut temporary = tempfile::Builder::new()
        .prefix(&prefix)
        .suffix(".tmp")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(directory)
        .map_err(failed)?;
    if let Some(old) = old {
        keep_owner_and_mode(temporary.as_file(), old).map_err(failed)?;
    }
    temporary.write_all(bytes).map_err(|source| AtomicFileError::Write { path: path.to_owned(), source })?;
    temporary
        .as_file()
        .sync_all()
        .map_err(|source| AtomicFileError::Sync { path: path.to_owned(), source })?;
    Ok(temporary)
}

fn keep_owner_and_mode(file: &File, old: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        // Only root may give files away. For others the new file is theirs, as with any editor.
        let _ = std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid()));
    }
    file.set_permissions(Permissions::from_mode(old.mode() & 0o7777))
}

fn sync_directory(path: &Path) -> Result<(), AtomicFileError> {
    let Some((directory, _)) = parts(path) else { return Ok(()) };
    fs_err::File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(|source| AtomicFileError::SyncDirectory { path: path.to_owned(), source })
}

fn parts(path: &Path) -> Option<(&Path, &std::ffi::OsStr)> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some((directory, path.file_name()?))
}
