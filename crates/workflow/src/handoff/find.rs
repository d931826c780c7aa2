//! The document in what a sub-agent wrote: models like to put JSON into a code fence, or a sentence before it.

use serde_json::{Deserializer, Value};

use super::check::known_fields;
use crate::json_text::{readable_value, storable};

#[derive(Debug, PartialEq)]
pub struct FoundDocument {
    pub document: Value,
    /// There was other text around it.
    pub surrounded: bool,
}

/// The whole text, or else the object in it that has most fields of the protocol; of equal ones the last, since an answer
/// comes after its drafts. The error is that of the whole text.
pub fn find(text: &[u8]) -> Result<FoundDocument, serde_json::Error> {
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    let stored = storable(text);
    let found =
        |document: &Value, surrounded| FoundDocument { document: readable_value(document), surrounded };
    let error = match serde_json::from_slice(&stored) {
        Ok(document) => return Ok(found(&document, false)),
        Err(error) => error,
    };
    let objects = std::str::from_utf8(&stored).map(objects).unwrap_or_default();
    let nearest = objects.into_iter().max_by_key(known_fields).filter(|object| known_fields(object) > 0);
    nearest.map(|document| found(&document, true)).ok_or(error)
}

/// Every JSON object in a text, in their order.
fn objects(text: &str) -> Vec<Value> {
    let mut objects = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        let (_, candidate) = rest.split_at(start);
        let mut values = Deserializer::from_str(candidate).into_iter::<Value>();
        let end = match values.next() {
            Some(Ok(object)) => {
                objects.push(object);
                values.byte_offset()
            }
            _ => 1,
        };
        rest = candidate.get(end..).unwrap_or_default();
    }
    objects
}
