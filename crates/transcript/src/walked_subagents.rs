//! The files of sub-agents beside a walk: each is read forwards, as far as the turn that is walked goes, and no file is
//! read twice.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::agent::Agent;
use crate::format::{self, SubagentFiles};
use crate::forward::ForwardLines;
use crate::kept_texts::KeptTexts;
use crate::model::{Call, Turn};
use crate::reader::{Options, is_blank, record_of};
use crate::source::Source;
use crate::subagents::{self, made_at};
use crate::timeline::{self, Placed, Timeline};

/// What is read of a sub-agent's file at once.
const CHUNK: usize = 64 * 1024;

/// More sub-agents than a session has ever had.
const MOST_FILES: usize = 10_000;

pub(crate) struct WalkedSubagents {
    transcript: Option<PathBuf>,
    agent: Agent,
    listed: bool,
    files: Vec<SubagentFile>,
}

struct SubagentFile {
    id: String,
    path: PathBuf,
    /// Opened where its turn comes, and let go at its end.
    lines: Option<ForwardLines<'static>>,
    was_opened: bool,
    line: u64,
    /// Read already, and of a later turn.
    ahead: Option<Placed>,
    began: Option<Timestamp>,
}

impl WalkedSubagents {
    pub(crate) fn new(transcript: Option<&Path>, agent: Agent) -> Self {
        Self { transcript: transcript.map(Path::to_owned), agent, listed: false, files: Vec::new() }
    }

    /// Adds the calls that sub-agents made from the turn's beginning on and before `until`.
    pub(crate) fn add_calls(
        &mut self,
        timeline: &mut Timeline,
        turn: &Turn,
        until: Option<Timestamp>,
        options: &Options,
    ) {
        let Some(began) = turn.started_at else { return };
        self.find(timeline);
        let (agent, named) = (self.agent, &timeline.subagents);
        let are_listed = matches!(format::of(agent).subagents, SubagentFiles::Listed(_));
        let mut budget = options.max_bytes;
        let mut found = Vec::new();
        for file in &mut self.files {
            let is_meant = are_listed || named.contains(&file.id);
            let is_later = until.is_some_and(|until| file.began.is_some_and(|began| began >= until));
            if is_meant && !is_later {
                found.push((file.id.clone(), file.calls(agent, began, until, &mut budget)));
            }
        }
        found.retain(|(_, calls)| !calls.is_empty());
        subagents::merge(timeline, found);
    }

    /// They are listed once, or named by the turns that start them.
    fn find(&mut self, timeline: &Timeline) {
        let Some(transcript) = &self.transcript else { return };
        let mut found = match format::of(self.agent).subagents {
            SubagentFiles::None => return,
            SubagentFiles::Listed(_) if self.listed => return,
            SubagentFiles::Listed(since) => since(transcript, Timestamp::MIN),
            SubagentFiles::Named(named) => named(transcript, &timeline.subagents),
        };
        self.listed = true;
        found.truncate(MOST_FILES);
        for (id, path) in found {
            if !self.files.iter().any(|file| file.path == path) {
                self.files.push(SubagentFile::new(id, path, self.agent));
            }
        }
    }
}

impl SubagentFile {
    fn new(id: String, path: PathBuf, agent: Agent) -> Self {
        let mut file = Self { id, path, lines: None, was_opened: false, line: 0, ahead: None, began: None };
        // When it began says whether it has to be opened for a turn at all.
        file.open();
        while let Some(placed) = file.next(agent) {
            file.began = made_at(&placed.record);
            if file.began.is_some() {
                break;
            }
        }
        (file.lines, file.line) = (None, 0);
        file
    }

    fn open(&mut self) {
        self.lines = Source::open(&self.path).ok().map(|source| ForwardLines::new(source, CHUNK));
    }

    /// The next record that says something.
    fn next(&mut self, agent: Agent) -> Option<Placed> {
        if let Some(ahead) = self.ahead.take() {
            return Some(ahead);
        }
        loop {
            let line = self.lines.as_mut()?.next_line().ok().flatten();
            let Some(line) = line else {
                self.lines = None;
                return None;
            };
            self.line += 1;
            if is_blank(&line) {
                continue;
            }
            let record = record_of(&line, agent, "");
            if !record.entries.is_empty() {
                return Some(Placed { record, offset: line.offset, line: Some(self.line) });
            }
        }
    }

    /// The calls from `began` on, before `until`.
    fn calls(
        &mut self,
        agent: Agent,
        began: Timestamp,
        until: Option<Timestamp>,
        budget: &mut u64,
    ) -> Vec<Call> {
        if !self.was_opened {
            self.was_opened = true;
            self.open();
        }
        let mut records = Vec::new();
        let mut since = 0;
        let mut texts = KeptTexts::default();
        while let Some(mut placed) = self.next(agent) {
            texts.add(&mut placed.record);
            let at = made_at(&placed.record);
            if until.is_some_and(|until| at.is_some_and(|at| at >= until)) {
                self.ahead = Some(placed);
                break;
            }
            if at.is_some_and(|at| at < began) {
                // What was made before the turn is not the turn's.
                records.clear();
                since = placed.offset;
            } else if placed.offset.saturating_sub(since) <= *budget {
                records.push(placed);
            }
        }
        let read = records.last().map_or(0, |last: &Placed| last.offset.saturating_sub(since));
        *budget = budget.saturating_sub(read);
        timeline::timeline(records).calls
    }
}
