//! Runs the stages of a plan: each when those before it are done, so many at once. One thread for each running stage, and
//! this one, which alone writes the record: what it says is on the disk before it is acted on.

use files::LockError;

mod adopt;
mod begin;
mod reuse;
mod session;

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use checkpoint::FileHashes;
use checkpoint::layout::{Layout, NameError};
use checkpoint::manifest::{Artifact, Status};
use jiff::Timestamp;
use supervise::{Controls, Isolation, Observed, Signal, SweepError};
use text::error_chain;

use crate::PythonSession;
use crate::attempt::{self, AttemptOutcome, AttemptProgress, Cause, EarlierArtifact, Job};
use crate::control::Requests;
use crate::earlier_runs::EarlierRuns;
use crate::event::{Accepted, Ending, Event, InstanceNote, What};
use crate::outlook;
use crate::plan::{
    Kind, LONGEST_WITHOUT_CHECKPOINT, Plan, Problems, Resources, Stage, Storing, WaitingStage,
};
use crate::publish::PublishError;
use crate::record::{RecordError, Recorder, StageRecord};
use crate::secret_values::SecretValues;
use crate::session_order::SessionOrder;
use crate::stage_checkpoint::{COPIES, StageCheckpoint};
use crate::state::{RunState, StageState};

use session::SessionToBeginWith;

pub use begin::{PlanText, abort_lost, can_run, resume, run};

const LOOK: Duration = Duration::from_millis(50);

/// So many stages are named in one sentence.
const MOST_NAMED: usize = 10;

/// No retry waits longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

/// A checkpoint of a Python stage holds all artifacts of the run up to this many, and beyond it those that are still needed.
const ARTIFACTS_IN_CHECKPOINT: usize = 2000;

#[derive(Clone, Debug)]
pub struct Settings {
    /// So many stages at once.
    pub jobs: usize,
    /// What every stage is given, besides what the plan sets.
    pub environment: Vec<(OsString, OsString)>,
    pub isolation: Isolation,
    /// So many bytes of each attempt's output are kept.
    pub kept_output: u64,
    /// A stage that may take longer saves checkpoints on its way, no further apart than this.
    pub longest_unchecked: Duration,
    /// What all stages that run at once may use together; without it, whatever they ask for.
    pub resources: Option<Resources>,
    /// Earlier runs of the title, the newest first: what they made is not made again.
    pub earlier_runs: Vec<Layout>,
    /// Stages that are run again, whatever became of them.
    pub again: Vec<String>,
    /// Set by somebody who wants the run to be aborted; taken back here, so that it can be set a second time.
    pub interrupt: Arc<AtomicBool>,
    /// Whether the value of an environment variable, by its name and itself, is a secret: it stays out of the record.
    pub is_secret: fn(&str, &str) -> bool,
    /// A person confirmed that checkpoints from elsewhere may be loaded, also where that can run code.
    pub is_trusted: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            jobs: 1,
            environment: Vec::new(),
            isolation: Isolation::Best,
            kept_output: 16 << 20,
            longest_unchecked: LONGEST_WITHOUT_CHECKPOINT,
            resources: None,
            earlier_runs: Vec::new(),
            again: Vec::new(),
            interrupt: Arc::default(),
            is_secret: |_, _| false,
            is_trusted: false,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("{0}")]
    Plan(Problems),
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("`{name}` cannot be the name of a run: checkstone puts something else there")]
    Reserved { name: String },
    #[error("there is a run `{run}` of `{title}` already")]
    Exists { title: String, run: String },
    #[error("the run is in the hands of another process")]
    Busy,
    #[error("cannot take the run in hand")]
    Lock(#[source] LockError),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Folder(#[from] PublishError),
    #[error("cannot look for what the last attempt of `{stage}` left running")]
    Sweep { stage: String, source: SweepError },
    #[error(
        "{survivors} processes of the last attempt of `{stage}` cannot be stopped: they belong to another user"
    )]
    Survivors { stage: String, survivors: u32 },
    #[error("the plan is for `{found}`, and the run is one of `{expected}`")]
    OtherTitle { found: String, expected: String },
    #[error("there is no stage `{stage}` in the plan")]
    NoStage { stage: String },
    #[error("`{stage}` is a Python stage, and this build of checkstone cannot run Python stages")]
    NoPython { stage: String },
    #[error("cannot start a thread")]
    Thread(#[source] std::io::Error),
    #[error("cannot control a stage")]
    Controls(#[source] std::io::Error),
}

enum Message {
    Progress(usize, AttemptProgress),
    Ended(usize, Box<AttemptOutcome>),
}

/// What became of a stage in this process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Standing {
    #[default]
    Waiting,
    Running,
    Completed,
    /// Not completed, and not to be tried again now.
    GivenUp,
}

#[derive(Default)]
struct StageRun {
    standing: Standing,
    /// Dependencies that are not completed yet.
    waits_for: usize,
    dependents: Vec<usize>,
    /// In this process.
    attempts: u32,
    controls: Option<Controls>,
    is_aborted: bool,
    /// Those that depend on it know that it completed.
    has_released: bool,
    /// It was run once more because what it had left in the session was lost.
    is_rerun: bool,
    /// Something that it reads was made once more while it ran.
    is_to_be_checked: bool,
}

struct Engine<'a> {
    plan: Arc<Plan>,
    layout: Layout,
    settings: &'a Settings,
    environment: Arc<Vec<(OsString, OsString)>>,
    recorder: Recorder,
    on_event: &'a mut dyn FnMut(&Event),
    stages: Vec<StageRun>,
    ready: BTreeSet<usize>,
    /// Stages that are tried again, each not before its time.
    backing_off: Vec<(Instant, usize)>,
    running: usize,
    /// What nobody uses now.
    free: Option<Resources>,
    earlier_runs: EarlierRuns,
    /// Earlier runs made all that the Python stages would make.
    is_session_made: bool,
    python: Arc<PythonSession>,
    session_order: SessionOrder,
    requests: Requests,
    secrets: SecretValues,
    is_aborting: bool,
    has_failed: bool,
    /// Results were replaced, or checkpoints hold what stages left half-way: there may be something to free at the end.
    may_free: bool,
    hashes: Arc<FileHashes>,
    has_told_of_copies: bool,
    sender: Sender<Message>,
    receiver: Receiver<Message>,
}

impl<'a> Engine<'a> {
    fn new(
        plan: Plan,
        layout: Layout,
        settings: &'a Settings,
        recorder: Recorder,
        on_event: &'a mut dyn FnMut(&Event),
    ) -> Self {
        let (sender, receiver) = mpsc::channel();
        let requests = Requests::from_now(&layout);
        // Without a store everything is read.
        let hashes = Arc::new(FileHashes::made(&layout).unwrap_or_default());
        let earlier_runs = EarlierRuns::read(&settings.earlier_runs);
        let mut engine = Self {
            session_order: SessionOrder::of(&plan),
            environment: Arc::new(settings.environment.clone()),
            settings,
            recorder,
            on_event,
            stages: Vec::new(),
            ready: BTreeSet::new(),
            backing_off: Vec::new(),
            running: 0,
            free: settings.resources.clone(),
            is_session_made: !settings.earlier_runs.is_empty()
                && outlook::is_session_made(&plan, &layout, &earlier_runs),
            earlier_runs,
            plan: Arc::new(plan),
            layout,
            python: Arc::new(PythonSession::new(settings)),
            requests,
            secrets: SecretValues::default(),
            is_aborting: false,
            has_failed: false,
            may_free: false,
            hashes,
            has_told_of_copies: false,
            sender,
            receiver,
        };
        engine.take_in_stages();
        engine
    }

    /// The stages of the plan that are new here: each waits for those before it that are not complete.
    fn take_in_stages(&mut self) {
        let known = self.stages.len();
        self.stages.resize_with(self.plan.stages.len(), StageRun::default);
        for (index, planned) in self.plan.stages.iter().enumerate().skip(known) {
            let mut waits_for = 0;
            for on in &planned.dependencies {
                let Some(before) = self.stages.get_mut(*on) else { continue };
                before.dependents.push(index);
                waits_for += usize::from(before.standing != Standing::Completed);
            }
            if let Some(stage) = self.stages.get_mut(index) {
                stage.waits_for = waits_for;
            }
            if waits_for == 0 {
                self.ready.insert(index);
            }
        }
    }

    /// Runs what can be run, and says how the run stands then.
    fn drive(&mut self) -> Result<RunState, EngineError> {
        let driven = self.schedule();
        if driven.is_err() {
            // Nothing can be recorded any more, so nothing may go on.
            self.end_all();
            return driven.map(|()| RunState::InProgress);
        }
        self.block_the_rest()?;
        let state = self.final_state();
        if state == RunState::Completed {
            self.tell_what_is_left()?;
        }
        self.run_to(state, None)?;
        Ok(state)
    }

    /// What stages made that are no longer in the plan is still there, and could be taken for what the others made.
    fn tell_what_is_left(&mut self) -> Result<(), EngineError> {
        let planned: HashSet<&str> = self.plan.stages.iter().map(|stage| stage.id.as_str()).collect();
        let is_left = |id: &&String| {
            !planned.contains(id.as_str()) && self.layout.published(id).is_ok_and(|folder| folder.is_dir())
        };
        let mut left: Vec<String> = self.recorder.record().stages.keys().filter(is_left).cloned().collect();
        if left.is_empty() {
            return Ok(());
        }
        left.sort();
        let count = left.len().saturating_sub(MOST_NAMED);
        left.truncate(MOST_NAMED);
        let more = if count > 0 { format!(" and {count} more") } else { String::new() };
        let folder = self.layout.relative(&self.layout.run_directory());
        let names = left.join("`, `");
        self.warn(None, format!("no longer in the plan, and still in `{folder}`: `{names}`{more}"))
    }

    fn schedule(&mut self) -> Result<(), EngineError> {
        loop {
            self.start_what_is_ready()?;
            if self.running == 0 && (self.backing_off.is_empty() || self.is_aborting) {
                return Ok(());
            }
            match self.receiver.recv_timeout(LOOK) {
                Ok(message) => self.receive(message)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            self.look_for_requests()?;
            let is_due = |(due, _): &mut (Instant, usize)| *due <= Instant::now();
            self.ready.extend(self.backing_off.extract_if(.., is_due).map(|(_, index)| index));
        }
    }

    fn end_all(&mut self) {
        for stage in &self.stages {
            if let Some(controls) = &stage.controls {
                controls.abort();
            }
        }
        while self.running > 0 {
            match self.receiver.recv() {
                Ok(Message::Ended(..)) => self.running -= 1,
                Ok(Message::Progress(..)) => {}
                Err(_) => return,
            }
        }
    }

    fn append(&mut self, what: What) -> Result<(), EngineError> {
        let event = self.recorder.append(Timestamp::now(), self.secrets.withheld_from(what))?;
        (self.on_event)(&event);
        Ok(())
    }

    fn append_all(&mut self, all: Vec<What>) -> Result<(), EngineError> {
        let all = all.into_iter().map(|what| self.secrets.withheld_from(what)).collect();
        for event in self.recorder.append_all(Timestamp::now(), all)? {
            (self.on_event)(&event);
        }
        Ok(())
    }

    fn warn(&mut self, stage: Option<usize>, text: String) -> Result<(), EngineError> {
        let stage_id = stage.map(|index| self.id(index));
        self.append(What::Warning { stage_id, text })
    }

    fn run_to(&mut self, to: RunState, reason: Option<String>) -> Result<(), EngineError> {
        let from = self.recorder.record().state;
        self.append(What::RunState { from, to, reason })
    }

    fn stage(&self, index: usize) -> Option<&Stage> {
        self.plan.stages.get(index)
    }

    fn id(&self, index: usize) -> String {
        self.stage(index).map(|stage| stage.id.clone()).unwrap_or_default()
    }

    fn recorded(&self, index: usize) -> Option<&StageRecord> {
        self.recorder.record().stages.get(&self.stage(index)?.id)
    }

    fn state(&self, index: usize) -> StageState {
        self.recorded(index).map_or(StageState::Pending, |stage| stage.state)
    }

    fn attempt_number(&self, index: usize) -> u32 {
        self.recorded(index).map_or(0, |stage| stage.attempt)
    }

    fn stage_to(&mut self, index: usize, to: StageState, reason: Option<String>) -> Result<(), EngineError> {
        self.stage_ended(index, to, reason, None, None)
    }

    fn stage_ended(
        &mut self,
        index: usize,
        to: StageState,
        reason: Option<String>,
        ending: Option<Ending>,
        accepted: Option<Accepted>,
    ) -> Result<(), EngineError> {
        let (stage_id, attempt, from) = (self.id(index), self.attempt_number(index), self.state(index));
        self.append(What::StageState { stage_id, attempt, from, to, reason, ending, accepted })
    }

    fn start_what_is_ready(&mut self) -> Result<(), EngineError> {
        while !self.is_aborting && self.running < self.settings.jobs.max(1) {
            let Some(index) = self.next_to_begin() else { return Ok(()) };
            self.ready.remove(&index);
            let may_run = self.may_run(index);
            if self.state(index) == StageState::Completed {
                if self.is_as_it_was(index)? || (!may_run && self.stays_as_it_was(index)?) {
                    self.complete(index)?;
                    continue;
                }
                if may_run {
                    let why = Some("something of it has changed".to_owned());
                    self.stage_to(index, StageState::Pending, why)?;
                }
            }
            if !may_run {
                self.give_up(index)?;
                continue;
            }
            if self.is_made_by_earlier_run(index)? {
                self.complete(index)?;
                continue;
            }
            self.start(index)?;
        }
        Ok(())
    }

    /// What must not be repeated is not, unless somebody says so.
    fn may_run(&self, index: usize) -> bool {
        let Some(stage) = self.stage(index) else { return false };
        // Whatever state it is in: a stage that was blocked after its first attempt has been begun all the same.
        let began = self.attempt_number(index) > 0;
        stage.is_retryable || !began || self.is_wanted_again(index)
    }

    fn is_wanted_again(&self, index: usize) -> bool {
        let again = &self.settings.again;
        self.stage(index).is_some_and(|stage| again.contains(&stage.id) || again.contains(&stage.template))
    }

    /// A stage that must not be repeated, and that has nothing to go on with. One that completed stays so in the record:
    /// what it made may come back.
    fn give_up(&mut self, index: usize) -> Result<(), EngineError> {
        let text = "it is not retryable, and was begun before; `--again` runs it all the same".to_owned();
        self.warn(Some(index), text.clone())?;
        if self.state(index) == StageState::Pending {
            self.stage_to(index, StageState::Blocked, Some(text))?;
        }
        self.has_failed = true;
        self.settle(index, Standing::GivenUp);
        Ok(())
    }

    /// Its outputs are there: what waits for it may run, and fan-outs over them are known.
    fn complete(&mut self, index: usize) -> Result<(), EngineError> {
        self.settle(index, Standing::Completed);
        if self.plan.is_whole() {
            return Ok(());
        }
        let published = self.layout.published(&self.id(index))?;
        match self.plan.grown(index, &published) {
            Ok(None) => Ok(()),
            Ok(Some(plan)) => {
                self.session_order = SessionOrder::of(&plan);
                self.plan = Arc::new(plan);
                self.take_in_stages();
                self.tell_instances()
            }
            Err(problems) => {
                self.has_failed = true;
                let reason = problems.0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
                let id = self.stage(index).map(|stage| stage.template.clone()).unwrap_or_default();
                let is_it = |waiting: &WaitingStage| waiting.waits_for.contains(&id);
                let waiting: Vec<WaitingStage> = self.plan.waiting().into_iter().filter(is_it).collect();
                self.append_all(self.blocked_fan_outs(&waiting, &reason))
            }
        }
    }

    fn blocked_fan_outs(&self, waiting: &[WaitingStage], reason: &str) -> Vec<What> {
        let record = self.recorder.record();
        let is_pending = |waiting: &&WaitingStage| record.stage(&waiting.id).state == StageState::Pending;
        let blocked = waiting.iter().filter(is_pending).map(|waiting| {
            let (id, reason) = (waiting.id.clone(), Some(reason.to_owned()));
            What::stage_state(id, 0, StageState::Pending, StageState::Blocked, reason)
        });
        blocked.collect()
    }

    /// The instances that the record does not have yet.
    fn tell_instances(&mut self) -> Result<(), EngineError> {
        let mut fan_outs: Vec<(String, Vec<InstanceNote>)> = Vec::new();
        for stage in self.plan.stages.iter().filter(|stage| stage.id != stage.template) {
            let note = InstanceNote { stage_id: stage.id.clone(), parameters: stage.parameters_in_words() };
            match fan_outs.last_mut().filter(|(template, _)| *template == stage.template) {
                Some((_, notes)) => notes.push(note),
                None => fan_outs.push((stage.template.clone(), vec![note])),
            }
        }
        let known = &self.recorder.record().instances;
        fan_outs.retain(|(template, notes)| known.get(template) != Some(notes));
        let events = fan_outs.into_iter().map(|(stage_id, instances)| What::FanOut { stage_id, instances });
        self.append_all(events.collect())
    }

    fn settle(&mut self, index: usize, standing: Standing) {
        let Some(stage) = self.stages.get_mut(index) else { return };
        stage.standing = standing;
        stage.controls = None;
        if standing != Standing::Completed {
            return;
        }
        if std::mem::take(&mut stage.is_to_be_checked) {
            stage.standing = Standing::Waiting;
            self.session_order.go_back_to(index);
            self.ready.insert(index);
            return;
        }
        let is_again = std::mem::replace(&mut stage.has_released, true);
        for dependent in stage.dependents.clone() {
            if let Some(next) = self.stages.get_mut(dependent) {
                // It may have read something else.
                match next.standing {
                    Standing::Completed if is_again => {
                        next.standing = Standing::Waiting;
                        self.session_order.go_back_to(dependent);
                        self.ready.insert(dependent);
                    }
                    Standing::Running if is_again => next.is_to_be_checked = true,
                    _ => {}
                }
                if is_again {
                    continue;
                }
                next.waits_for -= 1;
                if next.waits_for == 0 {
                    self.ready.insert(dependent);
                }
            }
        }
    }

    fn start(&mut self, index: usize) -> Result<(), EngineError> {
        let SessionToBeginWith::Now(session) = self.session_to_begin_with(index)? else { return Ok(()) };
        if self.state(index) == StageState::Failed {
            self.stage_to(index, StageState::Resumable, None)?;
        }
        let attempt = self.next_attempt(index)?;
        let controls = Controls::new().map_err(EngineError::Controls)?;
        let to_resume = self.saved_half_way(index)?;
        let job = Job {
            plan: Arc::clone(&self.plan),
            stage: index,
            attempt,
            layout: self.layout.clone(),
            environment: Arc::clone(&self.environment),
            isolation: self.settings.isolation,
            kept_output: self.settings.kept_output,
            longest_unchecked: self.settings.longest_unchecked,
            controls: controls.clone(),
            python: Arc::clone(&self.python),
            hashes: Arc::clone(&self.hashes),
            earlier: self.earlier_artifacts(index),
            session,
            to_resume,
            execution_count: self.recorder.record().checkpoints + 1,
        };
        // On the disk first: after this a lost supervisor's successor looks for what it left running.
        let (id, from) = (self.id(index), self.state(index));
        self.append(What::stage_state(id, attempt, from, StageState::Running, None))?;
        let sender = self.sender.clone();
        let work = move || {
            let teller = sender.clone();
            // The receiver outlives every stage; where it does not, nobody wants to know.
            let tell = move |told| drop(teller.send(Message::Progress(index, told)));
            let outcome = attempt::run(&job, &tell);
            let _ = sender.send(Message::Ended(index, Box::new(outcome)));
        };
        std::thread::Builder::new().spawn(work).map_err(EngineError::Thread)?;
        self.running += 1;
        if let (Some(free), Some(stage)) = (&mut self.free, self.plan.stages.get(index)) {
            free.take(&stage.resources);
        }
        if let Some(stage) = self.stages.get_mut(index) {
            stage.standing = Standing::Running;
            stage.attempts += 1;
            stage.controls = Some(controls);
        }
        Ok(())
    }

    /// One that has no folder yet: where the record was lost or is an older one, there are attempts that it does not know,
    /// and what they left must not be taken for this one's.
    fn next_attempt(&self, index: usize) -> Result<u32, EngineError> {
        let id = self.id(index);
        let mut attempt = self.attempt_number(index) + 1;
        while self.layout.attempt(&id, attempt)?.symlink_metadata().is_ok() {
            attempt += 1;
        }
        Ok(attempt)
    }

    /// What a checkpoint should hold besides what its stage makes: what a session is brought back from, and nothing where there is
    /// none. The record holds on to what the other stages published, so that a checkpoint costs what its stage made, not what the
    /// run has.
    fn earlier_artifacts(&self, starting: usize) -> Vec<EarlierArtifact> {
        let completed = |index: &usize| {
            *index != starting
                && self.stages.get(*index).is_some_and(|stage| stage.standing == Standing::Completed)
        };
        if self.stage(starting).is_none_or(|stage| stage.kind == Kind::Command) {
            let session = self.session_order.before(starting).filter(completed);
            return session.flat_map(|index| self.published_artifacts(index)).collect();
        }
        let before = self.session_before(starting).map(|before| before.stage);
        let is_needed = |index: &usize| {
            before == Some(*index)
                || self.stages.get(*index).is_some_and(|stage| {
                    stage.dependents.iter().any(|dependent| {
                        self.stages.get(*dependent).is_some_and(|next| next.standing != Standing::Completed)
                    })
                })
        };
        let all: Vec<usize> = (0..self.stages.len()).filter(completed).collect();
        let count = |index: &usize| {
            self.recorded(*index)
                .and_then(|stage| stage.accepted.as_ref())
                .map_or(0, |accepted| accepted.artifacts.len())
        };
        let is_few = all.len() <= ARTIFACTS_IN_CHECKPOINT
            && all.iter().map(count).sum::<usize>() <= ARTIFACTS_IN_CHECKPOINT;
        let wanted = all.into_iter().filter(|index| is_few || is_needed(index));
        wanted.flat_map(|index| self.published_artifacts(index)).collect()
    }

    /// What the stage published when it was last accepted.
    fn published_artifacts(&self, index: usize) -> Vec<EarlierArtifact> {
        let accepted = self.recorded(index).and_then(|stage| stage.accepted.as_ref());
        let folder = self.stage(index).and_then(|stage| self.layout.published(&stage.id).ok());
        let (Some(accepted), Some(folder)) = (accepted, folder) else { return Vec::new() };
        let is_reference = self.stage(index).is_some_and(|stage| stage.store == Storing::Reference);
        let earlier = accepted.artifacts.iter().map(|artifact| EarlierArtifact {
            path: folder.join(&artifact.path),
            sha256: artifact.sha256.clone(),
            is_reference,
        });
        earlier.collect()
    }

    /// The files of the stage's last own checkpoint. Where it cannot be used, that is told: work is lost.
    fn saved_half_way(&mut self, index: usize) -> Result<Vec<Artifact>, EngineError> {
        let Some(id) = self.recorded(index).and_then(|stage| stage.mid_stage_checkpoint.clone()) else {
            return Ok(Vec::new());
        };
        let own = format!("/.attempts/{}/", self.id(index));
        let owned = |artifact: &Artifact| {
            let mut paths = artifact.in_attempt();
            paths.retain(|artifact| artifact.relative_path.contains(&own));
            paths
        };
        let lost = match checkpoint::validate(&self.layout, &id, checkpoint::Depth::Quick) {
            Ok(checked) => match checked.manifest {
                Some(sealed) if checked.lost.iter().all(|lost| owned(lost).is_empty()) => {
                    return Ok(sealed.manifest.artifacts.iter().flat_map(owned).collect());
                }
                _ => checked.issues.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
            },
            Err(error) => error_chain(&error),
        };
        let text = format!("it begins anew, for what it had saved in `{id}` cannot be brought back: {lost}");
        self.warn(Some(index), text)?;
        Ok(Vec::new())
    }

    fn receive(&mut self, message: Message) -> Result<(), EngineError> {
        match message {
            Message::Progress(index, told) => self.hear(index, told),
            Message::Ended(index, outcome) => {
                self.running -= 1;
                if let (Some(free), Some(stage)) = (&mut self.free, self.plan.stages.get(index)) {
                    free.give_back(&stage.resources);
                }
                self.end(index, *outcome)
            }
        }
    }

    fn hear(&mut self, index: usize, told: AttemptProgress) -> Result<(), EngineError> {
        let (stage_id, attempt) = (self.id(index), self.attempt_number(index));
        match told {
            AttemptProgress::Observed(Observed::Marker(marker)) => {
                self.append(What::Marker { stage_id, attempt, marker: marker.to_string() })
            }
            AttemptProgress::Observed(Observed::Stall(stall)) => {
                let (sign, looks) = (stall.signal.name(), stall.looks.name());
                let signal = format!("{sign} for {} s, looks {looks}", stall.lasting.as_secs());
                self.append(What::Stall { stage_id, attempt, signal })
            }
            AttemptProgress::Observed(Observed::Signalled(signal)) => {
                // The watchdog does not wait for a disk: this is the one transition that is recorded right after its deed.
                let is_first = self.state(index) == StageState::Running;
                if is_first && matches!(signal, Signal::Interrupt | Signal::Terminate) {
                    self.stage_to(index, StageState::Interrupting, None)?;
                }
                self.append(What::Signal { stage_id, attempt, signal: signal.name().to_owned() })
            }
            AttemptProgress::Observed(Observed::Suspended(time)) => {
                let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
                self.append(What::Suspended { stage_id, attempt, milliseconds })
            }
            // How long a stop lasted is told at its end.
            AttemptProgress::Observed(Observed::Output { .. } | Observed::Stopped | Observed::Continued) => {
                Ok(())
            }
            AttemptProgress::Checkpoint(checkpoint) => self.note_checkpoint(index, &checkpoint),
            AttemptProgress::Warning(text) if text == COPIES => {
                let is_first = !std::mem::replace(&mut self.has_told_of_copies, true);
                if is_first { self.warn(None, text) } else { Ok(()) }
            }
            AttemptProgress::Warning(text) => self.warn(Some(index), text),
        }
    }

    fn note_checkpoint(&mut self, index: usize, checkpoint: &StageCheckpoint) -> Result<(), EngineError> {
        self.may_free |= checkpoint.manifest.status != Status::Saved;
        let what = checkpoint.event(self.id(index), self.attempt_number(index));
        self.append(what)
    }

    fn end(&mut self, index: usize, outcome: AttemptOutcome) -> Result<(), EngineError> {
        let AttemptOutcome { ending, result, checkpoint } = outcome;
        if let Some(checkpoint) = &checkpoint {
            self.note_checkpoint(index, checkpoint)?;
        }
        let unaccepted = match result {
            Ok(accepted) => {
                self.may_free |= self.recorded(index).is_some_and(|before| before.accepted.is_some());
                self.stage_ended(index, StageState::Completed, None, ending, Some(accepted))?;
                return self.complete(index);
            }
            Err(unaccepted) => unaccepted,
        };
        let reason = unaccepted.reason;
        if unaccepted.cause == Cause::Failed && self.state(index) == StageState::Running {
            self.stage_ended(index, StageState::Failed, Some(reason.clone()), ending, None)?;
        } else {
            self.stage_ended(index, StageState::Interrupted, Some(reason.clone()), ending, None)?;
        }
        let is_aborted = unaccepted.cause == Cause::Aborted;
        if let Some(stage) = self.stages.get_mut(index) {
            stage.is_aborted |= is_aborted;
            stage.controls = None;
        }
        if checkpoint.is_none() {
            let why = format!("{reason}; and there is no checkpoint of it");
            self.stage_to(index, StageState::Blocked, Some(why))?;
            // Its state no longer says so.
            self.has_failed |= unaccepted.cause == Cause::Failed;
            self.settle(index, Standing::GivenUp);
            return Ok(());
        }
        if self.may_retry(index) {
            let pause = self.pause_before_retry(index);
            let in_time = match pause.as_secs() {
                0 => String::new(),
                seconds => format!(" in {seconds} s"),
            };
            let why = format!("it is tried again{in_time}: {reason}");
            self.stage_to(index, StageState::Resumable, Some(why))?;
            if pause.is_zero() {
                return self.start(index);
            }
            self.backing_off.push((Instant::now() + pause, index));
            return Ok(());
        }
        if self.state(index) == StageState::Interrupted {
            self.stage_to(index, StageState::Resumable, Some(reason))?;
        }
        self.settle(index, Standing::GivenUp);
        Ok(())
    }

    fn may_retry(&self, index: usize) -> bool {
        let (Some(stage), Some(here)) = (self.stage(index), self.stages.get(index)) else { return false };
        !self.is_aborting && !here.is_aborted && stage.is_retryable && here.attempts <= stage.retries
    }

    /// Twice as long each time.
    fn pause_before_retry(&self, index: usize) -> Duration {
        let attempts = self.stages.get(index).map_or(1, |stage| stage.attempts);
        let backoff = self.stage(index).map(|stage| stage.backoff).unwrap_or_default();
        backoff.saturating_mul(2_u32.saturating_pow(attempts.saturating_sub(1))).min(LONGEST_PAUSE)
    }

    fn look_for_requests(&mut self) -> Result<(), EngineError> {
        let mut wanted = self.requests.new_ones();
        if self.settings.interrupt.swap(false, Ordering::SeqCst) {
            wanted.push(None);
        }
        for stage in wanted {
            self.append(What::AbortRequested { stage_id: stage.clone() })?;
            match stage {
                None => {
                    self.is_aborting = true;
                    self.stages.iter().filter_map(|stage| stage.controls.as_ref()).for_each(Controls::abort);
                }
                Some(id) => {
                    let index = self.plan.stage(&id);
                    let controls = index.and_then(|index| self.stages.get(index)?.controls.as_ref());
                    match (controls, index) {
                        (Some(controls), _) => controls.abort(),
                        // It waits for nothing but its turn.
                        (None, Some(index)) if self.ready.remove(&index) => self.abort_unbegun(index)?,
                        (None, _) => {
                            self.warn(None, format!("`{id}` is not running, so that it cannot be aborted"))?
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn abort_unbegun(&mut self, index: usize) -> Result<(), EngineError> {
        if self.state(index) != StageState::Completed {
            self.stage_to(index, StageState::Blocked, Some("aborted before it began".to_owned()))?;
        }
        self.stages.get_mut(index).into_iter().for_each(|stage| stage.is_aborted = true);
        self.settle(index, Standing::GivenUp);
        Ok(())
    }

    /// Stages behind one that did not complete cannot run; those of an aborted run could, and stay as they are.
    fn block_the_rest(&mut self) -> Result<(), EngineError> {
        if self.is_aborting {
            return Ok(());
        }
        let mut blocked = Vec::new();
        for (index, stage) in self.stages.iter().enumerate() {
            let from = self.state(index);
            let can_be = matches!(from, StageState::Pending | StageState::Resumable);
            if stage.standing != Standing::Waiting || !can_be {
                continue;
            }
            let Some(planned) = self.stage(index) else { continue };
            let is_lacking = |on: &usize| {
                self.stages.get(*on).is_some_and(|before| before.standing != Standing::Completed)
            };
            let named = planned.dependencies.iter().copied().find(is_lacking);
            let before = named.or_else(|| self.session_order.needed_by(index).filter(is_lacking).last());
            let unknown = || self.session_order.unknown_before(index).map(str::to_owned);
            let before = before.map(|before| self.id(before)).or_else(unknown);
            let reason = before.map(|before| format!("`{before}` did not complete"));
            let (id, attempt) = (planned.id.clone(), self.attempt_number(index));
            blocked.push(What::stage_state(id, attempt, from, StageState::Blocked, reason));
        }
        for waiting in self.plan.waiting() {
            let is_done = |id: &&String| {
                let mut stages =
                    self.plan.stages.iter().zip(&self.stages).filter(|(stage, _)| stage.template == **id);
                !self.plan.waiting().iter().any(|waiting| waiting.id == **id)
                    && stages.all(|(_, here)| here.standing == Standing::Completed)
            };
            let before = waiting.waits_for.iter().find(|id| !is_done(id)).cloned().unwrap_or_default();
            let reason = format!("`{before}` did not complete");
            blocked.extend(self.blocked_fan_outs(std::slice::from_ref(&waiting), &reason));
        }
        self.append_all(blocked)
    }

    fn final_state(&self) -> RunState {
        if self.plan.is_whole() && self.stages.iter().all(|stage| stage.standing == Standing::Completed) {
            return RunState::Completed;
        }
        if self.is_aborting || self.stages.iter().any(|stage| stage.is_aborted) {
            return RunState::Aborted;
        }
        let has_failed = (0..self.stages.len()).any(|index| self.state(index) == StageState::Failed);
        if has_failed || self.has_failed { RunState::Failed } else { RunState::Interrupted }
    }
}
