//! Where the user keeps runs and their artifacts beyond this machine: `[storage]` of their own configuration, and the environment.

use std::path::Path;

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
    checkpoint::use_remote_store(std::sync::Arc::new(store));
    Ok(())
}

#[cfg(not(feature = "s3"))]
fn use_bucket(_address: &str, _project: &str) -> Result<(), CommandError> {
    Err(CommandError::environment("`store` is set, and this build of checkstone cannot use a bucket")
        .hint("install one that can: `cargo install --locked --path crates/checkstone --features s3`"))
}

/// Runs that the database has and this folder has not are written here, so that they are found.
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
