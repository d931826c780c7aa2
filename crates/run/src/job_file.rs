//! One attempt of a stage as files in its folder, for whoever carries it out on another machine: the job, which the engine writes
//! before it submits it; the claim of the one process that carries it out; the outcome, which that process writes as its
//! last deed; and in between its beats and what it reports. The engine alone makes a result of them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use checkpoint::layout::{Layout, NameError};
use checkpoint::manifest::Artifact;
use checkpoint::{FileHashes, RemoteError};
use files::{FileError, Links, atomic_file, regular_file};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use supervise::{Controls, Isolation};

use crate::PythonSession;
use crate::attempt::{
    Cause, CheckpointsBy, EarlierArtifact, Job, PreparedAttempt, SessionBefore, Unaccepted,
};
use crate::exchange::{CarriedFiles, ExchangeStore, array_name, object_name};
use crate::fingerprint::Preceding;
use crate::hold::AloneHold;
use crate::plan::{InputSource, Place, Plan, Python, Scalar, Stage, lossless};
use crate::project_code::ProjectCode;
use crate::secret_values::WITHHELD;

/// Of both files.
const VERSION: u32 = 1;

pub(crate) const JOB: &str = "job.json";
/// The job file of an attempt that was given up: nobody may begin it any more.
const REVOKED: &str = "job-revoked.json";
/// By what its job is found, where that is not the attempt's own token.
const MARK: &str = "mark.json";
pub(crate) const CLAIM: &str = "claim.json";
pub(crate) const BEAT: &str = "beat";
pub(crate) const PROGRESS: &str = "progress.jsonl";
/// How often the engine has asked for the end.
pub(crate) const ABORT: &str = "abort";
pub(crate) const OUTCOME: &str = "outcome.json";

/// A job that reads what thousands of instances made names each of them.
const LARGEST: u64 = 256 << 20;

#[derive(Debug, thiserror::Error)]
pub enum JobFileError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("`{}` is not valid", path.display())]
    Damaged { path: PathBuf, source: serde_json::Error },
    #[error("`{}` was written by another version of checkstone (format {found})", path.display())]
    OtherVersion { path: PathBuf, found: u32 },
    #[error("the environment has no `{name}`, which the stage needs")]
    NoSecret { name: String },
    #[error("cannot write to `{}`", path.display())]
    Append { path: PathBuf, source: io::Error },
    #[error("`{name}` cannot be exchanged")]
    Exchange { name: String, source: RemoteError },
}

/// Everything that an attempt needs, and nothing that changes while it runs.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct JobFile {
    version: u32,
    pub(crate) token: String,
    root: PathBuf,
    title: String,
    run: String,
    pub(crate) stage: Stage,
    pub(crate) attempt: u32,
    /// The stages that it reads from, in the order in which its inputs name them.
    input_stages: Vec<InputStage>,
    /// The hashes of its inputs that stages made, by name.
    made: BTreeMap<String, String>,
    preceding: Preceding,
    python: Python,
    most_files: usize,
    kept_output: u64,
    longest_unchecked: Duration,
    session: Option<SessionBefore>,
    earlier: Vec<EarlierArtifact>,
    to_resume: Vec<Artifact>,
    is_after_change: bool,
    execution_count: u64,
    is_trusted: bool,
    /// Environment variables of the stage whose values are secrets: the job's own environment has them.
    withheld: Vec<String>,
    /// What it needs of its project, for a node that does not see that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) carried: Option<CarriedFiles>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct InputStage {
    id: String,
    template: String,
    #[serde(with = "lossless")]
    parameters: Vec<(String, Scalar)>,
}

impl JobFile {
    /// `is_secret` says which of the stage's own environment variables must not be in a file.
    pub(crate) fn of(job: &Job, is_trusted: bool, is_secret: fn(&str, &str) -> bool) -> Option<Self> {
        let mut stage = job.stage()?.clone();
        let mut input_stages: Vec<InputStage> = Vec::new();
        let mut known: BTreeMap<usize, usize> = BTreeMap::new();
        // Its own place is the first.
        let mut place_of = |place: usize| {
            *known.entry(place).or_insert_with(|| {
                if let Some(read) = job.plan.stages.get(place) {
                    let (id, template) = (read.id.clone(), read.template.clone());
                    input_stages.push(InputStage { id, template, parameters: read.parameters.clone() });
                }
                input_stages.len()
            })
        };
        for input in &mut stage.inputs {
            match &mut input.source {
                InputSource::Project(_) => {}
                InputSource::Output { stage, .. } => *stage = place_of(*stage),
                InputSource::Gathered { stages, .. } => {
                    stages.iter_mut().for_each(|stage| *stage = place_of(*stage));
                }
            }
        }
        stage.dependencies.clear();
        stage.named_dependencies.clear();
        let mut withheld = Vec::new();
        for (name, value) in &mut stage.environment {
            if value != WITHHELD && is_secret(name, value) {
                withheld.push(name.clone());
                WITHHELD.clone_into(value);
            }
        }
        Some(Self {
            version: VERSION,
            token: job.token.clone().unwrap_or_default(),
            root: job.layout.root().to_owned(),
            title: job.layout.title().to_owned(),
            run: job.layout.run().to_owned(),
            stage,
            attempt: job.attempt,
            input_stages,
            made: job.made.iter().map(|(name, sha256)| (name.clone(), sha256.clone())).collect(),
            preceding: job.preceding.clone(),
            python: job.plan.python.clone(),
            most_files: job.plan.most_files,
            kept_output: job.kept_output,
            longest_unchecked: job.longest_unchecked,
            session: job.session.clone(),
            earlier: job.earlier.clone(),
            to_resume: job.to_resume.clone(),
            is_after_change: job.is_after_change,
            execution_count: job.execution_count,
            is_trusted,
            withheld,
            carried: None,
        })
    }

    /// Whether another engine, which has the plan as it is now, would let this very work be done.
    pub(crate) fn is_same_work(&self, other: &Self) -> bool {
        let stage = |file: &Self| {
            let mut stage = file.stage.clone();
            // Lines that came before it in the plan do not change it.
            stage.outputs.iter_mut().for_each(|output| output.place = Place::default());
            stage
        };
        let parts = |file: &Self| {
            let parts = (&file.input_stages, &file.made, &file.preceding, &file.python);
            serde_json::to_string(&parts).ok()
        };
        self.token == other.token
            && self.attempt == other.attempt
            && stage(self) == stage(other)
            && parts(self) == parts(other)
    }

    pub(crate) fn read(path: &Path) -> Result<Self, JobFileError> {
        let file: Self = read_json(path)?;
        match file.version {
            VERSION => Ok(file),
            found => Err(JobFileError::OtherVersion { path: path.to_owned(), found }),
        }
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<(), JobFileError> {
        write_json(&folder.join(JOB), self)
    }

    /// One that came by another way than a file; `name` is what it is called there.
    pub(crate) fn of_bytes(name: &str, bytes: &[u8]) -> Result<Self, JobFileError> {
        let path = PathBuf::from(name);
        let file: Self = serde_json::from_slice(bytes)
            .map_err(|source| JobFileError::Damaged { path: path.clone(), source })?;
        match file.version {
            VERSION => Ok(file),
            found => Err(JobFileError::OtherVersion { path, found }),
        }
    }

    /// The same with another folder in the place of its project's.
    pub(crate) fn moved_to(mut self, root: &Path) -> Self {
        let before = std::mem::replace(&mut self.root, root.to_owned());
        let variables = self.session.iter_mut().flat_map(|session| &mut session.variables);
        for artifact in self.earlier.iter_mut().chain(variables) {
            if let Ok(inner) = artifact.path.strip_prefix(&before) {
                artifact.path = root.join(inner);
            }
        }
        self
    }

    /// Where its attempt has its files.
    pub(crate) fn folder(&self) -> Result<PathBuf, JobFileError> {
        Ok(Layout::new(&self.root, &self.title, &self.run)?.attempt(&self.stage.id, self.attempt)?)
    }

    /// The variables that stand in no file, with their values.
    pub(crate) fn secrets(&self, stage: &Stage) -> Vec<(OsString, OsString)> {
        let values = stage.environment.iter().filter(|(name, _)| self.withheld.contains(name));
        values.map(|(name, value)| (name.into(), value.into())).collect()
    }

    pub(crate) fn is_trusted(&self) -> bool {
        self.is_trusted
    }

    /// The attempt, for whoever carries it out.
    pub(crate) fn job(
        mut self,
        environment: Vec<(OsString, OsString)>,
        python: Arc<PythonSession>,
        controls: Controls,
    ) -> Result<Job, JobFileError> {
        let layout = Layout::new(&self.root, &self.title, &self.run)?;
        for (name, value) in
            self.stage.environment.iter_mut().filter(|(name, _)| self.withheld.contains(name))
        {
            let given = environment.iter().find(|(known, _)| known == name.as_str());
            let given = given.and_then(|(_, value)| value.to_str());
            *value = given.ok_or_else(|| JobFileError::NoSecret { name: name.clone() })?.to_owned();
        }
        let folder = layout.attempt(&self.stage.id, self.attempt)?;
        let read = self.input_stages.into_iter().map(|read| Stage {
            id: read.id,
            template: read.template,
            parameters: read.parameters,
            ..self.stage.clone()
        });
        let stages: Vec<Stage> = std::iter::once(self.stage.clone()).chain(read).collect();
        let plan = Plan::without_stages(&self.title).of_stages(self.python, self.most_files, stages);
        // The store is the engine's.
        let hashes = Arc::new(FileHashes::default());
        Ok(Job {
            plan: Arc::new(plan),
            stage: 0,
            attempt: self.attempt,
            layout,
            environment: Arc::new(environment),
            isolation: Isolation::Best,
            kept_output: self.kept_output,
            longest_unchecked: self.longest_unchecked,
            controls,
            token: Some(self.token),
            python,
            code: ProjectCode::new(&self.root, Arc::clone(&hashes)).into(),
            hashes,
            // Nothing is published on a node.
            hold: Arc::new(AloneHold),
            earlier: self.earlier,
            preceding: self.preceding,
            made: self.made.into_iter().collect(),
            session: self.session,
            to_resume: self.to_resume,
            is_after_change: self.is_after_change,
            execution_count: self.execution_count,
            checkpoints: CheckpointsBy::Engine,
            kernel: folder.join("kernel"),
        })
    }
}

/// By what the job of an attempt is found in Slurm's list: the last word of its comment, and its place in an array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JobMark {
    pub(crate) token: String,
    pub(crate) place: Option<usize>,
}

impl JobMark {
    /// That of an attempt. In an array, and in the job of a session, its own token stands in no comment, so that there is a file.
    pub(crate) fn of_attempt(folder: &Path, token: &str) -> Self {
        let alone = || Self { token: token.to_owned(), place: None };
        read_json(&folder.join(MARK)).unwrap_or_else(|_| alone())
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<(), JobFileError> {
        write_json(&folder.join(MARK), self)
    }

    /// `id` and `comment` are those of a job in the list.
    pub(crate) fn is_of(&self, id: &str, comment: &str) -> bool {
        let is_place = |place: usize| id.rsplit_once('_').is_some_and(|(_, at)| at == place.to_string());
        comment.rsplit(' ').next() == Some(self.token.as_str()) && self.place.is_none_or(is_place)
    }
}

/// From now on nobody begins the attempt any more; where that was done before, it stays so.
pub(crate) fn revoke(folder: &Path) {
    let _ = fs_err::rename(folder.join(JOB), folder.join(REVOKED));
}

/// Which attempt a process is to carry out.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobReference {
    pub job_file: PathBuf,
    pub token: String,
}

impl JobReference {
    pub(crate) fn of(folder: &Path, token: &str) -> Self {
        Self { job_file: folder.join(JOB), token: token.to_owned() }
    }

    /// As an exchange without a shared folder knows it.
    pub(crate) fn of_exchange(token: &str) -> Self {
        Self { job_file: object_name(token, JOB).into(), token: token.to_owned() }
    }

    /// One of an array's, in the list that was exchanged.
    pub fn of_exchanged_list(
        store: &dyn ExchangeStore,
        token: &str,
        index: usize,
    ) -> Result<Option<Self>, JobFileError> {
        let name = array_name(token);
        let bytes =
            store.get(&name).map_err(|source| JobFileError::Exchange { name: name.clone(), source })?;
        let all: Vec<Self> = serde_json::from_slice(&bytes.unwrap_or_default())
            .map_err(|source| JobFileError::Damaged { path: name.into(), source })?;
        Ok(all.into_iter().nth(index))
    }

    /// One of an array's.
    pub fn of_list(list: &Path, index: usize) -> Result<Option<Self>, JobFileError> {
        let all: Vec<Self> = read_json(list)?;
        Ok(all.into_iter().nth(index))
    }
}

/// Who carries an attempt out.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClaimFile {
    /// What the scheduler calls it.
    pub(crate) job: String,
    pub(crate) host: String,
    pub(crate) process: u32,
}

impl ClaimFile {
    /// False if somebody else has it already. A name that is made only if there is none is one of the few things that every
    /// shared file system gets right.
    pub(crate) fn claim(&self, folder: &Path) -> Result<bool, JobFileError> {
        let path = folder.join(CLAIM);
        let mut file = match regular_file::append_to_new(&path, 0o644).map_err(io::Error::from) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            Err(source) => return Err(JobFileError::Append { path, source }),
        };
        let written =
            serde_json::to_vec(self).map_err(io::Error::from).and_then(|bytes| file.write_all(&bytes));
        written.map_err(|source| JobFileError::Append { path, source })?;
        Ok(true)
    }

    /// The same where an object is made only if there is none. If the answer to a first try was lost, what is there is this one.
    pub(crate) fn claim_by(&self, store: &dyn ExchangeStore, token: &str) -> Result<bool, JobFileError> {
        let name = object_name(token, CLAIM);
        let failed = |source| JobFileError::Exchange { name: name.clone(), source };
        let bytes = serde_json::to_vec(self)
            .map_err(|source| JobFileError::Damaged { path: CLAIM.into(), source })?;
        Ok(store.put_new(&name, &bytes).map_err(failed)?
            || store.get(&name).map_err(failed)?.is_some_and(|there| there == bytes))
    }

    pub(crate) fn read(folder: &Path) -> Option<Self> {
        read_json(&folder.join(CLAIM)).ok()
    }
}

/// What became of an attempt on its node.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OutcomeFile {
    version: u32,
    token: String,
    pub(crate) prepared: PreparedAttempt,
    /// What the notebook shows of it.
    pub(crate) cells: ShownCells,
}

/// Cells for the run's notebook, which only the engine writes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShownCells {
    pub(crate) language_version: Option<String>,
    pub(crate) cells: Vec<serde_json::Value>,
}

impl OutcomeFile {
    pub(crate) fn write(
        folder: &Path,
        token: &str,
        prepared: PreparedAttempt,
        cells: ShownCells,
    ) -> Result<(), JobFileError> {
        let outcome = Self { version: VERSION, token: token.to_owned(), prepared, cells };
        write_json(&folder.join(OUTCOME), &outcome)
    }

    /// The one in a folder, to be sent elsewhere; `why` is added to the reason of a failure.
    pub(crate) fn bytes_in(folder: &Path, token: &str, why: Option<String>) -> Result<Vec<u8>, JobFileError> {
        let path = folder.join(OUTCOME);
        let mut outcome: Self = read_json(&path)?;
        token.clone_into(&mut outcome.token);
        if let (Some(why), Err(unaccepted)) = (why, &mut outcome.prepared.result) {
            unaccepted.reason = format!("{}; {why}", unaccepted.reason);
        }
        serde_json::to_vec(&outcome).map_err(|source| JobFileError::Damaged { path, source })
    }

    /// Of an attempt that failed before it could write anything.
    pub(crate) fn of_failure(token: &str, reason: String) -> Result<Vec<u8>, JobFileError> {
        let result = Err(Unaccepted { cause: Cause::Failed, reason });
        let prepared = PreparedAttempt { ending: None, result, session_after_failure: None };
        let (token, cells) = (token.to_owned(), ShownCells::default());
        serde_json::to_vec(&Self { version: VERSION, token, prepared, cells })
            .map_err(|source| JobFileError::Damaged { path: OUTCOME.into(), source })
    }

    /// None where it is another attempt's.
    pub(crate) fn read(folder: &Path, token: &str) -> Result<Option<Self>, JobFileError> {
        let path = folder.join(OUTCOME);
        let mut outcome: Self = read_json(&path)?;
        if let PreparedAttempt { ending: Some(ending), result: Err(unaccepted), .. } = &mut outcome.prepared {
            ending.upgrade(&unaccepted.reason);
        }
        match outcome.version {
            VERSION => Ok(Some(outcome).filter(|outcome| outcome.token == token)),
            found => Err(JobFileError::OtherVersion { path, found }),
        }
    }
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, JobFileError> {
    let bytes = regular_file::read(path, Links::Refuse, LARGEST)?;
    serde_json::from_slice(&bytes).map_err(|source| JobFileError::Damaged { path: path.to_owned(), source })
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), JobFileError> {
    let bytes = serde_json::to_vec(value)
        .map_err(|source| JobFileError::Damaged { path: path.to_owned(), source })?;
    Ok(atomic_file::write(path, &bytes, 0o644)?)
}
