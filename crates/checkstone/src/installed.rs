//! What `init` did to settings files and hooks of git's: for each a record, and a backup of what was there before, both in the state
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
use crate::settings_file::SettingsFile;

const VERSION: u32 = 1;
const RECORDS: &str = "installed";
const BACKUPS: &str = "backups";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    version: u32,
    /// Whose file it is: a client, or git with the name of the hook.
    #[serde(rename = "agent")]
    pub(crate) owner: String,
    pub(crate) file: PathBuf,
    /// The SHA-256 of what was there before; `None` if there was no file.
    before: Option<String>,
    /// The SHA-256 of what `init` wrote.
    after: String,
    /// The folder had to be made for the file.
    made_folder: bool,
    /// The outermost of the folders that had to be made; older records do not have it.
    #[serde(default)]
    outermost_made: Option<PathBuf>,
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

pub(crate) fn of_file(state: &Path, owner: &str, file: &Path) -> Option<Record> {
    let record: Record = serde_json::from_slice(&fs_err::read(record_path(state, owner, file)).ok()?).ok()?;
    (record.version == VERSION && record.file == file).then_some(record)
}

impl Record {
    pub(crate) fn agent(&self) -> Option<Agent> {
        Agent::ALL.into_iter().find(|agent| agent.name() == self.owner)
    }

    /// Whether the file is exactly what `init` wrote.
    pub(crate) fn wrote(&self, text: &str) -> bool {
        self.after == hash(text)
    }

    /// What was there before; `None` if the backup is gone or damaged.
    pub(crate) fn before(&self, state: &Path) -> Option<Before> {
        let Some(before) = &self.before else { return Some(Before::Absent) };
        let text = fs_err::read_to_string(backup_path(state, before)).ok()?;
        (&hash(&text) == before).then_some(Before::Text(text))
    }

    /// The outermost folder that was made for the file.
    fn outermost_made(&self) -> Option<&Path> {
        let parent = self.file.parent().filter(|_| self.made_folder);
        self.outermost_made.as_deref().or(parent)
    }
}

/// The outermost folder above the file that is ours: one that has to be made now, or that was made for any of our files.
fn outermost_made(state: &Path, file: &Path) -> Option<PathBuf> {
    let missing = file.ancestors().skip(1).take_while(|folder| !folder.exists()).last();
    let records = all(state);
    let made = records.iter().filter_map(Record::outermost_made).filter(|folder| file.starts_with(folder));
    made.chain(missing).min_by_key(|folder| folder.components().count()).map(Path::to_owned)
}

/// Writes the text into the file: the record and the backup first. Where the backup is, if there was a file.
pub(crate) fn write_file(
    state: &Path,
    owner: &str,
    file: &SettingsFile,
    text: &str,
) -> Result<Option<PathBuf>, CommandError> {
    let old = of_file(state, owner, &file.path);
    let outermost_made = outermost_made(state, &file.path);
    let before = match before(file, old.as_ref(), state) {
        Before::Absent => None,
        Before::Text(text) => {
            let before = hash(&text);
            write(&backup_path(state, &before), &text)?;
            Some(before)
        }
    };
    let backup = before.as_ref().filter(|_| file.text.is_some()).map(|before| backup_path(state, before));
    let record = Record {
        version: VERSION,
        owner: owner.to_owned(),
        file: file.path.clone(),
        before,
        after: hash(text),
        made_folder: outermost_made.is_some(),
        outermost_made,
    };
    let json = serde_json::to_string_pretty(&record)?;
    let place = record_path(state, owner, &file.path);
    let earlier = fs_err::read_to_string(&place).ok();
    write(&place, &(json + "\n"))?;
    let Err(error) = file.write(text) else { return Ok(backup) };
    // What never got there is not missing later. After a failed flush of the folder it did get there.
    if SettingsFile::read(&file.path).is_ok_and(|now| now.text.as_deref() != Some(text)) {
        let _ =
            earlier.map_or_else(|| fs_err::remove_file(&place).ok(), |earlier| write(&place, &earlier).ok());
    }
    Err(error)
}

/// What was there before; where the file is as an earlier `init` left it, what was there before that.
fn before(file: &SettingsFile, old: Option<&Record>, state: &Path) -> Before {
    let Some(text) = &file.text else { return Before::Absent };
    let recorded = old.filter(|record| record.wrote(text)).and_then(|record| record.before(state));
    recorded.unwrap_or_else(|| Before::Text(text.clone()))
}

/// Makes of the file what is left without us. The backup stays, for it costs nothing.
pub(crate) fn take_back(
    state: &Path,
    owner: &str,
    file: &SettingsFile,
    after: &Before,
) -> Result<(), CommandError> {
    let record = of_file(state, owner, &file.path);
    match after {
        Before::Text(text) => file.write(text)?,
        Before::Absent => file.remove()?,
    }
    forget(state, owner, &file.path);
    if *after == Before::Absent
        && let Some(outermost) = record.as_ref().and_then(Record::outermost_made)
    {
        // Only those that are empty can be removed: then nothing but ours was ever in them.
        let made = file.path.ancestors().skip(1).take_while(|folder| folder.starts_with(outermost));
        made.map(fs_err::remove_dir).take_while(Result::is_ok).for_each(drop);
    }
    Ok(())
}

/// Drops the record of a file.
pub(crate) fn forget(state: &Path, owner: &str, file: &Path) {
    let _ = fs_err::remove_file(record_path(state, owner, file));
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

fn record_path(state: &Path, owner: &str, file: &Path) -> PathBuf {
    let name = hash(&file.to_string_lossy());
    let short = name.get(..16).unwrap_or(&name);
    state.join(RECORDS).join(format!("{owner}-{short}.json"))
}

fn backup_path(state: &Path, hash: &str) -> PathBuf {
    state.join(BACKUPS).join(format!("{hash}.json"))
}

fn hash(text: &str) -> String {
    text::hexadecimal(&Sha256::digest(text.as_bytes()))
}
