//! Lines from the beginning of a source to its end, for readers that go through all of it. Memory stays bounded: one
//! chunk, and the part of a line that reaches into the next one.

use std::io;

use crate::source::Source;
use crate::window::{LONGEST_LINE, Line};

pub(crate) struct ForwardLines<'a> {
    source: Source<'a>,
    chunk: usize,
    buffer: Vec<u8>,
    /// What lies before this in the buffer has been handed out.
    begin: usize,
    /// Where the buffer begins in the source.
    base: u64,
}

impl<'a> ForwardLines<'a> {
    pub(crate) fn new(source: Source<'a>, chunk: usize) -> Self {
        Self { source, chunk: chunk.max(1), buffer: Vec::new(), begin: 0, base: 0 }
    }

    /// How much has been handed out.
    pub(crate) fn position(&self) -> u64 {
        self.base + self.begin as u64
    }

    /// The next line; `None` at the end of the source.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        let offset = self.position();
        let mut searched = self.begin;
        let mut too_long = false;
        loop {
            let rest = self.buffer.get(searched..).unwrap_or_default();
            if let Some(newline) = memchr::memchr(b'\n', rest) {
                let end = searched + newline;
                too_long |= end - self.begin > LONGEST_LINE;
                let begin = std::mem::replace(&mut self.begin, end + 1);
                let bytes = if too_long { &[] } else { self.buffer.get(begin..end).unwrap_or_default() };
                return Ok(Some(Line { offset, bytes, too_long, unterminated: false }));
            }
            if self.buffer.len() - self.begin > LONGEST_LINE {
                too_long = true;
            }
            if too_long {
                self.begin = self.buffer.len();
            }
            self.buffer.drain(..self.begin);
            self.base += self.begin as u64;
            self.begin = 0;
            searched = self.buffer.len();
            let left = self.source.len().saturating_sub(self.base + searched as u64);
            if left == 0 {
                let end = self.buffer.len();
                if end == 0 && !too_long {
                    return Ok(None);
                }
                self.begin = end;
                let bytes = if too_long { &[] } else { self.buffer.as_slice() };
                return Ok(Some(Line { offset, bytes, too_long, unterminated: true }));
            }
            let wanted = left.min(self.chunk as u64) as usize;
            self.source.append_at(&mut self.buffer, wanted, self.base + searched as u64)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8], chunk: usize) -> Vec<(u64, Vec<u8>, bool)> {
        let mut reader = ForwardLines::new(Source::Bytes(text), chunk);
        let mut lines = Vec::new();
        while let Some(line) = reader.next_line().unwrap() {
            assert!(!line.too_long);
            lines.push((line.offset, line.bytes.to_vec(), line.unterminated));
        }
        assert_eq!(reader.position(), text.len() as u64);
        lines
    }

    #[test]
    fn lines_come_from_the_beginning_whatever_the_chunk() {
        let text = b"one\ntwo two\n\nfour\nfive".as_slice();
        for chunk in 1..30 {
            let expected = [
                (0, b"one".to_vec(), false),
                (4, b"two two".to_vec(), false),
                (12, b"".to_vec(), false),
                (13, b"four".to_vec(), false),
                (18, b"five".to_vec(), true),
            ];
            assert_eq!(lines(text, chunk), expected, "chunk {chunk}");
        }
        assert_eq!(lines(b"a\n", 8), [(0, b"a".to_vec(), false)]);
        assert_eq!(lines(b"\n", 8), [(0, b"".to_vec(), false)]);
        assert_eq!(lines(b"", 8), []);
    }

    /// Forwards and backwards agree on which lines are too long, whatever is read at once.
    #[test]
    fn a_line_beyond_all_measure_is_passed_over_and_told() {
        for (length, too_long) in [(LONGEST_LINE, false), (LONGEST_LINE + 1, true), (LONGEST_LINE * 2, true)]
        {
            let mut text = b"before\n".to_vec();
            text.resize(text.len() + length, b'x');
            text.extend_from_slice(b"\nafter\n");
            let mut reader = ForwardLines::new(Source::Bytes(&text), 1024 * 1024);
            assert_eq!(reader.next_line().unwrap().unwrap().bytes, b"before");
            let long = reader.next_line().unwrap().unwrap();
            assert_eq!((long.offset, long.too_long, long.bytes.is_empty()), (7, too_long, too_long));
            assert_eq!(reader.next_line().unwrap().unwrap().bytes, b"after");
            assert!(reader.next_line().unwrap().is_none());
            assert!(reader.buffer.capacity() <= LONGEST_LINE + 8 * 1024 * 1024);
            let source = Source::Bytes(&text);
            for window in [1024, 3_000_000, 1 << 30] {
                let mut back = crate::window::ReverseLines::new(&source, window, u64::MAX);
                assert_eq!(back.next_line().unwrap().unwrap().bytes, b"after");
                assert_eq!(back.next_line().unwrap().unwrap().too_long, too_long, "{length} by {window}");
            }
        }
    }
}
