//! How HEAD moved since the baseline, out of git's own log of it: a commit that was made, or a move to commits
//! that were there before (checkout, pull, reset, rebase onto others' work).
//!
//! The log is a file that only grows; its size at the prompt tells what belongs to the turn. It is read without
//! git. Where it is missing, switched off or kept in another format, nothing is known.

use std::collections::BTreeSet;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// More than this in one turn is not read: then nothing is known.
const LARGEST_PART: u64 = 1024 * 1024;

#[derive(Debug, PartialEq)]
pub(crate) enum HeadMovements {
    /// The log did not grow.
    None,
    /// Only commits, each on top of the one before or in its place: whatever differs now was committed here.
    Linear,
    Mixed {
        /// Commits that were made here.
        made: BTreeSet<String>,
        /// Branches that HEAD was on and left, in the turn.
        left: BTreeSet<String>,
    },
    Unknown,
}

pub(crate) fn size(git_dir: &Path) -> Option<u64> {
    fs_err::metadata(git_dir.join("logs/HEAD")).ok().map(|metadata| metadata.len())
}

/// The movements since the log had `from` bytes, from `old` to `new` commit (`None`: before the first commit).
pub(crate) fn since(
    git_dir: &Path,
    from: Option<u64>,
    old: Option<&str>,
    new: Option<&str>,
) -> HeadMovements {
    let Some(now) = size(git_dir) else {
        return if old == new { HeadMovements::None } else { HeadMovements::Unknown };
    };
    // A repository without a commit has no log yet.
    let from = match (from, old) {
        (Some(from), _) => from,
        (None, None) => 0,
        (None, Some(_)) => return HeadMovements::Unknown,
    };
    if now == from && old == new {
        return HeadMovements::None;
    }
    if now <= from || now - from > LARGEST_PART {
        return HeadMovements::Unknown;
    }
    match read_part(git_dir, from) {
        Some(text) => movements(&text, old, new),
        None => HeadMovements::Unknown,
    }
}

/// Where HEAD was at an instant, and how long its log was then.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct HeadThen {
    pub(crate) commit: Option<String>,
    pub(crate) log_size: u64,
    /// The log began later: the working tree was made since.
    pub(crate) is_made_since: bool,
}

/// `None` if HEAD has not moved since, as far as the log tells. Its times are whole seconds; the second of the instant
/// belongs to what was before.
pub(crate) fn at(git_dir: &Path, seconds: i64) -> Option<HeadThen> {
    let start = size(git_dir)?.saturating_sub(LARGEST_PART);
    let text = read_part(git_dir, start)?;
    let mut place = start;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let before = place;
        place += line.len() as u64;
        let (who, _) = line.split_once('\t').unwrap_or((line, ""));
        let is_cut = number == 0 && start > 0;
        if is_cut || !is_later(who, seconds) {
            continue;
        }
        let mut ids = who.split(' ').map(str::to_owned);
        let (from, to) = (ids.next()?, ids.next()?);
        let is_made_since = from.bytes().all(|byte| byte == b'0');
        return Some(match is_made_since {
            true => HeadThen { commit: Some(to), log_size: place, is_made_since },
            false => HeadThen { commit: Some(from), log_size: before, is_made_since },
        });
    }
    None
}

/// The branch that HEAD was on at an instant and has left since; `None` if the log tells of no such thing.
pub(crate) fn left_since(git_dir: &Path, seconds: i64) -> Option<String> {
    let text = read_part(git_dir, size(git_dir)?.saturating_sub(LARGEST_PART))?;
    let later =
        text.lines().filter_map(|line| line.split_once('\t')).filter(|(who, _)| is_later(who, seconds));
    let mut left = later.filter_map(|(_, message)| branch_left(message));
    left.next().map(str::to_owned)
}

fn branch_left(message: &str) -> Option<&str> {
    let names = message.strip_prefix("checkout: moving from ")?;
    names.split_once(" to ").map(|(branch, _)| branch)
}

/// Whether a line of the log, up to its message, was written after the second of the instant.
fn is_later(who: &str, seconds: i64) -> bool {
    let time = who.trim_end().rsplit(' ').nth(1).and_then(|time| time.parse::<i64>().ok());
    time.is_some_and(|time| time > seconds)
}

fn read_part(git_dir: &Path, from: u64) -> Option<String> {
    let mut file = fs_err::File::open(git_dir.join("logs/HEAD")).ok()?;
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut bytes = Vec::new();
    file.take(LARGEST_PART).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Lines of `old new name <mail> time zone<TAB>message`.
fn movements(text: &str, old: Option<&str>, new: Option<&str>) -> HeadMovements {
    let mut position = old.map(str::to_owned);
    let mut linear = true;
    let mut made = BTreeSet::new();
    let mut left = BTreeSet::new();
    for line in text.lines() {
        let (who, message) = line.split_once('\t').unwrap_or((line, ""));
        let mut ids = who.split(' ');
        let (Some(from), Some(to)) = (ids.next(), ids.next()) else { return HeadMovements::Unknown };
        let starts_here = match &position {
            Some(position) => position == from,
            None => from.bytes().all(|byte| byte == b'0'),
        };
        linear &= starts_here && is_plain_commit(message);
        position = Some(to.to_owned());
        left.extend(branch_left(message).map(str::to_owned));
        if !is_mere_move(message) {
            made.insert(to.to_owned());
        }
    }
    // A log that does not end where HEAD is was not kept all the time.
    if position.as_deref() != new {
        return HeadMovements::Unknown;
    }
    if linear { HeadMovements::Linear } else { HeadMovements::Mixed { made, left } }
}

/// Commands whose commit holds nothing but what the turn put into it.
fn is_plain_commit(message: &str) -> bool {
    let plain = ["commit: ", "commit (initial): ", "commit (amend): ", "revert: ", "cherry-pick: ", "am: "];
    plain.iter().any(|start| message.starts_with(start)) && !is_mere_move(message)
}

/// HEAD went to a commit that existed. What is not recognised counts as made: better to ask for one check too
/// many than to miss work.
fn is_mere_move(message: &str) -> bool {
    let moves = ["checkout: ", "reset: ", "clone: ", "Branch: renamed "];
    // `rebase (start): checkout …`, `pull --rebase (finish): returning to …` and the like.
    let steps = ["(start): ", "(finish): ", "(abort): ", ": updating HEAD"];
    moves.iter().any(|start| message.starts_with(start))
        || ((message.starts_with("rebase") || message.starts_with("pull"))
            && steps.iter().any(|step| message.contains(step)))
        || message.to_ascii_lowercase().ends_with(": fast-forward")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(moves: &[(&str, &str, &str)]) -> String {
        moves.iter().map(|(from, to, message)| format!("{from} {to} A B <c> 1 +0000\t{message}\n")).collect()
    }

    #[test]
    fn commits_and_amendments_are_linear() {
        let text = log(&[("a", "b", "commit: one"), ("b", "c", "commit (amend): one")]);
        assert_eq!(movements(&text, Some("a"), Some("c")), HeadMovements::Linear);
        let first = log(&[("0000", "a", "commit (initial): first")]);
        assert_eq!(movements(&first, None, Some("a")), HeadMovements::Linear);
    }

    #[test]
    fn a_checkout_names_the_branch_that_was_left() {
        let text = log(&[
            ("a", "a", "checkout: moving from main to feature"),
            ("a", "b", "commit: work"),
            ("b", "a", "checkout: moving from feature to main"),
        ]);
        let HeadMovements::Mixed { made, left } = movements(&text, Some("a"), Some("a")) else { panic!() };
        assert_eq!(made.into_iter().collect::<Vec<_>>(), ["b"]);
        assert_eq!(left.into_iter().collect::<Vec<_>>(), ["feature", "main"]);
    }

    #[test]
    fn moves_make_no_commit() {
        for message in [
            "reset: moving to HEAD~1",
            "pull: Fast-forward",
            "pull origin main: Fast-forward",
            "merge feature: Fast-forward",
            "rebase (start): checkout main",
            "rebase (finish): returning to refs/heads/feature",
            "pull --rebase (start): checkout 1234",
            "cherry-pick: fast-forward",
        ] {
            let text = log(&[("a", "b", message)]);
            let expected = HeadMovements::Mixed { made: BTreeSet::new(), left: BTreeSet::new() };
            assert_eq!(movements(&text, Some("a"), Some("b")), expected, "{message}");
        }
    }

    #[test]
    fn what_else_moves_head_counts_as_made() {
        for message in ["rebase (pick): work", "merge x: Merge made by the 'ort' strategy.", "my-tool", ""] {
            let text = log(&[("a", "b", message)]);
            let HeadMovements::Mixed { made, .. } = movements(&text, Some("a"), Some("b")) else {
                panic!("{message}")
            };
            assert!(made.contains("b"), "{message}");
        }
    }

    #[test]
    fn the_log_tells_where_head_was_at_an_instant() {
        let folder = tempfile::tempdir().unwrap();
        let line = |from: &str, to: &str, time: i64| format!("{from} {to} A B <c> {time} +0000\tcommit: x\n");
        fs_err::create_dir(folder.path().join("logs")).unwrap();
        let lines = [line("0000", "a", 10), line("a", "b", 20), line("b", "c", 30)];
        fs_err::write(folder.path().join("logs/HEAD"), lines.concat()).unwrap();
        let then = |commit: &str, lines_before: usize, is_made_since| {
            let log_size = lines[..lines_before].concat().len() as u64;
            Some(HeadThen { commit: Some(commit.to_owned()), log_size, is_made_since })
        };
        let found: Vec<_> = [9, 10, 20, 29, 30].map(|seconds| at(folder.path(), seconds)).into();
        assert_eq!(
            found,
            [then("a", 1, true), then("a", 1, false), then("b", 2, false), then("b", 2, false), None]
        );
    }

    #[test]
    fn the_log_tells_which_branch_was_left_first_since_an_instant() {
        let folder = tempfile::tempdir().unwrap();
        let line = |message: &str, time: i64| format!("a a A B <c> {time} +0000\t{message}\n");
        fs_err::create_dir(folder.path().join("logs")).unwrap();
        let lines = [
            line("checkout: moving from main to feature", 10),
            line("commit: checkout: moving from x to y", 20),
            line("checkout: moving from feature to other", 30),
        ];
        fs_err::write(folder.path().join("logs/HEAD"), lines.concat()).unwrap();
        let found = [9, 10, 29, 30].map(|seconds| left_since(folder.path(), seconds));
        let names = found.each_ref().map(Option::as_deref);
        assert_eq!(names, [Some("main"), Some("feature"), Some("feature"), None]);
    }

    /// Somebody else's commit came between: it is not for certain that all of it is ours.
    #[test]
    fn a_log_with_a_gap_is_not_linear() {
        let text = log(&[("x", "b", "commit: one")]);
        assert!(matches!(movements(&text, Some("a"), Some("b")), HeadMovements::Mixed { .. }));
    }

    #[test]
    fn a_log_that_ends_elsewhere_knows_nothing() {
        let text = log(&[("a", "b", "commit: one")]);
        assert_eq!(movements(&text, Some("a"), Some("c")), HeadMovements::Unknown);
        assert_eq!(movements("garbage", Some("a"), Some("c")), HeadMovements::Unknown);
    }
}
