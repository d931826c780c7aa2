//! Looking into JSON that others wrote: what is not there is null, and nothing panics.

use serde_json::Value;

static NULL: Value = Value::Null;

pub(crate) fn at<'a>(value: &'a Value, key: &str) -> &'a Value {
    value.get(key).unwrap_or(&NULL)
}

/// The text at a key; empty if there is none.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    at(value, key).as_str().unwrap_or_default()
}

/// Sets a key of an object; of anything else nothing.
pub(crate) fn set(value: &mut Value, key: &str, content: Value) {
    if let Value::Object(object) = value {
        object.insert(key.to_owned(), content);
    }
}
