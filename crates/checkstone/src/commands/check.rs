//! `checkstone check`: what the gate would say now, for people, scripts and continuous integration.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use changes::{Baseline, Settings};
use gate::policy::{NoGit, Policy};
use gate::{Changes, CheckResult, Decision, Inputs, Verdict, Waiting, Waived};
use jiff::Timestamp;
use journal::{Journal, JournalError, Session};
use text::counted;
use transcript::{Agent, Coverage, Extent, Options, Reading};

use crate::agent_session::AgentSession;
use crate::arguments::AgentName;
use crate::checks;
use crate::error::CommandError;
use crate::evidence;
use crate::journal_access;
use crate::policy_files::{FILE_NAME, PolicyTexts, detected_presets, mistakes};
use crate::printer::{Printer, STRONG};
use crate::repository_argument::{RepositoryArgument, find};
use crate::trust;
use crate::verdict_text::verdict_text;

/// Say what the gate would say now, and record nothing
///
/// Judges as at the first stop of the turn. Without a transcript nothing proves that an action was done, so every
/// action that the changed files need is named. With one whose session has been recorded, what changed is told from
/// the state at the prompt. How long the turn took is not looked at: asking is reason enough. The policy's own checks run
/// where they are trusted.
///
/// Exit code: 0 pass or notify, 1 hold, 2 error.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone check
  checkstone check --transcript ~/.claude/projects/my-project/SESSION.jsonl
  checkstone check --json | jq '.actions[] | select(.state == \"required\") | .say'")]
pub(crate) struct CheckArguments {
    /// The client that wrote the transcript; guessed from the content where it is not given
    #[arg(long, value_name = "AGENT", requires = "transcript")]
    agent: Option<AgentName>,
    /// The transcript of the session; an agent's own where an agent asks
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,
    #[command(flatten)]
    repository: RepositoryArgument,
    /// Print JSON (schemas/check.schema.json)
    #[arg(long)]
    json: bool,
}

/// How many sessions back a transcript is looked for in the journal.
const SESSIONS_LOOKED_AT: usize = 1000;

pub(crate) fn run(arguments: &CheckArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let cwd = arguments.repository.folder()?;
    let repository = find(&cwd)?;
    let root = repository.root.as_path();
    let Some(texts) = PolicyTexts::of_repository(root) else {
        return without_policy(arguments, root, printer);
    };
    let policy = texts
        .load()
        .map_err(|problems| mistakes(&problems).hint("agents are not held while the policy is broken"))?;
    let pending = changes::start(&cwd, &Settings::default());
    let transcript = arguments.transcript.clone().or_else(|| transcript_of_calling_session(root));
    let reading = reading(arguments, transcript.as_deref())?;
    let known = match known(transcript.as_deref(), &reading) {
        Ok(known) => known,
        Err(error) => {
            printer.warning(&error);
            Known::default()
        }
    };
    let began = reading.turn.as_ref().and_then(|turn| turn.started_at.as_deref()?.parse().ok());
    let waiting = Waiting::of_reading(&reading);
    let mut inputs =
        Inputs::of_reading(reading, Changes::Unknown(String::new()), cwd.to_string_lossy().into_owned());
    let touched = evidence::touched(&inputs);
    let changed = evidence::change_set(pending, &policy, known.baseline.as_ref(), touched.as_deref(), &cwd);
    match &changed {
        // Where the policy has words for this, they are what the gate would say; but not those of a stranger.
        Err(error)
            if policy.gate.no_git == NoGit::Silent || matches!(error, changes::Error::Refused { .. }) =>
        {
            return Err(CommandError::new(format!("git could not be asked: {error}")));
        }
        _ => inputs.changes = evidence::known(changed),
    }
    evidence::leave_out_others(&mut inputs, touched.as_deref(), &cwd);
    let branch = match &inputs.changes {
        Changes::Known(set) => set.branch.clone(),
        Changes::Unknown(_) | Changes::Transcript(_) => None,
    };
    let slug = known.slug.clone().or_else(evidence::slug_of_environment);
    inputs.plan = evidence::plan(&policy, root, slug.as_deref(), branch.as_deref());
    inputs.checks = checked(arguments, &texts, &policy, &inputs.changes, root, printer);
    inputs.stop.waiting = waiting;
    inputs.stop.elapsed_ms = Some(elapsed(&policy, known.opened_at.or(began)));
    inputs.history.held_before = known.held_before;
    inputs.history.waived = known.waived;
    let verdict = gate::judge(&policy, &inputs);
    print(arguments, &verdict, printer)?;
    Ok(ExitCode::from(u8::from(verdict.decision == Decision::Hold)))
}

/// What the policy's own checks say, where they may run.
fn checked(
    arguments: &CheckArguments,
    texts: &PolicyTexts,
    policy: &Policy,
    changes: &Changes,
    root: &Path,
    printer: &Printer,
) -> Vec<CheckResult> {
    if policy.checks.count() == 0 {
        return Vec::new();
    }
    let standing = journal_access::state_directory().and_then(|state| trust::standing(&state, texts, policy));
    let trust = match standing {
        Ok(standing) => {
            if !standing.ignored.is_empty() && !arguments.json {
                let ignored = counted(standing.ignored.len(), "check");
                printer.warning(
                    &CommandError::new(format!(
                        "{ignored} of `{FILE_NAME}` not run: the file is not trusted"
                    ))
                    .hint("`checkstone trust` shows what it would run"),
                );
            }
            standing.trust
        }
        Err(error) => {
            printer.warning(&error);
            journal::Trust::Unknown
        }
    };
    checks::run_allowed(texts, policy, trust, changes, root)
}

fn print(arguments: &CheckArguments, verdict: &Verdict, printer: &Printer) -> Result<(), CommandError> {
    if arguments.json {
        printer.json(verdict)?;
    } else {
        printer.text(&verdict_text(verdict, printer.width()));
    }
    Ok(())
}

/// Nothing is required where nobody said what is.
fn without_policy(
    arguments: &CheckArguments,
    root: &Path,
    printer: &Printer,
) -> Result<ExitCode, CommandError> {
    if arguments.json {
        let verdict = Verdict {
            decision: Decision::Pass,
            message: None,
            reason: "the repository has no policy".to_owned(),
            scope: None,
            changed: Vec::new(),
            actions: Vec::new(),
            observations: Vec::new(),
            coverage: Coverage {
                extent: Extent::Unavailable,
                records: 0,
                understood: 0,
                reason: Some("not read".to_owned()),
            },
        };
        print(arguments, &verdict, printer)?;
        return Ok(ExitCode::SUCCESS);
    }
    printer.text(&format!("{}\n{}\n", no_policy(root), policy_hint(root)));
    Ok(ExitCode::SUCCESS)
}

/// The sentence for a repository without a policy.
pub(crate) fn no_policy(root: &Path) -> String {
    format!("`{}` has no policy, so every stop passes.", root.display())
}

/// What to write for what lies in the repository.
pub(crate) fn policy_hint(root: &Path) -> String {
    let presets = detected_presets(root);
    let file = format!("{STRONG}hint:{STRONG:#} a file `checkstone.toml` at its root makes one:");
    if presets.is_empty() {
        let known: Vec<&str> = gate::policy::PRESETS.iter().map(|(name, _)| *name).collect();
        return format!("{file} {STRONG}presets = [\"…\"]{STRONG:#} with one of {}", known.join(", "));
    }
    format!("{file} {STRONG}presets = {presets:?}{STRONG:#}")
}

/// Where an agent asks, or a person through a command of the client, it is about that very session.
fn transcript_of_calling_session(root: &Path) -> Option<PathBuf> {
    let mut journal = journal_access::open_existing(&journal_access::state_directory().ok()?).ok()??;
    let session = AgentSession::calling(Some(&mut journal), Some(root)).ok()??;
    session.recorded(Some(&mut journal)).ok()??.transcript.filter(|path| path.is_file())
}

/// The transcript, where there is one; otherwise nothing, and nothing is what it proves.
fn reading(arguments: &CheckArguments, path: Option<&Path>) -> Result<Reading, CommandError> {
    let Some(path) = path else {
        let mut reading = transcript::read_bytes(&[], &Options::default());
        reading.coverage.reason = Some("no transcript was given".to_owned());
        return Ok(reading);
    };
    if !path.is_file() {
        return Err(CommandError::new(format!(
            "`{}` is no transcript: there is no such file",
            path.display()
        ))
        .hint("leave out `--transcript` to judge by the files alone"));
    }
    let options = Options { agent: arguments.agent.map(Agent::from), ..Options::default() };
    Ok(transcript::read(path, &options))
}

/// What the journal knows of the turn.
#[derive(Default)]
struct Known {
    baseline: Option<Baseline>,
    opened_at: Option<Timestamp>,
    slug: Option<String>,
    held_before: Vec<String>,
    waived: Vec<Waived>,
}

/// Finds the session by its transcript, and the turn by the id that the transcript gives.
fn known(transcript: Option<&Path>, reading: &Reading) -> Result<Known, CommandError> {
    let Some(transcript) = transcript.and_then(|path| fs_err::canonicalize(path).ok()) else {
        return Ok(Known::default());
    };
    let Some(mut journal) = journal_access::open_existing(&journal_access::state_directory()?)? else {
        return Ok(Known::default());
    };
    of_session(&mut journal, &transcript, reading).map_err(|error| journal_access::explained(&error))
}

fn of_session(journal: &mut Journal, transcript: &Path, reading: &Reading) -> Result<Known, JournalError> {
    journal.read(|reader| {
        let is_it = |session: &Session| {
            let recorded = session.transcript.as_deref();
            recorded.is_some_and(|path| fs_err::canonicalize(path).is_ok_and(|path| path == transcript))
        };
        let Some(session) = reader.recent_sessions(SESSIONS_LOOKED_AT)?.into_iter().find(is_it) else {
            return Ok(Known::default());
        };
        let waived = reader.waivers(session.id)?.into_iter();
        let mut known = Known {
            slug: session.slug.clone(),
            waived: waived.map(|one| Waived { action: one.action, reason: one.reason }).collect(),
            ..Known::default()
        };
        let turn = match reading.turn.as_ref().and_then(|turn| turn.id.as_deref()) {
            Some(id) if session.agent != Agent::Gemini.name() => reader.turn(session.id, id)?,
            _ => reader.latest_turn(session.id)?,
        };
        if let Some(turn) = turn {
            known.baseline = turn.baseline.and_then(|bytes| serde_json::from_slice(&bytes).ok());
            known.opened_at = Some(turn.opened_at);
            known.held_before = reader.actions_held_before(turn.id)?;
        }
        Ok(known)
    })
}

/// How long the turn has taken, and at least as long as the policy wants a turn to be.
fn elapsed(policy: &Policy, began: Option<Timestamp>) -> u64 {
    let taken = began.map(|began| Timestamp::now().duration_since(began).as_millis()).unwrap_or_default();
    let shortest = u64::try_from(policy.gate.min_turn.as_millis()).unwrap_or(u64::MAX);
    u64::try_from(taken).unwrap_or_default().max(shortest)
}
