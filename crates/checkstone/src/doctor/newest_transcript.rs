//! The newest transcript that a client wrote on this machine, found where the client keeps them, and how much of it is
//! understood: a newer client may write what this version does not know.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use transcript::{Agent, Extent};

use super::finding::Finding;
use crate::home_relative::home_relative;

/// More folders and files than these are not looked through.
const MOST_ENTRIES: usize = 20_000;

/// `home` is the client's own folder, such as `~/.claude`.
pub(crate) fn look(agent: Agent, home: &Path) -> Option<Finding> {
    let path = newest(agent, home)?;
    let coverage = transcript::read(&path, &gate::reading_options(Some(agent))).coverage;
    let shown = home_relative(&path);
    let counts = format!("{} of {} records understood in `{shown}`", coverage.understood, coverage.records);
    Some(match coverage.extent {
        Extent::Complete => Finding::good(agent, "transcript", counts),
        Extent::Truncated => {
            Finding::good(agent, "transcript", format!("{counts}, a turn too long to be read whole"))
        }
        // A session that was opened and left has nothing in it that could be understood.
        Extent::Unavailable if coverage.records == 0 => {
            Finding::note(agent, "transcript", format!("the newest, `{shown}`, is empty"))
        }
        Extent::Unavailable => Finding::problem(agent, "transcript", format!("only {counts}"))
            .advice("this client writes what this version does not know: update checkstone"),
    })
}

fn newest(agent: Agent, home: &Path) -> Option<PathBuf> {
    let is_named = |path: &Path, start: &str, ends: &[&str]| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with(start) && ends.iter().any(|end| name.ends_with(end))
    };
    match agent {
        Agent::Claude => {
            let projects = entries(&home.join("projects"));
            latest(
                projects
                    .iter()
                    .flat_map(|project| entries(project))
                    .filter(|path| is_named(path, "", &[".jsonl"])),
            )
        }
        Agent::Gemini => {
            let projects = entries(&home.join("tmp"));
            let chats = projects.iter().flat_map(|project| entries(&project.join("chats")));
            latest(chats.filter(|path| is_named(path, "session-", &[".jsonl", ".json"])))
        }
        // By year, month and day: the last day that has any is enough.
        Agent::Codex => {
            let mut folders = vec![home.join("sessions")];
            for _ in 0..3 {
                folders = folders.iter().flat_map(|folder| entries(folder)).collect();
                folders.sort();
            }
            folders.iter().rev().find_map(|day| {
                latest(entries(day).into_iter().filter(|path| is_named(path, "rollout-", &[".jsonl"])))
            })
        }
    }
}

/// Links are not followed: only what the client put here counts.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs_err::read_dir(folder) else { return Vec::new() };
    let is_link = |path: &PathBuf| path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    entries.take(MOST_ENTRIES).flatten().map(|entry| entry.path()).filter(|path| !is_link(path)).collect()
}

fn latest(files: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    let changed = |path: &PathBuf| {
        let metadata = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
        metadata.modified().ok()
    };
    let dated = files.take(MOST_ENTRIES).filter_map(|path| Some((changed(&path)?, path)));
    dated.max_by_key(|(at, _): &(SystemTime, PathBuf)| *at).map(|(_, path)| path)
}
