//! A policy over folders of transcripts: files are walked on all cores, each session's turns are judged in order, and
//! what comes out is put together in the order of the files, so that the same files give the same report.

pub(crate) mod page;
pub(crate) mod sessions;
pub(crate) mod table;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use gate::replay::{ReplayedTurn, Report, UnreadFile};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::Timestamp;
use transcript::Agent;

use self::sessions::Policies;

/// What is replayed.
pub(crate) struct Request {
    /// Files, and folders that are searched.
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) agent: Option<Agent>,
    pub(crate) since: Option<Timestamp>,
    pub(crate) policies: Policies,
    pub(crate) threads: usize,
    /// Set where the person has had enough.
    pub(crate) interrupted: std::sync::Arc<AtomicBool>,
}

/// A file that may be a transcript.
struct Candidate {
    path: PathBuf,
    size: u64,
    /// The person named it, and wants to know where it is none.
    is_named: bool,
}

/// What one file gave.
enum Walked {
    Turns {
        agent: Agent,
        turns: Vec<ReplayedTurn>,
        stopped: Option<String>,
    },
    /// No transcript, or one that is not meant.
    Other,
    Unread(String),
}

/// How far the work is, for whoever watches.
#[derive(Default)]
pub(crate) struct Progress {
    bytes: AtomicU64,
}

/// Replays everything; `None` where the person interrupted it.
pub(crate) fn replay(request: &Request) -> Option<Report> {
    let candidates = candidates(request);
    let total: u64 = candidates.iter().map(|candidate| candidate.size).sum();
    // The largest first, so that no core is left with one at the end.
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by_key(|place| std::cmp::Reverse(candidates.get(*place).map(|candidate| candidate.size)));
    let next = AtomicUsize::new(0);
    let progress = Progress::default();
    let bar = progress_bar(total);
    let (sender, receiver) = mpsc::channel();
    let mut walked: Vec<Option<Walked>> = candidates.iter().map(|_| None).collect();
    std::thread::scope(|scope| {
        for _ in 0..request.threads.clamp(1, candidates.len().max(1)) {
            let (sender, next, order, candidates, progress) =
                (sender.clone(), &next, &order, &candidates, &progress);
            scope.spawn(move || {
                while let Some(place) = order.get(next.fetch_add(1, Ordering::Relaxed))
                    && let Some(candidate) = candidates.get(*place)
                    && !request.interrupted.load(Ordering::Relaxed)
                {
                    let result = sessions::walk(&candidate.path, request, &progress.bytes);
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
            bar.set_position(progress.bytes.load(Ordering::Relaxed));
        }
    });
    bar.finish_and_clear();
    if request.interrupted.load(Ordering::Relaxed) {
        return None;
    }
    let mut report = Report::default();
    report.policy = request.policies.given();
    for (candidate, result) in candidates.iter().zip(walked) {
        add(&mut report, candidate, result);
    }
    report.finish();
    Some(report)
}

fn add(report: &mut Report, candidate: &Candidate, walked: Option<Walked>) {
    let path = candidate.path.to_string_lossy();
    report.totals.files += 1;
    let mut unread = |reason| report.unread.push(UnreadFile { path: path.to_string(), reason });
    match walked {
        None | Some(Walked::Other) => {}
        // A folder holds many files that are none; one that was named should be.
        Some(Walked::Unread(reason)) if candidate.is_named => unread(reason),
        Some(Walked::Unread(_)) => report.totals.others += 1,
        Some(Walked::Turns { agent, turns, stopped }) => {
            if let Some(reason) = stopped {
                unread(reason);
            }
            report.totals.bytes += candidate.size;
            report.totals.sessions += u64::from(!turns.is_empty());
            for turn in turns {
                report.add(agent, &path, turn);
            }
        }
    }
}

/// Each file once, in the order of names.
fn candidates(request: &Request) -> Vec<Candidate> {
    let mut found: Vec<(PathBuf, bool)> = Vec::new();
    for path in &request.paths {
        if path.is_dir() {
            found.extend(agents::transcripts::under(path).into_iter().map(|path| (path, false)));
        } else {
            found.push((path.clone(), true));
        }
    }
    found.sort();
    found.dedup_by(|later, earlier| later.0 == earlier.0);
    let is_recent =
        |path: &Path| match (request.since, fs_err::metadata(path).and_then(|file| file.modified())) {
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
            let size = fs_err::metadata(&path).map(|file| file.len()).unwrap_or_default();
            Candidate { path, size, is_named }
        })
        .collect()
}

/// Shown where somebody watches; a short run does not flicker.
fn progress_bar(total: u64) -> ProgressBar {
    let is_watched = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let target = if is_watched { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(total), target);
    match ProgressStyle::with_template("{bar:30} {percent:>3} % of {total_bytes}, {binary_bytes_per_sec}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
