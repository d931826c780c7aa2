//! The first boundary: the agent says that it is done. It is held once, with the step that is missing, and passes when
//! that is done.

use serde_json::Value;

use crate::error::CommandError;

use super::played_agent::PlayedAgent;
use super::scratch::DemoFolder;
use super::{Stage, expect};

const FIXED: &str = "# Prints the price of $1 pieces, in cents.\n\
    if [ \"$1\" -gt 3 ]; then echo $(( $1 * 225 )); else echo $(( $1 * 250 )); fi\n";

pub(super) fn play(scratch: &DemoFolder, stage: &Stage<'_>) -> Result<(), CommandError> {
    stage.scene(1, "The agent wants to stop");
    let mut agent = PlayedAgent::new(scratch, "demo-stop");
    agent.prompt("Make four pieces or more 10 % cheaper")?;
    agent.write("price.sh", FIXED)?;
    stage.tell(
        "The agent edits `price.sh`, runs nothing, and says “Done, four pieces are cheaper now.” It is held:",
    );
    let held = agent.stop("Done, four pieces are cheaper now.")?;
    let reason = held.as_ref().and_then(|answer| answer.get("reason")?.as_str()).unwrap_or_default();
    let is_held = held.as_ref().and_then(|answer| answer.get("decision")?.as_str()) == Some("block");
    let names_step = reason.contains("sh test.sh");
    expect(is_held && names_step, "a turn without tests was not held", &shown(held.as_ref()))?;
    stage.quote(reason);
    let tests = agent.run("sh test.sh")?;
    expect(tests.code == Some(0), "the tests failed", &tests.stderr)?;
    stage.tell(&format!("The agent runs them (`{}`), and stops again:", tests.stdout.trim()));
    let passed = agent.stop("The tests pass.")?;
    let is_held = passed.as_ref().is_some_and(|answer| answer.get("decision").is_some());
    expect(!is_held, "a turn whose tests passed was held", &shown(passed.as_ref()))?;
    stage.check("held once, by what it did and not by what it said; then let go");
    Ok(())
}

pub(super) fn shown(answer: Option<&Value>) -> String {
    answer.map_or_else(|| "the hook said nothing".to_owned(), Value::to_string)
}
