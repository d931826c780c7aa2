//! `checkstone resume`: goes on with a run exactly where it stopped.

use std::process::ExitCode;

use checkpoint::layout::Layout;
use run::engine;
use run::outlook;
use run::record::Record;

use crate::error::CommandError;
use crate::printer::Printer;
use crate::repository_argument::RepositoryArgument;
use crate::run_display;
use crate::run_project::{self, ParameterArguments, ResourceArguments};

/// Go on with a run that was interrupted, failed or aborted
///
/// Without RUN the newest run of this project that is not complete. Stages that completed are not run again where
/// their command, inputs and outputs are unchanged; outputs that are missing are brought back from the checkpoints. A
/// stage that was interrupted runs again. The plan file counts as it is now; parameters keep the values they were set
/// to. Exit codes as with `checkstone run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone resume
  checkstone resume run-20261115-091500-1a2b --jobs 4
  checkstone resume --dry-run     # what would run, and why
  checkstone resume --again S03_train_model")]
pub(crate) struct ResumeArguments {
    /// The run, or TITLE/RUN
    run: Option<String>,
    /// How many stages may run at once
    #[arg(long, short, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: u16,
    /// Run this stage again, even where it completed or is not retryable; may be given several times
    #[arg(long, value_name = "STAGE")]
    again: Vec<String>,
    /// Load what a checkpoint from elsewhere holds into the Python session, also where that can run code
    #[arg(long)]
    trust: bool,
    /// Take the plan as it was recorded, whatever the plan file says now
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
    let layout = run_project::find(&root, name, run_project::is_resumable, "run that can be resumed")?.layout;
    let run_name = layout.run().to_owned();
    // A record says what to run. One that came with a copied repository is run only by somebody who names it.
    if name.is_none() && !run_project::is_known(&root, &layout) {
        return Err(CommandError::refused(format!("the newest run, `{run_name}`, was not started here"))
            .hint(format!("check its plan, then name it to run it: `checkstone resume {run_name}`")));
    }
    let record = run_project::record(&layout)?;
    let plan = plan(&layout, &record, arguments, printer)?;
    if arguments.dry_run {
        let outlook = outlook::of_resume(&plan.plan, &layout, &record, &arguments.again);
        return run_display::outlook(outlook, arguments.json, printer);
    }
    let mut settings = run_project::settings(usize::from(arguments.jobs), &arguments.again)?;
    settings.is_trusted = arguments.trust;
    settings.resources = Some(arguments.resources.read(&plan.plan)?);
    if !arguments.json {
        printer.progress(&format!("run {run_name} of {}", layout.title()));
    }
    run_display::shown(printer, arguments.json, &root, &layout, plan, |plan, hear| {
        engine::resume(&layout, plan, &settings, hear)
    })
}

/// The plan file as it is now, where it is still there; else as it was recorded, which is told.
fn plan(
    layout: &Layout,
    record: &Record,
    arguments: &ResumeArguments,
    printer: &Printer,
) -> Result<engine::PlanText, CommandError> {
    let mut set = record.set_parameters();
    set.extend(arguments.parameters.read()?);
    let file = record.plan_file.clone().filter(|file| {
        let stays = std::path::Path::new(file)
            .components()
            .all(|component| matches!(component, std::path::Component::Normal(_)));
        !arguments.recorded_plan && stays && layout.root().join(file).is_file()
    });
    let Some(file) = file else {
        if !arguments.recorded_plan && !arguments.json {
            let why = match &record.plan_file {
                Some(file) => format!("there is no plan file `{file}` in the project any more"),
                None => "the plan file lies outside the project".to_owned(),
            };
            printer.progress(&format!("{why}; the plan is taken as it was recorded"));
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
