//! All turns of a transcript, one after the other, in one pass from its beginning. Each turn is what the reader would have
//! given at the stop that ended it, when the file went no further: the same records, normalised and put together by the
//! same code. Memory holds one turn at a time, and no more of it than the reader would read.
//!
//! Where a turn begins is known to the finder, which looks backwards; it is asked at each prompt, over the records that
//! are kept. They are let go as soon as no later record can make them part of the turn that follows.

use std::collections::VecDeque;
use std::path::Path;

use jiff::Timestamp;

use crate::agent::Agent;
use crate::detect::{self, Layout};
use crate::entry::{Entry, Record, Standing};
use crate::format;
use crate::forward::ForwardLines;
use crate::kept_texts::KeptTexts;
use crate::model::{Call, Reading};
use crate::reader::{self, Counts, FoundTurn, Options, is_blank, record_of, records_of_document};
use crate::session_state::SessionWatch;
use crate::source::Source;
use crate::subagents::made_at;
use crate::timeline::{self, Placed};
use crate::turn::{Search, TurnFinder};
use crate::unreadable::Unreadable;
use crate::walked_subagents::WalkedSubagents;

/// What is read at once: what a processor keeps near itself.
const CHUNK: usize = 256 * 1024;

/// The finder may look at so many records in one file: clients write a few prompts a turn, and a file that is made to
/// have it look back over and over must end.
const MOST_LOOKS: u64 = 200_000_000;

/// What is kept of a turn may be so much larger than its bound before it is cut.
const CUT_AT_ONCE: u64 = 4 * 1024 * 1024;

/// A turn as it stood at its first stop.
#[derive(Debug)]
pub struct WalkedTurn {
    pub reading: Reading,
    /// A text with the reader's mark reached the agent in it; the reading ends before that.
    pub is_marked: bool,
    /// What the agent said after that.
    pub said_after_mark: Vec<String>,
    /// What it did after that; not what its sub-agents did.
    pub calls_after_mark: Vec<Call>,
    /// Where the reading ends in the file.
    pub end: u64,
    /// Nothing follows it in the file.
    pub is_last: bool,
}

/// Walks the turns of the transcript at `path`; an error says why there is nothing to walk.
pub fn walk(path: &Path, options: &Options) -> Result<Walk<'static>, Unreadable> {
    Walk::new(Source::open(path)?, options, Some(path))
}

/// Walks a transcript that is already in memory. Sub-agents' files are not looked for.
pub fn walk_bytes<'a>(bytes: &'a [u8], options: &Options) -> Result<Walk<'a>, Unreadable> {
    Walk::new(Source::Bytes(bytes), options, None)
}

pub struct Walk<'a> {
    agent: Agent,
    options: Options,
    records: Records<'a>,
    length: u64,
    kept: Vec<Kept>,
    /// Where turns begin in `kept`.
    openings: Vec<usize>,
    /// All records so far.
    counts: Counts,
    /// A prompt was seen that surely opened a turn.
    is_surer_seen: bool,
    /// The person went back to a turn that was walked already, and has asked nothing new yet.
    is_rewound: bool,
    /// Why the beginning of the turn is missing.
    cut: Option<String>,
    looks: u64,
    ended: Ended,
    subagents: WalkedSubagents,
    texts: KeptTexts,
    /// What the turns so far say about those that follow.
    session: SessionWatch,
    ready: VecDeque<WalkedTurn>,
}

enum Records<'a> {
    Lines { lines: ForwardLines<'a>, number: u64 },
    Document(std::vec::IntoIter<Placed>),
}

#[derive(Debug, PartialEq)]
enum Ended {
    No,
    Whole,
    Early(String),
}

/// A record that says something, and how many there were before it.
struct Kept {
    placed: Placed,
    before: Counts,
}

impl std::fmt::Debug for Walk<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Walk")
            .field("agent", &self.agent)
            .field("position", &self.position())
            .finish()
    }
}

impl Iterator for Walk<'_> {
    type Item = WalkedTurn;

    fn next(&mut self) -> Option<WalkedTurn> {
        loop {
            if let Some(turn) = self.ready.pop_front() {
                return Some(turn);
            }
            if self.ended != Ended::No {
                return None;
            }
            match self.next_record() {
                Some((record, offset, line)) => self.take(record, offset, line),
                None => self.finish(),
            }
        }
    }
}

impl<'a> Walk<'a> {
    fn new(source: Source<'a>, options: &Options, path: Option<&Path>) -> Result<Self, Unreadable> {
        let length = source.len();
        if length == 0 {
            return Err(Unreadable::Empty);
        }
        let (agent, layout) = detect::layout(&source, options.agent).ok_or(Unreadable::UnknownClient)?;
        let records = match layout {
            Layout::Lines => Records::Lines { lines: ForwardLines::new(source, CHUNK), number: 0 },
            Layout::Document(format) => {
                Records::Document(records_of_document(&source, format, options)?.into_iter())
            }
        };
        Ok(Self {
            agent,
            options: options.clone(),
            records,
            length,
            kept: Vec::new(),
            openings: Vec::new(),
            counts: Counts::default(),
            is_surer_seen: false,
            is_rewound: false,
            cut: None,
            looks: 0,
            ended: Ended::No,
            subagents: WalkedSubagents::new(path, agent),
            texts: KeptTexts::default(),
            session: SessionWatch::default(),
            ready: VecDeque::new(),
        })
    }

    /// Whose transcript it is.
    pub fn agent(&self) -> Agent {
        self.agent
    }

    /// How many bytes have been read.
    pub fn position(&self) -> u64 {
        match &self.records {
            Records::Lines { lines, .. } => lines.position(),
            Records::Document(_) => self.length,
        }
    }

    /// Why the walk ended before the end of the file, where it did. Its last turn is then not to be relied on.
    pub fn stopped(&self) -> Option<&str> {
        match &self.ended {
            Ended::Early(reason) => Some(reason),
            Ended::No | Ended::Whole => None,
        }
    }

    fn next_record(&mut self) -> Option<(Record, u64, Option<u64>)> {
        let (lines, number) = match &mut self.records {
            Records::Lines { lines, number } => (lines, number),
            Records::Document(records) => {
                return records.next().map(|placed| (placed.record, placed.offset, placed.line));
            }
        };
        loop {
            match lines.next_line() {
                Ok(None) => return None,
                Ok(Some(line)) => {
                    *number += 1;
                    if !is_blank(&line) {
                        return Some((
                            record_of(&line, self.agent, self.options.mark),
                            line.offset,
                            Some(*number),
                        ));
                    }
                }
                Err(error) => {
                    self.ended = Ended::Early(format!("reading stopped: {error}"));
                    return None;
                }
            }
        }
    }

    fn take(&mut self, mut record: Record, offset: u64, line: Option<u64>) {
        let before = self.counts;
        self.counts.add(&record);
        if record.entries.is_empty() {
            return;
        }
        let standing = record.entries.iter().find_map(|entry| match entry {
            Entry::Prompt(prompt) => Some(prompt.standing),
            _ => None,
        });
        let has = |wanted: fn(&Entry) -> bool| record.entries.iter().any(wanted);
        let is_expansion = has(|entry| matches!(entry, Entry::Expansion));
        let is_rewind = has(|entry| matches!(entry, Entry::Rewind(_)));
        if self.is_rewound && standing.is_none() {
            return;
        }
        self.texts.add(&mut record);
        let place = self.kept.len();
        self.kept.push(Kept { placed: Placed { record, offset, line }, before });
        match standing {
            Some(Standing::Opens) => self.opens_at(place),
            Some(Standing::IfNoneSurer) if !self.is_surer_seen => self.opens_at(place),
            Some(Standing::UnlessEarlier) => self.look_back(),
            _ if is_expansion => self.look_back(),
            _ if is_rewind => self.rewound(),
            _ => {}
        }
        self.is_surer_seen |= matches!(standing, Some(Standing::Opens | Standing::UnlessEarlier));
        self.keep_to_bound(offset);
    }

    /// Asks the finder where the turn begins that the last record belongs to.
    fn look_back(&mut self) {
        if let Some(place) = self.found_opening()
            && self.openings.last() != Some(&place)
        {
            self.openings.retain(|opening| *opening < place);
            self.is_surer_seen = true;
            self.opens_at(place);
        }
    }

    fn found_opening(&mut self) -> Option<usize> {
        let mut finder = TurnFinder::default();
        let last = self.kept.len();
        let mut found = false;
        for (from_end, kept) in self.kept.iter().rev().enumerate() {
            self.looks += 1;
            if finder.see(&kept.placed.record, from_end) != Search::GoesOn {
                found = true;
                break;
            }
        }
        if self.looks > MOST_LOOKS {
            self.ended = Ended::Early("more prompts in one turn than a client writes".to_owned());
        }
        finder.opening(found || self.cut.is_none()).and_then(|from_end| last.checked_sub(from_end + 1))
    }

    /// A turn begins with the record at `place`. What came before is walked, where no later record can change that.
    fn opens_at(&mut self, place: usize) {
        self.openings.push(place);
        self.is_rewound = false;
        if self.is_sealed(place) {
            self.let_go(place);
        }
    }

    /// Whether the turn that begins at `place` can never turn out to have begun earlier.
    fn is_sealed(&mut self, place: usize) -> bool {
        if format::of(self.agent).has_single_prompts {
            return true;
        }
        let Some(opening) = self.kept.get(place) else { return true };
        let earlier = self.kept.get(..place).unwrap_or_default();
        self.looks += earlier.len() as u64;
        // A prompt that does not name its turn may stand in the middle of one whose records do.
        let names_turn = |kept: &Kept| kept.placed.record.turn.is_some();
        if opening.placed.record.turn.is_none() && earlier.iter().any(names_turn) {
            return false;
        }
        let mut finder = TurnFinder::from_opening(&opening.placed.record, 0);
        for (from_end, kept) in earlier.iter().rev().enumerate() {
            if finder.see(&kept.placed.record, from_end + 1) != Search::GoesOn {
                break;
            }
        }
        finder.opening(true) == Some(0)
    }

    /// The person went back. Where that voids the whole turn, an earlier one is in force again, which was walked.
    fn rewound(&mut self) {
        let found = self.found_opening();
        if found.is_some() && found == self.openings.last().copied() {
            return;
        }
        // The record that says so is not the turn's any more.
        self.let_go(self.kept.len() - 1);
        self.kept.clear();
        self.openings.clear();
        self.is_rewound = true;
    }

    /// Hands out the turns of all records before `place`, and forgets these.
    fn let_go(&mut self, place: usize) {
        let later = self.kept.split_off(place.min(self.kept.len()));
        let mut turns = std::mem::replace(&mut self.kept, later);
        self.texts = KeptTexts::default();
        let here = self.kept.first();
        let mut end = here.map_or(self.length, |next| next.placed.offset);
        let mut after = here.map_or(self.counts, |next| next.before);
        let mut until = here.and_then(|next| time_of(&next.placed.record));
        let openings: Vec<usize> = self.openings.iter().copied().filter(|opening| *opening < place).collect();
        self.openings.retain(|opening| *opening >= place);
        for opening in &mut self.openings {
            *opening -= place;
        }
        let cut = self.cut.take();
        let mut ended = Vec::new();
        for opening in openings.iter().rev() {
            let records = turns.split_off(*opening);
            let first = records
                .first()
                .map(|first| (first.placed.offset, first.before, time_of(&first.placed.record)));
            ended.push(Stretch { records, after, end, until, opening: true, cut: None });
            if let Some((offset, before, at)) = first {
                (end, after, until) = (offset, before, at);
            }
        }
        if cut.is_some() || turns.iter().any(|kept| is_work(&kept.placed.record)) {
            ended.push(Stretch { records: turns, after, end, until, opening: false, cut });
        }
        for stretch in ended.into_iter().rev() {
            let turn = self.walked(stretch);
            self.ready.push_back(turn);
        }
    }

    /// The turn as it stood at its first stop.
    fn walked(&mut self, stretch: Stretch) -> WalkedTurn {
        let Stretch { mut records, mut after, mut end, mut until, opening, cut } = stretch;
        let is_last = end == self.length;
        let is_mark = |kept: &Kept| {
            kept.placed
                .record
                .entries
                .iter()
                .any(|entry| matches!(entry, Entry::MarkedPrompt | Entry::MarkedAside))
        };
        let mut said_after_mark = Vec::new();
        let mut after_mark = Vec::new();
        // Without a prompt before it, it is no answer to a turn.
        let mark = if opening { records.iter().position(is_mark) } else { None };
        if let Some(mark) = mark {
            let rest = records.split_off(mark);
            if let Some(first) = rest.first() {
                (after, end) = (first.before, first.placed.offset);
            }
            until = rest.iter().find_map(|kept| time_of(&kept.placed.record)).or(until);
            for entry in rest.iter().flat_map(|kept| &kept.placed.record.entries) {
                if let Entry::Said(said) = entry {
                    said_after_mark.push(said.text.clone());
                }
            }
            after_mark = rest;
        }
        if cut.is_some() {
            let floor = end.saturating_sub(self.options.max_bytes);
            records.retain(|kept| kept.placed.offset >= floor);
        }
        let before = match records.first() {
            Some(first) if opening || cut.is_some() => first.before,
            // What stands before the first prompt begins with the file.
            _ => Counts::default(),
        };
        let counts = Counts {
            records: after.records - before.records,
            understood: after.understood - before.understood,
        };
        // Without a time of what follows, the turn's own times are the last word.
        let last = || records.iter().rev().find_map(|kept| time_of(&kept.placed.record));
        let until = if end == self.length { None } else { until.or_else(last) };
        let records = records.into_iter().map(|kept| kept.placed).collect();
        let session = std::mem::take(&mut self.session);
        let Self { subagents, options, .. } = self;
        let found = FoundTurn { records, counts, opening, cut, session };
        let (reading, session) = reader::reading(self.agent, found, |timeline, turn| {
            subagents.add_calls(timeline, turn, until, options);
        });
        self.session = session;
        after_mark.iter().for_each(|kept| self.session.see(&kept.placed.record));
        let after_mark = after_mark.into_iter().map(|kept| kept.placed).collect();
        let calls_after_mark = timeline::timeline(after_mark).calls;
        WalkedTurn { reading, is_marked: mark.is_some(), said_after_mark, calls_after_mark, end, is_last }
    }

    /// Of a turn that is larger than the reader would read, only the end is kept.
    fn keep_to_bound(&mut self, offset: u64) {
        let Some(first) = self.kept.first().map(|first| first.placed.offset) else { return };
        if offset - first <= self.options.max_bytes.saturating_add(CUT_AT_ONCE) {
            return;
        }
        if let Some(last) = self.openings.last().copied().filter(|last| *last > 0) {
            self.let_go(last);
        }
        let floor = offset.saturating_sub(self.options.max_bytes);
        let kept = self.kept.partition_point(|kept| kept.placed.offset < floor);
        if kept > 0 {
            self.kept.drain(..kept);
            self.openings.clear();
            self.cut =
                Some(format!("the turn began more than {} bytes before the end", self.options.max_bytes));
        }
    }

    fn finish(&mut self) {
        if self.ended == Ended::No {
            self.ended = Ended::Whole;
        }
        if !self.is_rewound {
            self.let_go(self.kept.len());
        }
    }
}

/// The records of one turn, and what follows them.
struct Stretch {
    records: Vec<Kept>,
    /// All records up to its end.
    after: Counts,
    end: u64,
    /// When what follows was made.
    until: Option<Timestamp>,
    opening: bool,
    cut: Option<String>,
}

fn is_work(record: &Record) -> bool {
    record.entries.iter().any(|entry| matches!(entry, Entry::Call(_) | Entry::Said(_)))
}

fn time_of(record: &Record) -> Option<Timestamp> {
    let prompt = record.entries.iter().find_map(|entry| match entry {
        Entry::Prompt(prompt) => prompt.at,
        _ => None,
    });
    prompt.or_else(|| made_at(record))
}
