//! How a save ended, as one process tells another and as the journal keeps it until it is reported; and what the person, the
//! agent and other programs are told of it.

use gate::policy::AutosaveMode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use text::OWN_PREFIX;

use crate::continuation::{continuation, signal};
use crate::facts::{Facts, Occasion};
use crate::report::{AutonomousExecution, RouterDecision};

/// In a line, it says that what looks like a secret is none.
pub const ALLOW: &str = "checkstone:allow-secret";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedSave {
    pub(crate) result: SaveResult,
    /// What was done, and how far the push had got, in one sentence.
    pub(crate) sentence: String,
    pub(crate) commit: Option<String>,
    pub(crate) branch: Option<String>,
    pub(crate) snapshot: Option<String>,
    /// The word for how far the push had got.
    pub(crate) push: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SaveResult {
    /// It goes on in a process of its own.
    Begun,
    /// Committed.
    Saved,
    Nothing,
    Failed,
    /// What would have been committed looks like a secret: the agent must not be asked to commit it.
    Refused,
}

impl EndedSave {
    /// One of which no more is known than that it has begun.
    pub(crate) fn begun() -> Self {
        let sentence = "notes and a snapshot are being saved in the background, and nothing is committed yet; \
                        the result is reported at the next prompt or stop";
        Self::without_commit(SaveResult::Begun, sentence.to_owned())
    }

    pub(crate) fn failed(why: &str) -> Self {
        Self::without_commit(SaveResult::Failed, format!("nothing was committed: {why}"))
    }

    pub(crate) fn without_commit(result: SaveResult, sentence: String) -> Self {
        Self { result, sentence, commit: None, branch: None, snapshot: None, push: "none".to_owned() }
    }

    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.result, SaveResult::Failed | SaveResult::Refused)
    }

    pub fn to_person(&self) -> Option<String> {
        let (mark, word) = match self.result {
            SaveResult::Nothing => return None,
            SaveResult::Begun => ("⏳", "started"),
            SaveResult::Saved => ("✅", "executed"),
            SaveResult::Failed | SaveResult::Refused => ("⚠️", "failed"),
        };
        Some(format!("{mark} {OWN_PREFIX} Auto-checkpoint {word}: {}", self.sentence))
    }

    /// What the agent is told; `None` if there is nothing to go on with.
    pub(crate) fn to_agent(&self, occasion: &Occasion, facts: &Facts) -> Option<String> {
        let why = capitalised(&occasion.reason.sentence(occasion.percent));
        let sentence = capitalised(&self.sentence);
        match self.result {
            SaveResult::Saved | SaveResult::Begun => {
                Some(continuation(facts, &format!("{why}. {sentence}.")))
            }
            SaveResult::Nothing if facts.next.is_some() || facts.build.is_some() => {
                Some(continuation(facts, &format!("{why}, and {}.", self.sentence)))
            }
            SaveResult::Nothing => None,
            SaveResult::Refused => Some(format!(
                "{OWN_PREFIX} {sentence}.\n\nRemove it from the files in the repository, or mark the line with \
                 `{ALLOW}` if it is not a secret; do not commit it."
            )),
            SaveResult::Failed => Some(signal(facts, &self.sentence)),
        }
    }

    /// The account for programs.
    pub(crate) fn execution(&self, mode: AutosaveMode, occasion: &Occasion) -> Option<Value> {
        let decision = RouterDecision {
            route: match self.result {
                SaveResult::Begun => "started",
                SaveResult::Saved => "direct",
                SaveResult::Nothing | SaveResult::Refused => "none",
                SaveResult::Failed => "signal",
            },
            percent: occasion.percent,
            iteration: occasion.iteration.unwrap_or_default(),
            commit: self.commit.clone(),
            branch: self.branch.clone(),
            snapshot: self.snapshot.clone(),
            push: self.push.clone(),
            detail: self.sentence.clone(),
        };
        serde_json::to_value(AutonomousExecution::of(mode, occasion.reason.as_str(), decision)).ok()
    }
}

/// As the beginning of a sentence.
pub(crate) fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
