//! What the turn can have written: what its timeline shows, and what git says of it.

use std::path::{Path, PathBuf};

use change_set::ChangeSet;
use changes::{Baseline, Pending, Request, Touched};
use gate::policy::{JudgedScope, Policy};
use gate::{Changes, Inputs, RecordedCall};
use programs::shell::{Intents, SimpleCommand};
use transcript::{Extent, Kind, Outcome};

/// The files that the timeline shows as written; `None` if nobody knows.
pub(crate) fn touched(inputs: &Inputs) -> Option<Vec<PathBuf>> {
    // A command that edits what it does not name may have touched anything.
    let edits_others =
        |recorded: &RecordedCall| commands(recorded).iter().any(|command| command.edits.others);
    let is_known = inputs.coverage.extent == Extent::Complete && !inputs.calls.iter().any(edits_others);
    is_known.then(|| named(inputs))
}

/// The files that calls name as written.
pub(crate) fn named(inputs: &Inputs) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for recorded in &inputs.calls {
        if matches!(recorded.call.kind, Kind::Edit | Kind::Write) && recorded.call.outcome != Outcome::Error {
            paths.extend(recorded.call.paths.iter().map(PathBuf::from));
        }
        for command in commands(recorded) {
            paths.extend(command.edits.paths.iter().map(PathBuf::from));
        }
    }
    paths
}

/// What a call would run, if it is one of the shell.
pub(crate) fn commands(recorded: &RecordedCall) -> &[SimpleCommand] {
    recorded.intents.as_ref().map(Intents::commands).unwrap_or_default()
}

/// Asks git for what the policy looks at.
pub(crate) fn change_set(
    pending: Result<Pending, changes::Error>,
    policy: &Policy,
    baseline: Option<&Baseline>,
    touched: Option<&[PathBuf]>,
    cwd: &Path,
) -> Result<ChangeSet, changes::Error> {
    let touched = touched.map(|paths| Touched { paths, cwd });
    let request = match policy.gate.scope {
        JudgedScope::Turn => Request::Turn { baseline, touched },
        JudgedScope::Worktree => Request::Worktree,
        JudgedScope::Diff => Request::DiffHead,
    };
    pending.and_then(|pending| pending.change_set(request))
}

/// Leaves out what others did in the same tree meanwhile (C3), where the timeline shows all that the turn can have
/// written: its files are then exactly those that were touched.
pub(crate) fn leave_out_others(inputs: &mut Inputs, touched: Option<&[PathBuf]>, cwd: &Path) {
    let shown = inputs.coverage.extent == Extent::Complete && inputs.calls.iter().all(shows_its_writing);
    if let (true, Some(paths), Changes::Known(set)) = (shown, touched, &mut inputs.changes)
        && set.scope == change_set::Scope::TurnBaseline
    {
        Touched { paths, cwd }.keep_in(set);
    }
}

/// The client's own file tools name what they write, and some commands only look. Anything else may write anywhere.
fn shows_its_writing(recorded: &RecordedCall) -> bool {
    match recorded.call.kind {
        Kind::Read => true,
        Kind::Edit | Kind::Write => !recorded.call.paths.is_empty(),
        Kind::Shell => match &recorded.intents {
            Some(Intents::Understood(commands)) => commands.iter().all(SimpleCommand::surely_writes_nothing),
            _ => false,
        },
        Kind::Other => false,
    }
}
