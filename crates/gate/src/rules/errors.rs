//! Unresolved errors (R5), in two layers: only a call that the client recorded as failed is a candidate, and
//! only one that nothing later settled is told; what it printed then chooses the sentence. The output of calls
//! that succeeded is never looked at.

use transcript::{Call, Kind, Outcome};

use super::{Expectation, Seen};
use crate::inputs::RecordedCall;
use crate::policy::{Policy, ResolvedBy};
use crate::shell::{Failed, Intents, SimpleCommand};
use crate::verdict::{Evidence, Observation, Rule};
use crate::work::Work;

/// A call that failed; what would satisfy the rule is that the same goes well later.
pub(crate) type Failure<'a> = &'a RecordedCall;

/// Every failure, and what settled it.
pub(crate) fn expectations<'a>(policy: &Policy, work: &Work<'a>) -> Vec<Expectation<Failure<'a>>> {
    let mut expectations = Vec::new();
    for (number, recorded) in work.calls() {
        if !is_candidate(policy, recorded) {
            continue;
        }
        let later: Vec<&RecordedCall> =
            work.calls().filter(|(place, _)| *place > number).map(|(_, call)| call).collect();
        let settled = match policy.gate.resolved_by {
            ResolvedBy::Success => later.iter().find(|call| settles(recorded, call, work)),
            ResolvedBy::Attempt => later.iter().find(|call| attempts(recorded, call, work)),
        };
        // Failing again is one observation, about the last time.
        let again = later
            .iter()
            .any(|call| is_same(&recorded.call, &call.call) && call.call.outcome == Outcome::Error);
        let seen = match settled {
            Some(by) => Seen::Evidence(Evidence { command: shown(&by.call), line: by.call.line }),
            None if again => continue,
            None => Seen::Nothing,
        };
        expectations.push(Expectation { subject: recorded, seen });
    }
    expectations
}

/// What is told of a failure that nothing settled.
pub(crate) fn observation(policy: &Policy, failure: Failure<'_>) -> Observation {
    let printed = failure.call.snippet.as_deref().unwrap_or_default();
    let commands = failure.intents.as_ref().map(Intents::commands).unwrap_or_default();
    let sentence = policy.errors.iter().find(|error| {
        let prints =
            error.contains.is_empty() || error.contains.iter().any(|text| printed.contains(text.as_str()));
        let ran = error.ran.is_empty()
            || error.ran.iter().any(|pattern| commands.iter().any(|command| pattern.matches(command)));
        prints && ran
    });
    let text = match sentence {
        Some(error) => error.say.clone(),
        None => "A command returned errors — verify the issue is resolved".to_owned(),
    };
    let what = shown(&failure.call);
    let text = if what.is_empty() { text } else { format!("{text} (`{what}`)") };
    Observation { rule: Rule::UnresolvedError, text, line: failure.call.line }
}

/// The command in one short line.
pub(crate) fn shown(call: &Call) -> String {
    const LONGEST: usize = 80;
    let text = match (&call.command, call.kind) {
        (Some(command), Kind::Shell) => command.split_whitespace().collect::<Vec<_>>().join(" "),
        _ => [call.tool.as_str(), call.path.as_deref().unwrap_or_default()].join(" ").trim().to_owned(),
    };
    let text = text.replace('`', "'");
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}

fn is_candidate(policy: &Policy, recorded: &RecordedCall) -> bool {
    let call = &recorded.call;
    if call.outcome != Outcome::Error || call.user_stopped {
        return false;
    }
    if policy.gate.resolved_by == ResolvedBy::Attempt {
        return true;
    }
    match call.kind {
        Kind::Shell => !is_refused(call) && !answers_by_failing(recorded),
        // Editing what is not there leaves the code as it was, but the agent believes otherwise.
        Kind::Edit | Kind::Write => !is_refused(call),
        // Looking for a file that is not there, or a tool that does not exist, breaks nothing.
        Kind::Read | Kind::Other => false,
    }
}

/// The client did not carry the call out at all: a mistake of the agent's form, not of the code.
fn is_refused(call: &Call) -> bool {
    let printed = call.snippet.as_deref().unwrap_or_default();
    [
        "<tool_use_error>InputValidationError",
        "<tool_use_error>Blocked",
        "unsupported call",
        "params must have required",
    ]
    .iter()
    .any(|refusal| printed.starts_with(refusal))
        || (call.kind == Kind::Shell && call.command.is_none())
}

/// Programs that answer a question by their exit status (E8), unless they say that a file was missing or denied.
fn answers_by_failing(recorded: &RecordedCall) -> bool {
    const ANSWERS: &[&str] =
        &["grep", "egrep", "fgrep", "rg", "diff", "test", "[", "[[", "cmp", "pgrep", "which", "command"];
    if recorded.call.exit_code.is_some_and(|code| code != 1) {
        return false;
    }
    let printed = recorded.call.snippet.as_deref().unwrap_or_default();
    if printed.contains("No such file")
        || printed.contains("Permission denied")
        || printed.contains("Is a directory")
    {
        return false;
    }
    let Some(intents) = &recorded.intents else { return false };
    let answers = |command: &SimpleCommand| ANSWERS.contains(&command.program.as_str());
    match intents.explained_failure() {
        Failed::Known(command) => answers(command),
        Failed::OneOf(commands) => commands.iter().all(|command| answers(command)),
        Failed::Unknown => false,
    }
}

/// Whether all that can have failed only reads.
fn only_looked(recorded: &RecordedCall) -> bool {
    const LOOKS: &[&str] = &[
        "cat", "cd", "cmp", "command", "diff", "du", "egrep", "fgrep", "file", "find", "grep", "head",
        "less", "ls", "pgrep", "pwd", "readlink", "realpath", "rg", "stat", "tail", "test", "tree", "type",
        "wc", "which", "[", "[[",
    ];
    let looks =
        |command: &SimpleCommand| LOOKS.contains(&command.program.as_str()) && command.edits.is_nothing();
    match recorded.intents.as_ref().map(Intents::explained_failure) {
        Some(Failed::Known(command)) => looks(command),
        Some(Failed::OneOf(commands)) => commands.iter().all(|command| looks(command)),
        _ => false,
    }
}

fn is_same(one: &Call, other: &Call) -> bool {
    let words =
        |call: &Call| call.command.as_ref().map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    match one.kind {
        Kind::Shell => other.kind == Kind::Shell && words(one) == words(other),
        _ => one.tool == other.tool && one.paths == other.paths,
    }
}

/// Whether a later call shows that the failure is over (E9).
fn settles(failure: &RecordedCall, later: &RecordedCall, work: &Work<'_>) -> bool {
    if later.call.outcome != Outcome::Ok || later.call.user_stopped {
        return false;
    }
    if is_same(&failure.call, &later.call) {
        return true;
    }
    match failure.call.kind {
        // Whoever looked for something that was not there, and went on, found another way.
        Kind::Shell if only_looked(failure) => true,
        Kind::Shell => passes_what_failed(failure, later),
        _ => names_same_file(failure, later, work),
    }
}

/// A later command that provably ran what failed: the same program with no argument that the failing one lacked,
/// so that it did at least as much.
fn passes_what_failed(failure: &RecordedCall, later: &RecordedCall) -> bool {
    let (Some(failed), Some(passed)) = (&failure.intents, &later.intents) else { return false };
    let suspects: Vec<&SimpleCommand> = match failed.explained_failure() {
        Failed::Known(command) => vec![command],
        Failed::OneOf(commands) => commands,
        Failed::Unknown => return false,
    };
    suspects.iter().all(|suspect| {
        passed.proven_by_success().any(|proven| {
            proven.program == suspect.program
                && proven.directory == suspect.directory
                && proven.arguments.iter().all(|argument| suspect.arguments.contains(argument))
        })
    })
}

fn names_same_file(failure: &RecordedCall, later: &RecordedCall, work: &Work<'_>) -> bool {
    let one = |path: &String| work.paths().one(path);
    matches!(later.call.kind, Kind::Edit | Kind::Write)
        && failure.call.paths.iter().any(|path| later.call.paths.iter().any(|other| one(other) == one(path)))
}

/// R5 to the letter: a later command that is the same or names the same file, or an edit of the same file.
fn attempts(failure: &RecordedCall, later: &RecordedCall, work: &Work<'_>) -> bool {
    if is_same(&failure.call, &later.call) || names_same_file(failure, later, work) {
        return true;
    }
    let programs = |recorded: &RecordedCall| -> Vec<String> {
        let commands = recorded.intents.as_ref().map(Intents::commands).unwrap_or_default();
        commands.iter().map(|command| command.program.clone()).collect()
    };
    if later.call.kind == Kind::Shell
        && programs(failure).iter().any(|program| programs(later).contains(program))
    {
        return true;
    }
    let Some(command) = &later.call.command else { return false };
    let area = |path: &String| {
        let name = path.rsplit('/').next().unwrap_or(path);
        name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned()
    };
    failure.call.paths.iter().map(area).any(|stem| stem.len() > 2 && command.contains(&stem))
}
