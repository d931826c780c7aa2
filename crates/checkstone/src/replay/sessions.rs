//! One session: whose transcript it is, where the agent worked, which policy holds there, and each turn judged.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agents::transcripts::{self, Introduction};
use gate::policy::Policy;
use gate::replay::{ReplayedTurn, Session};
use sha2::{Digest as _, Sha256};
use transcript::{Options, Reading, WalkedTurn};

use super::{Request, Walked};
use crate::repository_policy;

/// The policy for each session.
pub(crate) enum Policies {
    /// The same for all, and the file that it comes from.
    Given { policy: Arc<Policy>, file: PathBuf },
    /// That of the repository in which the session worked.
    Own(Mutex<HashMap<PathBuf, OwnPolicy>>),
}

/// A policy, or why there is none.
type OwnPolicy = Result<Arc<Policy>, &'static str>;

impl Policies {
    pub(crate) fn own() -> Self {
        Self::Own(Mutex::default())
    }

    pub(crate) fn given(&self) -> Option<String> {
        match self {
            Self::Given { file, .. } => Some(file.to_string_lossy().into_owned()),
            Self::Own(_) => None,
        }
    }

    fn of(&self, root: &Path) -> OwnPolicy {
        let known = match self {
            Self::Given { policy, .. } => return Ok(Arc::clone(policy)),
            Self::Own(known) => known,
        };
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let policy = known.entry(root.to_owned()).or_insert_with(|| {
            let texts = repository_policy::of(root).ok_or(NO_POLICY)?;
            texts.load().map(Arc::new).map_err(|_| BROKEN_POLICY)
        });
        policy.clone()
    }
}

const NO_POLICY: &str = "its repository has no policy";
const BROKEN_POLICY: &str = "the policy of its repository has mistakes";
const NO_FOLDER: &str = "the transcript does not say in which folder the agent worked";

/// Walks one file and judges its turns.
pub(super) fn walk(path: &Path, request: &Request, progress: &AtomicU64) -> Walked {
    let mut walk = match transcript::walk(path, &Options::default()) {
        Ok(walk) => walk,
        Err(reason) => return Walked::Unread(reason),
    };
    let agent = walk.agent();
    let introduction = transcripts::introduction(agent, path);
    if introduction.is_subagent || request.agent.is_some_and(|wanted| wanted != agent) {
        return Walked::Other;
    }
    let mut turns = Vec::new();
    let mut judging = Judging::NotBegun { introduction };
    let mut counted = 0;
    while let Some(turn) = walk.next() {
        if request.interrupted.load(Ordering::Relaxed) {
            return Walked::Other;
        }
        let position = walk.position();
        progress.fetch_add(position - counted, Ordering::Relaxed);
        counted = position;
        judging = judging.begun(&turn.reading, &request.policies);
        let turn = judging.judge(turn);
        // Earlier turns are judged all the same: what they leave behind counts.
        if request.since.is_none_or(|since| turn.began().is_some_and(|began| began >= since)) {
            turns.push(turn);
        }
    }
    progress.fetch_add(walk.position().saturating_sub(counted), Ordering::Relaxed);
    Walked::Turns { agent, turns, stopped: walk.stopped().map(str::to_owned) }
}

/// How far it is known what the session is judged by.
enum Judging {
    NotBegun { introduction: Introduction },
    Begun { policy: Arc<Policy>, session: Session },
    Impossible(&'static str),
}

impl Judging {
    fn begun(self, reading: &Reading, policies: &Policies) -> Self {
        let Self::NotBegun { introduction } = self else { return self };
        let hash = introduction.folder_hash.as_deref();
        let folder =
            introduction.folder.clone().or_else(|| hash.and_then(|hash| folder_of_hash(hash, reading)));
        let Some(folder) = folder else { return Self::NotBegun { introduction } };
        let root = repository_of(&folder);
        match policies.of(&root) {
            Ok(policy) => Self::Begun { policy, session: Session::new(root.to_string_lossy().into_owned()) },
            Err(reason) => Self::Impossible(reason),
        }
    }

    fn judge(&mut self, turn: WalkedTurn) -> ReplayedTurn {
        match self {
            Self::Begun { policy, session } => session.judge(policy, turn),
            Self::Impossible(reason) => ReplayedTurn::not_judged(&turn, reason),
            Self::NotBegun { .. } => ReplayedTurn::not_judged(&turn, NO_FOLDER),
        }
    }
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
        folders.find(|folder| sha256(folder.to_string_lossy().as_bytes()) == hash).map(Path::to_owned)
    })
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
