//! SHA-256 of bytes and files, and copies that are hashed on their way, with holes kept as holes.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use rustix::fs::SeekFrom;
use sha2::{Digest as _, Sha256};

/// Small enough to stay in the processor's own memory between reading and hashing.
const BUFFER: usize = 128 << 10;

/// 64 lower-case hexadecimal digits.
pub fn of_bytes(bytes: &[u8]) -> String {
    text::hexadecimal(&Sha256::digest(bytes))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hashed {
    pub sha256: String,
    pub bytes: u64,
}

/// The whole file, whatever its position.
pub fn of_file(file: &File) -> io::Result<Hashed> {
    walk(file, |_, _| Ok(()))
}

/// As [`of_file`], for as long as it may go on; an error where it may not.
pub fn of_file_while(file: &File, may_go_on: &dyn Fn() -> bool) -> io::Result<Hashed> {
    walk(file, |_, _| if may_go_on() { Ok(()) } else { Err(io::Error::other("it was interrupted")) })
}

/// Copies the whole file into an empty one. What is hashed is what is written.
pub fn copy(from: &File, to: &File) -> io::Result<Hashed> {
    let hashed = walk(from, |offset, bytes| to.write_all_at(bytes, offset))?;
    // A hole at the end is written by nobody.
    to.set_len(hashed.bytes)?;
    Ok(hashed)
}

/// As [`copy`], by a clone if the file system can make one: it is ours alone, so what is hashed cannot change any more. Answers
/// also whether it had to be copied.
pub fn clone_or_copy(from: &File, to: &File) -> io::Result<(Hashed, bool)> {
    match machine::clone_content(from, to) {
        Ok(()) => Ok((of_file(to)?, false)),
        Err(_) => Ok((copy(from, to)?, true)),
    }
}

/// Reads the file from its beginning to its end; `data` gets what is no hole, with its place, and nothing at all for each
/// part of a hole.
fn walk(file: &File, mut data: impl FnMut(u64, &[u8]) -> io::Result<()>) -> io::Result<Hashed> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; BUFFER];
    let mut offset = 0;
    loop {
        let (hole_end, data_end) = next_data(file, offset)?;
        if hole_end > offset {
            buffer.fill(0);
            while offset < hole_end {
                let length = (hole_end - offset).min(BUFFER as u64);
                let zeros = buffer.get(..usize::try_from(length).unwrap_or(BUFFER)).unwrap_or(&buffer);
                hasher.update(zeros);
                data(offset, &[])?;
                offset += length;
            }
        }
        if data_end <= offset {
            return Ok(Hashed { sha256: text::hexadecimal(&hasher.finalize()), bytes: offset });
        }
        while offset < data_end {
            let length = usize::try_from(data_end - offset).unwrap_or(BUFFER).min(BUFFER);
            let Some(room) = buffer.get_mut(..length) else { break };
            let read = file.read_at(room, offset)?;
            if read == 0 {
                // It became shorter meanwhile: what was there is what is hashed, and the caller sees the new size.
                return Ok(Hashed { sha256: text::hexadecimal(&hasher.finalize()), bytes: offset });
            }
            let bytes = room.get(..read).unwrap_or_default();
            hasher.update(bytes);
            data(offset, bytes)?;
            offset += read as u64;
        }
    }
}

/// Where the hole at `offset` ends, and where the data after it ends; both the file's end where nothing follows.
fn next_data(file: &File, offset: u64) -> io::Result<(u64, u64)> {
    match rustix::fs::seek(file, SeekFrom::Data(offset)) {
        Ok(start) => Ok((start, rustix::fs::seek(file, SeekFrom::Hole(start))?)),
        // No data from here to the end.
        Err(rustix::io::Errno::NXIO) => {
            let end = file.metadata()?.len().max(offset);
            Ok((end, end))
        }
        // A file system that knows no holes: everything is data.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::OPNOTSUPP) => {
            Ok((offset, file.metadata()?.len().max(offset)))
        }
        Err(error) => Err(error.into()),
    }
}
