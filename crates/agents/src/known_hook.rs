//! What a client itself says of our hooks, where it can be asked: which of them it knows, and which of them it runs.

use std::path::{Path, PathBuf};

/// One of our hooks as the client knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownHook {
    /// The event as it is registered, `UserPromptSubmit` for example.
    pub event: String,
    pub command: String,
    /// The file that it is registered in.
    pub file: PathBuf,
    pub is_of_project: bool,
    pub is_of_package: bool,
    pub is_enabled: bool,
    pub is_trusted: bool,
    /// It was changed since the person trusted it.
    pub is_modified: bool,
}

impl KnownHook {
    pub fn runs(&self) -> bool {
        self.is_enabled && self.is_trusted
    }
}

/// The client does not tell.
#[derive(Debug, thiserror::Error)]
#[error("this version of {0} does not report which hooks it trusts")]
pub struct TrustUnknown(pub &'static str);

/// Which hooks a client knows, or that it does not tell.
pub type TrustAnswer = Result<Vec<KnownHook>, TrustUnknown>;

/// How a client is asked. Only asked; the trust itself is the person's to give.
#[derive(Debug)]
pub struct TrustQuestion {
    /// The files in its folders that may name us; else there is no need to start it.
    pub files: &'static [&'static str],
    /// The folders beside them that its answer depends on.
    pub folders: &'static [&'static str],
    /// It is asked in a copy of its folder, so that it writes nothing into the person's own: a text of the first folder, as it
    /// reads in the second.
    pub moved: fn(&str, &Path, &Path) -> String,
    /// What it is started with, by what is in its folder.
    pub arguments: fn(&Path) -> Vec<&'static str>,
    /// What it calls the program that answers.
    pub service: &'static str,
    /// What is written to its stdin: about hooks in this folder, by this version of ours.
    pub input: fn(&Path, &str) -> String,
    /// What a line of its stdout answers; `None` if it is about something else.
    pub answer: fn(&[u8]) -> Option<TrustAnswer>,
    /// What the person can do where it does not know the hooks, does not run them, or does not answer.
    pub if_unknown: &'static str,
    pub if_untrusted: &'static str,
    pub if_silent: &'static str,
}
