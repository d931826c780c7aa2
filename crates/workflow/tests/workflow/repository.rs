//! A git repository of its own, or a folder without one.

use std::path::{Path, PathBuf};
use std::process::Command;

use jiff::Timestamp;
use serde_json::Value;
use workflow::{Name, PhaseUpdate, StateDirectory, Status};

pub(crate) struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    pub(crate) fn without_git() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// A repository with one commit.
    pub(crate) fn with_git() -> Self {
        let folder = Self::without_git();
        folder.git(&["init", "--quiet", "--initial-branch=main"]);
        folder.commit();
        folder
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(crate) fn state(&self) -> StateDirectory {
        StateDirectory::of(&self.path(), &git_program())
    }

    pub(crate) fn commit(&self) -> String {
        self.git(&["commit", "--quiet", "--allow-empty", "--message=work"]);
        self.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git_in(&self.path(), arguments)
    }

    /// A file of the state directory.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(".claude/state").join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::create_dir_all(self.file("")).unwrap();
        std::fs::write(self.file(name), bytes).unwrap();
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&std::fs::read(self.file(name)).unwrap()).unwrap()
    }
}

/// The git of this machine.
pub(crate) fn git_program() -> changes::GitProgram {
    changes::GitProgram::in_path(&std::env::var_os("PATH").unwrap())
}

pub(crate) fn git_in(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn name(command: &str, feature: Option<&str>) -> Name {
    Name::new(command, feature).unwrap()
}

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// The minute of a fixed morning.
pub(crate) fn minute(minute: i64) -> Timestamp {
    at("2026-01-29T10:30:00Z") + jiff::SignedDuration::from_mins(minute)
}

pub(crate) fn status(status: Status) -> PhaseUpdate {
    PhaseUpdate { status: Some(status), ..PhaseUpdate::default() }
}

pub(crate) fn summed_up(status: Status, summary: &str) -> PhaseUpdate {
    PhaseUpdate { status: Some(status), context_summary: Some(summary.to_owned()), ..PhaseUpdate::default() }
}
