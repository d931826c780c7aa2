//! Regular files, and nothing else in their place: a named pipe would wait for somebody who writes, a device has no end,
//! and a link may lead anywhere. Whatever is there, opening never waits.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::FileError;

/// What to do about a symbolic link at the path. Links among the folders that lead there are followed either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// For files that a person may keep elsewhere.
    Follow,
    /// For files in places that others can write.
    Refuse,
}

pub fn open(path: &Path, links: Links) -> Result<File, FileError> {
    opened(path, OFlags::RDONLY, links, 0)
}

/// Opens a regular file for reading and writing. A link in its place is refused.
pub fn edit(path: &Path) -> Result<File, FileError> {
    opened(path, OFlags::RDWR, Links::Refuse, 0)
}

/// As [`edit`], emptied, and made with `mode` if it is missing.
pub fn rewrite(path: &Path, mode: u32) -> Result<File, FileError> {
    opened(path, OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC, Links::Refuse, mode)
}

/// The whole content of a regular file; an error if it is larger than `limit` bytes.
pub fn read(path: &Path, links: Links, limit: u64) -> Result<Vec<u8>, FileError> {
    read_opened(&open(path, links)?, path, limit)
}

pub(crate) fn read_opened(file: &File, path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(FileError::failed("read", path))?;
    if bytes.len() as u64 > limit {
        return Err(FileError::TooLarge { path: path.to_owned(), limit });
    }
    Ok(bytes)
}

/// Opens a regular file to append to, and to read what is there, made with `mode` if it is missing. A link in its place is refused.
pub fn append(path: &Path, mode: u32) -> Result<File, FileError> {
    opened(path, OFlags::RDWR | OFlags::APPEND | OFlags::CREATE, Links::Refuse, mode)
}

/// As [`append`], for a file that must not be there yet.
pub fn append_to_new(path: &Path, mode: u32) -> Result<File, FileError> {
    opened(path, OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL, Links::Refuse, mode)
}

/// As [`append`], for a file that must be there already.
pub fn append_to_existing(path: &Path) -> Result<File, FileError> {
    opened(path, OFlags::WRONLY | OFlags::APPEND, Links::Refuse, 0)
}

pub(crate) fn opened(path: &Path, flags: OFlags, links: Links, mode: u32) -> Result<File, FileError> {
    let links = if links == Links::Refuse { OFlags::NOFOLLOW } else { OFlags::empty() };
    let flags = flags | links | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let result = rustix::fs::open(path, flags, machine::mode(mode));
    checked(result, path, links == OFlags::NOFOLLOW)
}

/// What an attempt to open a regular file has given.
pub(crate) fn checked(
    result: Result<rustix::fd::OwnedFd, Errno>,
    path: &Path,
    refuses_links: bool,
) -> Result<File, FileError> {
    let path = || path.to_owned();
    match result {
        Ok(file) => {
            let file = File::from(file);
            let failed = |source| FileError::Failed { doing: "inspect", path: path(), source };
            let metadata = file.metadata().map_err(failed)?;
            if metadata.is_file() { Ok(file) } else { Err(FileError::NotAFile { path: path() }) }
        }
        Err(Errno::NOENT) => Err(FileError::NotFound { path: path() }),
        Err(Errno::LOOP) if refuses_links => Err(FileError::SymbolicLink { path: path() }),
        // A pipe that nobody reads, a socket, a device without hardware; and a folder that was to be written.
        Err(Errno::NXIO | Errno::NODEV | Errno::ISDIR) => Err(FileError::NotAFile { path: path() }),
        Err(Errno::NOTDIR) => {
            Err(FileError::NotAFolder { path: path().parent().map(Path::to_owned).unwrap_or_default() })
        }
        Err(errno) => Err(FileError::new("open", path(), errno)),
    }
}
