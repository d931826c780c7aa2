//! The second boundary: the context fills up. The hook itself writes the notes, commits and pushes, and the agent is
//! told how to go on.

use std::time::{Duration, Instant};

use crate::error::CommandError;

use super::played_agent::PlayedAgent;
use super::scratch::DemoFolder;
use super::stop::shown;
use super::{Stage, differs, expect};

/// The push runs beside everything else.
const PUSH_LIMIT: Duration = Duration::from_secs(15);

pub(super) fn play(scratch: &DemoFolder, stage: &Stage<'_>) -> Result<(), CommandError> {
    stage.scene(2, "The context fills up");
    let before = scratch.git(&["rev-parse", "HEAD"])?;
    // Something of the person's own is staged, and has to stay so.
    scratch.write("repository/draft.txt", "not ready\n")?;
    scratch.git(&["add", "draft.txt"])?;
    let mut agent = PlayedAgent::new(scratch, "demo-context");
    agent.prompt("Write the invoice")?;
    agent.write("invoice.sh", "sh price.sh \"$1\"\n")?;
    agent.run("sh test.sh")?;
    agent.tokens = 84_000;
    stage.tell(
        "84,000 of 200,000 tokens are in use: over 40 %. At the stop the hook saves, and the agent continues:",
    );
    let answer = agent.stop("The invoice is begun.")?;
    let reason = answer.as_ref().and_then(|answer| answer.get("reason")?.as_str()).unwrap_or_default();
    let head = scratch.git(&["rev-parse", "HEAD"])?;
    let subject = scratch.git(&["log", "-1", "--format=%s"])?;
    let is_saved = head != before && subject.contains("auto-checkpoint") && !reason.is_empty();
    expect(is_saved, "a full context was not saved", &shown(answer.as_ref()))?;
    stage.quote(reason);
    let notes = scratch.read("repository/CLAUDE.md")?;
    expect(notes.contains("## Last Session"), "there are no notes", &notes)?;
    let staged = scratch.git(&["diff", "--cached", "--name-only"])?;
    expect(staged == "draft.txt", "what was staged did not stay staged", &staged)?;
    let saved = scratch.git(&["show", "--name-only", "--format=", "HEAD"])?;
    let is_taken_along = saved.lines().any(|file| file == "draft.txt");
    expect(!is_taken_along, "a file of the person's own was committed", &saved)?;
    let short = head.get(..7).unwrap_or(&head).to_owned();
    stage.check(&format!(
        "committed as {short}: {}; `draft.txt`, staged by you, is still staged",
        saved.replace('\n', ", ")
    ));
    let deadline = Instant::now() + PUSH_LIMIT;
    while scratch.git(&["ls-remote", "origin", "refs/heads/main"])?.split('\t').next() != Some(head.as_str())
    {
        if Instant::now() > deadline {
            return Err(differs("the commit was not pushed", &scratch.git(&["status", "-sb"])?));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    stage.check("pushed to origin in the background; the agent did not wait for it");
    scratch.git(&["rm", "--quiet", "--cached", "draft.txt"])?;
    Ok(())
}
