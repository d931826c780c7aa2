//! A connection that is made again when it is lost: a server that is restarted costs waiting, not work.

use std::fmt;
use std::time::{Duration, Instant};

use postgres::error::SqlState;
use postgres::{Client, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::DatabaseAddress;

/// How long a server that does not answer is waited for. Nothing is lost when that is over: the run can be resumed.
const PATIENCE: Duration = Duration::from_secs(600);
/// Between two tries.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    #[error("`{address}` does not answer")]
    NoAnswer { address: String, source: ServerWords },
    #[error("`{address}` has no space left")]
    Full { address: String, source: ServerWords },
    #[error("`{address}` cannot answer now")]
    Busy { address: String, source: ServerWords },
    #[error("`{address}` refuses the connection")]
    Refused { address: String, source: ServerWords },
    #[error("`{address}` cannot be reached over TLS: this machine has no certificates to verify it with")]
    NoCertificates { address: String },
    #[error("`{address}` does not let this role do that")]
    NotAllowed { address: String, source: ServerWords },
    #[error("`{address}` failed to carry out the request")]
    Query { address: String, source: ServerWords },
    #[error(transparent)]
    Migration(#[from] crate::MigrationError),
}

impl DatabaseError {
    /// What a person can do about it.
    pub fn advice(&self) -> Option<&'static str> {
        Some(match self {
            Self::NoAnswer { .. } => "check the address and the network, and that the server runs",
            Self::Full { .. } => "free space on the disk of the server",
            Self::Busy { .. } => "try again later",
            Self::Refused { .. } => "check the user, the password, the role and the name of the database",
            Self::NoCertificates { .. } => {
                "install the package `ca-certificates`, or what your system calls it"
            }
            Self::NotAllowed { .. } => {
                "ask an administrator for the rights that `checkstone team schema` prints"
            }
            Self::Query { .. } => return None,
            Self::Migration(error) => return error.advice(),
        })
    }
}

/// What the server said, or why nothing reached it, without what the library says around it.
#[derive(Debug)]
pub struct ServerWords(postgres::Error);

impl fmt::Display for ServerWords {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(error) = self.0.as_db_error() {
            return formatter.write_str(error.message());
        }
        let mut innermost: &dyn std::error::Error = &self.0;
        while let Some(source) = innermost.source() {
            innermost = source;
        }
        let said = innermost.to_string();
        // The system's number says nothing that its words do not say.
        formatter.write_str(said.split_once(" (os error ").map_or(said.as_str(), |(words, _)| words))
    }
}

impl std::error::Error for ServerWords {}

pub struct Connection {
    address: DatabaseAddress,
    client: Option<Client>,
    patience: Duration,
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Connection({})", self.address)
    }
}

impl Connection {
    /// Asks a server once; one that is not there is an error.
    pub fn open(address: &DatabaseAddress) -> Result<Self, DatabaseError> {
        Self::open_once(address).map(|connection| Self { patience: PATIENCE, ..connection })
    }

    /// A server that is asked only once for each thing, the first time now.
    pub fn open_once(address: &DatabaseAddress) -> Result<Self, DatabaseError> {
        let mut connection = Self { address: address.clone(), client: None, patience: Duration::ZERO };
        connection.run(|client| client.simple_query("select 1").map(drop))?;
        Ok(connection)
    }

    /// The same server a second time, which is asked only once for each thing.
    pub fn beside(&self) -> Self {
        Self { address: self.address.clone(), client: None, patience: Duration::ZERO }
    }

    pub fn address(&self) -> &DatabaseAddress {
        &self.address
    }

    /// Does something that can be done again where nobody knows whether it was done: the connection may be lost before the answer.
    pub fn run<T>(
        &mut self,
        mut work: impl FnMut(&mut Client) -> Result<T, postgres::Error>,
    ) -> Result<T, DatabaseError> {
        let began = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            let error = match self.connected()? {
                Ok(client) => match work(client) {
                    Ok(done) => return Ok(done),
                    Err(error) if is_temporary(&error) => error,
                    Err(source) => return Err(self.refused(source)),
                },
                Err(error) => error,
            };
            self.client = None;
            if began.elapsed() >= self.patience {
                return Err(self.given_up(error));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// The inner error is one that waiting may help against.
    fn connected(&mut self) -> Result<Result<&mut Client, postgres::Error>, DatabaseError> {
        if self.client.as_ref().is_none_or(Client::is_closed) {
            let connected = match self.address.is_local() {
                true => self.address.config().connect(NoTls),
                false => self.address.config().connect(self.tls()?),
            };
            match connected {
                Ok(client) => self.client = Some(client),
                Err(error) if is_temporary(&error) => return Ok(Err(error)),
                Err(source) => {
                    let source = ServerWords(source);
                    return Err(DatabaseError::Refused { address: self.address.to_string(), source });
                }
            }
        }
        match &mut self.client {
            Some(client) => Ok(Ok(client)),
            None => Err(DatabaseError::NoCertificates { address: self.address.to_string() }),
        }
    }

    /// Why something was not done that waiting does not help against.
    fn refused(&self, source: postgres::Error) -> DatabaseError {
        let address = self.address.to_string();
        let is_forbidden = source.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE);
        let source = ServerWords(source);
        match is_forbidden {
            true => DatabaseError::NotAllowed { address, source },
            false => DatabaseError::Query { address, source },
        }
    }

    /// Why something was not done that waiting did not help against.
    fn given_up(&self, source: postgres::Error) -> DatabaseError {
        let address = self.address.to_string();
        let code = source.code().cloned();
        let source = ServerWords(source);
        match code {
            Some(code) if code == SqlState::DISK_FULL => DatabaseError::Full { address, source },
            Some(_) => DatabaseError::Busy { address, source },
            None => DatabaseError::NoAnswer { address, source },
        }
    }

    fn tls(&self) -> Result<MakeRustlsConnect, DatabaseError> {
        // Whoever was first has installed the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let none = |_| DatabaseError::NoCertificates { address: self.address.to_string() };
        MakeRustlsConnect::with_native_certs().map(|(tls, _)| tls).map_err(none)
    }
}

/// Whether the server was away, or had no room: it says nothing against what was asked.
fn is_temporary(error: &postgres::Error) -> bool {
    match error.code() {
        Some(code) => {
            // Connection, resources, an operator's or a crash's intervention, and transactions that met.
            ["08", "53", "57", "40"].iter().any(|class| code.code().starts_with(class))
                && *code != SqlState::QUERY_CANCELED
        }
        None => error.is_closed() || is_of_connection(error),
    }
}

fn is_of_connection(error: &postgres::Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        if let Some(error) = cause.downcast_ref::<std::io::Error>() {
            return error.kind() != std::io::ErrorKind::InvalidData;
        }
        source = cause.source();
    }
    false
}
