//! Raw bytes: a transcript file that may be appended to while it is read, or bytes already in memory.
//!
//! The length is taken once. What is appended later belongs to the next reading, and a file that shrinks
//! meanwhile ends the reading early. No memory map: a shrinking file would kill the process.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

pub(crate) enum Source<'a> {
    File { file: File, len: u64 },
    Bytes(&'a [u8]),
}

impl Source<'_> {
    /// Opens a regular file. A named pipe or a device is refused without waiting on it; a symbolic link is
    /// followed, since people keep their client's folder elsewhere.
    pub(crate) fn open(path: &Path) -> Result<Source<'static>, String> {
        let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())
            .map(File::from)
            .map_err(|error| format!("cannot open `{}`: {}", path.display(), io::Error::from(error)))?;
        let metadata =
            file.metadata().map_err(|error| format!("cannot examine `{}`: {error}", path.display()))?;
        if metadata.is_dir() {
            return Err(format!("`{}` is a folder, not a transcript", path.display()));
        }
        if !metadata.is_file() {
            return Err(format!("`{}` is not a regular file", path.display()));
        }
        Ok(Source::File { file, len: metadata.len() })
    }

    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::File { len, .. } => *len,
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// Fills `buffer` from `offset`; an error where the source ends before it is full.
    pub(crate) fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        match self {
            Self::File { file, .. } => file.read_exact_at(buffer, offset),
            Self::Bytes(bytes) => {
                let start = usize::try_from(offset).map_err(|_| io::ErrorKind::UnexpectedEof)?;
                let end = start.checked_add(buffer.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
                let part = bytes.get(start..end).ok_or(io::ErrorKind::UnexpectedEof)?;
                buffer.copy_from_slice(part);
                Ok(())
            }
        }
    }

    /// How many lines end before `offset`.
    pub(crate) fn count_newlines(&self, offset: u64) -> io::Result<u64> {
        const CHUNK: u64 = 256 * 1024;
        let mut buffer = vec![0; CHUNK.min(offset) as usize];
        let mut position = 0;
        let mut count = 0;
        while position < offset {
            let wanted = CHUNK.min(offset - position) as usize;
            let Some(chunk) = buffer.get_mut(..wanted) else { break };
            self.read_exact_at(chunk, position)?;
            count += memchr::memchr_iter(b'\n', chunk).count() as u64;
            position += wanted as u64;
        }
        Ok(count)
    }
}
