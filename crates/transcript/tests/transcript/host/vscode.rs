//! VS Code's transcripts are not read, so there are no records of it.

use proptest::prelude::*;
use serde_json::{Value, json};
use transcript::{Agent, Extent};

use crate::write::read;

pub(crate) fn prompt_lines(_: usize, _: &str) -> Vec<Value> {
    Vec::new()
}

pub(crate) fn picture_lines(_: &str, _: &str) -> Vec<Value> {
    Vec::new()
}

pub(crate) fn command_lines(_: &str, _: &str, _: super::CommandEnd<'_>) -> Vec<Value> {
    Vec::new()
}

pub(crate) fn said(text: &str) -> Value {
    json!({ "text": text })
}

/// Whatever it may write.
pub(crate) fn any_record() -> BoxedStrategy<Value> {
    super::TEXT.prop_map(|text| json!({ "text": text })).boxed()
}

/// T19: what nobody knows is unavailable, and never an idle agent.
#[test]
fn t19_nothing_of_it_is_understood() {
    let reading = read(Agent::Vscode, &[json!({ "type": "user.message", "data": { "content": "go" } })]);
    assert_eq!((reading.coverage.extent, reading.coverage.understood), (Extent::Unavailable, 0));
}
