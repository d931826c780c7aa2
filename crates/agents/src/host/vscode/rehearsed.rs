//! A turn that never was, in VS Code's own words.

use serde_json::{Value, json};

use crate::rehearsed_turn::RehearsedTurn;

pub(super) fn payload(turn: &RehearsedTurn<'_>) -> Value {
    json!({"timestamp": turn.now})
}
