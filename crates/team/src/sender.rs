//! Empties the outbox: a batch is sent, and taken out once the database has it on its disk. A sender that is killed in between sends it
//! again, and the database knows it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use database::{Connection, DatabaseError, ServerClock, TeamMachine, TeamMachineId};
use files::{Lock, LockError};
use jiff::Timestamp;

use crate::outbox::{LastTry, Outbox, OutboxError};
use crate::{TeamHashes, TeamSettings, machine_id};

/// So many events travel at once.
const BATCH: usize = 1000;

/// One sends at a time; another one waits so long.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

const LOCK: &str = "team-send.lock";

#[derive(Debug, thiserror::Error)]
pub enum SendError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error(transparent)]
    Outbox(#[from] OutboxError),
    #[error("another process has been sending for more than a minute")]
    Lock(#[from] LockError),
}

impl SendError {
    /// What a person can do about it.
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Database(error) => error.advice(),
            Self::Outbox(_) | Self::Lock(_) => None,
        }
    }
}

/// The way to the database, which is kept while it works.
#[derive(Debug)]
pub struct Sender {
    settings: TeamSettings,
    machine: TeamMachine,
    lock: PathBuf,
    open: Option<OpenWay>,
}

#[derive(Debug)]
struct OpenWay {
    connection: Connection,
    machine: TeamMachineId,
    clock: ServerClock,
}

impl Sender {
    /// `version` is that of this program.
    pub fn new(state: &Path, settings: TeamSettings, version: &str) -> Self {
        let hashes = TeamHashes::new(&settings.key);
        let machine = TeamMachine {
            machine: machine_id(&hashes, state),
            name: settings.name.clone(),
            version: version.to_owned(),
        };
        Self { settings, machine, lock: state.join(LOCK), open: None }
    }

    /// Sends all that waits; how many events arrived. How it ended stands in the outbox.
    pub fn send(&mut self, outbox: &mut Outbox) -> Result<u64, SendError> {
        let _lock = Lock::acquire(&self.lock, LONGEST_WAIT)?;
        let sent = self.send_batches(outbox);
        if let Err(error) = &sent {
            self.open = None;
            let tried = LastTry {
                failed_at: Some(Timestamp::now()),
                error: Some(text::error_chain(error)),
                ..outbox.last_try()?
            };
            outbox.set_last_try(&tried)?;
        }
        sent
    }

    fn send_batches(&mut self, outbox: &mut Outbox) -> Result<u64, SendError> {
        let mut sent = 0;
        loop {
            let waiting = outbox.first(BATCH)?;
            if waiting.is_empty() {
                return Ok(sent);
            }
            let way = match &mut self.open {
                Some(way) => way,
                closed => closed.insert(OpenWay::open(&self.settings, &self.machine)?),
            };
            database::send(&mut way.connection, way.machine, &waiting.events)?;
            let arrived = waiting.events.len() as u64;
            sent += arrived;
            let before = outbox.last_try()?;
            let tried = LastTry {
                sent_at: Some(Timestamp::now()),
                sent: before.sent + arrived,
                failed_at: None,
                error: None,
                clock_ahead: -way.clock.ahead,
            };
            outbox.take_out(&waiting, &tried)?;
        }
    }
}

impl OpenWay {
    fn open(settings: &TeamSettings, machine: &TeamMachine) -> Result<Self, DatabaseError> {
        let mut connection = Connection::open_once(&settings.address)?;
        database::migrate(&mut connection)?;
        let clock = database::clock(&mut connection)?;
        let machine = database::introduce(&mut connection, machine, clock)?;
        Ok(Self { connection, machine, clock })
    }
}

/// What a database answers to who only looks.
#[derive(Clone, Copy, Debug)]
pub struct DatabaseAnswer {
    pub clock: ServerClock,
    /// The first send makes them.
    pub lacks_tables: bool,
}

/// Whether the database can be used now: it answers, lets the role in, and has no tables that this program does not know.
pub fn ask_database(settings: &TeamSettings) -> Result<DatabaseAnswer, DatabaseError> {
    let mut connection = Connection::open_once(&settings.address)?;
    let lacks_tables = database::applied(&mut connection)? < database::MIGRATIONS.len();
    if !lacks_tables {
        database::newest(&mut connection)?;
    }
    Ok(DatabaseAnswer { clock: database::clock(&mut connection)?, lacks_tables })
}
