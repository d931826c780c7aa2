//! Every turn of every real sample, as reviewed snapshots.

use std::fs;
use std::path::{Path, PathBuf};

use transcript::{Call, Options, Reading};

use crate::host::read_hosts;

/// The folder of real samples.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples")
}

/// All samples: the transcripts themselves, and the main transcript of those with sub-agents.
pub(crate) fn all() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for client in read_hosts() {
        for entry in fs::read_dir(folder().join(client.name())).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                found.push(path);
                continue;
            }
            let mut inside: Vec<PathBuf> =
                fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()).collect();
            inside.retain(|path| path.is_file());
            inside.sort();
            found.push(inside.remove(0));
        }
    }
    found.sort();
    assert!(found.len() >= 30, "samples are missing");
    found
}

/// A short name: client, version and scenario.
fn name(path: &Path) -> String {
    let relative = path.strip_prefix(folder()).unwrap();
    let mut parts: Vec<_> = relative.iter().map(|part| part.to_str().unwrap()).collect();
    parts.truncate(2);
    parts.join("-").trim_end_matches(".jsonl").to_owned()
}

/// The readings at the end of each turn, first to last: the file is cut where the next turn begins, and so
/// are the files of sub-agents, by time.
fn turns(path: &Path) -> Vec<Reading> {
    let scratch = tempfile::tempdir().unwrap();
    let copy = scratch.path().join(path.file_name().unwrap());
    let mut bytes = fs::read(path).unwrap();
    let mut readings = Vec::new();
    loop {
        fs::write(&copy, &bytes).unwrap();
        copy_beside(path, &copy, &bytes);
        let reading = transcript::read(&copy, &Options::default());
        let line = reading.turn.as_ref().and_then(|turn| turn.line);
        if line.is_some() || readings.is_empty() {
            readings.push(reading);
        }
        let Some(line) = line else { break };
        let before: usize =
            bytes.split_inclusive(|byte| *byte == b'\n').take(line as usize - 1).map(<[u8]>::len).sum();
        bytes.truncate(before);
    }
    readings.reverse();
    readings
}

/// Copies the sub-agents' files, without what came after the end of the main one.
fn copy_beside(path: &Path, copy: &Path, main: &[u8]) {
    let sample = path.parent().unwrap();
    if sample.parent() == Some(&folder()) {
        return;
    }
    copy_until(sample, copy.parent().unwrap(), &latest_time(main), path);
}

fn copy_until(from: &Path, to: &Path, latest: &str, except: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_until(&entry.path(), &target, latest, except);
        } else if entry.path() != except {
            let text = fs::read_to_string(entry.path()).unwrap();
            let kept =
                text.split_inclusive('\n').filter(|line| latest_time(line.as_bytes()).as_str() <= latest);
            fs::write(target, kept.collect::<String>()).unwrap();
        }
    }
}

fn latest_time(lines: &[u8]) -> String {
    let text = String::from_utf8_lossy(lines);
    let times = text.split(r#""timestamp":""#).skip(1).filter_map(|rest| rest.get(..24));
    times.max().unwrap_or_default().to_owned()
}

/// Compact enough to be reviewed: one line a call.
fn summary(reading: &Reading) -> String {
    let turn = reading.turn.as_ref();
    let coverage = &reading.coverage;
    let mut text = format!(
        "prompt: {:?} (line {:?})\nread: {:?}, {} of {} records\n",
        turn.map(|turn| turn.prompt.as_str()),
        turn.and_then(|turn| turn.line),
        coverage.extent,
        coverage.understood,
        coverage.records,
    );
    if let Some(usage) = &reading.usage {
        text += &format!("usage: {} of {:?} ({:?} %)\n", usage.tokens, usage.window, usage.percent);
    }
    for call in &reading.calls {
        let shown = match (&call.command, call.paths.as_slice()) {
            (Some(command), []) => command.clone(),
            (Some(command), paths) => format!("{command} {paths:?}"),
            (None, paths) => paths.join(" "),
        };
        let shown = transcript::visible(&shown);
        text += &format!(
            "{:>4} {} {:?} {} -> {:?} {:?}",
            call.line.map_or("?".to_owned(), |line| line.to_string()),
            call.tool,
            call.kind,
            if shown.len() > 120 {
                format!("{}…", &shown[..shown.floor_char_boundary(117)])
            } else {
                shown
            },
            call.outcome,
            call.exit_code,
        );
        for (holds, mark) in [(call.user_stopped, " user stopped"), (!call.created.is_empty(), " created")] {
            text += if holds { mark } else { "" };
        }
        if let Some(subagent) = &call.subagent {
            text += &format!(" by {}", &subagent[..subagent.len().min(9)]);
        }
        let snippet = transcript::visible(call.snippet.as_deref().unwrap_or_default());
        text += &format!("\n       {}\n", snippet.chars().take(100).collect::<String>());
    }
    text += &format!("said last: {:?}\n", reading.last_assistant.as_deref().unwrap_or_default());
    text
}

/// Each call's times, ids and places are plausible whatever the sample.
fn check_every_call(path: &Path, reading: &Reading) {
    // A client that records no results has no ids to pair them by, and no times.
    let is_bare = |call: &Call| call.id.is_empty() && call.at.is_none() && call.ended_at.is_none();
    let are_bare = reading.calls.iter().all(is_bare);
    for call in &reading.calls {
        assert!(!call.tool.is_empty() && (are_bare || !call.id.is_empty()), "{path:?}: {call:?}");
        assert!(are_bare || call.at.is_some(), "{path:?}: {call:?}");
        assert_eq!(call.path, call.paths.first().cloned());
        assert!(call.ended_at.is_none() || call.ended_at >= call.at, "{path:?}: {call:?}");
    }
    let places: Vec<_> =
        reading.calls.iter().filter(|call| call.subagent.is_none()).map(|call| call.offset).collect();
    assert!(places.is_sorted(), "{path:?}: out of order");
}

#[test]
fn every_turn_of_every_sample() {
    for path in all() {
        let readings = turns(&path);
        let mut text = String::new();
        for (number, reading) in readings.iter().enumerate() {
            check_every_call(&path, reading);
            text += &format!("--- turn {}\n{}\n", number + 1, summary(reading));
        }
        insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "../snapshots", omit_expression => true }, {
            insta::assert_snapshot!(name(&path), text);
        });
    }
}

/// The agent is guessed right from the content of every sample.
#[test]
fn the_agent_is_guessed_from_the_content() {
    for path in all() {
        let reading = transcript::read(&path, &Options::default());
        let client = path.strip_prefix(folder()).unwrap().iter().next().unwrap();
        assert_eq!(reading.agent.unwrap().name(), client, "{path:?}");
    }
}
