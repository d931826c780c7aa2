//! Files that are there whole or not at all, also after a kill or a power cut: a temporary file in the same
//! directory, flushed, renamed over the old one, the directory flushed.
//!
//! - The old file's mode and owner are kept. Other names of it (hard links) keep the old content.
//! - A symbolic link in the file's place is refused: neither followed nor replaced. A caller that means its
//!   target resolves it first. Links among the parent directories are followed, unless the caller opened the folder.
//! - After a failed flush the temporary file is given up and the old one stays. It is never flushed again: the
//!   kernel may have dropped the data and would report success.
//! - A process killed midway leaves at most a temporary file `.NAME.….tmp` behind, which nothing reads.

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Stat};

use crate::{FileError, Folder, TemporaryFile};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Replaced {
    Yes,
    /// The file has other content than expected; it was left alone.
    Changed,
}

/// Replaces or creates the file. `mode` is for a new file; an old one's is kept. If flushing the directory fails, the new
/// content is in place, but a power cut might still bring the old one back.
pub fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<(), FileError> {
    let place = Place::of(path)?;
    write_in(&place.folder, place.name, bytes, mode)
}

/// As [`write`], in a folder that is open already: no link leads elsewhere.
pub fn write_in(folder: &Folder, name: &OsStr, bytes: &[u8], mode: u32) -> Result<(), FileError> {
    let old = examine(folder, name)?;
    prepare(folder, name, bytes, mode, old.as_ref())?.replace(folder, name)?;
    folder.sync()
}

/// Like `write`, but only if the file still has the `expected` content; `None` means that it must not
/// exist. It is compared again right before the rename; a change by someone else in the microseconds between
/// the two is lost, so those who know of each other take a `Lock` around this.
pub fn replace_if_unchanged(
    path: &Path,
    expected: Option<&[u8]>,
    bytes: &[u8],
    mode: u32,
) -> Result<Replaced, FileError> {
    let Place { folder, name } = &Place::of(path)?;
    let old = examine(folder, name)?;
    if !has_content(folder, name, expected)? {
        return Ok(Replaced::Changed);
    }
    let mut temporary = prepare(folder, name, bytes, mode, old.as_ref())?;
    let renamed = match expected {
        None => temporary.place(folder, name),
        Some(_) if has_content(folder, name, expected)? => temporary.replace(folder, name),
        Some(_) => return Ok(Replaced::Changed),
    };
    match renamed {
        Ok(_) => folder.sync().map(|()| Replaced::Yes),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Replaced::Changed),
        Err(error) => Err(error),
    }
}

/// The folder that a path leads to, open, and the last name.
struct Place<'a> {
    folder: Folder,
    name: &'a OsStr,
}

impl<'a> Place<'a> {
    fn of(path: &'a Path) -> Result<Self, FileError> {
        let name = path.file_name().ok_or_else(|| FileError::NotAFile { path: path.to_owned() })?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        Ok(Self { folder: Folder::open(parent.unwrap_or(Path::new(".")))?, name })
    }
}

/// What is in the file's place now; `None` if nothing is.
fn examine(folder: &Folder, name: &OsStr) -> Result<Option<Stat>, FileError> {
    let path = || -> PathBuf { folder.path().join(name) };
    match folder.stat(name)? {
        None => Ok(None),
        Some(stat) => match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(Some(stat)),
            FileType::Symlink => Err(FileError::SymbolicLink { path: path() }),
            _ => Err(FileError::NotAFile { path: path() }),
        },
    }
}

fn has_content(folder: &Folder, name: &OsStr, expected: Option<&[u8]>) -> Result<bool, FileError> {
    let mut file = match folder.file(name) {
        Ok(file) => file,
        Err(error) if error.is_not_found() => return Ok(expected.is_none()),
        Err(error) => return Err(error),
    };
    let mut content = Vec::new();
    let failed = |source| FileError::Failed { doing: "read", path: folder.path().join(name), source };
    file.read_to_end(&mut content).map_err(failed)?;
    Ok(expected == Some(&content))
}

/// The new content in a flushed temporary file.
fn prepare<'a>(
    folder: &'a Folder,
    name: &OsStr,
    bytes: &[u8],
    mode: u32,
    old: Option<&Stat>,
) -> Result<TemporaryFile<'a>, FileError> {
    let failed = |doing| move |source| FileError::Failed { doing, path: folder.path().join(name), source };
    // A person looks for the name that was meant.
    let temporary = TemporaryFile::new(folder, name, mode).map_err(|error| match error {
        FileError::Failed { source, .. } => failed("write")(source),
        other => other,
    })?;
    let mut file = temporary.file();
    if let Some(old) = old {
        keep_owner_and_mode(file, old).map_err(failed("keep the owner and mode of"))?;
    }
    file.write_all(bytes).map_err(failed("write the temporary file for"))?;
    file.sync_all().map_err(failed("flush the temporary file for"))?;
    Ok(temporary)
}

fn keep_owner_and_mode(file: &File, old: &Stat) -> io::Result<()> {
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.st_uid, old.st_gid) {
        // Only root may give files away. For others the new file is theirs, as with any editor.
        let _ = std::os::unix::fs::fchown(file, Some(old.st_uid), Some(old.st_gid));
    }
    file.set_permissions(Permissions::from_mode(machine::mode_bits(old) & 0o7777))
}
