//! What a stage consists of, each part known by a short hash, so that a change can be named.

use std::collections::BTreeMap;

use checkpoint::hash;
use serde_json::json;

use crate::event::{Accepted, AcceptedInput};
use crate::fingerprint::Preceding;
use crate::plan::{Kind, Python, Stage};
use crate::project_code::StageCode;

/// The part that an instance of a fan-out was made for.
const PARAMETERS: &str = "parameters";

/// Enough to tell two versions of one part from each other.
const DIGITS: usize = 16;

/// By their names, as people read them.
pub(crate) fn of_stage(
    stage: &Stage,
    python: &Python,
    code: &StageCode,
    preceding: &Preceding,
) -> BTreeMap<String, String> {
    let mut parts = BTreeMap::new();
    let mut part = |name: &str, value: serde_json::Value| {
        parts.insert(name.to_owned(), short_hash(&value));
    };
    if !stage.parameters.is_empty() {
        part(PARAMETERS, json!(stage.parameters_in_words()));
    }
    part("command", json!(stage.command));
    part("environment", json!(stage.environment));
    part("directory", json!(stage.directory));
    let outputs: Vec<&str> = stage.outputs.iter().map(|output| output.path.as_str()).collect();
    part("outputs", json!(outputs));
    if let Some(verify) = &stage.verify {
        part("verify", json!(verify));
    }
    if stage.kind == Kind::Python {
        part("`[python]`", json!([python.interpreter, python.seed, python.saves_variables]));
    }
    for (name, sha256) in &code.scripts {
        part(&format!("`{name}`"), json!(sha256));
    }
    for (path, sha256) in code.modules.iter() {
        part(&format!("module `{path}`"), json!(sha256));
    }
    for (named, known_by) in &preceding.dependencies {
        part(&format!("`{named}`, which it depends on,"), json!(known_by));
    }
    parts
}

/// Whether the instance was made for other parameters: an earlier or a shorter list gives its letter to another one. Records of
/// older versions do not say.
pub(crate) fn is_for_other_parameters(accepted: &Accepted, stage: &Stage) -> bool {
    let known = accepted.parts.get(PARAMETERS);
    known.is_some_and(|known| *known != short_hash(&json!(stage.parameters_in_words())))
}

fn short_hash(value: &serde_json::Value) -> String {
    text::head(&hash::of_bytes(value.to_string().as_bytes()), DIGITS).to_owned()
}

/// What is no longer as it was when the stage was accepted, in words; empty if no part of it says so.
pub(crate) fn changes(
    accepted: &Accepted,
    parts: &BTreeMap<String, String>,
    inputs: &[AcceptedInput],
    path_of: impl Fn(&str) -> String,
) -> Vec<String> {
    let mut changes = Vec::new();
    let before = |name: &str| accepted.inputs.iter().find(|input| input.name == name);
    for input in inputs {
        let path = path_of(&input.name);
        match before(&input.name) {
            None => changes.push(format!("input `{path}` is new")),
            Some(known) if known.sha256 != input.sha256 => changes.push(format!("input `{path}` changed")),
            Some(_) => {}
        }
    }
    for known in &accepted.inputs {
        if !inputs.iter().any(|input| input.name == known.name) {
            changes.push(format!("input `{}` was removed", path_of(&known.name)));
        }
    }
    // Records of older versions have no parts.
    if accepted.parts.is_empty() {
        return changes;
    }
    for (name, hash) in parts {
        match accepted.parts.get(name) {
            None if name == PARAMETERS => {}
            None => changes.push(format!("{name} is new")),
            Some(known) if known != hash => changes.push(format!("{name} changed")),
            Some(_) => {}
        }
    }
    let gone = accepted.parts.keys().filter(|name| !parts.contains_key(*name));
    changes.extend(gone.map(|name| format!("{name} was removed")));
    changes
}
