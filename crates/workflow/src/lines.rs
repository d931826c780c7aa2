//! Files of one JSON record a line, to which is only appended. A line that was cut off by a crash is passed over, and
//! the next one begins on a line of its own.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use files::{Links, regular_file};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Whether a record has to be on the disk before the work goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durable {
    Yes,
    No,
}

pub(crate) fn append(path: &Path, records: &[impl Serialize], durable: Durable) -> io::Result<()> {
    let mut bytes = Vec::new();
    for record in records {
        serde_json::to_writer(&mut bytes, record)?;
        bytes.push(b'\n');
    }
    let mut file = regular_file::append(path, 0o666)?;
    if file.metadata()?.len() > 0 {
        file.seek(SeekFrom::End(-1))?;
        let mut last = [0];
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            bytes.insert(0, b'\n');
        }
    }
    file.write_all(&bytes)?;
    if durable == Durable::Yes { file.sync_all() } else { Ok(()) }
}

/// Every record that can be read; none where there is no file.
pub(crate) fn read<Record: DeserializeOwned>(path: &Path) -> io::Result<Vec<Record>> {
    Ok(bytes(path)?
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect())
}

/// The whole file; nothing where there is none.
pub(crate) fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let Some(mut file) = open(path)? else { return Ok(Vec::new()) };
    let mut bytes = Vec::with_capacity(file.metadata()?.len() as usize + 1);
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The last record that can be read, without reading the whole file.
pub(crate) fn last<Record: DeserializeOwned>(path: &Path) -> io::Result<Option<Record>> {
    const FIRST_WINDOW: u64 = 16 * 1024;
    let Some(mut file) = open(path)? else { return Ok(None) };
    let size = file.metadata()?.len();
    let mut window = FIRST_WINDOW;
    loop {
        let start = size.saturating_sub(window);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::with_capacity((size - start) as usize + 1);
        (&mut file).take(window).read_to_end(&mut bytes)?;
        let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        if start > 0 {
            // It may have begun before the window.
            lines.remove(0);
        }
        if let Some(record) = lines.into_iter().rev().find_map(|line| serde_json::from_slice(line).ok()) {
            return Ok(Some(record));
        }
        if start == 0 {
            return Ok(None);
        }
        window = window.saturating_mul(8);
    }
}

/// `None` where there is no such file. The callers' errors name the path.
pub(crate) fn open(path: &Path) -> io::Result<Option<File>> {
    match regular_file::open(path, Links::Follow) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}
