//! What failed in `cargo test && git commit`, where the client only knows that the whole did: a runner whose own
//! summary tells of a pass did not, and neither did what had to succeed before it.

use outputs::Summary;
use programs::Deed;
use programs::shell::{Attribution, Failed, Intents, SimpleCommand};
use transcript::Outcome;

use crate::inputs::RecordedCall;

/// Everything that can have failed in a call that failed.
pub(crate) fn suspects(recorded: &RecordedCall) -> Vec<&SimpleCommand> {
    let suspects = all_suspects(recorded);
    if is_refused_push(recorded)
        && let Some(push) = suspects.iter().copied().find(|command| is_push(command))
    {
        return vec![push];
    }
    match passed_runner(recorded, &suspects) {
        Some(place) => suspects.get(place + 1..).unwrap_or_default().to_vec(),
        None => suspects,
    }
}

/// Whether the command is a runner that passed although the whole failed.
pub(crate) fn passed_all_the_same(recorded: &RecordedCall, command: &SimpleCommand) -> bool {
    let suspects = all_suspects(recorded);
    let passed = passed_runner(recorded, &suspects).and_then(|place| suspects.get(place));
    recorded.call.outcome == Outcome::Error && passed.is_some_and(|runner| std::ptr::eq(*runner, command))
}

/// Git's own words about a push, which comes after the commit.
fn is_refused_push(recorded: &RecordedCall) -> bool {
    let printed = recorded.call.snippet.as_deref().unwrap_or_default();
    ["has no upstream branch", "failed to push some refs", "No configured push destination"]
        .iter()
        .any(|words| printed.contains(words))
}

fn is_push(command: &SimpleCommand) -> bool {
    command.deed() == Deed::Pushes
}

fn all_suspects(recorded: &RecordedCall) -> Vec<&SimpleCommand> {
    match recorded.intents.as_ref().map(Intents::explained_failure) {
        Some(Failed::Known(command)) => vec![command],
        Some(Failed::OneOf(commands)) => commands,
        Some(Failed::Unknown) | None => Vec::new(),
    }
}

/// The runner that the summary is from, where something comes after it that can have failed instead.
fn passed_runner(recorded: &RecordedCall, suspects: &[&SimpleCommand]) -> Option<usize> {
    let is_runner =
        |command: &&SimpleCommand| command.may_print_summary() && command.attribution == Attribution::Decides;
    // Two runners: it is not known whose summary it is.
    let place = suspects.iter().position(is_runner)?;
    let alone = suspects.iter().filter(|command| is_runner(command)).count() == 1;
    if !alone || place + 1 == suspects.len() {
        return None;
    }
    let printed = recorded.call.snippet.as_deref().and_then(outputs::read);
    matches!(printed, Some(Summary::Passed { .. })).then_some(place)
}
