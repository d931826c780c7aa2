//! Runs the stages of a plan: each when those before it are done, so many at once. One thread for each running stage, and
//! this one, which alone writes the record: what it says is on the disk before it is acted on.

mod adopt;
mod begin;
mod finish;
mod outcome;
mod reuse;
mod session;
mod start;

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use checkpoint::FileHashes;
use checkpoint::layout::{Layout, NameError};
use checkpoint::manifest::Reason;
use jiff::Timestamp;
use supervise::{Isolation, SweepError};

use crate::control::Requests;
use crate::earlier_runs::EarlierRuns;
use crate::event::{Accepted, Ending, Event, InstanceNote, What};
use crate::executor::slurm::{EndJobsError, NoSlurmError};
use crate::executor::{Executor, ExecutorChoice};
use crate::hold::{HoldKind, TakeError};
use crate::plan::{LONGEST_WITHOUT_CHECKPOINT, Plan, Problems, Resources, Stage};
use crate::project_code::ProjectCode;
use crate::publish::PublishError;
use crate::record::{RecordError, Recorder, StageRecord};
use crate::secret_values::SecretValues;
use crate::session_order::SessionOrder;
use crate::state::{RunState, StageState};
use crate::turns::Turns;
use crate::{PythonSession, input_content, outlook};

pub use begin::{PlanText, abort_lost, can_run, resume, run};

const LOOK: Duration = Duration::from_millis(50);

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
    /// Other runs of the title, the newest first: what they made is not made again in a new run, and neither there nor in one that is
    /// resumed what must not be repeated. Without them nothing that others did matters.
    pub earlier_runs: Option<Vec<Layout>>,
    /// Whether a run is this user's own: results of others are not used again.
    pub is_own_run: fn(&Layout) -> bool,
    /// Stages that are run again, whatever became of them.
    pub again: Vec<String>,
    /// Set by somebody who wants the run to be aborted; taken back here, so that it can be set a second time.
    pub interrupt: Arc<AtomicBool>,
    /// Whether the value of an environment variable, by its name and itself, is a secret: it stays out of the record.
    pub is_secret: fn(&str, &str) -> bool,
    /// How the run is taken in hand.
    pub hold: HoldKind,
    /// Where stages are carried out.
    pub on: ExecutorChoice,
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
            earlier_runs: Some(Vec::new()),
            is_own_run: |_| true,
            again: Vec::new(),
            interrupt: Arc::default(),
            is_secret: |_, _| false,
            hold: HoldKind::default(),
            on: ExecutorChoice::Local,
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
    #[error("`{name}` cannot be the name of a run: checkstone uses that name for something else")]
    Reserved { name: String },
    #[error("there is already a run `{run}` of `{title}`")]
    Exists { title: String, run: String },
    #[error("the run is in use by {owner}")]
    Busy { owner: String },
    #[error("cannot take over the run")]
    Take(#[source] TakeError),
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
    #[error("the plan is for `{found}`, but the run is one of `{expected}`")]
    OtherTitle { found: String, expected: String },
    #[error("there is no stage `{stage}` in the plan")]
    NoStage { stage: String },
    #[error("`{stage}` is a Python stage, and this build of checkstone cannot run Python stages")]
    NoPython { stage: String },
    #[error(transparent)]
    NoSlurm(#[from] NoSlurmError),
    #[error(transparent)]
    EndJobs(#[from] EndJobsError),
    #[error("the nodes cannot be reached any more: {why}")]
    Unreachable { why: String },
    #[error("cannot start an attempt")]
    Submit(#[source] std::io::Error),
    #[error("cannot control a stage")]
    Controls(#[source] std::io::Error),
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
    is_aborted: bool,
    /// Those that depend on it know that it completed.
    has_released: bool,
    /// It was run once more because what it had left in the session was lost.
    is_rerun: bool,
    /// Something that it reads was made once more while it ran.
    is_to_be_checked: bool,
    /// Attempts that were lost with their machines.
    losses: u32,
}

/// A stage that is tried again, not before its time.
struct BackingOff {
    until: Instant,
    index: usize,
    /// Why it has to be.
    cause: String,
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
    backing_off: Vec<BackingOff>,
    running: usize,
    /// What nobody uses now.
    free: Option<Resources>,
    earlier_runs: EarlierRuns,
    turns: Turns,
    is_resumed: bool,
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
    code: Arc<ProjectCode>,
    has_told_of_copies: bool,
    executor: Box<dyn Executor>,
    /// Attempts of the last engine that may be alive on a cluster, by their stages: each is gone on with when its turn comes.
    living: HashMap<String, LivingAttempt>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Beginning {
    New,
    Resumed,
}

/// An attempt that a lost engine had submitted.
#[derive(Clone, Debug)]
struct LivingAttempt {
    number: u32,
    token: String,
    state: StageState,
}

impl<'a> Engine<'a> {
    fn new(
        beginning: Beginning,
        plan: Plan,
        layout: Layout,
        settings: &'a Settings,
        recorder: Recorder,
        executor: Box<dyn Executor>,
        on_event: &'a mut dyn FnMut(&Event),
    ) -> Self {
        let requests = Requests::from_now(&layout);
        // Without a store everything is read.
        let hashes = Arc::new(FileHashes::made(&layout).unwrap_or_default());
        let runs = settings.earlier_runs.as_deref().unwrap_or_default();
        let earlier_runs = EarlierRuns::read(runs);
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
            is_resumed: beginning == Beginning::Resumed,
            is_session_made: beginning == Beginning::New
                && !runs.is_empty()
                && outlook::is_session_made(&plan, &layout, &earlier_runs),
            earlier_runs,
            turns: Turns::of(&layout, beginning),
            plan: Arc::new(plan),
            code: ProjectCode::new(layout.root(), Arc::clone(&hashes)).into(),
            layout,
            python: Arc::new(PythonSession::new(settings)),
            requests,
            secrets: SecretValues::default(),
            is_aborting: false,
            has_failed: false,
            may_free: false,
            hashes,
            has_told_of_copies: false,
            executor,
            living: HashMap::new(),
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
            self.executor.let_go();
            return driven.map(|()| RunState::InProgress);
        }
        // Of stages that are no longer in the plan, or whose turn did not come.
        self.end_living(Reason::Error)?;
        self.block_the_rest()?;
        let state = self.final_state();
        if state == RunState::Completed {
            self.tell_what_is_left()?;
        }
        self.run_to(state, None)?;
        Ok(state)
    }

    fn schedule(&mut self) -> Result<(), EngineError> {
        loop {
            self.start_what_is_ready()?;
            if self.running == 0 && (self.backing_off.is_empty() || self.is_aborting) {
                return Ok(());
            }
            if let Some(report) = self.executor.poll(LOOK) {
                self.receive(report)?;
            }
            if self.recorder.hold().is_lost() {
                self.recorder.hold().check().map_err(RecordError::from)?;
            }
            self.look_for_requests()?;
            let is_due = |one: &mut BackingOff| one.until <= Instant::now();
            self.ready.extend(self.backing_off.extract_if(.., is_due).map(|one| one.index));
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
        self.append(What::StageState {
            stage_id,
            attempt,
            from,
            to,
            reason,
            token: None,
            ending,
            accepted,
            refused: false,
        })
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

    /// What the stages before made of a stage's inputs, by the names of these.
    fn made_inputs(&self, index: usize) -> HashMap<String, String> {
        let accepted = |place: usize| self.recorded(place)?.accepted.as_ref();
        let inputs = self.stage(index).into_iter().flat_map(|stage| &stage.inputs);
        let made = inputs.filter_map(|input| {
            let sha256 = input_content::accepted_sha256(&self.plan, &input.source, &accepted)?;
            Some((input.name.clone(), sha256))
        });
        made.collect()
    }
}
