//! The third boundary: a phase of longer work ends. The next session is told where it goes on.

use crate::error::CommandError;

use super::played_agent::PlayedAgent;
use super::scratch::DemoFolder;
use super::{Stage, expect};

pub(super) fn play(scratch: &DemoFolder, stage: &Stage<'_>) -> Result<(), CommandError> {
    stage.scene(3, "A phase of a workflow ends");
    for arguments in [
        &["workflow", "start", "implement", "--feature", "invoice"][..],
        &[
            "workflow",
            "phase",
            "implement",
            "implementation",
            "--feature",
            "invoice",
            "--status",
            "complete",
            "--summary",
            "The invoice prints one line per item; taxes are not in it yet.",
        ],
    ] {
        let said = scratch.checkstone(arguments, "")?;
        expect(said.code == Some(0), &format!("`checkstone {}`", arguments.join(" ")), said.stderr.trim())?;
    }
    stage.tell("The first phase is complete, and the session ends. The next one begins with:");
    let told = PlayedAgent::new(scratch, "demo-next-day").begin()?.unwrap_or_default();
    let is_told = told.contains("validation") && told.contains("taxes are not in it yet");
    expect(is_told, "the next session was not told where to resume", &told)?;
    stage.quote(&told);
    stage.check("the phase to continue with, and the result of the one before");
    Ok(())
}
