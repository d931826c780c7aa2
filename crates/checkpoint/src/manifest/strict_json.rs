//! JSON in which no object has a key twice, at any depth: readers that take the first and readers that take the last
//! must not see different manifests.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Reads the text to its end; nesting is bounded by the parser.
pub(super) fn check(text: &[u8]) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    Once.deserialize(&mut deserializer)?;
    deserializer.end()
}

struct Once;

impl<'de> DeserializeSeed<'de> for Once {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Once {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        while sequence.next_element_seed(Once)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if seen.contains(&key) {
                return Err(A::Error::custom(format!("the key `{key}` appears twice")));
            }
            seen.insert(key);
            map.next_value_seed(Once)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn a_key_may_be_there_once() {
        assert!(check(br#"{"a": {"b": 1}, "b": [{"b": 1.5}, {"b": null}]}"#).is_ok());
        for text in [r#"{"a":1,"a":1}"#, r#"[{"x":{"a":1,"\u0061":2}}]"#] {
            assert!(check(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn depth_is_bounded_and_nothing_may_follow() {
        assert!(check("[".repeat(100_000).as_bytes()).is_err());
        assert!(check(b"{} {}").is_err());
    }
}
