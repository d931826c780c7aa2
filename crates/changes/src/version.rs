//! Which git there is, and whether it is new enough for what we ask of it.

use std::fmt;
use std::path::PathBuf;

use crate::error::Error;
use crate::git::Git;
use crate::git_program::GitProgram;

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct GitVersion {
    pub major: u32,
    pub minor: u32,
}

impl GitVersion {
    /// Older versions do not know `GIT_CONFIG_COUNT`: what a repository's own config names as its file watcher or
    /// filter would then be run.
    pub const OLDEST_SAFE: Self = Self { major: 2, minor: 31 };

    pub fn ask(program: &GitProgram) -> Result<Self, Error> {
        let said = Self::said(program)?;
        Self::read(&said).ok_or_else(|| Error::NotUnderstood {
            command: "git version".to_owned(),
            record: said.lines().next().unwrap_or_default().chars().take(200).collect(),
        })
    }

    /// The version as git itself writes it: `2.39.5 (Apple Git-154)`.
    pub fn ask_in_full(program: &GitProgram) -> Result<String, Error> {
        let said = Self::said(program)?;
        Ok(said.trim().trim_start_matches("git version ").to_owned())
    }

    fn said(program: &GitProgram) -> Result<String, Error> {
        let said = Git::at(PathBuf::from("/"), program).run(&["version"], &[])?;
        Ok(String::from_utf8_lossy(&said).into_owned())
    }

    /// `git version 2.39.5 (Apple Git-154)`
    fn read(said: &str) -> Option<Self> {
        let mut numbers = said.trim().strip_prefix("git version ")?.split(['.', ' ', '-']);
        let (major, minor) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
        Some(Self { major, minor })
    }
}

impl fmt::Display for GitVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_git_prints_them() {
        let read = |said: &str| GitVersion::read(said).map(|version| version.to_string());
        assert_eq!(read("git version 2.39.5\n").as_deref(), Some("2.39"));
        assert_eq!(read("git version 2.39.5 (Apple Git-154)\n").as_deref(), Some("2.39"));
        assert_eq!(read("git version 2.9-rc1\n").as_deref(), Some("2.9"));
        assert_eq!(read("hub version 2\n"), None);
        assert!(GitVersion { major: 2, minor: 9 } < GitVersion::OLDEST_SAFE);
        assert!(GitVersion::ask(&GitProgram::of_this_machine()).unwrap() > GitVersion { major: 1, minor: 0 });
    }
}
