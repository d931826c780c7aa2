//! The policy that counts for a turn is the one at its prompt: whoever is held by it must not be able to loosen it. The
//! prompt keeps the texts by their content, and a stop whose texts are the same does nothing more than compare.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use change_set::BytePath;
use changes::{GitProgram, Repository};
use gate::policy::changed_keys;
use jiff::Timestamp;
use journal::{Journal, JournalError, TurnId, Writing};
use serde::{Deserialize, Serialize};
use text::{counted, head, visible};

use crate::client_event::ClientEvent;
use crate::known_turn::{KnownTurn, SessionPart};
use crate::last_words;
use crate::policy_files::{FILE_NAME, FoundTexts, PolicyText, PolicyTexts};
use crate::trust;

/// Enough of a hash to know a policy again.
const HASH: usize = 32;

/// So many keys are named.
const NAMED_KEYS: usize = 4;

/// What the policy files of a folder said at one instant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct PromptPolicy {
    root: PathBuf,
    /// In the order in which they apply.
    texts: Vec<PolicyText>,
    /// They are a policy, and not only the user's part of one.
    has_policy: bool,
    /// The last of them is the repository's own file.
    has_own_file: bool,
}

/// As the journal keeps it.
#[derive(Clone, Debug)]
pub struct PackedPolicy {
    hash: String,
    bytes: Vec<u8>,
    texts: PolicyTexts,
}

/// The policy is not what it was.
#[derive(Debug)]
pub struct PolicyChange {
    /// What it was; `None` if there was none.
    pub before: Option<PolicyTexts>,
    packed: PackedPolicy,
    /// What changed, by files and keys.
    what: String,
    /// The turn that began with it, and the hash of what is there now.
    turn: TurnId,
    after: String,
}

impl PackedPolicy {
    /// `None` if a file cannot be read: that holds nobody, and so is no policy to go by.
    pub fn of(root: &Path, found: &FoundTexts) -> Option<Self> {
        let texts = Some(found.texts()).filter(|texts| texts.is_readable())?;
        PromptPolicy {
            root: root.to_owned(),
            texts: texts.texts.clone(),
            has_policy: found.policy.is_some(),
            has_own_file: texts.own_file.is_some(),
        }
        .packed()
    }

    /// The turn began with it. What is broken judges nobody and is not kept: a token may stand where no key was meant.
    pub fn keep(&self, writing: &Writing<'_>, turn: TurnId, event: &ClientEvent) -> Result<(), JournalError> {
        match writing.knows_policy(&self.hash)? || self.texts.load().is_ok() {
            true => writing.keep_policy(turn, &self.hash, &self.bytes, event.now),
            false => Ok(()),
        }
    }
}

impl PromptPolicy {
    fn read(journal: &mut Journal, hash: &str) -> Result<Option<Self>, JournalError> {
        let bytes = journal.read(|reader| reader.policy_texts(hash))?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    fn packed(&self) -> Option<PackedPolicy> {
        let bytes = serde_json::to_vec(self).ok()?;
        let hash = trust::hash(&String::from_utf8_lossy(&bytes));
        let texts = PolicyTexts::of_texts(self.texts.clone(), None);
        Some(PackedPolicy { hash: head(&hash, HASH).to_owned(), bytes, texts })
    }

    /// What was followed, if anything.
    fn policy(&self) -> Option<PolicyTexts> {
        let own_file = self.has_own_file.then(|| self.root.join(FILE_NAME));
        self.has_policy.then(|| PolicyTexts::of_texts(self.texts.clone(), own_file))
    }
}

impl PolicyChange {
    /// How the policy changed since the prompt of the turn that ends. `None` as well if nobody knows what it was then.
    pub fn since_prompt(
        journal: &mut Journal,
        event: &ClientEvent,
        root: &Path,
        found: &FoundTexts,
    ) -> Result<Option<Self>, JournalError> {
        let now = PackedPolicy::of(root, found).map(|packed| packed.hash);
        let latest = journal.read(|reader| reader.latest_policy(event.agent(), &event.session))?;
        if latest.is_none_or(|latest| Some(&latest.hash) == now.as_ref()) {
            return Ok(None);
        }
        // Whose turn ends is worth a look: a prompt that was not recorded has no policy to go by.
        let shown = last_words::read(event, None).turn;
        let known = KnownTurn::read(Some(journal), event, shown.as_ref(), SessionPart(None))?;
        let Some(turn) = known.turn else { return Ok(None) };
        match journal.read(|reader| reader.policy_of_turn(turn.id))? {
            Some(hash) if Some(&hash) != now.as_ref() => Self::between(journal, turn.id, &hash, root, found),
            _ => Ok(None),
        }
    }

    /// The same for somebody who asks between two stops. What changed after the turn was judged, the next prompt begins with.
    pub fn of_turn(
        journal: &mut Journal,
        event: &ClientEvent,
        root: &Path,
        found: &FoundTexts,
    ) -> Result<Option<Self>, JournalError> {
        let Some(change) = Self::since_prompt(journal, event, root, found)? else { return Ok(None) };
        let counts = journal.read(|reader| {
            let latest = reader.latest_policy(event.agent(), &event.session)?;
            let is_judged = latest.is_some_and(|latest| latest.is_judged);
            Ok(!is_judged || reader.has_notice(&change.key())?)
        })?;
        Ok(counts.then_some(change))
    }

    /// How it changed between the last prompt of the session and this one, and whether a stop in between looked for that.
    pub fn since_last_prompt(
        journal: &mut Journal,
        event: &ClientEvent,
        root: &Path,
        found: &FoundTexts,
    ) -> Result<Option<(Self, bool)>, JournalError> {
        let now = PackedPolicy::of(root, found).map(|packed| packed.hash);
        let latest = journal.read(|reader| reader.latest_policy(event.agent(), &event.session))?;
        match latest {
            Some(latest) if Some(&latest.hash) != now.as_ref() => {
                let change = Self::between(journal, latest.turn, &latest.hash, root, found)?;
                Ok(change.map(|change| (change, latest.is_judged)))
            }
            _ => Ok(None),
        }
    }

    fn between(
        journal: &mut Journal,
        turn: TurnId,
        hash: &str,
        root: &Path,
        found: &FoundTexts,
    ) -> Result<Option<Self>, JournalError> {
        let prompt = PromptPolicy::read(journal, hash)?.filter(|prompt| prompt.root == root);
        let Some((packed, prompt)) = prompt.and_then(|prompt| Some((prompt.packed()?, prompt))) else {
            return Ok(None);
        };
        let (before, after) = (prompt.policy(), found.policy.as_ref());
        // What is broken judges nobody, and a preset that is detected was wished for before.
        let is_no_change = match (&before, after) {
            (Some(before), _) if before.load().is_err() => true,
            (None, Some(after)) => after.is_detected() || after.load().is_err(),
            (Some(before), Some(after)) => before.is_detected() && after.detects_at_least(before),
            _ => false,
        };
        let what = differences(&prompt.texts, found.texts());
        if is_no_change || what.is_empty() {
            return Ok(None);
        }
        let after = PackedPolicy::of(root, found).map(|packed| packed.hash).unwrap_or_default();
        Ok(Some(Self { before, packed, what: what.join("; "), turn, after }))
    }

    /// For the person, at the stop.
    pub fn sentence(&self) -> String {
        match &self.before {
            Some(_) => format!(
                "The policy changed in this turn: {}. The change takes effect at the next prompt; this turn is judged by \
                 the policy at its prompt.",
                self.what
            ),
            None => {
                format!("A policy was added in this turn: {}. It takes effect at the next prompt.", self.what)
            }
        }
    }

    /// For the person, at a prompt.
    pub fn later_sentence(&self) -> String {
        format!("The policy changed since your last prompt: {}. The change takes effect now.", self.what)
    }

    /// For the person, at the prompt after a turn that was not judged.
    pub fn carried_sentence(&self) -> String {
        format!(
            "The policy changed since your last prompt: {}. The agent has not been judged since, so the change takes effect at \
             the next prompt.",
            self.what
        )
    }

    /// The earlier policy, if something was asked for by it: what changed while nobody judged does not count yet.
    pub fn carried(&self) -> Option<&PackedPolicy> {
        self.before.as_ref().filter(|before| !before.is_switched_off()).map(|_| &self.packed)
    }

    /// The next turn began with the earlier policy as well.
    #[must_use]
    pub fn in_turn(self, turn: TurnId) -> Self {
        Self { turn, ..self }
    }

    /// By which the same change is known again.
    pub fn key(&self) -> String {
        format!("policy:{}:{}", self.turn.0, self.after)
    }
}

/// The policy at the latest prompt in a working tree, if its files say something else by now: it counts until the next one.
pub fn earlier_policy(
    journal: &mut Journal,
    root: &Path,
    found: &FoundTexts,
) -> Result<Option<PolicyTexts>, JournalError> {
    let now = PackedPolicy::of(root, found).map(|packed| packed.hash);
    let latest = journal.read(|reader| reader.latest_policy_in(root))?;
    let Some(hash) = latest.filter(|hash| Some(hash) != now.as_ref()) else { return Ok(None) };
    let prompt = PromptPolicy::read(journal, &hash)?.filter(|prompt| prompt.root == root);
    Ok(prompt.and_then(|prompt| prompt.policy()))
}

/// The policy of a repository that no prompt was recorded for.
#[derive(Debug)]
pub(crate) struct UnseenPolicy {
    pub(crate) texts: Option<PolicyTexts>,
    /// Its file is not what it was when the turn began.
    pub(crate) is_changed: bool,
}

impl UnseenPolicy {
    /// What it was when the turn began: the file as it lies there if nobody touched it since, else as HEAD had it then.
    pub(crate) fn at(
        repository: &Repository,
        began: Timestamp,
        user_file: Option<&Path>,
        git: &GitProgram,
    ) -> Self {
        let Repository { root, .. } = repository;
        let is_younger = |seconds: i64, nanoseconds: i64| {
            let began = (began.as_second(), i64::from(began.subsec_nanosecond()));
            (seconds, nanoseconds) >= began
        };
        let touched = match root.join(FILE_NAME).symlink_metadata() {
            Ok(file) => is_younger(file.ctime(), file.ctime_nsec()),
            // A file that was removed left its trace in the folder.
            Err(_) => root.metadata().is_ok_and(|root| is_younger(root.mtime(), root.mtime_nsec())),
        };
        let found = FoundTexts::read(root, user_file);
        if !touched {
            return Self { texts: found.policy, is_changed: false };
        }
        let head = repository.head_at(began).or_else(|| repository.head_commit());
        let head = head.as_deref().unwrap_or("HEAD");
        let committed = changes::committed_texts(repository, git, head, &[&BytePath::from(FILE_NAME)]);
        let then = committed.ok().and_then(|texts| texts.into_iter().next()).flatten();
        let then = FoundTexts::with_own(root, user_file, Ok(then));
        let is_changed = !differences(&then.texts().texts, found.texts()).is_empty();
        Self { texts: then.policy, is_changed }
    }
}

/// Whether the repository had a policy of its own at the last prompt of a session.
pub fn had_own_file(
    journal: &mut Journal,
    agent: &str,
    session: &str,
    root: &Path,
) -> Result<bool, JournalError> {
    let latest = journal.read(|reader| reader.latest_policy(agent, session))?;
    let Some(latest) = latest else { return Ok(false) };
    let prompt = PromptPolicy::read(journal, &latest.hash)?;
    Ok(prompt.is_some_and(|prompt| prompt.root == root && prompt.has_own_file))
}

/// What differs, file by file.
pub(crate) fn differences(before: &[PolicyText], after: &PolicyTexts) -> Vec<String> {
    if let Err(problems) = after.load() {
        return problems.0.first().map(ToString::to_string).into_iter().collect();
    }
    let after = &after.texts;
    let find = |texts: &[PolicyText], name: &str| {
        texts.iter().find(|text| text.name == name).map(|text| text.text.clone())
    };
    let mut names: Vec<&str> = before.iter().chain(after).map(|text| text.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let difference = |name: &str| match (find(before, name), find(after, name)) {
        (Some(_), None) => Some(format!("`{name}` was removed")),
        (None, Some(_)) => Some(format!("`{name}` is new")),
        (Some(before), Some(after)) => {
            let keys = changed_keys(&before, &after)?;
            let named: Vec<String> =
                keys.iter().take(NAMED_KEYS).map(|key| format!("`{}`", visible(key))).collect();
            let more = match keys.len().saturating_sub(NAMED_KEYS) {
                0 => String::new(),
                more => format!(" and {}", counted(more, "other key")),
            };
            (!keys.is_empty()).then(|| format!("{}{more} in `{name}`", named.join(", ")))
        }
        (None, None) => None,
    };
    names.into_iter().filter_map(difference).collect()
}
