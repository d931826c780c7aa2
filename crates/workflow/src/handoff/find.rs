//! The document in what a sub-agent wrote: models like to put JSON into a code fence, or a sentence before it.

use serde_json::{Deserializer, Value};

use super::check::{described, known_fields};
use crate::json_text::{readable_value, storable};

#[derive(Debug, PartialEq)]
pub struct FoundDocument {
    pub document: Value,
    /// There was other text around it.
    pub surrounded: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum FindError {
    #[error("is not JSON: {0}")]
    NotJson(serde_json::Error),
    #[error("is {found}, not an object")]
    NotAnObject { found: &'static str },
    /// In lines of the whole text.
    #[error("contains no valid JSON: in the object that begins at line {begins}, {problem} at line {line}")]
    Broken { begins: usize, line: usize, problem: String },
}

/// The whole text, or else the object in it that has most fields of the protocol; of equal ones the last, since an answer
/// comes after its drafts.
pub fn find(text: &[u8]) -> Result<FoundDocument, FindError> {
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    let stored = storable(text);
    let found =
        |document: &Value, surrounded| FoundDocument { document: readable_value(document), surrounded };
    let error = match serde_json::from_slice(&stored) {
        Ok(document @ Value::Object(_)) => return Ok(found(&document, false)),
        Ok(other) => return Err(FindError::NotAnObject { found: described(&other) }),
        Err(error) => error,
    };
    let (objects, broken) = std::str::from_utf8(&stored).map(objects).unwrap_or_default();
    let nearest = objects.into_iter().max_by_key(known_fields).filter(|object| known_fields(object) > 0);
    match nearest {
        Some(document) => Ok(found(&document, true)),
        // Of a text that is to be JSON from its beginning, the error of the whole says where.
        None if text.trim_ascii_start().starts_with(b"{") => Err(FindError::NotJson(error)),
        None => Err(broken.unwrap_or(FindError::NotJson(error))),
    }
}

/// Every JSON object in a text, in their order; and what is wrong with the one that is sound for longest, of those that
/// are not.
fn objects(text: &str) -> (Vec<Value>, Option<FindError>) {
    let mut objects = Vec::new();
    let mut broken = None;
    let mut furthest = 0;
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        let (_, candidate) = rest.split_at(start);
        let mut values = Deserializer::from_str(candidate).into_iter::<Value>();
        let end = match values.next() {
            Some(Ok(object)) => {
                objects.push(object);
                values.byte_offset()
            }
            Some(Err(error)) => {
                let sound = offset(candidate, &error);
                // `{as asked}` is prose.
                if sound > furthest
                    && candidate.get(1..).is_some_and(|rest| rest.trim_start().starts_with('"'))
                {
                    furthest = sound;
                    let before = text.len() - candidate.len();
                    let begins = 1 + text.get(..before).map_or(0, |before| before.matches('\n').count());
                    let said = error.to_string();
                    let problem = said.split(" at line ").next().unwrap_or_default().to_owned();
                    broken =
                        Some(FindError::Broken { begins, line: begins + error.line().max(1) - 1, problem });
                }
                1
            }
            None => 1,
        };
        rest = candidate.get(end..).unwrap_or_default();
    }
    (objects, broken)
}

/// How far a text was sound.
fn offset(text: &str, error: &serde_json::Error) -> usize {
    let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    lines.map(str::len).sum::<usize>() + error.column()
}
