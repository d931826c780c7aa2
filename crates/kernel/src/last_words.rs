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

/// One thing that a kernel put out and that never arrived.
#[derive(Debug, PartialEq)]
pub(super) enum LastWord {
    Text(Stream, String),
    Display { kind: String, content: Value },
}

#[derive(Deserialize)]
struct Display {
    number: u64,
    /// Characters that were printed before it, since the kernel began.
    printed: Printed,
    #[serde(rename = "type")]
    kind: String,
    content: Value,
}

#[derive(Clone, Copy, Deserialize)]
struct Printed {
    stdout: u64,
    stderr: u64,
}

impl Printed {
    fn on(self, stream: Stream) -> u64 {
        match stream {
            Stream::Stdout => self.stdout,
            Stream::Stderr => self.stderr,
        }
    }
}

/// The end of what was printed, as far as it did not arrive.
struct MissingText {
    stream: Stream,
    /// Characters before `text`, since the kernel began.
    before: u64,
    text: String,
}

impl MissingText {
    /// What was printed before so many characters were, and is not taken yet.
    fn take_until(&mut self, printed: u64) -> Option<LastWord> {
        let taken = usize::try_from(printed.saturating_sub(self.before)).unwrap_or(usize::MAX);
        let end = self.text.char_indices().nth(taken).map_or(self.text.len(), |(at, _)| at);
        let rest = self.text.split_off(end);
        let text = std::mem::replace(&mut self.text, rest);
        self.before += text.chars().count() as u64;
        (!text.is_empty()).then_some(LastWord::Text(self.stream, text))
    }
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

    /// All that never arrived, in the order in which it was put out; and where native code crashed, if it did.
    pub(super) fn missing(&self) -> Vec<LastWord> {
        let texts = self.arrived.iter().filter_map(|(stream, arrived)| {
            let ring = fs_err::read(self.folder.join(format!("{}.ring", stream.name()))).ok()?;
            let (before, text) = rest(&ring, *arrived)?;
            Some(MissingText { stream: *stream, before, text })
        });
        let mut words = in_order(texts.collect(), self.missing_displays());
        let crash = fs_err::read(self.folder.join("crash")).unwrap_or_default();
        if !crash.is_empty() {
            words.push(LastWord::Text(Stream::Stderr, String::from_utf8_lossy(&crash).into_owned()));
        }
        words
    }

    fn missing_displays(&self) -> Vec<Display> {
        let mut missing: Vec<Display> = self
            .displays()
            .filter(|(_, length)| *length <= LARGEST)
            .filter_map(|(path, _)| serde_json::from_slice(&fs_err::read(path).ok()?).ok())
            .collect();
        missing.sort_by_key(|display| display.number);
        missing
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
}

/// Before each display comes what was printed before it.
fn in_order(mut texts: Vec<MissingText>, displays: Vec<Display>) -> Vec<LastWord> {
    let mut words = Vec::new();
    for Display { printed, kind, content, .. } in displays {
        words.extend(texts.iter_mut().filter_map(|text| text.take_until(printed.on(text.stream))));
        words.push(LastWord::Display { kind, content });
    }
    words.extend(texts.iter_mut().filter_map(|text| text.take_until(u64::MAX)));
    words
}

/// The text after so many characters, and how many are before what is still there of it.
fn rest(ring: &[u8], arrived: u64) -> Option<(u64, String)> {
    let (head, ring) = ring.split_at_checked(HEAD)?;
    let number = |bytes: &[u8]| Some(u64::from_le_bytes(bytes.try_into().ok()?));
    let written = usize::try_from(number(head.get(..8)?)?).ok()?;
    let characters = number(head.get(8..)?)?;
    let missing = usize::try_from(characters.saturating_sub(arrived)).ok()?;
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
    let kept = known.chars().count();
    let text = known.chars().skip(kept.saturating_sub(missing)).collect();
    Some((characters.saturating_sub(kept.min(missing) as u64), text))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{Display, LastWord, MissingText, Printed, in_order, rest};
    use crate::outputs::Stream;

    fn ring(written: u64, characters: u64, content: &[u8]) -> Vec<u8> {
        [&written.to_le_bytes()[..], &characters.to_le_bytes(), content].concat()
    }

    #[test]
    fn only_what_did_not_arrive_is_given() {
        assert_eq!(rest(&ring(5, 5, b"hello\0\0\0"), 2), Some((2, "llo".to_owned())));
        assert_eq!(rest(&ring(5, 5, b"hello\0\0\0"), 5), None);
        assert_eq!(rest(&ring(0, 0, b"\0\0\0\0"), 0), None);
        assert_eq!(rest(b"short", 0), None);
    }

    #[test]
    fn a_ring_that_went_round_is_put_in_order() {
        assert_eq!(rest(&ring(10, 10, b"ijcdefgh"), 7), Some((7, "hij".to_owned())));
        assert_eq!(rest(&ring(10, 10, b"ijcdefgh"), 0), Some((2, "cdefghij".to_owned())));
    }

    /// A busy machine may kill a kernel before it has sent anything.
    #[test]
    fn text_stands_before_the_display_that_came_after_it() {
        let text = |stream, before, text: &str| MissingText { stream, before, text: text.to_owned() };
        let display = |number, stdout, stderr| Display {
            number,
            printed: Printed { stdout, stderr },
            kind: "display_data".to_owned(),
            content: Value::from(number),
        };
        let word = |stream, text: &str| LastWord::Text(stream, text.to_owned());
        let shown =
            |number: u64| LastWord::Display { kind: "display_data".to_owned(), content: Value::from(number) };
        let words = in_order(
            vec![text(Stream::Stdout, 4, "äöü."), text(Stream::Stderr, 0, "!")],
            vec![display(0, 4, 0), display(1, 6, 1), display(2, 6, 1)],
        );
        let (out, error) = (Stream::Stdout, Stream::Stderr);
        assert_eq!(words, [shown(0), word(out, "äö"), word(error, "!"), shown(1), shown(2), word(out, "ü.")]);
    }
}
