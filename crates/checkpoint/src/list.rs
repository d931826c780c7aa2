//! Which checkpoints there are, the newest first. What is newest is told by the numbers in our ids within a run, by the times
//! across runs and for checkpoints of other tools, and never by the order of a folder (R5).

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use files::{FileError, Folder};
use jiff::Timestamp;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::id;
use crate::layout::{CHECKPOINTS, MANIFEST, REPORTS, Segment};
use crate::manifest::{LARGEST, MID_STAGE, Status};
use crate::parallel;

/// A checkpoint, as its manifest describes it; `validate` checks whether that is true.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ListedCheckpoint {
    pub checkpoint_id: String,
    pub report_title: String,
    pub run_id: String,
    pub stage_id: String,
    pub status: Status,
    /// Whether the stage saved it on its way, and was not interrupted.
    pub mid_stage: bool,
    pub created_at: String,
    pub artifact_count: usize,
}

impl ListedCheckpoint {
    /// How the stage stood, for people.
    pub fn standing(&self) -> &'static str {
        if self.mid_stage { MID_STAGE } else { self.status.name() }
    }
}

/// A folder of a checkpoint whose manifest cannot be read.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UnreadableCheckpoint {
    pub checkpoint_id: String,
    pub report_title: String,
    pub run_id: String,
    pub problem: String,
}

/// `checkpoint list`
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ListOutput {
    /// The newest first.
    pub checkpoints: Vec<ListedCheckpoint>,
    pub count: usize,
    /// Checkpoints whose manifest cannot be read.
    pub unreadable: Vec<UnreadableCheckpoint>,
}

/// The checkpoints below a project root: of one run, of one title, or of all.
pub fn list(root: &Path, title: Option<&str>, run: Option<&str>) -> Result<ListOutput, FileError> {
    let mut listing = ListOutput::default();
    for Entry { title, run, id, summary, .. } in entries(root, title, run)? {
        match summary {
            Ok(listed) => listing.checkpoints.push(listed),
            Err(problem) => listing.unreadable.push(UnreadableCheckpoint {
                checkpoint_id: id,
                report_title: title,
                run_id: run,
                problem: problem.to_string(),
            }),
        }
    }
    listing.count = listing.checkpoints.len();
    Ok(listing)
}

/// A checkpoint's folder, and what its manifest says in short.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) title: String,
    pub(super) run: String,
    pub(super) id: String,
    /// Or why it cannot be read, for people.
    pub(super) summary: Result<ListedCheckpoint, UnreadableManifest>,
    /// When it was made; of an unreadable one, when its file was written.
    time: Timestamp,
    sequence: Option<u64>,
}

/// All of them, the newest first.
pub(super) fn entries(root: &Path, title: Option<&str>, run: Option<&str>) -> Result<Vec<Entry>, FileError> {
    let mut found = Vec::new();
    let reports = match Folder::open(root)?.folder(REPORTS) {
        Ok(reports) => reports,
        Err(error) if error.is_not_found() => return Ok(found),
        Err(error) => return Err(error),
    };
    let titles = match title {
        Some(title) => vec![Segment::visible("report title", title)?.to_string()],
        None => reports.visible_folders()?,
    };
    for title in titles {
        let Some(checkpoints) = present(reports.folder(&title))? else { continue };
        let Some(checkpoints) = present(checkpoints.folder(CHECKPOINTS))? else { continue };
        let runs = match run {
            Some(run) => vec![Segment::visible("run", run)?.to_string()],
            None => checkpoints.visible_folders()?,
        };
        for run in runs {
            let Some(folder) = present(checkpoints.folder(&run))? else { continue };
            found.extend(of_run(&title, &run, &folder)?);
        }
    }
    order(&mut found);
    Ok(found)
}

/// What is missing holds no checkpoints.
fn present(folder: Result<Folder, FileError>) -> Result<Option<Folder>, FileError> {
    match folder {
        Ok(folder) => Ok(Some(folder)),
        Err(FileError::NotFound { .. } | FileError::NotAFolder { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Fewer than this are read faster by one thread than a second one is started.
const WORTH_A_THREAD: usize = 200;

fn of_run(title: &str, run: &str, folder: &Folder) -> Result<Vec<Entry>, FileError> {
    let ids = folder.visible_folders()?;
    let found = parallel::map(&ids, WORTH_A_THREAD, |id| entry(title, run, folder, id));
    let mut found: Vec<Entry> = found.into_iter().flatten().collect();
    make_monotonic(&mut found);
    Ok(found)
}

/// `None` if there is no manifest: a checkpoint that is not yet, or never was.
fn entry(title: &str, run: &str, folder: &Folder, id: &str) -> Option<Entry> {
    let (summary, time) = match manifest_file(folder, id) {
        Err(error) if error.is_not_found() => return None,
        Err(error) => (Err(error.into()), Timestamp::UNIX_EPOCH),
        Ok(file) => {
            let read = read_limited(&file).and_then(|text| Ok(listed(title, run, id, &text)?));
            let time = match &read {
                Ok(listed) => listed.created_at.parse().unwrap_or(Timestamp::UNIX_EPOCH),
                Err(_) => written(&file),
            };
            (read, time)
        }
    };
    let sequence = id::sequence(id);
    Some(Entry { title: title.to_owned(), run: run.to_owned(), id: id.to_owned(), summary, time, sequence })
}

pub(super) fn manifest_file(run: &Folder, id: &str) -> Result<File, FileError> {
    match run.file_in(id, MANIFEST) {
        Some(file) => Ok(file),
        None => run.folder(id)?.file(MANIFEST),
    }
}

#[derive(Debug, thiserror::Error)]
pub(super) enum UnreadableManifest {
    #[error(transparent)]
    Open(#[from] FileError),
    #[error(transparent)]
    Read(#[from] io::Error),
    #[error("it is larger than {} MiB", LARGEST >> 20)]
    TooLarge,
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

pub(super) fn read_limited(mut file: &File) -> Result<Vec<u8>, UnreadableManifest> {
    let size = file.metadata()?.len();
    if size > LARGEST {
        return Err(UnreadableManifest::TooLarge);
    }
    let room = usize::try_from(size).unwrap_or_default() + 1;
    let mut text = vec![0; room];
    let length = file.read(&mut text)?;
    text.truncate(length);
    // Almost always there was room for one byte more, and all was read at once.
    if length == room {
        file.by_ref().take(LARGEST + 1).read_to_end(&mut text)?;
    }
    Ok(text)
}

fn written(file: &File) -> Timestamp {
    let time = file.metadata().and_then(|metadata| metadata.modified());
    time.ok().and_then(|time| Timestamp::try_from(time).ok()).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Only what a list shows: the rest of a manifest is passed over.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Short {
    stage_id: String,
    status: Status,
    #[serde(default)]
    mid_stage: bool,
    created_at: String,
    artifacts: Vec<IgnoredAny>,
}

fn listed(title: &str, run: &str, id: &str, text: &[u8]) -> Result<ListedCheckpoint, serde_json::Error> {
    let short: Short = serde_json::from_slice(text)?;
    Ok(ListedCheckpoint {
        checkpoint_id: id.to_owned(),
        report_title: title.to_owned(),
        run_id: run.to_owned(),
        stage_id: short.stage_id,
        status: short.status,
        mid_stage: short.mid_stage,
        created_at: short.created_at,
        artifact_count: short.artifacts.len(),
    })
}

/// Within a run a later number is later, whatever the clock said: no time of ours is before that of an earlier number.
fn make_monotonic(run: &mut [Entry]) {
    run.sort_by_key(|entry| entry.sequence);
    let mut latest = Timestamp::MIN;
    for entry in run.iter_mut().filter(|entry| entry.sequence.is_some()) {
        latest = latest.max(entry.time);
        entry.time = latest;
    }
}

fn order(entries: &mut [Entry]) {
    let key = |entry: &Entry| (entry.time, entry.sequence);
    entries.sort_by(|one, other| {
        let same = || (&other.run, &other.id).cmp(&(&one.run, &one.id));
        key(other).cmp(&key(one)).then_with(same)
    });
}
