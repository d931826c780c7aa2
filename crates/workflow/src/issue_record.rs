//! The issue of a workflow, as the workflow's file keeps it under `checkstone.issue`. Its id is chosen and kept before
//! Linear hears of it: whoever tries again after a kill, or after an answer that got lost, finds what is there already.

use std::io;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::WorkflowError;
use crate::format::Status;
use crate::integrations::branch::{IssueId, branch_name};
use crate::integrations::linear::{Linear, LinearError, NewIssue, uuid};
use crate::name::Name;
use crate::phase_update::PhaseUpdate;
use crate::state_directory::{Commit, StateDirectory};
use crate::workflow::{Workflow, object_at};

/// The phase that is over once there is an issue.
const PHASE: &str = "issue-creation";

/// What only checkstone keeps in a workflow's file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct OwnRecord {
    pub issue: Option<IssueRecord>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct IssueRecord {
    /// The UUID that was chosen for an issue that is created from here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The title that it was to get.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Such as `BAS-7`; missing as long as it is unknown whether it was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issue: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The name of the branch for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The phases whose updates did not arrive; null for the end of the workflow.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unsent: Vec<Option<String>>,
}

/// What is to be created, and where.
#[derive(Clone, Copy, Debug)]
pub struct WantedIssue<'a> {
    pub team: &'a str,
    pub title: &'a str,
    pub branch_prefix: &'a str,
}

#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    #[error(transparent)]
    Workflow(#[from] WorkflowError),
    #[error(transparent)]
    Linear(#[from] LinearError),
    #[error("cannot choose an id for it")]
    Randomness(#[from] io::Error),
    #[error("Linear calls it `{identifier}`, which is not the name of an issue")]
    Identifier { identifier: String },
}

impl OwnRecord {
    /// What is not understood is not ours.
    pub(crate) fn read(document: &Map<String, Value>) -> Self {
        let own = document.get("checkstone").cloned();
        own.and_then(|own| serde_json::from_value(own).ok()).unwrap_or_default()
    }
}

impl Workflow {
    /// Empty if it has none.
    pub fn issue_record(&self) -> IssueRecord {
        self.file().checkstone.issue.clone().unwrap_or_default()
    }

    /// Whether the creation of an issue is one of its phases, and is still to come.
    pub fn wants_issue(&self) -> bool {
        let file = self.file();
        match file.phase(PHASE) {
            Some(phase) => !matches!(phase.status, Status::Complete | Status::Skipped),
            None => file.state.pending_phases.iter().any(|phase| phase == PHASE),
        }
    }

    pub(crate) fn with_issue_record(&self, record: &IssueRecord) -> Result<Self, WorkflowError> {
        if self.document().get("checkstone").is_some_and(|own| !own.is_object()) {
            let problem = "this is not a workflow: `checkstone` must be an object".to_owned();
            return Err(WorkflowError::NotAWorkflow { problem });
        }
        self.changed(|document| {
            let value = serde_json::to_value(record).unwrap_or_default();
            object_at(document, "checkstone").insert("issue".to_owned(), value);
        })
    }
}

impl StateDirectory {
    /// The workflow with its issue, which is created unless it is there already.
    pub fn create_issue(
        &self,
        name: &Name,
        wanted: &WantedIssue<'_>,
        linear: &Linear<'_>,
        now: Timestamp,
    ) -> Result<Workflow, IssueError> {
        let chosen = uuid(&files::random_key()?);
        let intended = self.record_issue(name, now, |record| {
            record.id.get_or_insert_with(|| chosen.clone());
            record.title.get_or_insert_with(|| wanted.title.to_owned());
        })?;
        let IssueRecord { id, title, .. } = intended.issue_record();
        let (id, title) = (id.unwrap_or_default(), title.unwrap_or_default());
        let new = NewIssue { id: &id, team: wanted.team, title: &title };
        let created = linear.create_issue(&new, id != chosen)?;
        let Some(issue) = IssueId::parse(&created.identifier) else {
            return Err(IssueError::Identifier { identifier: created.identifier });
        };
        Ok(self.keep_issue(name, &issue, created.url, wanted.branch_prefix, now)?)
    }

    /// The workflow with an issue that exists, and the phase that asked for one over.
    pub fn keep_issue(
        &self,
        name: &Name,
        issue: &IssueId,
        url: Option<String>,
        branch_prefix: &str,
        now: Timestamp,
    ) -> Result<Workflow, WorkflowError> {
        let workflow = self.record_issue(name, now, |record| {
            record.issue = Some(issue.to_string());
            record.url = url.or_else(|| record.url.take());
            record.branch = Some(branch_name(branch_prefix, issue, None));
        })?;
        if !workflow.wants_issue() {
            return Ok(workflow);
        }
        let url = workflow.issue_record().url;
        let summary = url.map_or_else(|| issue.to_string(), |url| format!("{issue}: {url}"));
        let status = Some(Status::Complete);
        let update = PhaseUpdate { status, context_summary: Some(summary), ..PhaseUpdate::default() };
        Ok(self.update_phase(name, PHASE, &update, now)?.workflow)
    }

    /// Changes what is kept about the issue, and writes only if that changes anything.
    pub fn record_issue(
        &self,
        name: &Name,
        now: Timestamp,
        change: impl FnOnce(&mut IssueRecord),
    ) -> Result<Workflow, WorkflowError> {
        let _lock = self.lock()?;
        let found = self.load(name)?.workflow.ok_or_else(|| self.not_found(name))?;
        let before = found.issue_record();
        let mut record = before.clone();
        change(&mut record);
        if record == before {
            return Ok(found);
        }
        let saved = self.write(name, now, Commit::AsItWas, |found, _| {
            found.ok_or_else(|| self.not_found(name))?.with_issue_record(&record)
        })?;
        Ok(saved.workflow)
    }
}
