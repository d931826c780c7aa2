//! Raw bytes: a transcript file that may be appended to while it is read, or bytes already in memory.
//!
//! The length is taken once. What is appended later belongs to the next reading, and a file that shrinks
//! meanwhile ends the reading early. No memory map: a shrinking file would kill the process.

use std::fs::File;
use std::io;
use std::path::Path;
use std::rc::Rc;

use rustix::fs::{Mode, OFlags};

use crate::database::{self, SessionLines};
use crate::unreadable::Unreadable;

pub(crate) enum Source<'a> {
    File {
        file: File,
        len: u64,
    },
    Bytes(&'a [u8]),
    /// A session in a database.
    Database {
        lines: Rc<SessionLines>,
        len: u64,
    },
}

impl Source<'_> {
    /// Opens a regular file. A named pipe or a device is refused without waiting on it; a symbolic link is
    /// followed, since people keep their client's folder elsewhere.
    pub(crate) fn open(path: &Path) -> Result<Source<'static>, Unreadable> {
        let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())
            .map(File::from);
        let file = match file {
            Ok(file) => file,
            // Something in a file: a session in a database.
            Err(rustix::io::Errno::NOTDIR) => {
                let place = path.parent().zip(path.file_name().and_then(|name| name.to_str()));
                let (database, session) = place.ok_or(Unreadable::NotRegular)?;
                return database::source(database, Some(session));
            }
            Err(error) => return Err(Unreadable::NotOpened(error.into())),
        };
        let metadata = file.metadata().map_err(Unreadable::NotExamined)?;
        if metadata.is_dir() {
            return Err(Unreadable::Folder);
        }
        if !metadata.is_file() {
            return Err(Unreadable::NotRegular);
        }
        let source = Source::File { file, len: metadata.len() };
        let mut head = Vec::new();
        match source.append_at(&mut head, database::HEAD, 0) {
            Ok(()) if database::is_database(&head) => database::source(path, None),
            _ => Ok(source),
        }
    }

    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::File { len, .. } | Self::Database { len, .. } => *len,
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// The same without what lies at `end` and behind it.
    pub(crate) fn before(&self, end: u64) -> Option<Source<'_>> {
        match self {
            Self::File { file, len } => {
                Some(Source::File { file: file.try_clone().ok()?, len: end.min(*len) })
            }
            Self::Bytes(bytes) => Some(Source::Bytes(bytes.get(..usize::try_from(end).ok()?)?)),
            Self::Database { lines, len } => {
                Some(Source::Database { lines: Rc::clone(lines), len: end.min(*len) })
            }
        }
    }

    /// Appends `length` bytes from `offset` on to `buffer`; an error where the source ends before.
    pub(crate) fn append_at(&self, buffer: &mut Vec<u8>, length: usize, offset: u64) -> io::Result<()> {
        buffer.reserve_exact(length);
        match self {
            Self::Database { lines, .. } => lines.append_at(buffer, length, offset)?,
            Self::Bytes(bytes) => {
                let start = usize::try_from(offset).map_err(|_| io::ErrorKind::UnexpectedEof)?;
                let end = start.checked_add(length).ok_or(io::ErrorKind::UnexpectedEof)?;
                buffer.extend_from_slice(bytes.get(start..end).ok_or(io::ErrorKind::UnexpectedEof)?);
            }
            Self::File { file, .. } => {
                let wanted = buffer.len() + length;
                while buffer.len() < wanted {
                    let at = offset + (length - (wanted - buffer.len())) as u64;
                    // The spare room is as large as what is wanted, and is not filled with zeros first.
                    match rustix::io::pread(file, rustix::buffer::spare_capacity(buffer), at) {
                        Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                        Ok(_) => {}
                        Err(rustix::io::Errno::INTR) => {}
                        Err(error) => return Err(error.into()),
                    }
                    buffer.truncate(wanted);
                }
            }
        }
        Ok(())
    }

    /// How many lines end before `offset`.
    pub(crate) fn count_newlines(&self, offset: u64) -> io::Result<u64> {
        const CHUNK: u64 = 256 * 1024;
        let mut chunk = Vec::new();
        let mut position = 0;
        let mut count = 0;
        while position < offset {
            let wanted = CHUNK.min(offset - position);
            chunk.clear();
            self.append_at(&mut chunk, wanted as usize, position)?;
            count += memchr::memchr_iter(b'\n', &chunk).count() as u64;
            position += wanted;
        }
        Ok(count)
    }
}
