//! A folder of a test's own, with a home, a state directory and temporary files in it, and git that knows nothing of
//! the machine's configuration.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::RunToEnd as _;

/// Goes away with the value.
#[derive(Debug)]
pub struct Sandbox {
    _folder: TempDir,
    root: PathBuf,
}

impl Sandbox {
    #[expect(clippy::new_without_default, reason = "nothing about a folder on the disk is a default")]
    pub fn new() -> Self {
        Self::inside(&std::env::temp_dir())
    }

    /// Below a folder that must be on a certain disk.
    pub fn inside(parent: &Path) -> Self {
        let folder = tempfile::tempdir_in(parent).unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["home", "tmp"] {
            fs_err::create_dir(root.join(name)).unwrap();
        }
        Self { _folder: folder, root }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root.join(name)
    }

    pub fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// Writes a file and the folders that lead to it.
    pub fn write(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(&path, bytes).unwrap();
        path
    }

    /// A program that is this shell script.
    pub fn script(&self, name: impl AsRef<Path>, script: &str) -> PathBuf {
        let path = self.write(name, format!("#!/bin/sh\n{script}\n"));
        make_executable(&path);
        path
    }

    /// Nothing of the caller's environment reaches the command. The XDG folders follow from its home.
    pub fn prepared(&self, mut command: Command) -> Command {
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.home())
            .env("TMPDIR", self.path("tmp"))
            .env("TZ", "UTC")
            .env("CHECKSTONE_STATE_DIR", self.path("state"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_EDITOR", "true")
            .stdin(Stdio::null());
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "A").env(format!("GIT_{role}_EMAIL"), "a@example.org");
        }
        command
    }

    /// Git as a person or an agent runs it in this folder.
    pub fn git_command(&self, directory: &Path, arguments: &[&str]) -> Command {
        let mut command = self.prepared(Command::new("git"));
        command.args(arguments).current_dir(directory);
        command
    }

    /// What git prints, which must succeed.
    #[track_caller]
    pub fn git(&self, directory: &Path, arguments: &[&str]) -> String {
        let answer = self.git_command(directory, arguments).answer();
        assert_eq!(answer.code, Some(0), "git {arguments:?}: {}", answer.stderr);
        answer.stdout
    }
}

/// A named pipe, made as a shell would: not every system has a call for it that takes a folder.
pub fn make_pipe(path: impl AsRef<Path>) {
    let made = Command::new("mkfifo").arg(path.as_ref()).status();
    assert!(made.unwrap().success());
}

/// The file as a program that can be started at once. Another process copies it: one that was written by this process may
/// still be open for writing in a child that another test has just started, and then the kernel refuses to run it.
pub fn make_executable(path: &Path) {
    let copy = "cp -- \"$0\" \"$0.new\" && chmod 755 -- \"$0.new\" && mv -- \"$0.new\" \"$0\"";
    assert!(Command::new("sh").args(["-c", copy]).arg(path).status().unwrap().success());
}
