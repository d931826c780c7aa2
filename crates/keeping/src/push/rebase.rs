//! Puts our commits on top of the remote's, tree by tree, without a working tree.

use change_set::BytePath;

use super::{PushOutcome, PushStep};
use crate::acting::ActingGit;
use crate::commit::signs;

/// The commit that has ours on top of `theirs`: `theirs` itself where it has all of ours already, and ours as they are
/// where nothing came between.
pub(super) fn onto(git: &ActingGit, theirs: &str, tip: &str, ours: &[String]) -> PushStep<String> {
    if git.end(&["merge-base", "--is-ancestor", theirs, tip], b"")?.status.success() {
        return Ok(tip.to_owned());
    }
    // Without those that the remote has in another shape, from the last time that ours were put on top.
    let range = format!("{theirs}...{tip}");
    let list =
        git.line(&["rev-list", "--reverse", "--topo-order", "--right-only", "--cherry-pick", &range, "--"])?;
    let mut onto = theirs.to_owned();
    let mut foreign = 0;
    let mut picks = Vec::new();
    for commit in list.lines() {
        let parents = git.line(&["rev-parse", &format!("{commit}^@")])?;
        let parents: Vec<&str> = parents.lines().collect();
        match parents.as_slice() {
            [parent] => {
                foreign += usize::from(!ours.iter().any(|id| id == commit));
                picks.push((commit, (*parent).to_owned()));
            }
            // As `git pull --rebase` does: what it brought together is brought together again.
            [one, other] if is_plain_merge(git, commit, one, other)? => {}
            _ => return Err(rejected("a merge among the commits to be pushed has changes of its own")),
        }
    }
    if foreign > 0 {
        let yours = if foreign == 1 {
            "1 unpushed commit is".to_owned()
        } else {
            format!("{foreign} unpushed commits are")
        };
        return Err(rejected(&format!("{yours} not made by autosave")));
    }
    for (commit, parent) in picks {
        onto = pick(git, &onto, commit, &parent)?;
    }
    Ok(onto)
}

/// Whether git alone would have merged the two to the same tree.
fn is_plain_merge(git: &ActingGit, merge: &str, one: &str, other: &str) -> PushStep<bool> {
    let merged = git.end(&["merge-tree", "--write-tree", "--no-messages", one, other], b"")?;
    let tree = String::from_utf8_lossy(&merged.stdout);
    let wanted = git.line(&["rev-parse", &format!("{merge}^{{tree}}")])?;
    Ok(merged.status.success() && tree.trim() == wanted)
}

fn rejected(reason: &str) -> PushOutcome {
    PushOutcome::Rejected { reason: format!("the remote has newer commits, and {reason}: pull, then push") }
}

/// One commit on top of another; the other itself where the change is there already.
fn pick(git: &ActingGit, onto: &str, commit: &str, parent: &str) -> PushStep<String> {
    let base = format!("--merge-base={parent}");
    let arguments = ["merge-tree", "--write-tree", "--no-messages", "--name-only", "-z", &base, onto, commit];
    let ended = git.end(&arguments, b"")?;
    let mut records = ended.stdout.split(|byte| *byte == 0).filter(|record| !record.is_empty());
    let tree = records.next().map(|tree| String::from_utf8_lossy(tree).into_owned());
    let tree = match (ended.status.code(), tree) {
        (Some(0), Some(tree)) => tree,
        (Some(1), Some(_)) => {
            return Err(PushOutcome::Conflict { paths: records.map(BytePath::from).collect() });
        }
        (Some(129), _) => return Err(rejected("git 2.40 or newer is needed to put ours on top of them")),
        _ => return Err(git.failure(&arguments, &ended).into()),
    };
    if tree == git.line(&["rev-parse", &format!("{onto}^{{tree}}")])? {
        return Ok(onto.to_owned());
    }
    let show = ["show", "--no-patch", "--no-show-signature"];
    let author = git.line(&[&show[..], &["--format=%an%n%ae%n%ad", "--date=raw", commit]].concat())?;
    let mut author = author.lines();
    let mut named = git.clone();
    for variable in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE"] {
        named = named.with(variable, author.next().unwrap_or_default());
    }
    let message = git.run(&[&show[..], &["--format=%B", commit]].concat(), b"")?;
    let message = git.run(&["stripspace"], &message)?;
    let mut arguments = vec!["commit-tree", &tree, "-p", onto, "-F", "-"];
    if signs(git)? {
        arguments.push("-S");
    }
    let id = named.run(&arguments, &message)?;
    Ok(String::from_utf8_lossy(&id).trim().to_owned())
}
