//! Workflows that are over: each with all its saves in one compressed file, and one line about it in an index, so that
//! listing thousands of them reads one file. The index can be made anew from the files.
//!
//! The order keeps everything through a crash: the compressed file, the index, and only then the live file goes.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use files::{FileError, Links, atomic_file, regular_file};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::WorkflowError;
use crate::history::Save;
use crate::lines::{self, Durable};
use crate::list::Summary;
use crate::name::Name;
use crate::state_directory::{Loaded, StateDirectory, create_folder};
use crate::workflow::{Workflow, time};

/// What decompressing may take.
const LARGEST: usize = 64 * 1024 * 1024;

/// One line of the index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArchivedWorkflow {
    /// Names it in `show --archived` and `diff --archived`.
    pub id: String,
    /// ISO 8601
    pub archived_at: String,
    pub workflow: Summary,
}

/// An archived workflow with every save that was kept.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct ArchiveContent {
    pub workflow: Map<String, Value>,
    pub history: Vec<Save>,
}

impl StateDirectory {
    /// Archives a workflow that is complete.
    pub fn archive(&self, name: &Name, now: Timestamp) -> Result<ArchivedWorkflow, WorkflowError> {
        if !self.exists() {
            return Err(self.not_found(name));
        }
        let _lock = self.lock()?;
        let place = self.find(name)?;
        let stem = place.stem.clone();
        match self.loaded(place)?.workflow {
            None => Err(self.not_found(name)),
            Some(workflow) if !workflow.is_complete() => {
                Err(WorkflowError::Unfinished { name: name.to_string() })
            }
            Some(workflow) => self.archive_file(&stem, &workflow, now),
        }
    }

    pub fn archive_complete(&self, now: Timestamp) -> Result<Vec<ArchivedWorkflow>, WorkflowError> {
        if !self.exists() {
            return Ok(Vec::new());
        }
        let _lock = self.lock()?;
        let mut archived = Vec::new();
        for stem in self.stems()? {
            // What cannot be read is not complete.
            if let Ok(Loaded { workflow: Some(workflow), .. }) = self.load_file(&stem)
                && workflow.is_complete()
            {
                archived.push(self.archive_file(&stem, &workflow, now)?);
            }
        }
        Ok(archived)
    }

    /// The caller holds the lock.
    pub(crate) fn archive_file(
        &self,
        stem: &str,
        workflow: &Workflow,
        now: Timestamp,
    ) -> Result<ArchivedWorkflow, WorkflowError> {
        let folder = self.archive_folder();
        create_folder(&folder)?;
        let saved = workflow.file().updated_at.as_deref().and_then(|at| at.parse::<Timestamp>().ok());
        let archived = ArchivedWorkflow {
            id: format!("{stem}.{}", saved.unwrap_or(now).as_millisecond()),
            archived_at: time(now),
            workflow: Summary::of(stem, workflow),
        };
        let history = self.history_of(stem);
        let content = ArchiveContent { workflow: workflow.document().clone(), history: history.read()? };
        let json = serde_json::to_vec(&content).unwrap_or_default();
        atomic_file::write(&file(&folder, &archived.id), &lz4_flex::compress_prepend_size(&json), 0o644)?;
        lines::append(&folder.join("index.jsonl"), &[&archived], Durable::Yes)?;
        for path in [self.folder().join(format!("{stem}.json")), history.path] {
            match fs_err::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(FileError::failed("remove", &path)(error).into());
                }
                _ => {}
            }
        }
        Ok(archived)
    }

    /// What the index says, the latest first.
    pub fn archived(&self, limit: usize) -> Result<Vec<ArchivedWorkflow>, WorkflowError> {
        let folder = self.archive_folder();
        let index = folder.join("index.jsonl");
        if !index.exists() && folder.is_dir() {
            return self.archived_by_file(&folder).map(|all| all.into_iter().take(limit).collect());
        }
        let bytes = lines::bytes(&index)?;
        // A crash between the index and the removal archives the same file again.
        let mut seen = HashSet::new();
        let archived = bytes
            .rsplit(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice(line).ok())
            .filter(|one: &ArchivedWorkflow| seen.insert(one.id.clone()))
            .take(limit);
        Ok(archived.collect())
    }

    pub fn archive_content(&self, id: &str) -> Result<ArchiveContent, WorkflowError> {
        let unknown = || WorkflowError::NotFound { name: id.to_owned(), directory: self.archive_folder() };
        // An id is one file name.
        if id.contains(['/', '\\', '\0']) {
            return Err(unknown());
        }
        let path = file(&self.archive_folder(), id);
        match regular_file::read(&path, Links::Refuse, LARGEST as u64) {
            Ok(bytes) => decompressed(&bytes).ok_or(WorkflowError::Archive { path }),
            Err(error @ FileError::Failed { .. }) => Err(error.into()),
            Err(_) => Err(unknown()),
        }
    }

    fn archive_folder(&self) -> PathBuf {
        self.own_folder().join("archive")
    }

    /// The slow way, where the index is lost.
    fn archived_by_file(&self, folder: &Path) -> Result<Vec<ArchivedWorkflow>, WorkflowError> {
        let failed = FileError::failed("read", folder);
        let mut archived = Vec::new();
        for entry in fs_err::read_dir(folder).map_err(&failed)? {
            let name = entry.map_err(&failed)?.file_name();
            let Some(id) = name.to_str().and_then(|name| name.strip_suffix(".json.lz4")) else { continue };
            let Ok(content) = self.archive_content(id) else { continue };
            let Ok(workflow) = Workflow::from_document(content.workflow) else { continue };
            let stem = id.rsplit_once('.').map_or(id, |(stem, _)| stem);
            let workflow = Summary::of(stem, &workflow);
            let archived_at = workflow.updated_at.clone().unwrap_or_default();
            archived.push(ArchivedWorkflow { id: id.to_owned(), archived_at, workflow });
        }
        archived.sort_by(|one, other| other.archived_at.cmp(&one.archived_at));
        Ok(archived)
    }
}

fn file(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}.json.lz4"))
}

fn decompressed(bytes: &[u8]) -> Option<ArchiveContent> {
    let (size, block) = lz4_flex::block::uncompressed_size(bytes).ok()?;
    if size > LARGEST {
        return None;
    }
    let json = lz4_flex::decompress(block, size).ok()?;
    serde_json::from_slice(&json).ok()
}
