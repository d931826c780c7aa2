//! Where Codex keeps its transcripts.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use files::{Links, regular_file};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::transcripts::{FILES, Introduction, files_of, first_line, folders_of, newest_first, spelled};

/// So many folders of days are looked into, the newest first: two years of daily work.
const DAYS: usize = 750;

/// So much of a sub-agent's thread is looked through for what a person asked in it.
const LARGEST_THREAD: u64 = 256 * 1024 * 1024;

/// The kind of an event stands at the beginning of its line.
const LONGEST_EVENT_HEAD: usize = 160;

/// The transcript of a Codex thread, under `home` (`~/.codex`). A thread that was rewound has several files; the one
/// written last counts.
pub(super) fn of_thread(home: &Path, thread: &str) -> Option<PathBuf> {
    let is_it = |path: &PathBuf| {
        path.file_stem().and_then(|stem| stem.to_str()).is_some_and(|stem| names(stem, thread))
    };
    let mut looked_at = 0;
    for day in days(home) {
        let files = files_of(&day);
        looked_at += files.len();
        let found: Vec<PathBuf> = files.into_iter().filter(is_it).collect();
        if let Some(newest) = newest_first(found).into_iter().next() {
            return Some(newest);
        }
        if looked_at > FILES {
            break;
        }
    }
    None
}

/// `rollout-<time>-<thread>` or `rollout-<time>-<thread>_<rewinding>`.
fn names(stem: &str, thread: &str) -> bool {
    let thread_part = stem.rsplit_once('_').map_or(stem, |(before, _)| before);
    !thread.is_empty() && thread_part.strip_suffix(thread).is_some_and(|before| before.ends_with('-'))
}

pub(super) fn introduction(transcript: &Path) -> Introduction {
    introduced(transcript).unwrap_or_default()
}

fn introduced(transcript: &Path) -> Option<Introduction> {
    #[derive(Deserialize)]
    struct CodexHead {
        payload: Meta,
    }
    #[derive(Deserialize)]
    struct Meta {
        id: Option<String>,
        cwd: Option<PathBuf>,
        thread_source: Option<String>,
        parent_thread_id: Option<String>,
        timestamp: Option<String>,
        source: Option<ThreadSource>,
    }
    /// The client's kind, or who started the thread.
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum ThreadSource {
        Subagent { subagent: IgnoredAny },
        Other(IgnoredAny),
    }
    let head: CodexHead = serde_json::from_slice(&first_line(transcript)?).ok()?;
    let Meta { id, cwd, thread_source, parent_thread_id, timestamp, source } = head.payload;
    let was_spawned = parent_thread_id.is_some()
        || thread_source.as_deref() == Some("subagent")
        || matches!(source, Some(ThreadSource::Subagent { subagent: IgnoredAny }));
    let is_subagent =
        was_spawned && !instant(timestamp.as_deref()).is_some_and(|began| person_goes_on(transcript, began));
    Some(Introduction { session: id, folder: cwd.map(spelled), is_subagent, ..Introduction::default() })
}

/// What is copied from the parent's thread has the time of the copy.
const COPYING: SignedDuration = SignedDuration::from_secs(5);

/// Whether somebody asked something in a sub-agent's thread after its own work was over: then it is a session (W29).
fn person_goes_on(transcript: &Path, began: Timestamp) -> bool {
    #[derive(Deserialize)]
    struct EventLine {
        timestamp: String,
        payload: ThreadEventKind,
    }
    #[derive(Deserialize)]
    struct ThreadEventKind {
        r#type: String,
    }
    let Ok(file) = regular_file::open(transcript, Links::Follow) else { return false };
    let lines = BufReader::new(file.take(LARGEST_THREAD)).split(b'\n').map_while(Result::ok);
    let mut is_over = false;
    for line in lines {
        let head = String::from_utf8_lossy(line.get(..LONGEST_EVENT_HEAD).unwrap_or(&line)).into_owned();
        if !head.contains("\"task_complete\"") && !head.contains("\"user_message\"") {
            continue;
        }
        let Ok(event) = serde_json::from_slice::<EventLine>(&line) else { continue };
        match event.payload.r#type.as_str() {
            "task_complete" => {
                let ended = instant(Some(&event.timestamp));
                is_over |= ended.is_some_and(|ended| ended.duration_since(began) > COPYING);
            }
            "user_message" if is_over => return true,
            _ => {}
        }
    }
    false
}

fn instant(text: Option<&str>) -> Option<Timestamp> {
    text?.parse().ok()
}

pub(super) fn all(home: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for day in days(home) {
        files.extend(files_of(&day));
        if files.len() > FILES {
            break;
        }
    }
    files
}

/// `sessions/<year>/<month>/<day>`, the newest first.
fn days(home: &Path) -> Vec<PathBuf> {
    let mut days = Vec::new();
    for year in folders_of(&home.join("sessions")) {
        for month in folders_of(&year) {
            days.extend(folders_of(&month));
            if days.len() > DAYS {
                return days;
            }
        }
    }
    days
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rollout_is_known_by_the_thread_at_the_end_of_its_name() {
        let thread = "01a1dd46-616f-7481-a7e0-0a1e66112dfb";
        for (stem, is_it) in [
            ("rollout-2026-11-15T03-35-39-01a1dd46-616f-7481-a7e0-0a1e66112dfb", true),
            (
                "rollout-2026-11-15T03-35-51-01a1dd46-616f-7481-a7e0-0a1e66112dfb_01a1dd46-903b-7792-a896-112ce61bf195",
                true,
            ),
            ("rollout-2026-11-15T03-35-39-01a1dd46-616f-7481-a7e0-0a1e66112dfc", false),
            ("rollout-2026-11-15T03-35-39-0", false),
        ] {
            assert_eq!(names(stem, thread), is_it, "{stem}");
        }
        assert!(!names("rollout-2026-11-15T03-35-39-01a1dd46", ""));
    }
}
