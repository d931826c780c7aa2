//! Notes that git keeps beside commits and trees, read within bounds: anybody who can push may have written them.

use std::collections::BTreeSet;

use crate::blobs::blobs;
use crate::error::Error;
use crate::git::Git;
use crate::git_program::GitProgram;
use crate::repository::Repository;

/// So many are in memory at a time.
const AT_ONCE: usize = 16;

/// What stands beside an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectNote {
    Text(Vec<u8>),
    /// It is larger than was asked for, or this clone does not have it.
    Unread,
}

/// Visits the notes of these objects below a ref such as `refs/notes/checkstone`; none if there is no such ref.
pub fn notes(
    repository: &Repository,
    program: &GitProgram,
    reference: &str,
    (objects, largest): (&BTreeSet<&str>, u64),
    mut visit: impl FnMut(&str, ObjectNote),
) -> Result<(), Error> {
    let git = Git::of(repository, program)?;
    let listed = git.run(&["notes", &format!("--ref={reference}"), "list"], &[])?;
    let listed = String::from_utf8_lossy(&listed);
    let asked: Vec<(&str, &str)> = listed
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(_, object)| objects.contains(object))
        .collect();
    for asked in asked.chunks(AT_ONCE) {
        let ids: BTreeSet<&str> = asked.iter().map(|(blob, _)| *blob).collect();
        let ids: Vec<&str> = ids.into_iter().collect();
        let texts = blobs(&|arguments, input| git.run(arguments, input), &ids, largest)?;
        for (blob, object) in asked {
            visit(object, texts.get(blob).cloned().map_or(ObjectNote::Unread, ObjectNote::Text));
        }
    }
    Ok(())
}
