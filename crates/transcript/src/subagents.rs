//! Calls of sub-agents, which write files of their own. They count for the turn that was running when they
//! were made, so they are merged into its timeline by time.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;

use crate::entry::{Entry, Record};
use crate::format;
use crate::kept_texts::KeptTexts;
use crate::model::{Agent, Call, Turn};
use crate::reader::{Options, number_lines};
use crate::source::Source;
use crate::timeline::{self, Placed, Timeline};
use crate::window::ReverseLines;

/// More files than a turn has ever started.
const MOST_FILES: usize = 256;

/// The clock of the file system and that of the client may differ by a little.
const SLACK: jiff::SignedDuration = jiff::SignedDuration::from_secs(2);

/// Adds the calls that sub-agents made since the turn began.
pub(crate) fn add_calls(
    timeline: &mut Timeline,
    agent: Agent,
    transcript: &Path,
    turn: &Turn,
    options: &Options,
) {
    let Some(began) = turn.started_at else { return };
    let files = match agent {
        Agent::Claude => {
            let mut files = claude_files(transcript, began);
            files.truncate(MOST_FILES);
            files
        }
        Agent::Codex => codex_files(transcript, &timeline.subagents),
        Agent::Gemini => gemini_files(transcript, &timeline.subagents),
    };
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

/// `<session>/subagents/agent-<id>.jsonl`, those written to since the turn began.
pub(crate) fn claude_files(transcript: &Path, began: Timestamp) -> Vec<(String, PathBuf)> {
    let folder = transcript.with_extension("").join("subagents");
    let Ok(entries) = fs_err::read_dir(folder) else { return Vec::new() };
    let mut files = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let id = name.to_str().and_then(|name| name.strip_prefix("agent-")?.strip_suffix(".jsonl"));
        // No symbolic link is followed: a link in there is not the client's doing.
        let (Some(id), Ok(metadata)) = (id, entry.metadata()) else { continue };
        let touched = metadata.modified().ok().and_then(|time: SystemTime| Timestamp::try_from(time).ok());
        let stale =
            touched.is_some_and(|touched| touched.saturating_add(SLACK).is_ok_and(|late| late < began));
        if metadata.is_file() && !stale {
            files.push((id.to_owned(), entry.path()));
        }
    }
    files.sort();
    files
}

/// `rollout-<time>-<id>.jsonl` beside the parent's file, for the ids that the turn names.
pub(crate) fn codex_files(transcript: &Path, named: &[String]) -> Vec<(String, PathBuf)> {
    let (false, Some(folder)) = (named.is_empty(), transcript.parent()) else { return Vec::new() };
    let Ok(entries) = fs_err::read_dir(folder) else { return Vec::new() };
    let mut files = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let stem = name.to_str().and_then(|name| name.strip_prefix("rollout-")?.strip_suffix(".jsonl"));
        let id = stem.and_then(|stem| named.iter().find(|id| stem.ends_with(id.as_str())));
        if let (Some(id), Ok(metadata)) = (id, entry.metadata())
            && metadata.is_file()
        {
            files.push((id.clone(), entry.path()));
        }
    }
    files.sort();
    files.truncate(MOST_FILES);
    files
}

/// `<session id>/<id>.jsonl` beside the parent's file, whose name ends in the first part of the session's id.
pub(crate) fn gemini_files(transcript: &Path, named: &[String]) -> Vec<(String, PathBuf)> {
    let stem = transcript.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let session = stem.rsplit('-').next().unwrap_or_default();
    let (false, false, Some(folder)) = (named.is_empty(), session.is_empty(), transcript.parent()) else {
        return Vec::new();
    };
    let Ok(entries) = fs_err::read_dir(folder) else { return Vec::new() };
    let mut files = Vec::new();
    for entry in entries.flatten() {
        let is_session = entry.file_name().to_str().is_some_and(|name| name.starts_with(session))
            && entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_session {
            continue;
        }
        // The id is the client's, but it comes from a file: it must not lead anywhere else.
        for id in
            named.iter().filter(|id| id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'))
        {
            let path = entry.path().join(format!("{id}.jsonl"));
            if fs_err::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file()) {
                files.push((id.clone(), path));
            }
        }
    }
    files.sort();
    files.truncate(MOST_FILES);
    files
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
