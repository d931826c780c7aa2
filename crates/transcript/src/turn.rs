//! Where the turn begins: records are shown to the finder from the last one backwards until it knows.

use crate::entry::{Entry, Prompt, Record, Standing};

/// Looks for the prompt that opened the turn.
#[derive(Debug, Default)]
pub(crate) struct TurnFinder {
    candidate: Option<Candidate>,
    /// The prompt to fall back on where none is found that surely opened a turn.
    fallback: Option<Candidate>,
    /// Records are void until one with such a key is found, the one itself included.
    void_until: Vec<String>,
    /// The expansion of a slash command was seen, and the turn that it names, where it names one.
    expanded: Option<Option<String>>,
}

/// A prompt that may have opened the turn.
#[derive(Debug)]
struct Candidate {
    place: usize,
    turn: Option<String>,
    text: String,
    /// The agent was already at work before it, in the same turn.
    typed_meanwhile: bool,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Search {
    GoesOn,
    /// The record belongs to the turn, and nothing before it does.
    EndsHere,
    /// The record belongs to an earlier turn.
    EndsBefore,
}

impl TurnFinder {
    /// A finder that takes the record at `place` for the turn's opening, unless an earlier one of the same turn is found.
    pub(crate) fn from_opening(record: &Record, place: usize) -> Self {
        let prompt = record.entries.iter().find_map(|entry| match entry {
            Entry::Prompt(prompt) => Some(prompt.text.clone()),
            _ => None,
        });
        let candidate = Candidate {
            place,
            turn: record.turn.clone(),
            text: prompt.unwrap_or_default(),
            typed_meanwhile: false,
        };
        Self { candidate: Some(candidate), ..Self::default() }
    }

    /// Takes the record at `place`, counted from the last one on.
    pub(crate) fn see(&mut self, record: &Record, place: usize) -> Search {
        if self.is_void(record) {
            return Search::GoesOn;
        }
        // Where nothing names its turn, the expansion stands right behind its command.
        if self.expanded == Some(None) && record.entries.iter().any(is_work) {
            self.expanded = None;
        }
        if record.entries.iter().any(|entry| matches!(entry, Entry::Expansion)) {
            self.expanded = Some(record.turn.clone());
        }
        let prompt = record.entries.iter().find_map(|entry| match entry {
            Entry::Prompt(prompt) => Some(prompt),
            _ => None,
        });
        match prompt {
            Some(prompt) => self.see_prompt(record, prompt, place),
            None => self.see_other(record),
        }
    }

    /// The place of the prompt that opened the turn. `exhausted` where every record that could matter was
    /// seen; else a message typed meanwhile proves that the opening prompt lies further back.
    pub(crate) fn opening(&self, exhausted: bool) -> Option<usize> {
        match (&self.candidate, &self.fallback) {
            (Some(candidate), _) => (exhausted || !candidate.typed_meanwhile).then_some(candidate.place),
            (None, Some(fallback)) => Some(fallback.place),
            (None, None) => None,
        }
    }

    fn is_void(&mut self, record: &Record) -> bool {
        for entry in &record.entries {
            if let Entry::Rewind(target) = entry {
                self.void_until.push(target.clone());
            }
        }
        if self.void_until.is_empty() {
            return false;
        }
        if let Some(key) = &record.key {
            self.void_until.retain(|target| target != key);
        }
        true
    }

    fn see_prompt(&mut self, record: &Record, prompt: &Prompt, place: usize) -> Search {
        let here = || Candidate {
            place,
            turn: record.turn.clone(),
            text: prompt.text.clone(),
            typed_meanwhile: false,
        };
        if let Some(later) = &self.candidate {
            return match (&later.turn, &record.turn) {
                (Some(later), Some(earlier)) if later == earlier => {
                    self.candidate = Some(here());
                    Search::GoesOn
                }
                (Some(_), Some(_)) => Search::EndsBefore,
                _ if later.text == prompt.text => {
                    self.candidate = Some(here());
                    Search::GoesOn
                }
                // It does not name its turn; the record before it says the same and does.
                (Some(_), None) if later.typed_meanwhile => Search::GoesOn,
                _ => Search::EndsBefore,
            };
        }
        match prompt.standing {
            Standing::Opens => {
                self.candidate = Some(here());
                Search::EndsHere
            }
            Standing::IfExpanded if self.expanded.as_ref() == Some(&record.turn) => {
                self.candidate = Some(here());
                Search::EndsHere
            }
            Standing::UnlessEarlier => {
                self.candidate = Some(here());
                Search::GoesOn
            }
            Standing::IfNoneSurer => {
                self.fallback.get_or_insert_with(here);
                Search::GoesOn
            }
            Standing::IfExpanded | Standing::BelongsToNext => Search::GoesOn,
        }
    }

    fn see_other(&mut self, record: &Record) -> Search {
        let Some(candidate) = &mut self.candidate else { return Search::GoesOn };
        if record.entries.iter().any(|entry| matches!(entry, Entry::TurnStarts)) {
            return Search::EndsBefore;
        }
        if !record.entries.iter().any(is_work) {
            return Search::GoesOn;
        }
        match (&candidate.turn, &record.turn) {
            (None, _) => Search::EndsBefore,
            (Some(turn), Some(other)) if turn != other => Search::EndsBefore,
            (Some(_), Some(_)) => {
                candidate.typed_meanwhile = true;
                Search::GoesOn
            }
            // Some records do not name their turn; one that does will follow.
            (Some(_), None) => Search::GoesOn,
        }
    }
}

/// The agent was at work.
fn is_work(entry: &Entry) -> bool {
    matches!(entry, Entry::Said(_) | Entry::Call(_) | Entry::Result(_))
}
