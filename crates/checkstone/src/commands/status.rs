//! `checkstone status`: what is on here, what was decided last, and where it is kept.

mod output;
mod overview;
mod policy_state;
mod reduction;
mod resumable;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use changes::Repository;
use journal::{Journal, Of, switch};
use keeping::snapshot::{Snapshot, Snapshots, WhichWorktrees};
use workflow::StateDirectory;

pub(crate) use self::output::StatusOutput;
use self::output::{
    CallingSession, KnownGitHookOutput, LastCheckpoint, MissingRegistrationOutput, SwitchOutput,
    UnprovenBeside,
};
pub(crate) use self::overview::overview;
use self::policy_state::PolicyState;
use self::reduction::{reductions, shared_files};
use self::resumable::{unfinished_runs, unfinished_workflows};
use super::autosave_status::AutosaveStatus;
use super::explain::recent;
use super::snapshot::{SnapshotOutput, about};
use crate::agent_session::AgentSession;
use crate::environment;
use crate::error::{CommandError, Warning};
use crate::git_hook::KnownGitHook;
use crate::journal_access;
use crate::known_registrations;
use crate::printer::Printer;
use crate::repository_argument::RepositoryArgument;
use crate::repository_policy::{self, mistakes};
use crate::run_storage;
use crate::team_sending;
use crate::unproven_work::UnprovenWork;

/// Show what is on: the policy of this repository, trust, switches, the last verdicts
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone status
  checkstone status --json | jq .switch")]
pub(crate) struct StatusArguments {
    #[command(flatten)]
    repository: RepositoryArgument,
    /// Print JSON (schemas/status.schema.json)
    #[arg(long)]
    json: bool,
}

/// How many verdicts are shown.
const VERDICTS: usize = 5;

pub(crate) fn run(arguments: &StatusArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let folder = arguments.repository.folder()?;
    let workflows = StateDirectory::of(&folder, &environment::git());
    let repository = workflows.repository();
    let root = repository.map(|repository| repository.root.as_path());
    let state = journal_access::state_directory()?;
    let mut problem = None;
    let mut journal = or_nothing(journal_access::open_existing(&state), &mut problem);
    let policy = or_nothing(PolicyState::of(root, journal.as_mut()), &mut problem);
    if let (false, Some(root), PolicyState::None) = (arguments.json, root, &policy)
        && let Err(problems) = repository_policy::files(root).user.load()
    {
        printer.warning(mistakes(&problems).hint("nothing is saved until you fix this"));
    }
    let session = or_nothing(session(&state, root, journal.as_mut()), &mut problem);
    let of = root.map_or(Of::Everyone, Of::Repository);
    let verdicts = journal.as_mut().map_or(Ok(Vec::new()), |journal| recent(journal, of, VERDICTS));
    let verdicts = or_nothing(verdicts, &mut problem);
    let autosave = or_nothing(AutosaveStatus::of(root, journal.as_mut()), &mut problem);
    let unproven = match (journal.as_mut(), repository) {
        (Some(journal), Some(repository)) => UnprovenWork::of_repository(journal, repository),
        _ => Ok(UnprovenWork::default()),
    };
    let unproven = or_nothing(unproven, &mut problem);
    let beside = match (journal.as_mut(), root) {
        (Some(journal), Some(root)) => unproven_beside(journal, root),
        _ => Ok(Vec::new()),
    };
    let beside = or_nothing(beside, &mut problem);
    // A journal that is there may be out of reach only from here: in the sandbox of an agent this is so, and its hooks are not in there.
    let is_state_writable = journal_access::is_writable(&state);
    let has_no_place = || journal.is_none() && !is_state_writable;
    let off = off(&policy, session.as_ref())
        .or_else(|| problem.is_some().then(|| "the journal cannot be used".to_owned()))
        .or_else(|| has_no_place().then(|| "the state directory cannot be written".to_owned()));
    let reductions = journal.as_mut().map_or(Ok(Vec::new()), |journal| reductions(journal, &state, root));
    let reductions = or_nothing(reductions, &mut problem);
    let shared = journal.as_mut().map_or(Ok(Vec::new()), |journal| shared_files(journal, root));
    let shared = or_nothing(shared, &mut problem);
    let registrations = journal.as_mut().map_or(Ok(Vec::new()), |journal| {
        Ok(known_registrations::missing(&journal.read(|reader| reader.registrations())?))
    });
    let missing = or_nothing(registrations, &mut problem);
    let git_hooks = repository.map(|repository| KnownGitHook::of_repository(repository, Some(&state)));
    let snapshot = repository.and_then(newest_snapshot);
    let project = root.unwrap_or(&folder);
    if let Err(error) = run_storage::bring_runs(project)
        && !policy.explains(error.message())
    {
        printer.warning(Warning::new(format!("runs of other hosts are not shown: {error}")));
    }
    let output = StatusOutput {
        version: env!("CARGO_PKG_VERSION"),
        state_directory: state.to_string_lossy(),
        is_state_writable,
        repository: root.map(Path::to_string_lossy),
        policy: policy.output(root),
        trust: policy.trust(),
        switch: SwitchOutput { on: off.is_none(), reason: off },
        session,
        missing_registrations: missing.iter().map(MissingRegistrationOutput::of).collect(),
        git_hooks: git_hooks.unwrap_or_default().iter().map(KnownGitHookOutput::of).collect(),
        reductions,
        shared_files: shared,
        journal_problem: problem,
        unproven: unproven.output(),
        unproven_beside: beside.iter().map(UnprovenBeside::of).collect(),
        verdicts,
        autonomous_execution: autosave.execution(),
        autosave: autosave.output(),
        snapshot: snapshot.as_ref().map(SnapshotOutput::of),
        last_checkpoint: LastCheckpoint::newest(project),
        resumable: unfinished_workflows(&workflows).into_iter().chain(unfinished_runs(project)).collect(),
        team: team_sending::sentence(&state),
    };
    printer.answer(arguments.json, &output, || {
        output.text(&policy, &unproven, &autosave, snapshot.as_ref().map(about), printer)
    })
}

/// What was read. What is wrong with the journal is part of the answer, so that nothing stands for what it hides.
fn or_nothing<T: Default>(read: Result<T, CommandError>, problem: &mut Option<String>) -> T {
    read.unwrap_or_else(|error| {
        *problem = Some(error.message().to_owned());
        T::default()
    })
}

/// What the session that was last seen here left unproven in other repositories.
fn unproven_beside(journal: &mut Journal, root: &Path) -> Result<Vec<(PathBuf, UnprovenWork)>, CommandError> {
    let last = journal.read(|reader| reader.sessions_in(root, 1))?;
    let Some(last) = last.first() else { return Ok(Vec::new()) };
    let mut beside = UnprovenWork::beside(journal, last.id, Some(root))?;
    beside.retain(|(_, unproven)| unproven.files() > 0);
    Ok(beside)
}

/// Where git cannot be asked, there is none to tell of.
fn newest_snapshot(repository: &Repository) -> Option<Snapshot> {
    let snapshots = Snapshots::of(repository.clone(), &environment::git()).ok()?;
    snapshots.list(WhichWorktrees::ThisWorktree).ok()?.into_iter().next()
}

fn session(
    state: &Path,
    root: Option<&Path>,
    mut journal: Option<&mut Journal>,
) -> Result<Option<CallingSession>, CommandError> {
    let Some(session) = AgentSession::calling(journal.as_deref_mut(), root)? else { return Ok(None) };
    let slug = session.recorded(journal)?.and_then(|recorded| recorded.slug);
    let on = !switch::is_off(state, session.agent.name(), &session.id);
    Ok(Some(CallingSession { agent: session.agent, id: session.id, slug, on }))
}

fn off(policy: &PolicyState, session: Option<&CallingSession>) -> Option<String> {
    let reason = if environment::is_switched_off() {
        "`CHECKSTONE=off` is set"
    } else if session.is_some_and(|session| !session.on) {
        "this session is switched off (`checkstone session --on`)"
    } else if environment::git().path().is_none() {
        "there is no `git` on `PATH`"
    } else {
        match policy {
            PolicyState::None => "there is no policy here",
            PolicyState::Broken { is_users: true, .. } => "your configuration is broken",
            PolicyState::Broken { .. } => "the policy is broken",
            PolicyState::Sound { policy, .. } if !policy.gate.enabled => "`enabled = false` in the policy",
            PolicyState::Sound { .. } => return None,
        }
    };
    Some(reason.to_owned())
}
