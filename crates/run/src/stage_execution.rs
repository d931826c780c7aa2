//! An attempt on the machine that a cluster gave it: the other end of a job file. Here are the limits in seconds, the
//! watchdog and the sweep; outside are only the scheduler's own fence, and the engine, which hears of it by files.
//!
//! One process at most carries an attempt out, whatever the scheduler starts twice: whoever makes the claim. It writes into
//! the attempt's folder and nowhere else, and the outcome is the last thing it writes.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use files::regular_file;
use supervise::Controls;
use text::error_chain;

use crate::PythonSession;
use crate::attempt::{self, Cause, Unaccepted};
use crate::exchange::{self, CarriedFiles, CarryError, ExchangeStore, NodeRelay, ScratchRoot, object_name};
use crate::job_file::{
    ABORT, BEAT, ClaimFile, JOB, JobFile, JobFileError, JobReference, OUTCOME, OutcomeFile, PROGRESS,
};
use crate::next_in_session;
use crate::plan::Kind;

/// How often the engine hears that it is alive.
const BEAT_EVERY: Duration = Duration::from_secs(5);

/// How often it looks whether it is to end.
const LOOK: Duration = Duration::from_millis(200);

/// Within this time a scheduler has signalled every process of a job.
const SIGNALS_REACH_ALL: Duration = Duration::from_secs(2);

const SIGTERM: i32 = rustix::process::Signal::TERM.as_raw();

#[derive(Debug, thiserror::Error)]
pub enum StageExecutionError {
    #[error(transparent)]
    Job(#[from] JobFileError),
    #[error("the attempt in `{}` was abandoned, or belongs to another token; nothing is run", folder.display())]
    OtherToken { folder: PathBuf },
    #[error("another process is running the attempt in `{}`; nothing is run", folder.display())]
    Taken { folder: PathBuf },
    #[error("cannot control the stage")]
    Controls(#[source] std::io::Error),
    #[error("`{}` cannot be used on the node", folder.display())]
    Scratch { folder: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Carry(CarryError),
}

/// What the machine says of itself.
#[derive(Clone, Debug)]
pub struct ComputeNode {
    /// What every stage is given, besides what the plan sets.
    pub environment: Vec<(OsString, OsString)>,
    /// What the scheduler calls this job.
    pub job: String,
    pub host: String,
    /// Set when the scheduler wants the job to end.
    pub interrupt: Arc<AtomicBool>,
}

impl ComputeNode {
    fn claim(&self) -> ClaimFile {
        ClaimFile { job: self.job.clone(), host: self.host.clone(), process: std::process::id() }
    }
}

/// Carries out the attempt of a job file; and after a Python stage those that follow it in its session, for as long as they come.
pub fn execute(reference: &JobReference, node: &ComputeNode) -> Result<(), StageExecutionError> {
    let mut next = reference.clone();
    let mut session: Option<Arc<PythonSession>> = None;
    loop {
        let waits = execute_one(&next.job_file, &next.token, node, &mut session)?;
        let folder = next.job_file.parent().unwrap_or(Path::new("."));
        let followed = waits.then(|| next_in_session::wait(folder, &node.interrupt)).flatten();
        match followed {
            Some(following) => next = following,
            None => {
                session.iter().for_each(|session| session.close());
                return Ok(());
            }
        }
    }
}

/// The same on a machine that does not see the project's folder: everything comes from where the engine put it, and goes there.
pub fn execute_from_exchange(
    store: &Arc<dyn ExchangeStore>,
    token: &str,
    node: &ComputeNode,
    temporary: &Path,
) -> Result<(), StageExecutionError> {
    let mut next = token.to_owned();
    let mut site: Option<NodeSite> = None;
    loop {
        let waits = execute_exchanged(store, &next, node, temporary, &mut site)?;
        let followed = waits.then(|| next_in_session::wait_by(store.as_ref(), &next, &node.interrupt));
        match followed.flatten() {
            Some(following) => next = following,
            None => {
                let session = site.as_ref().and_then(|site| site.session.as_ref());
                session.into_iter().for_each(|session| session.close());
                return Ok(());
            }
        }
    }
}

/// Where the stages of a job are carried out that does not see the project's folder. Those that follow in a session find there what
/// its kernel knows.
struct NodeSite {
    scratch: ScratchRoot,
    /// What of the project is there.
    carried: CarriedFiles,
    session: Option<Arc<PythonSession>>,
}

/// Whether its session can be gone on with.
fn execute_exchanged(
    store: &Arc<dyn ExchangeStore>,
    token: &str,
    node: &ComputeNode,
    temporary: &Path,
    site: &mut Option<NodeSite>,
) -> Result<bool, StageExecutionError> {
    let name = object_name(token, JOB);
    let shown = PathBuf::from(format!("{}/{name}", store.name()));
    let bytes = store.get(&name).map_err(|source| JobFileError::Exchange { name: name.clone(), source })?;
    let Some(bytes) = bytes else { return Err(StageExecutionError::OtherToken { folder: shown }) };
    let file = JobFile::of_bytes(&name, &bytes)?;
    if file.token != token {
        return Err(StageExecutionError::OtherToken { folder: shown });
    }
    if !node.claim().claim_by(store.as_ref(), token)? {
        return Err(StageExecutionError::Taken { folder: shown });
    }
    let relay = NodeRelay::start(store, token);
    // Whatever goes wrong from here on is what became of the attempt.
    let executed = NodeSite::of(site, temporary)
        .and_then(|site| site.execute_and_finish(file, token, node, store.as_ref(), &relay));
    let error = match executed {
        Ok(waits) => return Ok(waits),
        Err(error) => error,
    };
    let mut reason = error_chain(&error);
    if let Some(full) = exchange::full_disk(temporary, &node.host) {
        reason = format!("{reason}; {full}");
    }
    *site = None;
    let outcome = OutcomeFile::of_failure(token, reason)?;
    relay.finish(None, &outcome).map_err(StageExecutionError::Carry)?;
    Ok(false)
}

impl NodeSite {
    /// The one that is there, or a new one.
    fn of<'a>(site: &'a mut Option<Self>, temporary: &Path) -> Result<&'a mut Self, StageExecutionError> {
        match site {
            Some(site) => Ok(site),
            None => {
                let scratch = ScratchRoot::new(temporary).map_err(|source| StageExecutionError::Scratch {
                    folder: temporary.to_owned(),
                    source,
                })?;
                Ok(site.insert(Self { scratch, carried: CarriedFiles::default(), session: None }))
            }
        }
    }

    fn execute_and_finish(
        &mut self,
        file: JobFile,
        token: &str,
        node: &ComputeNode,
        store: &dyn ExchangeStore,
        relay: &NodeRelay,
    ) -> Result<bool, StageExecutionError> {
        let file = file.moved_to(self.scratch.path());
        let folder = file.folder()?;
        let made = fs_err::create_dir_all(&folder);
        made.map_err(|source| StageExecutionError::Scratch { folder: folder.clone(), source })?;
        let carried = file.carried.clone().unwrap_or_default();
        let before = std::mem::take(&mut self.carried);
        carried.fetch_after(&before, self.scratch.path(), store).map_err(StageExecutionError::Carry)?;
        self.carried = carried;
        file.write(&folder)?;
        relay.follow(&folder);
        let waits = execute_one(&folder.join(JOB), token, node, &mut self.session)?;
        let outcome = OutcomeFile::bytes_in(&folder, token, self.scratch.reason_if_full(&node.host))?;
        relay.finish(Some(&folder), &outcome).map_err(StageExecutionError::Carry)?;
        Ok(waits)
    }
}

/// Whether its session can be gone on with.
fn execute_one(
    job_file: &Path,
    token: &str,
    node: &ComputeNode,
    session: &mut Option<Arc<PythonSession>>,
) -> Result<bool, StageExecutionError> {
    let folder = job_file.parent().unwrap_or(Path::new(".")).to_owned();
    let file = JobFile::read(job_file)?;
    if file.token != token {
        return Err(StageExecutionError::OtherToken { folder });
    }
    if !node.claim().claim(&folder)? {
        return Err(StageExecutionError::Taken { folder });
    }
    let is_trusted = file.is_trusted();
    let python = session.get_or_insert_with(|| Arc::new(PythonSession::on_node(is_trusted)));
    let controls = Controls::new().map_err(StageExecutionError::Controls)?;
    let job = file.job(node.environment.clone(), Arc::clone(python), controls.clone())?;
    let path = folder.join(PROGRESS);
    let progress = regular_file::append(&path, 0o644).map_err(JobFileError::from)?;
    let progress = Mutex::new(progress);
    let tell = |told: attempt::AttemptProgress| {
        if let Ok(mut line) = serde_json::to_vec(&told) {
            line.push(b'\n');
            // What is only told may get lost; what counts is in the outcome.
            let _ = progress.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line);
        }
    };
    let was_ended = AtomicBool::new(false);
    let mut prepared = std::thread::scope(|scope| {
        let (done, ended) = mpsc::channel::<()>();
        let (folder, was_ended) = (&folder, &was_ended);
        scope.spawn(move || stay_in_touch(folder, &controls, &node.interrupt, was_ended, &ended));
        let prepared = attempt::prepare(&job, &tell);
        drop(done);
        prepared
    });
    let is_terminated = prepared.ending.as_ref().is_some_and(|ending| ending.signal == Some(SIGTERM));
    if (was_ended.load(Ordering::SeqCst) || was_signalled(&node.interrupt, is_terminated))
        && let Err(unaccepted) = &mut prepared.result
    {
        let reason = "its job was ended from outside: by `scancel`, a limit or preemption".to_owned();
        *unaccepted = Unaccepted { cause: Cause::Failed, reason };
    }
    let waits = prepared.result.is_ok() && job.stage().is_some_and(|stage| stage.kind == Kind::Python);
    if waits {
        next_in_session::offer(&folder);
    }
    // Nobody looks into the folder of an attempt that was given up.
    OutcomeFile::write(&folder, token, prepared, job.python.shown_cells())?;
    Ok(waits)
}

/// The scheduler signals all processes of a job one after another: a stage that was terminated may be gone a moment before
/// the signal reaches this process.
fn was_signalled(interrupt: &AtomicBool, is_terminated: bool) -> bool {
    let until = Instant::now() + SIGNALS_REACH_ALL;
    while is_terminated && !interrupt.load(Ordering::SeqCst) && Instant::now() < until {
        std::thread::sleep(LOOK);
    }
    interrupt.swap(false, Ordering::SeqCst)
}

/// Beats, and ends the stage where somebody wants it.
fn stay_in_touch(
    folder: &Path,
    controls: &Controls,
    interrupt: &AtomicBool,
    was_ended: &AtomicBool,
    done: &mpsc::Receiver<()>,
) {
    let (mut beats, mut aborts) = (0_u64, 0_usize);
    let mut last: Option<Instant> = None;
    loop {
        if last.is_none_or(|last| last.elapsed() >= BEAT_EVERY) {
            beats += 1;
            last = Some(Instant::now());
            let new = folder.join(".beat.new");
            // A beat that cannot be written is one that the engine misses, and it knows what to do then.
            let _ =
                fs_err::write(&new, beats.to_string()).and_then(|()| fs_err::rename(&new, folder.join(BEAT)));
        }
        if interrupt.swap(false, Ordering::SeqCst) {
            was_ended.store(true, Ordering::SeqCst);
            controls.abort();
        }
        // Listed rather than looked up: a shared file system may remember for a while that a name is not there.
        let names = names_in(folder);
        if names.iter().any(|name| name == ABORT) {
            let asked = fs_err::read(folder.join(ABORT)).map_or(1, |bytes| bytes.len());
            for _ in aborts..asked {
                controls.abort();
            }
            aborts = aborts.max(asked);
        }
        let is_revoked = !names.is_empty() && !names.iter().any(|name| name == JOB);
        if is_revoked && aborts == 0 {
            aborts = usize::MAX;
            controls.abort();
            controls.abort();
        }
        match done.recv_timeout(LOOK) {
            Err(RecvTimeoutError::Timeout) => {}
            _ => return,
        }
    }
}

/// Empty if it cannot be listed.
pub(crate) fn names_in(folder: &Path) -> Vec<OsString> {
    let entries = fs_err::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).collect()
}

/// Whether an outcome is there.
pub(crate) fn has_outcome(names: &[OsString]) -> bool {
    names.iter().any(|name| name == OUTCOME)
}
