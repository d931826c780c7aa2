//! The project that a run belongs to, and the run that a person names.

use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use changes::Repository;
use checkpoint::layout::{Layout, NameError};
use jiff::Timestamp;
use run::control;
use run::engine::{EngineError, PlanText, Settings};
use run::event::{Event, What};
use run::executor::ExecutorChoice;
use run::executor::slurm::SlurmSettings;
use run::fingerprint;
use run::hold::HoldError;
use run::outlook::{self, Would};
use run::plan::{ExchangeBy, Plan, Problems, Resources, SetParameter};
use run::record::{self, Record, RecordError};
use run::runs::{self, FoundRun};
use run::state::RunState;
use text::shell_word;

use crate::environment;
use crate::error::{CommandError, ErrorKind};
use crate::journal_access;
use crate::own_program::OwnProgram;
use crate::printer::Printer;
use crate::repository_argument::RepositoryArgument;
use crate::run_storage;

/// So many mistakes of a plan are told at once.
const MOST_PROBLEMS: usize = 50;

/// The root of the repository, or the folder itself where there is none.
pub(crate) fn root(argument: &RepositoryArgument) -> Result<PathBuf, CommandError> {
    let folder = argument.folder()?;
    Ok(Repository::discover(&folder).map_or(folder, |repository| repository.root))
}

/// As `root`; outside a repository, the folder of the plan, or the root of the repository that has it.
pub(crate) fn root_of_plan(
    argument: &RepositoryArgument,
    plan: Option<&Path>,
) -> Result<PathBuf, CommandError> {
    let folder = argument.folder()?;
    let is_outside = !argument.is_given() && Repository::discover(&folder).is_err();
    let of_plan = plan.filter(|_| is_outside).and_then(|plan| fs_err::canonicalize(plan).ok());
    match of_plan.as_deref().and_then(Path::parent) {
        Some(parent) => Ok(Repository::discover(parent).map_or(parent.to_owned(), |found| found.root)),
        None => root(argument),
    }
}

const HOW_TO_START: &str =
    "`checkstone run PLAN` starts one; `checkstone run --new pipeline` writes a plan to start from";

/// The run of this name, or where none is named the newest that `is_wanted`.
pub(crate) fn find(
    root: &Path,
    name: Option<&str>,
    is_wanted: impl Fn(&FoundRun) -> bool,
    wanted: &str,
) -> Result<FoundRun, CommandError> {
    run_storage::bring_runs(root)?;
    let Some(name) = name else {
        return runs::all(root).into_iter().find(is_wanted).ok_or_else(|| {
            CommandError::not_found(format!("there is no {wanted} in `{}`", root.display()))
                .hint(HOW_TO_START)
        });
    };
    let mut found = runs::named(root, name);
    if found.len() > 1 {
        let names: Vec<String> =
            found.iter().map(|run| format!("`{}/{}`", run.layout.title(), run.layout.run())).collect();
        return Err(CommandError::usage(format!("several runs are called `{name}`"))
            .hint(format!("name one of {}", names.join(", "))));
    }
    found.pop().ok_or_else(|| {
        let known: Vec<String> =
            runs::all(root).iter().take(5).map(|run| format!("`{}`", run.layout.run())).collect();
        let told = CommandError::not_found(format!("there is no run `{name}` in `{}`", root.display()));
        told.hint(match known.is_empty() {
            true => HOW_TO_START.to_owned(),
            false => format!("the newest are {}", known.join(", ")),
        })
    })
}

/// What of a run can be gone on with: it is not complete, or it is the newest of its title and something of it would be run again, as
/// it is if stages are wanted again; and nobody has it in hand. An older one that is complete is the result of what was asked then.
/// `set` are parameters that get other values.
pub(crate) fn is_resumable(found: &FoundRun, again: &[String], set: &[SetParameter]) -> bool {
    let is_newest = || {
        let (title, run) = (found.layout.title(), found.layout.run());
        let newest = runs::all(found.layout.root()).into_iter().find(|run| run.layout.title() == title);
        newest.is_some_and(|newest| newest.layout.run() == run)
    };
    let is_wanted = |record: Record| {
        record.is_unfinished()
            || (is_newest() && (!again.is_empty() || is_changed(&found.layout, &record, set)))
    };
    Record::read(&found.layout.events()).is_ok_and(is_wanted) && !control::is_taken(&found.layout)
}

/// The other runs of its title that were begun here, the newest first.
pub(crate) fn others_of_title(layout: &Layout) -> Vec<Layout> {
    let all = runs::all(layout.root()).into_iter().map(|found| found.layout);
    let others = all.filter(|other| other.title() == layout.title() && other.run() != layout.run());
    others.filter(|other| is_known(layout.root(), other)).collect()
}

/// The newest run that somebody has in hand.
pub(crate) fn running(root: &Path) -> Option<Layout> {
    runs::all(root).into_iter().map(|found| found.layout).find(control::is_taken)
}

/// Why nothing can be done with a run that somebody has in hand.
pub(crate) fn is_running(layout: &Layout, record: &Record) -> CommandError {
    let (title, run) = (layout.title(), layout.run());
    let since = record.taken_at.strftime("%Y-%m-%d %H:%M UTC");
    CommandError::refused(format!("run `{run}` of {title} has been running since {since}"))
        .hint(hint_at_running(run))
}

fn is_changed(layout: &Layout, record: &Record, set: &[SetParameter]) -> bool {
    let Some(file) = plan_file(layout, record) else { return false };
    let Ok(text) = plan_text(&layout.root().join(&file)) else { return false };
    if record.is_of_other_plan(&text, &environment::all(), autosave::secrets::is_secret_variable) {
        return true;
    }
    let mut values = record.set_parameters();
    values.extend(set.iter().cloned());
    let plan = Plan::read_with(&file, &text, layout.root(), &values);
    let would_run = |plan: Plan| {
        let stages = outlook::of_resume(&plan, layout, record, &[], &[]);
        stages.iter().any(|stage| matches!(stage.would, Would::Run | Would::Maybe))
    };
    // What is wrong with a value is told when the run is gone on with.
    plan.map_or(!set.is_empty(), would_run)
}

/// The file that the plan of a run was read from, below the root, where it is still there.
pub(crate) fn plan_file(layout: &Layout, record: &Record) -> Option<String> {
    let is_normal = |component: Component<'_>| matches!(component, Component::Normal(_));
    let stays = |file: &String| Path::new(file).components().all(is_normal);
    record.plan_file.clone().filter(|file| stays(file) && layout.root().join(file).is_file())
}

pub(crate) fn record(layout: &Layout) -> Result<Record, CommandError> {
    Record::read(&layout.events()).map_err(CommandError::from)
}

impl From<RecordError> for CommandError {
    fn from(error: RecordError) -> Self {
        let kind = match &error {
            RecordError::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                ErrorKind::NotFound
            }
            RecordError::Newer { .. } => ErrorKind::Environment,
            _ => ErrorKind::Failed,
        };
        let told = Self::of(kind, &error);
        match error {
            RecordError::Damaged { .. } => told
                .hint("restore it from git or a backup, or start a new run: `checkstone run PLAN`")
                .hint("published artifacts and checkpoints of the run are not affected"),
            _ => told.hint_at_room(&error, "try again"),
        }
    }
}

impl From<NameError> for CommandError {
    fn from(error: NameError) -> Self {
        Self::of(ErrorKind::Usage, &error)
    }
}

fn hint_at_running(run: &str) -> String {
    let run = shell_word(run);
    format!("`checkstone watch {run}` follows it; `checkstone abort {run}` ends it")
}

pub(crate) fn hint_at_resume(run: &str) -> String {
    format!("`checkstone resume {}` continues it", shell_word(run))
}

/// The engine does not know the run by the name that a person types.
pub(crate) fn engine_error(error: EngineError, run: &str) -> CommandError {
    let kind = match &error {
        EngineError::Plan(_)
        | EngineError::Name(_)
        | EngineError::Reserved { .. }
        | EngineError::OtherTitle { .. } => ErrorKind::Usage,
        EngineError::NoStage { .. } => ErrorKind::NotFound,
        EngineError::Exists { .. } | EngineError::Busy { .. } => ErrorKind::Refused,
        EngineError::NoPython { .. }
        | EngineError::NoSlurm(_)
        | EngineError::EndJobs(_)
        | EngineError::Unreachable { .. } => ErrorKind::Environment,
        _ => ErrorKind::Failed,
    };
    let told = CommandError::of(kind, &error);
    match error {
        EngineError::Exists { .. } => told.hint(hint_at_resume(run)),
        EngineError::Busy { .. } => told.hint(hint_at_running(run)),
        EngineError::OtherTitle { .. } => {
            told.hint("`--recorded-plan` uses the plan that the run was started with")
        }
        EngineError::Record(RecordError::Hold(HoldError::Lost { .. })) => told.hint(hint_at_running(run)),
        EngineError::NoPython { .. } => told
            .hint("install one that can: `cargo install --locked --path crates/checkstone --features full`"),
        EngineError::NoSlurm(_) => told
            .hint("run it on a machine of the cluster, such as its login node; `module load slurm` may be needed")
            .hint("`--on local` runs the stages here"),
        EngineError::EndJobs(_) => {
            told.hint(format!("try again when `squeue` answers: `checkstone resume {run}`"))
        }
        EngineError::Unreachable { .. } => {
            told.hint(format!("`checkstone resume {}` adopts the jobs, which continue", shell_word(run)))
        }
        EngineError::Survivors { .. } => told.hint("stop them as their owner, then resume again"),
        EngineError::Record(error @ (RecordError::Write { .. } | RecordError::Broken { .. })) => told
            .hint_at_room(&error, &hint_at_resume(run))
            .hint("everything up to the last recorded event is kept"),
        EngineError::Record(error) => error.into(),
        _ => told.hint_at_room(&error, "try again"),
    }
}

/// What a plan file says.
pub(crate) fn plan_text(path: &Path) -> Result<String, CommandError> {
    text_of("plan", path)
}

/// What a file says that a person wrote: one that has an end, and not a pipe that nobody writes to.
fn text_of(what: &str, path: &Path) -> Result<String, CommandError> {
    let shown = path.display();
    let mut bytes = Vec::new();
    let read = fingerprint::open_regular(path).and_then(|mut file| file.read_to_end(&mut bytes));
    read.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => CommandError::not_found(format!("there is no {what} `{shown}`")),
        _ => CommandError::from(error).context(format!("cannot read the {what} `{shown}`")),
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let whole = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        let line = whole.iter().filter(|byte| **byte == b'\n').count() + 1;
        CommandError::usage(format!("{shown}:{line}: the {what} is not UTF-8 text"))
            .hint("save it as UTF-8; `iconv -f latin1 -t utf-8` converts an older file")
    })
}

/// Reads a plan from a text; all that is wrong with it is one error.
pub(crate) fn plan(
    name: &str,
    text: String,
    file: Option<String>,
    root: &Path,
    set: &[SetParameter],
) -> Result<PlanText, CommandError> {
    let plan = Plan::read_with(name, &text, root, set)
        .map_err(|problems| unsound("the plan cannot be run", &problems))?;
    Ok(PlanText { plan, text, file })
}

pub(crate) fn unsound(what: &str, problems: &Problems) -> CommandError {
    let mut lines: Vec<String> =
        problems.0.iter().take(MOST_PROBLEMS).map(|problem| format!("  {problem}")).collect();
    if problems.0.len() > MOST_PROBLEMS {
        lines.push(format!("  and {} more", problems.0.len() - MOST_PROBLEMS));
    }
    CommandError::usage(format!("{what}:\n{}", lines.join("\n")))
}

/// Values for the parameters of a plan.
#[derive(Debug, clap::Args)]
pub(crate) struct ParameterArguments {
    /// Set a parameter of the plan; may be given several times
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Set the parameters that this TOML file names; --set wins over it
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,
}

/// What the stages that run at once may use together.
#[derive(Debug, clap::Args)]
pub(crate) struct ResourceArguments {
    /// What all stages together may use, for example gpus=2,memory=16G,license=1; by default what the machine has
    #[arg(long, value_name = "NAME=NUMBER", value_delimiter = ',')]
    resources: Vec<String>,
}

impl ResourceArguments {
    /// Refuses a plan with a stage that could never begin. What a cluster has, its scheduler knows.
    pub(crate) fn read(&self, plan: &Plan, on: &ExecutorChoice) -> Result<Option<Resources>, CommandError> {
        if matches!(on, ExecutorChoice::Slurm(_)) {
            return Ok(None);
        }
        let mut resources = Resources::of_machine();
        for argument in &self.resources {
            resources.set(argument).map_err(|error| {
                CommandError::of(ErrorKind::Usage, &error)
                    .hint("write it like `--resources gpus=2,memory=16G`")
            })?;
        }
        plan.check_resources(&resources).map_err(|problems| {
            unsound("the plan cannot be run", &problems)
                .hint("`--resources NAME=NUMBER` sets what is available, if it is more")
        })?;
        Ok(Some(resources))
    }
}

/// Where stages can be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Where {
    /// On this machine
    Local,
    /// As jobs of the Slurm cluster that this machine belongs to
    Slurm,
}

/// Where stages are carried out, and how many of them at once.
#[derive(Debug, clap::Args)]
pub(crate) struct ExecutionArguments {
    /// Where stages run; `resume` continues where the run was last
    #[arg(long, value_name = "WHERE", value_enum)]
    on: Option<Where>,
    /// How many stages may run at once; 1 by default, and 1000 on a cluster
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
}

/// So many jobs are submitted at once, unless the person says otherwise: more would only wait.
const JOBS_OF_CLUSTER: u16 = 1000;

impl ExecutionArguments {
    pub(crate) fn on(
        &self,
        root: &Path,
        plan: &Plan,
        record: Option<&Record>,
    ) -> Result<ExecutorChoice, CommandError> {
        let was_on_cluster =
            || record.is_some_and(|record| record.stages.values().any(|stage| stage.token.is_some()));
        let on = self.on.unwrap_or_else(|| if was_on_cluster() { Where::Slurm } else { Where::Local });
        if on == Where::Local {
            return Ok(ExecutorChoice::Local);
        }
        let file = environment::configuration_file().filter(|file| file.exists());
        let text = file.as_deref().map(plan_text).transpose()?.unwrap_or_default();
        let cluster = plan
            .cluster("config.toml", &text)
            .map_err(|problems| unsound("the settings of the cluster cannot be used", &problems))?;
        let program = OwnProgram::find()?.path.into();
        let exchange = match cluster.exchange {
            ExchangeBy::Folder => None,
            ExchangeBy::Bucket => Some(run_storage::exchange(root)?),
        };
        Ok(ExecutorChoice::Slurm(SlurmSettings { cluster, program, exchange }))
    }

    pub(crate) fn jobs(&self, on: &ExecutorChoice) -> usize {
        let usual = if matches!(on, ExecutorChoice::Slurm(_)) { JOBS_OF_CLUSTER } else { 1 };
        usize::from(self.jobs.unwrap_or(usual))
    }
}

impl ParameterArguments {
    pub(crate) fn read(&self) -> Result<Vec<SetParameter>, CommandError> {
        let mut set = Vec::new();
        if let Some(path) = &self.params {
            let text = text_of("file of parameters", path)?;
            let read = SetParameter::of_file(&path.to_string_lossy(), &text);
            set.extend(read.map_err(|problems| unsound("the parameters cannot be set", &problems))?);
        }
        for argument in &self.set {
            set.push(SetParameter::of_argument(argument).map_err(|error| {
                CommandError::of(ErrorKind::Usage, &error).hint("write it like `--set lr=0.1`")
            })?);
        }
        Ok(set)
    }
}

/// With Ctrl-C, SIGTERM and SIGHUP as requests to abort. A signal that somebody chose to have ignored stays ignored, such as
/// SIGHUP by `nohup`; Ctrl-C is nobody's choice, since a shell without job control ignores it for all in its background.
pub(crate) fn settings(root: &Path, jobs: usize, again: &[String]) -> Result<Settings, CommandError> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    run_storage::use_store(root)?;
    let interrupt = Arc::new(AtomicBool::new(false));
    let ignored = machine::ignored_signals();
    let is_wanted = |signal: &i32| *signal == SIGINT || ignored & (1 << (signal - 1)) == 0;
    for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(is_wanted) {
        signal_hook::flag::register(signal, Arc::clone(&interrupt))
            .map_err(|error| CommandError::failed(format!("cannot listen for Ctrl-C: {error}")))?;
    }
    Ok(Settings {
        jobs,
        environment: environment::all(),
        again: again.to_vec(),
        interrupt,
        is_secret: autosave::secrets::is_secret_variable,
        is_own_run: |run| is_known(run.root(), run),
        hold: run_storage::hold(root)?,
        ..Settings::default()
    })
}

/// Keeps the journal's index of runs up to date. A journal that cannot be used stops no run.
pub(crate) struct Index {
    root: PathBuf,
    layout: Layout,
    has_warned: bool,
}

impl Index {
    pub(crate) fn new(root: &Path, layout: &Layout) -> Self {
        Self { root: root.to_owned(), layout: layout.clone(), has_warned: false }
    }

    /// A run is known before there is anything of it on the disk, so that one that is killed at once is still ours.
    pub(crate) fn expect(&mut self, printer: &Printer) {
        if !self.layout.events().exists() {
            self.note_or_warn(RunState::Planned, printer);
        }
    }

    pub(crate) fn hear(&mut self, event: &Event, printer: &Printer) {
        if let What::RunState { to, .. } = &event.what {
            self.note_or_warn(*to, printer);
        }
    }

    fn note_or_warn(&mut self, state: RunState, printer: &Printer) {
        if let Err(error) = self.note(state.name())
            && !self.has_warned
        {
            self.has_warned = true;
            printer.warning(error);
        }
    }

    fn note(&self, state: &str) -> Result<(), CommandError> {
        let mut journal = journal_access::open_or_create(&journal_access::state_directory()?)?;
        let (title, run) = (self.layout.title(), self.layout.run());
        let (origin, now) = (record::origin(&self.layout.events()), Timestamp::now());
        Ok(journal
            .write(|writing| writing.note_run(&self.root, title, run, state, origin.as_deref(), now))?)
    }
}

/// Whether this user's journal knows the run: it was begun by this user, here or where the project was before it was moved or
/// copied, and did not come with somebody else's repository.
pub(crate) fn is_known(root: &Path, layout: &Layout) -> bool {
    let (title, run) = (layout.title(), layout.run());
    let is_noted = || {
        let directory = journal_access::state_directory().ok()?;
        let mut journal = journal_access::open_existing(&directory).ok()??;
        if journal.read(|reading| reading.noted_run(root, title, run)).ok()?.is_some() {
            return Some(true);
        }
        let origin = record::origin(&layout.events())?;
        journal.read(|reading| reading.has_run_of_origin(title, run, &origin)).ok()
    };
    is_noted().unwrap_or(false)
}
