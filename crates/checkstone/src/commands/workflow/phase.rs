//! `checkstone workflow phase`

use std::path::Path;
use std::process::ExitCode;

use clap::builder::PossibleValue;
use jiff::Timestamp;
use serde_json::{Map, Value};
use transcript::visible;
use workflow::{
    Listed, Name, Phase, PhaseUpdate, ResumePoint, StateDirectory, Status, Workflow, usual_phases,
};

use super::{
    NameArguments, WorkflowCommonArguments, next_sentence, object, output, outside::Outside, warn,
    warn_of_length,
};
use crate::commands::tokens;
use crate::error::CommandError;
use crate::printer::{Printer, STRONG};
use crate::typed_word::word;

/// Record the state of a phase
///
/// A workflow that was never started is started, and this is reported, unless the feature looks like a typo of a known
/// one. Likewise a phase that the workflow did not have is added, and reported as new, unless its name looks like a typo
/// of a known one. What you leave out stays as it was; files are added to the known ones. Updating a phase of a complete workflow
/// reopens it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone workflow phase implement implementation --status in_progress
  checkstone workflow phase implement implementation --status complete --summary 'Parses dates' --created src/date.rs
  checkstone workflow phase implement validation --status failed --error '2 tests fail'
  git log -3 --format=%s | checkstone workflow phase ship commit --status complete --summary -")]
pub(super) struct PhaseArguments {
    #[command(flatten)]
    name: NameArguments,
    /// The phase
    phase: String,
    /// Its status
    #[arg(long, value_parser = word::<Status>(status_words()))]
    status: Option<Status>,
    /// Its result, in at most 500 words; `-` reads it from stdin
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// A file that was created
    #[arg(long, value_name = "FILE")]
    created: Vec<String>,
    /// A file that was modified
    #[arg(long, value_name = "FILE")]
    modified: Vec<String>,
    /// Why it failed
    #[arg(long, value_name = "TEXT")]
    error: Option<String>,
    /// The workflow's current task; an empty one removes it
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Start a new feature or phase even if its name is close to a known one
    #[arg(long)]
    new: bool,
    /// More keys for the phase, as a JSON object
    #[arg(long, value_name = "JSON", value_parser = object)]
    data: Option<Map<String, Value>>,
    #[command(flatten)]
    common: WorkflowCommonArguments,
}

fn status_words() -> [PossibleValue; 5] {
    Status::ALL.map(|status| match status {
        Status::InProgress => PossibleValue::new(status.as_str()).alias("in-progress"),
        _ => PossibleValue::new(status.as_str()),
    })
}

pub(super) fn run(arguments: &PhaseArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let name = arguments.name.name()?;
    let state = arguments.common.state()?;
    arguments.name.must_be_known(&name, &state)?;
    let workflow = state.load(&name)?.workflow;
    let is_new = workflow.is_none();
    let known = KnownPhases::of(&name, workflow.as_ref());
    if !arguments.new {
        if is_new {
            must_not_be_a_slip(&name, &state)?;
        }
        known.must_not_be_a_slip(&arguments.phase)?;
    }
    let summary = match arguments.summary.as_deref() {
        Some("-") => Some(tokens::read(Some(Path::new("-")))?.trim_end().to_owned()),
        other => other.map(ToOwned::to_owned),
    };
    let update = PhaseUpdate {
        status: arguments.status,
        context_summary: summary,
        files_created: arguments.created.clone(),
        files_modified: arguments.modified.clone(),
        error: arguments.error.clone(),
        current_task: arguments.task.clone(),
        other: arguments.data.clone().unwrap_or_default(),
    };
    if let Some(key) = update.other.keys().find(|key| KNOWN_KEYS.contains(&key.as_str())) {
        return Err(CommandError::usage(format!(
            "`{key}` has an option of its own and cannot be in `--data`"
        )));
    }
    let saved = state.update_phase(&name, &arguments.phase, &update, Timestamp::now())?;
    warn(&saved.warnings, printer);
    warn_of_length(&saved.workflow, &arguments.phase, printer);
    let output = output(&name, Some(&saved.path), &saved.workflow, &saved.warnings);
    printer.answer(arguments.common.json, &output, || {
        let file = saved.workflow.file();
        let status = file.phase(&arguments.phase).map(Phase::status_in_words).unwrap_or_default();
        let point = ResumePoint::of(file);
        let next = match point.phase.as_deref() {
            Some(next) if next == arguments.phase => String::new(),
            _ => format!("; {}", next_sentence(&point, false)),
        };
        let (name, phase) = (visible(&name.to_string()), visible(&arguments.phase));
        let new = if is_new { ", new" } else { "" };
        let new_phase = if known.lack(&arguments.phase) { " (new phase)" } else { "" };
        format!("{STRONG}{name}{STRONG:#}{new}: {phase}{new_phase} is {}{next}\n", visible(&status))
    })?;
    if let Some(Status::InProgress | Status::Complete | Status::Failed) = update.status {
        Outside::of(&state, &name, printer).tell_of_phase(&arguments.phase, &saved.workflow);
    }
    Ok(ExitCode::SUCCESS)
}

/// The phases that a workflow has, and those that are usual for its command.
struct KnownPhases(Vec<String>);

impl KnownPhases {
    fn of(name: &Name, workflow: Option<&Workflow>) -> Self {
        let usual = usual_phases(name.command()).unwrap_or_default().iter().map(|phase| (*phase).to_owned());
        let mut phases: Vec<String> = usual.collect();
        if let Some(file) = workflow.map(Workflow::file) {
            phases.extend(file.phases.iter().map(|(phase, _)| phase.clone()));
            phases.extend(file.state.pending_phases.iter().chain(&file.state.completed_phases).cloned());
            phases.extend(file.state.current_phase.clone());
        }
        Self(phases)
    }

    /// Whether a phase is new to a workflow that has others.
    fn lack(&self, phase: &str) -> bool {
        !self.0.is_empty() && !self.0.iter().any(|known| known == phase)
    }

    /// A phase that was mistyped must not be added: the one that was meant would stay open.
    fn must_not_be_a_slip(&self, phase: &str) -> Result<(), CommandError> {
        if !self.lack(phase) {
            return Ok(());
        }
        let Some(near) = near_name(phase, self.0.iter().map(String::as_str)) else { return Ok(()) };
        let (phase, near) = (visible(phase), visible(&near));
        Err(CommandError::refused(format!("no phase `{phase}` is known here, but `{near}` is"))
            .hint(format!("name it `{near}`, or pass `--new` to add another")))
    }
}

/// The known name that was probably meant. Names that differ in a number alone are two names.
fn near_name<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let without_digits = |text: &str| text.replace(|character: char| character.is_ascii_digit(), "");
    text::nearest(given, known.filter(|known| without_digits(known) != without_digits(given)))
}

/// A feature that was mistyped must not become one of its own.
fn must_not_be_a_slip(name: &Name, state: &StateDirectory) -> Result<(), CommandError> {
    let Some(feature) = name.feature() else { return Ok(()) };
    let (listed, _) = state.list()?;
    let known: Vec<Name> = listed.iter().map(Listed::name).collect();
    let features = || known.iter().filter_map(Name::feature);
    if features().any(|known| known == feature) {
        return Ok(());
    }
    let Some(near) = near_name(feature, features()) else { return Ok(()) };
    let (feature, near) = (visible(feature), visible(&near));
    Err(CommandError::refused(format!("no feature `{feature}` is known here, but `{near}` is")).hint(
        format!("name it with `--feature {}`, or pass `--new` to start another", text::shell_word(&near)),
    ))
}

const KNOWN_KEYS: [&str; 7] =
    ["status", "started_at", "updated_at", "context_summary", "files_created", "files_modified", "error"];
