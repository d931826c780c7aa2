//! Lines from the end of a source towards its beginning, in windows that grow until the reader has seen
//! enough. Memory stays bounded: one window, and the part of a line that reaches into the next one.

use std::io;

use crate::source::Source;

/// Windows double up to this size; larger ones would only cost memory.
const LARGEST_WINDOW: u64 = 4 * 1024 * 1024;

/// A longer line is passed over: it is no record that a reader needs, and must not fill the memory.
pub(crate) const LONGEST_LINE: usize = 16 * 1024 * 1024;

/// One line, without its newline.
#[derive(Debug, PartialEq)]
pub(crate) struct Line<'a> {
    /// Where it begins in the source.
    pub(crate) offset: u64,
    /// Empty if the line is too long.
    pub(crate) bytes: &'a [u8],
    pub(crate) too_long: bool,
    /// The source ends without a newline after it: it may still be in the middle of being written.
    pub(crate) unterminated: bool,
}

pub(crate) struct ReverseLines<'a> {
    source: &'a Source<'a>,
    /// Bytes before this offset are out of bounds.
    floor: u64,
    /// The source from `start` on, of which `..end` is not handed out yet.
    buffer: Vec<u8>,
    start: u64,
    end: usize,
    window: u64,
    walk: WalkState,
}

#[derive(PartialEq)]
enum WalkState {
    NotBegun,
    Between,
    Over,
}

impl<'a> ReverseLines<'a> {
    /// Reads at most `max_bytes` from the end, beginning with a window of `first_window` bytes.
    pub(crate) fn new(source: &'a Source<'a>, first_window: u64, max_bytes: u64) -> Self {
        let len = source.len();
        Self {
            source,
            floor: len.saturating_sub(max_bytes),
            buffer: Vec::new(),
            start: len,
            end: 0,
            window: first_window.max(1),
            walk: WalkState::NotBegun,
        }
    }

    /// The line before the one handed out last; `None` at the beginning of the source, or where the bound
    /// cuts a line.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        let mut unterminated = false;
        if self.walk == WalkState::NotBegun {
            self.walk = if self.start == self.floor { WalkState::Over } else { WalkState::Between };
            if self.walk == WalkState::Between {
                self.grow()?;
                // The newline that ends the last line begins no further one.
                if self.buffer.get(self.end - 1) == Some(&b'\n') {
                    self.end -= 1;
                } else {
                    unterminated = true;
                }
            }
        }
        if self.walk == WalkState::Over {
            return Ok(None);
        }
        let mut unsearched = self.end;
        let mut too_long = false;
        loop {
            let newline = memchr::memrchr(b'\n', self.buffer.get(..unsearched).unwrap_or_default());
            if newline.is_some() || self.start == 0 {
                let begin = newline.map_or(0, |newline| newline + 1);
                let end = std::mem::replace(&mut self.end, newline.unwrap_or(0));
                if newline.is_none() {
                    self.walk = WalkState::Over;
                }
                // The windows must not decide which lines are too long.
                too_long |= end - begin > LONGEST_LINE;
                let bytes = if too_long { &[] } else { self.buffer.get(begin..end).unwrap_or_default() };
                return Ok(Some(Line { offset: self.start + begin as u64, bytes, too_long, unterminated }));
            }
            if self.start == self.floor {
                self.walk = WalkState::Over;
                return Ok(None);
            }
            if self.end > LONGEST_LINE {
                too_long = true;
            }
            if too_long {
                self.end = 0;
            }
            unsearched = self.grow()?;
        }
    }

    /// From here on no line is needed that begins before this offset, and nothing more is read than that takes.
    pub(crate) fn need_none_before(&mut self, offset: u64) {
        // The newline before the line tells that it begins there.
        self.floor = self.floor.max(offset.saturating_sub(1)).min(self.start);
    }

    /// Whether everything from the first byte of the source on has been handed out.
    pub(crate) fn reached_start(&self) -> bool {
        self.start == 0 && self.walk == WalkState::Over
    }

    /// Puts the window before `start` in front of what is left of the buffer; returns its size.
    fn grow(&mut self) -> io::Result<usize> {
        let size = self.window.min(self.start - self.floor);
        self.window = (self.window * 2).min(LARGEST_WINDOW.max(self.window));
        let new = size as usize;
        let mut grown = Vec::with_capacity(new + self.end);
        self.source.append_at(&mut grown, new, self.start - size)?;
        grown.extend_from_slice(self.buffer.get(..self.end).unwrap_or_default());
        self.buffer = grown;
        self.start -= size;
        self.end += new;
        Ok(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8], first_window: u64, max_bytes: u64) -> (Vec<(u64, Vec<u8>, bool)>, bool) {
        let source = Source::Bytes(text);
        let mut reader = ReverseLines::new(&source, first_window, max_bytes);
        let mut lines = Vec::new();
        while let Some(line) = reader.next_line().unwrap() {
            assert!(!line.too_long);
            lines.push((line.offset, line.bytes.to_vec(), line.unterminated));
        }
        (lines, reader.reached_start())
    }

    #[test]
    fn lines_come_from_the_end_whatever_the_window() {
        let text = b"one\ntwo two\n\nfour\nfive".as_slice();
        for window in 1..30 {
            let expected = [
                (18, b"five".to_vec(), true),
                (13, b"four".to_vec(), false),
                (12, b"".to_vec(), false),
                (4, b"two two".to_vec(), false),
                (0, b"one".to_vec(), false),
            ];
            assert_eq!(lines(text, window, 1000), (expected.to_vec(), true), "window {window}");
        }
    }

    #[test]
    fn a_terminated_last_line_is_no_torn_one() {
        assert_eq!(lines(b"a\n", 8, 8), (vec![(0, b"a".to_vec(), false)], true));
        assert_eq!(lines(b"\n", 8, 8), (vec![(0, b"".to_vec(), false)], true));
        assert_eq!(lines(b"", 8, 8), (vec![], true));
    }

    /// T8, T9: the bound cuts a line; the cut line is not handed out, and the start counts as not reached.
    #[test]
    fn the_bound_never_hands_out_a_torn_first_line() {
        let (lines, reached_start) = lines(b"first\nsecond\nthird\n", 4, 10);
        assert_eq!(lines, [(13, b"third".to_vec(), false)]);
        assert!(!reached_start);
    }

    /// Whatever has been read already, the lines from the offset on are handed out whole, and nothing before it is read.
    #[test]
    fn what_lies_before_an_offset_is_not_read() {
        let source = Source::Bytes(b"one\ntwo\nthree\nfour\nfive\n");
        for window in 1..30 {
            for (offset, expected) in [(0, &[8, 4, 0][..]), (4, &[8, 4]), (5, &[8]), (8, &[8]), (9, &[])] {
                let mut reader = ReverseLines::new(&source, window, u64::MAX);
                while reader.next_line().unwrap().is_some_and(|line| line.offset > 14) {}
                let read = reader.start;
                reader.need_none_before(offset);
                let mut seen = Vec::new();
                while let Some(line) = reader.next_line().unwrap() {
                    seen.push(line.offset);
                }
                seen.retain(|line| *line >= offset);
                assert_eq!(seen, expected, "{offset} by {window}");
                assert!(reader.start >= read.min(offset.saturating_sub(1)), "{offset} by {window}");
            }
        }
    }

    #[test]
    fn a_line_beyond_all_measure_is_passed_over_and_told() {
        let mut text = b"before\n".to_vec();
        text.resize(text.len() + LONGEST_LINE * 2, b'x');
        text.extend_from_slice(b"\nafter\n");
        let source = Source::Bytes(&text);
        let mut reader = ReverseLines::new(&source, 1024, u64::MAX);
        assert_eq!(reader.next_line().unwrap().unwrap().bytes, b"after");
        let long = reader.next_line().unwrap().unwrap();
        assert!(long.too_long && long.bytes.is_empty());
        assert_eq!(long.offset, 7);
        assert!(reader.buffer.capacity() <= LONGEST_LINE + 3 * LARGEST_WINDOW as usize);
        assert_eq!(reader.next_line().unwrap().unwrap().bytes, b"before");
        assert!(reader.next_line().unwrap().is_none());
    }
}
