//! `checkstone abort`: ends a run, or one stage of it, from another terminal.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use checkpoint::layout::Layout;
use run::control;
use run::engine;
use run::event::What;
use run::hold;
use run::output::AbortOutput;
use run::record::Tail;
use run::runs;
use run::state::StageState;

use crate::error::{CommandError, ErrorKind, Warning};
use crate::printer::Printer;
use crate::repository_argument::RepositoryArgument;
use crate::run_project::{self, Index};

/// Abort a run, or one stage of it
///
/// What runs is asked to stop, then killed; an emergency checkpoint keeps its work so far. A second `abort` kills
/// at once. `checkstone resume` continues the run later.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone abort
  checkstone abort run-20261115-091500-1a2b
  checkstone abort run-20261115-091500-1a2b S03_train_model
  checkstone abort --json | jq -r .state")]
pub(crate) struct AbortArguments {
    /// The run, or TITLE/RUN; by default the one that is running
    run: Option<String>,
    /// Only this stage; the rest continues as far as it can without it
    stage: Option<String>,
    #[command(flatten)]
    repository: RepositoryArgument,
    /// Print JSON (schemas/abort.schema.json)
    #[arg(long)]
    json: bool,
}

/// The escalation takes half a minute at most.
const LONGEST: Duration = Duration::from_secs(60);
/// Whoever is alive sees a request much sooner.
const SOON: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(50);

pub(crate) fn run(arguments: &AbortArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let root = run_project::root(&arguments.repository)?;
    let layout = match &arguments.run {
        Some(name) => run_project::find(&root, Some(name), |_| true, "run")?.layout,
        None => the_running_one(&root)?,
    };
    let stage = arguments.stage.as_deref();
    if !control::is_taken(&layout) {
        return abort_lost(arguments, &root, &layout, printer);
    }
    if let Some(owner) = hold::distant_owner(&layout) {
        return Err(CommandError::refused(format!("`{}` is being run by {owner}", layout.run()))
            .hint("run `checkstone abort` on that host"));
    }
    if let Some(stage) = stage
        && !run_project::record(&layout)?.stage(stage).state.is_live()
    {
        return Err(CommandError::not_found(format!("`{stage}` is not running"))
            .hint(format!("`checkstone watch {}` shows what is", text::shell_word(layout.run()))));
    }
    let mut supervisor = Supervisor::of(&layout);
    control::request_abort(&layout, stage)
        .map_err(|error| CommandError::of(ErrorKind::Failed, &error).hint_at_room(&error, "try again"))?;
    let began = Instant::now();
    let mut has_warned = false;
    while began.elapsed() < LONGEST {
        if began.elapsed() > SOON && !has_warned && !supervisor.has_reacted() {
            has_warned = true;
            let seconds = SOON.as_secs();
            let told = format!("`{}` has not reacted for {seconds} s; it is waited for", layout.run());
            printer.warning(supervisor.hints().into_iter().fold(Warning::new(told), Warning::hint));
        }
        let goes_on = control::is_taken(&layout);
        if !goes_on || stage.map_or(Ok(false), |stage| is_over(&layout, stage))? {
            let record = run_project::record(&layout)?;
            let state = match stage {
                Some(stage) => record.stage(stage).state.name(),
                None => record.state.name(),
            };
            return answer(arguments, &layout, state, printer);
        }
        std::thread::sleep(LOOK);
    }
    let told = CommandError::failed(format!("`{}` did not end within {} s", layout.run(), LONGEST.as_secs()));
    Err(match supervisor.has_reacted() {
        true => told.hint("run `checkstone abort` again to force it"),
        false => supervisor.hints().into_iter().fold(told, CommandError::hint),
    })
}

/// The process that runs the run, as its record shows it.
struct Supervisor {
    events: Tail,
    process: Option<u32>,
    has_reacted: bool,
}

impl Supervisor {
    /// Before it is asked for anything.
    fn of(layout: &Layout) -> Self {
        let mut supervisor = Self { events: Tail::new(&layout.events()), process: None, has_reacted: false };
        supervisor.look();
        supervisor.has_reacted = false;
        supervisor
    }

    fn look(&mut self) {
        // A record that cannot be read says nothing.
        for event in self.events.new_events().unwrap_or_default() {
            match event.what {
                What::RunTaken { process, .. } => self.process = Some(process),
                What::AbortRequested { .. } => self.has_reacted = true,
                _ => {}
            }
        }
    }

    fn has_reacted(&mut self) -> bool {
        self.look();
        self.has_reacted
    }

    /// One that is stopped hears nothing. If it is killed, what it started ends with it.
    fn hints(&self) -> Vec<String> {
        let of_process = |process: u32| {
            vec![
                format!("if it is suspended, `kill -CONT {process}` lets it go on and abort"),
                format!("`kill -KILL {process}` ends it with all that it started"),
            ]
        };
        self.process.map(of_process).unwrap_or_default()
    }
}

fn answer(
    arguments: &AbortArguments,
    layout: &Layout,
    state: &str,
    printer: &Printer,
) -> Result<ExitCode, CommandError> {
    let stage = arguments.stage.as_deref();
    let output = AbortOutput { title: layout.title(), run: layout.run(), stage, state };
    printer.answer(arguments.json, &output, || match stage {
        Some(stage) => format!("{stage} {state}\n"),
        None => format!("run {} {state}\n", layout.run()),
    })
}

/// Of several nobody can say which one is meant.
fn the_running_one(root: &Path) -> Result<Layout, CommandError> {
    let mut running: Vec<Layout> =
        (runs::all(root).into_iter().map(|run| run.layout)).filter(control::is_taken).collect();
    if running.len() > 1 {
        let names: Vec<String> =
            running.iter().map(|layout| format!("`{}/{}`", layout.title(), layout.run())).collect();
        return Err(
            CommandError::usage("several runs are running").hint(format!("name one of {}", names.join(", ")))
        );
    }
    running.pop().ok_or_else(|| {
        CommandError::not_found(format!("no run is running in `{}`", root.display()))
            .hint("`checkstone run --list` lists the runs there are")
    })
}

/// Whether its state is one to stay in: right after the interrupt comes what it makes of the stage.
fn is_over(layout: &Layout, stage: &str) -> Result<bool, CommandError> {
    let state = run_project::record(layout)?.stage(stage).state;
    Ok(!state.is_live() && state != StageState::Interrupted)
}

/// Nobody runs it: what its supervisor left behind is ended, and the record says so.
fn abort_lost(
    arguments: &AbortArguments,
    root: &Path,
    layout: &Layout,
    printer: &Printer,
) -> Result<ExitCode, CommandError> {
    if let Some(stage) = &arguments.stage {
        return Err(CommandError::not_found(format!(
            "`{}` is not running, so `{stage}` is not",
            layout.run()
        )));
    }
    let mut index = Index::new(root, layout);
    let settings = run_project::settings(root, 1, &[])?;
    let state = engine::abort_lost(layout, &settings, &mut |event| index.hear(event, printer))
        .map_err(|error| run_project::engine_error(error, layout.run()))?;
    answer(arguments, layout, state.name(), printer)
}
