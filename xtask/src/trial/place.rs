//! An empty place to install into: a home and a folder for temporary files of its own, and none of the person's environment.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process;

/// How many things the demo proves.
const PROVEN_BY_DEMO: usize = 9;

pub(super) struct EmptyPlace {
    folder: tempfile::TempDir,
}

impl EmptyPlace {
    pub(super) fn make() -> Result<Self, String> {
        let failed = |error: std::io::Error| error.to_string();
        let place = Self { folder: tempfile::tempdir().map_err(failed)? };
        for folder in ["home", "tmp"] {
            fs_err::create_dir(place.path(folder)).map_err(failed)?;
        }
        Ok(place)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A program that finds nothing of the person's but what is on `PATH`; `first` comes in front of that.
    pub(super) fn command(&self, program: impl AsRef<OsStr>, first: Option<&Path>) -> Command {
        let mut path = OsString::new();
        if let Some(first) = first {
            path.push(first);
            path.push(":");
        }
        path.push(process::path());
        let mut command = Command::new(program);
        command.env_clear().env("PATH", path).env("HOME", self.path("home")).env("TMPDIR", self.path("tmp"));
        command.current_dir(self.path("home")).stdin(Stdio::null());
        command
    }

    /// Plays the demo with an installed program.
    pub(super) fn demo(&self, program: impl AsRef<OsStr>, first: Option<&Path>) -> Result<(), String> {
        is_whole(&process::output(self.command(program, first).arg("demo"))?)
    }
}

/// Whether a demo that ended well showed everything.
pub(super) fn is_whole(said: &str) -> Result<(), String> {
    match said.matches('✓').count() {
        PROVEN_BY_DEMO => Ok(()),
        count => Err(format!("the demo proved {count} things instead of {PROVEN_BY_DEMO}:\n{said}")),
    }
}
