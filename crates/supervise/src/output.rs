//! What a stage writes, kept on disk as it comes and bounded: the head in the file itself, the newest part in a file beside
//! it that is written round and round, since new room in a file costs many times what writing over the old does. When
//! the stage is over they become one file, with a line between head and tail that says how much is missing. Every
//! byte that was read is with the kernel before the next is read, so nothing of it is lost when the supervisor is
//! killed; [`join`] makes the one file then.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use files::{Links, regular_file};
use fs_err::File;

use super::ending::OutputKept;

#[derive(Debug)]
pub(super) struct Keeper {
    path: PathBuf,
    /// How many bytes of head, and how many of tail.
    half: u64,
    head: File,
    tail: Option<File>,
    /// Bytes that came.
    pub(super) total: u64,
    /// Bytes that were written, with our own words on what is missing.
    written: u64,
    /// Bytes since the last that was written, and all of them.
    lost: u64,
    lost_in_all: u64,
    /// The first error. The stage goes on, and so does the writing once there is room.
    trouble: Option<String>,
}

impl Keeper {
    pub(super) fn new(path: &Path, kept: u64) -> io::Result<Self> {
        remove(&tail_path(path))?;
        let head = empty_file(path)?;
        Ok(Self {
            path: path.to_owned(),
            half: half_of(kept),
            head,
            tail: None,
            total: 0,
            written: 0,
            lost: 0,
            lost_in_all: 0,
            trouble: None,
        })
    }

    pub(super) fn keep(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let mut result = self.tell_lost();
        let before = self.written;
        if result.is_ok() {
            result = self.write(bytes);
        }
        if let Err(error) = result {
            let lost = bytes.len() as u64 - (self.written - before);
            self.lost += lost;
            self.lost_in_all += lost;
            self.trouble.get_or_insert(error.to_string());
            // What was written by halves is lost as well, and must not stand behind what is written next.
            let _ = self.head.set_len(self.written.min(self.half));
        }
    }

    /// Says in the output itself what is missing there.
    fn tell_lost(&mut self) -> io::Result<()> {
        if self.lost > 0 {
            let line = format!("\n[checkstone: {} bytes could not be written here]\n", self.lost);
            self.write(line.as_bytes())?;
            self.lost = 0;
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let of_head =
            usize::try_from(self.half.saturating_sub(self.written)).unwrap_or(usize::MAX).min(bytes.len());
        let (of_head, rest) = bytes.split_at_checked(of_head).unwrap_or((bytes, &[]));
        if !of_head.is_empty() {
            self.head.file().write_all_at(of_head, self.written)?;
            self.written += of_head.len() as u64;
        }
        for piece in rest.chunks(PIECE) {
            self.write_tail(self.written, piece)?;
            self.written += piece.len() as u64;
        }
        Ok(())
    }

    fn write_tail(&mut self, begins: u64, piece: &[u8]) -> io::Result<()> {
        let tail = match &mut self.tail {
            Some(tail) => tail,
            none => none.insert(empty_file(&tail_path(&self.path))?),
        };
        let ring = Ring { half: self.half };
        let until_round = usize::try_from(ring.until_round(begins)).unwrap_or(usize::MAX).min(piece.len());
        let (first, second) = piece.split_at_checked(until_round).unwrap_or((piece, &[]));
        let end = begins + piece.len() as u64;
        tail.file().write_all_at(first, ring.place(begins))?;
        if !second.is_empty() {
            tail.file().write_all_at(second, HEADER)?;
        }
        // Last: whoever finds the file after a kill takes what was complete.
        tail.file().write_all_at(&end.to_le_bytes(), 0)
    }

    /// Makes the one file.
    pub(super) fn finish(mut self) -> OutputKept {
        let mut left_out = 0;
        // Where there still is no room, the caller is told.
        let _ = self.tell_lost();
        if self.tail.take().is_some() {
            match join(&self.path, self.half * 2) {
                Ok(missing) => left_out = missing,
                Err(error) => self.trouble = self.trouble.or(Some(error.to_string())),
            }
        }
        let lost = self.lost_in_all;
        let trouble = self.trouble.map(|error| match lost {
            0 => error,
            lost => format!("{error}; {lost} bytes are missing"),
        });
        OutputKept { path: self.path, total: self.total, left_out, trouble }
    }
}

/// What is written to the tail at once.
const PIECE: usize = 256 * 1024;

/// The tail's file begins with the number of bytes that the stage had written when it was last complete.
const HEADER: u64 = 4096;

/// The places of the tail's file. There is room for one piece more than is wanted, so that one that was not completed
/// has damaged nothing.
#[derive(Clone, Copy)]
struct Ring {
    half: u64,
}

impl Ring {
    fn room(self) -> u64 {
        // Whole pages are written faster.
        (self.half + PIECE as u64).next_multiple_of(4096)
    }

    /// Where in the file a byte of the whole output lies, the first after the head at the front.
    fn place(self, position: u64) -> u64 {
        HEADER + position.saturating_sub(self.half) % self.room()
    }

    fn until_round(self, position: u64) -> u64 {
        self.room() - position.saturating_sub(self.half) % self.room()
    }
}

fn half_of(kept: u64) -> u64 {
    (kept / 2).max(1)
}

fn tail_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tail");
    name.into()
}

/// What lies in a repository may have been put there to lead elsewhere, or to keep us waiting.
fn empty_file(path: &Path) -> io::Result<File> {
    Ok(File::from_parts(regular_file::rewrite(path, 0o666)?, path))
}

/// Removes a file that may not be there.
fn remove(path: &Path) -> io::Result<()> {
    match fs_err::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Puts head and tail into one file, and takes the tail's away; returns how many bytes between them are missing.
pub(super) fn join(path: &Path, kept: u64) -> io::Result<u64> {
    let tail_path = tail_path(path);
    let mut tail = match regular_file::open(&tail_path, Links::Refuse) {
        Ok(tail) => File::from_parts(tail, &tail_path),
        Err(error) if error.is_not_found() => return Ok(0),
        Err(error) => return Err(error.into()),
    };
    let half = half_of(kept);
    let ring = Ring { half };
    let mut total = [0; 8];
    let total = match tail.read_exact(&mut total) {
        Ok(()) => u64::from_le_bytes(total),
        // Killed before its first piece was complete.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => 0,
        Err(error) => return Err(error),
    };
    let mut head = File::from_parts(regular_file::edit(path)?, path);
    let head_length = head.seek(SeekFrom::End(0))?.min(half);
    head.seek(SeekFrom::Start(head_length))?;
    let tail_begins = total.saturating_sub(half).max(half);
    let missing = tail_begins.min(total).saturating_sub(head_length);
    if missing > 0 {
        write!(head, "\n[checkstone: {missing} bytes are left out here]\n")?;
    }
    let wanted = total.saturating_sub(tail_begins);
    let first = wanted.min(ring.until_round(tail_begins));
    for (place, length) in [(ring.place(tail_begins), first), (HEADER, wanted - first)] {
        tail.seek(SeekFrom::Start(place))?;
        io::copy(&mut Read::by_ref(&mut tail).take(length), &mut head)?;
    }
    let end = head.stream_position()?;
    head.set_len(end)?;
    remove(&tail_path)?;
    Ok(missing)
}

#[cfg(test)]
mod tests {
    use fs_err::OpenOptions;

    use super::*;

    /// A stage may have put a pipe in the place of what it wrote; whoever looks after a kill does not wait for it.
    #[test]
    fn a_pipe_in_the_place_of_the_output_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output.log");
        let made = std::process::Command::new("mkfifo").arg(tail_path(&path)).status().unwrap();
        assert!(made.success());
        assert_eq!(join(&path, 100).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    fn kept_of(total: usize, kept: u64, piece: usize, ending: fn(Keeper, &Path)) -> (Vec<u8>, Vec<u8>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output.log");
        let written: Vec<u8> = (0..total).map(|number| (number / 251 + number) as u8).collect();
        let mut keeper = Keeper::new(&path, kept).unwrap();
        written.chunks(piece).for_each(|piece| keeper.keep(piece));
        ending(keeper, &path);
        assert!(!tail_path(&path).exists());
        (written, fs_err::read(path).unwrap())
    }

    fn expected(written: &[u8], half: usize) -> Vec<u8> {
        let (head, rest) = written.split_at(half.min(written.len()));
        let missing = rest.len().saturating_sub(half);
        let line = format!("\n[checkstone: {missing} bytes are left out here]\n");
        let line = if missing > 0 { line.into_bytes() } else { Vec::new() };
        [head, &line, &rest[missing..]].concat()
    }

    #[test]
    fn head_and_tail_stay_whatever_the_pieces() {
        for total in [0, 1, 99, 100, 101, 200, 201, 5_000, 300_000, 1_000_000] {
            for piece in [1_usize, 7, 64, 4096, 1 << 20] {
                if piece * 100_000 < total {
                    continue;
                }
                let (written, kept) = kept_of(total, 200, piece, |keeper, _| {
                    keeper.finish();
                });
                assert_eq!(kept, expected(&written, 100), "{total} in pieces of {piece}");
            }
        }
        let (written, kept) = kept_of(9_000_000, 2 << 20, 100_000, |keeper, _| {
            keeper.finish();
        });
        assert_eq!(kept, expected(&written, 1 << 20));
    }

    /// R15: the disk is full for a while.
    #[test]
    fn what_could_not_be_written_is_told_and_the_rest_is_written() {
        for half in [1 << 20, 4] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("output.log");
            let mut keeper = Keeper::new(&path, 2 * half).unwrap();
            keeper.keep(b"one\n");
            let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
            let (head, tail) = (std::mem::replace(&mut keeper.head, full()), keeper.tail.replace(full()));
            keeper.keep(b"two\n");
            keeper.keep(b"three\n");
            (keeper.head, keeper.tail) = (head, tail);
            keeper.keep(b"four\n");
            let kept = keeper.finish();
            assert_eq!(kept.total, 19);
            let trouble = kept.trouble.unwrap();
            assert_eq!(trouble, "No space left on device (os error 28); 10 bytes are missing");
            let log = fs_err::read_to_string(&path).unwrap();
            let told = "\n[checkstone: 10 bytes could not be written here]\n";
            match half {
                4 => assert!(log.starts_with("one\n\n[checkstone: ") && log.ends_with("our\n"), "{log}"),
                _ => assert_eq!(log, format!("one\n{told}four\n")),
            }
        }
    }

    /// R1: the supervisor is killed, in the middle of a piece of the tail.
    #[test]
    fn a_piece_that_was_not_completed_damages_nothing() {
        let (written, kept) = kept_of(3_000_000, 2_000_000, 100_000, |keeper, path| {
            let ring = Ring { half: keeper.half };
            let tail = keeper.tail.as_ref().unwrap();
            let torn = vec![b'!'; PIECE];
            let until = usize::try_from(ring.until_round(keeper.total)).unwrap().min(PIECE);
            let file = OpenOptions::new().write(true).open(tail.path()).unwrap();
            file.file().write_all_at(&torn[..until], ring.place(keeper.total)).unwrap();
            file.file().write_all_at(&torn[until..], HEADER).unwrap();
            drop(keeper);
            join(path, 2_000_000).unwrap();
        });
        assert_eq!(kept, expected(&written, 1_000_000));
    }
}
