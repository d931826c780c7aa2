//! Reads a transcript: raw bytes, records backwards until the turn's beginning, then the timeline forwards.

use std::collections::HashMap;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};

use crate::agent::Agent;
use crate::detect::{self, Layout};
use crate::entry::{Entry, Prompt, Record};
use crate::format::{self, DocumentFormat};
use crate::kept_texts::KeptTexts;
use crate::model::{Coverage, Extent, Reading, Turn};
use crate::session_state::SessionWatch;
use crate::source::Source;
use crate::timeline::{self, Placed, Timeline};
use crate::turn::{Search, TurnFinder};
use crate::unreadable::Unreadable;
use crate::window::{Line, ReverseLines};
use crate::{subagents, usage};

/// How a transcript is read.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whose transcript it is; guessed from the content where it is not known.
    pub agent: Option<Agent>,
    /// The first window read from the end; most turns fit into it.
    pub first_window: u64,
    /// No more than this is read from the end.
    pub max_bytes: u64,
    /// Line numbers need the lines before the turn counted; in a larger file they are left out.
    pub count_lines_up_to: u64,
    /// The calls of the turns from this one on are read too: nobody judged them.
    pub since: Option<TurnStart>,
    /// How the texts begin that the reader's own program gives to agents: they come back in transcripts, and no person typed
    /// them. Empty if there are none.
    pub mark: &'static str,
}

/// A turn by what is known of its beginning.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnStart {
    /// The client's own id of the turn, if it has one.
    pub id: Option<String>,
    pub at: Timestamp,
    /// How many turns there are from it on, the last one included.
    pub turns: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            agent: None,
            first_window: 512 * 1024,
            max_bytes: 64 * 1024 * 1024,
            count_lines_up_to: 4 * 1024 * 1024,
            since: None,
            mark: "",
        }
    }
}

/// What is looked at of a file in a format that nobody knows.
const LINES_WINDOW: u64 = 64 * 1024;
const MOST_LINES: u64 = 20;

/// A client writes a prompt down a moment before or after it tells of it.
const SLACK: SignedDuration = SignedDuration::from_secs(2);

/// After so many records of which almost none was understood, the rest will not be either.
const GIVE_UP_AFTER: u64 = 1000;

/// Reads the last turn of the transcript at `path`. Never fails: what could not be read is told by the
/// coverage.
pub fn read(path: &Path, options: &Options) -> Reading {
    match Source::open(path) {
        Ok(source) => read_source(&source, options, Some(path)),
        Err(reason) => Reading::unavailable(options.agent, reason.to_string()),
    }
}

/// Reads the last turn of a transcript that is already in memory. Sub-agents' files are not looked for.
pub fn read_bytes(bytes: &[u8], options: &Options) -> Reading {
    read_source(&Source::Bytes(bytes), options, None)
}

/// Whose lines the transcript at `path` has, by their content, where they tell.
pub fn writer(path: &Path) -> Option<Agent> {
    detect::writer(&Source::open(path).ok()?)
}

fn read_source(source: &Source<'_>, options: &Options, path: Option<&Path>) -> Reading {
    if source.len() == 0 {
        return Reading::unavailable(options.agent, Unreadable::Empty.to_string());
    }
    let Some((agent, layout)) = detect::layout(source, options.agent) else {
        let mut reading = Reading::unavailable(None, Unreadable::UnknownClient.to_string());
        reading.coverage.records = count_last_lines(source);
        return reading;
    };
    let turn_before = |end: u64| match layout {
        Layout::Lines => {
            source.before(end).map(|source| turn_of_lines(&source, agent, options)).ok_or(Unreadable::Empty)
        }
        Layout::Document(format) => turn_of_document(source, format, options, end),
    };
    let read_turn = |turn: FoundTurn| {
        let (reading, _) = reading(agent, turn, |timeline, turn| {
            if let Some(path) = path {
                subagents::add_calls(timeline, agent, path, turn, options);
            }
        });
        reading
    };
    let turn = match turn_before(source.len()) {
        Ok(turn) => turn,
        Err(reason) => return Reading::unavailable(Some(agent), reason.to_string()),
    };
    let mut begin = turn.begins_at();
    let mut reading = read_turn(turn);
    let Some(since) = &options.since else { return reading };
    let mut first = reading.turn.clone();
    let mut is_cut = false;
    for _ in 1..since.turns {
        let Some(later) = &first else { break };
        if since.is_reached(later) {
            break;
        }
        let Some(Ok(turn)) = begin.map(turn_before) else {
            is_cut = true;
            break;
        };
        begin = turn.begins_at();
        let mut earlier = read_turn(turn);
        first = earlier.turn.take();
        if first.as_ref().is_some_and(|turn| since.is_after(turn)) {
            break;
        }
        is_cut |= earlier.coverage.extent == Extent::Truncated;
        if first.is_none() {
            break;
        }
        // A sub-agent that works on is in the files of both turns.
        earlier.calls.retain(|call| !reading.calls.iter().any(|later| later.id == call.id));
        reading.add_earlier(earlier.calls);
    }
    if is_cut && reading.coverage.extent == Extent::Complete {
        reading.coverage.extent = Extent::Truncated;
        reading.coverage.reason = Some("an earlier turn without a verdict was not read in full".to_owned());
    }
    reading
}

impl TurnStart {
    /// Whether it is this turn.
    fn is_reached(&self, turn: &Turn) -> bool {
        self.id.is_some() && self.id == turn.id
    }

    /// Whether the turn was over before.
    fn is_after(&self, turn: &Turn) -> bool {
        let began = turn.started_at;
        !self.is_reached(turn)
            && began.and_then(|began| began.checked_add(SLACK).ok()).is_some_and(|began| began < self.at)
    }
}

/// How many lines are there, of a few at the end: whoever asks only wants to know whether there are any.
fn count_last_lines(source: &Source<'_>) -> u64 {
    let mut lines = ReverseLines::new(source, LINES_WINDOW, LINES_WINDOW);
    let mut count = 0;
    while count < MOST_LINES
        && let Ok(Some(line)) = lines.next_line()
    {
        count += u64::from(!is_blank(&line));
    }
    count
}

/// The records of the turn, from the last one backwards, and how much was understood.
#[derive(Default)]
struct TurnRecords {
    finder: TurnFinder,
    placed: Vec<Placed>,
    counts: Counts,
    /// The finder needs no earlier record.
    found: bool,
    texts: KeptTexts,
    /// The counts as they stood with each record in `placed`.
    counts_at: Vec<Counts>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) records: u64,
    pub(crate) understood: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, record: &Record) {
        self.records += 1;
        self.understood += u64::from(record.understood);
    }
}

impl TurnRecords {
    /// Takes one more record; `false` when no earlier one is needed.
    fn take(&mut self, mut record: Record, offset: u64) -> bool {
        self.texts.add(&mut record);
        let place = self.placed.len();
        let search = self.finder.see(&record, place);
        self.found = search != Search::GoesOn;
        if search == Search::EndsBefore {
            return false;
        }
        self.counts.add(&record);
        if !record.entries.is_empty() {
            self.placed.push(Placed { record, offset, line: None });
            self.counts_at.push(self.counts);
        }
        let hopeless =
            self.counts.records == GIVE_UP_AFTER && self.counts.understood < self.counts.records / 10;
        search == Search::GoesOn && !hopeless
    }
}

/// What was found of the turn, in the order of the file.
pub(crate) struct FoundTurn {
    pub(crate) records: Vec<Placed>,
    pub(crate) counts: Counts,
    /// The first record is the prompt that opened it.
    pub(crate) opening: bool,
    /// Why the beginning may be missing.
    pub(crate) cut: Option<String>,
    /// What was seen of the session before it.
    pub(crate) session: SessionWatch,
}

impl FoundTurn {
    /// Where the turn begins, if that was found.
    fn begins_at(&self) -> Option<u64> {
        self.records.first().filter(|_| self.opening).map(|first| first.offset)
    }
}

impl TurnRecords {
    fn found(mut self, reached_start: bool, cut: Option<String>) -> FoundTurn {
        let mut counts = self.counts;
        let opening = self.finder.opening(reached_start || self.found);
        if let Some(place) = opening {
            self.placed.truncate(place + 1);
            counts = self.counts_at.get(place).copied().unwrap_or(counts);
        }
        self.placed.reverse();
        FoundTurn {
            records: self.placed,
            counts,
            opening: opening.is_some(),
            cut,
            session: SessionWatch::default(),
        }
    }
}

fn turn_of_lines(source: &Source<'_>, agent: Agent, options: &Options) -> FoundTurn {
    let mut lines = ReverseLines::new(source, options.first_window, options.max_bytes);
    let mut turn = TurnRecords::default();
    // Offsets of the lines from the last one backwards; blank lines count as lines too.
    let mut seen: Vec<u64> = Vec::new();
    let mut cut = None;
    loop {
        let line = match lines.next_line() {
            Ok(Some(line)) => line,
            Ok(None) => break,
            Err(error) => {
                cut = Some(format!("reading stopped: {error}"));
                break;
            }
        };
        seen.push(line.offset);
        if is_blank(&line) {
            continue;
        }
        if !turn.take(record_of(&line, agent, options.mark), line.offset) {
            break;
        }
    }
    let reached_start = lines.reached_start() && cut.is_none();
    if !reached_start && cut.is_none() {
        cut = Some(format!("the turn began more than {} bytes before the end", options.max_bytes));
    }
    let mut found = turn.found(reached_start, cut.filter(|_| !reached_start));
    number_lines(source, &mut found.records, &seen, options);
    found.session = session_before(lines, seen.last().copied().unwrap_or_default(), (agent, options.mark));
    found
}

/// So much of the session before the turn is looked through. Most of it has been read from the disk with the turn.
const SESSION_BYTES: u64 = 256 * 1024;

/// What the lines before `turn` say about the session.
fn session_before(mut lines: ReverseLines<'_>, turn: u64, (agent, mark): (Agent, &str)) -> SessionWatch {
    let mut records = Vec::new();
    let floor = turn.saturating_sub(SESSION_BYTES);
    lines.need_none_before(floor);
    while let Ok(Some(line)) = lines.next_line() {
        if line.offset < floor {
            break;
        }
        if format::tells_of_session(agent, line.bytes) {
            records.push(record_of(&line, agent, mark));
        }
    }
    let mut session = SessionWatch::default();
    records.iter().rev().for_each(|record| session.see(record));
    session
}

/// What a line says that is not blank.
pub(crate) fn record_of(line: &Line<'_>, agent: Agent, mark: &str) -> Record {
    let torn = line.unterminated && serde_json::from_slice::<serde::de::IgnoredAny>(line.bytes).is_err();
    if line.too_long || torn {
        Record::not_understood()
    } else {
        format::record(agent, line.bytes).marked(mark)
    }
}

pub(crate) fn is_blank(line: &Line<'_>) -> bool {
    line.bytes.trim_ascii().is_empty() && !line.too_long
}

/// Gives each record its line number, where the lines before the turn are few enough to count.
pub(crate) fn number_lines(source: &Source<'_>, records: &mut [Placed], seen: &[u64], options: &Options) {
    let (Some(first), true) = (seen.last(), source.len() <= options.count_lines_up_to) else { return };
    let Ok(before) = source.count_newlines(*first) else { return };
    for placed in records {
        // `seen` falls; the line at its end is the first one that was read.
        let found = seen.binary_search_by(|offset| placed.offset.cmp(offset));
        placed.line = found.ok().map(|from_end| before + (seen.len() - from_end) as u64);
    }
}

fn turn_of_document(
    source: &Source<'_>,
    format: &DocumentFormat,
    options: &Options,
    end: u64,
) -> Result<FoundTurn, Unreadable> {
    let mut turn = TurnRecords::default();
    let mut reached_start = true;
    let mut lines = HashMap::new();
    let mut records = records_of_document(source, format, options)?;
    records.retain(|placed| placed.offset < end || end == source.len());
    while let Some(placed) = records.pop() {
        lines.insert(placed.offset, placed.line);
        if !turn.take(placed.record, placed.offset) {
            reached_start = false;
            break;
        }
    }
    let mut found = turn.found(reached_start, None);
    records.iter().for_each(|earlier| found.session.see(&earlier.record));
    for placed in &mut found.records {
        placed.line = lines.get(&placed.offset).copied().flatten();
    }
    Ok(found)
}

/// All records of a single document, in its order.
pub(crate) fn records_of_document(
    source: &Source<'_>,
    format: &DocumentFormat,
    options: &Options,
) -> Result<Vec<Placed>, Unreadable> {
    if source.len() > options.max_bytes {
        return Err(Unreadable::TooLarge(source.len()));
    }
    let mut bytes = Vec::new();
    let read = source.append_at(&mut bytes, source.len() as usize, 0);
    read.map_err(Unreadable::Stopped)?;
    let text = String::from_utf8_lossy(&bytes);
    let start = text.as_ptr() as usize;
    let document = (format.messages)(text.trim_start_matches('\u{feff}'));
    let mut records = Vec::with_capacity(document.messages.len() + 1);
    let mut newlines = 0;
    let mut position = 0;
    for message in &document.messages {
        let offset = (message.get().as_ptr() as usize).saturating_sub(start);
        newlines +=
            memchr::memchr_iter(b'\n', text.as_bytes().get(position..offset).unwrap_or_default()).count();
        position = position.max(offset);
        let record = (format.record)(*message).marked(options.mark);
        records.push(Placed { record, offset: offset as u64, line: Some(newlines as u64 + 1) });
    }
    if document.torn {
        records.push(Placed { record: Record::not_understood(), offset: source.len(), line: None });
    }
    Ok(records)
}

/// What the records of a turn say, and what is known of the session after it; `add_calls` adds those of sub-agents.
pub(crate) fn reading(
    agent: Agent,
    found: FoundTurn,
    add_calls: impl FnOnce(&mut Timeline, &Turn),
) -> (Reading, SessionWatch) {
    let FoundTurn {
        records,
        counts: Counts { records: total, understood },
        opening,
        cut,
        session: mut watch,
    } = found;
    let session = watch.turn(records.iter().map(|placed| &placed.record));
    if understood * 2 < total || total == 0 {
        let reason = format!("understood {understood} of {total} records");
        let mut reading = Reading::unavailable(Some(agent), reason);
        reading.coverage.records = total;
        reading.coverage.understood = understood;
        return (reading, watch);
    }
    let (extent, reason) = match (opening, cut) {
        (false, Some(reason)) => (Extent::Truncated, Some(reason)),
        _ => (Extent::Complete, None),
    };
    let turn = if opening { records.first().and_then(opening_turn) } else { None };
    let mut timeline = timeline::timeline(records);
    if let Some(turn) = &turn {
        add_calls(&mut timeline, turn);
    }
    let Timeline {
        calls,
        messages,
        last_assistant,
        usage,
        has_marked_prompt,
        is_marked,
        interrupted,
        stop_asked_at,
        ..
    } = timeline;
    let reading = Reading {
        agent: Some(agent),
        turn,
        coverage: Coverage { extent, records: total, understood, reason },
        usage: usage.map(|context| usage::usage(agent, context)),
        calls,
        earlier_calls: 0,
        messages,
        last_assistant,
        // Without a prompt before it, it is no answer to a turn: a person may begin a session with it.
        has_marked_prompt: has_marked_prompt && opening,
        is_marked: is_marked && opening,
        interrupted,
        stop_asked_at,
        session,
    };
    (reading, watch)
}

fn opening_turn(placed: &Placed) -> Option<Turn> {
    let prompt = placed.record.entries.iter().find_map(|entry| match entry {
        Entry::Prompt(prompt) => Some(prompt),
        _ => None,
    });
    let Prompt { text, at, .. } = prompt?;
    Some(Turn { prompt: text.clone(), started_at: *at, id: placed.record.turn.clone(), line: placed.line })
}
