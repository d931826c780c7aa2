//! Fields of a payload, read one by one: a field of another type than expected counts as absent, so that a
//! client that changes one of them does not silence all the others.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
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

        impl<'a> $name<'a> {
            /// The field of this name; nothing where no such field is read.
            #[allow(dead_code, reason = "not every object is asked by name")]
            fn named(&self, name: &str) -> Field<'a> {
                match name {
                    $(stringify!($field) => self.$field,)+
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use fields;

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
    fn half_an_emoji_does_not_lose_the_text() {
        let text = text_of(r#""cut here \ud83c""#).unwrap();
        assert!(text.starts_with("cut here \u{fffd}"), "{text}");
    }
}
