//! What a key may be set to: how it is read, merged and written down.

use std::fmt::Debug;
use std::marker::PhantomData;
use std::time::Duration;

use toml::de::DeValue;

use crate::problem::At;
use crate::reader::{Entry, Reader};
use crate::table::{Shape, TableOfKeys};

/// For a kind whose values are used as they are read.
#[macro_export]
macro_rules! used_as_written {
    ($value:ty) => {
        type Written = $value;
        type Value = $value;

        fn value(written: $value) -> $value {
            written
        }
    };
}

pub trait Kind {
    /// As it is read, with the places that a later look needs.
    type Written: Clone + Debug;
    /// As it is used.
    type Value: Debug;

    /// `None` if it is wrong, which is noted.
    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<Self::Written>;

    fn value(written: Self::Written) -> Self::Value;

    /// What a newer file says replaces what an older one said.
    fn merge(older: &mut Self::Written, newer: Self::Written) {
        *older = newer;
    }

    fn shape() -> Shape {
        Shape::Text
    }

    /// As it would be written in a file.
    fn written(value: &Self::Value) -> String {
        format!("{value:?}")
    }
}

#[derive(Debug)]
pub struct Boolean;

impl Kind for Boolean {
    used_as_written!(bool);

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<bool> {
        match entry.value.get_ref() {
            DeValue::Boolean(value) => Some(*value),
            _ => {
                reader.wrong(entry, "true or false");
                None
            }
        }
    }

    fn shape() -> Shape {
        Shape::Boolean
    }
}

/// A whole number in a range; the ends of `i64` are no bounds.
#[derive(Debug)]
pub struct Whole<T, const LEAST: i64 = 0, const MOST: i64 = { i64::MAX }>(PhantomData<T>);

impl<T, const LEAST: i64, const MOST: i64> Kind for Whole<T, LEAST, MOST>
where
    T: TryFrom<i64> + Copy + Debug,
{
    used_as_written!(T);

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<T> {
        let number = match entry.value.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse::<i64>().ok(),
            _ => None,
        };
        let number = number.filter(|number| (LEAST..=MOST).contains(number));
        let number = number.and_then(|number| T::try_from(number).ok());
        if number.is_none() {
            let expected = match (LEAST, MOST) {
                (i64::MIN, i64::MAX) => "a whole number".to_owned(),
                (least, i64::MAX) => format!("a whole number from {least} up"),
                (least, most) => format!("a whole number from {least} to {most}"),
            };
            reader.wrong(entry, &expected);
        }
        number
    }

    fn shape() -> Shape {
        Shape::Whole
    }
}

/// A time in whole seconds, in a range.
#[derive(Debug)]
pub struct Seconds<const LEAST: i64, const MOST: i64>;

impl<const LEAST: i64, const MOST: i64> Kind for Seconds<LEAST, MOST> {
    used_as_written!(Duration);

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<Duration> {
        Whole::<u32, LEAST, MOST>::read(entry, reader).map(|seconds| Duration::from_secs(seconds.into()))
    }

    fn shape() -> Shape {
        Shape::Whole
    }

    fn written(value: &Duration) -> String {
        value.as_secs().to_string()
    }
}

/// A time as people write it: `30s`, `2m`, `1m30s`.
#[derive(Debug)]
pub struct Time<const ABOVE_ZERO: bool = false>;

/// A time within which something has to be done.
pub type TimeLimit = Time<true>;

impl<const ABOVE_ZERO: bool> Kind for Time<ABOVE_ZERO> {
    used_as_written!(Duration);

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<Duration> {
        let advice = match entry.value.get_ref() {
            DeValue::String(text) => match text::parse_duration(text) {
                Some(Duration::ZERO) if ABOVE_ZERO => {
                    reader.wrong(entry, "a time above zero");
                    return None;
                }
                Some(duration) => return Some(duration),
                None => "write it like `30s`, `2m`, `1m30s`".to_owned(),
            },
            DeValue::Integer(number) if reader.quotes_values() => format!("write `\"{number}s\"`"),
            _ => "write it like `\"30s\"`".to_owned(),
        };
        reader.problem(entry.value.span(), format!("`{}` is not a duration; {advice}", reader.found(entry)));
        None
    }

    fn written(value: &Duration) -> String {
        const DAY: u64 = 24 * 60 * 60;
        match value.as_secs() {
            _ if value.subsec_millis() > 0 => format!("\"{}ms\"", value.as_millis()),
            seconds if seconds > 0 && seconds.is_multiple_of(DAY) => format!("\"{}d\"", seconds / DAY),
            seconds => format!("\"{seconds}s\""),
        }
    }
}

#[derive(Debug)]
pub struct Text;

impl Kind for Text {
    used_as_written!(String);

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<String> {
        reader.string(entry)
    }
}

/// What means nothing if it is empty: a text with nothing but white space, an array without items.
#[derive(Debug)]
pub struct Filled<K>(PhantomData<K>);

impl<K: Kind> Kind for Filled<K> {
    type Written = K::Written;
    type Value = K::Value;

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<Self::Written> {
        let is_empty = match entry.value.get_ref() {
            DeValue::String(text) => text.trim().is_empty(),
            DeValue::Array(items) => items.is_empty(),
            _ => false,
        };
        if is_empty {
            reader.problem(entry.value.span(), format!("`{}` is empty", entry.key.get_ref()));
            return None;
        }
        K::read(entry, reader)
    }

    fn value(written: Self::Written) -> Self::Value {
        K::value(written)
    }

    fn merge(older: &mut Self::Written, newer: Self::Written) {
        K::merge(older, newer);
    }

    fn shape() -> Shape {
        K::shape()
    }

    fn written(value: &Self::Value) -> String {
        K::written(value)
    }
}

/// A text that names something; it is looked for later.
#[derive(Debug)]
pub struct Name;

impl Kind for Name {
    type Written = At<String>;
    type Value = String;

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<At<String>> {
        Placed::<Text>::read(entry, reader)
    }

    fn value(written: At<String>) -> String {
        written.value
    }
}

#[derive(Debug)]
pub struct Names;

impl Kind for Names {
    type Written = Vec<At<String>>;
    type Value = Vec<String>;

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<Vec<At<String>>> {
        reader.strings(entry)
    }

    fn value(written: Vec<At<String>>) -> Vec<String> {
        written.into_iter().map(|name| name.value).collect()
    }

    fn shape() -> Shape {
        Shape::Texts
    }
}

#[derive(Debug)]
pub struct OneOrMore;

impl Kind for OneOrMore {
    type Written = Vec<At<String>>;
    type Value = Vec<String>;

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<Vec<At<String>>> {
        match entry.value.get_ref() {
            DeValue::String(_) => Some(vec![Name::read(entry, reader)?]),
            DeValue::Array(_) => reader.strings(entry),
            _ => {
                reader.wrong(entry, "a string or an array of strings");
                None
            }
        }
    }

    fn value(written: Vec<At<String>>) -> Vec<String> {
        Names::value(written)
    }

    fn shape() -> Shape {
        Shape::TextOrTexts
    }
}

/// The words that a key may be set to. [`choices!`](crate::choices!) makes an enum of them.
pub trait Choices {
    type Choice: Copy + Debug + PartialEq + 'static;
    const WORDS: &'static [(&'static str, Self::Choice)];

    fn word(choice: Self::Choice) -> &'static str {
        let mut words = Self::WORDS.iter();
        words.find(|(_, known)| *known == choice).map_or("", |(word, _)| word)
    }
}

/// One of a few words.
#[derive(Debug)]
pub struct Choice<C>(PhantomData<C>);

impl<C: Choices> Kind for Choice<C> {
    used_as_written!(C::Choice);

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<C::Choice> {
        let text = reader.string(entry)?;
        let chosen = C::WORDS.iter().find(|(word, _)| *word == text).map(|(_, choice)| *choice);
        if chosen.is_none() {
            let words: Vec<_> = C::WORDS.iter().map(|(word, _)| *word).collect();
            let message = format!("`{}` is not one of {}", reader.found(entry), words.join(", "));
            reader.unknown(reader.place(entry.value.span()), message, &text, words.into_iter());
        }
        chosen
    }

    fn shape() -> Shape {
        Shape::OneOf(C::WORDS.iter().map(|(word, _)| *word).collect())
    }

    fn written(value: &C::Choice) -> String {
        format!("\"{}\"", C::word(*value))
    }
}

/// A value that is used together with its place.
#[derive(Debug)]
pub struct Placed<K>(PhantomData<K>);

impl<K: Kind> Kind for Placed<K> {
    type Written = At<K::Written>;
    type Value = At<K::Value>;

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<Self::Written> {
        let value = K::read(entry, reader)?;
        Some(At { value, place: reader.place(entry.value.span()) })
    }

    fn value(written: Self::Written) -> Self::Value {
        written.map(K::value)
    }

    fn shape() -> Shape {
        K::shape()
    }

    fn written(value: &Self::Value) -> String {
        K::written(&value.value)
    }
}

/// A table of strings by any name, in the order in which they are written.
#[derive(Debug)]
pub struct Pairs;

impl Kind for Pairs {
    used_as_written!(Vec<(At<String>, At<String>)>);

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<Self::Written> {
        let DeValue::Table(table) = entry.value.get_ref() else {
            reader.wrong(entry, "a table of names and strings: `{ name = \"…\" }`");
            return None;
        };
        let pairs = table.iter().filter_map(|(key, value)| {
            let text = Name::read(Entry { key, value }, reader)?;
            Some((At { value: key.get_ref().to_string(), place: reader.place(key.span()) }, text))
        });
        let mut pairs: Vec<_> = pairs.collect();
        pairs.sort_by(|(one, _), (other, _)| one.place.cmp(&other.place));
        Some(pairs)
    }

    fn shape() -> Shape {
        Shape::NamedTables(None)
    }
}

#[derive(Debug)]
pub struct Nested<T>(PhantomData<T>);

impl<T: TableOfKeys> Kind for Nested<T> {
    type Written = T::Layer;
    type Value = T;

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<T::Layer> {
        Some(T::read(reader.table(entry)?, reader))
    }

    fn value(written: T::Layer) -> T {
        T::finish(written)
    }

    fn merge(older: &mut T::Layer, newer: T::Layer) {
        T::merge(older, newer);
    }

    fn shape() -> Shape {
        Shape::Table(T::reference())
    }
}

/// `[[name]]`: tables that are whole in themselves. A newer file adds to them.
#[derive(Debug)]
pub struct List<T>(PhantomData<T>);

impl<T: TableOfKeys> Kind for List<T> {
    type Written = Vec<At<T::Layer>>;
    type Value = Vec<T>;

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<Self::Written> {
        let mut layers = Vec::new();
        for (entry, table) in reader.tables(entry) {
            for (key, _) in T::KEYS.iter().filter(|(key, required)| *required && !table.contains_key(*key)) {
                reader.problem(entry.value.span(), format!("`{}` has no `{key}`", reader.found(entry)));
            }
            layers.push(At { value: T::read(table, reader), place: reader.place(entry.value.span()) });
        }
        Some(layers)
    }

    fn value(written: Self::Written) -> Vec<T> {
        written.into_iter().map(|layer| T::finish(layer.value)).collect()
    }

    fn merge(older: &mut Self::Written, newer: Self::Written) {
        older.extend(newer);
    }

    fn shape() -> Shape {
        Shape::Tables(T::reference())
    }
}
