//! Many workflows at a glance: those that are open or complete in the state directory.

use files::FileError;
use serde::{Deserialize, Serialize};

use crate::error::WorkflowError;
use crate::output::UnreadableFile;
use crate::resume_point::ResumePoint;
use crate::state_directory::{Loaded, StateDirectory};
use crate::workflow::Workflow;
use crate::{Name, Status};

/// One workflow in a few words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    pub command: String,
    pub feature: Option<String>,
    /// It was marked as complete.
    pub complete: bool,
    /// The phase to continue with, and its status.
    pub phase: Option<String>,
    pub phase_status: Option<String>,
    /// How many phases are complete or skipped.
    pub phases_done: usize,
    pub phases: usize,
    pub started_at: Option<String>,
    pub updated_at: Option<String>,
    pub completed_at: Option<String>,
}

/// A workflow of the state directory.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// The name of its file without `.json`.
    pub stem: String,
    pub workflow: Workflow,
}

impl Listed {
    pub fn name(&self) -> Name {
        name_of(&self.stem, &self.workflow)
    }
}

impl Summary {
    pub fn of(stem: &str, workflow: &Workflow) -> Self {
        let file = workflow.file();
        let point = ResumePoint::of(file);
        let is_done = |status| matches!(status, Status::Complete | Status::Skipped);
        let to_come = file.state.pending_phases.iter().filter(|name| file.phase(name).is_none()).count();
        let name = name_of(stem, workflow);
        Self {
            command: name.command,
            feature: name.feature,
            complete: workflow.is_complete(),
            phase: point.phase,
            phase_status: point.status.map(|status| status.as_str().to_owned()),
            phases_done: file.phases.iter().filter(|(_, phase)| is_done(phase.status)).count(),
            phases: file.phases.len() + to_come,
            started_at: file.started_at.clone(),
            updated_at: file.updated_at.clone(),
            completed_at: file.completed_at.clone(),
        }
    }
}

/// What the workflow calls itself, or else what its file is called.
pub(crate) fn name_of(stem: &str, workflow: &Workflow) -> Name {
    let Name { command, feature } = workflow.name();
    let (first, rest) = stem.split_once('-').unwrap_or((stem, ""));
    let command = if command.is_empty() { first.to_owned() } else { command };
    let by_file = Some(rest).filter(|rest| !rest.is_empty() && !rest.starts_with("checkpoint"));
    Name { feature: feature.or_else(|| by_file.map(ToOwned::to_owned)), command }
}

impl StateDirectory {
    /// Every workflow in the folder, the one that was updated last first; and the files that cannot be read.
    pub fn list(&self) -> Result<(Vec<Listed>, Vec<UnreadableFile>), WorkflowError> {
        let (mut listed, mut unreadable) = (Vec::new(), Vec::new());
        for stem in if self.exists() { self.stems()? } else { Vec::new() } {
            let problem = match self.load_file(&stem) {
                // A damaged one is reported, also where its last save takes its place.
                Ok(Loaded { workflow: Some(workflow), warnings, .. }) => {
                    listed.push(Listed { stem: stem.clone(), workflow });
                    warnings.iter().find(|warning| warning.is_damage()).map(ToString::to_string)
                }
                Ok(Loaded { warnings, .. }) => warnings.first().map(ToString::to_string),
                Err(error) => Some(error.to_string()),
            };
            let file = format!("{stem}.json");
            unreadable.extend(problem.map(|problem| UnreadableFile { file, problem }));
        }
        let updated = |one: &Listed| one.workflow.file().updated_at.clone();
        listed.sort_by_key(|one| (std::cmp::Reverse(updated(one)), one.stem.clone()));
        Ok((listed, unreadable))
    }

    /// The names of the files that may be workflows, without `.json`.
    pub(crate) fn stems(&self) -> Result<Vec<String>, WorkflowError> {
        let folder = self.folder();
        let failed = FileError::failed("read", &folder);
        let mut stems = Vec::new();
        for entry in fs_err::read_dir(&folder).map_err(&failed)? {
            let name = entry.map_err(&failed)?.file_name();
            let stem = name.to_str().and_then(|name| name.strip_suffix(".json"));
            stems.extend(
                stem.filter(|stem| !stem.starts_with('.') && stem.contains('-')).map(ToOwned::to_owned),
            );
        }
        stems.sort();
        Ok(stems)
    }
}
