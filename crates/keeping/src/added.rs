//! What one commit has and another has not, line by line: what would leave the machine with a push, or enter the
//! history with a commit. Somebody looks through it for secrets before that happens.

use std::collections::HashMap;

use change_set::BytePath;
use changes::Error;
use changes::state::ObjectFormat;

use crate::acting::ActingGit;
use crate::difference::{Difference, Version};

/// A larger file is named and not read.
pub const LARGEST_FILE: u64 = 32 * 1024 * 1024;

const SUBMODULE: &str = "160000";

/// A file with lines that were not there before.
#[derive(Clone, PartialEq, Eq)]
pub struct AddedFile {
    pub path: BytePath,
    /// The commit that has it; for one that is about to be made too.
    pub commit: String,
    /// The whole file as git keeps it.
    pub content: Vec<u8>,
    /// Which of its lines are new, counted from one, in order. A line that only moved is not new.
    pub lines: Vec<usize>,
}

/// Without the content, which may be secret.
impl std::fmt::Debug for AddedFile {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("AddedFile")
            .field("path", &self.path)
            .field("commit", &self.commit)
            .field("lines", &self.lines)
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Added {
    pub files: Vec<AddedFile>,
    /// Files that are too large to be looked through.
    pub unread: Vec<BytePath>,
}

/// What differs between two trees. Renames are not looked for.
pub(crate) fn differing(git: &ActingGit, old: &str, new: &str) -> Result<Vec<Difference>, Error> {
    let output =
        git.run(&["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", old, new, "--"], b"")?;
    Difference::parse(&output)
}

/// What `commit` adds to `parent`; without one, everything it has.
pub(crate) fn by_commit(git: &ActingGit, parent: Option<&str>, commit: &str) -> Result<Added, Error> {
    let before = parent.unwrap_or_else(|| ObjectFormat::of_id(commit).empty_tree());
    let differing = differing(git, before, commit)?;
    let is_file = |entry: &&Version| entry.mode != SUBMODULE;
    let mut wanted: Vec<&str> = Vec::new();
    for change in &differing {
        if change.new.as_ref().filter(is_file).is_some() {
            let sides = [&change.old, &change.new].into_iter().flatten();
            wanted.extend(sides.filter(is_file).map(|entry| entry.id.as_str()));
        }
    }
    let contents = changes::blobs(&|arguments, input| git.run(arguments, input), &wanted, LARGEST_FILE)?;
    let mut added = Added::default();
    for change in &differing {
        let Some(new) = change.new.as_ref().filter(is_file) else { continue };
        if change.old.as_ref().is_some_and(|old| old.id == new.id) {
            continue;
        }
        let Some(content) = contents.get(new.id.as_str()) else {
            added.unread.push(change.path.clone());
            continue;
        };
        let old = change.old.as_ref().and_then(|old| contents.get(old.id.as_str()));
        let lines = new_lines(old.map_or(&[], Vec::as_slice), content);
        if !lines.is_empty() {
            let (path, commit) = (change.path.clone(), commit.to_owned());
            added.files.push(AddedFile { path, commit, content: content.clone(), lines });
        }
    }
    Ok(added)
}

/// The numbers of the lines of `new` that `old` has not, or not so often.
pub(crate) fn new_lines(old: &[u8], new: &[u8]) -> Vec<usize> {
    let mut known: HashMap<&[u8], usize> = HashMap::new();
    for line in old.split(|byte| *byte == b'\n') {
        *known.entry(line).or_default() += 1;
    }
    let mut lines = Vec::new();
    for (index, line) in new.split(|byte| *byte == b'\n').enumerate() {
        match known.get_mut(line) {
            Some(count) if *count > 0 => *count -= 1,
            _ if line.is_empty() => {}
            _ => lines.push(index + 1),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_moved_is_not_new_and_one_that_is_there_twice_is() {
        assert_eq!(new_lines(b"a\nb\nc\n", b"c\nb\na\n"), [0; 0]);
        assert_eq!(new_lines(b"a\n", b"a\na\n"), [2]);
        assert_eq!(new_lines(b"", b"x\n\ny"), [1, 3]);
        assert_eq!(new_lines(b"x\r\n", b"x\n"), [1]);
    }
}
