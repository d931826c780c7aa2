//! The first boundary: the agent says that it is done. It is held once, with the step that is missing, and passes when
//! that is done. What it leaves undone stays unproven until a run proves that very content.

use serde_json::Value;

use crate::error::CommandError;

use super::played_agent::PlayedAgent;
use super::scratch::DemoFolder;
use super::{Stage, expect};

const FIXED: &str = "# Prints the price of $1 pieces, in cents.\n\
    if [ \"$1\" -gt 3 ]; then echo $(( $1 * 225 )); else echo $(( $1 * 250 )); fi\n";

const CHEAPER: &str = "# Prints the price of $1 pieces, in cents.\n\
    if [ \"$1\" -gt 9 ]; then echo $(( $1 * 200 ))\n\
    elif [ \"$1\" -gt 3 ]; then echo $(( $1 * 225 )); else echo $(( $1 * 250 )); fi\n";

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
    stage.check("held once, because of what it did, not what it said; then released");
    ignored(scratch, stage, &mut agent)
}

/// A hold that the agent ignores, and what becomes of it.
fn ignored(scratch: &DemoFolder, stage: &Stage<'_>, agent: &mut PlayedAgent<'_>) -> Result<(), CommandError> {
    agent.prompt("Make ten pieces cheaper still")?;
    agent.write("price.sh", CHEAPER)?;
    agent.stop("Done.")?;
    stage.tell("In the next turn it is held again, runs nothing, and says “Done, really.” It is released, and you are notified:");
    let passed = agent.stop("Done, really.")?;
    let told = passed.as_ref().and_then(|answer| answer.get("systemMessage")?.as_str()).unwrap_or_default();
    expect(told.contains("Unproven"), "a hold that was ignored was not reported", &shown(passed.as_ref()))?;
    stage.quote(told);
    let verified = scratch.checkstone(&["verify"], "")?;
    expect(verified.code == Some(1), "unproven work was verified", &verified.stdout)?;
    stage.tell(
        "`checkstone verify` reports it too; as a pre-push hook (`init --git-hook`) it would stop the push:",
    );
    stage.quote(&verified.stdout);
    let proven = scratch.checkstone(&["prove", "--", "sh", "test.sh"], "")?;
    expect(proven.code == Some(0), "the tests failed", &proven.stderr)?;
    stage.tell("You run the tests yourself, with `checkstone prove -- sh test.sh`:");
    stage.quote(&format!("{}{}", proven.stdout, proven.stderr));
    let verified = scratch.checkstone(&["verify"], "")?;
    expect(verified.code == Some(0), "proven work was not verified", &verified.stdout)?;
    stage.check("unproven everywhere, until a run proved exactly this content");
    Ok(())
}

pub(super) fn shown(answer: Option<&Value>) -> String {
    answer.map_or_else(|| "the hook said nothing".to_owned(), Value::to_string)
}
