//! Takes a run in hand: a new one from a plan, or one that was begun before. What a lost supervisor left running is ended
//! first, so that two attempts of one stage never live at once.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use checkpoint::Depth;
use checkpoint::layout::Layout;
use checkpoint::manifest::Reason;
use jiff::Timestamp;
use supervise::{SweepError, Swept};
use text::error_chain;

use super::{Beginning, Engine, EngineError, LivingAttempt, Settings};
use crate::PythonSession;
use crate::attempt_artifacts;
use crate::event::{Event, FORMAT, What};
use crate::executor::{AttemptTicket, ExecutorChoice, slurm};
use crate::hold::{self, HoldKind, RunHold, TakeError};
use crate::plan::{Kind, Plan};
use crate::publish;
use crate::record::{Record, RecordError, Recorder, StageRecord};
use crate::secret_values::SecretValues;
use crate::stage_checkpoint::{self, CheckpointWarning};
use crate::state::{RunState, StageState};
use crate::surroundings::Surroundings;

#[derive(Clone, Debug)]
pub struct PlanText {
    pub plan: Plan,
    pub text: String,
    /// Where it lies below the root, where it does.
    pub file: Option<String>,
}

/// Whether this build has all that the plan needs.
pub fn can_run(plan: &Plan) -> Result<(), EngineError> {
    let python = plan.stages.iter().find(|stage| stage.kind == Kind::Python);
    match python {
        Some(stage) if !cfg!(feature = "python") => Err(EngineError::NoPython { stage: stage.id.clone() }),
        _ => Ok(()),
    }
}

/// Begins a run, and returns when it has ended in whatever way.
pub fn run(
    root: &Path,
    plan: PlanText,
    run: &str,
    settings: &Settings,
    on_event: &mut dyn FnMut(&Event),
) -> Result<RunState, EngineError> {
    let PlanText { plan, text, file } = plan;
    can_run(&plan)?;
    let layout = Layout::new(root, &plan.title, run)?;
    let executor = settings.on.executor(settings)?;
    if ["checkpoints", "README.md"].contains(&layout.run()) {
        return Err(EngineError::Reserved { name: run.to_owned() });
    }
    publish::make_folder(root, &layout.run_checkpoints())?;
    publish::make_folder(root, &layout.run_directory())?;
    let exists = || EngineError::Exists { title: layout.title().to_owned(), run: layout.run().to_owned() };
    let hold = match take(&layout, &settings.hold) {
        Err(EngineError::Busy { .. }) => return Err(exists()),
        taken => taken?,
    };
    if layout.events().symlink_metadata().is_ok() {
        match Record::read(&layout.events()) {
            // Killed before its first event was whole: it never began, and nothing refers to it.
            Err(RecordError::Empty { path }) => {
                fs_err::remove_file(&path).map_err(|source| RecordError::Create { path, source })?;
            }
            _ => return Err(exists()),
        }
    }
    if hold.committed().map_err(RecordError::from)?.is_some_and(|committed| !committed.is_empty()) {
        return Err(exists());
    }
    let surroundings = Surroundings::look(&plan, search_path(settings));
    let (secrets, text) = SecretValues::of(&text, &settings.environment, settings.is_secret);
    let planned = What::RunPlanned {
        format: FORMAT,
        report_title: layout.title().to_owned(),
        run_id: layout.run().to_owned(),
        plan_file: file,
        plan: text,
        set: secrets.without_all(plan.set()),
        surroundings: surroundings.clone(),
    };
    let (recorder, event) = Recorder::create_held(&layout.events(), Timestamp::now(), planned, hold)?;
    on_event(&event);
    let warnings: Vec<String> = plan.warnings.iter().map(ToString::to_string).collect();
    let mut engine = Engine::new(Beginning::New, plan, layout, settings, recorder, executor, on_event);
    engine.secrets = secrets;
    engine.append(What::RunTaken { process: std::process::id(), jobs: settings.jobs, surroundings })?;
    for warning in warnings {
        engine.warn(None, warning)?;
    }
    engine.tell_instances()?;
    engine.run_to(RunState::InProgress, None)?;
    finish(engine)
}

/// Goes on with a run, with its plan as it is now.
pub fn resume(
    layout: &Layout,
    plan: PlanText,
    settings: &Settings,
    on_event: &mut dyn FnMut(&Event),
) -> Result<RunState, EngineError> {
    let PlanText { plan, text, .. } = plan;
    can_run(&plan)?;
    let executor = settings.on.executor(settings)?;
    let hold = take(layout, &settings.hold)?;
    if plan.title != layout.title() {
        return Err(EngineError::OtherTitle { found: plan.title, expected: layout.title().to_owned() });
    }
    if let Some(stage) = settings.again.iter().find(|id| !plan.knows(id)) {
        return Err(EngineError::NoStage { stage: stage.clone() });
    }
    publish::make_folder(layout.root(), &layout.run_directory())?;
    let recorder = Recorder::open_held(&layout.events(), hold)?;
    let surroundings = Surroundings::look(&plan, search_path(settings));
    let drift = surroundings.drift_since(&recorder.record().surroundings, &plan);
    let (secrets, text) = SecretValues::of(&text, &settings.environment, settings.is_secret);
    let set = secrets.without_all(plan.set());
    let is_plan_changed = recorder.record().plan != text || recorder.record().set != set;
    let mut engine =
        Engine::new(Beginning::Resumed, plan, layout.clone(), settings, recorder, executor, on_event);
    engine.secrets = secrets;
    engine.take_over()?;
    engine.append(What::RunTaken { process: std::process::id(), jobs: settings.jobs, surroundings })?;
    if is_plan_changed {
        engine.append(What::PlanChanged { plan: text, set })?;
    }
    for sentence in drift {
        engine.warn(None, format!("since the run was last active, {sentence}"))?;
    }
    engine.tell_checkpoint()?;
    engine.run_to(RunState::InProgress, Some("resumed".to_owned()))?;
    engine.tell_instances()?;
    engine.make_ready()?;
    finish(engine)
}

/// Aborts a run that nobody has in hand: ends what its supervisor left, and records it. A run that is over stays as it
/// is; how it stands is answered.
pub fn abort_lost(
    layout: &Layout,
    settings: &Settings,
    on_event: &mut dyn FnMut(&Event),
) -> Result<RunState, EngineError> {
    let recorder = Recorder::open_held(&layout.events(), take(layout, &settings.hold)?)?;
    let state = recorder.record().state;
    if !matches!(state, RunState::InProgress | RunState::Planned) {
        return Ok(state);
    }
    let executor = ExecutorChoice::Local.executor(settings)?;
    // Only the stages that were running matter here, and the record knows them.
    let plan = Plan::without_stages(layout.title());
    let mut engine =
        Engine::new(Beginning::Resumed, plan, layout.clone(), settings, recorder, executor, on_event);
    engine.append(What::AbortRequested { stage_id: None })?;
    engine.end_what_was_left(Reason::Abort)?;
    engine.end_living(Reason::Abort)?;
    engine.run_to(RunState::Aborted, None)?;
    Ok(RunState::Aborted)
}

fn finish(mut engine: Engine<'_>) -> Result<RunState, EngineError> {
    let state = engine.drive();
    engine.python.close();
    if matches!(state, Ok(RunState::Completed)) {
        engine.executor.completed();
    }
    if engine.may_free {
        // Where that cannot be done, `checkpoint prune` does it.
        let _ = checkpoint::prune_at_end(&engine.layout);
    }
    state
}

fn take(layout: &Layout, kind: &HoldKind) -> Result<Arc<dyn RunHold>, EngineError> {
    hold::take(layout, kind).map_err(|error| match error {
        TakeError::Busy { owner } => EngineError::Busy { owner },
        error => EngineError::Take(error),
    })
}

fn search_path(settings: &Settings) -> Option<&OsStr> {
    settings.environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str())
}

const LOST: &str = "the supervisor was lost";

impl Engine<'_> {
    /// After a supervisor that did not live to the end of its run.
    fn take_over(&mut self) -> Result<(), EngineError> {
        self.end_what_was_left(Reason::Error)?;
        // Killed before it took the first step.
        if self.recorder.record().state == RunState::Planned {
            self.run_to(RunState::InProgress, None)?;
        }
        if self.recorder.record().state == RunState::InProgress {
            self.run_to(RunState::Interrupted, Some(LOST.to_owned()))?;
        }
        Ok(())
    }

    /// Where the last engine may be alive, it publishes nothing more of this attempt.
    fn fence(&self, stage_id: &str, attempt: u32) -> Result<(), EngineError> {
        let Some(token) = self.recorder.hold().token() else { return Ok(()) };
        Ok(attempt_artifacts::fence(self.layout.root(), &self.layout.attempt(stage_id, attempt)?, token)?)
    }

    /// Attempts that the last engine had begun and did not come to record: what it took over from earlier runs.
    fn fence_unrecorded(&self) -> Result<(), EngineError> {
        if self.recorder.hold().token().is_none() {
            return Ok(());
        }
        for (stage_id, attempt) in attempt_artifacts::numbers(&self.layout) {
            if attempt > self.recorder.record().stage(&stage_id).attempt {
                self.fence(&stage_id, attempt)?;
            }
        }
        Ok(())
    }

    fn end_what_was_left(&mut self, reason: Reason) -> Result<(), EngineError> {
        self.fence_unrecorded()?;
        // The run's kernel, which belongs to no single stage.
        let kernel = self.layout.kernel_supervisor();
        let failed = |source| EngineError::Sweep { stage: "the kernel".to_owned(), source };
        self.swept(&kernel).map_err(failed)?;
        let stages = &self.recorder.record().stages;
        let mut left: Vec<(String, u32, StageState)> = Vec::new();
        for (id, stage) in stages {
            let (number, state) = (stage.attempt, stage.state);
            match &stage.token {
                Some(token) if state.is_live() => {
                    let living = LivingAttempt { number, token: token.clone(), state };
                    self.living.insert(id.clone(), living);
                }
                _ if state.is_live() || state == StageState::Interrupted => {
                    left.push((id.clone(), number, state))
                }
                _ => {}
            }
        }
        left.sort_by(|one, other| one.0.cmp(&other.0));
        for (stage_id, attempt, state) in left {
            if state.is_live() {
                self.sweep(&stage_id, attempt)?;
            }
            self.keep_what_was_left(&stage_id, attempt, state, reason)?;
        }
        Ok(())
    }

    /// What there is of an attempt of which nothing is alive.
    fn keep_what_was_left(
        &mut self,
        stage_id: &str,
        attempt: u32,
        state: StageState,
        reason: Reason,
    ) -> Result<(), EngineError> {
        let id = || stage_id.to_owned();
        let lost = |from, to| What::stage_state(id(), attempt, from, to, Some(LOST.to_owned()));
        if state.is_live() {
            self.fence(stage_id, attempt)?;
            self.append(lost(state, StageState::Interrupted))?;
        }
        let session = PythonSession::after_loss(&self.layout, stage_id, attempt);
        let to = match stage_checkpoint::emergency(&self.layout, stage_id, attempt, reason, session) {
            Ok((checkpoint, warnings)) => {
                for warning in warnings {
                    match warning {
                        CheckpointWarning::CopiesArtifacts => self.tell_of_copies()?,
                        CheckpointWarning::Other(text) => {
                            self.append(What::Warning { stage_id: Some(id()), text })?;
                        }
                    }
                }
                self.append(checkpoint.event(id(), attempt))?;
                StageState::Resumable
            }
            Err(error) => {
                let text = format!("no emergency checkpoint: {}", error_chain(&error));
                self.append(What::Warning { stage_id: Some(id()), text })?;
                StageState::Blocked
            }
        };
        self.append(lost(StageState::Interrupted, to))
    }

    /// Ends what is left of the last engine's attempts on a cluster.
    pub(super) fn end_living(&mut self, reason: Reason) -> Result<(), EngineError> {
        let mut living: Vec<(String, LivingAttempt)> = self.living.drain().collect();
        if living.is_empty() {
            return Ok(());
        }
        living.sort_by(|one, other| one.0.cmp(&other.0));
        let attempts: Vec<(String, u32, String)> =
            living.iter().map(|(id, attempt)| (id.clone(), attempt.number, attempt.token.clone())).collect();
        slurm::end_jobs(&self.layout, &attempts, &self.settings.environment)?;
        for (id, LivingAttempt { number, state, .. }) in living {
            self.keep_what_was_left(&id, number, state, reason)?;
        }
        Ok(())
    }

    /// Goes on with an attempt of the last engine, where it is still the same work; false where that is ended instead.
    pub(super) fn is_adopted(&mut self, index: usize) -> Result<bool, EngineError> {
        let id = self.id(index);
        let Some(living) = self.living.get(&id).cloned() else { return Ok(false) };
        let ticket = self.executor.ticket().map_err(EngineError::Controls)?;
        let ticket = AttemptTicket { token: Some(living.token), ..ticket };
        let session = self.session_before(index);
        let job = self.job(index, living.number, ticket, session, Vec::new());
        if self.executor.adopt(job).is_err() {
            let others = std::mem::take(&mut self.living);
            let (own, others): (HashMap<_, _>, HashMap<_, _>) =
                others.into_iter().partition(|(known, _)| *known == id);
            self.living = own;
            self.end_living(Reason::Error)?;
            self.living = others;
            return Ok(false);
        }
        self.living.remove(&id);
        self.note_begun(index);
        Ok(true)
    }

    fn sweep(&mut self, stage_id: &str, attempt: u32) -> Result<(), EngineError> {
        let record = self.layout.attempt_supervisor(stage_id, attempt)?;
        let swept = self
            .swept(&record)
            .map_err(|source| EngineError::Sweep { stage: stage_id.to_owned(), source })?;
        if swept.survivors > 0 {
            return Err(EngineError::Survivors { stage: stage_id.to_owned(), survivors: swept.survivors });
        }
        let processes = usize::try_from(swept.killed).unwrap_or(usize::MAX);
        self.append(What::Swept { stage_id: stage_id.to_owned(), attempt, processes })
    }

    /// A rival of this machine that is alive, but had its run taken over, keeps nothing.
    fn swept(&self, record: &Path) -> Result<Swept, SweepError> {
        match self.recorder.hold().may_have_rival() {
            true => supervise::sweep_replaced(record),
            false => supervise::sweep(record),
        }
    }

    /// From which checkpoint it goes on, and why not from a newer one.
    fn tell_checkpoint(&mut self) -> Result<(), EngineError> {
        let (root, title, run) = (self.layout.root(), self.layout.title(), self.layout.run());
        let found = match checkpoint::last_valid(root, title, Some(run), Depth::Quick) {
            Ok(found) => found,
            Err(error) => {
                let text = format!("the checkpoints cannot be read: {}", error_chain(&error));
                return self.warn(None, text);
            }
        };
        for skipped in &found.skipped {
            let issues: Vec<String> = skipped.issues.iter().map(ToString::to_string).collect();
            let text = format!("the checkpoint `{}` is skipped: {}", skipped.id, issues.join("; "));
            self.warn(None, text)?;
        }
        let (checkpoint_id, stage_id) = match found.checkpoint {
            Some(usable) => (Some(usable.id), Some(usable.sealed.manifest.stage_id)),
            None => {
                let text = "there is no valid checkpoint; the run continues with the first stage that is not complete";
                self.warn(None, text.to_owned())?;
                (None, None)
            }
        };
        self.append(What::ResumedFrom { checkpoint_id, stage_id })
    }

    /// What was blocked may go on now, and what somebody wants again is as if it had not been.
    fn make_ready(&mut self) -> Result<(), EngineError> {
        let mut changes = Vec::new();
        for index in 0..self.stages.len() {
            let (stage_id, from) = (self.id(index), self.state(index));
            let is_wanted = from == StageState::Completed && self.is_wanted_again(index);
            if from == StageState::Blocked || is_wanted {
                let attempt = self.attempt_number(index);
                // Its next attempt knows what went wrong, and so should whoever reads of it.
                let is_after_change = |stage: &&StageRecord| {
                    stage.ending.as_ref().is_some_and(|ending| ending.changed_meanwhile)
                };
                let reason = match is_wanted {
                    true => Some("it was requested again".to_owned()),
                    false => {
                        self.recorded(index).filter(is_after_change).and_then(|stage| stage.reason.clone())
                    }
                };
                changes.push(What::stage_state(stage_id, attempt, from, StageState::Pending, reason));
            }
        }
        // A fan-out that could not be expanded the last time.
        for waiting in self.plan.waiting() {
            let before = self.recorder.record().stage(&waiting.id);
            if before.state == StageState::Blocked {
                changes.push(What::stage_state(waiting.id, 0, before.state, StageState::Pending, None));
            }
        }
        self.append_all(changes)
    }
}
