//! A policy over folders of transcripts: files are walked on all cores, each session's turns are judged in order, and
//! what comes out is put together in the order of the files, so that the same files give the same report.

mod replayed_session;
mod report;
mod transcript_file;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use agents::transcripts;
use jiff::Timestamp;

use self::transcript_file::ReplayedFile;

pub use replayed_session::{NotJudged, ReplayedSession, ReplayedTurn};
pub use report::{
    ActionCount, HeldThen, Hold, OtherTurn, ReasonCount, Report, RuleCount, Totals, UnreadFile,
};
pub use transcript_file::{CheckoutWords, ReplayFilter, ReplayPolicies};

/// What is replayed.
#[derive(Debug)]
pub struct ReplayRequest {
    /// Files, and folders that are searched.
    pub paths: Vec<PathBuf>,
    pub filter: ReplayFilter,
    pub threads: usize,
}

/// A file that may be a transcript.
#[derive(Debug)]
struct Candidate {
    path: PathBuf,
    size: u64,
    /// The person named it, and wants to know where it is none.
    is_named: bool,
}

/// Replays everything; `None` if the person interrupted it. `watch` is told the bytes that were read, and of how many.
pub fn replay(request: &ReplayRequest, mut watch: impl FnMut(u64, u64)) -> Option<Report> {
    let filter = &request.filter;
    let candidates = candidates(request);
    let total: u64 = candidates.iter().map(|candidate| candidate.size).sum();
    // The largest first, so that no core is left with one at the end.
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by_key(|place| std::cmp::Reverse(candidates.get(*place).map(|candidate| candidate.size)));
    let next = AtomicUsize::new(0);
    let progress = AtomicU64::new(0);
    let (sender, receiver) = mpsc::channel();
    let mut walked: Vec<Option<ReplayedFile>> = candidates.iter().map(|_| None).collect();
    std::thread::scope(|scope| {
        for _ in 0..request.threads.clamp(1, candidates.len().max(1)) {
            let (sender, next, order, candidates, progress) =
                (sender.clone(), &next, &order, &candidates, &progress);
            scope.spawn(move || {
                while let Some(place) = order.get(next.fetch_add(1, Ordering::Relaxed))
                    && let Some(candidate) = candidates.get(*place)
                    && !filter.interrupted.load(Ordering::Relaxed)
                {
                    let result = transcript_file::walk(&candidate.path, filter, progress);
                    if sender.send((*place, result)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        loop {
            match receiver.recv_timeout(Duration::from_millis(100)) {
                Ok((place, result)) => {
                    if let Some(slot) = walked.get_mut(place) {
                        *slot = Some(result);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            watch(progress.load(Ordering::Relaxed), total);
        }
    });
    if filter.interrupted.load(Ordering::Relaxed) {
        return None;
    }
    let mut report = Report::default();
    report.policy = filter.policies.given();
    for (candidate, result) in candidates.iter().zip(walked) {
        add(&mut report, candidate, result);
    }
    report.finish();
    Some(report)
}

fn add(report: &mut Report, candidate: &Candidate, walked: Option<ReplayedFile>) {
    let path = candidate.path.to_string_lossy();
    report.totals.files += 1;
    let mut unread = |reason| report.unread.push(UnreadFile { path: path.to_string(), reason });
    match walked {
        None | Some(ReplayedFile::Other) => {}
        // A folder holds many files that are none; one that was named should be.
        Some(ReplayedFile::Unread(reason)) if candidate.is_named => unread(reason),
        Some(ReplayedFile::Unread(_)) => report.totals.others += 1,
        Some(ReplayedFile::Turns { agent, turns, bytes, stopped }) => {
            if let Some(reason) = stopped {
                unread(reason);
            }
            report.totals.bytes += bytes;
            report.totals.sessions += u64::from(!turns.is_empty());
            for turn in turns {
                report.add(agent, &path, turn);
            }
        }
    }
}

/// Each file, and each session of a database, once, in the order of names.
fn candidates(request: &ReplayRequest) -> Vec<Candidate> {
    let mut found: Vec<(PathBuf, bool)> = Vec::new();
    for path in &request.paths {
        let inside = match path.is_dir() {
            true => transcripts::under(path),
            false => transcripts::in_database(path),
        };
        // A file that holds no sessions is one itself.
        if inside.is_empty() && !path.is_dir() {
            found.push((path.clone(), true));
        }
        found.extend(inside.into_iter().map(|path| (path, false)));
    }
    found.sort();
    found.dedup_by(|later, earlier| later.0 == earlier.0);
    let is_recent =
        |path: &Path| match (request.filter.since, fs_err::metadata(path).and_then(|file| file.modified())) {
            // Nothing in it can be newer than its last write.
            (Some(since), Ok(modified)) => {
                Timestamp::try_from(modified).is_ok_and(|modified| modified >= since)
            }
            _ => true,
        };
    found
        .into_iter()
        .filter(|(path, _)| is_recent(path))
        .map(|(path, is_named)| {
            // Of a session in a database it is not known.
            let size = fs_err::metadata(&path).map(|file| file.len()).unwrap_or_default();
            Candidate { path, size, is_named }
        })
        .collect()
}
