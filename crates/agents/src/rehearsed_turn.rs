//! A turn that never was, in each client's own words: the payloads that it would send to the hook, and the transcript
//! that it would write. The agent edits one Python file and runs its tests, or does not.

use std::path::Path;

use serde_json::{Value, json};
use transcript::Agent;

use crate::host::host;
use crate::payload::EventKind;

pub const PROMPT: &str = "Fix the bug in calc.py";
pub const FILE: &str = "calc.py";
pub(crate) const LAST_WORDS: &str = "The bug is fixed.";

/// Whether the tests ran after the edit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tests {
    Passed,
    NeverRan,
}

impl Tests {
    /// Also the id of the session.
    pub fn session(self) -> &'static str {
        match self {
            Self::Passed => "doctor-tested",
            Self::NeverRan => "doctor-untested",
        }
    }
}

#[derive(Debug)]
pub struct RehearsedTurn<'a> {
    pub agent: Agent,
    pub tests: Tests,
    pub repository: &'a Path,
    pub transcript: &'a Path,
    /// As the clients write times: to the millisecond.
    pub now: String,
}

impl RehearsedTurn<'_> {
    /// `None` if the client does not tell of prompts.
    pub fn prompt_payload(&self) -> Option<Value> {
        let mut payload = self.payload(EventKind::PromptSubmitted)?;
        set(&mut payload, "prompt", json!(PROMPT));
        Some(payload)
    }

    pub fn stop_payload(&self) -> Option<Value> {
        let mut payload = self.payload(EventKind::Stop)?;
        set(&mut payload, self.name_of("stop_hook_active"), json!(false));
        add(&mut payload, &(host(self.agent).rehearsal.stop)());
        Some(payload)
    }

    fn payload(&self, event: EventKind) -> Option<Value> {
        let mut payload = json!({"transcript_path": self.transcript.to_string_lossy()});
        for (name, value) in [
            ("session_id", json!(self.tests.session())),
            ("cwd", json!(self.repository.to_string_lossy())),
            ("hook_event_name", json!(host(self.agent).event_name(event)?)),
        ] {
            set(&mut payload, self.name_of(name), value);
        }
        add(&mut payload, &(host(self.agent).rehearsal.payload)(self));
        Some(payload)
    }

    /// What this client calls a field.
    fn name_of<'b>(&self, ours: &'b str) -> &'b str {
        let other = host(self.agent).payload.other_names.iter().find(|(known, _)| *known == ours);
        other.map_or(ours, |(_, theirs)| *theirs)
    }

    /// The transcript at the stop, one record a line.
    pub fn transcript(&self) -> String {
        let records = (host(self.agent).rehearsal.records)(self);
        records.iter().map(|record| format!("{record}\n")).collect()
    }

    pub(crate) fn is_tested(&self) -> bool {
        self.tests == Tests::Passed
    }

    pub(crate) fn turn_id(&self) -> String {
        format!("{}-turn", self.tests.session())
    }

    pub(crate) fn file(&self) -> String {
        self.repository.join(FILE).to_string_lossy().into_owned()
    }
}

fn add(record: &mut Value, more: &Value) {
    for (name, value) in more.as_object().into_iter().flatten() {
        set(record, name, value.clone());
    }
}

pub(crate) fn set(record: &mut Value, name: &str, value: Value) {
    if let Some(record) = record.as_object_mut() {
        record.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use transcript::{Extent, Options};

    /// What doctor sends must be what a client would write, or it would prove nothing.
    #[test]
    fn every_record_of_a_rehearsal_is_understood() {
        for agent in Agent::ALL.into_iter().filter(|agent| transcript::is_read(*agent)) {
            for (tests, calls) in [(Tests::NeverRan, 1), (Tests::Passed, 2)] {
                let turn = RehearsedTurn {
                    agent,
                    tests,
                    repository: Path::new("/r"),
                    transcript: Path::new("/t"),
                    now: "2026-11-15T05:00:00.000Z".to_owned(),
                };
                let reading = transcript::read_bytes(
                    turn.transcript().as_bytes(),
                    &Options { agent: Some(agent), ..Options::default() },
                );
                assert_eq!(reading.coverage.extent, Extent::Complete, "{agent:?}");
                assert_eq!(reading.coverage.understood, reading.coverage.records, "{agent:?}");
                assert_eq!(reading.calls.len(), calls, "{agent:?} {:?}", reading.calls);
                assert_eq!(reading.turn.unwrap().prompt, PROMPT);
                assert_eq!(reading.last_assistant.as_deref(), Some(LAST_WORDS));
            }
        }
    }
}
