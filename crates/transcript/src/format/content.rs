//! The content of messages, which the clients write as a plain string or as a list of typed blocks.

use std::fmt;

use outputs::{Scan, Shown};
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::json_text::{self, Snippet, Text};

/// A string, one block, or a list of blocks.
#[derive(Debug)]
pub(crate) enum Content<'a, Block> {
    Text(Text<'a>),
    Blocks(Vec<Block>),
}

impl<Block> Default for Content<'_, Block> {
    fn default() -> Self {
        Self::Blocks(Vec::new())
    }
}

impl<'de: 'a, 'a, Block: Deserialize<'de>> Deserialize<'de> for Content<'a, Block> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ContentVisitor<Block>(std::marker::PhantomData<Block>);
        impl<'de, Block: Deserialize<'de>> Visitor<'de> for ContentVisitor<Block> {
            type Value = Content<'de, Block>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string or blocks")
            }
            fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<Self::Value, E> {
                Ok(Content::Text(Text(value.into())))
            }
            fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
                Ok(Content::Text(Text(value.to_owned().into())))
            }
            fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
                Ok(Content::default())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
                let mut blocks = Vec::new();
                while let Some(block) = sequence.next_element()? {
                    blocks.push(block);
                }
                Ok(Content::Blocks(blocks))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let block = Block::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
                Ok(Content::Blocks(vec![block]))
            }
        }
        deserializer.deserialize_any(ContentVisitor(std::marker::PhantomData))
    }
}

/// The one thing that every client's text block has.
#[derive(Debug, Deserialize)]
struct TextBlock<'a> {
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
}

/// Calls `visit` with each string literal of a result: the string itself, or the texts of its blocks.
pub(crate) fn each_literal<'a>(value: &'a RawValue, mut visit: impl FnMut(&'a str)) {
    let raw = value.get();
    if raw.starts_with('"') {
        visit(raw);
    } else if let Ok(Content::Blocks(blocks)) = serde_json::from_str::<Content<'a, TextBlock<'a>>>(raw) {
        for literal in blocks.iter().filter_map(|block| block.text).map(RawValue::get) {
            if literal.starts_with('"') {
                visit(literal);
            }
        }
    }
}

/// Head and tail of a result's text.
pub(crate) fn snippet(value: &RawValue, limit: usize) -> Option<String> {
    let mut snippet = Snippet::new(limit);
    each_literal(value, |literal| snippet.push_literal(literal));
    Some(snippet.finish()).filter(|text| !text.is_empty())
}

/// What the output of a command shows.
pub(crate) fn shown<'a>(literals: impl IntoIterator<Item = &'a str>) -> Option<Shown> {
    let mut scan = Scan::new();
    for literal in literals {
        json_text::decode_in_pieces(literal, |piece| scan.feed(piece));
    }
    Some(scan.finish()).filter(|shown| !shown.is_empty())
}

/// The string literals of a result.
pub(crate) fn literals(value: &RawValue) -> Vec<&str> {
    let mut literals = Vec::new();
    each_literal(value, |literal| literals.push(literal));
    literals
}

/// The first string literal of a result, as written.
pub(crate) fn first_literal(value: &RawValue) -> Option<&str> {
    let mut first = None;
    each_literal(value, |literal| {
        first.get_or_insert(literal);
    });
    first
}

/// Anything at all; only its presence counts.
#[derive(Debug)]
pub(crate) struct Present;

impl<'de> Deserialize<'de> for Present {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

/// A string literal where there is one.
pub(crate) fn literal(value: Option<&RawValue>) -> Option<&str> {
    value.map(RawValue::get).filter(|raw| raw.starts_with('"'))
}

/// A string where there is one, and nothing where the client writes something else in its place.
pub(crate) fn string(value: Option<&RawValue>) -> Option<String> {
    literal(value).map(json_text::decode)
}
