//! Gathers what the gate judges, beside the policy: the timeline, the change set, the plan of the work item. Shared
//! by the hook and by `checkstone check`.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use change_set::ChangeSet;
use changes::{Baseline, Pending, Request, Touched};
use gate::policy::{Policy, Scope};
use gate::{Changes, Inputs, PlanFile, RecordedCall};
use programs::shell::{Intents, SimpleCommand, Word};
use transcript::{Extent, Kind, Outcome};

use crate::environment;

/// A larger plan is not read to its end.
const LARGEST_PLAN: u64 = 256 * 1024;

/// The files that the timeline shows as written; `None` where nobody knows.
pub(crate) fn touched(inputs: &Inputs) -> Option<Vec<PathBuf>> {
    if inputs.coverage.extent != Extent::Complete {
        return None;
    }
    let mut paths = Vec::new();
    for recorded in &inputs.calls {
        if matches!(recorded.call.kind, Kind::Edit | Kind::Write) && recorded.call.outcome != Outcome::Error {
            paths.extend(recorded.call.paths.iter().map(PathBuf::from));
        }
        let commands = recorded.intents.as_ref().map(Intents::commands).unwrap_or_default();
        for command in commands {
            // A command that edits what it does not name may have touched anything.
            if command.edits.others {
                return None;
            }
            paths.extend(command.edits.paths.iter().map(PathBuf::from));
        }
    }
    Some(paths)
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
        Scope::Turn => Request::Turn { baseline, touched },
        Scope::Worktree => Request::Worktree,
        Scope::Diff => Request::DiffHead,
    };
    pending.and_then(|pending| pending.change_set(request))
}

/// The change set as the gate takes it.
pub(crate) fn known(changed: Result<ChangeSet, changes::Error>) -> Changes {
    match changed {
        Ok(set) => Changes::Known(set),
        Err(error) => Changes::Unknown(error.to_string()),
    }
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
            Some(Intents::Understood(commands)) => commands.iter().all(only_looks),
            _ => false,
        },
        Kind::Other => false,
    }
}

fn only_looks(command: &SimpleCommand) -> bool {
    if !command.edits.is_nothing() {
        return false;
    }
    let subcommand = command.arguments.first().and_then(Word::known);
    match command.program.as_str() {
        "cat" | "cd" | "cmp" | "cut" | "diff" | "echo" | "file" | "grep" | "head" | "ls" | "nl"
        | "printf" | "pwd" | "rg" | "stat" | "tail" | "test" | "tree" | "true" | "wc" | "which" => true,
        "sed" => subcommand == Some("-n"),
        "git" => matches!(subcommand, Some("blame" | "diff" | "log" | "ls-files" | "show" | "status")),
        _ => false,
    }
}

/// The plan of the work item `slug`, or of the one that the branch names.
pub(crate) fn plan(
    policy: &Policy,
    root: &Path,
    slug: Option<&str>,
    branch: Option<&str>,
) -> Option<PlanFile> {
    let slug = match slug {
        Some(slug) => slug.to_owned(),
        None => slug_of_branch(&policy.plan.slug_from_branch, branch?)?,
    };
    if !is_slug(&slug) || policy.plan.path.is_empty() {
        return None;
    }
    let path = root.join(policy.plan.path.replace("{slug}", &slug));
    let inside = fs_err::canonicalize(&path).ok()?.starts_with(fs_err::canonicalize(root).ok()?);
    // Opening a named pipe would wait for a writer.
    if !inside || !path.is_file() {
        return None;
    }
    let mut text = String::new();
    fs_err::File::open(&path).ok()?.take(LARGEST_PLAN).read_to_string(&mut text).ok()?;
    Some(PlanFile { slug, text })
}

/// A name that leads nowhere but into the folder it is put in.
pub(crate) fn is_slug(slug: &str) -> bool {
    !slug.is_empty() && slug.len() <= 200 && !slug.contains(['/', '\\', '\0']) && slug != "." && slug != ".."
}

/// The work item of an environment in which the session has none of its own.
pub(crate) fn slug_of_environment() -> Option<String> {
    environment::read(environment::SLUG).and_then(|slug| slug.into_string().ok())
}

/// `work/{slug}` and `work/parser` give `parser`.
fn slug_of_branch(pattern: &str, branch: &str) -> Option<String> {
    let (before, after) = pattern.split_once("{slug}")?;
    let slug = branch.strip_prefix(before)?.strip_suffix(after)?;
    Some(slug.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_names_its_work_item() {
        assert_eq!(slug_of_branch("work/{slug}", "work/parser").as_deref(), Some("parser"));
        assert_eq!(slug_of_branch("{slug}-wip", "parser-wip").as_deref(), Some("parser"));
        assert_eq!(slug_of_branch("work/{slug}", "main"), None);
        assert_eq!(slug_of_branch("", "main"), None);
    }
}
