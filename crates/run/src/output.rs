//! What commands print with `--json`, beside the events themselves.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use supervise::marker::Marker;

use crate::control;
use crate::outlook::StageOutlook;
use crate::plan::Plan;
use crate::record::Record;
use crate::runs::FoundRun;
use crate::state::StageState;

/// `checkstone markers --json`
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MarkersOutput {
    /// In the order of the log.
    pub markers: Vec<MarkerOutput>,
    /// How many there are of each type.
    pub counts: BTreeMap<String, u64>,
    /// Of those, the types that the taxonomy does not have.
    pub unknown: BTreeMap<String, u64>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MarkerOutput {
    pub r#type: String,
    pub subtype: Option<String>,
    pub attributes: BTreeMap<String, String>,
    pub text: String,
    /// Null for a type that the taxonomy does not have.
    pub category: Option<String>,
}

impl MarkerOutput {
    pub fn of(marker: &Marker) -> Self {
        Self {
            r#type: marker.kind.clone(),
            subtype: marker.subtype.clone(),
            attributes: marker.attributes.iter().cloned().collect(),
            text: marker.text.clone(),
            category: marker.category().map(str::to_owned),
        }
    }
}

/// `checkstone report --json`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReportOutput {
    pub title: String,
    pub run: String,
    pub state: String,
    pub stages: usize,
    pub attempts: usize,
    /// Attempts that failed, were interrupted or aborted, or lost their supervisor.
    pub broken_off: usize,
    pub resumes: usize,
    /// Below the project's root, as is `html`.
    pub markdown: String,
    pub html: String,
}

/// `checkstone run --detach --json`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DetachedRunOutput<'a> {
    pub title: &'a str,
    pub run: &'a str,
}

/// `checkstone abort --json`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AbortOutput<'a> {
    pub title: &'a str,
    pub run: &'a str,
    /// The one stage that was aborted; null for the whole run.
    pub stage: Option<&'a str>,
    /// What the run, or that stage, is now.
    pub state: &'a str,
}

/// `checkstone run --dry-run --json` and `checkstone resume --dry-run --json`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutlookOutput {
    pub stages: Vec<StageOutlook>,
}

/// `checkstone run --list --json`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunListOutput {
    /// The newest first.
    pub runs: Vec<ListedRun>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ListedRun {
    pub run: String,
    pub title: String,
    /// `RUNNING` while a process drives it, `DAMAGED` if its record cannot be read, or the state of the run.
    pub state: String,
    /// Null if its record cannot be read.
    pub completed_stages: Option<usize>,
    /// When its record was last written to.
    pub changed_at: String,
    /// Parameters that were set from outside of the plan, as NAME=VALUE.
    pub set: Vec<String>,
}

/// `checkstone run --prune --json`.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RunPruneOutput {
    /// The newest first; with `--dry-run` those that would be.
    pub removed: Vec<PrunedRun>,
    pub kept: usize,
    /// Those of them that would have been removed if they had nothing on a cluster.
    pub on_cluster: Vec<RunOnCluster>,
    pub freed_files: usize,
    /// On the disk. With `--dry-run` without what only those runs hold in the store.
    pub freed_bytes: u64,
}

/// A run that no process drives, and that is not over on its cluster.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunOnCluster {
    pub run: String,
    pub title: String,
    pub reason: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PrunedRun {
    #[serde(flatten)]
    pub run: ListedRun,
    /// What its own folders take on the disk.
    pub bytes: u64,
}

impl ListedRun {
    /// To the minute.
    pub fn changed_at_in_words(&self) -> String {
        text::first_characters(&self.changed_at, 16).replace('T', " ")
    }

    pub fn of(found: &FoundRun) -> Self {
        let record = Record::read(&found.layout.events()).ok();
        let state = match &record {
            _ if control::is_taken(&found.layout) => "RUNNING",
            Some(record) => record.state_left_behind().name(),
            None => "DAMAGED",
        };
        Self {
            run: found.layout.run().to_owned(),
            title: found.layout.title().to_owned(),
            state: state.to_owned(),
            completed_stages: record.as_ref().map(completed_stages),
            changed_at: format!("{:.0}", found.changed_at),
            set: record.map(|record| record.set).unwrap_or_default(),
        }
    }
}

/// Of the plan as it was last recorded; what it has no more does not count.
fn completed_stages(record: &Record) -> usize {
    let planned = Plan::ids_in(&record.plan);
    let instances: HashMap<&str, &String> = (record.instances.iter())
        .flat_map(|(template, notes)| notes.iter().map(move |note| (note.stage_id.as_str(), template)))
        .collect();
    let is_planned = |id: &String| {
        planned.as_ref().is_none_or(|planned| match instances.get(id.as_str()) {
            Some(template) => planned.contains(*template),
            None => planned.contains(id) && !record.instances.contains_key(id),
        })
    };
    let done = record.stages.iter().filter(|(_, stage)| stage.state == StageState::Completed);
    done.filter(|(id, _)| is_planned(id)).count()
}
