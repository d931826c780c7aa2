//! Files of one JSON record a line, to which is only appended. A line that was cut off by a crash is passed over, and
//! the next one begins on a line of its own.

use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use files::{FileError, Links, regular_file};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Whether a record has to be on the disk before the work goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durable {
    Yes,
    No,
}

pub(crate) fn append(path: &Path, records: &[impl Serialize], durable: Durable) -> Result<(), FileError> {
    let append = || -> io::Result<()> {
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
    };
    append().map_err(FileError::failed("append to", path))
}

/// Every record that can be read; none where there is no file.
pub(crate) fn read<Record: DeserializeOwned>(path: &Path) -> Result<Vec<Record>, FileError> {
    let bytes = bytes(path)?;
    Ok(bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect())
}

/// The whole file; nothing where there is none.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, FileError> {
    match regular_file::read(path, Links::Follow, u64::MAX) {
        Err(error) if error.is_not_found() => Ok(Vec::new()),
        read => read,
    }
}

/// The last record that can be read, without reading the whole file.
pub(crate) fn last<Record: DeserializeOwned>(path: &Path) -> Option<Record> {
    const FIRST_WINDOW: u64 = 16 * 1024;
    let mut file = regular_file::open(path, Links::Follow).ok()?;
    let size = file.metadata().ok()?.len();
    let mut window = FIRST_WINDOW;
    loop {
        let start = size.saturating_sub(window);
        file.seek(SeekFrom::Start(start)).ok()?;
        let mut bytes = Vec::with_capacity((size - start) as usize + 1);
        (&mut file).take(window).read_to_end(&mut bytes).ok()?;
        let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        if start > 0 {
            // It may have begun before the window.
            lines.remove(0);
        }
        let record = lines.into_iter().rev().find_map(|line| serde_json::from_slice(line).ok());
        if record.is_some() || start == 0 {
            return record;
        }
        window = window.saturating_mul(8);
    }
}
