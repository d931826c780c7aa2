//! `checkstone check`: what the gate would say now, for people, scripts and continuous integration.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use agents::{Event, Payload};
use gate::policy::{NoGit, Policy};
use gate::{Changes, Decision, Verdict};
use jiff::Timestamp;
use journal::{Journal, JournalError};
use serde::Serialize;
use stop::policy_files::{FILE_NAME, PolicyTexts};
use stop::{AskedBy, ClientEvent, JudgedRepository, PolicyChange, StopCase, StopError, Stopwatch, Workplace};
use text::counted;
use transcript::{Agent, Coverage, Extent, Options, Reading, visible};

use crate::agent_name::AgentName;
use crate::agent_session;
use crate::asked_for::FittingPresets;
use crate::environment;
use crate::error::{CommandError, Warning};
use crate::journal_access;
use crate::printer::{Printer, STRONG};
use crate::repository_argument::{RepositoryArgument, find};
use crate::repository_policy;
use crate::verdict_text::verdict_text;

/// Show what the gate would decide now, and record nothing
///
/// Judges as at the first stop of the turn, by the transcript of the session last seen in this repository unless you name
/// another one, and by what was proven before. What changed is measured from the state at the prompt. In a repository without
/// any session nothing proves that an action was done, so every action that the changed files need is listed. If the turn
/// changed the policy, the one at its prompt counts. How long the turn took does not matter. The policy's own checks run
/// if they are trusted. Other repositories that the turn worked in are judged too.
///
/// Exit code: 0 pass or notify, 1 hold, 2 error.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone check
  checkstone check --transcript ~/.claude/projects/my-project/SESSION.jsonl
  checkstone check --json | jq '.actions[] | select(.state == \"required\") | .say'")]
pub(crate) struct CheckArguments {
    /// The client that wrote the transcript; by default detected from its content
    #[arg(long, value_name = "AGENT", requires = "transcript")]
    agent: Option<AgentName>,
    /// The transcript of the session; by default the agent's own if an agent asks, else the last one of the repository
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,
    #[command(flatten)]
    repository: RepositoryArgument,
    /// Print JSON (schemas/check.schema.json)
    #[arg(long)]
    json: bool,
}

/// A git that takes longer than this hangs.
const GIT_LIMIT: Duration = Duration::from_secs(10);

pub(crate) fn run(arguments: &CheckArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let cwd = arguments.repository.folder()?;
    let repository = find(&cwd)?;
    let root = repository.root.clone();
    let found = repository_policy::files(&root);
    let settings = environment::stop_settings(environment::state_directory().unwrap_or_default(), GIT_LIMIT);
    let pending = changes::start(&cwd, &settings.git);
    let opened = journal_access::state_directory().and_then(|state| journal_access::open_existing(&state));
    let (mut journal, mut problem) =
        opened.map_or_else(|error| (None, Some(error)), |journal| (journal, None));
    let of_session = || agent_session::transcript(journal.as_mut()?, &root);
    let transcript = arguments.transcript.clone().or_else(of_session);
    let reading = reading(arguments, transcript.as_deref())?;
    let agent = reading.agent.unwrap_or_default();
    let payload = Payload { transcript, cwd: Some(cwd.clone()), ..Payload::new(agent, Event::Stop) };
    let mut event = ClientEvent {
        payload,
        session: String::new(),
        cwd,
        settings,
        now: Timestamp::now(),
        stopwatch: Stopwatch::start(),
        is_dry_run: true,
    };
    if let Err(error) = find_session(&mut event, journal.as_mut()) {
        problem = Some(error.into());
        journal = None;
    }
    // As at the stop, the policy at the prompt counts for its turn.
    let change =
        journal.as_mut().map_or(Ok(None), |journal| PolicyChange::of_turn(journal, &event, &root, &found));
    let change = change.unwrap_or_else(|error| {
        problem = Some(error.into());
        None
    });
    let sentence = change.as_ref().map(PolicyChange::sentence);
    let Some(texts) = change.map_or(found.policy, |change| change.before) else {
        return without_policy(arguments, &root, printer);
    };
    let policy = repository_policy::sound(&texts, "agents are not held until you fix this")?;
    if let (Some(problem), true) = (problem, event.payload.transcript.is_some() || policy.checks.count() > 0)
    {
        printer.warning(problem);
    }
    if !arguments.json {
        sentence.into_iter().for_each(|sentence| printer.warning(Warning::new(sentence)));
        warn_of_ignored_checks(journal.as_mut(), &texts, &policy, printer);
    }
    let asked_by = AskedBy::Person;
    let span = journal.as_mut().and_then(|journal| stop::unjudged_turns(journal, &event));
    let span = span.filter(|_| !policy.gate.turn_only);
    let reading = if span.is_some() { stop::read_turns(&event, span.as_ref()) } else { reading };
    let workplace =
        Workplace { repository: Some(repository), root: Some(root.clone()), ..Workplace::default() };
    let (repository, folder) = (workplace.repository.clone(), None);
    // A session that is elsewhere worked here too, and remembers that apart.
    let beside = journal.as_mut().is_some_and(|journal| is_elsewhere(journal, &event, &root)).then(Vec::new);
    let case = StopCase { texts, policy, asked_by, is_gated: true, repository, root, span, folder, beside };
    let looked = case.judge_everywhere(&mut event, journal.as_mut(), &workplace, pending, reading);
    let (judged, others) = looked.map_err(|error| match error {
        StopError::Journal(error) => error.into(),
        StopError::Refused(error) => git_problem(&error),
    })?;
    // Where the policy has words for this, they are what the gate would say.
    if let (Changes::Unknown(problem), NoGit::Silent) = (&judged.inputs.changes, case.policy.gate.no_git) {
        return Err(git_problem(problem));
    }
    let others = others.iter().map(OtherVerdict::of).collect();
    let output = CheckVerdicts { verdict: &judged.verdict, others };
    printer.answer(arguments.json, &output, || output.text(printer.width()))?;
    Ok(ExitCode::from(u8::from(output.holds())))
}

/// What `checkstone check --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Check"))]
pub(crate) struct CheckVerdicts<'a> {
    #[serde(flatten)]
    verdict: &'a Verdict,
    /// The verdicts on other repositories that the turn worked in; left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    others: Vec<OtherVerdict<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct OtherVerdict<'a> {
    repository: Cow<'a, str>,
    /// The path to it from the folder that was asked about.
    folder: &'a str,
    #[serde(flatten)]
    verdict: &'a Verdict,
}

impl<'a> OtherVerdict<'a> {
    fn of(JudgedRepository { case, turn }: &'a JudgedRepository) -> Self {
        let folder = case.folder.as_deref().unwrap_or_default();
        Self { repository: case.root.to_string_lossy(), folder, verdict: &turn.verdict }
    }
}

impl CheckVerdicts<'_> {
    fn holds(&self) -> bool {
        let others = self.others.iter().map(|other| other.verdict);
        others.chain([self.verdict]).any(|verdict| verdict.decision == Decision::Hold)
    }

    fn text(&self, width: Option<usize>) -> String {
        let mut text = verdict_text(self.verdict, width);
        for OtherVerdict { folder, verdict, .. } in &self.others {
            let _ = write!(
                text,
                "\n{STRONG}In `{}`{STRONG:#}\n{}",
                visible(folder),
                verdict_text(verdict, width)
            );
        }
        text
    }
}

/// Whether the session is in another repository than this one.
fn is_elsewhere(journal: &mut Journal, event: &ClientEvent, root: &Path) -> bool {
    let agent = event.payload.agent.name();
    let session = journal.read(|reader| reader.session(agent, &event.session)).ok().flatten();
    session.is_some_and(|session| session.repository.as_deref() != Some(root))
}

fn git_problem(problem: &impl std::fmt::Display) -> CommandError {
    let hint = match environment::git().path() {
        Some(_) => "",
        None => "install git, or add its folder to `PATH`",
    };
    CommandError::failed(format!("cannot ask git: {problem}")).hint(hint)
}

/// The session as its hooks call it, by its transcript.
fn find_session(event: &mut ClientEvent, journal: Option<&mut Journal>) -> Result<(), JournalError> {
    let (Some(journal), Some(transcript)) = (journal, &event.payload.transcript) else { return Ok(()) };
    let Some(session) = stop::session_of_transcript(journal, transcript)? else { return Ok(()) };
    if let Some(agent) = Agent::ALL.into_iter().find(|agent| agent.name() == session.agent) {
        event.payload.agent = agent;
    }
    event.session = session.client_id;
    Ok(())
}

/// The policy's own checks run only where they are trusted.
fn warn_of_ignored_checks(
    journal: Option<&mut Journal>,
    texts: &PolicyTexts,
    policy: &Policy,
    printer: &Printer,
) {
    if policy.checks.count() == 0 {
        return;
    }
    match journal_access::standing(journal, texts, policy) {
        Ok(standing) if standing.ignored.is_empty() => {}
        Ok(standing) => {
            let ignored = counted(standing.ignored.len(), "check");
            printer.warning(
                Warning::new(format!("{ignored} of `{FILE_NAME}` not run: the file is not trusted"))
                    .hint("`checkstone trust` shows what it would run"),
            );
        }
        Err(error) => printer.warning(error),
    }
}

/// Nothing is required where nobody said what is.
fn without_policy(
    arguments: &CheckArguments,
    root: &Path,
    printer: &Printer,
) -> Result<ExitCode, CommandError> {
    let verdict = Verdict {
        decision: Decision::Pass,
        message: None,
        reason: "the repository has no policy".into(),
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
        standings: Vec::new(),
        told_unproven: None,
        hold: None,
        left_red: Vec::new(),
    };
    let output = CheckVerdicts { verdict: &verdict, others: Vec::new() };
    printer.answer(arguments.json, &output, || no_policy(root))
}

/// What is said of a repository without a policy: that it has none, and what to write for what lies in it.
pub(crate) fn no_policy(root: &Path) -> String {
    let presets = match FittingPresets::of(root).names() {
        none if none.is_empty() => {
            let known: Vec<&str> = gate::policy::PRESETS.iter().map(|(name, _)| *name).collect();
            format!("{STRONG}presets = [\"…\"]{STRONG:#} with one of {}", known.join(", "))
        }
        presets => format!("{STRONG}presets = {presets:?}{STRONG:#}"),
    };
    let root = root.display();
    format!(
        "`{root}` has no policy, so every stop passes.\n{STRONG}hint:{STRONG:#} create `checkstone.toml` at its \
         root: {presets}\n"
    )
}

/// The transcript, where there is one; otherwise nothing, and nothing is what it proves.
fn reading(arguments: &CheckArguments, path: Option<&Path>) -> Result<Reading, CommandError> {
    let Some(path) = path else {
        let mut reading = transcript::read_bytes(&[], &Options::default());
        reading.coverage.reason = Some("no transcript was given".to_owned());
        return Ok(reading);
    };
    if !transcript::is_there(path) {
        return Err(CommandError::not_found(format!("there is no transcript `{}`", path.display()))
            .hint("leave out `--transcript` to judge by the files alone"));
    }
    let options = Options { agent: arguments.agent.map(Agent::from), ..Options::default() };
    Ok(transcript::read(path, &options))
}
