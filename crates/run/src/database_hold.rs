//! A run whose record is in a database: what is committed there under the lease is the record, and the file beside the run follows it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use checkpoint::layout::Layout;
use database::{CommittedEvent, Connection, DatabaseAddress, DatabaseError, HeldRun, RecordedRun, RunKey};
use files::{FileError, Lock, atomic_file};
use lease::LeaseError;

use crate::event::{Event, What};
use crate::hold::{self, HoldError, RunHold, TakeError};
use crate::publish::{self, PublishError};
use crate::state::StageState;

const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// Where the records of a project's runs are.
#[derive(Clone, Debug)]
pub struct DatabaseSetting {
    pub address: DatabaseAddress,
    /// What all hosts call the project.
    pub project: String,
    /// Of a lease.
    pub length: Duration,
}

#[derive(Debug, thiserror::Error)]
pub enum BringError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error(transparent)]
    Folder(#[from] PublishError),
    #[error(transparent)]
    File(#[from] FileError),
}

#[derive(Debug)]
struct DatabaseHold {
    held: HeldRun,
    /// By which others of this machine see that the run is in hand; nothing depends on it.
    _lock: Option<Lock>,
}

fn key(layout: &Layout, setting: &DatabaseSetting) -> RunKey {
    let (title, run) = (layout.title().to_owned(), layout.run().to_owned());
    RunKey { project: setting.project.clone(), title, run }
}

pub(crate) fn take(layout: &Layout, setting: &DatabaseSetting) -> Result<Arc<dyn RunHold>, TakeError> {
    let failed = |error: DatabaseError| TakeError::Database(Box::new(error));
    let key = key(layout, setting);
    let connection = Connection::open(&setting.address).map_err(failed)?;
    match HeldRun::take(connection, key, setting.length).map_err(failed)? {
        Ok(held) => {
            let lock = Lock::acquire(&layout.lock(), Duration::ZERO).ok();
            Ok(Arc::new(DatabaseHold { held, _lock: lock }))
        }
        Err(LeaseError::Held { owner }) => Err(TakeError::Busy { owner }),
        Err(error) => Err(TakeError::Lease(error)),
    }
}

fn failed(error: DatabaseError) -> HoldError {
    HoldError::Database(Box::new(error))
}

impl RunHold for DatabaseHold {
    fn commit(&self, events: &[Event], lines: &[u8]) -> Result<(), HoldError> {
        let lines = lines.split(|byte| *byte == b'\n');
        let committed: Vec<CommittedEvent> =
            events.iter().zip(lines).map(|(event, line)| committed(event, line)).collect();
        if self.held.commit(&committed).map_err(failed)? {
            return Ok(());
        }
        self.check()?;
        // The token is ours, and still somebody wrote there.
        Err(HoldError::Lost { owner: "somebody".to_owned() })
    }

    fn committed(&self) -> Result<Option<Vec<u8>>, HoldError> {
        self.held.record().map(Some).map_err(failed)
    }

    fn check(&self) -> Result<(), HoldError> {
        match self.held.successor().map_err(failed)? {
            None => Ok(()),
            Some(owner) => Err(HoldError::Lost { owner }),
        }
    }

    fn forget(&self) -> Result<(), HoldError> {
        self.held.forget().map_err(failed)
    }

    fn is_lost(&self) -> bool {
        self.held.is_lost()
    }

    fn token(&self) -> Option<u64> {
        Some(self.held.token())
    }
}

fn committed(event: &Event, line: &[u8]) -> CommittedEvent {
    let begun = match &event.what {
        What::StageState { stage_id, attempt, to: StageState::Running, .. } => {
            Some((stage_id.clone(), *attempt))
        }
        _ => None,
    };
    CommittedEvent { sequence: event.sequence, line: String::from_utf8_lossy(line).into_owned(), begun }
}

/// Writes the records of runs of which this folder has nothing, or less than the database, so that they are found here as they are.
/// Those that somebody has in hand are known as such from then on.
pub fn bring_missing(root: &Path, setting: &DatabaseSetting) -> Result<(), BringError> {
    let mut connection = Connection::open(&setting.address)?;
    database::migrate(&mut connection)?;
    for recorded in database::runs_of(&mut connection, &setting.project)? {
        // A name that cannot be one of a run here leads nowhere.
        let Ok(layout) = Layout::new(root, &recorded.key.title, &recorded.key.run) else { continue };
        bring(&mut connection, &layout, &recorded)?;
    }
    Ok(())
}

/// An engine of this folder that has the file open finds out that it was replaced, and takes the new one (`Recorder`).
fn bring(connection: &mut Connection, layout: &Layout, recorded: &RecordedRun) -> Result<(), BringError> {
    hold::note_distant_owner(layout, recorded.owner.as_ref().map(ToString::to_string));
    let here = layout.events().symlink_metadata().map_or(0, |metadata| metadata.len());
    // Whoever has it in hand here is about to write the rest.
    if here >= recorded.bytes || hold::is_taken_here(layout) {
        return Ok(());
    }
    publish::make_folder(layout.root(), &layout.run_checkpoints())?;
    let record = database::record_of(connection, &recorded.key)?;
    Ok(atomic_file::write(&layout.events(), &record, 0o644)?)
}

/// A run that an engine of another host may have in hand, followed by the database.
#[derive(Debug)]
pub struct DistantRun {
    connection: Connection,
    key: RunKey,
    layout: Layout,
    looked: Option<Instant>,
}

impl DistantRun {
    pub fn open(layout: &Layout, setting: &DatabaseSetting) -> Result<Self, BringError> {
        let connection = Connection::open(&setting.address)?;
        Ok(Self { connection, key: key(layout, setting), layout: layout.clone(), looked: None })
    }

    /// Brings what is new into the record here, once a second at most.
    pub fn look(&mut self) -> Result<(), BringError> {
        if self.looked.is_some_and(|looked| looked.elapsed() < BETWEEN_LOOKS) {
            return Ok(());
        }
        let recorded = database::recorded_run(&mut self.connection, &self.key)?;
        if let Some(recorded) = recorded {
            bring(&mut self.connection, &self.layout, &recorded)?;
        }
        self.looked = Some(Instant::now());
        Ok(())
    }
}
