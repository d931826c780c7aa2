//! The `[team]` table of the user's own configuration. A repository's file cannot say it: where anything is sent is the user's decision.

use std::fmt;

use database::{AddressError, DatabaseAddress};
use settings::{Boolean, Problems, Quoting, TableOfKeys as _, TableReference, Text, read_table, table};
use stop::policy_files::USER_FILE_NAME;

table! {
    /// What this machine tells its team.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct TeamTable, layer TeamLayer {
        /// The PostgreSQL database of the team, such as `postgres://ada@host/name`. With it, the facts of every session are sent there in the
        /// background.
        database: Text, or "none; nothing is sent";
        /// The role of the team, if the address names another one that is a member of it.
        role: Text, or "the one in the address";
        /// What the team reads as the name of this machine.
        name: Text, or "the role, and a short number";
        /// Whether prompts, commands, branches and paths are sent as well, without what looks like a secret.
        texts: Boolean = false;
        /// A word that all members share: without knowing it, nobody can guess which path or repository a hash stands for.
        key: Text, or "none";
    }
}

/// What the user has set. Nothing of it is shown: the address may hold a password.
#[derive(Clone)]
pub struct TeamSettings {
    pub address: DatabaseAddress,
    /// Empty if there is none.
    pub name: String,
    pub texts: bool,
    pub key: String,
}

#[derive(Debug, thiserror::Error)]
pub enum TeamSettingsError {
    /// Keys are named and values are not: those may hold a password.
    #[error("`[team]` is not understood: {0}")]
    NotUnderstood(Problems),
    #[error("`database` in `[team]` is not understood")]
    Address(#[from] AddressError),
}

impl TeamSettings {
    /// `configuration` is the text of the user's own file. `None` where nothing is sent.
    pub fn read(configuration: &str) -> Result<Option<Self>, TeamSettingsError> {
        let table: TeamTable = read_table(USER_FILE_NAME, configuration, "team", Quoting::KeysOnly)
            .map_err(TeamSettingsError::NotUnderstood)?;
        let Some(address) = table.database else { return Ok(None) };
        let address: DatabaseAddress = address.parse()?;
        Ok(Some(Self {
            address: match &table.role {
                Some(role) => address.with_role(role),
                None => address,
            },
            name: table.name.unwrap_or_default(),
            texts: table.texts,
            key: table.key.unwrap_or_default(),
        }))
    }
}

impl fmt::Debug for TeamSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "TeamSettings({})", self.address)
    }
}

/// Every key of `[team]`, for whoever writes them down.
pub fn reference() -> TableReference {
    TeamTable::reference()
}
