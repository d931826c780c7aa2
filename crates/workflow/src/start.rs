//! The beginning of a workflow: an unfinished one goes on, unless a fresh one is asked for. Nothing is overwritten: what
//! is replaced goes to the archive first.

use std::path::PathBuf;

use jiff::Timestamp;

use crate::archive::ArchivedWorkflow;
use crate::error::WorkflowError;
use crate::issue_record::IssueRecord;
use crate::name::Name;
use crate::state_directory::{Commit, Loaded, Saved, StateDirectory, phases_of, set_aside};
use crate::warning::Warning;
use crate::workflow::Workflow;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// Go on with an unfinished one.
    Resume,
    /// Archive an unfinished one.
    Fresh,
}

#[derive(Debug)]
pub struct Started {
    pub workflow: Workflow,
    pub path: PathBuf,
    pub warnings: Vec<Warning>,
    /// It was under way before.
    pub resumed: bool,
    pub archived: Option<ArchivedWorkflow>,
}

impl StateDirectory {
    /// Without `phases` the workflow has those that its command usually has.
    pub fn start(
        &self,
        name: &Name,
        phases: Option<&[String]>,
        begin: Begin,
        now: Timestamp,
    ) -> Result<Started, WorkflowError> {
        let phases = phases.map_or_else(|| phases_of(name), <[String]>::to_vec);
        let _lock = self.lock()?;
        let stem = self.find(name)?.stem;
        let Loaded { workflow, path, warnings } = self.load(name)?;
        // Work that starts over is about the issue that it was about. One that Linear never confirmed may exist.
        let issue = workflow.as_ref().and_then(|workflow| {
            let record = workflow.file().checkstone.issue.clone();
            record.filter(|record| !workflow.is_complete() || record.issue.is_none())
        });
        let archived = match workflow {
            Some(workflow) if begin == Begin::Resume && !workflow.is_complete() => {
                return Ok(Started { workflow, path, warnings, resumed: true, archived: None });
            }
            Some(workflow) => {
                if warnings.iter().any(Warning::is_damage) {
                    set_aside(&path, now)?;
                }
                Some(self.archive_file(&stem, &workflow, now)?)
            }
            None => None,
        };
        let mut new = Workflow::new(name, &phases, now);
        if let Some(issue) = issue {
            new = new.with_issue_record(&IssueRecord { unsent: Vec::new(), ..issue })?;
        }
        let Saved { workflow, path, warnings, .. } =
            self.write(name, now, Commit::Current, |_, _| Ok(new))?;
        Ok(Started { workflow, path, warnings, resumed: false, archived })
    }
}
