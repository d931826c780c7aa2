//! One attempt of a stage: a fresh folder, the command under supervision, the checks of what it made, and then either its
//! acceptance or an emergency checkpoint of what there is. The exit status decides, and never a marker.
//!
//! It has two halves. What is *prepared* touches nothing but the attempt's folder, and may be done on another machine;
//! what is *committed* is published and checkpointed, and is done beside the engine alone.

mod commit;
mod ending;
mod prepare;
mod stage_environment;

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use checkpoint::FileHashes;
use checkpoint::layout::Layout;
use checkpoint::manifest::{Artifact, Reason};
use serde::{Deserialize, Serialize};
use supervise::{Controls, Isolation, Signal};
use text::error_chain;

use crate::PythonSession;
use crate::attempt_artifacts;
use crate::event::{Accepted, AcceptedArtifact, Ending};
use crate::fingerprint::Preceding;
use crate::hold::RunHold;
use crate::plan::{Kind, Plan, Stage};
use crate::project_code::ProjectCode;
use crate::publish;
use crate::stage_checkpoint::{CheckpointWarning, StageCheckpoint, WithWarnings};
use crate::stage_work::SessionState;

#[cfg_attr(
    not(feature = "python"),
    expect(unused_imports, reason = "only a session that is brought back asks for it")
)]
pub(crate) use ending::in_words;

/// The file in an attempt's folder that says what it was known by.
pub(crate) const FINGERPRINT: &str = "fingerprint";

/// What an attempt needs, and nothing that changes while it runs.
pub(crate) struct Job {
    pub(crate) plan: Arc<Plan>,
    pub(crate) stage: usize,
    pub(crate) attempt: u32,
    pub(crate) layout: Layout,
    pub(crate) environment: Arc<Vec<(OsString, OsString)>>,
    pub(crate) isolation: Isolation,
    pub(crate) kept_output: u64,
    pub(crate) longest_unchecked: Duration,
    pub(crate) controls: Controls,
    /// By which the attempt is known wherever it runs; none where it does not outlive this process.
    pub(crate) token: Option<String>,
    /// What the run's Python stages share.
    pub(crate) python: Arc<PythonSession>,
    pub(crate) hashes: Arc<FileHashes>,
    /// Whether what is published here still counts.
    pub(crate) hold: Arc<dyn RunHold>,
    pub(crate) code: Arc<ProjectCode>,
    /// What earlier stages have made and this run still needs: it is in every checkpoint.
    pub(crate) earlier: Vec<EarlierArtifact>,
    pub(crate) preceding: Preceding,
    /// The hashes of its inputs that stages made, by name.
    pub(crate) made: HashMap<String, String>,
    /// What the session holds when a Python stage begins, where it holds anything.
    pub(crate) session: Option<SessionBefore>,
    /// Files of this stage's last own checkpoint, to go on from.
    pub(crate) to_resume: Vec<Artifact>,
    /// Something had changed under the attempt before it.
    pub(crate) is_after_change: bool,
    /// The numbers of checkpoints so far.
    pub(crate) execution_count: u64,
    pub(crate) checkpoints: CheckpointsBy,
    /// Where the kernel of a Python stage has its own files.
    #[cfg_attr(not(feature = "python"), expect(dead_code, reason = "without a kernel nobody asks"))]
    pub(crate) kernel: PathBuf,
}

/// Who saves a checkpoint at the stage's word.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum CheckpointsBy {
    /// Whoever runs the attempt.
    Attempt,
    /// The engine: the attempt runs elsewhere, and writes into its own folder alone.
    Engine,
}

/// A file that a stage published which is complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct EarlierArtifact {
    pub(crate) path: PathBuf,
    pub(crate) sha256: String,
    /// Checkpoints hold no copy of it.
    pub(crate) is_reference: bool,
}

/// What the last Python stage before another one left in the session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SessionBefore {
    pub(crate) stage: usize,
    pub(crate) stage_id: String,
    /// What the session is known by then.
    pub(crate) session: String,
    /// It was there when the attempt was begun, in the kernel or in a checkpoint.
    pub(crate) is_kept: bool,
    /// The files that hold its variables, where they were saved.
    pub(crate) variables: Vec<EarlierArtifact>,
}

impl Job {
    pub(crate) fn stage(&self) -> Option<&Stage> {
        self.plan.stages.get(self.stage)
    }
}

/// What is reported while it runs.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AttemptProgress {
    Marker(String),
    Stall(String),
    Signalled(Signal),
    Suspended {
        milliseconds: u64,
    },
    Warning(String),
    /// Checkpoints hold copies of large artifacts; worth saying once a run.
    CopiesArtifacts,
    /// The stage wants what it has so far to be kept, and the engine is to do it.
    WantsCheckpoint,
    #[serde(skip)]
    Checkpoint(Box<StageCheckpoint>),
}

/// Who hears of it.
pub(crate) type Tell<'a> = &'a (dyn Fn(AttemptProgress) + Sync);

pub(crate) struct AttemptOutcome {
    pub(crate) ending: Option<Ending>,
    pub(crate) result: Result<Accepted, Unaccepted>,
    /// The checkpoint after the stage, or the emergency one; none where the plan wants none or it could not be saved.
    pub(crate) checkpoint: Option<StageCheckpoint>,
}

/// What an attempt came to, before anything of it is published.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PreparedAttempt {
    pub(crate) ending: Option<Ending>,
    pub(crate) result: Result<PreparedResult, Unaccepted>,
    /// What an emergency checkpoint should say of the session.
    pub(crate) session_after_failure: Option<SessionState>,
}

/// What could be accepted.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PreparedResult {
    /// Without its artifacts.
    accepted: Accepted,
    files: Vec<String>,
    /// The same files with their hashes, where whoever prepared them has read them. What is published must be that.
    hashed: Option<Vec<AcceptedArtifact>>,
    session: Option<SessionState>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Unaccepted {
    pub(crate) cause: Cause,
    pub(crate) reason: String,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Cause {
    Failed,
    /// The watchdog did it.
    TimedOut,
    /// A person did it.
    Aborted,
    /// Whoever ran it is gone, which is not the stage's doing.
    Lost,
}

impl Cause {
    fn checkpoint_reason(self) -> Reason {
        match self {
            Self::Failed | Self::Lost => Reason::Error,
            Self::TimedOut => Reason::Timeout,
            Self::Aborted => Reason::Abort,
        }
    }
}

/// All of it, here.
pub(crate) fn run(job: &Job, tell: Tell<'_>) -> AttemptOutcome {
    let Some(mut attempt) = RunningAttempt::of(job, tell) else { return AttemptOutcome::of_no_stage() };
    let is_python = attempt.stage.kind == Kind::Python;
    let result = job.make_folder().map_err(Unaccepted::from).and_then(|()| attempt.prepared());
    let result = result.and_then(|prepared| attempt.published(prepared));
    if is_python {
        // What an attempt that was not accepted did to the session is none of the next one's.
        job.python.end_of_attempt(result.as_ref().ok().and_then(|accepted| accepted.session.as_deref()));
    }
    let session = || is_python.then(|| job.session_after_failure()).flatten();
    attempt.concluded(result, session)
}

/// The half that touches nothing but the attempt's folder, which is there already.
pub(crate) fn prepare(job: &Job, tell: Tell<'_>) -> PreparedAttempt {
    let Some(mut attempt) = RunningAttempt::of(job, tell) else {
        let result = Err(failed("there is no such stage"));
        return PreparedAttempt { ending: None, result, session_after_failure: None };
    };
    let is_python = attempt.stage.kind == Kind::Python;
    let result = attempt.prepared().and_then(|prepared| attempt.hashed(prepared));
    if is_python {
        let session = result.as_ref().ok().and_then(|prepared| prepared.accepted.session.as_deref());
        job.python.end_of_attempt(session);
    }
    let session_after_failure = (is_python && result.is_err()).then(|| job.session_after_failure()).flatten();
    PreparedAttempt { ending: attempt.ending, result, session_after_failure }
}

/// The other half, of what was prepared elsewhere.
pub(crate) fn commit(job: &Job, prepared: PreparedAttempt, tell: Tell<'_>) -> AttemptOutcome {
    let Some(mut attempt) = RunningAttempt::of(job, tell) else { return AttemptOutcome::of_no_stage() };
    attempt.ending = prepared.ending;
    let result = prepared.result.and_then(|prepared| attempt.published(prepared));
    attempt.concluded(result, || prepared.session_after_failure)
}

/// A checkpoint at the word of a stage that runs elsewhere.
pub(crate) fn save_half_way(job: &Job, tell: Tell<'_>) {
    let Some(attempt) = RunningAttempt::of(job, tell) else { return };
    if let Ok(folder) = job.layout.attempt(&attempt.stage.id, job.attempt) {
        attempt.save_half_way(&attempt_artifacts::find(&folder));
    }
}

impl AttemptOutcome {
    fn of_no_stage() -> Self {
        Self { ending: None, result: Err(failed("there is no such stage")), checkpoint: None }
    }
}

impl Job {
    /// Nothing of another attempt is in it.
    pub(crate) fn make_folder(&self) -> Result<(), publish::PublishError> {
        let id = self.stage().map(|stage| stage.id.as_str()).unwrap_or_default();
        let folder = self.layout.attempt(id, self.attempt).map_err(files::FileError::from)?;
        publish::make_new_folder(self.layout.root(), &folder)
    }

    fn session_after_failure(&self) -> Option<SessionState> {
        self.python.after_failure(&self.layout, &self.stage()?.id, self.attempt)
    }
}

fn failed(reason: impl Into<String>) -> Unaccepted {
    Unaccepted { cause: Cause::Failed, reason: reason.into() }
}

impl<E: std::error::Error> From<E> for Unaccepted {
    fn from(error: E) -> Self {
        failed(error_chain(&error))
    }
}

/// An attempt under way, and what is known of its end so far.
struct RunningAttempt<'a> {
    job: &'a Job,
    stage: &'a Stage,
    tell: Tell<'a>,
    ending: Option<Ending>,
    checkpoint: Option<StageCheckpoint>,
    /// What it was warned of.
    told: Mutex<BTreeSet<String>>,
}

impl<'a> RunningAttempt<'a> {
    fn of(job: &'a Job, tell: Tell<'a>) -> Option<Self> {
        let stage = job.stage()?;
        Some(Self { job, stage, tell, ending: None, checkpoint: None, told: Mutex::default() })
    }

    /// Nobody is told the same twice.
    fn warn(&self, text: impl Into<String>) {
        let text = text.into();
        let is_new = self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(text.clone());
        if is_new {
            (self.tell)(AttemptProgress::Warning(text));
        }
    }

    fn without_warnings(&self, (checkpoint, warnings): WithWarnings) -> StageCheckpoint {
        for warning in warnings {
            match warning {
                CheckpointWarning::CopiesArtifacts => (self.tell)(AttemptProgress::CopiesArtifacts),
                CheckpointWarning::Other(text) => self.warn(text),
            }
        }
        checkpoint
    }
}
