//! Whether the user trusts a repository's policy file as it is now. Trust is the file's path and the SHA-256 of its
//! content; any change withdraws it. Only what runs, commits, pushes or sends depends on it.

use gate::policy::{Check, Policy, SnapshotSettings, Trust};
use journal::{Journal, Reading};
use sha2::{Digest as _, Sha256};
use text::hexadecimal;

use crate::policy_files::{PolicyText, PolicyTexts};

/// How a repository's file stands with the user, and what follows from it.
#[derive(Debug)]
pub struct Standing {
    pub trust: journal::Trust,
    /// What may run: all of it where the file is trusted, else what the user's own configuration has.
    pub allowed: Vec<Check>,
    /// What the repository's file asks for and may not.
    pub ignored: Vec<Check>,
    /// Its wish for a snapshot at the start of every turn is among that.
    pub ignores_snapshots: bool,
}

impl Standing {
    /// `trust` is how the file stands, as `of_file` tells it.
    pub fn new(trust: journal::Trust, texts: &PolicyTexts, policy: &Policy) -> Self {
        let all = policy.checks.with(Trust::Given).cloned().unwrap_or_default();
        if trust == journal::Trust::Trusted {
            return Self { trust, allowed: all, ignored: Vec::new(), ignores_snapshots: false };
        }
        let users = policy_of_user(texts);
        let wants = |policy: &Policy| {
            policy.snapshot.with(Trust::Given).is_some_and(|settings| settings.at_turn_start)
        };
        let ignores_snapshots = wants(policy) && !users.as_ref().is_some_and(wants);
        let allowed = users.and_then(|users| users.checks.with(Trust::Given).cloned()).unwrap_or_default();
        let ignored = all.into_iter().filter(|check| !allowed.contains(check)).collect();
        Self { trust, allowed, ignored, ignores_snapshots }
    }

    /// One word for JSON and for people.
    pub fn word(&self) -> &'static str {
        match self.trust {
            journal::Trust::Trusted => "trusted",
            journal::Trust::Changed => "changed",
            journal::Trust::Unknown => "untrusted",
        }
    }
}

/// How the repository's own file stands by what the journal says. What was read is what is hashed, so that nobody can
/// exchange the file between the two.
pub fn of_file(reader: &Reading<'_>, texts: &PolicyTexts) -> Result<journal::Trust, journal::JournalError> {
    match (&texts.own_file, own_text(texts)) {
        (Some(path), Some(text)) => reader.trust(path, &hash(&text.text)),
        _ => Ok(journal::Trust::Unknown),
    }
}

/// As `of_file`; what cannot be read gives no trust.
pub fn of_file_or_unknown(journal: Option<&mut Journal>, texts: &PolicyTexts) -> journal::Trust {
    let read = journal.map(|journal| journal.read(|reader| of_file(reader, texts)));
    read.and_then(Result::ok).unwrap_or(journal::Trust::Unknown)
}

/// The settings of snapshots; `None` if the texts are broken.
pub fn snapshot_settings(trust: journal::Trust, texts: &PolicyTexts) -> Option<SnapshotSettings> {
    let policy = match trust {
        journal::Trust::Trusted => texts.load().ok(),
        _ => policy_of_user(texts),
    };
    policy.and_then(|policy| policy.snapshot.with(Trust::Given).cloned())
}

/// The repository's own file stands last.
pub fn own_text(texts: &PolicyTexts) -> Option<&PolicyText> {
    texts.own_file.as_ref().and_then(|_| texts.texts.last())
}

pub fn hash(text: &str) -> String {
    hexadecimal(&Sha256::digest(text.as_bytes()))
}

/// What the user's own configuration says alone; it needs nobody's trust.
pub fn policy_of_user(texts: &PolicyTexts) -> Option<Policy> {
    let own = usize::from(texts.own_file.is_some());
    let mut users = texts.clone();
    users.texts.truncate(texts.texts.len().saturating_sub(own));
    users.load().ok()
}
