//! What a kernel put out and could not send any more, because it was killed (`prepare.py`). The end of what it printed lies in
//! files that it maps into its memory; what arrived is counted, by characters, and the rest is what is missing. Pictures
//! and tables are files of their own until they have arrived.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::channels::Incoming;
use super::outputs::Stream;
use crate::json::text;

/// How the names of files with displays end.
const DISPLAY: &str = "display";

/// Bytes written and characters written, before the ring itself.
const HEAD: usize = 16;

/// More than the notebook would take is not looked at.
const LARGEST: u64 = 64 << 20;

#[derive(Deserialize)]
struct Display {
    number: u64,
    #[serde(rename = "type")]
    kind: String,
    content: Value,
}

#[derive(Debug)]
pub(super) struct LastWords {
    folder: PathBuf,
    arrived: [(Stream, u64); 2],
}

impl LastWords {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), arrived: [(Stream::Stdout, 0), (Stream::Stderr, 0)] }
    }

    /// What is about to run has put out nothing yet. An interrupt can come between a file and its message.
    pub(super) fn begin(&self) {
        for (path, _) in self.displays() {
            let _ = fs_err::remove_file(path);
        }
    }

    /// Counts what a message brought.
    pub(super) fn count(&mut self, message: &Incoming) {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        match message.kind.as_str() {
            "stream" => {}
            "display_data" | "execute_result" | "update_display_data" if message.id.bytes().all(is_name) => {
                let _ = fs_err::remove_file(self.folder.join(format!("{}.{DISPLAY}", message.id)));
                return;
            }
            _ => return,
        }
        for (stream, arrived) in &mut self.arrived {
            if stream.name() == text(&message.content, "name") {
                *arrived += text(&message.content, "text").chars().count() as u64;
            }
        }
    }

    /// Displays that never arrived, in their order, with their kinds. The kernel sends its text before each of them.
    pub(super) fn missing_displays(&self) -> impl Iterator<Item = (String, Value)> {
        let mut missing: Vec<Display> = self
            .displays()
            .filter(|(_, length)| *length <= LARGEST)
            .filter_map(|(path, _)| serde_json::from_slice(&fs_err::read(path).ok()?).ok())
            .collect();
        missing.sort_by_key(|display| display.number);
        missing.into_iter().map(|display| (display.kind, display.content))
    }

    fn displays(&self) -> impl Iterator<Item = (PathBuf, u64)> {
        let entries = fs_err::read_dir(&self.folder).into_iter().flatten().flatten();
        let is_display = |path: &PathBuf| path.extension().is_some_and(|extension| extension == DISPLAY);
        entries
            .map(|entry| entry.path())
            .filter(is_display)
            .filter_map(|path| {
                Some((path.symlink_metadata().ok().filter(|found| found.is_file())?.len(), path))
            })
            .map(|(length, path)| (path, length))
    }

    /// What was printed and never arrived, as far as it is there; and where native code crashed, if it did.
    pub(super) fn missing(&self) -> impl Iterator<Item = (Stream, String)> + '_ {
        let printed = self.arrived.iter().filter_map(|(stream, arrived)| {
            let ring = fs_err::read(self.folder.join(format!("{}.ring", stream.name()))).ok()?;
            Some((*stream, rest(&ring, *arrived)?))
        });
        let crash = fs_err::read(self.folder.join("crash")).unwrap_or_default();
        let crash = (!crash.is_empty()).then(|| String::from_utf8_lossy(&crash).into_owned());
        printed.chain(crash.map(|crash| (Stream::Stderr, crash)))
    }
}

/// The text after so many characters.
fn rest(ring: &[u8], arrived: u64) -> Option<String> {
    let (head, ring) = ring.split_at_checked(HEAD)?;
    let number = |bytes: &[u8]| Some(u64::from_le_bytes(bytes.try_into().ok()?));
    let written = usize::try_from(number(head.get(..8)?)?).ok()?;
    let missing = usize::try_from(number(head.get(8..)?)?.saturating_sub(arrived)).ok()?;
    if missing == 0 || ring.is_empty() {
        return None;
    }
    let in_order = if written <= ring.len() {
        ring.get(..written)?.to_vec()
    } else {
        let (newer, older) = ring.split_at(written % ring.len());
        [older, newer].concat()
    };
    let known = String::from_utf8_lossy(&in_order);
    let skipped = known.chars().count().saturating_sub(missing);
    Some(known.chars().skip(skipped).collect())
}

#[cfg(test)]
mod tests {
    use super::rest;

    fn ring(written: u64, characters: u64, content: &[u8]) -> Vec<u8> {
        [&written.to_le_bytes()[..], &characters.to_le_bytes(), content].concat()
    }

    #[test]
    fn only_what_did_not_arrive_is_given() {
        assert_eq!(rest(&ring(5, 5, b"hello\0\0\0"), 2).as_deref(), Some("llo"));
        assert_eq!(rest(&ring(5, 5, b"hello\0\0\0"), 5), None);
        assert_eq!(rest(&ring(0, 0, b"\0\0\0\0"), 0), None);
        assert_eq!(rest(b"short", 0), None);
    }

    #[test]
    fn a_ring_that_went_round_is_put_in_order() {
        assert_eq!(rest(&ring(10, 10, b"ijcdefgh"), 7).as_deref(), Some("hij"));
        assert_eq!(rest(&ring(10, 10, b"ijcdefgh"), 0).as_deref(), Some("cdefghij"));
    }
}
