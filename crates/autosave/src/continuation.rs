//! What the agent is told when notes on its work were committed: what was done, the task, what is next, the build, open errors. And
//! what it is told where nothing could be committed: to do it itself.

use text::OWN_PREFIX;

use crate::facts::Facts;
use crate::plain::line;

/// What a client takes for the command `/checkpoint`, by the words of the script that this replaces.
pub const SIGNAL: &str = "<command-name>/checkpoint</command-name>";

/// Some clients cut longer texts in the middle.
const LONGEST: usize = 6 * 1024;

/// The prompt with which the agent goes on. `saved` says what was done, in sentences.
pub fn continuation(facts: &Facts, saved: &str) -> String {
    let mut text = format!("{OWN_PREFIX} {saved}\n\nContinue with the task.\n");
    describe(facts, &mut text);
    text.push_str("If all of it is done, say so and stop.");
    text::shortened_to_bytes(text, LONGEST)
}

/// The prompt where direct execution failed: why, and the signal.
pub fn signal(facts: &Facts, why: &str) -> String {
    let why = line(why, 600);
    let mut text = format!(
        "{OWN_PREFIX} The context is filling up, and {why}.\n{SIGNAL}\n\nNote in a few lines what was done and what is next, \
         commit that, then continue with the task.\n"
    );
    describe(facts, &mut text);
    text::shortened_to_bytes(text, LONGEST)
}

fn describe(facts: &Facts, text: &mut String) {
    let mut item = |name: &str, value: &str| text.push_str(&format!("- {name}: {value}\n"));
    if let Some(asked) = &facts.asked {
        item("Task", asked);
    }
    if let Some(next) = &facts.next {
        item("Next item of `buildguide.md`", next);
    }
    if let Some(build) = &facts.build {
        item("Build", &line(&build.sentence(), 400));
    }
    for error in &facts.errors {
        item("Open error", error);
    }
}
