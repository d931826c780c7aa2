//! Where the user keeps runs and their artifacts beyond this machine: `[storage]` of their own configuration, and the environment.

use std::path::Path;
use std::sync::Arc;

use checkpoint::layout::Layout;
use run::exchange::Exchange;
use run::hold::HoldKind;
use run::storage_settings::{StorageEnvironment, StorageError, StorageSettings};

use crate::environment;
use crate::error::{CommandError, ErrorKind};

pub(crate) fn settings() -> Result<StorageSettings, CommandError> {
    let Some(path) = environment::configuration_file() else { return Ok(StorageSettings::default()) };
    let text = stop::policy_files::read(&path)
        .map_err(|problem| CommandError::failed(format!("`{}` cannot be read: {problem}", path.display())))?;
    let read = |name: &str| environment::read(name).and_then(|value| value.into_string().ok());
    let environment =
        StorageEnvironment { database: read(environment::DATABASE), store: read(environment::STORE) };
    Ok(StorageSettings::read(&text.unwrap_or_default(), environment)?)
}

/// How runs of the project are taken in hand.
pub(crate) fn hold(root: &Path) -> Result<HoldKind, CommandError> {
    Ok(settings()?.hold(root)?)
}

/// From now on artifacts are kept in the user's bucket too, if there is one.
pub(crate) fn use_store(root: &Path) -> Result<(), CommandError> {
    let settings = settings()?;
    match &settings.store {
        Some(address) => use_bucket(address, &settings.project(root)),
        None => Ok(()),
    }
}

#[cfg(feature = "s3")]
fn use_bucket(address: &str, project: &str) -> Result<(), CommandError> {
    let store = crate::bucket_store::BucketStore::new(address, project)
        .map_err(|error| CommandError::of(ErrorKind::Usage, &error))?;
    checkpoint::use_remote_store(Arc::new(store));
    Ok(())
}

#[cfg(not(feature = "s3"))]
fn use_bucket(_address: &str, _project: &str) -> Result<(), CommandError> {
    Err(CommandError::environment("`store` is set, and this build of checkstone cannot use a bucket")
        .hint("install one that can: `cargo install --locked --path crates/checkstone --features s3`"))
}

/// The user's bucket as the place where nodes are reached that do not see the project's folder.
#[cfg(feature = "s3")]
pub(crate) fn exchange(root: &Path) -> Result<Arc<dyn Exchange>, CommandError> {
    let settings = settings()?;
    let Some(address) = &settings.store else { return Err(no_store()) };
    let store = crate::bucket_store::BucketStore::new(address, &settings.project(root))
        .map_err(|error| CommandError::of(ErrorKind::Usage, &error))?;
    Ok(Arc::new(crate::bucket_exchange::BucketExchange::new(store)))
}

#[cfg(not(feature = "s3"))]
pub(crate) fn exchange(_root: &Path) -> Result<Arc<dyn Exchange>, CommandError> {
    match settings()?.store {
        Some(address) => Err(use_bucket(&address, "").err().unwrap_or_else(no_store)),
        None => Err(no_store()),
    }
}

/// The same, for whoever can do without.
pub(crate) fn exchange_if_any(root: &Path) -> Result<Option<Arc<dyn Exchange>>, CommandError> {
    settings()?.store.map(|_| exchange(root)).transpose()
}

fn no_store() -> CommandError {
    CommandError::usage("`exchange = \"bucket\"` needs a bucket, and none is set").hint(
        "set `store = \"s3://BUCKET/PREFIX\"` in `[storage]` of your configuration, or CHECKSTONE_STORE",
    )
}

/// Runs of which the database has more than this folder are written here, so that they are found as they are.
#[cfg(feature = "postgres")]
pub(crate) fn bring_runs(root: &Path) -> Result<(), CommandError> {
    let HoldKind::Database(setting) = hold(root)? else { return Ok(()) };
    let brought = run::database_hold::bring_missing(root, &setting);
    brought.map_err(|error| CommandError::of(ErrorKind::Failed, &error))
}

#[cfg(not(feature = "postgres"))]
pub(crate) fn bring_runs(_root: &Path) -> Result<(), CommandError> {
    Ok(())
}

/// A run as it goes on, also where that is another host, if its record is in a database.
#[derive(Debug)]
pub(crate) struct FollowedRun {
    #[cfg(feature = "postgres")]
    distant: Option<run::database_hold::DistantRun>,
}

#[cfg(feature = "postgres")]
impl FollowedRun {
    pub(crate) fn new(layout: &Layout) -> Result<Self, CommandError> {
        let HoldKind::Database(setting) = hold(layout.root())? else { return Ok(Self { distant: None }) };
        let distant = run::database_hold::DistantRun::open(layout, &setting);
        let distant = distant.map_err(|error| CommandError::of(ErrorKind::Failed, &error))?;
        Ok(Self { distant: Some(distant) })
    }

    /// What is new is in the record of this folder then.
    pub(crate) fn look(&mut self) -> Result<(), CommandError> {
        let looked = self.distant.as_mut().map_or(Ok(()), run::database_hold::DistantRun::look);
        looked.map_err(|error| CommandError::of(ErrorKind::Failed, &error))
    }
}

#[cfg(not(feature = "postgres"))]
impl FollowedRun {
    pub(crate) fn new(_layout: &Layout) -> Result<Self, CommandError> {
        Ok(Self {})
    }

    pub(crate) fn look(&mut self) -> Result<(), CommandError> {
        Ok(())
    }
}

impl From<StorageError> for CommandError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::NoPostgres => Self::of(ErrorKind::Environment, &error).hint(
                "install one that can: `cargo install --locked --path crates/checkstone --features postgres`",
            ),
            error => Self::of(ErrorKind::Usage, &error),
        }
    }
}
