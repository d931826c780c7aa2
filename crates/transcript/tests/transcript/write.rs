//! Small transcripts for cases that no sample shows: records in the clients' own shapes.

use serde_json::Value;
use transcript::{Agent, Call, Options, Reading};

/// How the texts begin that the reader gives to agents.
pub(crate) const MARK: &str = "[checkstone]";

/// Lines of a transcript, each ended.
pub(crate) fn lines(records: &[Value]) -> Vec<u8> {
    records.iter().flat_map(|record| format!("{record}\n").into_bytes()).collect()
}

pub(crate) fn read(agent: Agent, records: &[Value]) -> Reading {
    transcript::read_bytes(&lines(records), &Options { agent: Some(agent), mark: MARK, ..Options::default() })
}

pub(crate) fn prompt_of(reading: &Reading) -> Option<&str> {
    reading.turn.as_ref().map(|turn| turn.prompt.as_str())
}

pub(crate) fn call<'a>(reading: &'a Reading, id: &str) -> &'a Call {
    reading.calls.iter().find(|call| call.id == id).unwrap_or_else(|| panic!("no call {id}: {reading:#?}"))
}
