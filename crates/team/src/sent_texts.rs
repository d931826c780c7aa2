//! The texts that travel where the user says so: the prompt, commands, paths and the branch, each without what looks like a secret and
//! without the user's own folders. Most is cut: a team wants to know what goes on, not to read it all.

use std::path::Path;

use autosave::{Look, WITHHELD};
use serde::Serialize;

const MOST_COMMANDS: usize = 50;
const MOST_PATHS: usize = 200;
const LONGEST: usize = 300;

/// Texts of one event, as they are sent.
#[derive(Debug, Default, Serialize)]
pub(crate) struct SentTexts {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) repository: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) prompt: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) commands: Vec<String>,
    /// In the order of the hashes of the same event.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) paths: Vec<String>,
}

/// What every text goes through.
#[derive(Debug)]
pub(crate) struct TextFilter {
    look: Look,
}

impl TextFilter {
    pub(crate) fn new(home: Option<&Path>) -> Self {
        Self { look: Look::new(&gate::policy::Autosave::default(), None).with_home(home) }
    }

    /// A text without secrets and private places, and cut.
    pub(crate) fn passed(&self, text: &str, root: &Path) -> String {
        match self.look.public(text, root) {
            Some(public) => text::shortened(&public, LONGEST),
            None => WITHHELD.to_owned(),
        }
    }

    pub(crate) fn commands<'a>(&self, commands: impl Iterator<Item = &'a str>, root: &Path) -> Vec<String> {
        let passed = |command| text::shortened(&self.look.public_command(command, root), LONGEST);
        commands.take(MOST_COMMANDS).map(passed).collect()
    }

    pub(crate) fn paths(&self, paths: &[String], root: &Path) -> Vec<String> {
        paths.iter().take(MOST_PATHS).map(|path| self.passed(path, root)).collect()
    }
}
