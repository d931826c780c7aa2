//! What changed between two saves, key by key.

use serde::Serialize;
use serde_json::{Map, Value};

/// One key that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// The keys that lead there.
    pub path: Vec<String>,
    /// Null if the key is new.
    pub before: Value,
    /// Null if the key is gone.
    pub after: Value,
}

/// In the order of the later document; what is gone comes after what its object still has.
pub fn diff(before: &Map<String, Value>, after: &Map<String, Value>) -> Vec<Difference> {
    let mut differences = Vec::new();
    compare(&mut Vec::new(), before, after, &mut differences);
    differences
}

fn compare(
    path: &mut Vec<String>,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    differences: &mut Vec<Difference>,
) {
    let gone = before.keys().filter(|key| !after.contains_key(*key));
    for key in after.keys().chain(gone) {
        let (old, new) = (before.get(key), after.get(key));
        if old == new {
            continue;
        }
        path.push(key.clone());
        let empty = Map::new();
        match (old, new) {
            (Some(Value::Object(old)), Some(Value::Object(new))) => compare(path, old, new, differences),
            (None, Some(Value::Object(new))) if !new.is_empty() => compare(path, &empty, new, differences),
            (Some(Value::Object(old)), None) if !old.is_empty() => compare(path, old, &empty, differences),
            _ => differences.push(Difference {
                path: path.clone(),
                before: old.cloned().unwrap_or_default(),
                after: new.cloned().unwrap_or_default(),
            }),
        }
        path.pop();
    }
}
