//! What `init` did to settings files: for each a record, and a backup of what was there before, both in the state
//! directory. The record is written before the file, so that a kill in between leaves a record that fits nothing,
//! which does no harm.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use files::atomic_file;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use transcript::Agent;

use crate::error::CommandError;
use crate::journal_access;

const VERSION: u32 = 1;
const RECORDS: &str = "installed";
const BACKUPS: &str = "backups";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    version: u32,
    pub(crate) agent: String,
    pub(crate) file: PathBuf,
    /// The SHA-256 of what was there before; `None` where there was no file.
    before: Option<String>,
    /// The SHA-256 of what `init` wrote.
    after: String,
    /// The folder had to be made for the file.
    made_folder: bool,
}

/// The file as it was before `init`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Before {
    Absent,
    Text(String),
}

/// Everything that is recorded; what cannot be read is passed over.
pub(crate) fn all(state: &Path) -> Vec<Record> {
    let Ok(entries) = fs_err::read_dir(state.join(RECORDS)) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut records: Vec<Record> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .filter_map(|path| serde_json::from_slice(&fs_err::read(path).ok()?).ok())
        .filter(|record: &Record| record.version == VERSION && record.file.is_absolute())
        .collect();
    records.sort_by(|left, right| left.file.cmp(&right.file));
    records
}

pub(crate) fn of_file(state: &Path, agent: Agent, file: &Path) -> Option<Record> {
    let record: Record = serde_json::from_slice(&fs_err::read(record_path(state, agent, file)).ok()?).ok()?;
    (record.version == VERSION && record.file == file).then_some(record)
}

impl Record {
    pub(crate) fn agent(&self) -> Option<Agent> {
        Agent::ALL.into_iter().find(|agent| agent.name() == self.agent)
    }

    /// Whether the file is exactly what `init` wrote.
    pub(crate) fn wrote(&self, text: &str) -> bool {
        self.after == hash(text)
    }

    /// What was there before; `None` where the backup is gone or damaged.
    pub(crate) fn before(&self, state: &Path) -> Option<Before> {
        let Some(before) = &self.before else { return Some(Before::Absent) };
        let text = fs_err::read_to_string(backup_path(state, before)).ok()?;
        (&hash(&text) == before).then_some(Before::Text(text))
    }

    /// Where the backup is.
    pub(crate) fn backup(&self, state: &Path) -> Option<PathBuf> {
        self.before.as_ref().map(|before| backup_path(state, before))
    }

    pub(crate) fn made_folder(&self) -> bool {
        self.made_folder
    }
}

/// Keeps what was there before, and what will be there now.
pub(crate) fn keep(
    state: &Path,
    agent: Agent,
    file: &Path,
    before: &Before,
    after: &str,
    made_folder: bool,
) -> Result<Record, CommandError> {
    let before = match before {
        Before::Absent => None,
        Before::Text(text) => {
            let before = hash(text);
            write(&backup_path(state, &before), text)?;
            Some(before)
        }
    };
    let record = Record {
        version: VERSION,
        agent: agent.name().to_owned(),
        file: file.to_owned(),
        before,
        after: hash(after),
        made_folder,
    };
    let text = serde_json::to_string_pretty(&record)?;
    write(&record_path(state, agent, file), &(text + "\n"))?;
    Ok(record)
}

/// The file is as it was; the backup stays, for it costs nothing.
pub(crate) fn forget(state: &Path, agent: Agent, file: &Path) {
    let _ = fs_err::remove_file(record_path(state, agent, file));
}

fn write(path: &Path, text: &str) -> Result<(), CommandError> {
    if let Some(folder) = path.parent() {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| {
            CommandError::environment(format!("cannot create `{}` for the backup: {error}", folder.display()))
                .hint(journal_access::MAKE_WRITABLE)
        })?;
    }
    atomic_file::write(path, text.as_bytes(), 0o600).map_err(CommandError::from)
}

fn record_path(state: &Path, agent: Agent, file: &Path) -> PathBuf {
    let name = hash(&file.to_string_lossy());
    let short = name.get(..16).unwrap_or(&name);
    state.join(RECORDS).join(format!("{}-{short}.json", agent.name()))
}

fn backup_path(state: &Path, hash: &str) -> PathBuf {
    state.join(BACKUPS).join(format!("{hash}.json"))
}

fn hash(text: &str) -> String {
    text::hexadecimal(&Sha256::digest(text.as_bytes()))
}
