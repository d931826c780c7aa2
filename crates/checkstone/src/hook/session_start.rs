//! A session begins: where a workflow or a run here is unfinished, the agent is told where it goes on, and the person that
//! it was. Once a session; again only where the client threw away what the agent knew.

use std::path::Path;
use std::time::Duration;

use agents::{Answer, host};
use checkpoint::layout::Layout;
use journal::{Journal, NotedRun, OpenFor};
use run::control;
use run::state::RunState;
use sha2::{Digest, Sha256};
use stop::{ClientEvent, SAME_DELIVERY, Workplace};
use transcript::visible;
use workflow::StateDirectory;

/// The agent is told more; the person only needs to know that it was.
const TO_PERSON: &str = "[checkstone] Unfinished work was found here, and the agent was told where to resume it (`checkstone status`).";

/// Longer than any session is gone on with.
const WHOLE_SESSION: Duration = Duration::from_secs(366 * 24 * 60 * 60);

pub(crate) fn tell(event: &ClientEvent, source: &str, workplace: Workplace) -> Answer {
    if workplace.is_switched_off() {
        return Answer::Pass;
    }
    let root = workplace.repository_root().map(Path::to_owned);
    // Git is asked only where its files do not tell what HEAD is.
    let state = StateDirectory::at(&event.cwd, workplace.repository, &event.settings.git);
    let workflow = state.session_start();
    let is_forgotten = host(event.payload.agent).payload.forgets_at.contains(&source);
    // A session can be gone on with within seconds of its beginning, and that is another event.
    let (window, again) = if is_forgotten { (SAME_DELIVERY, source) } else { (WHOLE_SESSION, "") };
    let project = root.as_deref().unwrap_or(&event.cwd);
    let mut text = workflow.clone();
    let is_new = Journal::open(&event.settings.state, OpenFor::Hook).and_then(|mut journal| {
        journal.write(|writing| {
            let session = writing.see_session(&event.seen(root.as_deref()), event.now)?;
            let runs = writing.recent_runs(project, 1)?;
            let run = runs.first().and_then(|noted| unfinished_run(project, noted));
            text = match (workflow, run) {
                (Some(workflow), Some(run)) => Some(format!("{}\n\n{run}", workflow.trim_end())),
                (workflow, run) => workflow.or(run),
            };
            match text.as_deref().map(|text| fingerprint(text, again)) {
                Some(fingerprint) => writing.first_delivery(session.id, &fingerprint, event.now, window),
                None => Ok(false),
            }
        })
    });
    if let Err(error) = &is_new {
        let what = if text.is_some() { "resume point" } else { "pass" };
        event.log(what, &format!("not recorded: {error}"));
    }
    match text {
        // Told twice is better than not at all.
        Some(to_agent) if is_new.unwrap_or(true) => {
            Answer::Context { to_agent, to_person: TO_PERSON.to_owned() }
        }
        _ => Answer::Pass,
    }
}

/// What an agent is told of the newest run, where it can be resumed. The journal leads to it; its own files say whether it
/// is still there and whether somebody runs it now.
fn unfinished_run(project: &Path, noted: &NotedRun) -> Option<String> {
    if noted.state == RunState::Completed.name() {
        return None;
    }
    let layout = Layout::new(project, &noted.title, &noted.run).ok()?;
    if !layout.events().is_file() || control::is_taken(&layout) {
        return None;
    }
    // In progress, and in nobody's hands: its supervisor was lost.
    let state = if noted.state == RunState::InProgress.name() { "INTERRUPTED" } else { &noted.state };
    Some(format!(
        "The run `{run}` of `{title}` is {state} and can be resumed: `checkstone resume {word}` continues exactly where \
         it stopped; completed stages are not run again.",
        word = text::shell_word(&noted.run),
        run = visible(&noted.run),
        title = visible(&noted.title),
    ))
}

fn fingerprint(text: &str, again: &str) -> String {
    format!("resume-point:{again}:{}", text::head(&text::hexadecimal(&Sha256::digest(text)), 16))
}
