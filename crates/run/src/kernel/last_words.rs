//! What a kernel printed and could not send any more, because it was killed: the end of it lies in files that the kernel
//! maps into its memory (`prepare.py`). What arrived is counted, by characters; the rest is what is missing.

use std::path::{Path, PathBuf};

use super::channels::Incoming;
use super::outputs::Stream;
use crate::json::text;

/// Bytes written and characters written, before the ring itself.
const HEAD: usize = 16;

#[derive(Debug)]
pub(super) struct LastWords {
    folder: PathBuf,
    arrived: [(Stream, u64); 2],
}

impl LastWords {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), arrived: [(Stream::Stdout, 0), (Stream::Stderr, 0)] }
    }

    /// Counts what a message brought.
    pub(super) fn count(&mut self, message: &Incoming) {
        if message.kind != "stream" {
            return;
        }
        for (stream, arrived) in &mut self.arrived {
            if stream.name() == text(&message.content, "name") {
                *arrived += text(&message.content, "text").chars().count() as u64;
            }
        }
    }

    /// What never arrived, as far as it is there.
    pub(super) fn missing(&self) -> impl Iterator<Item = (Stream, String)> + '_ {
        self.arrived.iter().filter_map(|(stream, arrived)| {
            let ring = fs_err::read(self.folder.join(format!("{}.ring", stream.name()))).ok()?;
            Some((*stream, rest(&ring, *arrived)?))
        })
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
