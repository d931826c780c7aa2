//! `checkstone statusline`: the line that Claude Code shows below its prompt. It is also the only one who is told how
//! large the context window is, so it remembers that for the hook.

use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use agents::agent_that;
use autosave::told_window;
use changes::Repository;
use gate::Decision;
use journal::{Journal, OpenFor, SeenSession};
use serde_json::Value;
use text::counted;
use transcript::Agent;

use crate::environment;
use crate::error::CommandError;
use crate::printer::{BAD, DOUBTFUL, FAINT, GOOD, Printer};
use crate::unproven_work::UnprovenWork;

/// Print the status line of Claude Code: how full the context is, and the gate's last verdict
///
/// Claude Code calls this with its state on stdin. It remembers the size of the context window, which hooks do not
/// get. `checkstone init --statusline` puts it into the settings, unless you have a status line of your own; that one can call
/// this program and use its output.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone init --agent claude --statusline
  echo \"$INPUT\" | checkstone statusline")]
pub(crate) struct StatuslineArguments {}

/// Nothing that a client tells is longer.
const LARGEST: u64 = 1024 * 1024;

/// What the client tells. Whatever it does not tell is left out of the line.
struct StatuslinePayload(Value);

impl StatuslinePayload {
    fn text(&self, pointer: &str) -> Option<&str> {
        self.0.pointer(pointer)?.as_str()
    }

    /// As the hook counts it.
    fn percent(&self) -> Option<u64> {
        let used = self.0.pointer("/context_window/current_usage")?;
        let parts = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
        let counts = parts.iter().filter_map(|part| used.get(part)?.as_u64());
        counts.fold(0_u64, u64::saturating_add).saturating_mul(100).checked_div(self.window()?)
    }

    fn window(&self) -> Option<u64> {
        self.0.pointer("/context_window/context_window_size")?.as_u64().filter(|tokens| *tokens > 0)
    }
}

/// A line is printed in any case: an empty one would make the client's own line jump.
pub(crate) fn run(_: &StatuslineArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let mut bytes = Vec::new();
    let _ = std::io::stdin().take(LARGEST).read_to_end(&mut bytes);
    let told = StatuslinePayload(serde_json::from_slice(&bytes).unwrap_or_default());
    let mut parts = Vec::new();
    if let Some(percent) = told.percent() {
        let style = match percent {
            0..40 => GOOD,
            40..80 => DOUBTFUL,
            _ => BAD,
        };
        parts.push(format!("{style}context {percent} %{style:#}"));
    }
    if environment::is_switched_off() {
        parts.push(format!("{FAINT}off{FAINT:#}"));
    } else {
        let (last, unproven) = last_verdict(&told);
        match (last, unproven) {
            (Some(Decision::Hold), None) => parts.push(format!("{DOUBTFUL}held{DOUBTFUL:#}")),
            (_, Some(files)) => parts.push(format!("{BAD}unproven: {files}{BAD:#}")),
            (Some(Decision::Pass | Decision::Notify), None) => parts.push(format!("{GOOD}clear{GOOD:#}")),
            (None, None) => {}
        }
    }
    let line = if parts.is_empty() { "ready".to_owned() } else { parts.join(" · ") };
    // The client shows colours, though it is no terminal.
    printer.data(&format!("checkstone: {line}\n"));
    Ok(ExitCode::SUCCESS)
}

/// What the gate said last in this session, and how many files are unproven where it works; on the way, the size of the
/// window is remembered. Where the journal cannot be used, the line is shorter.
fn last_verdict(told: &StatuslinePayload) -> (Option<Decision>, Option<String>) {
    let opened = || Journal::open(&environment::state_directory()?, OpenFor::Hook).ok();
    let (Some(client_id), Some(mut journal)) = (told.text("/session_id"), opened()) else {
        return (None, None);
    };
    let folder = told.text("/workspace/current_dir").or_else(|| told.text("/cwd"));
    let repository = folder.and_then(|folder| Repository::discover(Path::new(folder)).ok());
    let here = repository.as_ref().and_then(|one| UnprovenWork::of_repository(&mut journal, one).ok());
    let session = journal.read(|reader| reader.session(client(), client_id)).ok().flatten();
    let own = repository.as_ref().map(|repository| repository.root.as_path());
    let beside = session.and_then(|session| UnprovenWork::beside(&mut journal, session.id, own).ok());
    let all = here.into_iter().chain(beside.into_iter().flatten().map(|(_, unproven)| unproven));
    let files: usize = all.map(|unproven| unproven.files()).sum();
    let unproven = (files > 0).then(|| counted(files, "file"));
    (last_of_session(told, client_id, &mut journal), unproven)
}

/// The client that shows the line.
fn client() -> &'static str {
    agent_that(|host| host.can.has_status_line).map_or("", Agent::name)
}

fn last_of_session(told: &StatuslinePayload, client_id: &str, journal: &mut Journal) -> Option<Decision> {
    let agent = client();
    let model = told.text("/model/id");
    let (session, verdict) = journal
        .read(|reader| {
            let Some(session) = reader.session(agent, client_id)? else { return Ok((None, None)) };
            let last = reader.verdicts_of_last_stop(session.id)?;
            let is_held = last.iter().any(|verdict| verdict.decision == Decision::Hold);
            let last = last.first().map(|last| if is_held { Decision::Hold } else { last.decision });
            let known = match told.window() {
                Some(tokens) => told_window::is_known(reader, session.id, tokens, model)?,
                None => true,
            };
            Ok((Some(known), last))
        })
        .ok()?;
    if let (Some(tokens), false) = (told.window(), session == Some(true)) {
        let seen = SeenSession { agent, client_id, directory: None, repository: None, transcript: None };
        let now = jiff::Timestamp::now();
        let _ = journal.write(|writing| {
            let session = writing.see_session(&seen, now)?;
            told_window::remember(writing, session.id, tokens, model)
        });
    }
    verdict
}
