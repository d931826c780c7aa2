//! Failures that say nothing about the code: answers by exit status (E8), looking for what is not there, trying
//! something out, calls that the client did not carry out.

use programs::Deed;
use programs::shell::{Intents, SimpleCommand};
use transcript::{Call, Kind};

use crate::inputs::RecordedCall;
use crate::rules::chain;
use crate::rules::printed::Printed;

/// The client did not carry the call out at all: a mistake of the agent's form, not of the code.
pub(super) fn is_refused(call: &Call) -> bool {
    let printed = call.snippet.as_deref().unwrap_or_default();
    [
        "<tool_use_error>InputValidationError",
        "<tool_use_error>Blocked",
        "unsupported call",
        "Permission to use",
        "Claude requested permissions",
        "exec command rejected by user",
        "params must have required",
    ]
    .iter()
    .any(|refusal| printed.starts_with(refusal))
        || (call.kind == Kind::Shell && call.command.is_none())
}

/// The agent itself bounded the time of something that does not end, such as a server.
pub(super) fn ran_out_of_time(recorded: &RecordedCall) -> bool {
    let bounded = recorded.call.command.as_deref().is_some_and(|command| {
        command.split(|character: char| !character.is_alphanumeric()).any(|word| word == "timeout")
    });
    bounded && recorded.call.exit_code == Some(124)
}

/// Ended by a signal such as an agent sends to a server that it started.
pub(super) fn was_ended(recorded: &RecordedCall) -> bool {
    const INTERRUPTED: i32 = 130;
    const KILLED: i32 = 137;
    const TERMINATED: i32 = 143;
    matches!(recorded.call.exit_code, Some(INTERRUPTED | KILLED | TERMINATED))
}

/// Whether the call ends other processes.
pub(super) fn ends_others(recorded: &RecordedCall) -> bool {
    let commands = recorded.intents.as_ref().map(Intents::commands).unwrap_or_default();
    matches!(recorded.call.tool.as_str(), "TaskStop" | "KillShell" | "KillBash")
        || commands.iter().any(|command| command.deed() == Deed::Ends)
}

/// Programs that answer a question by their exit status (E8), unless they say that a file was missing or denied.
pub(super) fn answers(recorded: &RecordedCall) -> bool {
    if recorded.call.exit_code.is_some_and(|code| code != 1) {
        return false;
    }
    let printed = recorded.call.snippet.as_deref().unwrap_or_default();
    let could_not_look =
        ["No such file", "Permission denied", "Is a directory"].iter().any(|text| printed.contains(text));
    !could_not_look
        && all_suspects(recorded, SimpleCommand::only_looks)
        && chain::suspects(recorded).into_iter().any(SimpleCommand::asks)
}

/// Why what failed was not the command itself: it was not found, found nothing to do, or its folder was not there (W19).
pub(in crate::rules) fn why_not_done(recorded: &RecordedCall) -> Option<&'static str> {
    const MISUSED: i32 = 4;
    const NOTHING_COLLECTED: i32 = 5;
    const NOT_EXECUTABLE: i32 = 126;
    const NOT_FOUND: i32 = 127;
    const BROKEN_PIPE: i32 = 141;
    let printed = recorded.call.snippet.as_deref().unwrap_or_default();
    let suspects = chain::suspects(recorded);
    let runs = |program: &str| suspects.iter().any(|command| command.program == program);
    let is_lost = runs("cd")
        && printed.lines().any(|line| {
            let line = line.to_lowercase();
            line.contains("cd:") && line.contains("no such file")
        });
    let shown = Printed::of(recorded);
    let has_nothing_to_run =
        ["Missing script:", "go: no such tool "].iter().any(|words| printed.contains(words));
    match recorded.call.exit_code {
        Some(NOT_EXECUTABLE | NOT_FOUND) => Some("the program was not found"),
        Some(BROKEN_PIPE) => Some("its output was cut off before it ended"),
        Some(NOTHING_COLLECTED) if runs("pytest") => Some("it collected no tests"),
        Some(MISUSED) if runs("pytest") => Some("it rejected its command line"),
        _ if has_nothing_to_run && shown.tests().is_none() => Some("what it should run is not defined"),
        _ if is_lost => Some("its folder does not exist"),
        _ if ran_out_of_time(recorded) => Some("it ran out of time"),
        _ if shown.did_not_start() => Some("it did not start, or rejected its command line"),
        _ => shown.ran_nothing().then_some("no tests ran"),
    }
}

fn all_suspects(recorded: &RecordedCall, holds: impl Fn(&SimpleCommand) -> bool) -> bool {
    let suspects = chain::suspects(recorded);
    !suspects.is_empty() && suspects.into_iter().all(holds)
}
