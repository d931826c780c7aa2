//! R5 to the letter: a failure is addressed by a later command that is the same or names the same file or module,
//! and by a later edit of the file; whether that went well does not matter.

use programs::shell::{Intents, Word};
use transcript::Kind;

use super::repeated;
use crate::inputs::RecordedCall;
use crate::work::Work;

pub(super) fn follows(failure: &RecordedCall, later: &RecordedCall, work: &Work<'_>) -> bool {
    match later.call.kind {
        Kind::Shell => is_same_command(failure, later) || names_same_area(failure, later),
        Kind::Edit | Kind::Write => edits_same_file(failure, later, work),
        Kind::Read | Kind::Other => repeated::is_same(&failure.call, &later.call),
    }
}

/// The second `pytest` of a turn addresses the first.
fn is_same_command(failure: &RecordedCall, later: &RecordedCall) -> bool {
    let commands = later.intents.as_ref().map(Intents::commands).unwrap_or_default();
    repeated::is_same(&failure.call, &later.call)
        || repeated::suspects(failure)
            .iter()
            .any(|suspect| commands.iter().any(|command| command.is_same_use(suspect)))
}

fn names_same_area(failure: &RecordedCall, later: &RecordedCall) -> bool {
    const SHORTEST: usize = 3;
    let Some(command) = &later.call.command else { return false };
    let area = |path: &str| {
        let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or(path).to_owned();
        name.rsplit_once('.').map_or(name.clone(), |(stem, _)| stem.to_owned())
    };
    files(failure).into_iter().map(area).any(|stem| stem.len() >= SHORTEST && command.contains(&stem))
}

fn edits_same_file(failure: &RecordedCall, later: &RecordedCall, work: &Work<'_>) -> bool {
    let printed = failure.call.snippet.as_deref().unwrap_or_default();
    let named: Vec<String> = files(failure).into_iter().map(|path| work.paths().one(path)).collect();
    later.call.paths.iter().map(|path| work.paths().one(path)).any(|path| {
        // `a.py::test_b` is in `a.py`.
        named.iter().any(|name| name.split("::").next() == Some(path.as_str())) || printed.contains(&path)
    })
}

/// The files that the failed call names.
fn files(failure: &RecordedCall) -> Vec<&str> {
    let commands = failure.intents.as_ref().map(Intents::commands).unwrap_or_default();
    let words = commands.iter().flat_map(|command| &command.arguments).map(Word::text);
    let words = words.filter(|word| !word.starts_with('-') && word.contains(['/', '.']));
    failure.call.paths.iter().map(String::as_str).chain(words).collect()
}
