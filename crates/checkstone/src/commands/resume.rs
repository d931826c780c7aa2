//! `checkstone resume`: goes on with a run exactly where it stopped.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::Path;
use std::process::ExitCode;

use checkpoint::Depth;
use checkpoint::layout::Layout;
use run::engine;
use run::hold::{self, TakeError};
use run::outlook::{self, Would};
use run::plan::Plan;
use run::record::{Record, StageRecord};
use run::runs::{self, FoundRun};
use run::state::StageState;
use text::{counted, shell_word};
use transcript::visible;

use crate::confirmation;
use crate::environment;
use crate::error::CommandError;
use crate::printer::{Printer, STRONG};
use crate::repository_argument::RepositoryArgument;
use crate::run_display;
use crate::run_project::{self, ExecutionArguments, ParameterArguments, ResourceArguments};
use crate::run_storage;

/// So many stages are named before a person is asked.
const MOST_STAGES: usize = 10;

/// Resume a run that was interrupted, failed or aborted
///
/// By default the newest run of this project that is not complete, or the newest of all if something in it has changed since. At a terminal it shows
/// what it found, and asks. Completed stages are not run again if their
/// command, inputs and outputs are unchanged; missing outputs are restored from the checkpoints. A stage that was
/// interrupted runs again. The plan file is used as it is now; parameters keep the values they were set to. Exit codes as for
/// `checkstone run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone resume
  checkstone resume run-20261115-091500-1a2b --jobs 4
  checkstone resume --dry-run     # what would run, and why
  checkstone resume --again S03_train_model")]
pub(crate) struct ResumeArguments {
    /// The run, or TITLE/RUN
    run: Option<String>,
    #[command(flatten)]
    execution: ExecutionArguments,
    /// Run this stage again, even if it completed or is not retryable; may be given several times
    #[arg(long, value_name = "STAGE")]
    again: Vec<String>,
    /// Load the contents of a checkpoint from elsewhere into the Python session, even if that can run code
    #[arg(long)]
    trust: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Use the recorded plan instead of the plan file
    #[arg(long)]
    recorded_plan: bool,
    /// Show what would run and why, and run nothing
    #[arg(long, conflicts_with = "jobs")]
    dry_run: bool,
    #[command(flatten)]
    parameters: ParameterArguments,
    #[command(flatten)]
    resources: ResourceArguments,
    /// Print every event as a line of JSON (schemas/run-event.schema.json)
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    repository: RepositoryArgument,
}

pub(crate) fn run(arguments: &ResumeArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let root = run_project::root(&arguments.repository)?;
    let name = arguments.run.as_deref();
    let set = arguments.parameters.read()?;
    let is_resumable = |found: &FoundRun| run_project::is_resumable(found, &arguments.again, &set);
    let layout = match run_project::find(&root, name, is_resumable, "run that can be resumed") {
        Err(error) if name.is_none() => run_project::running(&root).ok_or_else(|| unchanged(error, &root))?,
        resumable => resumable?.layout,
    };
    let run_name = layout.run().to_owned();
    // A record says what to run. One that came with a copied repository is run only by somebody who names it.
    if name.is_none() && !run_project::is_known(&root, &layout) {
        return Err(CommandError::refused(format!("the newest run, `{run_name}`, was not started here"))
            .hint(format!(
                "check its plan, then name it to run it: `checkstone resume {}`",
                shell_word(&run_name)
            )));
    }
    let record = run_project::record(&layout)?;
    let hold = run_storage::hold(&root)?;
    if !arguments.dry_run && matches!(hold::take(&layout, &hold), Err(TakeError::Busy { .. })) {
        return Err(run_project::is_running(&layout, &record));
    }
    let plan = plan(&layout, &record, arguments, printer)?;
    // Only of what must not be repeated do other runs matter.
    let others = match plan.plan.has_once_only() {
        true => run_project::others_of_title(&layout),
        false => Vec::new(),
    };
    if arguments.dry_run {
        let outlook = outlook::of_resume(&plan.plan, &layout, &record, &arguments.again, &others);
        return run_display::outlook(outlook, arguments.json, printer);
    }
    // Some agents have a terminal for their shell, and nobody sits at it.
    let is_person = std::io::stdin().is_terminal() && !environment::is_called_by_agent();
    if is_person && !arguments.yes && !arguments.json {
        printer.progress_styled(&found(&layout, &record, &plan.plan, &arguments.again, &others));
        if !confirmation::confirmed("Resume it?")? {
            return Ok(ExitCode::FAILURE);
        }
    }
    let on = arguments.execution.on(&root, &plan.plan, Some(&record))?;
    let mut settings = run_project::settings(&root, arguments.execution.jobs(&on), &arguments.again)?;
    settings.earlier_runs = Some(others);
    settings.is_trusted = arguments.trust;
    settings.resources = arguments.resources.read(&plan.plan, &on)?;
    settings.on = on;
    if !arguments.json {
        printer.progress(&format!("run {run_name} of {}", layout.title()));
    }
    run_display::shown(printer, arguments.json, &root, &layout, plan, |plan, hear| {
        engine::resume(&layout, plan, &settings, hear)
    })
}

/// With why the run that a person most likely means is none of those that can be resumed.
fn unchanged(error: CommandError, root: &Path) -> CommandError {
    let newest = runs::all(root).into_iter().next().map(|newest| newest.layout);
    let is_complete =
        |layout: &Layout| Record::read(&layout.events()).is_ok_and(|record| !record.is_unfinished());
    match newest.filter(is_complete) {
        Some(layout) => error.hint(format!(
            "run `{}` is complete, and nothing in it has changed; `--again STAGE` runs a stage of it again",
            visible(layout.run())
        )),
        None => error,
    }
}

/// What there is to go on from, and what that would run.
fn found(layout: &Layout, record: &Record, plan: &Plan, again: &[String], others: &[Layout]) -> String {
    let (title, run) = (visible(layout.title()), visible(layout.run()));
    let is_completed = |stage: &&StageRecord| stage.state == StageState::Completed;
    let completed = record.stages.values().filter(is_completed).count();
    let stages = counted(plan.stages.len(), "stage");
    let mut text = format!(
        "run {STRONG}{run}{STRONG:#} of {title}: {}, {completed} of {stages} completed",
        record.state.name()
    );
    let search = checkpoint::last_valid(layout.root(), layout.title(), Some(layout.run()), Depth::Quick);
    let usable = search.ok().and_then(|search| search.checkpoint);
    let _ = match (usable, run::last_executed_cell(layout)) {
        (Some(usable), _) => {
            let manifest = &usable.sealed.manifest;
            let (id, stage, at) = (&usable.id, &manifest.stage_id, &manifest.created_at);
            let [id, stage, at] = [id, stage, at].map(|text| visible(text));
            writeln!(text, "\ncheckpoint: {id} of {stage}, {}, {at}", manifest.standing())
        }
        (None, Some(cell)) => {
            writeln!(text, "\ncheckpoint: none that is valid; last executed: {cell}")
        }
        (None, None) => writeln!(text, "\ncheckpoint: none that is valid"),
    };
    let outlook = outlook::of_resume(plan, layout, record, again, others);
    let named = |would: Would| {
        let stages: Vec<String> = outlook
            .iter()
            .filter(|stage| stage.would == would)
            .map(|stage| visible(&stage.stage_id))
            .collect();
        let shown = stages.get(..MOST_STAGES).unwrap_or(&stages).join(", ");
        match stages.len().saturating_sub(MOST_STAGES) {
            0 => shown,
            more => format!("{shown} and {more} more"),
        }
    };
    text.push_str("to run: ");
    text.push_str(&match (named(Would::Run), named(Would::Maybe)) {
        (run, maybe) if run.is_empty() && maybe.is_empty() => "nothing".to_owned(),
        (run, maybe) if maybe.is_empty() => run,
        (run, maybe) if run.is_empty() => format!("perhaps {maybe}"),
        (run, maybe) => format!("{run}; perhaps {maybe}"),
    });
    text
}

/// The plan file as it is now, where it is still there; else as it was recorded, which is told.
fn plan(
    layout: &Layout,
    record: &Record,
    arguments: &ResumeArguments,
    printer: &Printer,
) -> Result<engine::PlanText, CommandError> {
    let given = arguments.parameters.read()?;
    let is_given = |name: &&str| given.iter().any(|set| set.name() == *name);
    if let Some(name) = record.withheld_parameters().find(|name| !is_given(name)) {
        let why =
            format!("the value of `{name}` was not recorded: it contains a secret from the environment");
        return Err(CommandError::usage(why).hint(format!("pass it again: `--set {name}=VALUE`")));
    }
    let mut set = record.set_parameters();
    set.extend(given);
    let file = run_project::plan_file(layout, record).filter(|_| !arguments.recorded_plan);
    let Some(file) = file else {
        if !arguments.recorded_plan && !arguments.json {
            let why = match &record.plan_file {
                Some(file) => format!("the plan file `{file}` is no longer in the project"),
                None => "the plan file is outside the project".to_owned(),
            };
            printer.progress(&format!("{why}; the recorded plan is used"));
        }
        if record.has_gaps() {
            let why = "the recorded plan cannot be run: values of it are secrets, and were not recorded";
            return Err(CommandError::refused(why).hint("resume it with its plan file"));
        }
        return run_project::plan("the recorded plan", record.plan.clone(), None, layout.root(), &set);
    };
    let text = run_project::plan_text(&layout.root().join(&file))?;
    let is_changed = text != record.plan;
    run_project::plan(&file, text, Some(file.clone()), layout.root(), &set).map_err(|error| {
        if is_changed {
            error.hint("`--recorded-plan` uses the plan that the run was started with")
        } else {
            error
        }
    })
}
