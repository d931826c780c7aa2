//! `checkstone background`: what a hook leaves behind for a process of its own. Nobody reads what it prints; it goes into
//! the journal and the log.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use agents::{Event, Payload};
use autosave::{Look, PlannedPush, SaveOrder, SavingSettings, save_run};
use changes::Repository;
use jiff::Timestamp;
use journal::{Autosave, AutosaveId, Journal, PushState};
use keeping::push::{PushLimits, PushOutcome, PushPlan, PushReadiness, RemoteKnowledge};
use serde::de::DeserializeOwned;
use stop::turn_start_snapshot::SnapshotOrder;
use stop::{ClientEvent, Stopwatch, append_to_log};

use crate::background::{self, SaveRequest};
use crate::environment;
use crate::error::CommandError;
use crate::hook;
use crate::journal_access;
use crate::printer::{Printer, Verbosity};
use crate::saving_environment;
use crate::team_sending;

/// The whole of a push, retries included.
const TOTAL: Duration = Duration::from_secs(5 * 60);
const ATTEMPT: Duration = Duration::from_secs(60);
const PAUSES: [Duration; 3] = [Duration::from_secs(2), Duration::from_secs(8), Duration::from_secs(30)];

/// Our own commits of the last so many saves may be put on top of what came from elsewhere.
const OWN_COMMITS: usize = 200;

/// Work that a hook leaves to the background; internal
#[derive(Debug, clap::Args)]
pub(crate) struct BackgroundArguments {
    #[command(subcommand)]
    work: BackgroundWork,
}

#[derive(Debug, clap::Subcommand)]
enum BackgroundWork {
    /// Push the commit of an autosave, and record the result
    Push { autosave: i64 },
    /// Save what the session on stdin did
    Save,
    /// Save what is ordered on stdin, report the result, and push
    StopSave,
    /// Take the snapshot of a turn's start that is ordered on stdin
    Snapshot,
    /// Send what was recorded to the team's database, until nothing happened for a minute
    Team,
}

pub(crate) fn run(arguments: &BackgroundArguments) -> Result<ExitCode, CommandError> {
    background::survive_hangup();
    match &arguments.work {
        BackgroundWork::Push { autosave } => push(AutosaveId(*autosave))?,
        BackgroundWork::Save => save()?,
        BackgroundWork::StopSave => save_at_stop(read()?)?,
        BackgroundWork::Snapshot => {
            let order: SnapshotOrder = read()?;
            order.carry_out(&hook::settings(journal_access::state_directory()?));
        }
        BackgroundWork::Team => team_sending::stay(&journal_access::state_directory()?)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn read<T: DeserializeOwned>() -> Result<T, CommandError> {
    serde_json::from_reader(std::io::stdin())
        .map_err(|error| CommandError::usage(format!("stdin is not a request: {error}")))
}

fn save() -> Result<(), CommandError> {
    let request: SaveRequest = read()?;
    let (kind, reason) = match request.is_end {
        true => (Event::SessionEnd, autosave::Reason::SessionEnd),
        false => (Event::BeforeCompaction, autosave::Reason::BeforeCompaction),
    };
    let payload = Payload {
        session: Some(request.session.clone()),
        transcript: request.transcript,
        cwd: Some(request.cwd.clone()),
        turn: request.turn,
        ..Payload::new(request.agent, kind)
    };
    let event = ClientEvent {
        payload,
        session: request.session,
        cwd: request.cwd,
        settings: hook::settings(journal_access::state_directory()?),
        now: Timestamp::now(),
        stopwatch: Stopwatch::start(),
        is_dry_run: false,
    };
    hook::save_without_stop(event, reason);
    Ok(())
}

/// What a stop has left. The client may be gone by now, and with it whoever would hear how it ended.
fn save_at_stop(order: SaveOrder) -> Result<(), CommandError> {
    let state = journal_access::state_directory()?;
    let mut journal = journal_access::open_or_create(&state)?;
    let root = order.root().as_path().to_owned();
    let event = ClientEvent {
        payload: Payload::new(order.agent(), Event::Stop),
        session: order.client_session().unwrap_or_default().to_owned(),
        cwd: root,
        settings: hook::settings(state.clone()),
        now: Timestamp::now(),
        stopwatch: Stopwatch::start(),
        is_dry_run: false,
    };
    let saving = saving_environment::settings(state);
    let settings = |journal: &mut Journal| {
        saving_environment::of_repository(&event.cwd, Some(journal)).map(|(settings, _)| settings)
    };
    let (ended, to_push) = order.carry_out(&mut journal, settings, saving, &event);
    drop(journal);
    // The stop may be waiting for this line.
    Printer::new(Verbosity::Quiet).json(&ended)?;
    to_push.map_or(Ok(()), push)
}

fn push(id: AutosaveId) -> Result<(), CommandError> {
    let state = journal_access::state_directory()?;
    let mut journal = journal_access::open_or_create(&state)?;
    let (autosave, ours) = journal
        .read(|reader| {
            let Some(autosave) = reader.autosave(id)? else { return Ok(None) };
            let all = reader.recent_autosaves(Some(&autosave.repository), OWN_COMMITS)?;
            let ours: Vec<String> = all.into_iter().filter_map(|one| one.commit).collect();
            Ok(Some((autosave, ours)))
        })?
        .ok_or_else(|| CommandError::not_found(format!("there is no autosave {}", id.0)))?;
    // Where the settings cannot be understood any more, nothing that looks like a secret is allowed.
    let (settings, _) =
        saving_environment::of_repository(&autosave.repository, Some(&mut journal)).unwrap_or_default();
    // A push can take minutes, and others write meanwhile.
    drop(journal);
    let saving = saving_environment::settings(state.clone());
    let EndedPush { ended, state: push, milliseconds } = pushed(&autosave, &ours, &saving, &settings);
    let detail = ended.as_deref().unwrap_or_else(CommandError::message);
    let recorded = journal_access::open_or_create(&state).and_then(|mut journal| {
        Ok(journal.write(|writing| writing.record_push(id, push, detail, milliseconds))?)
    });
    let commit = save_run::short(autosave.commit.as_deref().unwrap_or_default());
    let log = |line: String| append_to_log(&state, &format!("{:.3} {line}", Timestamp::now()));
    log(format!("autosave {} push of {commit}: {detail} ({milliseconds} ms)", push.as_str()));
    if let Err(error) = recorded {
        log(format!("autosave: not recorded: {}", error.message()));
    }
    Ok(())
}

/// How a push ended, in a sentence, and how long it took.
pub(crate) struct EndedPush {
    pub(crate) ended: Result<String, CommandError>,
    pub(crate) state: PushState,
    pub(crate) milliseconds: u64,
}

/// Pushes the commit of the save.
pub(crate) fn pushed(
    autosave: &Autosave,
    ours: &[String],
    saving: &SavingSettings,
    settings: &gate::policy::Autosave,
) -> EndedPush {
    let started = Instant::now();
    saving.log_step("📤 Pushing to remote...");
    let ended = push_commit(autosave, ours, saving, settings);
    match &ended {
        Ok(_) => saving.log_step("✅ Git push successful"),
        Err(error) => saving.log_step(&format!("❌ Git push failed: {}", error.message())),
    }
    saving.log_step(save_run::COMPLETED);
    let state = if ended.is_ok() { PushState::Pushed } else { PushState::Failed };
    let milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    EndedPush { ended, state, milliseconds }
}

fn push_commit(
    autosave: &Autosave,
    ours: &[String],
    saving: &SavingSettings,
    settings: &gate::policy::Autosave,
) -> Result<String, CommandError> {
    let git = &saving.git;
    let commit = autosave.commit.as_deref().ok_or_else(|| CommandError::not_found("there is no commit"))?;
    let repository = Repository::discover(&autosave.repository)?;
    // What the user has committed since is theirs to push.
    let mut plan = match keeping::push::plan(&repository, git, Some(commit))? {
        PushReadiness::Ready(plan) => plan,
        PushReadiness::NoRemote => return Err(CommandError::not_found(PushOutcome::NoRemote.to_string())),
        PushReadiness::NoBranch | PushReadiness::NoCommit => {
            return Err(CommandError::refused("HEAD is no longer on a branch"));
        }
    };
    if autosave.branch.as_deref() != Some(plan.branch.as_str()) {
        let branch = transcript::visible(&plan.branch);
        return Err(CommandError::refused(format!("the branch is `{branch}` now")));
    }
    let ssh = environment::read(environment::SSH_COMMAND).and_then(|value| value.into_string().ok());
    let limits =
        PushLimits { total: TOTAL, attempt: ATTEMPT, pauses: &PAUSES, ours, ssh_command: ssh.as_deref() };
    plan.ask_remote(&limits)?;
    let unseen = look_through(&plan, &saving.look(settings))?;
    let planned = PlannedPush::new(&plan);
    let pushed = sentence(&plan.push(&limits), &planned.remote)?;
    Ok(format!("{pushed}{}{unseen}", planned.consequences))
}

/// Earlier commits that were never pushed go along, so they are looked through too, with their messages.
/// What could not be looked through is told, in words to be added to others.
fn look_through(plan: &PushPlan, look: &Look) -> Result<String, CommandError> {
    let added = plan.added()?;
    let mut found: Vec<String> = look.through(&added).iter().map(ToString::to_string).collect();
    let of_message = plan.commits.iter().filter(|commit| look.sees_secret(&commit.message));
    found.extend(of_message.map(|commit| format!("the message of commit {}", save_run::short(&commit.id))));
    if !found.is_empty() {
        let found = found.join("; ");
        let unasked = match &plan.knowledge {
            RemoteKnowledge::Nothing { problem: Some(problem) } => {
                format!("; the remote may already have it, but its state is unknown: {problem}")
            }
            _ => String::new(),
        };
        let refused = format!("the push would contain what looks like a secret: {found}{unasked}");
        return Err(CommandError::refused(refused));
    }
    let mut unread = added.unread;
    unread.sort();
    unread.dedup();
    let names: Vec<String> = unread.iter().map(|path| format!("`{path}`")).collect();
    Ok(match names.is_empty() {
        true => String::new(),
        false => format!("; too large to scan for secrets: {}", names.join(", ")),
    })
}

fn sentence(outcome: &PushOutcome, remote: &str) -> Result<String, CommandError> {
    Err(match outcome {
        PushOutcome::Pushed { id, branch, rebased_from } => {
            return Ok(match rebased_from {
                None => format!("`{remote}` has {} on `{branch}`", save_run::short(id)),
                Some(_) => format!(
                    "`{remote}` has it as {} on `{branch}`, on top of what others pushed; `git pull --rebase` brings both \
                 together",
                    save_run::short(id)
                ),
            });
        }
        PushOutcome::NoRemote => CommandError::not_found(outcome.to_string()),
        PushOutcome::Rejected { .. } | PushOutcome::Conflict { .. } => {
            CommandError::refused(outcome.to_string())
        }
        PushOutcome::AuthNeeded { .. } => CommandError::environment(outcome.to_string()),
        PushOutcome::TimedOut { .. } | PushOutcome::Failed { .. } => {
            CommandError::failed(outcome.to_string())
        }
    })
}
