//! The notification at the end of a run, by `[integrations.run_end]` of the user's own configuration: a program, the
//! desktop, the webhooks. Each has a few seconds; what goes wrong is a warning and changes nothing about the run.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use checkpoint::layout::Layout;
use files::{BoundedChild, Bounds, ChildError};
use jiff::Timestamp;
use run::plan::NOTHING_TO_RUN;
use run::record::Record;
use run::state::StageState;
use serde::Serialize;
use text::error_chain;
use workflow::integrations::user_settings::UserSettings;
use workflow::integrations::webhook::WebhookEvent;

use crate::environment;
use crate::error::Warning;
use crate::integrations;
use crate::printer::Printer;

/// A program that takes longer is ended.
const LIMIT: Duration = Duration::from_secs(10);

/// macOS has no program that shows a notification; the texts are arguments, never code.
const APPLE_SCRIPT: &str =
    "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run";

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
    let UserSettings { run_end, webhooks, .. } = integrations::user_settings(printer);
    let event = RunEvent::of(record, stages, layout, began);
    let line = event.line();
    let mut problems = Vec::new();
    if run_end.desktop {
        problems.extend(
            on_desktop(&line).err().map(|error| format!("no desktop notification: {}", error_chain(&error))),
        );
    }
    if let Some((program, arguments)) = run_end.command.split_first() {
        let input = serde_json::to_vec(&event).unwrap_or_default();
        let told = started(program, arguments.iter().chain([&line]), &input, layout.root());
        problems.extend(
            told.err().map(|error| {
                format!("`{program}` was not told that the run is over: {}", error_chain(&error))
            }),
        );
    }
    if run_end.webhooks {
        problems.extend(integrations::send_to_webhooks(&webhooks, &event));
        if webhooks.is_empty() {
            problems.push("there is no webhook to tell that the run is over".to_owned());
        }
    }
    for problem in problems {
        printer.warning(
            Warning::new(problem)
                .hint("the run itself is not affected; see `[integrations.run_end]` in your `config.toml`"),
        );
    }
}

#[derive(Debug, thiserror::Error)]
enum NotificationError {
    #[error("neither `notify-send` nor `osascript` is installed")]
    NoDesktopProgram,
    #[error("there is no such program in the absolute folders of PATH")]
    NoProgram,
    #[error(transparent)]
    Child(#[from] ChildError),
    #[error("it ended with {status}{said}")]
    Ended { status: ExitStatus, said: String },
}

fn on_desktop(line: &str) -> Result<(), NotificationError> {
    let folder = environment::temporary_directory();
    if environment::program("notify-send").is_some() {
        return started("notify-send", ["--app-name=checkstone", "--", "checkstone", line], &[], &folder);
    }
    match environment::program("osascript") {
        Some(_) => started("osascript", ["-e", APPLE_SCRIPT, "checkstone", line], &[], &folder),
        None => Err(NotificationError::NoDesktopProgram),
    }
}

/// Runs a program to its end, without a shell.
fn started<Word: AsRef<OsStr>>(
    program: &str,
    arguments: impl IntoIterator<Item = Word>,
    input: &[u8],
    folder: &Path,
) -> Result<(), NotificationError> {
    let path = Some(PathBuf::from(program)).filter(|path| path.is_absolute());
    let path = path.or_else(|| environment::program(program)).ok_or(NotificationError::NoProgram)?;
    let mut command = Command::new(path);
    command.args(arguments).current_dir(folder);
    let ended = BoundedChild::run(&mut command, input, Bounds::within(LIMIT))?;
    if ended.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&ended.stderr);
    let said = stderr.trim().lines().last().map(|line| format!(": {}", text::shortened(line, 200)));
    Err(NotificationError::Ended { status: ended.status, said: said.unwrap_or_default() })
}
