//! Gemini CLI's older format: the whole session as one JSON document. It has to be loaded whole; its
//! messages are the same as the lines of the newer format.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::normaliser;
use crate::entry::Record;
use crate::format::DocumentMessages;
use crate::json_reader::{self, RawJson};

pub(super) fn messages(document: &str) -> DocumentMessages<'_> {
    let mut messages = Vec::new();
    let torn = json_reader::read(Document(&mut messages), document).is_err();
    DocumentMessages { messages, torn }
}

/// What one message says.
pub(super) fn record(message: RawJson<'_>) -> Record {
    match json_reader::from_str::<normaliser::GeminiLine<'_>>(message.get()) {
        Ok(line) => normaliser::message(&line),
        Err(_) => Record::not_understood(),
    }
}

/// Collects into a list outside of itself, so that what was read before an error is not lost.
struct Document<'list, 'de>(&'list mut Vec<RawJson<'de>>);

impl<'de> DeserializeSeed<'de> for Document<'_, 'de> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Document<'_, 'de> {
    type Value = ();
    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a session with messages")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "messages" {
                map.next_value_seed(List(&mut *self.0))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

struct List<'list, 'de>(&'list mut Vec<RawJson<'de>>);

impl<'de> DeserializeSeed<'de> for List<'_, 'de> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for List<'_, 'de> {
    type Value = ();
    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("messages")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        while let Some(message) = sequence.next_element()? {
            self.0.push(message);
        }
        Ok(())
    }
}
