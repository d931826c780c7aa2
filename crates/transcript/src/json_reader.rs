//! JSON into types, at the speed at which long strings can be passed over. Of most lines only a few short fields are looked
//! at, beside texts of many kilobytes: the end of a string is found by its quote, and what nobody asks for is not checked.
//! A text that is torn or has no sound outline is an error.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error, IntoDeserializer as _, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use crate::json_text;

/// Deeper values are refused where they are read, since reading them takes as much of the stack.
const DEEPEST: u8 = 100;

/// The one value in `text`.
pub(crate) fn from_str<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, Malformed> {
    read(PhantomData, text)
}

/// What `seed` makes of the one value in `text`.
pub(crate) fn read<'de, S: DeserializeSeed<'de>>(seed: S, text: &'de str) -> Result<S::Value, Malformed> {
    let mut reader = JsonReader { text, at: 0, deeper: DEEPEST };
    let value = seed.deserialize(&mut reader)?;
    reader.skip_space();
    if reader.at == text.len() { Ok(value) } else { Err(Malformed) }
}

/// A value as it is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawJson<'a>(&'a str);

impl<'a> RawJson<'a> {
    /// By this name a reader knows that the value is wanted as it is written.
    const NAME: &'static str = "$checkstone::RawJson";

    pub(crate) fn get(self) -> &'a str {
        self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawJson<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RawVisitor;
        impl<'de> Visitor<'de> for RawVisitor {
            type Value = RawJson<'de>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a value of our own reader")
            }
            fn visit_borrowed_str<E: Error>(self, raw: &'de str) -> Result<Self::Value, E> {
                Ok(RawJson(raw))
            }
        }
        deserializer.deserialize_newtype_struct(Self::NAME, RawVisitor)
    }
}

/// A value, or nothing if what is written there has another shape. It is read in place: a value that is first taken as it is
/// written and read afterwards is gone through twice.
#[derive(Debug)]
pub(crate) struct IfReadable<T>(pub(crate) Option<T>);

impl<T> IfReadable<T> {
    /// By this name a reader knows that another shape is no error.
    const NAME: &'static str = "$checkstone::IfReadable";
}

impl<T> Default for IfReadable<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for IfReadable<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AttemptVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for AttemptVisitor<T> {
            type Value = IfReadable<T>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a value of our own reader")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut attempt: A) -> Result<Self::Value, A::Error> {
                attempt.next_element().map(IfReadable)
            }
        }
        deserializer.deserialize_newtype_struct(Self::NAME, AttemptVisitor(PhantomData))
    }
}

/// The text is not what was expected; nobody asks in which way.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("malformed JSON")]
pub(crate) struct Malformed;

impl Error for Malformed {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

struct JsonReader<'de> {
    text: &'de str,
    /// What lies before it has been read.
    at: usize,
    /// So many levels more may be opened.
    deeper: u8,
}

impl<'de> JsonReader<'de> {
    fn skip_space(&mut self) {
        while self.text.as_bytes().get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    /// The first byte of what comes next. Clients write no space between values, and this is asked several times for each.
    #[inline]
    fn peek(&mut self) -> Result<u8, Malformed> {
        match self.text.as_bytes().get(self.at) {
            Some(byte) if *byte > b' ' => Ok(*byte),
            _ => self.peek_behind_space(),
        }
    }

    #[cold]
    fn peek_behind_space(&mut self) -> Result<u8, Malformed> {
        self.skip_space();
        self.text.as_bytes().get(self.at).copied().ok_or(Malformed)
    }

    /// Reads this one byte.
    fn expect(&mut self, byte: u8) -> Result<(), Malformed> {
        if self.peek()? != byte {
            return Err(Malformed);
        }
        self.at += 1;
        Ok(())
    }

    /// Reads up to `end`.
    fn take_to(&mut self, end: usize) -> Result<&'de str, Malformed> {
        let taken = self.text.get(self.at..end).ok_or(Malformed)?;
        self.at = end;
        Ok(taken)
    }

    /// A string with its quotes.
    fn string(&mut self) -> Result<&'de str, Malformed> {
        let bytes = self.text.as_bytes();
        if bytes.get(self.at) != Some(&b'"') {
            return Err(Malformed);
        }
        self.take_to(end_of_string(bytes, self.at).ok_or(Malformed)?)
    }

    /// Gives the text of the string that comes next, of which the quote has been seen, to `visitor`.
    fn visit_string<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Malformed> {
        let inside = self.at + 1;
        if let Some(length) = short_plain_string(self.text.as_bytes(), inside) {
            self.at = inside + length + 1;
            return visitor.visit_borrowed_str(self.text.get(inside..inside + length).ok_or(Malformed)?);
        }
        let literal = self.string()?;
        let inner = literal.get(1..literal.len() - 1).ok_or(Malformed)?;
        match memchr::memchr(b'\\', inner.as_bytes()) {
            None => visitor.visit_borrowed_str(inner),
            Some(_) => visitor.visit_string(json_text::decode(inner)),
        }
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> Result<&'de str, Malformed> {
        let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
        let rest = self.text.as_bytes().get(self.at..).ok_or(Malformed)?;
        match rest.iter().take_while(is_part).count() {
            0 => Err(Malformed),
            length => self.take_to(self.at + length),
        }
    }

    /// The next value as it is written.
    fn raw(&mut self) -> Result<&'de str, Malformed> {
        match self.peek()? {
            b'"' => self.string(),
            b'{' | b'[' => {
                let bytes = self.text.as_bytes();
                let (mut at, mut open) = (self.at, 0_usize);
                loop {
                    match bytes.get(at).ok_or(Malformed)? {
                        b'"' => {
                            at = end_of_string(bytes, at).ok_or(Malformed)?;
                            continue;
                        }
                        b'{' | b'[' => open += 1,
                        b'}' | b']' => open -= 1,
                        _ => {}
                    }
                    at += 1;
                    if open == 0 {
                        return self.take_to(at);
                    }
                }
            }
            _ => self.word(),
        }
    }

    /// What `read` makes of a list or an object, one level deeper.
    fn inside<T>(
        &mut self,
        end: u8,
        read: impl FnOnce(&mut Self) -> Result<T, Malformed>,
    ) -> Result<T, Malformed> {
        self.at += 1;
        self.deeper = self.deeper.checked_sub(1).ok_or(Malformed)?;
        let value = read(self)?;
        self.deeper += 1;
        self.expect(end)?;
        Ok(value)
    }
}

/// How long the string is whose inside begins at `begin`, if it is short and has no escape. Most are names and ids: a search
/// that is made for long texts takes longer to begin than these to be gone through, eight bytes at a time.
fn short_plain_string(bytes: &[u8], begin: usize) -> Option<usize> {
    const SHORT: usize = 48;
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    // The lowest bit that is set belongs to the first byte that is `byte`.
    let places = |word: u64, byte: u8| {
        let differs = word ^ (ONES * u64::from(byte));
        differs.wrapping_sub(ONES) & !differs & HIGH
    };
    let mut rest = bytes.get(begin..)?;
    let mut length = 0;
    while length < SHORT {
        let (word, behind) = rest.split_first_chunk()?;
        let word = u64::from_le_bytes(*word);
        let (quotes, escapes) = (places(word, b'"'), places(word, b'\\'));
        if quotes | escapes != 0 {
            // No escape before the first quote.
            let is_plain = escapes & (quotes ^ quotes.wrapping_sub(1)) == 0;
            return is_plain.then_some(length + quotes.trailing_zeros() as usize / 8);
        }
        rest = behind;
        length += 8;
    }
    None
}

/// Behind the closing quote of the string that begins at `begin`.
fn end_of_string(bytes: &[u8], begin: usize) -> Option<usize> {
    let mut searched = begin + 1;
    if let Some(length) = short_plain_string(bytes, searched) {
        return Some(searched + length + 1);
    }
    loop {
        let quote = searched + memchr::memchr(b'"', bytes.get(searched..)?)?;
        // Behind an odd number of backslashes it is part of the text.
        let text = bytes.get(searched..quote)?;
        if text.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 0 {
            return Some(quote + 1);
        }
        searched = quote + 1;
    }
}

impl<'de> Deserializer<'de> for &mut JsonReader<'de> {
    type Error = Malformed;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        match self.peek()? {
            b'"' => self.visit_string(visitor),
            b'{' => self.inside(b'}', |reader| visitor.visit_map(Members { reader, is_first: true })),
            b'[' => self.inside(b']', |reader| visitor.visit_seq(Members { reader, is_first: true })),
            _ => match self.word()? {
                "null" => visitor.visit_unit(),
                "true" => visitor.visit_bool(true),
                "false" => visitor.visit_bool(false),
                number => {
                    if let Ok(number) = number.parse() {
                        return visitor.visit_u64(number);
                    }
                    match number.parse() {
                        Ok(number) if number != 0 => visitor.visit_i64(number),
                        // Larger ones, and those with a fraction. More is a number to Rust than to JSON; clients write numbers.
                        _ => visitor.visit_f64(number.parse().map_err(|_| Malformed)?),
                    }
                }
            },
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        match self.peek()? {
            b'n' if self.word()? == "null" => visitor.visit_none(),
            b'n' => Err(Malformed),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        match name {
            RawJson::NAME => visitor.visit_borrowed_str(self.raw()?),
            IfReadable::<()>::NAME => visitor.visit_seq(Attempt(self)),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        self.skip_space();
        let name = json_text::decode(self.string()?);
        let name: StrDeserializer<'_, Malformed> = name.as_str().into_deserializer();
        visitor.visit_enum(name)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        self.raw()?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier
    }
}

/// The name of a member: a string, whatever it is asked for as.
struct MemberName<'reader, 'de>(&'reader mut JsonReader<'de>);

impl<'de> Deserializer<'de> for MemberName<'_, 'de> {
    type Error = Malformed;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        match self.0.peek()? {
            b'"' => self.0.visit_string(visitor),
            _ => Err(Malformed),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// A list of the one value that comes next, or of none if that has another shape.
struct Attempt<'reader, 'de>(&'reader mut JsonReader<'de>);

impl<'de> SeqAccess<'de> for Attempt<'_, 'de> {
    type Error = Malformed;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Malformed> {
        let JsonReader { at, deeper, .. } = *self.0;
        let value = seed.deserialize(&mut *self.0).ok();
        if value.is_none() {
            (self.0.at, self.0.deeper) = (at, deeper);
            self.0.raw()?;
        }
        Ok(value)
    }
}

/// The members of a list or an object.
struct Members<'reader, 'de> {
    reader: &'reader mut JsonReader<'de>,
    is_first: bool,
}

impl Members<'_, '_> {
    /// Whether another one follows; the comma before it is read.
    fn goes_on(&mut self, end: u8) -> Result<bool, Malformed> {
        match self.reader.peek()? {
            next if next == end => Ok(false),
            _ if std::mem::take(&mut self.is_first) => Ok(true),
            b',' => {
                self.reader.at += 1;
                Ok(true)
            }
            _ => Err(Malformed),
        }
    }
}

impl<'de> SeqAccess<'de> for Members<'_, 'de> {
    type Error = Malformed;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Malformed> {
        if self.goes_on(b']')? { seed.deserialize(&mut *self.reader).map(Some) } else { Ok(None) }
    }
}

impl<'de> MapAccess<'de> for Members<'_, 'de> {
    type Error = Malformed;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Malformed> {
        if self.goes_on(b'}')? { seed.deserialize(MemberName(&mut *self.reader)).map(Some) } else { Ok(None) }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Malformed> {
        self.reader.expect(b':')?;
        seed.deserialize(&mut *self.reader)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Sample<'a> {
        #[serde(borrow)]
        text: Option<RawJson<'a>>,
        #[serde(borrow)]
        list: Option<RawJson<'a>>,
        count: Option<u32>,
    }

    #[test]
    fn values_come_as_they_are_written() {
        let text = r#" { "text" : "a \"quoted\\" , "other": [1, {"}": "]"}], "list":[ "x\\\"" , {"a":null}],"count":7 } "#;
        let sample: Sample<'_> = from_str(text).unwrap();
        assert_eq!(sample.text.map(RawJson::get), Some(r#""a \"quoted\\""#));
        assert_eq!(sample.list.map(RawJson::get), Some(r#"[ "x\\\"" , {"a":null}]"#));
        assert_eq!(sample.count, Some(7));
        let none: Sample<'_> = from_str(r#"{"text":null}"#).unwrap();
        assert!(none.text.is_none() && none.list.is_none() && none.count.is_none());
    }

    #[test]
    fn what_is_torn_or_has_no_outline_is_an_error() {
        let whole = r#"{"text":"a\"b","list":[1,{"x":[true,null]}],"count":12}"#;
        assert!(from_str::<Sample<'_>>(whole).is_ok());
        for length in 0..whole.len() {
            assert!(from_str::<Sample<'_>>(&whole[..length]).is_err(), "{}", &whole[..length]);
            assert!(from_str::<Value>(&whole[..length]).is_err(), "{}", &whole[..length]);
        }
        for broken in
            ["{} {}", "{}x", r#"{"a" 1}"#, r#"{a:1}"#, "[1 2]", "{1:2}", "nul", "-", "\"a\\\"", "[,1]", "]"]
        {
            assert!(from_str::<Value>(broken).is_err(), "{broken}");
        }
    }

    #[derive(Debug, Deserialize)]
    struct Attempted {
        first: IfReadable<Vec<IfReadable<u32>>>,
        #[serde(default)]
        second: IfReadable<Inner>,
        last: u32,
    }

    #[derive(Debug, Deserialize)]
    struct Inner {
        count: u32,
    }

    #[test]
    fn a_value_of_another_shape_is_nothing_and_the_rest_is_read() {
        let read = |text: &str| {
            let read: Attempted = from_str(text).ok()?;
            let first = read.first.0.map(|list| list.into_iter().map(|number| number.0).collect::<Vec<_>>());
            Some((first, read.second.0.map(|inner| inner.count), read.last))
        };
        for (text, expected) in [
            (r#"{"first":[1,2],"second":{"count":3},"last":4}"#, (Some(vec![Some(1), Some(2)]), Some(3), 4)),
            (
                r#"{"first":[1,"}",{"a":[2]},null,5],"last":4}"#,
                (Some(vec![Some(1), None, None, None, Some(5)]), None, 4),
            ),
            (r#"{"first":{"a":[1]},"second":{"count":"x","more":[1]},"last":4}"#, (None, None, 4)),
            (r#"{"first":"text","second":null,"last":4}"#, (None, None, 4)),
            // Left in the middle of three levels, which are all closed again.
            (
                r#"{"first":[[[1]],{"b":{"c":1}}],"second":{"count":{"count":[1,{}]}},"last":4}"#,
                (Some(vec![None, None]), None, 4),
            ),
        ] {
            assert_eq!(read(text), Some(expected), "{text}");
        }
        for torn in [r#"{"first":[1,{"a":"#, r#"{"first":[1]"#, r#"{"first":{"a":],"last":4"#] {
            assert_eq!(read(torn), None, "{torn}");
        }
        // However often an attempt is given up, as deep a value can be read behind it.
        let failing = format!("[{}1]", r#"{"count":[]},"#.repeat(300));
        assert_eq!(from_str::<Vec<IfReadable<Inner>>>(&failing).map(|list| list.len()), Ok(301));
    }

    #[test]
    fn a_deep_value_ends_no_process() {
        let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
        assert_eq!(from_str::<Value>(&deep), Err(Malformed));
        assert_eq!(from_str::<RawJson<'_>>(&deep).map(|raw| raw.get().len()), Ok(deep.len()));
        let flat = "[".repeat(90) + &"]".repeat(90);
        assert!(from_str::<Value>(&flat).is_ok());
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e9..1e9).prop_map(Value::from),
            "[\\\\\"ü🎉\u{1}\n /{}\\[\\],:a]{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map("[\\\\\"a-c{}]{0,4}", inner, 0..6).prop_map(Value::from_iter),
            ]
        })
    }

    proptest! {
        /// Short strings are read in another way than long ones, and those with escapes in another than plain ones.
        #[test]
        fn strings_of_any_length_end_where_they_end(
            before in "[a-z]{0,70}", middle in "[\\\\\"ü🎉\n]{0,2}", after in "[a-zü]{0,70}"
        ) {
            let text = format!("{before}{middle}{after}");
            let value = json!([&text, 1, { text.clone(): [&text] }]);
            prop_assert_eq!(from_str::<Value>(&value.to_string()), Ok(value));
        }

        #[test]
        fn it_reads_what_the_parser_of_everybody_reads(value in value(), pretty: bool) {
            let text = if pretty { format!("{value:#}") } else { value.to_string() };
            prop_assert_eq!(from_str::<Value>(&text), Ok(value));
            prop_assert_eq!(from_str::<RawJson<'_>>(&text).map(RawJson::get), Ok(text.as_str()));
        }

        #[test]
        fn nothing_makes_it_panic(text in "[\\\\\"{}\\[\\],:0-9a-z \n\u{fc}-]{0,60}") {
            let ours = from_str::<Value>(&text);
            // What is sound to everybody is sound to us, and says the same.
            if let Ok(theirs) = serde_json::from_str::<Value>(&text) {
                prop_assert_eq!(ours, Ok(theirs));
            }
        }
    }
}
