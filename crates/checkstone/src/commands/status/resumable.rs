//! What was begun here and not finished: workflows and runs.

use std::path::Path;

use run::control;
use run::record::Record;
use run::runs::{self, FoundRun};
use serde::Serialize;
use transcript::visible;
use workflow::{StateDirectory, Summary};

/// How many runs are shown.
const RUNS: usize = 5;

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum Resumable {
    Workflow {
        command: String,
        feature: Option<String>,
        /// The phase to continue with.
        phase: Option<String>,
        status: Option<String>,
    },
    #[serde(rename_all = "camelCase")]
    Run {
        report_title: String,
        run_id: String,
        /// The state of the run.
        #[cfg_attr(feature = "schema", schemars(extend("enum" = ["INTERRUPTED", "ABORTED", "FAILED"])))]
        status: &'static str,
    },
}

impl Resumable {
    pub(super) fn sentence(&self) -> String {
        match self {
            Self::Workflow { command, feature, phase, status } => {
                let feature = feature.as_ref().map(|feature| format!(" ({})", visible(feature)));
                let phase = visible(phase.as_deref().unwrap_or_default());
                let status = status.as_deref().unwrap_or_default().replace('_', " ");
                format!("workflow {}{}: {phase} {status}", visible(command), feature.unwrap_or_default())
            }
            Self::Run { report_title, run_id, status } => {
                let (title, name) = (visible(report_title), visible(run_id));
                format!("run {name} of {title}: {status}, `checkstone resume {}`", text::shell_word(run_id))
            }
        }
    }
}

/// Unfinished workflows; what cannot be read cannot be resumed.
pub(super) fn unfinished_workflows(workflows: &StateDirectory) -> Vec<Resumable> {
    let (listed, _) = workflows.list().unwrap_or_default();
    let summaries = listed.iter().map(|one| Summary::of(&one.stem, &one.workflow));
    let unfinished = summaries.filter(|summary| summary.phase.is_some());
    let resumable = unfinished.map(|Summary { command, feature, phase, phase_status, .. }| {
        Resumable::Workflow { command, feature, phase, status: phase_status }
    });
    resumable.collect()
}

/// The newest few that are not complete and that nobody has in hand. They are called what their folders are called, which
/// is what `resume` knows them by.
pub(super) fn unfinished_runs(project: &Path) -> Vec<Resumable> {
    let found = runs::all(project).into_iter().filter(|found| !control::is_taken(&found.layout));
    let unfinished = found.filter_map(|FoundRun { layout, .. }| {
        let record = Record::read(&layout.events()).ok().filter(Record::is_unfinished)?;
        let status = record.state_left_behind().name();
        let (report_title, run_id) = (layout.title().to_owned(), layout.run().to_owned());
        Some(Resumable::Run { report_title, run_id, status })
    });
    unfinished.take(RUNS).collect()
}
