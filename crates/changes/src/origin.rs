//! Where a repository comes from: its remotes, and the commit that it began with.

use crate::git::Git;
use crate::{Error, GitProgram, Repository};

/// A remote by its name, with the address that git would fetch from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    pub name: String,
    pub url: String,
}

/// The remotes, by name.
pub fn remotes(repository: &Repository, program: &GitProgram) -> Result<Vec<Remote>, Error> {
    let listed = Git::of(repository, program)?.run(&["remote", "--verbose"], &[])?;
    let remote = |line: &str| {
        let (name, rest) = line.split_once('\t')?;
        let url = rest.split_once(" (fetch)")?.0;
        Some(Remote { name: name.to_owned(), url: url.to_owned() })
    };
    Ok(String::from_utf8_lossy(&listed).lines().filter_map(remote).collect())
}

/// The commit that the history of HEAD began with, of several the first by its id. `None` where there is no commit, or the history is
/// cut off (a shallow clone).
pub fn first_of_history(repository: &Repository, program: &GitProgram) -> Result<Option<String>, Error> {
    if repository.common_dir.join("shallow").exists() || repository.head(program)?.is_none() {
        return Ok(None);
    }
    let arguments = ["rev-list", "--max-parents=0", "HEAD", "--"];
    let listed = Git::of(repository, program)?.run(&arguments, &[])?;
    Ok(String::from_utf8_lossy(&listed).lines().map(str::to_owned).min())
}
