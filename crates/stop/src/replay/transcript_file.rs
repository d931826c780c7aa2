//! One session: whose transcript it is, where the agent worked, which policy holds there, and each turn judged.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agents::transcripts::{self, Introduction};
use gate::policy::Policy;
use jiff::Timestamp;
use programs::repository::Repository;
use sha2::{Digest as _, Sha256};
use text::hexadecimal;
use transcript::{Agent, Kind, Reading, WalkedTurn};

use crate::policy_files::PolicyTexts;
use crate::replay::replayed_session::{NotJudged, ReplayedSession, ReplayedTurn};
use crate::repository_files;

/// Which turns are wanted, and what they are judged by.
#[derive(Debug)]
pub struct ReplayFilter {
    pub agent: Option<Agent>,
    pub since: Option<Timestamp>,
    pub policies: ReplayPolicies,
    /// The checkout whose own words count for every session, and whose policy does if it has one and none is given; without
    /// it, that in which each session worked. A session that does not say where it worked, worked in it.
    pub checkout: Option<PathBuf>,
    /// The words of the checkouts that were asked for so far.
    pub words: CheckoutWords,
    /// Set where the person has had enough.
    pub interrupted: Arc<AtomicBool>,
}

/// What one file gave.
#[derive(Debug)]
pub(crate) enum ReplayedFile {
    Turns {
        agent: Agent,
        turns: Vec<ReplayedTurn>,
        /// How much of it was read.
        bytes: u64,
        stopped: Option<String>,
    },
    /// No transcript, or one that is not meant.
    Other,
    Unread(String),
}

/// The policy for each session.
#[derive(Debug)]
pub enum ReplayPolicies {
    /// The same for all, and the file that it comes from.
    Given { policy: Arc<Policy>, file: PathBuf },
    /// That of the repository in which the session worked.
    Own { known: Mutex<HashMap<PathBuf, OwnPolicy>>, user_file: Option<PathBuf> },
}

/// What checkouts say of themselves, each read once.
#[derive(Debug, Default)]
pub struct CheckoutWords(Mutex<HashMap<PathBuf, Arc<Repository>>>);

impl CheckoutWords {
    fn of(&self, checkout: &Path) -> Arc<Repository> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let read = || Repository::of_files("", &repository_files::of_checkout(checkout));
        Arc::clone(known.entry(checkout.to_owned()).or_insert_with(|| Arc::new(read())))
    }
}

/// A policy, or why there is none.
type OwnPolicy = Result<Arc<Policy>, NotJudged>;

impl ReplayPolicies {
    /// `user_file` is the user's own configuration.
    pub fn own(user_file: Option<PathBuf>) -> Self {
        Self::Own { known: Mutex::default(), user_file }
    }

    pub(crate) fn given(&self) -> Option<String> {
        match self {
            Self::Given { file, .. } => Some(file.to_string_lossy().into_owned()),
            Self::Own { .. } => None,
        }
    }

    fn of(&self, root: &Path) -> OwnPolicy {
        let (known, user_file) = match self {
            Self::Given { policy, .. } => return Ok(Arc::clone(policy)),
            Self::Own { known, user_file } => (known, user_file.as_deref()),
        };
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let policy = known.entry(root.to_owned()).or_insert_with(|| {
            let texts = PolicyTexts::of_repository(root, user_file).ok_or(NotJudged::NoPolicy)?;
            texts.load().map(Arc::new).map_err(|_| NotJudged::BrokenPolicy)
        });
        policy.clone()
    }
}

/// Walks one file and judges its turns.
pub(crate) fn walk(path: &Path, filter: &ReplayFilter, progress: &AtomicU64) -> ReplayedFile {
    let mut walk = match transcript::walk(path, &gate::reading_options(None)) {
        Ok(walk) => walk,
        Err(reason) => return ReplayedFile::Unread(reason.to_string()),
    };
    let agent = walk.agent();
    let introduction = transcripts::introduction(agent, path);
    if introduction.is_subagent || filter.agent.is_some_and(|wanted| wanted != agent) {
        return ReplayedFile::Other;
    }
    let mut turns = Vec::new();
    let mut judging = FileJudging::NotBegun { introduction };
    let mut counted = 0;
    while let Some(turn) = walk.next() {
        if filter.interrupted.load(Ordering::Relaxed) {
            return ReplayedFile::Other;
        }
        let position = walk.position();
        progress.fetch_add(position - counted, Ordering::Relaxed);
        counted = position;
        judging = judging.begun(&turn.reading, filter);
        let turn = judging.judge(turn, filter);
        // Earlier turns are judged all the same: what they leave behind counts.
        if filter.since.is_none_or(|since| turn.started_at.is_some_and(|began| began >= since)) {
            turns.push(turn);
        }
    }
    progress.fetch_add(walk.position().saturating_sub(counted), Ordering::Relaxed);
    let stopped = walk.stopped().map(str::to_owned);
    ReplayedFile::Turns { agent, turns, bytes: walk.position(), stopped }
}

/// How far it is known what the session is judged by.
enum FileJudging {
    NotBegun { introduction: Introduction },
    Begun { policy: Arc<Policy>, session: Box<ReplayedSession> },
    Impossible { reason: NotJudged, root: String },
}

impl FileJudging {
    fn begun(self, reading: &Reading, filter: &ReplayFilter) -> Self {
        let Self::NotBegun { introduction } = self else { return self };
        let checkout = filter.checkout.as_deref();
        match root(&introduction, reading, checkout) {
            Some(root) => Self::in_repository(&root, filter),
            None => Self::NotBegun { introduction },
        }
    }

    fn in_repository(root: &Path, filter: &ReplayFilter) -> Self {
        let checkout = filter.checkout.as_deref();
        let policy = match checkout.map(|checkout| filter.policies.of(checkout)) {
            None | Some(Err(NotJudged::NoPolicy)) => filter.policies.of(root),
            Some(policy) => policy,
        };
        match policy {
            Ok(policy) => {
                // Where there is no repository, everything below the folder might be anybody's.
                let own = || root.join(".git").exists().then_some(root);
                let words = checkout.or_else(own).map(|checkout| filter.words.of(checkout));
                let root = root.to_string_lossy().into_owned();
                let session = ReplayedSession::new(root, words.as_deref().cloned());
                Self::Begun { policy, session: Box::new(session) }
            }
            Err(reason) => Self::Impossible { reason, root: root.to_string_lossy().into_owned() },
        }
    }

    fn judge(&mut self, turn: WalkedTurn, filter: &ReplayFilter) -> ReplayedTurn {
        let (project, judged) = match self {
            Self::Begun { policy, session } => {
                let judged = session.judge(policy, turn);
                (Some(session.root().to_owned()), judged)
            }
            Self::Impossible { reason, root } => {
                (Some(root.clone()), ReplayedTurn::not_judged(&turn, *reason))
            }
            // It edited no file that would tell under which path the checkout lay.
            Self::NotBegun { .. } => match &filter.checkout {
                Some(checkout) => return Self::in_repository(checkout, filter).judge(turn, filter),
                None => (None, ReplayedTurn::not_judged(&turn, NotJudged::NoFolder)),
            },
        };
        ReplayedTurn { project, ..judged }
    }
}

/// The repository that the session worked in, as far as it or its turn tells. One that names no folder worked in the given checkout, under
/// whichever path that lay then.
fn root(introduction: &Introduction, reading: &Reading, checkout: Option<&Path>) -> Option<PathBuf> {
    let hash = introduction.folder_hash.as_deref();
    let told = introduction.folder.clone().or_else(|| folder_of_hash(hash?, reading));
    told.as_deref().map(repository_of).or_else(|| folder_like(checkout?, reading))
}

/// The nearest folder with a repository in it, where it is still there; no git is asked.
fn repository_of(folder: &Path) -> PathBuf {
    let has_repository = |folder: &&Path| folder.join(".git").exists();
    folder.ancestors().find(has_repository).unwrap_or(folder).to_owned()
}

/// The folder whose path has this hash, among those in which the turn's files lie.
fn folder_of_hash(hash: &str, reading: &Reading) -> Option<PathBuf> {
    let mut files = reading.calls.iter().flat_map(|call| &call.paths).map(Path::new);
    files.find_map(|file| {
        let mut folders = file.ancestors().skip(1).filter(|folder| folder.is_absolute());
        folders
            .find(|folder| hexadecimal(&Sha256::digest(folder.to_string_lossy().as_bytes())) == hash)
            .map(Path::to_owned)
    })
}

/// The folder in which the files that the turn edited lie as they lie in the checkout; none where it edited none.
fn folder_like(checkout: &Path, reading: &Reading) -> Option<PathBuf> {
    let edits = reading.calls.iter().filter(|call| matches!(call.kind, Kind::Edit | Kind::Write));
    let is_plain = |path: &&Path| !path.components().any(|part| part == Component::ParentDir);
    let edited: Vec<&Path> = edits.flat_map(|call| &call.paths).map(Path::new).filter(is_plain).collect();
    let first = edited.first()?;
    if edited.iter().any(|file| file.is_relative() || file.starts_with(checkout)) {
        return Some(checkout.to_owned());
    }
    // A file, or else the nearest folder above it that is in the checkout; the longest way to it is the least likely to be a coincidence.
    let is_there = |folder: &Path, path: &Path| {
        path.strip_prefix(folder)
            .is_ok_and(|rest| !rest.as_os_str().is_empty() && checkout.join(rest).exists())
    };
    let folder_of =
        |path: &Path| path.ancestors().filter(|folder| is_there(folder, path)).last().map(Path::to_owned);
    let known = edited.iter().flat_map(|file| file.ancestors()).find_map(folder_of);
    known.or_else(|| {
        first
            .ancestors()
            .skip(1)
            .find(|folder| edited.iter().all(|file| file.starts_with(folder)))
            .map(Path::to_owned)
    })
}
