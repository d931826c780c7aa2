//! `checkstone watch`: follows a run that another process runs.

use std::process::ExitCode;
use std::time::Duration;

use run::control;
use run::event::What;
use run::record::Tail;

use crate::error::{CommandError, Warning};
use crate::printer::Printer;
use crate::repository_argument::RepositoryArgument;
use crate::run_display::{self, Display};
use crate::run_project;
use crate::run_storage::FollowedRun;

/// Follow a run live, to its end
///
/// Shows what has happened so far and follows what happens next. Ctrl-C stops watching, never the run. By default
/// the newest run.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone watch
  checkstone watch run-20261115-091500-1a2b --json")]
pub(crate) struct WatchArguments {
    /// The run, or TITLE/RUN
    run: Option<String>,
    /// Print every event as a line of JSON (schemas/run-event.schema.json)
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    repository: RepositoryArgument,
}

const LOOK: Duration = Duration::from_millis(100);

pub(crate) fn run(arguments: &WatchArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let root = run_project::root(&arguments.repository)?;
    let layout = run_project::find(&root, arguments.run.as_deref(), |_| true, "run")?.layout;
    let mut display = Display::new(printer, arguments.json);
    let mut tail = Tail::new(&layout.events());
    let mut followed = FollowedRun::new(&layout)?;
    loop {
        followed.look()?;
        // Asked before reading: what is written until then is read, so that the last event is never missed.
        let goes_on = control::is_taken(&layout);
        for event in tail.new_events()? {
            if let What::RunPlanned { .. } | What::PlanChanged { .. } = &event.what
                && let Ok(plan) = run_project::record(&layout)?.read_plan(layout.root())
            {
                display.know(&plan, &layout);
            }
            display.hear(&event);
        }
        if !goes_on {
            break;
        }
        std::thread::sleep(LOOK);
    }
    display.finish();
    let record = run_project::record(&layout)?;
    if record.state == run::state::RunState::InProgress {
        printer.warning(
            Warning::new(format!("`{}` is no longer running: its supervisor is gone", layout.run()))
                .hint(run_project::hint_at_resume(layout.run())),
        );
    }
    if !arguments.json
        && let Ok(plan) = record.read_plan(layout.root())
    {
        printer.text(&run_display::summary(&record, &plan, &layout, printer.width()));
    }
    Ok(ExitCode::SUCCESS)
}
