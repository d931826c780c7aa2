//! Calls of sub-agents, which write files of their own. They count for the turn that was running when they
//! were made, so they are merged into its timeline by time.

use std::collections::HashSet;
use std::path::Path;

use jiff::Timestamp;

use crate::agent::Agent;
use crate::entry::{Entry, Record};
use crate::format::{self, SubagentFiles};
use crate::kept_texts::KeptTexts;
use crate::model::{Call, Turn};
use crate::reader::{Options, number_lines};
use crate::source::Source;
use crate::timeline::{self, Placed, Timeline};
use crate::window::ReverseLines;

/// More files than a turn has ever started.
const MOST_FILES: usize = 256;

/// Adds the calls that sub-agents made since the turn began.
pub(crate) fn add_calls(
    timeline: &mut Timeline,
    agent: Agent,
    transcript: &Path,
    turn: &Turn,
    options: &Options,
) {
    let Some(began) = turn.started_at else { return };
    let mut files = match format::of(agent).subagents {
        SubagentFiles::None => return,
        SubagentFiles::Listed(since) => since(transcript, began),
        SubagentFiles::Named(named) => named(transcript, &timeline.subagents),
    };
    files.truncate(MOST_FILES);
    let mut budget = options.max_bytes;
    let mut found = Vec::new();
    for (id, path) in files {
        let Ok(source) = Source::open(&path) else { continue };
        found.push((id, calls_since(&source, agent, began, options, &mut budget)));
    }
    merge(timeline, found);
}

/// Puts the calls of each sub-agent where they belong by time.
pub(crate) fn merge(timeline: &mut Timeline, found: Vec<(String, Vec<Call>)>) {
    if found.is_empty() {
        return;
    }
    let Timeline { calls, messages, .. } = timeline;
    // A forked sub-agent's file repeats the calls of its parent.
    let mut known: HashSet<String> = calls.iter().map(|call| call.id.clone()).collect();
    for (id, made) in found {
        for mut call in made {
            if known.insert(call.id.clone()) {
                call.subagent = Some(id.clone());
                calls.push(call);
            }
        }
    }
    sort_by_time(calls);
    for message in messages {
        if let Some(at) = message.at {
            let earlier = |call: &Call| call.at.is_none_or(|made| made <= at);
            message.calls_before = calls.partition_point(earlier);
        }
    }
}

/// The calls of one file, from the last one back to the turn's beginning.
fn calls_since(
    source: &Source<'_>,
    agent: Agent,
    began: Timestamp,
    options: &Options,
    budget: &mut u64,
) -> Vec<Call> {
    let mut lines = ReverseLines::new(source, options.first_window, *budget);
    let mut records = Vec::new();
    let mut seen = Vec::new();
    let mut texts = KeptTexts::default();
    while let Ok(Some(line)) = lines.next_line() {
        let offset = line.offset;
        seen.push(offset);
        let mut record = format::record(agent, line.bytes).marked(options.mark);
        texts.add(&mut record);
        if made_at(&record).is_some_and(|at| at < began) {
            break;
        }
        if !record.entries.is_empty() {
            records.push(Placed { record, offset, line: None });
        }
    }
    *budget = budget.saturating_sub(source.len() - seen.last().copied().unwrap_or(source.len()));
    records.reverse();
    number_lines(source, &mut records, &seen, options);
    timeline::timeline(records).calls
}

pub(crate) fn made_at(record: &Record) -> Option<Timestamp> {
    record.entries.iter().find_map(|entry| match entry {
        Entry::Call(made) => made.call.at,
        Entry::Result(result) => result.at,
        Entry::Said(said) => said.at,
        _ => None,
    })
}

/// By time; calls without one stay behind the call before them.
fn sort_by_time(calls: &mut [Call]) {
    let mut latest = Timestamp::MIN;
    let mut keyed: Vec<(Timestamp, Call)> = Vec::with_capacity(calls.len());
    for call in calls.iter_mut() {
        if let Some(at) = call.at {
            latest = at;
        }
        keyed.push((latest, std::mem::take(call)));
    }
    keyed.sort_by_key(|(at, _)| *at);
    for (place, (_, call)) in calls.iter_mut().zip(keyed) {
        *place = call;
    }
}
