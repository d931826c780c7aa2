//! A run whose record is in a database: what is committed there under the lease is the record, and the file beside the run follows it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use checkpoint::layout::Layout;
use database::{CommittedEvent, Connection, DatabaseAddress, DatabaseError, HeldRun, RunKey};
use files::{FileError, Lock, atomic_file};
use lease::LeaseError;

use crate::event::{Event, What};
use crate::hold::{HoldError, RunHold, TakeError};
use crate::publish::{self, PublishError};
use crate::state::StageState;

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

pub(crate) fn take(layout: &Layout, setting: &DatabaseSetting) -> Result<Arc<dyn RunHold>, TakeError> {
    let failed = |error: DatabaseError| TakeError::Database(Box::new(error));
    let key = RunKey {
        project: setting.project.clone(),
        title: layout.title().to_owned(),
        run: layout.run().to_owned(),
    };
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

/// Writes the records of runs that are not in this folder yet, so that they are found here as well.
pub fn bring_missing(root: &Path, setting: &DatabaseSetting) -> Result<(), BringError> {
    let mut connection = Connection::open(&setting.address)?;
    database::migrate(&mut connection)?;
    for key in database::runs_of(&mut connection, &setting.project)? {
        // A name that cannot be one of a run here leads nowhere.
        let Ok(layout) = Layout::new(root, &key.title, &key.run) else { continue };
        if layout.events().symlink_metadata().is_ok() {
            continue;
        }
        publish::make_folder(root, &layout.run_checkpoints())?;
        atomic_file::write(&layout.events(), &database::record_of(&mut connection, &key)?, 0o644)?;
    }
    Ok(())
}
