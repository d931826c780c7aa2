//! One attempt of a stage, on a thread of its own: a fresh folder, the command under supervision, the checks of what it
//! made, and then either its acceptance or an emergency checkpoint of what there is. The exit status decides, and never
//! a marker.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use checkpoint::layout::Layout;
use checkpoint::manifest::{Artifact, Reason};
use checkpoint::{FileContent, FileHashes};
use supervise::{Controls, How, Isolation, Observed};
use text::error_chain;

use crate::PythonSession;
use crate::event::{Accepted, AcceptedArtifact, AcceptedInput, Ending, HowEnded, VERIFY};
use crate::executor::{self, CellJob, ExecuteError, SessionState, StageEnded};
use crate::fingerprint::{self, Preceding};
use crate::input_content::{self, InputContent, InputReader, ReadInput};
use crate::marker_limit::MarkerLimit;
use crate::plan::{Input, Kind, Output, Plan, Stage};
use crate::project_code::ProjectCode;
use crate::publish;
use crate::secret_values::WITHHELD;
use crate::stage_checkpoint::{self, StageCheckpoint, WithWarnings};
use crate::stage_now::Known;
use crate::stage_parts;

const FINGERPRINT: &str = "fingerprint";
/// How the reason ends of an attempt under which something changed.
pub(crate) const WHILE_IT_RAN: &str = "while it ran";

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
    /// What the run's Python stages share.
    pub(crate) python: Arc<PythonSession>,
    pub(crate) hashes: Arc<FileHashes>,
    pub(crate) code: Arc<ProjectCode>,
    /// What earlier stages have made and this run still needs: it is in every checkpoint.
    pub(crate) earlier: Vec<EarlierArtifact>,
    pub(crate) preceding: Preceding,
    /// The hashes of its inputs that stages made, by name.
    pub(crate) made: HashMap<String, String>,
    /// What the session holds when a Python stage begins, where it holds anything.
    #[cfg_attr(
        not(feature = "python"),
        expect(dead_code, reason = "only a session that is brought back asks for it")
    )]
    pub(crate) session: Option<SessionBefore>,
    /// Files of this stage's last own checkpoint, to go on from.
    pub(crate) to_resume: Vec<Artifact>,
    /// Something had changed under the attempt before it.
    pub(crate) is_after_change: bool,
    /// The numbers of checkpoints so far.
    pub(crate) execution_count: u64,
}

/// A file that a stage published which is complete.
#[derive(Clone, Debug)]
pub(crate) struct EarlierArtifact {
    pub(crate) path: PathBuf,
    #[cfg_attr(
        not(feature = "python"),
        expect(dead_code, reason = "only a session that is brought back asks for it")
    )]
    pub(crate) sha256: String,
    /// Checkpoints hold no copy of it.
    pub(crate) is_reference: bool,
}

/// What the last Python stage before another one left in the session.
#[derive(Clone, Debug)]
pub(crate) struct SessionBefore {
    pub(crate) stage: usize,
    #[cfg_attr(
        not(feature = "python"),
        expect(dead_code, reason = "only a session that is brought back asks for it")
    )]
    pub(crate) stage_id: String,
    /// What the session is known by then.
    pub(crate) session: String,
    /// It was there when the attempt was begun, in the kernel or in a checkpoint.
    pub(crate) is_kept: bool,
    /// The files that hold its variables, where they were saved.
    #[cfg_attr(
        not(feature = "python"),
        expect(dead_code, reason = "only a session that is brought back asks for it")
    )]
    pub(crate) variables: Vec<EarlierArtifact>,
}

impl Job {
    pub(crate) fn stage(&self) -> Option<&Stage> {
        self.plan.stages.get(self.stage)
    }
}

/// What is reported while it runs.
pub(crate) enum AttemptProgress {
    Observed(Observed),
    Checkpoint(Box<StageCheckpoint>),
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
    let Some(stage) = job.stage() else {
        return AttemptOutcome {
            ending: None,
            result: Err(failed("there is no such stage")),
            checkpoint: None,
        };
    };
    let mut attempt =
        RunningAttempt { job, stage, tell, ending: None, checkpoint: None, told: Mutex::default() };
    let result = attempt.accepted();
    if stage.kind == Kind::Python {
        // What an attempt that was not accepted did to the session is none of the next one's.
        job.python.end_of_attempt(result.as_ref().ok().and_then(|accepted| accepted.session.as_deref()));
    }
    if let Err(unaccepted) = &result {
        let reason = unaccepted.cause.checkpoint_reason();
        let session = (stage.kind == Kind::Python)
            .then(|| job.python.after_failure(&job.layout, &stage.id, job.attempt))
            .flatten();
        match stage_checkpoint::emergency(&job.layout, &stage.id, job.attempt, reason, session) {
            Ok(emergency) => attempt.checkpoint = Some(attempt.without_warnings(emergency)),
            Err(error) => attempt.warn(format!("no emergency checkpoint: {}", error_chain(&error))),
        }
    }
    let RunningAttempt { ending, checkpoint, .. } = attempt;
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

impl RunningAttempt<'_> {
    /// Nobody is told the same twice.
    fn warn(&self, text: impl Into<String>) {
        let text = text.into();
        let is_new = self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(text.clone());
        if is_new {
            (self.tell)(AttemptProgress::Warning(text));
        }
    }

    fn without_warnings(&self, (checkpoint, warnings): WithWarnings) -> StageCheckpoint {
        warnings.into_iter().for_each(|warning| self.warn(warning));
        checkpoint
    }

    /// Where somebody asked for the end, that is why.
    fn aborted(&self) -> Option<Unaccepted> {
        let unaccepted = || Unaccepted { cause: Cause::Aborted, reason: "aborted".to_owned() };
        self.job.controls.is_asked().then(unaccepted)
    }

    fn accepted(&mut self) -> Result<Accepted, Unaccepted> {
        let Self { job, stage, .. } = *self;
        let attempt = job.layout.attempt(&stage.id, job.attempt)?;
        let artifacts = attempt.join("artifacts");
        publish::make_new_folder(job.layout.root(), &attempt)?;
        publish::make_new_folder(job.layout.root(), &artifacts)?;
        let written = self.last_written();
        let inputs = self.inputs().map_err(|unaccepted| self.aborted().unwrap_or(unaccepted))?;
        let hashes: Vec<(String, String)> =
            inputs.iter().map(|input| (input.name.clone(), input.sha256.clone())).collect();
        let (python, code) = (&job.plan.python, &job.code.of_stage(stage));
        let fingerprint = fingerprint::of_stage(stage, python, code, &hashes, &job.preceding);
        let parts = stage_parts::of_stage(stage, python, code, &job.preceding);
        // For a later attempt, which goes on from this one's checkpoints only where it does the same.
        fs_err::write(attempt.join(FINGERPRINT), &fingerprint)?;
        let environment = self.environment(&artifacts, &fingerprint)?;
        // Asked for while the inputs were read: nothing is started then.
        self.aborted().map_or(Ok(()), Err)?;

        let ended = self.supervise(&environment, &attempt)?;
        let elapsed = ended.ending.elapsed;
        // A Python stage has told it itself.
        if stage.kind == Kind::Command {
            self.tell_beside(&ended.ending, "");
        }
        self.ending = Some(described(&ended.ending));
        judge(&ended.ending, "").map_err(|unaccepted| match ended.raised {
            Some(reason) => Unaccepted { reason, ..unaccepted },
            None => unaccepted,
        })?;
        let mut files = outputs(stage, &artifacts, job.plan.most_files)?;
        if let Some(verify) = &stage.verify {
            let left = stage.max_duration.saturating_sub(elapsed).max(Duration::from_secs(1));
            let command = supervise::Command {
                argv: verify.argv().into_iter().map(OsString::from).collect(),
                output: attempt.join("verify.log"),
                ..self.command(&environment, &attempt)
            };
            let limits = limits(stage, left, None);
            let verified = executor::command(&command, job.isolation, &limits, &job.controls, &mut |_| {})
                .map_err(|error| failed(format!("`verify` cannot be run: {}", error_chain(&error))))?;
            self.tell_beside(&verified, VERIFY);
            judge(&verified, VERIFY).inspect_err(|_| {
                self.ending.iter_mut().for_each(|ending| ending.verify_failed = true);
            })?;
            // It may have written there as well.
            files = outputs(stage, &artifacts, job.plan.most_files)?;
        }
        let session = Some(fingerprint::of_attempt(&fingerprint, job.layout.run(), job.attempt));
        let accepted = Accepted { fingerprint, parts, session, inputs, artifacts: Vec::new() };
        self.is_known_by_what_it_read(&accepted, &written)?;
        let artifacts = self.publish(&artifacts, &files, ended.state)?;
        Ok(Accepted { artifacts, ..accepted })
    }

    /// Nobody knows which content was read of something that changed meanwhile, so that what was made of it is nobody's result.
    fn is_known_by_what_it_read(
        &self,
        began: &Accepted,
        written: &[Option<String>],
    ) -> Result<(), Unaccepted> {
        let Self { job: Job { plan, layout, hashes, code, preceding, .. }, stage, .. } = *self;
        // What stages published is read as well: somebody may have written into it.
        let known = Known { plan, layout, hashes, code, accepted: &|_| None };
        let mut changes = known.changes_since(stage, began, preceding);
        if changes.is_empty() {
            // Changed and changed back: it may have read the one or the other.
            let now = self.last_written();
            let both =
                stage.inputs.iter().zip(written.iter().zip(&now)).filter(|(_, (then, now))| then != now);
            changes = both
                .map(|(input, _)| format!("input `{}` was written to", input.source.shown(plan)))
                .collect();
            // Twice is no accident: it does so itself, and leaves it as it was.
            if self.job.is_after_change {
                changes.drain(..).for_each(|change| self.warn(format!("{change} {WHILE_IT_RAN}, again")));
            }
        }
        if changes.is_empty() {
            return Ok(());
        }
        Err(self.aborted().unwrap_or_else(|| failed(format!("{} {WHILE_IT_RAN}", changes.join(", ")))))
    }

    /// Output that could not be kept, and processes that were not waited for, are not lost without a word.
    fn tell_beside(&self, ending: &supervise::Ending, of: &str) {
        if let Some(trouble) = &ending.output.trouble {
            let shown = self.job.layout.relative(&ending.output.path);
            self.warn(format!("{of}its output is not all in `{shown}`: {trouble}"));
        }
        match ending.leftovers {
            0 => {}
            1 => self.warn(format!("{of}a process that it left running was ended")),
            number => self.warn(format!("{of}{number} processes that it left running were ended")),
        }
    }

    /// The stage's own command or cell, with what it tells on its way.
    fn supervise(
        &self,
        environment: &[(OsString, OsString)],
        attempt: &Path,
    ) -> Result<StageEnded, Unaccepted> {
        let Self { job, stage, tell, .. } = *self;
        let artifacts = attempt.join("artifacts");
        let command = self.command(environment, attempt);
        let is_checked = stage.max_duration > job.longest_unchecked && !stage.is_unchecked;
        let limits = supervise::Limits {
            checkpoint_every: is_checked.then_some(job.longest_unchecked),
            ..limits(stage, stage.max_duration, Some(artifacts.clone()))
        };
        std::thread::scope(|scope| {
            // The watchdog waits for nobody, so that saving at the stage's word is another thread's work.
            let (wanted, wishes) = mpsc::channel::<()>();
            scope.spawn(move || {
                while wishes.recv().is_ok() {
                    // Several words while one was being saved are one checkpoint.
                    while wishes.try_recv().is_ok() {}
                    let (layout, earlier) = (&job.layout, &job.earlier);
                    let count = job.execution_count;
                    match stage_checkpoint::mid_stage(layout, &stage.id, &artifacts, earlier, count) {
                        Ok(saved) => {
                            tell(AttemptProgress::Checkpoint(Box::new(self.without_warnings(saved))))
                        }
                        Err(error) => self.warn(format!("no checkpoint: {}", error_chain(&error))),
                    }
                }
            });
            let mut markers = MarkerLimit::new();
            let mut observe = |observed| match observed {
                Observed::Marker(marker) => {
                    if marker.is_checkpoint() {
                        let _ = wanted.send(());
                    }
                    if markers.lets_through(&marker) {
                        tell(AttemptProgress::Observed(Observed::Marker(marker)));
                    }
                }
                // Nobody asks for the number of bytes; the kept output has them.
                Observed::Output { .. } => {}
                other => tell(AttemptProgress::Observed(other)),
            };
            let watched = match stage.kind {
                Kind::Command => {
                    executor::command(&command, job.isolation, &limits, &job.controls, &mut observe)
                        .map(|ending| StageEnded { ending, raised: None, state: None })
                }
                Kind::Python => {
                    let warn = |text| self.warn(text);
                    let cell = CellJob { job, stage, environment, limits: &limits, warn: &warn };
                    job.python.run(&cell, &mut observe).map_err(ExecuteError::from)
                }
            };
            drop(wanted);
            markers.left_out().into_iter().for_each(|told| self.warn(told));
            // It was to end before its code ran: while the kernel started, or was rehydrated.
            watched.map_err(|error| self.aborted().unwrap_or_else(|| error.into()))
        })
    }

    fn command(&self, environment: &[(OsString, OsString)], attempt: &Path) -> supervise::Command {
        supervise::Command {
            argv: self.stage.command.argv().into_iter().map(OsString::from).collect(),
            environment: environment.to_vec(),
            directory: self.job.layout.root().join(&self.stage.directory),
            output: attempt.join("output.log"),
            kept: self.job.kept_output,
            record: attempt.join("supervisor.json"),
        }
    }

    /// Published, checkpointed, and described such that a later run knows whether it is still so. Where that fails, what was
    /// published before is there again.
    fn publish(
        &mut self,
        artifacts: &Path,
        files: &[String],
        session: Option<SessionState>,
    ) -> Result<Vec<AcceptedArtifact>, Unaccepted> {
        let layout = &self.job.layout;
        let published = layout.published(&self.stage.id)?;
        publish::publish(layout.root(), artifacts, &published)?;
        self.checkpointed(&published, files, session).inspect_err(|_| {
            if let Err(error) = publish::take_back(artifacts, &published) {
                self.warn(error_chain(&error));
            }
        })
    }

    fn checkpointed(
        &mut self,
        published: &Path,
        files: &[String],
        session: Option<SessionState>,
    ) -> Result<Vec<AcceptedArtifact>, Unaccepted> {
        let Self { job, stage, .. } = *self;
        let paths: Vec<PathBuf> = files.iter().map(|file| published.join(file)).collect();
        let mut known: HashMap<String, FileContent> = HashMap::new();
        if stage.checkpoint_after {
            let (layout, count) = (&job.layout, job.execution_count);
            let saved = stage_checkpoint::after_stage(layout, stage, &paths, &job.earlier, count, session);
            let unsaved = |error| failed(format!("its checkpoint cannot be saved: {}", error_chain(&error)));
            let saved = self.without_warnings(saved.map_err(unsaved)?);
            known = saved.contents();
            self.checkpoint = Some(saved);
        }
        let mut described = Vec::new();
        for (file, path) in files.iter().zip(&paths) {
            let name = job.layout.relative(path);
            let content = known
                .remove(&name)
                .map_or_else(|| job.hashes.content(&name, &fingerprint::open_regular(path)?, &|| true), Ok);
            let content =
                content.map_err(|error| failed(format!("`{}` cannot be read: {error}", path.display())))?;
            described.push(AcceptedArtifact {
                path: file.clone(),
                sha256: content.sha256,
                size_bytes: content.bytes,
                identity: content.identity.map(|identity| identity.to_string()).unwrap_or_default(),
            });
        }
        Ok(described)
    }

    /// When each input of the project was last written to; nothing of the others.
    fn last_written(&self) -> Vec<Option<String>> {
        let Job { plan, layout, .. } = self.job;
        let of_input =
            |input: &Input| InputContent::of(plan, layout, &input.source).ok()?.last_written(plan.most_files);
        self.stage.inputs.iter().map(of_input).collect()
    }

    /// Every input with its content as it is now.
    fn inputs(&self) -> Result<Vec<AcceptedInput>, Unaccepted> {
        let Self { job, stage, .. } = *self;
        let read = |input: &Input| {
            let content = InputContent::of(&job.plan, &job.layout, &input.source)?;
            let reader = InputReader {
                layout: &job.layout,
                hashes: &job.hashes,
                most_files: job.plan.most_files,
                may_go_on: &|| !job.controls.is_asked(),
            };
            let ReadInput { sha256, identity } = content.read(&reader).map_err(|error| {
                failed(format!("the input `{}` cannot be read: {error}", content.shown()))
            })?;
            if job.made.get(&input.name).is_some_and(|made| *made != sha256) {
                let shown = input.source.shown(&job.plan);
                return Err(failed(format!(
                    "the input `{shown}` was changed after it was made; `checkstone resume` brings it back"
                )));
            }
            Ok(AcceptedInput { name: input.name.clone(), sha256, identity: identity.unwrap_or_default() })
        };
        stage.inputs.iter().map(read).collect()
    }

    /// What the caller has, then what the plan sets, then what is ours.
    fn environment(
        &self,
        artifacts: &Path,
        fingerprint: &str,
    ) -> Result<Vec<(OsString, OsString)>, Unaccepted> {
        const OURS: [&str; 5] = [
            "CHECKSTONE_RUN_ID",
            "CHECKSTONE_STAGE_ID",
            "CHECKSTONE_ARTIFACT_DIR",
            "CHECKSTONE_RESUME_DIR",
            "CHECKSTONE_INPUTS",
        ];
        let Self { job, stage, .. } = *self;
        let is_ours = |name: &OsString| {
            let name = name.to_string_lossy();
            OURS.contains(&name.as_ref()) || name.starts_with("CHECKSTONE_INPUT_")
        };
        let is_set = |name: &OsString| stage.environment.iter().any(|(set, _)| name == set.as_str());
        let mut all: Vec<(OsString, OsString)> =
            job.environment.iter().filter(|(name, _)| !is_ours(name) && !is_set(name)).cloned().collect();
        for (name, value) in &stage.environment {
            let inherited = || job.environment.iter().find(|(known, _)| known == name.as_str());
            let value = match value.as_str() {
                WITHHELD => inherited().map(|(_, value)| value.clone()).ok_or_else(|| {
                    failed(format!(
                        "the recorded plan is without the value of `{name}`, a secret: set `{name}` in the environment"
                    ))
                })?,
                value => value.into(),
            };
            all.push((name.into(), value));
        }
        all.push(("CHECKSTONE_RUN_ID".into(), job.layout.run().into()));
        all.push(("CHECKSTONE_STAGE_ID".into(), (&stage.id).into()));
        all.push(("CHECKSTONE_ARTIFACT_DIR".into(), artifacts.into()));
        let folder = artifacts.parent().unwrap_or(artifacts);
        let mut inputs = Vec::new();
        for input in &stage.inputs {
            let content = InputContent::of(&job.plan, &job.layout, &input.source)?;
            all.push((input.variable().into(), content.value(input, folder)?.into()));
            inputs.push((input, content));
        }
        if let Some(described) = input_content::described(&inputs) {
            let path = folder.join("inputs.json");
            fs_err::write(&path, described)?;
            all.push(("CHECKSTONE_INPUTS".into(), path.into()));
        }
        let folder = artifacts.with_file_name("resume");
        let to_resume: Vec<Artifact> =
            job.to_resume.iter().filter(|artifact| is_of_same(job, artifact, fingerprint)).cloned().collect();
        if !to_resume.is_empty() {
            let prefix = format!("{}/", job.layout.relative(&folder));
            match stage_checkpoint::bring_back(&job.layout, &to_resume, &prefix) {
                Ok(()) => all.push(("CHECKSTONE_RESUME_DIR".into(), folder.into())),
                Err(error) => self.warn(format!(
                    "it begins anew, for what it had saved cannot be brought back: {}",
                    error_chain(&error)
                )),
            }
        } else if !job.to_resume.is_empty() {
            self.warn(
                "it begins anew, for its command or its inputs are not those that it had saved something for",
            );
        }
        Ok(all)
    }
}

/// All files of the attempt, the declared ones among them.
fn outputs(stage: &Stage, artifacts: &Path, most: usize) -> Result<Vec<String>, Unaccepted> {
    let files = publish::files_up_to(artifacts, most).map_err(|error| {
        // What the plan speaks of has a line there.
        let is_it = |output: &&Output| {
            error.path().is_some_and(|path| path.starts_with(artifacts.join(&output.path)))
        };
        match stage.outputs.iter().find(is_it) {
            Some(output) => failed(output.place.problem(error_chain(&error)).to_string()),
            None => error.into(),
        }
    })?;
    let declared = stage.outputs.iter().map(|output| output.path.as_str());
    let is_made = |path: &str| {
        let is_in =
            |file: &String| file == path || file.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        files.iter().any(is_in)
    };
    let missing: Vec<&str> = declared.filter(|path| !is_made(path)).collect();
    let folder = missing.iter().find(|path| artifacts.join(path).is_dir());
    match (folder, missing.is_empty()) {
        (Some(path), _) => Err(failed(format!("its output `{path}` is a folder without files"))),
        (None, false) => Err(failed(format!(
            "it did not write its output `{}` into `$CHECKSTONE_ARTIFACT_DIR`",
            missing.join("`, `")
        ))),
        (None, true) => Ok(files),
    }
}

fn limits(stage: &Stage, max_duration: Duration, artifacts: Option<PathBuf>) -> supervise::Limits {
    supervise::Limits {
        max_duration: Some(max_duration),
        memory: stage.resources.memory(),
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
            How::OutOfMemory => HowEnded::OutOfMemory,
            How::NoCheckpoint => HowEnded::NoCheckpoint,
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
        How::Exited(_) | How::Killed(_) | How::OutOfMemory => Cause::Failed,
        How::TimedOut | How::Stalled | How::NoCheckpoint => Cause::TimedOut,
        How::Aborted => Cause::Aborted,
    };
    Err(Unaccepted { cause, reason: format!("{of}{}", in_words(ending.how, ending.elapsed)) })
}

pub(crate) fn in_words(how: How, elapsed: Duration) -> String {
    let interrupted = |why: &str| format!("{why}; interrupted after {:.1} s", elapsed.as_secs_f64());
    match how {
        How::Exited(code) => format!("exit status {code}"),
        How::Killed(signal) => format!("killed by signal {signal}"),
        How::TimedOut => interrupted("it did not end within its time"),
        How::Stalled => interrupted("it looked stuck"),
        How::NoCheckpoint => interrupted(
            "it saved no checkpoint for too long (`[CHECKPOINT:saved:…]`; `unchecked = true` lets it go on without)",
        ),
        How::OutOfMemory => {
            format!(
                "it used more memory than its `resources` allow; ended after {:.1} s",
                elapsed.as_secs_f64()
            )
        }
        How::Aborted => "aborted".to_owned(),
    }
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
