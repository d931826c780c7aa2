//! The record of a run: its events in a file, appended by one writer, and what they add up to. A line counts once it
//! is whole, so that a writer killed midway leaves the record as it was; the next writer cuts the torn end off.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead as _, Read as _, Seek as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use checkpoint::hash;
use files::{atomic_file, regular_file};
use jiff::Timestamp;

use crate::event::{Accepted, Ending, Event, FORMAT, InstanceNote, What};
use crate::hold::{AloneHold, HoldError, RunHold};
use crate::plan::{Plan, Problems, SetParameter};
use crate::secret_values::{self, SecretValues, WITHHELD};
use crate::state::{RunState, StageState, TransitionError};
use crate::surroundings::Surroundings;

#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("cannot read the record `{}`", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("the record `{}` is empty: the run never began", path.display())]
    Empty { path: PathBuf },
    #[error("the record `{}` is damaged in line {line}: {message}", path.display())]
    Damaged { path: PathBuf, line: usize, message: String },
    #[error("the record `{}` was written by a newer version (format {found})", path.display())]
    Newer { path: PathBuf, found: u32 },
    #[error("cannot create the record `{}`", path.display())]
    Create { path: PathBuf, source: io::Error },
    #[error("cannot write to the record `{}`", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("the record `{}` failed before and is not written to again", path.display())]
    Broken { path: PathBuf },
    #[error(
        "the record `{}` was removed while the run was in progress; the run ends here, because nothing more can be recorded",
        path.display()
    )]
    Removed { path: PathBuf },
    #[error(transparent)]
    Hold(#[from] HoldError),
    #[error(transparent)]
    Transition(#[from] TransitionError),
}

/// What the events of a run add up to.
#[derive(Clone, Debug)]
pub struct Record {
    pub title: String,
    pub run: String,
    pub plan_file: Option<String>,
    pub plan: String,
    /// Parameters that were set from outside of the plan, as NAME=VALUE.
    pub set: Vec<String>,
    /// The instances of each fan-out that is known, by the id that the plan has.
    pub instances: HashMap<String, Vec<InstanceNote>>,
    /// Of the last time that a supervisor took the run in hand.
    pub surroundings: Surroundings,
    pub state: RunState,
    pub stages: HashMap<String, StageRecord>,
    /// How many checkpoints were saved.
    pub checkpoints: u64,
    pub began_at: Timestamp,
    /// When somebody took it in hand last.
    pub taken_at: Timestamp,
    pub changed_at: Timestamp,
    pub last_sequence: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct StageRecord {
    pub state: StageState,
    /// The last attempt; 0 before the first.
    pub attempt: u32,
    /// Why it is in its state, where there is a reason.
    pub reason: Option<String>,
    /// It is not begun, because it was begun before and must not be repeated.
    pub is_refused: bool,
    /// What the last attempt is known by on a cluster; none if it ran here.
    pub token: Option<String>,
    pub ending: Option<Ending>,
    pub accepted: Option<Accepted>,
    /// The last checkpoint that was saved at its own word, while it was running.
    pub mid_stage_checkpoint: Option<String>,
}

impl Record {
    /// Reads the record as far as it is whole.
    pub fn read(path: &Path) -> Result<Self, RecordError> {
        let bytes = read_bytes(path)?;
        Self::of_bytes(path, &bytes)
    }

    fn of_bytes(path: &Path, bytes: &[u8]) -> Result<Self, RecordError> {
        let mut record: Option<Self> = None;
        for (number, event) in events(path, bytes).enumerate() {
            let event = event?;
            match &mut record {
                Some(record) => record.apply(&event).map_err(|error| RecordError::Damaged {
                    path: path.to_owned(),
                    line: number + 1,
                    message: error.to_string(),
                })?,
                None => record = Some(Self::begin(path, event)?),
            }
        }
        record.ok_or_else(|| RecordError::Empty { path: path.to_owned() })
    }

    fn begin(path: &Path, event: Event) -> Result<Self, RecordError> {
        let What::RunPlanned { format, report_title, run_id, plan_file, plan, set, surroundings } =
            event.what
        else {
            let message = "it does not begin with `run-planned`".to_owned();
            return Err(RecordError::Damaged { path: path.to_owned(), line: 1, message });
        };
        if format > FORMAT {
            return Err(RecordError::Newer { path: path.to_owned(), found: format });
        }
        Ok(Self {
            title: report_title,
            run: run_id,
            plan_file,
            plan,
            set,
            instances: HashMap::new(),
            surroundings,
            state: RunState::default(),
            stages: HashMap::new(),
            checkpoints: 0,
            began_at: event.at,
            taken_at: event.at,
            changed_at: event.at,
            last_sequence: event.sequence,
        })
    }

    fn apply(&mut self, event: &Event) -> Result<(), TransitionError> {
        self.changed_at = event.at;
        self.last_sequence = event.sequence;
        match &event.what {
            What::PlanChanged { plan, set } => {
                self.plan.clone_from(plan);
                self.set.clone_from(set);
            }
            What::FanOut { stage_id, instances } => {
                self.instances.insert(stage_id.clone(), instances.clone());
            }
            What::RunTaken { surroundings, .. } => {
                self.surroundings.clone_from(surroundings);
                self.taken_at = event.at;
            }
            What::RunState { from, to, .. } => {
                same("run", self.state.name(), from.name())?;
                self.state = self.state.transition(*to)?;
            }
            What::StageState { stage_id, attempt, from, to, reason, token, ending, accepted, refused } => {
                let stage = self.stages.entry(stage_id.clone()).or_default();
                same("stage", stage.state.name(), from.name())?;
                let is_taken_over = stage.state == StageState::Pending && *to == StageState::Completed;
                // What an earlier run made is there to be accepted; without it nothing was made.
                if is_taken_over && accepted.is_none() {
                    return Err(TransitionError { what: "stage", from: from.name(), to: to.name() });
                }
                stage.state = stage.state.transition(*to)?;
                stage.attempt = (*attempt).max(stage.attempt);
                stage.reason.clone_from(reason);
                stage.is_refused = *refused;
                if *to == StageState::Running {
                    stage.ending = None;
                    stage.token.clone_from(token);
                }
                // What it had half-way is of no use any more.
                if *to == StageState::Completed {
                    stage.mid_stage_checkpoint = None;
                }
                if ending.is_some() {
                    stage.ending.clone_from(ending);
                }
                if accepted.is_some() {
                    stage.accepted.clone_from(accepted);
                }
            }
            What::Checkpoint { stage_id, checkpoint_id, mid_stage, .. } => {
                self.checkpoints += 1;
                if *mid_stage {
                    let stage = self.stages.entry(stage_id.clone()).or_default();
                    stage.mid_stage_checkpoint = Some(checkpoint_id.clone());
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Parameters that were set from outside of the plan; what was withheld is no value.
    pub fn set_parameters(&self) -> Vec<SetParameter> {
        let known: Vec<String> = self.set.iter().filter(|set| !set.contains(WITHHELD)).cloned().collect();
        SetParameter::of_record(&known)
    }

    /// The names of those whose values the record does not have, since something in them is a secret.
    pub fn withheld_parameters(&self) -> impl Iterator<Item = &str> {
        let withheld = self.set.iter().filter(|set| set.contains(WITHHELD));
        withheld.filter_map(|set| set.split_once('=')).map(|(name, _)| name)
    }

    /// Whether its text has a gap where a value stood that is a secret, other than in the environment of a stage.
    pub fn has_gaps(&self) -> bool {
        secret_values::has_gaps(&self.plan)
    }

    /// The plan as it was last recorded, with the parameters of that time.
    pub fn read_plan(&self, root: &Path) -> Result<Plan, Problems> {
        Plan::read_with("the recorded plan", &self.plan, root, &self.set_parameters())
    }

    /// What an instance of a fan-out is run for, as people read it.
    pub fn parameters_of(&self, id: &str) -> Option<&str> {
        let mut instances = self.instances.values().flatten();
        instances.find(|instance| instance.stage_id == id).map(|instance| instance.parameters.as_str())
    }

    pub fn stage(&self, id: &str) -> StageRecord {
        self.stages.get(id).cloned().unwrap_or_default()
    }

    /// Whether the plan says something else than the recorded one, which has no secrets.
    pub fn is_of_other_plan(
        &self,
        text: &str,
        environment: &[(OsString, OsString)],
        is_secret: fn(&str, &str) -> bool,
    ) -> bool {
        SecretValues::of(text, environment, is_secret).1 != self.plan
    }

    /// Whether there is something to go on with; a run that is in progress may be alive, which only its lock tells.
    pub fn is_unfinished(&self) -> bool {
        self.state != RunState::Completed
    }

    /// The state of a run that nobody has in hand: if it is in progress by its record, its process is gone.
    pub fn state_left_behind(&self) -> RunState {
        match self.state {
            RunState::InProgress | RunState::Planned => RunState::Interrupted,
            state => state,
        }
    }
}

/// An event that says it comes from another state than the one before it left is not of this record.
fn same(what: &'static str, is: &'static str, says: &'static str) -> Result<(), TransitionError> {
    if is == says { Ok(()) } else { Err(TransitionError { what, from: is, to: says }) }
}

pub fn read_events(path: &Path) -> Result<Vec<Event>, RecordError> {
    let bytes = read_bytes(path)?;
    events(path, &bytes).collect()
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, RecordError> {
    fs_err::read(path).map_err(|source| RecordError::Read { path: path.to_owned(), source })
}

/// What a run is known by wherever its project is moved or copied to: the hash of the line that its record begins with, which has its
/// plan, its machine and the time in it.
pub fn origin(path: &Path) -> Option<String> {
    let mut first = Vec::new();
    io::BufReader::new(fs_err::File::open(path).ok()?).read_until(b'\n', &mut first).ok()?;
    first.ends_with(b"\n").then(|| hash::of_bytes(&first))
}

/// The whole lines; what follows the last line break was torn off, and what stands in it is no event.
fn events<'a>(path: &'a Path, bytes: &'a [u8]) -> impl Iterator<Item = Result<Event, RecordError>> + 'a {
    let whole = bytes.get(..whole_length(bytes)).unwrap_or_default();
    whole.split_inclusive(|byte| *byte == b'\n').enumerate().map(|(number, line)| {
        serde_json::from_slice(line).map(Event::upgraded).map_err(|error| RecordError::Damaged {
            path: path.to_owned(),
            line: number + 1,
            message: error.to_string(),
        })
    })
}

/// Up to and with the last line that is an event. After a power cut the end may also be zeros, or half a line that
/// happens to hold a line break's block: a last line that cannot be read counts as torn.
fn whole_length(bytes: &[u8]) -> usize {
    let Some(end) = memchr::memrchr(b'\n', bytes).map(|at| at + 1) else { return 0 };
    let before = bytes.get(..end - 1).unwrap_or_default();
    let start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
    let last = bytes.get(start..end).unwrap_or_default();
    if serde_json::from_slice::<Event>(last).is_ok() { end } else { start }
}

/// Reads a record while it is being written.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    read: u64,
}

impl Tail {
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), read: 0 }
    }

    /// The events that came since the last time, from the first one on.
    pub fn new_events(&mut self) -> Result<Vec<Event>, RecordError> {
        let failed = |source| RecordError::Read { path: self.path.clone(), source };
        let mut file = fs_err::File::open(&self.path).map_err(failed)?;
        let mut bytes = Vec::new();
        file.seek(io::SeekFrom::Start(self.read))
            .and_then(|_| file.read_to_end(&mut bytes))
            .map_err(failed)?;
        let new = events(&self.path, &bytes).collect::<Result<Vec<_>, _>>()?;
        self.read += whole_length(&bytes) as u64;
        Ok(new)
    }
}

/// Appends to a record. There is one of it at a time: whoever has the run in hand.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    file: File,
    record: Record,
    hold: Arc<dyn RunHold>,
    /// After a failed write or flush nobody knows what is on the disk.
    is_broken: bool,
}

impl Recorder {
    /// Begins the record of a new run with its first event. The folder must be there.
    pub fn create(path: &Path, at: Timestamp, planned: What) -> Result<(Self, Event), RecordError> {
        Self::create_held(path, at, planned, Arc::new(AloneHold))
    }

    pub(crate) fn create_held(
        path: &Path,
        at: Timestamp,
        planned: What,
        hold: Arc<dyn RunHold>,
    ) -> Result<(Self, Event), RecordError> {
        let failed = |source| RecordError::Create { path: path.to_owned(), source };
        let event = Event { sequence: 1, at, what: planned };
        let record = Record::begin(path, event.clone())?;
        let file = regular_file::append_to_new(path, 0o644).map_err(|error| failed(error.into()))?;
        let mut recorder = Self { path: path.to_owned(), file, record, hold, is_broken: false };
        recorder.write(std::slice::from_ref(&event))?;
        if let Some(folder) = path.parent() {
            files::sync_directory(folder).map_err(|error| failed(error.into()))?;
        }
        Ok((recorder, event))
    }

    /// Goes on with a record; what is torn at its end is cut off.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        Self::open_held(path, Arc::new(AloneHold))
    }

    pub(crate) fn open_held(path: &Path, hold: Arc<dyn RunHold>) -> Result<Self, RecordError> {
        let bytes = match hold.committed()? {
            Some(committed) => committed,
            None => read_bytes(path)?,
        };
        let record = Record::of_bytes(path, &bytes)?;
        let failed = |source| RecordError::Write { path: path.to_owned(), source };
        // An owner that was paused has the file open: what it still writes goes into one without a name. What it was told
        // is recorded was written before it last checked its token, and so before this was read.
        if hold.may_have_rival() {
            atomic_file::write(path, &bytes, 0o644).map_err(|error| failed(error.into()))?;
        }
        let file = regular_file::append_to_existing(path).map_err(|error| failed(error.into()))?;
        let whole = whole_length(&bytes);
        if whole < bytes.len() {
            file.set_len(whole as u64).and_then(|()| file.sync_all()).map_err(failed)?;
        }
        Ok(Self { path: path.to_owned(), file, record, hold, is_broken: false })
    }

    /// By which others of this process can tell whether the run is still in its hands.
    pub(crate) fn hold(&self) -> &Arc<dyn RunHold> {
        &self.hold
    }

    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Appends an event; it is on the disk when this returns, where it is one that others rely on.
    pub fn append(&mut self, at: Timestamp, what: What) -> Result<Event, RecordError> {
        let event = self.checked(at, what)?;
        self.write(std::slice::from_ref(&event))?;
        Ok(event)
    }

    /// Appends many at the cost of one.
    pub fn append_all(&mut self, at: Timestamp, all: Vec<What>) -> Result<Vec<Event>, RecordError> {
        let events = all.into_iter().map(|what| self.checked(at, what)).collect::<Result<Vec<_>, _>>()?;
        self.write(&events)?;
        Ok(events)
    }

    /// Checked on the record first: nothing is written that could not be read again.
    fn checked(&mut self, at: Timestamp, what: What) -> Result<Event, RecordError> {
        let before = (self.record.last_sequence, self.record.changed_at);
        let event = Event { sequence: before.0 + 1, at, what };
        if let Err(error) = self.record.apply(&event) {
            (self.record.last_sequence, self.record.changed_at) = before;
            return Err(error.into());
        }
        Ok(event)
    }

    /// Where the record is at home elsewhere, the file is a copy that others may have replaced by one from there.
    fn open_copy(&mut self) -> Result<(), RecordError> {
        let path = &self.path;
        let removed = || RecordError::Removed { path: path.clone() };
        let Some(committed) = self.hold.committed()? else { return Err(removed()) };
        atomic_file::write(path, &committed, 0o644).map_err(|_| removed())?;
        self.file = regular_file::append_to_existing(path).map_err(|_| removed())?;
        Ok(())
    }

    fn write(&mut self, events: &[Event]) -> Result<(), RecordError> {
        if events.is_empty() {
            return Ok(());
        }
        if self.is_broken {
            return Err(RecordError::Broken { path: self.path.clone() });
        }
        self.hold.confirm().inspect_err(|_| self.is_broken = true)?;
        // What is written to a file without a name is lost, and nobody would notice before the end.
        if self.file.metadata().is_ok_and(|metadata| metadata.nlink() == 0) {
            self.open_copy().inspect_err(|_| self.is_broken = true)?;
        }
        let mut lines = Vec::new();
        let written = events.iter().try_for_each(|event| {
            serde_json::to_writer(&mut lines, event)?;
            lines.push(b'\n');
            Ok(())
        });
        if written.is_ok() {
            self.hold.commit(events, &lines).inspect_err(|_| self.is_broken = true)?;
        }
        let written = written.and_then(|()| {
            self.file.write_all(&lines)?;
            let is_durable = events.iter().any(|event| event.what.is_durable());
            if is_durable { self.file.sync_data() } else { Ok(()) }
        });
        written.map_err(|source| {
            self.is_broken = true;
            RecordError::Write { path: self.path.clone(), source }
        })?;
        // Again, now that it is written: somebody who took the run over meanwhile may not have read it.
        self.hold.confirm().inspect_err(|_| self.is_broken = true)?;
        Ok(())
    }
}
