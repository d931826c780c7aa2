//! What pages are made from: the journal, what is known of transcripts and of recorded verdicts, and files to be watched from now on.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use gate::{Reason, Rule};
use jiff::Timestamp;
use journal::{Journal, JournalError, TurnId, VerdictId};

use crate::file_watch::FileWatch;
use crate::seen_transcript::SeenTranscripts;
use crate::settings::PageSettings;

/// What is known beyond is read anew.
const MOST_KEPT: usize = 2000;
const MOST_RULES: usize = 20_000;

/// The commands of so many verdicts are looked through.
pub(crate) const LOOKED_THROUGH: usize = 2000;

/// Why a page cannot be shown, in a sentence.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PageError {
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    Failed(String),
    #[error("{}", text::error_chain(.0))]
    Journal(#[from] JournalError),
}

/// What stays from page to page.
#[derive(Debug, Default)]
pub(crate) struct Drawers {
    pub(crate) transcripts: SeenTranscripts,
    /// A recorded verdict does not change.
    reasons: HashMap<VerdictId, Reason>,
    rules: HashMap<VerdictId, Vec<Rule>>,
    /// The commands of a verdict, in small letters, one a line.
    commands: HashMap<VerdictId, Box<str>>,
}

/// What a page is made from.
pub(crate) struct Sources<'a> {
    pub(crate) settings: &'a PageSettings,
    pub(crate) files: &'a FileWatch,
    /// `None` if nothing was ever recorded.
    pub(crate) journal: Option<Journal>,
    pub(crate) drawers: &'a mut Drawers,
    pub(crate) now: Timestamp,
}

impl Sources<'_> {
    /// Why a recorded verdict came out as it did, in a few words; empty if that was not kept.
    pub(crate) fn reason(&mut self, id: VerdictId) -> Result<Reason, JournalError> {
        if let Some(known) = self.drawers.reasons.get(&id) {
            return Ok(known.clone());
        }
        let Some(journal) = &mut self.journal else { return Ok(Reason::Other(String::new())) };
        let inputs = journal.read(|reader| reader.inputs(id))?;
        let reason = inputs.and_then(|inputs| stop::recorded_reason(&inputs.bytes));
        let reason = reason.unwrap_or(Reason::Other(String::new()));
        if self.drawers.reasons.len() >= MOST_KEPT {
            self.drawers.reasons.clear();
        }
        self.drawers.reasons.insert(id, reason.clone());
        Ok(reason)
    }

    /// The turns of the last verdicts that ran a command with these words, the newest first.
    pub(crate) fn turns_with_command(&mut self, words: &str) -> Result<Vec<TurnId>, JournalError> {
        let Some(journal) = &mut self.journal else { return Ok(Vec::new()) };
        let known = &mut self.drawers.commands;
        if known.len() > 2 * LOOKED_THROUGH {
            known.clear();
        }
        let words = words.to_lowercase();
        journal.read(|reader| {
            let mut found = Vec::new();
            for (verdict, turn) in reader.last_verdicts(LOOKED_THROUGH)? {
                let commands = match known.entry(verdict) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(place) => {
                        let inputs = reader.inputs(verdict)?;
                        let commands = inputs.map(|inputs| stop::recorded_commands(&inputs.bytes));
                        place.insert(commands.unwrap_or_default().join("\n").to_lowercase().into())
                    }
                };
                if commands.contains(&words) && !found.contains(&turn) {
                    found.push(turn);
                }
            }
            Ok(found)
        })
    }

    /// The rules that spoke in recorded verdicts, each as often as it did.
    pub(crate) fn spoken_rules(&mut self, ids: &[VerdictId]) -> Result<Vec<Vec<Rule>>, JournalError> {
        let Some(journal) = &mut self.journal else { return Ok(Vec::new()) };
        let known = &mut self.drawers.rules;
        if known.len() > MOST_RULES {
            known.clear();
        }
        journal.read(|reader| {
            let of_one = |id: &VerdictId| {
                if let Some(rules) = known.get(id) {
                    return Ok(rules.clone());
                }
                let rules =
                    reader.inputs(*id)?.map(|inputs| stop::recorded_rules(&inputs.bytes)).unwrap_or_default();
                known.insert(*id, rules.clone());
                Ok(rules)
            };
            ids.iter().map(of_one).collect()
        })
    }
}
