//! Reads an output once, in pieces of any size. Only lines that have one of a few words in them are looked at, and of a
//! long line only its beginning, so that it costs little more than the search for those words.

use std::sync::LazyLock;

use memchr::{memchr_iter, memchr2, memrchr2};
use text::{WordFinder, without_colours};

use crate::book::Book;
use crate::plain_line::without_prefix;
use crate::runner::Runner;
use crate::shown::{RunResult, Shown, Summary};
use crate::{error_line, start_line, tool_line};

/// Every line of a summary has one of these in it, with `|` between, and so have some lines of what went wrong.
const SUMMARY_WORDS: &str = "pass|fail|FAIL|PASS|Fail|SUCC|ok |OK\n|OK\r|OK (|Ran |1..|%]\n|%]\r|o test|o spec|TESTS|Tests|DONE |xecuted|BUILD|\
    Build|est case|Test Run|skipped|selected|llected|celled|rror in|rrors in|compile `|sync)|ratulat|nox > S|Cases|Result|NO-SO|nchmark|\
    y files|filters|Assert|examples:|running CTest|●|Segmentation";

/// Every line about a program that was not started, or refused its command line.
const START_WORDS: &str = "not found|No such|denied|recognized|unknown |nvalid option|not defined|such command|No module|to spawn|unexpected arg";

/// Every other line that is looked at.
const ERROR_WORDS: &str = "rror|ERR|fatal: |e: file|: *** |stopped|ELIFE|Traceback|panic|xception|Interrupt|Node.js v|.go:|.py:|offense|E   ";

static SUMMARY_FINDERS: LazyLock<Vec<WordFinder>> = LazyLock::new(|| finders(SUMMARY_WORDS));
static START_FINDERS: LazyLock<Vec<WordFinder>> = LazyLock::new(|| finders(START_WORDS));
static ERROR_FINDERS: LazyLock<Vec<WordFinder>> = LazyLock::new(|| finders(ERROR_WORDS));

/// So many words at once are found many bytes at a time; with more of them it has to look twice too often.
const WORDS_AT_ONCE: usize = 16;

fn finders(words: &str) -> Vec<WordFinder> {
    let mut words: Vec<&str> = words.split('|').collect();
    words.sort_unstable();
    words.chunks(WORDS_AT_ONCE).map(WordFinder::new).collect()
}

/// Of a longer line the rest is not looked at.
const LONGEST_LINE: usize = 512;

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
            self.read_begun();
            piece = rest;
        }
        let whole = memrchr2(b'\n', b'\r', piece.as_bytes()).map_or(0, |at| at + 1);
        let (lines, begun) = piece.split_at(whole);
        self.read_lines(lines);
        self.keep(begun);
    }

    /// What the output shows.
    pub fn finish(mut self) -> Shown {
        if !self.begun.is_empty() {
            self.read_begun();
            self.lines += 1;
        }
        self.book.finish(self.lines)
    }

    /// The line that has become complete; its end is counted by whoever has it.
    fn read_begun(&mut self) {
        let mut line = std::mem::take(&mut self.begun);
        line.push('\r');
        self.read_lines(&line);
    }

    /// As much of the line that is not complete as would be looked at.
    fn keep(&mut self, part: &str) {
        let room = LONGEST_LINE.saturating_sub(self.begun.len());
        self.begun.push_str(part.get(..part.floor_char_boundary(room)).unwrap_or_default());
    }

    /// Whole lines.
    fn read_lines(&mut self, text: &str) {
        let plain = without_colours(text);
        let bytes = plain.as_bytes();
        let mut summaries = NextWord::new(&SUMMARY_FINDERS, bytes);
        let mut starts = NextWord::new(&START_FINDERS, bytes);
        let mut errors = NextWord::new(&ERROR_FINDERS, bytes);
        let mut counted = 0;
        loop {
            let at = summaries.at.min(starts.at).min(errors.at);
            if at == bytes.len() {
                break;
            }
            let before = bytes.get(counted..at).unwrap_or_default();
            let start = memrchr2(b'\n', b'\r', before).map_or(counted, |end| counted + end + 1);
            let end = memchr2(b'\n', b'\r', bytes.get(at..).unwrap_or_default())
                .map_or(bytes.len(), |end| at + end);
            self.lines += count_lines(bytes.get(counted..start));
            let end_of_look = plain.floor_char_boundary(end.min(start + LONGEST_LINE));
            let line = plain.get(start..end_of_look).unwrap_or_default();
            let (may_sum_up, may_tell_of_start) = (summaries.at < end, starts.at < end);
            self.read_line(line, |book, line| {
                (may_sum_up
                    && (tool_line::reads(book, line)
                        || Runner::ALL.iter().any(|runner| runner.reads(book, line))))
                    || (may_tell_of_start && start_line::reads(book, line))
                    || error_line::reads(book, line)
            });
            counted = start;
            summaries.skip_to(end);
            starts.skip_to(end);
            errors.skip_to(end);
        }
        self.lines += count_lines(bytes.get(counted..));
    }

    /// Offers the line, and what is left of it without the things in front, until it is known.
    fn read_line(&mut self, line: &str, reads: impl Fn(&mut Book, &str) -> bool) {
        self.book.line = self.lines + 1;
        self.book.is_indented = line.starts_with([' ', '\t']);
        let mut line = line.trim();
        for _ in 0..=MOST_PREFIXES {
            if reads(&mut self.book, line) {
                return;
            }
            let Some(rest) = without_prefix(line) else { return };
            line = rest.trim_end();
        }
    }
}

/// Where the next of some words is.
struct NextWord<'text> {
    bytes: &'text [u8],
    /// Each with its next place, or the end of the text.
    finders: Vec<(&'static WordFinder, usize)>,
    /// The first of those places.
    at: usize,
}

impl<'text> NextWord<'text> {
    fn new(finders: &'static [WordFinder], bytes: &'text [u8]) -> Self {
        let place = |finder: &'static WordFinder| (finder, finder.find(bytes, 0).unwrap_or(bytes.len()));
        let mut next = Self { bytes, finders: finders.iter().map(place).collect(), at: 0 };
        next.skip_to(0);
        next
    }

    /// The first one that does not begin before the place.
    fn skip_to(&mut self, place: usize) {
        for (finder, at) in self.finders.iter_mut().filter(|(_, at)| *at < place) {
            *at = finder.find(self.bytes, place).unwrap_or(self.bytes.len());
        }
        self.at = self.finders.iter().map(|(_, at)| *at).min().unwrap_or(self.bytes.len());
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

/// What a snippet of output shows. Where something is cut out, tests may have run that it does not show.
pub fn shown(snippet: &str) -> Shown {
    let mut scan = Scan::new();
    scan.feed(snippet);
    let mut shown = scan.finish();
    shown.summaries.retain(|summary| summary.result != RunResult::NothingRan || !snippet.contains(CUT));
    shown
}

fn scanned(text: &str) -> Option<Summary> {
    let mut scan = Scan::new();
    scan.feed(text);
    scan.finish().summary()
}
