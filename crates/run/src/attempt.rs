//! One attempt of a stage, on a thread of its own: a fresh folder, the command under supervision, the checks of what it
//! made, and then either its acceptance or an emergency checkpoint of what there is. The exit status decides, and never
//! a marker.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use checkpoint::layout::{Layout, NameError};
use checkpoint::manifest::{Artifact, Reason};
use supervise::marker::Marker;
use supervise::{Controls, How, Isolation, Observed};
use text::error_chain;

use crate::PythonSession;
use crate::event::{Accepted, AcceptedArtifact, AcceptedInput, Ending, HowEnded, VERIFY};
use crate::executor::{self, SessionState, StageEnded};
use crate::fingerprint;
use crate::plan::{InputSource, Kind, Plan, Stage};
use crate::publish;
use crate::stage_checkpoint::{self, StageCheckpoint};

/// So many markers of an attempt go into the record; all of them are in its output.
const MARKERS: u32 = 10_000;
const FINGERPRINT: &str = "fingerprint";
/// So many a second.
const MARKERS_A_SECOND: u32 = 20;

/// What an attempt needs, and nothing that changes while it runs.
pub(crate) struct Job {
    pub(crate) plan: Arc<Plan>,
    pub(crate) stage: usize,
    pub(crate) attempt: u32,
    pub(crate) layout: Layout,
    pub(crate) environment: Arc<Vec<(OsString, OsString)>>,
    pub(crate) isolation: Isolation,
    pub(crate) kept_output: u64,
    pub(crate) controls: Controls,
    /// What the run's Python stages share.
    pub(crate) python: Arc<PythonSession>,
    /// What earlier stages have made and this run still needs: it is in every checkpoint.
    pub(crate) earlier: Vec<PathBuf>,
    /// Files of this stage's last own checkpoint, to go on from.
    pub(crate) to_resume: Vec<Artifact>,
    /// The numbers of checkpoints so far.
    pub(crate) execution_count: u64,
}

impl Job {
    pub(crate) fn stage(&self) -> Option<&Stage> {
        self.plan.stages.get(self.stage)
    }
}

/// What is reported while it runs.
pub(crate) enum AttemptProgress {
    Observed(Observed),
    Checkpoint(StageCheckpoint),
    Warning(String),
}

/// Who hears of it.
pub(crate) type Tell<'a> = &'a (dyn Fn(AttemptProgress) + Sync);

pub(crate) struct AttemptOutcome {
    pub(crate) ending: Option<Ending>,
    pub(crate) result: Result<Accepted, Unaccepted>,
    /// The checkpoint after the stage, or the emergency one; none where the plan wants none or it could not be saved.
    pub(crate) checkpoint: Option<StageCheckpoint>,
}

/// Why nothing of the attempt was accepted.
pub(crate) struct Unaccepted {
    pub(crate) cause: Cause,
    pub(crate) reason: String,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Cause {
    Failed,
    /// The watchdog did it.
    TimedOut,
    /// A person did it.
    Aborted,
}

impl Cause {
    fn checkpoint_reason(self) -> Reason {
        match self {
            Self::Failed => Reason::Error,
            Self::TimedOut => Reason::Timeout,
            Self::Aborted => Reason::Abort,
        }
    }
}

pub(crate) fn run(job: &Job, tell: Tell<'_>) -> AttemptOutcome {
    let mut ending = None;
    let mut checkpoint = None;
    let result = match job.stage() {
        Some(stage) => accepted(job, stage, &mut ending, &mut checkpoint, tell),
        None => Err(failed("there is no such stage")),
    };
    if let (Err(unaccepted), Some(stage)) = (&result, job.stage()) {
        let reason = unaccepted.cause.checkpoint_reason();
        match stage_checkpoint::emergency(&job.layout, &stage.id, job.attempt, reason) {
            Ok((emergency, warnings)) => {
                warnings.into_iter().for_each(|warning| tell(AttemptProgress::Warning(warning)));
                checkpoint = Some(emergency);
            }
            Err(error) => {
                tell(AttemptProgress::Warning(format!("no emergency checkpoint: {}", error_chain(&error))))
            }
        }
    }
    AttemptOutcome { ending, result, checkpoint }
}

fn failed(reason: impl Into<String>) -> Unaccepted {
    Unaccepted { cause: Cause::Failed, reason: reason.into() }
}

impl<E: std::error::Error> From<E> for Unaccepted {
    fn from(error: E) -> Self {
        failed(error_chain(&error))
    }
}

/// Where somebody asked for the end, that is why.
fn aborted(job: &Job) -> Option<Unaccepted> {
    let unaccepted = || Unaccepted { cause: Cause::Aborted, reason: "aborted".to_owned() };
    job.controls.is_asked().then(unaccepted)
}

fn accepted(
    job: &Job,
    stage: &Stage,
    ending: &mut Option<Ending>,
    checkpoint: &mut Option<StageCheckpoint>,
    tell: Tell<'_>,
) -> Result<Accepted, Unaccepted> {
    let attempt = job.layout.attempt(&stage.id, job.attempt)?;
    let artifacts = attempt.join("artifacts");
    publish::make_new_folder(job.layout.root(), &attempt)?;
    publish::make_new_folder(job.layout.root(), &artifacts)?;
    let inputs = inputs(job, stage).map_err(|unaccepted| aborted(job).unwrap_or(unaccepted))?;
    let hashes: Vec<(String, String)> =
        inputs.iter().map(|input| (input.name.clone(), input.sha256.clone())).collect();
    let fingerprint = fingerprint::of_stage(stage, &job.plan.python, job.layout.root(), &hashes);
    // For a later attempt, which goes on from this one's checkpoints only where it does the same.
    fs_err::write(attempt.join(FINGERPRINT), &fingerprint)?;
    let environment = environment(job, stage, &artifacts, &fingerprint, tell)?;
    // Asked for while the inputs were read: nothing is started then.
    aborted(job).map_or(Ok(()), Err)?;

    let ended = supervise(job, stage, &environment, &attempt, tell)?;
    let elapsed = ended.ending.elapsed;
    // A Python stage has told it itself.
    if stage.kind == Kind::Command {
        tell_beside(job, &ended.ending, "", tell);
    }
    *ending = Some(described(&ended.ending));
    judge(&ended.ending, "").map_err(|unaccepted| match ended.raised {
        Some(reason) => Unaccepted { reason, ..unaccepted },
        None => unaccepted,
    })?;
    let mut files = outputs(stage, &artifacts)?;
    if let Some(verify) = &stage.verify {
        let left = stage.max_duration.saturating_sub(elapsed).max(Duration::from_secs(1));
        let command = supervise::Command {
            argv: verify.argv().into_iter().map(OsString::from).collect(),
            output: attempt.join("verify.log"),
            ..command(job, stage, &environment, &attempt)
        };
        let verified = executor::command(
            &command,
            job.isolation,
            &limits(stage, left, None),
            &job.controls,
            &mut |_| {},
        )
        .map_err(|error| failed(format!("`verify` cannot be run: {}", error_chain(&error))))?;
        tell_beside(job, &verified, VERIFY, tell);
        judge(&verified, VERIFY).inspect_err(|_| {
            ending.iter_mut().for_each(|ending| ending.verify_failed = true);
        })?;
        // It may have written there as well.
        files = outputs(stage, &artifacts)?;
    }
    accept(job, stage, fingerprint, inputs, &artifacts, &files, ended.state, checkpoint, tell)
}

/// Output that could not be kept, and processes that were not waited for, are not lost without a word.
fn tell_beside(job: &Job, ending: &supervise::Ending, of: &str, tell: Tell<'_>) {
    if let Some(trouble) = &ending.output.trouble {
        let shown = job.layout.relative(&ending.output.path);
        tell(AttemptProgress::Warning(format!("{of}its output is not all in `{shown}`: {trouble}")));
    }
    match ending.leftovers {
        0 => {}
        1 => tell(AttemptProgress::Warning(format!("{of}a process that it left running was ended"))),
        number => {
            tell(AttemptProgress::Warning(format!("{of}{number} processes that it left running were ended")))
        }
    }
}

/// All files of the attempt, the declared ones among them.
fn outputs(stage: &Stage, artifacts: &std::path::Path) -> Result<Vec<String>, Unaccepted> {
    let files = publish::files(artifacts)?;
    let missing: Vec<&str> = stage
        .outputs
        .iter()
        .filter(|output| !files.contains(&output.path))
        .map(|output| output.path.as_str())
        .collect();
    let folder = missing.iter().find(|path| artifacts.join(path).is_dir());
    match (folder, missing.is_empty()) {
        (Some(path), _) => {
            Err(failed(format!("its output `{path}` is a folder; declare a file in it instead, or none")))
        }
        (None, false) => Err(failed(format!("it did not write its output `{}`", missing.join("`, `")))),
        (None, true) => Ok(files),
    }
}

/// The stage's own command or cell, with what it tells on its way.
fn supervise(
    job: &Job,
    stage: &Stage,
    environment: &[(OsString, OsString)],
    attempt: &std::path::Path,
    tell: Tell<'_>,
) -> Result<StageEnded, Unaccepted> {
    let artifacts = attempt.join("artifacts");
    let command = command(job, stage, environment, attempt);
    let limits = limits(stage, stage.max_duration, Some(artifacts.clone()));
    std::thread::scope(|scope| {
        // The watchdog waits for nobody, so that saving at the stage's word is another thread's work.
        let (wanted, wishes) = mpsc::channel::<()>();
        scope.spawn(move || {
            while wishes.recv().is_ok() {
                // Several words while one was being saved are one checkpoint.
                while wishes.try_recv().is_ok() {}
                match stage_checkpoint::mid_stage(
                    &job.layout,
                    &stage.id,
                    &artifacts,
                    &job.earlier,
                    job.execution_count,
                ) {
                    Ok((checkpoint, warnings)) => {
                        warnings.into_iter().for_each(|warning| tell(AttemptProgress::Warning(warning)));
                        tell(AttemptProgress::Checkpoint(checkpoint));
                    }
                    Err(error) => {
                        tell(AttemptProgress::Warning(format!("no checkpoint: {}", error_chain(&error))))
                    }
                }
            }
        });
        let mut throttle = Throttle::new();
        let mut observe = |observed| match observed {
            Observed::Marker(marker) => {
                if is_wish(&marker) {
                    let _ = wanted.send(());
                }
                if throttle.lets_through() {
                    tell(AttemptProgress::Observed(Observed::Marker(marker)));
                }
            }
            // Nobody asks for the number of bytes; the kept output has them.
            Observed::Output { .. } => {}
            other => tell(AttemptProgress::Observed(other)),
        };
        let watched = match stage.kind {
            Kind::Command => executor::command(&command, job.isolation, &limits, &job.controls, &mut observe)
                .map(|ending| StageEnded { ending, raised: None, state: None }),
            Kind::Python => executor::python(job, stage, environment, &limits, tell, &mut observe),
        };
        drop(wanted);
        if throttle.left_out > 0 {
            tell(AttemptProgress::Warning(format!(
                "{} markers are only in the kept output: they came too fast, or were too many",
                throttle.left_out
            )));
        }
        // It was to end before its code ran: while the kernel started, or was rehydrated.
        watched.map_err(|error| aborted(job).unwrap_or_else(|| error.into()))
    })
}

/// `[CHECKPOINT:saved:…]`: what the stage has written so far is worth keeping.
fn is_wish(marker: &Marker) -> bool {
    marker.kind == "CHECKPOINT" && marker.subtype.as_deref() == Some("saved")
}

fn command(
    job: &Job,
    stage: &Stage,
    environment: &[(OsString, OsString)],
    attempt: &std::path::Path,
) -> supervise::Command {
    supervise::Command {
        argv: stage.command.argv().into_iter().map(OsString::from).collect(),
        environment: environment.to_vec(),
        directory: job.layout.root().join(&stage.directory),
        output: attempt.join("output.log"),
        kept: job.kept_output,
        record: attempt.join("supervisor.json"),
    }
}

fn limits(stage: &Stage, max_duration: Duration, artifacts: Option<PathBuf>) -> supervise::Limits {
    supervise::Limits {
        max_duration: Some(max_duration),
        grace: supervise::Grace {
            interrupt: Some(stage.grace.interrupt),
            terminate: Some(stage.grace.terminate),
            ..supervise::Grace::default()
        },
        stalls: supervise::Stalls {
            no_output: stage.stall.output,
            no_marker: stage.stall.marker,
            idle: stage.stall.idle,
            artifacts,
            interrupt: stage.stall.interrupt,
        },
        ..supervise::Limits::default()
    }
}

fn described(ending: &supervise::Ending) -> Ending {
    let (exit_code, signal) = match ending.status {
        Some(supervise::Status::Exited(code)) => (Some(code), None),
        Some(supervise::Status::Killed(signal)) => (None, Some(signal)),
        None => (None, None),
    };
    Ending {
        how: match ending.how {
            How::Exited(_) => HowEnded::Exited,
            How::Killed(_) => HowEnded::Killed,
            How::TimedOut => HowEnded::TimedOut,
            How::Stalled => HowEnded::Stalled,
            How::Aborted => HowEnded::Aborted,
        },
        exit_code,
        signal,
        elapsed_milliseconds: u64::try_from(ending.elapsed.as_millis()).unwrap_or(u64::MAX),
        output_bytes: ending.output.total,
        verify_failed: false,
    }
}

fn judge(ending: &supervise::Ending, of: &str) -> Result<(), Unaccepted> {
    let cause = match ending.how {
        How::Exited(0) if ending.survivors == 0 => return Ok(()),
        How::Exited(0) => {
            let survivors = ending.survivors;
            let reason =
                format!("{of}{survivors} of its processes cannot be stopped: they belong to another user");
            return Err(failed(reason));
        }
        How::Exited(_) | How::Killed(_) => Cause::Failed,
        How::TimedOut | How::Stalled => Cause::TimedOut,
        How::Aborted => Cause::Aborted,
    };
    Err(Unaccepted { cause, reason: format!("{of}{}", in_words(ending.how, ending.elapsed)) })
}

/// How something ended, for people.
pub(crate) fn in_words(how: How, elapsed: Duration) -> String {
    let interrupted = |why: &str| format!("{why}; interrupted after {:.1} s", elapsed.as_secs_f64());
    match how {
        How::Exited(code) => format!("exit status {code}"),
        How::Killed(signal) => format!("killed by signal {signal}"),
        How::TimedOut => interrupted("it did not end within its time"),
        How::Stalled => interrupted("it looked stuck"),
        How::Aborted => "aborted".to_owned(),
    }
}

/// Published, checkpointed, and described such that a later run knows whether it is still so. Where that fails, what was
/// published before is there again.
#[expect(clippy::too_many_arguments, reason = "the one place where everything of an attempt comes together")]
fn accept(
    job: &Job,
    stage: &Stage,
    fingerprint: String,
    inputs: Vec<AcceptedInput>,
    artifacts: &std::path::Path,
    files: &[String],
    session: Option<SessionState>,
    checkpoint: &mut Option<StageCheckpoint>,
    tell: Tell<'_>,
) -> Result<Accepted, Unaccepted> {
    let published = job.layout.published(&stage.id)?;
    publish::publish(job.layout.root(), artifacts, &published)?;
    match checkpointed(job, stage, &published, files, session, checkpoint, tell) {
        Ok(artifacts) => Ok(Accepted { fingerprint, inputs, artifacts }),
        Err(unaccepted) => {
            if let Err(error) = publish::take_back(artifacts, &published) {
                tell(AttemptProgress::Warning(error_chain(&error)));
            }
            Err(unaccepted)
        }
    }
}

fn checkpointed(
    job: &Job,
    stage: &Stage,
    published: &std::path::Path,
    files: &[String],
    session: Option<SessionState>,
    checkpoint: &mut Option<StageCheckpoint>,
    tell: Tell<'_>,
) -> Result<Vec<AcceptedArtifact>, Unaccepted> {
    let paths: Vec<PathBuf> = files.iter().map(|file| published.join(file)).collect();
    let mut hashes: Vec<Option<(String, u64)>> = vec![None; files.len()];
    if stage.checkpoint_after {
        let (saved, warnings) = stage_checkpoint::after_stage(
            &job.layout,
            &stage.id,
            &paths,
            &job.earlier,
            job.execution_count,
            session,
        )
        .map_err(|error| failed(format!("its checkpoint cannot be saved: {}", error_chain(&error))))?;
        warnings.into_iter().for_each(|warning| tell(AttemptProgress::Warning(warning)));
        if stage.kind == Kind::Python {
            let at = format!("{:.3}", saved.created_at);
            let trouble = job.python.note_checkpoint(&job.layout, &stage.id, job.attempt, &saved.id, &at);
            trouble.into_iter().for_each(|trouble| tell(AttemptProgress::Warning(trouble)));
        }
        for (path, hash) in paths.iter().zip(&mut hashes) {
            let relative = job.layout.relative(path);
            let artifact = saved.artifacts.iter().find(|artifact| artifact.relative_path == relative);
            *hash = artifact.map(|artifact| (artifact.sha256.clone(), artifact.size_bytes));
        }
        *checkpoint = Some(saved);
    }
    let mut described = Vec::new();
    for ((file, path), hash) in files.iter().zip(&paths).zip(hashes) {
        let (sha256, size_bytes) = match hash {
            Some(hash) => hash,
            None => fingerprint::of_file(path)
                .map_err(|error| failed(format!("`{}` cannot be read: {error}", path.display())))?,
        };
        let identity = publish::identity(path).unwrap_or_default();
        described.push(AcceptedArtifact { path: file.clone(), sha256, size_bytes, identity });
    }
    Ok(described)
}

/// Every input with its content as it is now.
fn inputs(job: &Job, stage: &Stage) -> Result<Vec<AcceptedInput>, Unaccepted> {
    stage
        .inputs
        .iter()
        .map(|input| {
            let path = input_path(&job.plan, &job.layout, &input.source)?;
            let identity = publish::identity(&path).unwrap_or_default();
            let (sha256, _) = fingerprint::of_file_while(&path, &|| !job.controls.is_asked())
                .map_err(|error| failed(format!("the input `{}` cannot be read: {error}", path.display())))?;
            Ok(AcceptedInput { name: input.name.clone(), sha256, identity })
        })
        .collect()
}

pub(crate) fn input_path(plan: &Plan, layout: &Layout, source: &InputSource) -> Result<PathBuf, NameError> {
    match source {
        InputSource::File(path) => Ok(layout.root().join(path)),
        InputSource::Output { stage, path } => {
            // Of a plan that was read every stage is there; no name is refused as any other bad one.
            let stage = plan.stages.get(*stage).map_or("", |stage| &stage.id);
            Ok(layout.published(stage)?.join(path))
        }
    }
}

/// What the caller has, then what the plan sets, then what is ours.
fn environment(
    job: &Job,
    stage: &Stage,
    artifacts: &std::path::Path,
    fingerprint: &str,
    tell: Tell<'_>,
) -> Result<Vec<(OsString, OsString)>, Unaccepted> {
    const OURS: [&str; 4] =
        ["CHECKSTONE_RUN_ID", "CHECKSTONE_STAGE_ID", "CHECKSTONE_ARTIFACT_DIR", "CHECKSTONE_RESUME_DIR"];
    let is_ours = |name: &OsString| {
        let name = name.to_string_lossy();
        OURS.contains(&name.as_ref()) || name.starts_with("CHECKSTONE_INPUT_")
    };
    let is_set = |name: &OsString| stage.environment.iter().any(|(set, _)| name == set.as_str());
    let mut all: Vec<(OsString, OsString)> =
        job.environment.iter().filter(|(name, _)| !is_ours(name) && !is_set(name)).cloned().collect();
    all.extend(stage.environment.iter().map(|(name, value)| (name.into(), value.into())));
    all.push(("CHECKSTONE_RUN_ID".into(), job.layout.run().into()));
    all.push(("CHECKSTONE_STAGE_ID".into(), (&stage.id).into()));
    all.push(("CHECKSTONE_ARTIFACT_DIR".into(), artifacts.into()));
    for input in &stage.inputs {
        let path = input_path(&job.plan, &job.layout, &input.source)?;
        all.push((input.variable().into(), path.into()));
    }
    let folder = artifacts.with_file_name("resume");
    let to_resume: Vec<Artifact> =
        job.to_resume.iter().filter(|artifact| is_of_same(job, artifact, fingerprint)).cloned().collect();
    if !to_resume.is_empty() {
        let prefix = format!("{}/", job.layout.relative(&folder));
        match stage_checkpoint::bring_back(&job.layout, &to_resume, &prefix) {
            Ok(()) => all.push(("CHECKSTONE_RESUME_DIR".into(), folder.into())),
            Err(error) => {
                let text = format!(
                    "it begins anew, for what it had saved cannot be brought back: {}",
                    error_chain(&error)
                );
                tell(AttemptProgress::Warning(text));
            }
        }
    } else if !job.to_resume.is_empty() {
        let text =
            "it begins anew, for its command or its inputs are not those that it had saved something for";
        tell(AttemptProgress::Warning(text.to_owned()));
    }
    Ok(all)
}

/// Whether the attempt that saved it ran the same command on the same inputs.
fn is_of_same(job: &Job, artifact: &Artifact, fingerprint: &str) -> bool {
    let Some((run, attempt)) = artifact.relative_path.split_once("/.attempts/") else { return false };
    let parts: Vec<&str> = attempt.splitn(3, '/').collect();
    let [stage, number, _] = parts.as_slice() else { return false };
    let folder = job.layout.root().join(run).join(".attempts").join(stage).join(number);
    let noted = fingerprint::open_regular(&folder.join(FINGERPRINT)).and_then(std::io::read_to_string);
    noted.is_ok_and(|noted| noted == fingerprint)
}

/// Lets so many markers a second into the record, and so many in all.
struct Throttle {
    second: Instant,
    in_second: u32,
    in_all: u32,
    left_out: u64,
}

impl Throttle {
    fn new() -> Self {
        Self { second: Instant::now(), in_second: 0, in_all: 0, left_out: 0 }
    }

    fn lets_through(&mut self) -> bool {
        if self.second.elapsed() >= Duration::from_secs(1) {
            self.second = Instant::now();
            self.in_second = 0;
        }
        if self.in_second >= MARKERS_A_SECOND || self.in_all >= MARKERS {
            self.left_out += 1;
            return false;
        }
        self.in_second += 1;
        self.in_all += 1;
        true
    }
}
