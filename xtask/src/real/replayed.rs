//! The policy that `init` writes for a repository, over its transcripts.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::isolated;
use crate::process;

/// What `checkstone replay --json` says, as far as it is needed.
#[derive(Debug, Deserialize)]
pub(super) struct Replayed {
    pub(super) turns: Turns,
    pub(super) holds: Vec<Hold>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Turns {
    pub(super) total: u64,
    pub(super) hold: u64,
    pub(super) notify: u64,
    pub(super) not_judged: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Hold {
    pub(super) transcript: PathBuf,
    pub(super) line: Option<u64>,
    pub(super) verdict: Verdict,
}

#[derive(Debug, Deserialize)]
pub(super) struct Verdict {
    pub(super) reason: String,
    pub(super) observations: Vec<Observation>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Observation {
    pub(super) rule: String,
    pub(super) text: String,
}

impl Replayed {
    /// `init` runs in the checkout itself, since `replay` reads the repository's own words there; what it wrote is gone
    /// afterwards.
    pub(super) fn new(program: &Path, checkout: &Path, files: &[PathBuf]) -> Result<Self, String> {
        if !checkout.is_dir() {
            return Err(format!("`{}` is no checkout", checkout.display()));
        }
        let home = tempfile::tempdir().map_err(|error| error.to_string())?;
        let policy = checkout.join("checkstone.toml");
        if policy.exists() {
            return Err(format!("`{}` is there already: take it away", policy.display()));
        }
        // `init` looks for a repository; a checkout that is none becomes one for the time being.
        let git_folder = checkout.join(".git");
        let is_repository = git_folder.exists();
        if !is_repository {
            process::output(std::process::Command::new("git").arg("init").arg("--quiet").arg(checkout))?;
        }
        let written = process::output(
            isolated(program, home.path()).current_dir(checkout).args(["init", "--agent", "claude", "--yes"]),
        );
        let told = written.and_then(|_| {
            let mut replay = isolated(program, home.path());
            process::output(replay.arg("replay").args(files).arg("--policy").arg(&policy).arg("--json"))
        });
        // Nothing of ours is left in a checkout, whatever happened.
        let _ = fs_err::remove_file(&policy);
        if !is_repository {
            fs_err::remove_dir_all(&git_folder).map_err(|error| error.to_string())?;
        }
        serde_json::from_str(&told?).map_err(|error| format!("`replay --json`: {error}"))
    }
}

impl Hold {
    /// Which rule spoke, and what it found in few words: figures are counted by this.
    pub(super) fn cause(&self) -> String {
        let rules: Vec<&str> =
            self.verdict.observations.iter().map(|observation| observation.rule.as_str()).collect();
        match self.verdict.reason.as_str() {
            "observations" => rules.first().map_or("observations", |rule| rule).to_owned(),
            red if red.starts_with("still failing") => "unresolved-error".to_owned(),
            reason => reason.to_owned(),
        }
    }
}
