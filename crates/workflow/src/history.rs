//! Every save of a workflow, one a line, in `.claude/state/.checkstone/history`: what `diff` compares, and what is used
//! where the file itself is damaged.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::WorkflowError;
use crate::lines::{self, Durable};
use crate::workflow::Workflow;

/// A longer history loses its older half.
const LARGEST: u64 = 8 * 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Save {
    /// ISO 8601; null if another tool wrote the file and we only found it.
    pub saved_at: Option<String>,
    pub workflow: Map<String, Value>,
}

#[derive(Debug)]
pub(crate) struct History {
    pub(crate) path: PathBuf,
}

impl History {
    pub(crate) fn of(folder: &Path, stem: &str) -> Self {
        Self { path: folder.join(format!("{stem}.jsonl")) }
    }

    /// Without a flush: a power cut may cost the diff its last steps, and never the file itself.
    pub(crate) fn add(&self, found: Option<&Workflow>, saved: &Workflow) -> Result<(), WorkflowError> {
        let mut saves = Vec::new();
        // What another tool wrote in between is a save as well.
        if let Some(found) = found.filter(|found| self.latest().as_ref() != Some(found.document())) {
            saves.push(Save { saved_at: None, workflow: found.document().clone() });
        }
        let saved_at = saved.file().updated_at.clone();
        saves.push(Save { saved_at, workflow: saved.document().clone() });
        self.bound()?;
        Ok(lines::append(&self.path, &saves, Durable::No)?)
    }

    /// The first is the oldest.
    pub(crate) fn read(&self) -> Result<Vec<Save>, WorkflowError> {
        Ok(lines::read(&self.path)?)
    }

    pub(crate) fn latest(&self) -> Option<Map<String, Value>> {
        lines::last::<Save>(&self.path).map(|save| save.workflow)
    }

    fn bound(&self) -> Result<(), WorkflowError> {
        if !self.path.metadata().is_ok_and(|metadata| metadata.len() > LARGEST) {
            return Ok(());
        }
        let saves = self.read()?;
        let newer = saves.get(saves.len() / 2..).unwrap_or_default();
        let mut bytes = Vec::new();
        for save in newer {
            bytes.extend(serde_json::to_vec(save).unwrap_or_default());
            bytes.push(b'\n');
        }
        Ok(files::atomic_file::write(&self.path, &bytes, 0o644)?)
    }
}
