//! `[autosave]`: what is saved when the context fills up, and how far it goes. It commits and pushes, so a repository's
//! own file has a say in it only once the user trusts that file.

use std::time::Duration;

use serde::Serialize;

use super::replace;

/// Where the context is full enough to save, in percent.
const THRESHOLD: u8 = 40;

const HOOK_TIMEOUT: Duration = Duration::from_secs(60);

/// How a full context is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Autosave {
    pub mode: AutosaveMode,
    /// Percent of the window, from 1 to 99.
    pub threshold: u8,
    /// The size of the window in tokens, for models that nobody else knows.
    pub window: Option<u64>,
    pub push: bool,
    pub include: Include,
    /// The notes file, from the root of the repository; `None` is the client's own.
    pub notes: Option<String>,
    /// The first line of the commit's message.
    pub subject: String,
    /// What stands between the first line and the co-author. `{reason}`, `{percent}`, `{agent}`, `{branch}` and
    /// `{iteration}` are filled in.
    pub body: String,
    /// `None` is the client's own; empty is nobody.
    pub co_author: Option<String>,
    /// Paths, as globs, in which a text that looks like a secret is none.
    pub allow_secrets_in: Vec<String>,
    /// Kinds of secrets, and single ones by the fingerprint that they are told with, that are none.
    pub allow_secrets: Vec<String>,
    /// A commit hook, or a signing program, that takes longer is ended: an agent waits.
    pub hook_timeout: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AutosaveMode {
    Off,
    /// The person is told.
    Normal,
    /// Notes, commit and push, without asking.
    Autonomous,
}

/// What is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Include {
    /// The notes file and `buildguide.md`.
    Notes,
    /// And what the turn changed.
    All,
}

impl Default for Autosave {
    fn default() -> Self {
        AutosaveLayer::default().finish()
    }
}

#[derive(Default)]
pub(crate) struct AutosaveLayer {
    pub(crate) mode: Option<AutosaveMode>,
    pub(crate) threshold: Option<u8>,
    pub(crate) window: Option<u64>,
    pub(crate) push: Option<bool>,
    pub(crate) include: Option<Include>,
    pub(crate) notes: Option<String>,
    pub(crate) subject: Option<String>,
    pub(crate) body: Option<String>,
    pub(crate) co_author: Option<String>,
    pub(crate) allow_secrets_in: Option<Vec<String>>,
    pub(crate) allow_secrets: Option<Vec<String>>,
    pub(crate) hook_timeout: Option<Duration>,
}

impl AutosaveLayer {
    pub(crate) fn merge(&mut self, newer: Self) {
        replace(&mut self.mode, newer.mode);
        replace(&mut self.threshold, newer.threshold);
        replace(&mut self.window, newer.window);
        replace(&mut self.push, newer.push);
        replace(&mut self.include, newer.include);
        replace(&mut self.notes, newer.notes);
        replace(&mut self.subject, newer.subject);
        replace(&mut self.body, newer.body);
        replace(&mut self.co_author, newer.co_author);
        replace(&mut self.allow_secrets_in, newer.allow_secrets_in);
        replace(&mut self.allow_secrets, newer.allow_secrets);
        replace(&mut self.hook_timeout, newer.hook_timeout);
    }

    pub(crate) fn finish(self) -> Autosave {
        let or = |text: Option<String>, default: &str| text.unwrap_or_else(|| default.to_owned());
        Autosave {
            mode: self.mode.unwrap_or(AutosaveMode::Off),
            threshold: self.threshold.unwrap_or(THRESHOLD),
            window: self.window,
            push: self.push.unwrap_or(true),
            include: self.include.unwrap_or(Include::Notes),
            notes: self.notes,
            subject: or(self.subject, "checkpoint: auto-checkpoint"),
            body: or(self.body, "Saved by itself: {reason}."),
            co_author: self.co_author,
            allow_secrets_in: self.allow_secrets_in.unwrap_or_default(),
            allow_secrets: self.allow_secrets.unwrap_or_default(),
            hook_timeout: self.hook_timeout.unwrap_or(HOOK_TIMEOUT),
        }
    }
}
