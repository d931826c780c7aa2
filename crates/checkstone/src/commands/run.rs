//! `checkstone run`: runs the stages of a plan, or writes a plan to begin with.

mod prune;

use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use checkpoint::layout::{Layout, REPORTS, Segment};
use files::{Links, atomic_file, regular_file};
use jiff::Timestamp;
use run::control;
use run::engine;
use run::graph::Graph;
use run::needs;
use run::outlook::{self, Would};
use run::output::{ListedRun, RunListOutput};
use run::plan::{Plan, TEMPLATES, Template};
use run::record::Record;
use run::runs;
use text::{Column, Table, counted, shell_word};
use transcript::visible;

use crate::confirmation;
use crate::detached_run;
use crate::environment;
use crate::error::{CommandError, ErrorKind, Warning};
use crate::printer::{Printer, STRONG};
use crate::repository_argument::RepositoryArgument;
use crate::run_display;
use crate::run_project::{self, ExecutionArguments, ParameterArguments, ResourceArguments};
use crate::run_storage;

/// Run the stages of a plan, each bounded, watched and checkpointed
///
/// The plan is a TOML file, `plan.toml` by default; every mistake in it is reported before anything runs. What an earlier run
/// of the same title made with the same command and inputs is reused. A stage that exceeds its time limit is interrupted,
/// with an emergency checkpoint of its work so far. Ctrl-C aborts the run, a second Ctrl-C forces it. Whatever happens,
/// `checkstone resume` continues it. Exit code: 0 every stage completed, 1 not all did, 130 the run was aborted, 2 it could
/// not be run.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone run --new pipeline   # write plan.toml, a plan that works
  checkstone run                  # runs plan.toml
  checkstone run other.toml --jobs 4
  checkstone run --on slurm       # each stage as a job of the cluster
  checkstone run --set lr=0.01 --set seeds=[1,2,3]
  checkstone run --dry-run        # what would run, and why
  checkstone run --graph          # --graph=plan.svg writes a picture
  checkstone run --list
  checkstone run --detach         # `checkstone watch` follows it
  checkstone run --prune --keep 3 --dry-run
  checkstone run plan.toml --json | jq -c 'select(.event == \"stage-state\")'")]
pub(crate) struct RunArguments {
    /// The plan, or with --new the file to write; plan.toml by default
    plan: Option<PathBuf>,
    /// Write a plan of this kind, and run nothing: pipeline; with Python, ipykernel and pandas: research, load, explore, train, evaluate
    #[arg(long, value_name = "KIND", conflicts_with_all = ["jobs", "id", "check", "json"])]
    new: Option<String>,
    /// Only check the plan, and whether the programs and Python modules that it needs are here
    #[arg(long, conflicts_with_all = ["jobs", "id", "json"])]
    check: bool,
    /// Show what would run and why, and run nothing
    #[arg(long, conflicts_with_all = ["new", "check", "jobs", "id"])]
    dry_run: bool,
    /// Draw the plan, at the terminal or as a picture into an SVG file, and run nothing
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, conflicts_with_all = ["new", "check", "jobs", "id", "json", "dry_run"])]
    graph: Option<Option<PathBuf>>,
    /// Run every stage, even if an earlier run completed it with the same command and inputs, or began it and it is not retryable
    #[arg(long, conflicts_with_all = ["new", "check"])]
    fresh: bool,
    /// List the runs of this project, the newest first
    #[arg(long, conflicts_with_all = ["new", "check", "jobs", "id", "set", "params", "plan", "dry_run", "fresh", "graph"])]
    list: bool,
    /// Remove old runs with all their results, to free disk space
    #[arg(long, conflicts_with_all = ["new", "check", "jobs", "id", "set", "params", "plan", "fresh", "graph", "list"])]
    prune: bool,
    /// With --prune: keep this many of the newest of each title; 5 by default, none with --older-than
    #[arg(long, value_name = "COUNT", requires = "prune")]
    keep: Option<usize>,
    /// With --prune: remove only those that ended more than this many days ago
    #[arg(long, value_name = "DAYS", requires = "prune")]
    older_than: Option<u32>,
    /// With --prune: do not ask
    #[arg(long, short, requires = "prune")]
    yes: bool,
    #[command(flatten)]
    parameters: ParameterArguments,
    #[command(flatten)]
    resources: ResourceArguments,
    #[command(flatten)]
    execution: ExecutionArguments,
    /// The name of the run; by default one with the time in it
    #[arg(long, value_name = "RUN")]
    id: Option<String>,
    /// Start the run in the background, print its name, and do not wait for it
    #[arg(long, conflicts_with_all = ["new", "check", "dry_run", "graph", "list", "prune"])]
    detach: bool,
    /// Print every event as a line of JSON (schemas/run-event.schema.json)
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    repository: RepositoryArgument,
}

const USUAL_PLAN: &str = "plan.toml";

const LARGEST_IGNORE_FILE: u64 = 1 << 20;

/// The picture of a plan, and how it begins.
const LARGEST_PICTURE: u64 = 64 << 20;
const PICTURE: &[u8] = b"<svg";

pub(crate) fn run(arguments: &RunArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let root = run_project::root_of_plan(&arguments.repository, arguments.plan.as_deref())?;
    if let Some(kind) = &arguments.new {
        return write_plan(kind, arguments.plan.as_deref(), &root, printer);
    }
    if arguments.list {
        return list(&root, arguments.json, printer);
    }
    if arguments.prune {
        return prune::run(arguments, &root, printer);
    }
    let path = &plan_path(arguments, &root)?;
    let text = run_project::plan_text(path).map_err(|error| match error.kind() {
        ErrorKind::Usage => error,
        _ => error.hint("`checkstone run --new pipeline` writes a plan to start from"),
    })?;
    let file = below(&root, path);
    let set = arguments.parameters.read()?;
    let plan = run_project::plan(&path.to_string_lossy(), text, file, &root, &set)?;
    if let Some(file) = &arguments.graph {
        return draw(&plan.plan, file.as_deref(), printer);
    }
    let on = arguments.execution.on(&root, &plan.plan, None)?;
    let resources = arguments.resources.read(&plan.plan, &on)?;
    if arguments.check {
        for warning in &plan.plan.warnings {
            printer.warning(Warning::new(warning));
        }
        if let Err(error) = engine::can_run(&plan.plan) {
            printer.warning(run_project::engine_error(error, ""));
        }
        let needs = needs::look(&plan.plan, &root, &environment::all());
        if !needs.mistakes.0.is_empty() {
            return Err(run_project::unsound("the plan cannot be run", &needs.mistakes));
        }
        let stages = counted(plan.plan.stages.len(), "stage");
        let waiting: Vec<String> = plan.plan.waiting().into_iter().map(|stage| stage.id).collect();
        let later = match waiting.is_empty() {
            true => String::new(),
            false => format!(", and those of {}, which are known only during the run", waiting.join(", ")),
        };
        let left_out = match plan.plan.left_out.as_slice() {
            [] => String::new(),
            ids => format!("; left out: {}", ids.join(", ")),
        };
        printer.text(&format!("`{}` is valid: {stages}{later}{left_out}\n", path.display()));
        for missing in &needs.missing {
            let told = Warning::new(&missing.what);
            printer.warning(missing.hint.iter().fold(told, Warning::hint));
        }
        return Ok(if needs.missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) });
    }
    let id = arguments.id.clone().unwrap_or_else(new_id);
    if id.starts_with('-') {
        return Err(CommandError::usage(format!(
            "a run cannot be called `{id}`: other commands would take that for an option"
        )));
    }
    let layout = Layout::new(&root, &plan.plan.title, &id)?;
    let (earlier_runs, foreign) = match arguments.fresh {
        true => (Vec::new(), Vec::new()),
        false => earlier_runs(&root, &plan.plan.title),
    };
    if arguments.dry_run {
        let known = (!arguments.fresh).then_some(earlier_runs.as_slice());
        let outlook = outlook::of_new_run(&plan.plan, &layout, known, &foreign);
        return run_display::outlook(outlook, arguments.json, printer);
    }
    if arguments.detach {
        return detached_run::start(&layout, arguments.id.is_none(), arguments.json, printer);
    }
    if arguments.id.is_none()
        && let Some(run) = up_to_date(&plan.plan, &earlier_runs)
    {
        let nothing = format!(
            "nothing to run: everything is as run {STRONG}{}{STRONG:#} made it; `--fresh` runs it all again",
            visible(run.run())
        );
        // What is printed as JSON is events of a run, and there is none.
        match arguments.json {
            true => printer.progress_styled(&nothing),
            false => printer.text(&format!("{nothing}\n")),
        }
        return Ok(ExitCode::SUCCESS);
    }
    // Somebody with runs of their own knows whose the others are.
    if let Some(newest) = foreign.first()
        && earlier_runs.is_empty()
        && !arguments.json
    {
        let (name, word) = (visible(newest.run()), shell_word(newest.run()));
        printer.warning(
            Warning::new(format!("run `{name}` was not started here, so nothing of it is reused"))
                .hint(format!("check its plan and its artifacts; `checkstone resume {word}` makes it yours")),
        );
    }
    if let Some(caveat) = supervise::CAVEAT {
        printer.progress(&format!("note: {caveat}"));
    }
    let mut settings = run_project::settings(&root, arguments.execution.jobs(&on), &[])?;
    settings.earlier_runs = (!arguments.fresh).then_some(earlier_runs);
    settings.resources = resources;
    settings.on = on;
    run_display::shown(printer, arguments.json, &root, &layout, plan, |plan, hear| {
        engine::run(&root, plan, &id, &settings, hear)
    })
}

fn draw(plan: &Plan, file: Option<&Path>, printer: &Printer) -> Result<ExitCode, CommandError> {
    let graph = Graph::of(plan);
    let Some(file) = file else {
        printer.text(&graph.lines());
        return Ok(ExitCode::SUCCESS);
    };
    // A picture from before is drawn again; anything else, such as the plan itself, stays.
    match regular_file::read(file, Links::Follow, LARGEST_PICTURE) {
        Ok(bytes) if bytes.starts_with(PICTURE) => {}
        Err(error) if error.is_not_found() => {}
        _ => {
            let shown = file.display();
            return Err(CommandError::refused(format!("`{shown}` is not a picture and is not overwritten"))
                .hint("name another file: `checkstone run --graph=plan.svg`"));
        }
    }
    must_have_folder(file)?;
    atomic_file::write(file, graph.svg().as_bytes(), 0o666)
        .map_err(|error| CommandError::of(ErrorKind::Failed, &error).hint_at_room(&error, "try again"))?;
    printer.text(&format!("wrote `{}`\n", file.display()));
    Ok(ExitCode::SUCCESS)
}

/// Folders are not made for a file that may be mistyped.
fn must_have_folder(file: &Path) -> Result<(), CommandError> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder.filter(|folder| !folder.is_dir()) {
        Some(missing) => Err(CommandError::not_found(format!("there is no folder `{}`", missing.display()))
            .hint(format!("make it first: `mkdir -p {}`", shell_word(&missing.to_string_lossy())))),
        None => Ok(()),
    }
}

/// The runs of a title that this user began, and those that came from somebody else; the newest first.
fn earlier_runs(root: &Path, title: &str) -> (Vec<Layout>, Vec<Layout>) {
    let runs = runs::all(root).into_iter().map(|found| found.layout);
    runs.filter(|layout| layout.title() == title).partition(|layout| run_project::is_known(root, layout))
}

/// The newest run, if it is complete, nothing of it would be run again, and nobody has touched what it made.
fn up_to_date<'r>(plan: &Plan, runs: &'r [Layout]) -> Option<&'r Layout> {
    let newest = runs.first().filter(|layout| !control::is_taken(layout))?;
    let record = Record::read(&newest.events()).ok().filter(|record| !record.is_unfinished())?;
    let outlook = outlook::of_resume(plan, newest, &record, &[], &[]);
    let is_same = record.set == plan.set()
        && outlook.iter().all(|stage| matches!(stage.would, Would::Reuse | Would::LeaveOut));
    (is_same && outlook::has_all_outputs(newest, &record)).then_some(newest)
}

/// The plan that is named, or the one in this folder or at the root of the project.
fn plan_path(arguments: &RunArguments, root: &Path) -> Result<PathBuf, CommandError> {
    if let Some(path) = &arguments.plan {
        return Ok(path.clone());
    }
    let usual = [PathBuf::from(USUAL_PLAN), root.join(USUAL_PLAN)];
    usual.into_iter().find(|path| path.is_file()).ok_or_else(|| {
        CommandError::not_found(format!("there is no `{USUAL_PLAN}` in `{}`", root.display()))
            .hint("name another file: `checkstone run PLAN`")
            .hint("`checkstone run --new pipeline` writes a plan to start from")
    })
}

fn list(root: &Path, json: bool, printer: &Printer) -> Result<ExitCode, CommandError> {
    run_storage::bring_runs(root)?;
    let runs: Vec<ListedRun> = runs::all(root).iter().map(ListedRun::of).collect();
    if json {
        printer.json(&RunListOutput { runs })?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new([(); 6].map(|()| Column::left(0)));
    for run in &runs {
        let done = match run.completed_stages {
            Some(done) => format!("{done} done"),
            None => String::new(),
        };
        table.row([
            visible(&run.run).into(),
            visible(&run.title).into(),
            run.state.as_str().into(),
            done.into(),
            run.changed_at_in_words().into(),
            visible(&run.set.join(", ")).into(),
        ]);
    }
    printer.text(&table.lines(printer.width()));
    Ok(ExitCode::SUCCESS)
}

/// The time for people, and something that nobody else has.
fn new_id() -> String {
    let unique = files::random_id();
    format!("run-{}-{}", Timestamp::now().strftime("%Y%m%d-%H%M%S"), text::head(&unique, 4))
}

/// The path below the root, where it is.
fn below(root: &Path, path: &Path) -> Option<String> {
    let root = fs_err::canonicalize(root).ok()?;
    let path = fs_err::canonicalize(path).ok()?;
    Some(path.strip_prefix(root).ok()?.to_str()?.to_owned())
}

fn write_plan(
    kind: &str,
    path: Option<&Path>,
    root: &Path,
    printer: &Printer,
) -> Result<ExitCode, CommandError> {
    let path = path.unwrap_or(Path::new(USUAL_PLAN));
    let title = title(root, kind);
    let Some(template) = Template::of_kind(kind) else {
        let told = CommandError::usage(format!("there is no kind of plan called `{kind}`"));
        let known = TEMPLATES.iter().map(|known| format!("{}: needs {}", known.kind, known.needs));
        return Err(known.fold(told, CommandError::hint));
    };
    must_have_folder(path)?;
    let text = template.text(&title);
    let written = regular_file::append_to_new(path, 0o666)
        .map_err(io::Error::from)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            CommandError::refused(format!("`{}` already exists and is not overwritten", path.display()))
                .hint(format!("name another file: `checkstone run --new {kind} other.toml`"))
        }
        _ => error.into(),
    })?;
    let shown = path.display();
    printer.text(&format!(
        "wrote `{shown}`; it needs {}\ncheck that with `checkstone run --check {shown}`, run it with `checkstone run {shown}`\n",
        template.needs
    ));
    offer_to_ignore(root, printer)?;
    Ok(ExitCode::SUCCESS)
}

/// What runs make is large and can be made again: git need not have it, if the person agrees.
fn offer_to_ignore(root: &Path, printer: &Printer) -> Result<(), CommandError> {
    let file = root.join(".gitignore");
    let existing = match regular_file::read(&file, Links::Follow, LARGEST_IGNORE_FILE) {
        Ok(bytes) => bytes,
        Err(error) if error.is_not_found() => Vec::new(),
        // Whatever is in the way is not ours to mend.
        Err(_) => return Ok(()),
    };
    let text = String::from_utf8_lossy(&existing);
    let is_ignored = text.lines().any(|line| line.trim().trim_matches('/') == REPORTS);
    if is_ignored || !root.join(".git").exists() {
        return Ok(());
    }
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        printer.progress(&format!(
            "runs write into `{REPORTS}/`; to keep that out of git: `echo {REPORTS}/ >> .gitignore`"
        ));
        return Ok(());
    }
    if confirmation::confirmed(&format!("Runs write into `{REPORTS}/`. Add it to `.gitignore`?"))? {
        let mut new = existing;
        if !new.is_empty() && !new.ends_with(b"\n") {
            new.push(b'\n');
        }
        new.extend(format!("{REPORTS}/\n").bytes());
        atomic_file::write(&file, &new, 0o666)
            .map_err(|error| CommandError::of(ErrorKind::Failed, &error).hint_at_room(&error, "try again"))?;
    }
    Ok(())
}

/// The folder's own name, where it can be a title and needs no quoting; else the kind.
fn title(root: &Path, kind: &str) -> String {
    let name = root.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
    match Segment::visible("report title", name) {
        Ok(segment) if is_plain => segment.as_str().to_owned(),
        _ => kind.to_owned(),
    }
}
