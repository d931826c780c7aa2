//! The filter drivers that a repository's own config defines. `git status` runs a driver's `clean` command on
//! files whose time stamps changed; a command from a repository's config must not run, so these are switched off.
//!
//! Without its filter a file that was rewritten with equal content counts as dirty. The content ids of the
//! baseline are those of the files on disk, so such a file still is not taken for a change of the turn.

use change_set::BytePath;

use crate::error::Error;
use crate::git::Git;
use crate::repository::Repository;

/// A config of this size was not written by people; git is asked about it instead.
const LARGEST_CONFIG: usize = 256 * 1024;

/// The names of the filter drivers. Git itself is asked only where the config includes other files.
pub(crate) fn of_repository(repository: &Repository, git: &Git) -> Result<Vec<BytePath>, Error> {
    let mut filters = Vec::new();
    for config in [repository.common_dir.join("config"), repository.git_dir.join("config.worktree")] {
        // A config that cannot be read is one that git cannot read either.
        let text = fs_err::read(config).unwrap_or_default();
        match in_config(&text) {
            Some(found) => filters.extend(found),
            None => return by_git(git),
        }
    }
    filters.sort();
    filters.dedup();
    Ok(filters)
}

/// The drivers named by section headers; `None` if the text alone cannot tell.
fn in_config(text: &[u8]) -> Option<Vec<BytePath>> {
    if text.len() > LARGEST_CONFIG {
        return None;
    }
    let mut filters = Vec::new();
    // A header needs no line of its own: `[core] bare = false [filter "x"]` is not valid, but nobody needs to
    // rely on that, so every bracket is looked at.
    for (start, _) in text.iter().enumerate().filter(|(_, byte)| **byte == b'[') {
        let section = text.get(start + 1..).unwrap_or_default().trim_ascii_start();
        if starts_with(section, b"include") {
            return None;
        }
        if !starts_with(section, b"filter") {
            continue;
        }
        let rest = section.get(b"filter".len()..).unwrap_or_default();
        // The old form `[filter.name]` is lower-cased by git.
        if let Some(name) = rest.strip_prefix(b".") {
            let end = name.iter().position(|byte| *byte == b']')?;
            filters.push(BytePath::from(name.get(..end)?.to_ascii_lowercase().as_slice()));
        } else if let Some(name) = rest.trim_ascii_start().strip_prefix(b"\"") {
            filters.push(quoted(name)?);
        }
    }
    Some(filters)
}

fn starts_with(text: &[u8], word: &[u8]) -> bool {
    text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

/// The text before the closing quote, its escapes resolved.
fn quoted(text: &[u8]) -> Option<BytePath> {
    let mut name = Vec::new();
    let mut bytes = text.iter();
    loop {
        match bytes.next()? {
            b'"' => return Some(BytePath::from(name.as_slice())),
            b'\\' => name.push(*bytes.next()?),
            byte => name.push(*byte),
        }
    }
}

/// Lists what is configured in the repository, included files too. Listing runs nothing.
fn by_git(git: &Git) -> Result<Vec<BytePath>, Error> {
    let mut filters = Vec::new();
    for scope in ["--local", "--worktree"] {
        let arguments = ["config", scope, "--includes", "--list", "--name-only", "-z"];
        let names = match git.run(&arguments, &[]) {
            Ok(names) => names,
            // `--worktree` is refused where several worktrees share one config: there is none of its own then.
            Err(Error::Failed { .. }) if scope == "--worktree" => continue,
            Err(error) => return Err(error),
        };
        for name in names.split(|byte| *byte == 0) {
            let Some(rest) = name.strip_prefix(b"filter.") else { continue };
            let Some(dot) = rest.iter().rposition(|byte| *byte == b'.') else { continue };
            filters.push(BytePath::from(rest.get(..dot).unwrap_or_default()));
        }
    }
    filters.sort();
    filters.dedup();
    Ok(filters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_are_found_in_every_spelling() {
        let found = |text: &str| in_config(text.as_bytes());
        let names = |names: &[&str]| Some(names.iter().map(|name| BytePath::from(*name)).collect::<Vec<_>>());
        assert_eq!(found("[core]\n\tbare = false\n"), names(&[]));
        assert_eq!(found("[filter \"lfs\"]\n\tclean = x\n[ FILTER  \"a\\\"b\"]\n"), names(&["lfs", "a\"b"]));
        assert_eq!(found("[core] bare=false\n[filter.Old]\nclean=x"), names(&["old"]));
        assert_eq!(found("[filter \"a=b.c\"]\n"), names(&["a=b.c"]));
        assert_eq!(found("[filter \"a[b\"]\n"), names(&["a[b"]));
    }

    #[test]
    fn includes_and_broken_headers_are_left_to_git() {
        assert_eq!(in_config(b"[include]\n\tpath = x\n"), None);
        assert_eq!(in_config(b"[includeIf \"gitdir:/\"]\n\tpath = x\n"), None);
        assert_eq!(in_config(b"[filter \"open"), None);
    }
}
