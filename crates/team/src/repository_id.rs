//! Which repository is meant, without saying where it is: the same on every machine that has a clone of it.
//!
//! The address of the remote says it best: `upstream` if there is one, for people work in forks of their own; else `origin`; else the
//! first. Clones by SSH and by HTTPS have the same, once user, port and ending are taken away. A repository without a remote is known by
//! its first commit: that is shared by all copies, but also by projects that were begun from one template, so a remote counts more.
//! Where there is neither, it is known to this machine alone.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use changes::{GitProgram, Remote, Repository};

use crate::TeamHashes;

/// What is known of the repositories that were asked for, so that git is asked once for each.
#[derive(Debug)]
pub struct RepositoryIds {
    hashes: TeamHashes,
    machine: String,
    git: GitProgram,
    known: HashMap<PathBuf, String>,
}

impl RepositoryIds {
    pub fn new(hashes: TeamHashes, machine: &str, git: GitProgram) -> Self {
        Self { hashes, machine: machine.to_owned(), git, known: HashMap::new() }
    }

    /// Of the repository with this root, or of the folder if it is none.
    pub fn of(&mut self, root: &Path) -> String {
        if let Some(known) = self.known.get(root) {
            return known.clone();
        }
        let id = self.found(root);
        self.known.insert(root.to_owned(), id.clone());
        id
    }

    fn found(&self, root: &Path) -> String {
        let repository = Repository::at(root);
        // A git that fails leaves what is left to know it by.
        let remotes = repository.as_ref().and_then(|repository| changes::remotes(repository, &self.git).ok());
        if let Some(address) = remotes.as_deref().and_then(shared_address) {
            return self.hashes.of("remote", &[&address]);
        }
        let first =
            repository.and_then(|repository| changes::first_of_history(&repository, &self.git).ok()?);
        match first {
            Some(first) => self.hashes.of("first commit", &[&first]),
            None => self.hashes.of("folder", &[&self.machine, &root.to_string_lossy()]),
        }
    }
}

fn shared_address(remotes: &[Remote]) -> Option<String> {
    let named = |name: &str| remotes.iter().find(|remote| remote.name == name);
    let remote = named("upstream").or_else(|| named("origin")).or(remotes.first())?;
    normalised(&remote.url)
}

/// `host/path`; `None` for a folder of the machine, which means something else on every other one.
pub fn normalised(url: &str) -> Option<String> {
    let url = url.trim();
    let (host, path) = match url.split_once("://") {
        Some((scheme, _)) if scheme.eq_ignore_ascii_case("file") => return None,
        Some((_, rest)) => rest.split_once('/')?,
        // `user@host:path`, as SSH writes it. A slash before the colon makes it a path.
        None => url.split_once(':').filter(|(host, _)| !host.contains('/') && host.len() > 1)?,
    };
    let host = host.rsplit('@').next().unwrap_or(host);
    // A port is how one gets there. IPv6 addresses stand in brackets.
    let host = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let path = path.split(['?', '#']).next().unwrap_or(path).trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
    // Of the large hosts no two repositories differ in case alone.
    (!host.is_empty() && !path.is_empty()).then(|| format!("{host}/{path}").to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_one_repository_is_the_same_address() {
        for url in [
            "https://github.com/Acme/Shop.git",
            "https://github.com/acme/shop/",
            "https://token:x@github.com/acme/shop",
            "http://GitHub.com:80/acme/shop.git/",
            "git@github.com:acme/shop.git",
            "ssh://git@github.com/acme/shop.git",
            "ssh://git@github.com:22/acme/shop",
            "git://github.com/acme/shop",
            "git@github.com:/acme/shop.git",
        ] {
            assert_eq!(normalised(url).as_deref(), Some("github.com/acme/shop"), "{url}");
        }
        assert_eq!(normalised("ssh://git@[::1]:2222/x/y.git").as_deref(), Some("[::1]/x/y"));
        for url in [
            "/srv/git/shop.git",
            "file:///srv/git/shop.git",
            "../shop",
            "C:/shop",
            "./a:b",
            "",
            "https://host",
        ] {
            assert_eq!(normalised(url), None, "{url}");
        }
    }

    #[test]
    fn a_fork_is_known_by_where_it_comes_from() {
        let remote = |name: &str, url: &str| Remote { name: name.to_owned(), url: url.to_owned() };
        let own = remote("origin", "git@github.com:ada/shop.git");
        let main = remote("upstream", "https://github.com/acme/shop");
        let other = remote("backup", "git@backup.example:shop");
        assert_eq!(
            shared_address(&[other.clone(), own.clone(), main]).as_deref(),
            Some("github.com/acme/shop")
        );
        assert_eq!(shared_address(&[other.clone(), own]).as_deref(), Some("github.com/ada/shop"));
        assert_eq!(shared_address(&[other]).as_deref(), Some("backup.example/shop"));
        assert_eq!(shared_address(&[]), None);
    }
}
