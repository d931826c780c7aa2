//! What the rest of a session says about a turn: which files the agent knows already, who still owes it an answer, and
//! whether it only plans.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::entry::{Entry, Record};
use crate::model::Kind;
use crate::windows_path::unix_spelling;

/// What the rest of the session says about the turn, as far as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionState {
    /// Sub-agents that were launched, in this turn or an earlier one, and have not answered: the client's ids.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unanswered: Vec<String>,
    /// Files that the agent read, edited or wrote before this turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub known_files: Vec<String>,
    /// The agent was planning when the turn ended: it may change nothing yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_planning: bool,
}

/// More files than an agent looks at in one session; a session that is made to name more must not fill the memory.
const MOST_FILES: usize = 20_000;

/// More sub-agents than work at once. One that is not answered is enough to wait for.
const MOST_UNANSWERED: usize = 1_000;

/// Sees the records of a session in their order.
#[derive(Debug, Default)]
pub(crate) struct SessionWatch {
    known_files: BTreeSet<String>,
    unanswered: Vec<String>,
    is_planning: bool,
}

impl SessionWatch {
    /// The state at the end of a turn whose records these are.
    pub(crate) fn turn<'a>(&mut self, records: impl Iterator<Item = &'a Record>) -> SessionState {
        let known_files = self.known_files.iter().cloned().collect();
        records.for_each(|record| self.see(record));
        SessionState { unanswered: self.unanswered.clone(), known_files, is_planning: self.is_planning }
    }

    pub(crate) fn see(&mut self, record: &Record) {
        for entry in &record.entries {
            match entry {
                Entry::Call(made) => {
                    let call = &made.call;
                    if matches!(call.kind, Kind::Read | Kind::Edit | Kind::Write) {
                        self.knows(&call.paths);
                    }
                    // What is edited is not planned any more.
                    self.is_planning &= !matches!(call.kind, Kind::Edit | Kind::Write);
                    match call.tool.as_str() {
                        "EnterPlanMode" => self.is_planning = true,
                        "ExitPlanMode" => self.is_planning = false,
                        _ => {}
                    }
                }
                Entry::Result(result) => self.knows(&result.paths),
                Entry::Launched(id) if self.has_room() && !self.unanswered.contains(id) => {
                    self.unanswered.push(id.clone());
                }
                Entry::Answered(answered) => self.unanswered.retain(|id| id != answered),
                Entry::Prompt(prompt) => self.is_planning = prompt.is_planning,
                _ => {}
            }
        }
    }

    fn has_room(&self) -> bool {
        self.unanswered.len() < MOST_UNANSWERED
    }

    fn knows(&mut self, paths: &[String]) {
        for path in paths {
            if self.known_files.len() < MOST_FILES && !self.known_files.contains(path) {
                let mut path = path.clone();
                unix_spelling(&mut path);
                self.known_files.insert(path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_launches_without_end_fills_no_memory() {
        let mut watch = SessionWatch::default();
        for number in 0..3 * MOST_UNANSWERED {
            watch.see(&Record::of(Entry::Launched(number.to_string())));
        }
        let waits_for = |watch: &mut SessionWatch| watch.turn(std::iter::empty()).unanswered.len();
        assert_eq!(waits_for(&mut watch), MOST_UNANSWERED);
        watch.see(&Record::of(Entry::Answered("0".to_owned())));
        assert_eq!(waits_for(&mut watch), MOST_UNANSWERED - 1);
    }
}
