//! The end of what an attempt printed, where the cause of a failure mostly stands.

use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use supervise::marker::Marker;
use text::{shortened, without_colours};

use crate::fingerprint;

/// A line that is longer says nothing at a glance.
const LONGEST_LINE: usize = 160;
const LOOKED_AT: u64 = 4096;

/// The last line that says something and is no marker.
pub fn last_line(path: &Path) -> Option<String> {
    let (text, _) = end_of(path, LOOKED_AT).ok()?;
    let line =
        text.lines().rev().map(str::trim).find(|line| !line.is_empty() && Marker::parse(line).is_none())?;
    Some(shortened(line, LONGEST_LINE))
}

/// The last whole lines of a file, of at most so many bytes, without colours, and how much is before them.
pub fn end_of(path: &Path, most: u64) -> io::Result<(String, u64)> {
    let mut file = fingerprint::open_regular(path)?;
    let size = file.metadata()?.len();
    let from = size.saturating_sub(most);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    let cut = if from == 0 { 0 } else { memchr::memchr(b'\n', &bytes).map_or(0, |at| at + 1) };
    let shown = bytes.get(cut..).unwrap_or_default();
    Ok((without_colours(&String::from_utf8_lossy(shown)).into_owned(), from + cut as u64))
}
