//! The notification at the end of a run, by `[integrations.run_end]` of the user's own configuration. What goes wrong is a warning and
//! changes nothing about the run.

use std::time::Duration;

use checkpoint::layout::Layout;
use jiff::Timestamp;
use run::plan::NOTHING_TO_RUN;
use run::record::Record;
use run::state::StageState;
use serde::Serialize;
use workflow::integrations::webhook::WebhookEvent;

use crate::error::Warning;
use crate::integrations;
use crate::notification;
use crate::printer::Printer;

/// How a run ended. Plain facts: no output, no parameters, no reasons that quote a stage's words.
#[derive(Debug, Serialize)]
struct RunEvent {
    /// `run.completed`, `run.failed`, `run.interrupted` or `run.aborted`.
    event: String,
    at: String,
    /// The name of the project's folder.
    repository: String,
    title: String,
    run: String,
    state: &'static str,
    stages: usize,
    completed: usize,
    /// Those that began and did not complete.
    unfinished: Vec<String>,
    seconds: u64,
}

impl RunEvent {
    fn of(record: &Record, stages: &[String], layout: &Layout, began: Timestamp) -> Self {
        let now = Timestamp::now();
        let of_stages = |is_meant: &dyn Fn(StageState, u32) -> bool| {
            let meant = stages.iter().filter(|stage| {
                let here = record.stage(stage);
                is_meant(here.state, here.attempt)
            });
            meant.cloned().collect::<Vec<String>>()
        };
        Self {
            event: format!("run.{}", record.state.name().to_lowercase()),
            at: format!("{now:.0}"),
            repository: layout
                .root()
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
            title: layout.title().to_owned(),
            run: layout.run().to_owned(),
            state: record.state.name(),
            stages: stages.len(),
            completed: of_stages(&|state, _| state == StageState::Completed).len(),
            unfinished: of_stages(&|state, attempt| state != StageState::Completed && attempt > 0),
            seconds: u64::try_from(now.duration_since(began).as_secs()).unwrap_or(0),
        }
    }
}

impl WebhookEvent for RunEvent {
    fn name(&self) -> &str {
        &self.event
    }

    fn line(&self) -> String {
        let unfinished = match self.unfinished.is_empty() {
            true => String::new(),
            false => format!("; not completed: {}", text::listed(&self.unfinished)),
        };
        let progress = match self.stages {
            0 => NOTHING_TO_RUN.to_owned(),
            all => format!("{} of {all} stages completed{unfinished}", self.completed),
        };
        format!(
            "{}: run {} {} after {}: {progress}",
            self.title,
            self.run,
            self.state.to_lowercase().replace('_', " "),
            text::duration_in_words(Duration::from_secs(self.seconds))
        )
    }

    fn details(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Tells the user that the run is over, in every way that is switched on.
pub(crate) fn send(record: &Record, stages: &[String], layout: &Layout, began: Timestamp, printer: &Printer) {
    let settings = integrations::user_settings(printer);
    let event = RunEvent::of(record, stages, layout, began);
    let ways = &settings.run_end;
    for problem in notification::send(ways, &settings.webhooks, &event, "the run ended", layout.root()) {
        printer.warning(
            Warning::new(problem)
                .hint("the run itself is not affected; see `[integrations.run_end]` in your `config.toml`"),
        );
    }
}
