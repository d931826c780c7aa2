//! The Python session of a run: one kernel, which its stages of kind `python` use one after the other, and the notebook
//! that shows what they did.
//!
//! The kernel is started when the first of them needs it. Each stage begins with what the accepted ones before it left: where
//! the kernel does not hold that, because the run was resumed, an attempt was not accepted or the kernel ended, a new one
//! is started, the last checkpoint is rehydrated, and it is verified that everything is there.

mod lost;
mod rehydrate;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use checkpoint::RestoreError;
use checkpoint::layout::{Layout, NameError, SUPERVISOR, VARIABLES_FOLDER};
use checkpoint::manifest::{Manifest, NotebookReference, PythonEnvironment, Rehydration};
use checkpoint::output::LastExecutedCell;
use files::FileError;
use kernel::notebook::{
    self, NewCell, Notebook, NotebookError, checkpoint_cell_id, emergency_cell_id, stage_cell_id,
};
use kernel::python_environment::{self, FindError, Surroundings};
use kernel::rehydration::{self, SavedVariables, VariablesError};
use kernel::{CellEnding, ExecutedCell, Kernel, KernelError, Launch, Spool};
use serde_json::Value;
use supervise::{Cause, Ending, How, Observed, OutputKept, Status};
use text::error_chain;

use crate::attempt::{Job, SessionBefore};
use crate::engine::Settings;
use crate::job_file::ShownCells;
use crate::plan::{Program, Stage};
use crate::planted_fault::{Oversight, overlooks};
use crate::publish::{self, PublishError};
use crate::stage_work::{CellJob, SessionSource, SessionState, StageEnded};
use rehydrate::LastSaved;

/// A kernel that does not answer for so long will not.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often a stage that waits for the kernel looks whether it is free, or whether it is to end.
const TURN: Duration = Duration::from_millis(10);

/// An idle kernel answers at once.
const ANSWER: Duration = Duration::from_secs(10);

/// What checkstone itself asks of the kernel between cells.
const SHORT: Duration = Duration::from_secs(30);

/// Saving variables is bounded like a stage.
const SAVING: Duration = Duration::from_secs(600);

/// Python code that gives a stage its folder and its environment variables.
const BEGIN_STAGE: &str = include_str!("python_session/begin_stage.py");

/// How a checkpoint says what brings the session back.
pub(crate) const REHYDRATE: Option<fn(&Manifest) -> Rehydration> = Some(rehydration::in_manifest);

/// Python code that seeds the generators of a new session with `SEED`.
const SEED: &str = "
import random
random.seed(int(SEED))
try:
    import numpy
    numpy.random.seed(int(SEED))
except ImportError:
    pass
";

#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionError {
    #[error("aborted")]
    Aborted,
    #[error("there is no kernel")]
    NoKernel,
    #[error("there is no code to run")]
    NoCode,
    #[error(transparent)]
    Code(std::io::Error),
    #[error(transparent)]
    Python(#[from] FindError),
    #[error("{0}")]
    NoIpykernel(String),
    #[error(transparent)]
    Kernel(#[from] KernelError),
    #[error(transparent)]
    Name(#[from] NameError),
    #[error(transparent)]
    Folder(#[from] PublishError),
    #[error(transparent)]
    Checkpoints(#[from] FileError),
    #[error(transparent)]
    Restore(#[from] RestoreError),
    #[error(transparent)]
    Variables(#[from] VariablesError),
    #[error("the kernel has just ended, and no valid checkpoint holds what `{stage}` left in the session")]
    Lost { stage: String },
    #[error(
        "the checkpoint `{checkpoint}` cannot be rehydrated: {why}; `checkstone resume --again {stage}` makes it again"
    )]
    Rehydrate { checkpoint: String, stage: String, why: String },
}

/// The run's notebook, once there is one.
#[derive(Default)]
struct ShownNotebook {
    notebook: Option<Notebook>,
    /// Why it could not be written the last time.
    trouble: Option<String>,
}

impl ShownNotebook {
    /// Shows a cell in it. One that cannot be written costs nobody a stage; why is answered once.
    fn put(&mut self, cell: NewCell) -> Option<String> {
        let notebook = self.notebook.as_mut()?;
        notebook.put(cell);
        let trouble = notebook.save().err().map(|error| error_chain(&error));
        let before = std::mem::replace(&mut self.trouble, trouble.clone());
        trouble.filter(|trouble| before.as_ref() != Some(trouble))
    }
}

pub(crate) struct PythonSession {
    /// Held for as long as a stage runs: they come one after the other.
    inside: Mutex<SharedSession>,
}

#[derive(Default)]
struct SharedSession {
    kernel: Option<Kernel>,
    shown: ShownNotebook,
    environment: Option<PythonEnvironment>,
    /// Cells whose displays can still change: cell and output, by display id.
    displays: BTreeMap<String, Vec<(String, usize)>>,
    /// Over all kernels of the run.
    execution_count: u64,
    /// What it was when this kernel was started, which counts from 1.
    counted_before: u64,
    /// What the kernel's session is known by; none while nobody knows what is in it.
    known_as: Option<String>,
    /// Whether a person confirmed checkpoints that are not this machine's own.
    is_trusted: bool,
    /// On a node, which writes no notebook: the cells of this stage, for the engine.
    unshown: Option<ShownCells>,
}

impl PythonSession {
    pub(crate) fn new(settings: &Settings) -> Self {
        let inside = SharedSession { is_trusted: settings.is_trusted, ..SharedSession::default() };
        Self { inside: Mutex::new(inside) }
    }

    /// Of a node, which writes nothing but the folders of its attempts.
    pub(crate) fn on_node(is_trusted: bool) -> Self {
        let unshown = Some(ShownCells::default());
        let inside = SharedSession { is_trusted, unshown, ..SharedSession::default() };
        Self { inside: Mutex::new(inside) }
    }

    /// The cells since the last time that somebody asked.
    pub(crate) fn shown_cells(&self) -> ShownCells {
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        let unshown = inside.unshown.as_mut();
        unshown
            .map(|unshown| ShownCells { cells: std::mem::take(&mut unshown.cells), ..unshown.clone() })
            .unwrap_or_default()
    }

    /// Puts cells of a node into the run's notebook; what a person should know of that is answered.
    pub(crate) fn show(&self, layout: &Layout, shown: ShownCells) -> Vec<String> {
        let cells: Vec<NewCell> =
            shown.cells.into_iter().filter_map(|cell| serde_json::from_value(cell).ok()).collect();
        let warnings = RefCell::new(Vec::new());
        if !cells.is_empty() {
            let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
            let warn = |text| warnings.borrow_mut().push(text);
            inside.open_notebook(layout, shown.language_version.as_deref(), &warn);
            cells.into_iter().for_each(|cell| inside.put(cell, &warn));
        }
        warnings.into_inner()
    }

    /// One stage, as one cell. Errors are told before the code was run; afterwards there is an ending.
    pub(crate) fn run(
        &self,
        cell: &CellJob<'_>,
        observe: &mut dyn FnMut(Observed),
    ) -> Result<StageEnded, SessionError> {
        let mut inside = self.turn(cell.job)?;
        let ended = inside.run(cell, observe);
        if ended.is_err() {
            // What was half prepared is of no use to the next one.
            inside.kernel = None;
        }
        ended
    }

    /// Waits for the stage that has the kernel now, unless this one is to end meanwhile.
    fn turn(&self, job: &Job) -> Result<MutexGuard<'_, SharedSession>, SessionError> {
        loop {
            match self.inside.try_lock() {
                Ok(inside) => return Ok(inside),
                Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => go_on(job)?,
            }
            std::thread::sleep(TURN);
        }
    }

    /// Where a stage can have what the one before it left.
    pub(crate) fn source(&self, layout: &Layout, before: &SessionBefore) -> SessionSource {
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        if inside.holds(Some(before)) && inside.kernel.as_mut().is_some_and(|kernel| kernel.answers(ANSWER)) {
            return SessionSource::Kernel;
        }
        inside.known_as = None;
        // Where they cannot be looked at, the stage says so when it wants to begin.
        LastSaved::find(layout, Some(before)).map_or(SessionSource::Checkpoint, |found| found.source())
    }

    /// An attempt is over: what the session is known by from now on, if the attempt was accepted.
    pub(crate) fn end_of_attempt(&self, known_as: Option<&str>) {
        if known_as.is_some() || !overlooks(Oversight::FailedAttempt) {
            self.go_on_as(known_as);
        }
    }

    /// Nothing goes on with a session of which nobody knows what is in it.
    fn go_on_as(&self, known_as: Option<&str>) {
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        inside.known_as = known_as.map(str::to_owned);
        let kernel = if known_as.is_none() { inside.kernel.take() } else { None };
        drop(inside);
        kernel.into_iter().for_each(Kernel::shut_down);
    }

    /// The run is over.
    pub(crate) fn close(&self) {
        self.go_on_as(None);
    }

    /// What the emergency checkpoint of an attempt should say of the session; none where no kernel was started.
    pub(crate) fn after_failure(&self, layout: &Layout, stage: &str, attempt: u32) -> Option<SessionState> {
        let inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        let id = emergency_cell_id(layout.run(), stage, attempt);
        inside.environment.is_some().then(|| inside.state(layout, id))
    }

    /// The same of an attempt whose supervisor was lost; none where the notebook does not have its cell.
    pub(crate) fn after_loss(layout: &Layout, stage: &str, attempt: u32) -> Option<SessionState> {
        let left = notebook::left_running(&layout.notebook(), layout.run()).unwrap_or_default();
        let is_there = left.iter().any(|cell| cell.stage == stage && cell.attempt == attempt);
        let id = emergency_cell_id(layout.run(), stage, attempt);
        is_there.then(|| SharedSession::default().state(layout, id))
    }
}

/// The cell of the run's notebook that was executed last, where it is the run's.
pub fn last_executed_cell(layout: &Layout) -> Option<LastExecutedCell> {
    // A notebook that cannot be read is reported when a cell is put into it.
    let last = notebook::last_executed(&layout.notebook()).unwrap_or_default()?;
    (last.run.as_deref() == Some(layout.run())).then(|| LastExecutedCell {
        notebook: layout.relative(&layout.notebook()),
        number: last.place + 1,
        cell_id: last.id,
    })
}

/// Puts the cell that stands for a checkpoint into the notebook which its manifest names.
pub fn append_checkpoint_cell(layout: &Layout, manifest: &Manifest) -> Result<(), NotebookError> {
    let path = layout.run_checkpoints().join(&manifest.checkpoint_id).join("checkpoint.json");
    let mut notebook = Notebook::open(&layout.root().join(&manifest.notebook.path), "python3", None);
    notebook.put(NewCell::checkpoint(manifest, &layout.relative(&path)));
    notebook.save()
}

impl SharedSession {
    fn run(
        &mut self,
        cell_job: &CellJob<'_>,
        observe: &mut dyn FnMut(Observed),
    ) -> Result<StageEnded, SessionError> {
        let CellJob { job, stage, limits, warn, .. } = *cell_job;
        let code = code(job, stage)?;
        go_on(job)?;
        self.begin(cell_job)?;
        let attempt = job.layout.attempt(&stage.id, job.attempt)?;
        let spool = spool(&job.layout, &attempt.join("output.log"));
        let cell = |running| {
            let about = lost::about(&job.layout, &stage.id, job.attempt, running);
            NewCell {
                id: stage_cell_id(job.layout.run(), &stage.id, job.attempt),
                source: code.clone(),
                metadata: [("checkstone".to_owned(), about)].into_iter().collect(),
                ..NewCell::default()
            }
        };
        self.put(cell(Some(&code)), warn);
        let kernel = self.kernel.as_mut().ok_or(SessionError::NoKernel)?;
        let mut executed = kernel.execute(&code, &spool, limits, &job.controls, observe)?;
        let isolated = kernel.isolated();
        self.note(cell(None), &executed, warn);
        if let Some(trouble) = &executed.trouble {
            warn(format!("its output in `{}` is incomplete: {trouble}", spool.shown));
        }
        if executed.ending == CellEnding::Finished && job.plan.python.saves_variables {
            self.save_variables(job, &attempt.join("artifacts"), warn)?;
            // Whoever took the kernel along before its variables were saved is the one that failed.
            if let Some(status) = self.kernel.as_mut().and_then(Kernel::ended) {
                executed.ending = CellEnding::Died(status);
            }
        }
        if executed.ending == CellEnding::Finished
            && let (Some(kernel), Some(environment)) = (&mut self.kernel, &mut self.environment)
            && let Err(error) = python_environment::note_imports(kernel, environment)
        {
            warn(format!("the session's imports are not recorded: {}", error_chain(&error)));
        }
        let (how, status, raised) = described(&executed.ending, executed.elapsed);
        if self.kernel.as_mut().is_some_and(|kernel| !kernel.is_alive()) {
            self.kernel = None;
        }
        let output = OutputKept {
            path: spool.path,
            total: executed.text,
            left_out: executed.text.saturating_sub(spool.limit),
            trouble: executed.trouble,
        };
        let ending = Ending {
            how,
            status,
            survivors: 0,
            leftovers: 0,
            output,
            elapsed: executed.elapsed,
            suspended: executed.suspended,
            isolated,
        };
        let cell_id = checkpoint_cell_id(job.layout.run(), &stage.id, job.attempt);
        Ok(StageEnded { ending, raised, state: Some(self.state(&job.layout, cell_id)) })
    }

    /// Whether the kernel has what the stage before left, and nothing else.
    fn holds(&mut self, before: Option<&SessionBefore>) -> bool {
        let is_alive = self.kernel.as_mut().is_some_and(|kernel| kernel.ended().is_none());
        is_alive && before.is_some_and(|before| self.known_as.as_ref() == Some(&before.session))
    }

    /// Makes the session ready for the stage. A kernel that has ended since the last one, or does not answer, is replaced:
    /// that is not this stage's doing.
    fn begin(&mut self, cell_job: &CellJob<'_>) -> Result<(), SessionError> {
        let job = cell_job.job;
        if self.holds(job.session.as_ref()) {
            match self.give(cell_job) {
                Ok(()) => return Ok(()),
                Err(error) => {
                    go_on(job)?;
                    (cell_job.warn)(format!("a new kernel is started: {}", error_chain(&error)));
                }
            }
        }
        self.kernel = None;
        self.start(cell_job)?;
        self.give(cell_job)
    }

    /// Gives the stage its folder and its environment.
    fn give(&mut self, cell_job: &CellJob<'_>) -> Result<(), SessionError> {
        let CellJob { job, stage, .. } = *cell_job;
        self.known_as = None;
        let kernel = self.kernel.as_mut().ok_or(SessionError::NoKernel)?;
        kernel.heed(&job.controls);
        go_on(job)?;
        // Those of the plan, and ours.
        let own = cell_job.environment.iter().filter(|variable| !job.environment.contains(variable));
        let (given, folder) = (variables(own), job.layout.root().join(&stage.directory));
        let arguments = [
            ("GIVEN", given.to_string()),
            ("INHERITED", variables(job.environment.iter()).to_string()),
            ("FOLDER", folder.to_string_lossy().into_owned()),
        ];
        kernel.run_apart(
            BEGIN_STAGE,
            &arguments.each_ref().map(|(name, text)| (*name, text.as_str())),
            SHORT,
        )?;
        Ok(())
    }

    /// What a checkpoint should say of the session.
    fn state(&self, layout: &Layout, checkpoint_cell_id: String) -> SessionState {
        let path = layout.relative(&layout.notebook());
        SessionState {
            notebook: NotebookReference { path, checkpoint_cell_id, ..NotebookReference::default() },
            environment: self.environment.clone().unwrap_or_default(),
            execution_count: self.execution_count,
        }
    }

    fn start(&mut self, cell_job: &CellJob<'_>) -> Result<(), SessionError> {
        let CellJob { job, environment, warn, .. } = *cell_job;
        let layout = &job.layout;
        let wanted = job.plan.python.interpreter.as_deref();
        let surroundings = Surroundings::of(&job.environment, wanted);
        let found = python_environment::find(layout.root(), &surroundings)?;
        publish::make_folder(layout.root(), &job.kernel)?;
        let scratch = |name: &str| {
            let (_, value) = job.environment.iter().find(|(known, _)| known == name)?;
            Some(PathBuf::from(value)).filter(|folder| folder.is_dir())
        };
        let launch = Launch {
            argv: found.argv.clone(),
            environment: environment.iter().chain(&found.environment).cloned().collect(),
            directory: layout.root().to_owned(),
            scratch: scratch("XDG_RUNTIME_DIR")
                .or_else(|| scratch("TMPDIR"))
                .unwrap_or_else(|| "/tmp".into()),
            log: job.kernel.join("kernel.log"),
            record: job.kernel.join(SUPERVISOR),
            isolation: job.isolation,
            patience: PATIENCE,
        };
        // The checkpoint is looked at while the kernel starts.
        let (kernel, last_saved) = std::thread::scope(|scope| {
            let last_saved = scope.spawn(|| LastSaved::find(layout, job.session.as_ref()));
            let kernel = Kernel::start(&launch, &job.controls).map_err(|error| {
                found.remedy(&error).map_or(SessionError::Kernel(error), SessionError::NoIpykernel)
            });
            (kernel, last_saved.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        let mut kernel = kernel?;
        let seeds: Vec<(&str, u64)> = match job.plan.python.seed {
            Some(seed) => {
                kernel.run_apart(SEED, &[("SEED", &seed.to_string())], SHORT)?;
                vec![("random", seed.into()), ("numpy", seed.into())]
            }
            None => Vec::new(),
        };
        self.environment = Some(python_environment::describe(&mut kernel, &seeds)?);
        match &mut self.unshown {
            Some(unshown) => unshown.language_version = kernel.language_version().map(str::to_owned),
            None => self.open_notebook(layout, kernel.language_version(), warn),
        }
        self.displays.clear();
        self.counted_before = self.execution_count;
        self.kernel = Some(kernel);
        go_on(job)?;
        self.rehydrate(cell_job, last_saved?)
    }

    fn open_notebook(&mut self, layout: &Layout, version: Option<&str>, warn: &dyn Fn(String)) {
        if self.shown.notebook.is_none() {
            self.shown.notebook = Some(Notebook::open(&layout.notebook(), "python3", version));
            self.complete_lost_cells(layout, warn);
        }
    }

    fn put(&mut self, cell: NewCell, warn: &dyn Fn(String)) {
        if let Some(unshown) = &mut self.unshown {
            unshown.cells.extend(serde_json::to_value(cell));
            return;
        }
        let trouble = self.shown.put(cell);
        trouble.into_iter().for_each(warn);
    }

    fn note(&mut self, cell: NewCell, executed: &ExecutedCell, warn: &dyn Fn(String)) {
        if let Some(count) = executed.execution_count {
            self.execution_count = self.counted_before + count;
        }
        if let Some(notebook) = &mut self.shown.notebook {
            for (display, data, metadata) in &executed.updates {
                for (id, output) in self.displays.get(display).into_iter().flatten() {
                    notebook.update_output(id, *output, data, metadata);
                }
            }
        }
        for (display, outputs) in &executed.displays {
            let places = self.displays.entry(display.clone()).or_default();
            places.extend(outputs.iter().map(|output| (cell.id.clone(), *output)));
        }
        let (outputs, execution_count) = (executed.outputs.clone(), executed.execution_count);
        self.put(NewCell { outputs, execution_count, ..cell }, warn);
    }

    /// Without them the checkpoint still has the artifacts.
    fn save_variables(
        &mut self,
        job: &Job,
        artifacts: &Path,
        warn: &dyn Fn(String),
    ) -> Result<(), SessionError> {
        let (Some(kernel), layout) = (&mut self.kernel, &job.layout) else { return Ok(()) };
        match SavedVariables::save(kernel, layout.root(), &layout.relative(artifacts), SAVING) {
            Ok(saved) => {
                for unsaved in &saved.unsaved {
                    warn(format!(
                        "the variable `{}` ({}) is not saved: {}",
                        unsaved.name, unsaved.kind, unsaved.why
                    ));
                }
                for copy in &saved.copies {
                    warn(format!(
                        "`{}` shares its memory with `{}`; after a resume it is a copy",
                        copy.name, copy.of
                    ));
                }
            }
            Err(error) => {
                // Half of them would be taken for all.
                let _ = fs_err::remove_dir_all(artifacts.join(VARIABLES_FOLDER));
                go_on(job)?;
                warn(format!("the session's variables are not saved: {}", error_chain(&error)));
            }
        }
        Ok(())
    }
}

/// Nothing more is begun once the stage is to end.
fn go_on(job: &Job) -> Result<(), SessionError> {
    if job.controls.is_asked() { Err(SessionError::Aborted) } else { Ok(()) }
}

/// The cell's text: in the plan, or in the one file that it names.
fn code(job: &Job, stage: &Stage) -> Result<String, SessionError> {
    match &stage.command {
        Program::Shell(text) => Ok(text.trim_matches('\n').to_owned()),
        Program::Words(words) => {
            let file = words.first().ok_or(SessionError::NoCode)?;
            fs_err::read_to_string(job.layout.root().join(file)).map_err(SessionError::Code)
        }
    }
}

fn variables<'a>(environment: impl Iterator<Item = &'a (OsString, OsString)>) -> Value {
    let pairs = environment.map(|(name, value)| {
        (name.to_string_lossy().into_owned(), Value::String(value.to_string_lossy().into_owned()))
    });
    Value::Object(pairs.collect())
}

fn spool(layout: &Layout, path: &Path) -> Spool {
    Spool::new(path, &layout.relative(path))
}

/// A cell's end in the words of the supervisor, and in ours where they say more.
fn described(ending: &CellEnding, elapsed: Duration) -> (How, Option<Status>, Option<String>) {
    let of = |cause: &Cause| match cause {
        Cause::TimedOut => How::TimedOut,
        Cause::Aborted => How::Aborted,
        Cause::Stalled => How::Stalled,
        Cause::OutOfMemory => How::OutOfMemory,
        Cause::NoCheckpoint => How::NoCheckpoint,
    };
    match ending {
        CellEnding::Finished => (How::Exited(0), Some(Status::Exited(0)), None),
        CellEnding::Raised { name, value } => {
            let told = if value.is_empty() { name.clone() } else { format!("{name}: {value}") };
            (How::Exited(1), Some(Status::Exited(1)), Some(told))
        }
        CellEnding::Interrupted(cause) => (of(cause), None, None),
        CellEnding::Killed(Cause::TimedOut) => {
            let told = "it exceeded its time limit, and an interrupt did not stop it";
            let told = format!("{told}; killed with its kernel after {:.1} s", elapsed.as_secs_f64());
            (How::TimedOut, None, Some(told))
        }
        CellEnding::Killed(cause) => (of(cause), None, None),
        CellEnding::Died(status) => match status {
            Some(Status::Exited(code)) => {
                (How::Exited(1), *status, Some(format!("the kernel ended with exit code {code}")))
            }
            Some(Status::Killed(signal)) => (How::Killed(*signal), *status, Some(killed_by(*signal))),
            None => (How::Exited(1), None, Some("the kernel is gone".to_owned())),
        },
    }
}

/// What it usually means that a kernel ended by a signal that we did not send.
fn killed_by(signal: i32) -> String {
    use rustix::process::Signal;
    match Signal::from_named_raw(signal) {
        Some(Signal::KILL) => {
            "the kernel was killed (SIGKILL), as the system does when memory runs out".to_owned()
        }
        Some(Signal::SEGV | Signal::BUS | Signal::ILL | Signal::FPE | Signal::ABORT) => {
            format!("the kernel crashed in native code (signal {signal}); its output says where")
        }
        _ => format!("the kernel was killed by signal {signal}"),
    }
}
