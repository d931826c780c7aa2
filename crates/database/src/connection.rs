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
    #[error("`{address}` does not answer: check the address, and that the server runs")]
    NoAnswer { address: String, source: postgres::Error },
    #[error("`{address}` refuses the connection")]
    Refused { address: String, source: postgres::Error },
    #[error("`{address}` cannot be reached by TLS: this machine has no certificates to check it by")]
    NoCertificates { address: String },
    #[error("`{address}` cannot do what it was asked to")]
    Query { address: String, source: postgres::Error },
    #[error(transparent)]
    Migration(#[from] crate::MigrationError),
}

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
        let mut connection = Self { address: address.clone(), client: None, patience: Duration::ZERO };
        connection.run(|client| client.simple_query("select 1").map(drop))?;
        connection.patience = PATIENCE;
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
                    Err(source) => {
                        return Err(DatabaseError::Query { address: self.address.to_string(), source });
                    }
                },
                Err(error) => error,
            };
            self.client = None;
            if began.elapsed() >= self.patience {
                return Err(DatabaseError::NoAnswer { address: self.address.to_string(), source: error });
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
                    return Err(DatabaseError::Refused { address: self.address.to_string(), source });
                }
            }
        }
        match &mut self.client {
            Some(client) => Ok(Ok(client)),
            None => Err(DatabaseError::NoCertificates { address: self.address.to_string() }),
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
