//! What a stage writes, kept on disk as it comes and bounded: the head in the file itself, the newest part in files beside
//! it, named by where they begin, of which the two newest stay. When the stage is over they become one file, with a
//! line between head and tail that says how much is missing. Every byte that was read is with the kernel before the next
//! is read, so nothing of it is lost when the supervisor is killed; [`join`] makes the one file then.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use fs_err::os::unix::fs::OpenOptionsExt;
use fs_err::{File, OpenOptions};

use super::ending::OutputKept;

/// No link is followed: what lies in a repository may have been put there to lead elsewhere.
const NO_LINK: i32 = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();

#[derive(Debug)]
pub(super) struct Keeper {
    path: PathBuf,
    /// How many bytes of head, and how many of tail.
    half: u64,
    head: File,
    tail: Option<Tail>,
    total: u64,
    /// After the first error nothing more is written; the stage goes on.
    trouble: Option<String>,
}

#[derive(Debug)]
struct Tail {
    newest: File,
    begins: u64,
    previous: Option<u64>,
}

impl Keeper {
    pub(super) fn new(path: &Path, kept: u64) -> io::Result<Self> {
        for part in parts(path)? {
            fs_err::remove_file(part.path)?;
        }
        let head =
            OpenOptions::new().create(true).truncate(true).write(true).custom_flags(NO_LINK).open(path)?;
        Ok(Self { path: path.to_owned(), half: (kept / 2).max(1), head, tail: None, total: 0, trouble: None })
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    pub(super) fn keep(&mut self, bytes: &[u8]) {
        let before = self.total;
        self.total += bytes.len() as u64;
        if self.trouble.is_none()
            && let Err(error) = self.write(before, bytes)
        {
            self.trouble = Some(error.to_string());
        }
    }

    fn write(&mut self, before: u64, bytes: &[u8]) -> io::Result<()> {
        let of_head =
            usize::try_from(self.half.saturating_sub(before)).unwrap_or(usize::MAX).min(bytes.len());
        let (of_head, rest) = bytes.split_at_checked(of_head).unwrap_or((bytes, &[]));
        if !of_head.is_empty() {
            self.head.write_all(of_head)?;
        }
        if rest.is_empty() {
            return Ok(());
        }
        // Of more than a whole tail at once, only its end can ever be wanted.
        let skipped = rest.len().saturating_sub(usize::try_from(self.half).unwrap_or(usize::MAX));
        let wanted = rest.get(skipped..).unwrap_or_default();
        let begins = self.total - wanted.len() as u64;
        self.tail_at(begins, skipped > 0)?.write_all(wanted)
    }

    /// The file for what begins here: the newest one, or a new one where that is full.
    fn tail_at(&mut self, begins: u64, after_gap: bool) -> io::Result<&mut File> {
        let full = self.tail.as_ref().is_none_or(|tail| begins - tail.begins >= self.half) || after_gap;
        if full {
            let newest = File::create(part_path(&self.path, begins))?;
            let previous = self.tail.take();
            if let Some(older) = previous.as_ref().and_then(|previous| previous.previous) {
                fs_err::remove_file(part_path(&self.path, older))?;
            }
            let previous = previous.map(|previous| previous.begins);
            self.tail = Some(Tail { newest, begins, previous });
        }
        match &mut self.tail {
            Some(tail) => Ok(&mut tail.newest),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Makes the one file.
    pub(super) fn finish(mut self) -> OutputKept {
        let mut left_out = 0;
        if self.tail.take().is_some() {
            match join(&self.path, self.half * 2) {
                Ok(missing) => left_out = missing,
                Err(error) => self.trouble = self.trouble.or(Some(error.to_string())),
            }
        }
        OutputKept { path: self.path, total: self.total, left_out, trouble: self.trouble }
    }
}

/// A file beside the head, and the place in the whole output where it begins.
struct Part {
    begins: u64,
    path: PathBuf,
}

const PART: &str = ".from-";

fn part_path(path: &Path, begins: u64) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!("{PART}{begins}"));
    name.into()
}

/// The files beside the head, oldest first.
fn parts(path: &Path) -> io::Result<Vec<Part>> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Ok(Vec::new());
    };
    let mut parts = Vec::new();
    for entry in fs_err::read_dir(folder)? {
        let entry = entry?;
        let begins = entry
            .file_name()
            .to_str()
            .and_then(|other| other.strip_prefix(name)?.strip_prefix(PART)?.parse().ok());
        parts.extend(begins.map(|begins| Part { begins, path: entry.path() }));
    }
    parts.sort_by_key(|part| part.begins);
    Ok(parts)
}

/// Puts head and tail into one file, and takes the parts away; returns how many bytes between them are missing.
pub(super) fn join(path: &Path, kept: u64) -> io::Result<u64> {
    let parts = parts(path)?;
    let (Some(oldest), Some(newest)) = (parts.first(), parts.last()) else { return Ok(0) };
    let half = (kept / 2).max(1);
    let mut head = OpenOptions::new().read(true).write(true).custom_flags(NO_LINK).open(path)?;
    let head_length = head.seek(SeekFrom::End(0))?.min(half);
    head.seek(SeekFrom::Start(head_length))?;
    let total = newest.begins + fs_err::metadata(&newest.path)?.len();
    let tail_begins = total.saturating_sub(half).max(oldest.begins);
    // What a part has lost to an error, or to a kill between two files, is missing as well.
    let missing = tail_begins - head_length.min(tail_begins);
    if missing > 0 {
        write!(head, "\n[checkstone: {missing} bytes are left out here]\n")?;
    }
    for part in &parts {
        let mut file = OpenOptions::new().read(true).custom_flags(NO_LINK).open(&part.path)?;
        file.seek(SeekFrom::Start(tail_begins.saturating_sub(part.begins)))?;
        io::copy(&mut Read::take(file, half), &mut head)?;
    }
    let end = head.stream_position()?;
    head.set_len(end)?;
    for part in &parts {
        fs_err::remove_file(&part.path)?;
    }
    Ok(missing)
}
