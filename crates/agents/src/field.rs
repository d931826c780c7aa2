//! Fields of a payload, read one by one: a field of another type than expected counts as absent, so that a
//! client that changes one of them does not silence all the others.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A field as written, not yet parsed.
pub(crate) type Field<'a> = Option<&'a RawValue>;

/// An object of fields as they are written.
macro_rules! fields {
    ($(#[$about:meta])* $name:ident { $($(#[$how:meta])* $field:ident),+ $(,)? }) => {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        $(#[$about])*
        struct $name<'a> {
            $(#[serde(borrow)] $(#[$how])* $field: Field<'a>),+
        }

    };
}
pub(crate) use fields;

/// All fields of an object, as they are written. Two of one name are an error: nobody knows which is meant.
#[derive(Default)]
pub(crate) struct AllFields<'a>(HashMap<Cow<'a, str>, &'a RawValue>);

impl<'a> AllFields<'a> {
    /// The field with exactly this name, if it has a value.
    pub(crate) fn exactly(&self, name: &str) -> Field<'a> {
        self.0.get(name).copied().filter(|value| value.get() != "null")
    }

    /// The field of this name, which some hosts spell `likeThis` instead of `like_this`.
    pub(crate) fn named(&self, name: &str) -> Field<'a> {
        self.exactly(name).or_else(|| self.exactly(&in_camel_case(name)))
    }
}

fn in_camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (initial, rest) = word.split_at(word.ceil_char_boundary(1.min(word.len())));
        name + &initial.to_ascii_uppercase() + rest
    })
}

impl<'de: 'a, 'a> Deserialize<'de> for AllFields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct FieldName<'a>(#[serde(borrow)] Cow<'a, str>);
        struct FieldsVisitor;
        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = AllFields<'de>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = HashMap::with_capacity(16);
                while let Some(FieldName(name)) = map.next_key()? {
                    if fields.insert(name, map.next_value()?).is_some() {
                        return Err(A::Error::custom("a name appears twice in the object"));
                    }
                }
                Ok(AllFields(fields))
            }
        }
        deserializer.deserialize_map(FieldsVisitor)
    }
}

/// The field as a `T`; nothing where it is absent, null or something else.
pub(crate) fn read<'a, T: Deserialize<'a>>(field: Field<'a>) -> Option<T> {
    serde_json::from_str(field?.get()).ok()
}

/// The field as text.
pub(crate) fn text(field: Field<'_>) -> Option<String> {
    // The plain way first: serde_json reads bytes with a search that asks the processor what it can do, which takes
    // a tenth of a millisecond on a virtual machine.
    read(field).or_else(|| read::<Text>(field).map(|text| text.0))
}

/// The field as text that says something.
pub(crate) fn name(field: Field<'_>) -> Option<String> {
    text(field).filter(|text| !text.is_empty())
}

/// A string in which half of a surrogate pair is replaced. Clients written in JavaScript cut texts anywhere, and
/// the half of an emoji is no reason to lose the text.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl Visitor<'_> for TextVisitor {
            type Value = Text;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string")
            }
            fn visit_bytes<E: Error>(self, value: &[u8]) -> Result<Self::Value, E> {
                Ok(Text(String::from_utf8_lossy(value).into_owned()))
            }
        }
        deserializer.deserialize_bytes(TextVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(json: &str) -> Option<String> {
        let raw: Box<RawValue> = serde_json::from_str(json).unwrap();
        text(Some(&raw))
    }

    #[test]
    fn text_is_a_string_and_nothing_else() {
        assert_eq!(text_of(r#""a \"b\" ü \ud83c\udf89""#).unwrap(), "a \"b\" ü 🎉");
        for other in ["null", "1", "true", "[]", "[97]", "{}", r#"["a"]"#] {
            assert_eq!(text_of(other), None, "{other}");
        }
    }

    #[test]
    fn a_field_is_found_in_either_spelling() {
        let text = r#"{"sessionId": "a", "stop_hook_active": 1, "cwd": null}"#;
        let fields: AllFields<'_> = serde_json::from_str(text).unwrap();
        let read = |name: &str| fields.named(name).map(RawValue::get);
        assert_eq!(["session_id", "stop_hook_active", "cwd"].map(read), [Some("\"a\""), Some("1"), None]);
        assert!(fields.exactly("session_id").is_none());
        assert_eq!(["a_b_c", "a__b", "", "ü_ü"].map(in_camel_case), ["aBC", "aB", "", "üü"]);
        assert!(serde_json::from_str::<AllFields<'_>>(r#"{"x": 1, "x": 2}"#).is_err());
    }

    #[test]
    fn half_an_emoji_does_not_lose_the_text() {
        let text = text_of(r#""cut here \ud83c""#).unwrap();
        assert!(text.starts_with("cut here \u{fffd}"), "{text}");
    }
}
