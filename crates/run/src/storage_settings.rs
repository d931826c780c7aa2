//! Where runs and their artifacts are kept beyond the folder of the project: the `[storage]` table of the user's own configuration,
//! and the environment, which counts more. A plan cannot say it: it may come from anybody.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use settings::{
    Document, Entry, Kind as _, Nested, Problems, Quoting, Reader, TableOfKeys as _, TableReference,
};
use settings::{Text, TimeLimit, table};

use crate::hold::HoldKind;

/// How the user's own configuration is called in messages.
const FILE_NAME: &str = "config.toml";

#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// Keys are named and values are not: those may hold a password.
    #[error("`[storage]` has mistakes: {0}")]
    NotUnderstood(Problems),
    #[cfg(feature = "postgres")]
    #[error(transparent)]
    Address(#[from] database::AddressError),
    #[error("`database` is set, and this build of checkstone cannot use PostgreSQL")]
    NoPostgres,
}

table! {
    /// Where runs and their artifacts are kept beyond the folder of the project.
    #[derive(Clone, Debug, PartialEq)]
    pub struct StorageTable, layer StorageLayer {
        /// How long an engine may stay silent before another host may take over its run. If it is set, engines take a lease
        /// on every file system; otherwise only on those that hosts share, for 30 seconds.
        lease: TimeLimit, or "by the file system";
        /// A PostgreSQL database that holds the record of runs, such as `postgres://user@host/name`. `CHECKSTONE_DATABASE` takes precedence.
        database: Text, or "none";
        /// A bucket that holds the artifacts of checkpoints besides the folder of the project, such as `s3://bucket/prefix`.
        /// `CHECKSTONE_STORE` takes precedence. Credentials are those of the usual AWS environment or profile.
        store: Text, or "none";
        /// What all hosts call this project in the database and in the bucket.
        project: Text, or "the path of its folder";
    }
}

/// What the user has set. An address may hold a password, so that nothing of this is shown.
#[derive(Clone, Default)]
pub struct StorageSettings {
    lease: Option<Duration>,
    database: Option<String>,
    /// The address of a bucket.
    pub store: Option<String>,
    project: Option<String>,
}

/// What the environment says instead.
#[derive(Clone, Default)]
pub struct StorageEnvironment {
    pub database: Option<String>,
    pub store: Option<String>,
}

impl StorageSettings {
    /// `configuration` is the text of the user's own file, empty if there is none.
    pub fn read(configuration: &str, environment: StorageEnvironment) -> Result<Self, StorageError> {
        let table = read_table(configuration).map_err(StorageError::NotUnderstood)?;
        Ok(Self {
            lease: table.lease,
            database: environment.database.or(table.database),
            store: environment.store.or(table.store),
            project: table.project,
        })
    }

    /// What all hosts call the project in this folder.
    pub fn project(&self, root: &Path) -> String {
        self.project.clone().unwrap_or_else(|| root.to_string_lossy().into_owned())
    }

    /// How runs of the project in this folder are taken in hand.
    pub fn hold(&self, root: &Path) -> Result<HoldKind, StorageError> {
        match &self.database {
            None => Ok(self.lease.map_or_else(HoldKind::default, HoldKind::Lease)),
            Some(address) => self.database_hold(address, root),
        }
    }

    #[cfg(feature = "postgres")]
    fn database_hold(&self, address: &str, root: &Path) -> Result<HoldKind, StorageError> {
        let length = self.lease.unwrap_or(crate::hold::USUAL_LENGTH);
        let (address, project) = (address.parse()?, self.project(root));
        let setting = crate::database_hold::DatabaseSetting { address, project, length };
        Ok(HoldKind::Database(Box::new(setting)))
    }

    #[cfg(not(feature = "postgres"))]
    fn database_hold(&self, _address: &str, _root: &Path) -> Result<HoldKind, StorageError> {
        Err(StorageError::NoPostgres)
    }
}

impl fmt::Debug for StorageSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("StorageSettings")
    }
}

impl fmt::Debug for StorageEnvironment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("StorageEnvironment")
    }
}

/// Every key of `[storage]`, for whoever writes them down.
pub fn reference() -> TableReference {
    StorageTable::reference()
}

fn read_table(configuration: &str) -> Result<StorageTable, Problems> {
    let document = Document::parse(FILE_NAME, configuration)?;
    let mut reader = Reader::new(FILE_NAME, configuration, Quoting::KeysOnly);
    let table = match document.root().get_key_value("storage") {
        Some((key, value)) => Nested::<StorageTable>::read(Entry { key, value }, &mut reader),
        None => None,
    };
    match reader.problems.is_empty() {
        true => Ok(table.map(StorageTable::finish).unwrap_or_default()),
        false => Err(Problems::sorted(reader.problems)),
    }
}
