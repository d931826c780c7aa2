//! Reads an output once, in pieces of any size. Only lines that have one of a few words in them are looked at, and of a
//! long line only its beginning, so that it costs little more than the search for those words.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use memchr::{memchr_iter, memchr2, memrchr2};

use crate::book::Book;
use crate::plain_line::{without_colours, without_prefix};
use crate::runner::Runner;
use crate::shown::{Shown, Summary};
use crate::{error_line, tool_line};

/// Every line that says something has one of these in it.
const WORDS: &[&str] = &[
    "pass",
    "Pass",
    "PASS",
    "fail",
    "Fail",
    "FAIL",
    "rror",
    "ERR",
    "ok ",
    "OK",
    "Ran ",
    "no test",
    "No test",
    "NO TESTS",
    "No spec",
    "tests collected",
    "test collected",
    "1..",
    "%]",
    "DONE ",
    "xecuted ",
    "succe",
    "SUCCE",
    "Succe",
    "complete!",
    "congratulations",
    "not found",
    "No such file",
    "denied",
    "recognized",
    "such command",
    "Failed to spawn",
    "No module",
    " sync)",
    "NO-SOURCE",
    "NOTESTS",
    ": *** ",
    "build stopped",
    "ELIFECYCLE",
    "e: file",
    ".go:",
    " Tests: ",
    "Tests:",
    "Cases:",
    "skipped",
    "deselected",
    "xfailed",
    "benchmark",
    "any files to test",
    "spec files",
];

static FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| AhoCorasick::new(WORDS).ok());

/// Of a longer line the rest is not looked at.
const LONGEST_LINE: usize = 4096;

/// How many things others can have put in front of a line.
const MOST_PREFIXES: usize = 3;

/// Reads one output.
#[derive(Debug, Default)]
pub struct Scan {
    book: Book,
    /// The line that is not complete yet.
    begun: String,
    /// The lines that are complete.
    lines: u64,
}

impl Scan {
    pub fn new() -> Self {
        Self::default()
    }

    /// The next piece of the output; it may end anywhere.
    pub fn feed(&mut self, piece: &str) {
        let mut piece = piece;
        if !self.begun.is_empty() {
            let Some(end) = memchr2(b'\n', b'\r', piece.as_bytes()) else {
                self.keep(piece);
                return;
            };
            let (rest_of_line, rest) = piece.split_at(end);
            self.keep(rest_of_line);
            let line = std::mem::take(&mut self.begun);
            self.read_lines(&line);
            piece = rest;
        }
        let whole = memrchr2(b'\n', b'\r', piece.as_bytes()).map_or(0, |at| at + 1);
        let (lines, begun) = piece.split_at(whole);
        self.read_lines(lines);
        self.keep(begun);
    }

    /// What the output shows.
    pub fn finish(mut self) -> Shown {
        let last = std::mem::take(&mut self.begun);
        self.read_lines(&last);
        let lines = self.lines + u64::from(!last.is_empty());
        self.book.finish(lines)
    }

    /// As much of the line that is not complete as would be looked at.
    fn keep(&mut self, part: &str) {
        let room = LONGEST_LINE.saturating_sub(self.begun.len());
        self.begun.push_str(part.get(..part.floor_char_boundary(room)).unwrap_or_default());
    }

    /// Whole lines, or one without its end.
    fn read_lines(&mut self, text: &str) {
        let Some(finder) = FINDER.as_ref() else { return };
        let bytes = text.as_bytes();
        let (mut from, mut counted) = (0, 0);
        while let Some(found) = bytes.get(from..).and_then(|rest| finder.find(rest)) {
            let at = from + found.start();
            let before = bytes.get(from..at).unwrap_or_default();
            let start = memrchr2(b'\n', b'\r', before).map_or(from, |end| from + end + 1);
            let behind = bytes.get(at..).unwrap_or_default();
            let end = memchr2(b'\n', b'\r', behind).map_or(text.len(), |end| at + end);
            self.lines += count_lines(bytes.get(counted..start));
            counted = start;
            let end_of_look = text.floor_char_boundary(end.min(start + LONGEST_LINE));
            self.read_line(text.get(start..end_of_look).unwrap_or_default());
            from = end;
        }
        self.lines += count_lines(bytes.get(counted..));
    }

    fn read_line(&mut self, line: &str) {
        let plain = without_colours(line);
        self.book.line = self.lines + 1;
        self.book.is_indented = plain.starts_with([' ', '\t']);
        let mut line = plain.trim();
        for _ in 0..=MOST_PREFIXES {
            let is_read = tool_line::reads(&mut self.book, line)
                || Runner::ALL.iter().any(|runner| runner.reads(&mut self.book, line))
                || error_line::reads(&mut self.book, line);
            if is_read {
                return;
            }
            let Some(rest) = without_prefix(line) else { return };
            line = rest.trim_end();
        }
    }
}

fn count_lines(bytes: Option<&[u8]>) -> u64 {
    memchr_iter(b'\n', bytes.unwrap_or_default()).count() as u64
}

/// Stands where the middle of a long output was cut out.
const CUT: char = '…';

/// Reads a snippet of output: the whole of it, or head and tail with [`CUT`] between. What is missing may
/// have been a failure, so of a cut output only the tail can prove a pass: runners put their summary last.
pub fn read(snippet: &str) -> Option<Summary> {
    let Some((head, tail)) = snippet.rsplit_once(CUT) else { return scanned(snippet) };
    // The lines next to the cut are torn: "1…5 passed" may have been anything.
    let head = scanned(head.rsplit_once('\n').map_or("", |(whole, _)| whole));
    let tail = scanned(tail.split_once('\n').map_or("", |(_, whole)| whole));
    match (head, tail) {
        (Some(Summary::Failed { tests: one }), Some(Summary::Failed { tests: other })) => {
            Some(Summary::Failed { tests: one.max(other) })
        }
        (Some(failed @ Summary::Failed { .. }), _) => Some(failed),
        // That nothing ran in the tail says nothing about the rest.
        (_, tail) => tail.filter(|summary| *summary != Summary::NoTestsRan),
    }
}

fn scanned(text: &str) -> Option<Summary> {
    let mut scan = Scan::new();
    scan.feed(text);
    scan.finish().summary()
}
