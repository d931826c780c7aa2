//! `checkstone autosave`: notes, commit and push by hand, as the hook does it when the context fills up.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use autosave::{
    Asked, MOST_SHOWN, Occasion, PlannedPush, Push, Reason, SHORT_PROMPT, Save, SaveOutcome, SaveReport,
    left_out_file,
};
use changes::{Baseline, Request};
use gate::policy::Autosave;
use gate::{Changes, Inputs};
use jiff::Timestamp;
use journal::{Journal, PushState, Session, Turn};
use keeping::snapshot::LeftOut;
use serde::Serialize;
use stop::SESSIONS_LOOKED_AT;
use transcript::{Agent, Reading, visible};

use super::background::{self, EndedPush};
use crate::agent_name::AgentName;
use crate::agent_session::AgentSession;
use crate::environment;
use crate::error::{CommandError, ErrorKind, Warning};
use crate::journal_access;
use crate::printer::{BAD, DOUBTFUL, FAINT, GOOD, Printer, STRONG, shown};
use crate::repository_argument::{RepositoryArgument, find};
use crate::repository_policy::mistakes;
use crate::saving_environment;

/// Commit notes on the work now, take a snapshot of it, and push
///
/// Does what the hook does by itself when the context of an agent fills up and `mode = "autonomous"` is set in
/// `[autosave]`. It commits only the notes and buildguide.md (`include = "all"` adds what the turn changed); what you
/// have staged stays staged. Nothing is committed if it looks like a secret, or if nothing has changed.
///
/// Exit code: 0 saved or nothing to save, 1 saved, but a file was left out or the push was not possible, 2 and above
/// not saved. A push that is switched off, or has no remote, counts as done.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone autosave
  checkstone autosave --dry-run
  checkstone autosave --no-push --json | jq -r .commit")]
pub(crate) struct AutosaveArguments {
    /// Whose notes file to write; by default that of the calling session, else of the last session here
    #[arg(long, value_name = "AGENT")]
    agent: Option<AgentName>,
    /// Show what would be written and committed, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Commit, but do not push
    #[arg(long)]
    no_push: bool,
    #[command(flatten)]
    repository: RepositoryArgument,
    /// Print JSON (schemas/autosave.schema.json)
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &AutosaveArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let folder = arguments.repository.folder()?;
    let repository = find(&folder)?;
    let state = journal_access::state_directory()?;
    let mut journal = journal_access::open_or_create(&state)?;
    let found = saving_environment::of_repository(&repository.root, Some(&mut journal));
    let (settings, is_ignored) =
        found.map_err(|problems| mistakes(&problems).hint("nothing is saved until you fix this"))?;
    if is_ignored && !arguments.json {
        printer.warning(
            Warning::new("`[autosave]` of `checkstone.toml` is ignored: the file is not trusted")
                .hint("`checkstone trust` shows what it would do"),
        );
    }
    if !arguments.json {
        warn_of_kinds(&settings, printer);
    }
    let session = session(&mut journal, &repository.root)?;
    let agent = agent(arguments, session.as_ref(), &repository.root);
    let (mut save, turn) =
        prepare(&folder, repository, settings, agent, session.as_ref(), &mut journal, state)?;
    save.no_push = arguments.no_push.then(|| "you passed `--no-push`".to_owned());
    if arguments.dry_run {
        return show(arguments, &save, printer);
    }
    let (report, recorded) =
        save.save(&mut journal, session.as_ref().map(|one| one.id), turn.map(|one| one.id));
    let pushed = match recorded {
        Ok(Some(id)) => {
            let read = journal.read(|reader| {
                let all = reader.recent_autosaves(Some(&save.repository.root), SESSIONS_LOOKED_AT)?;
                Ok((reader.autosave(id)?, all.into_iter().filter_map(|one| one.commit).collect::<Vec<_>>()))
            });
            let (Some(autosave), ours) = read? else {
                return Err(CommandError::failed("the save is not in the journal"));
            };
            if !arguments.json {
                printer.progress("pushing …");
            }
            let EndedPush { ended, state, milliseconds } =
                background::pushed(&autosave, &ours, &save.saving, &save.settings);
            let detail = ended.as_deref().unwrap_or_else(CommandError::message);
            journal.write(|writing| {
                writing.record_push(id, state, detail, milliseconds)?;
                // It is told right here.
                autosave.session.map_or(Ok(Vec::new()), |session| writing.take_untold_pushes(session))
            })?;
            Some(ended)
        }
        Ok(None) => None,
        Err(error) => {
            printer.warning(CommandError::from(error));
            None
        }
    };
    let output = output(&save, &report, pushed.as_ref());
    printer.answer(arguments.json, &output, || text(&report, pushed.as_ref()))?;
    Ok(match (&report.ended, &pushed) {
        (SaveOutcome::Failed(_), _) => ErrorKind::Failed.exit_code(),
        (_, Some(Err(_))) => ExitCode::from(1),
        _ if report.is_incomplete() => ExitCode::from(1),
        _ => ExitCode::SUCCESS,
    })
}

/// A word in the allow list that allows nothing. What an installed gitleaks calls its kinds is not known.
fn warn_of_kinds(settings: &Autosave, printer: &Printer) {
    let is_unknown =
        |word: &&String| !word.contains(':') && autosave::secrets::kinds().all(|kind| kind != *word);
    let unknown: Vec<&str> = settings.allow_secrets.iter().filter(is_unknown).map(String::as_str).collect();
    if !unknown.is_empty() && environment::program("gitleaks").is_none() {
        let warning = format!("`allow_secrets` names no known kind: {}", unknown.join(", "));
        let known: Vec<&str> = autosave::secrets::kinds().collect();
        printer.warning(Warning::new(warning).hint(format!("the kinds are {}", known.join(", "))));
    }
}

/// The session that calls, else the one that was seen last in the repository.
fn session(journal: &mut Journal, root: &Path) -> Result<Option<Session>, CommandError> {
    if let Some(calling) = AgentSession::calling(Some(journal), Some(root))? {
        return calling.recorded(Some(journal));
    }
    let sessions = journal.read(|reader| reader.recent_sessions(SESSIONS_LOOKED_AT))?;
    Ok(sessions.into_iter().find(|session| session.repository.as_deref() == Some(root)))
}

/// The one that was named, else the session's, else the one whose notes lie here.
fn agent(arguments: &AutosaveArguments, session: Option<&Session>, root: &Path) -> Agent {
    let of_session =
        || Agent::ALL.into_iter().find(|agent| session.is_some_and(|session| session.agent == agent.name()));
    let of_notes = || Agent::ALL.into_iter().find(|agent| root.join(autosave::notes_of(*agent)).is_file());
    arguments.agent.map(Agent::from).or_else(of_session).or_else(of_notes).unwrap_or_default()
}

fn prepare(
    folder: &Path,
    repository: changes::Repository,
    settings: Autosave,
    agent: Agent,
    session: Option<&Session>,
    journal: &mut Journal,
    state: PathBuf,
) -> Result<(Save, Option<Turn>), CommandError> {
    let transcript = session.filter(|session| session.agent == agent.name());
    let reading = reading(agent, transcript.and_then(|session| session.transcript.as_deref()));
    let (turn, iteration, before) = match session.map(|session| session.id) {
        Some(session) => journal.read(|reader| {
            let before = reader.last_longer_prompt(session, SHORT_PROMPT)?;
            Ok((reader.latest_turn(session)?, Some(reader.iterations(session)? + 1), before))
        })?,
        None => (None, None, None),
    };
    let baseline: Option<Baseline> = turn
        .as_ref()
        .and_then(|turn| turn.baseline.as_deref())
        .and_then(|bytes| serde_json::from_slice(bytes).ok());
    let request = Request::Turn { baseline: baseline.as_ref(), touched: None };
    let saving = saving_environment::settings(state);
    let set =
        changes::start_in(repository.clone(), &saving.git).and_then(|pending| pending.change_set(request))?;
    let percent = reading.usage.as_ref().and_then(|usage| usage.percent);
    let asked = reading.turn.as_ref().map(|turn| turn.prompt.clone());
    let asked = asked.or_else(|| turn.as_ref().map(|turn| turn.prompt.clone()));
    // Somebody may have switched to another branch since.
    let began = match (&baseline, &turn) {
        (Some(baseline), _) => baseline.branch.clone(),
        (None, Some(turn)) => repository.branch_left_since(turn.opened_at),
        (None, None) => None,
    };
    let elsewhere = began.filter(|branch| set.branch.as_ref().is_some_and(|now| now != branch));
    let inputs = Inputs::of_reading(reading, Changes::Known(set), folder.to_string_lossy().into_owned());
    let occasion = Occasion { at: Timestamp::now(), reason: Reason::Asked, percent, iteration };
    let asked =
        Asked { prompt: asked.as_deref(), before: before.as_deref(), elsewhere: elsewhere.as_deref() };
    let (save, _) = Save::new(repository, settings, saving, agent, occasion, &inputs, asked);
    let save = Save {
        session: session.map(|session| session.client_id.clone()),
        turn_key: turn.as_ref().and_then(|turn| turn.key.clone()),
        ..save.of_turn(turn.as_ref())
    };
    Ok((save, turn))
}

fn reading(agent: Agent, path: Option<&Path>) -> Reading {
    let options = gate::reading_options(Some(agent));
    match path {
        Some(path) => transcript::read(path, &options),
        None => transcript::read_bytes(&[], &options),
    }
}

fn show(arguments: &AutosaveArguments, save: &Save, printer: &Printer) -> Result<ExitCode, CommandError> {
    let git = &save.saving.git;
    let preview = save.preview();
    let (paths, not_committed) = match &preview {
        Ok(preview) => (preview.paths.as_slice(), preview.left_out.as_slice()),
        Err(_) => (&[][..], &[][..]),
    };
    let (notes, section, message) = (save.notes_file(), save.section(), save.message(paths));
    let done = match refusal(save, git).or_else(|| preview.as_ref().err().map(ToString::to_string)) {
        Some(why) => format!("nothing was done, and nothing would be committed: {why}"),
        None => "nothing was done: this was a dry run".to_owned(),
    };
    let push = destination(save, git);
    let output = AutosaveOutput {
        dry_run: true,
        outcome: "shown",
        notes: Some(&notes),
        section: Some(&section),
        message: Some(&message),
        paths: paths.iter().map(ToString::to_string).collect(),
        not_committed,
        not_in_snapshot: &[],
        commit: None,
        branch: save.branch.as_deref(),
        snapshot: None,
        push: PushOutput { state: "none", detail: push },
        milliseconds: 0,
        detail: done,
        remarks: Vec::new(),
    };
    printer.answer(arguments.json, &output, || {
        let paths: Vec<String> = output.paths.iter().map(|path| visible(path)).collect();
        let (notes, push, paths) = (visible(&notes), visible(&output.push.detail), paths.join(", "));
        let (section, message) = (shown(&section), shown(&message));
        let left_out: String =
            not_committed.iter().map(|file| left_out_line("not committed", file)).collect();
        let left_out = if left_out.is_empty() { left_out } else { format!("{left_out}\n") };
        let paths = if paths.is_empty() { "nothing".to_owned() } else { paths };
        let done = visible(&output.detail.replacen('n', "N", 1));
        format!(
            "{STRONG}{notes}{STRONG:#}:\n\n{section}\n\n{STRONG}Commit{STRONG:#} of \
             {paths}:\n\n{FAINT}{message}{FAINT:#}\n\n{left_out}{STRONG}Push{STRONG:#}: {push}\n\n{done}.\n"
        )
    })
}

/// Why nothing would be committed, as far as that can be seen without trying.
fn refusal(save: &Save, git: &changes::GitProgram) -> Option<String> {
    match keeping::commit::in_progress(&save.repository, git) {
        Ok(Some(operation)) => Some(format!("a {operation} is in progress; finish or abort it first")),
        Err(error) => Some(error.to_string()),
        Ok(None) => save.branch.is_none().then(|| "HEAD is on no branch; create one first".to_owned()),
    }
}

/// Where it would be pushed to.
fn destination(save: &Save, git: &changes::GitProgram) -> String {
    if let Some(why) = &save.no_push {
        return format!("none, {why}");
    }
    match PlannedPush::of(&save.repository, git, &save.settings, None) {
        Ok(push) => format!("to `{}` of `{}`{}", push.branch, push.remote, push.consequences),
        Err(why) => format!("none, {why}"),
    }
}

/// What `checkstone autosave --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Autosave"))]
pub(crate) struct AutosaveOutput<'a> {
    dry_run: bool,
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["shown", "saved", "nothing", "failed"])))]
    outcome: &'static str,
    /// The file with the notes, from the root of the repository.
    notes: Option<&'a str>,
    /// The notes as they would be written; only with `--dry-run`.
    section: Option<&'a str>,
    /// The commit's message; only with `--dry-run`.
    message: Option<&'a str>,
    /// What was committed, or would be.
    paths: Vec<String>,
    /// What is not in the commit, or would not be, and why: what looks like a secret, what cannot be read, what you have
    /// staged.
    not_committed: &'a [LeftOut],
    /// What is not in the snapshot, and why.
    not_in_snapshot: &'a [LeftOut],
    commit: Option<&'a str>,
    branch: Option<&'a str>,
    snapshot: Option<&'a str>,
    push: PushOutput,
    milliseconds: u64,
    /// What happened, for a person.
    detail: String,
    /// What else is worth knowing: what was staged and is another version than was committed, what a hook said after it.
    remarks: Vec<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Push"))]
struct PushOutput {
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["none", "started", "pushed", "failed"])))]
    state: &'static str,
    detail: String,
}

fn output<'a>(
    save: &'a Save,
    report: &'a SaveReport,
    pushed: Option<&Result<String, CommandError>>,
) -> AutosaveOutput<'a> {
    let (push, push_detail) = match pushed {
        Some(Ok(detail)) => (PushState::Pushed, detail.as_str()),
        Some(Err(error)) => (PushState::Failed, error.message()),
        None => report.push.state(),
    };
    let saved = report.saved();
    AutosaveOutput {
        dry_run: false,
        outcome: report.outcome().as_str(),
        notes: saved.map(|saved| saved.notes.as_str()),
        section: None,
        message: None,
        paths: saved
            .map_or_else(Vec::new, |saved| saved.commit.paths.iter().map(ToString::to_string).collect()),
        not_committed: report.not_committed(),
        not_in_snapshot: report.not_in_snapshot(),
        commit: saved.map(|saved| saved.commit.id.as_str()),
        branch: saved.map(|saved| saved.commit.branch.as_str()).or(save.branch.as_deref()),
        snapshot: report.snapshot(),
        push: PushOutput { state: push.as_str(), detail: push_detail.to_owned() },
        milliseconds: u64::try_from(report.took.as_millis()).unwrap_or(u64::MAX),
        detail: report.detail(),
        remarks: report.remarks(),
    }
}

/// One file that is missing from what was saved.
fn left_out_line(what: &str, file: &LeftOut) -> String {
    format!("{DOUBTFUL}!{DOUBTFUL:#} {what}: {}\n", visible(&left_out_file(file)))
}

fn text(report: &SaveReport, pushed: Option<&Result<String, CommandError>>) -> String {
    let detail = visible(&report.detail());
    let (style, mark) = match &report.ended {
        SaveOutcome::Saved(_) => (GOOD, '✓'),
        SaveOutcome::Nothing => (FAINT, '·'),
        SaveOutcome::Failed(_) => (BAD, '✗'),
    };
    let mut text = format!("{style}{mark}{style:#} {detail}\n");
    // The sentence has the first ones.
    for file in report.not_committed().iter().skip(MOST_SHOWN) {
        text.push_str(&left_out_line("not committed", file));
    }
    for file in report.not_in_snapshot().iter().skip(MOST_SHOWN) {
        text.push_str(&left_out_line("not in the snapshot", file));
    }
    for remark in report.remarks() {
        text.push_str(&format!("{FAINT}·{FAINT:#} {}\n", visible(&remark)));
    }
    if matches!(&report.ended, SaveOutcome::Failed(failed) if failed.error.is_refusal()) {
        text.push_str(&format!(
            "{STRONG}hint:{STRONG:#} remove it; if it is not a secret, put `{}` on that line, or add its kind \
             or fingerprint to `allow_secrets` in `[autosave]`\n",
            autosave::ALLOW
        ));
    }
    let (style, mark, word, detail) = match (pushed, &report.push) {
        (Some(Ok(detail)), _) => (GOOD, '✓', "pushed", detail.as_str()),
        (Some(Err(error)), _) => (DOUBTFUL, '!', "not pushed", error.message()),
        (None, Push::NotStarted(why) | Push::NotPossible(why)) => (DOUBTFUL, '!', "not pushed", why.as_str()),
        (None, Push::None(Some(why))) => (FAINT, '·', "not pushed", why.as_str()),
        (None, Push::None(None) | Push::Started(_)) => return text,
    };
    text.push_str(&format!("{style}{mark}{style:#} {word}: {}\n", visible(detail)));
    text
}
