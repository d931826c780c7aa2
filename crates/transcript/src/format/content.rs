//! The content of messages, which the clients write as a plain string or as a list of typed blocks.

use std::fmt;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::entry::SNIPPET;
use crate::json_reader::{self, RawJson};
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
            fn visit_string<E: Error>(self, value: String) -> Result<Self::Value, E> {
                Ok(Content::Text(Text(value.into())))
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
    text: Option<RawJson<'a>>,
}

/// The string literals of a result: the string itself, or the texts of its blocks.
pub(crate) fn literals(value: RawJson<'_>) -> Vec<&str> {
    let raw = value.get();
    if raw.starts_with('"') {
        return vec![raw];
    }
    match json_reader::from_str::<Content<'_, TextBlock<'_>>>(raw) {
        Ok(Content::Blocks(blocks)) => blocks.iter().filter_map(|block| literal(block.text)).collect(),
        _ => Vec::new(),
    }
}

/// Head and tail of a text, given as the literals that it consists of.
pub(crate) fn snippet<'a>(literals: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let mut snippet = Snippet::new(SNIPPET);
    literals.into_iter().for_each(|literal| snippet.push_literal(literal));
    Some(snippet.finish()).filter(|text| !text.is_empty())
}

/// Anything at all; only its presence counts.
#[derive(Debug)]
pub(crate) struct Present;

impl<'de> Deserialize<'de> for Present {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

/// When something was recorded; nothing where the client writes a text that is no time.
pub(crate) fn instant<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let Some(raw) = Option::<RawJson<'_>>::deserialize(deserializer)? else { return Ok(None) };
    let text = raw.get().strip_prefix('"').ok_or_else(|| Error::custom("a time is a text"))?;
    Ok(text.strip_suffix('"').and_then(|text| text.parse().ok()))
}

/// A string literal where there is one.
pub(crate) fn literal(value: Option<RawJson<'_>>) -> Option<&str> {
    value.map(RawJson::get).filter(|raw| raw.starts_with('"'))
}

/// A string where there is one, and nothing where the client writes something else in its place.
pub(crate) fn string(value: Option<RawJson<'_>>) -> Option<String> {
    literal(value).map(json_text::decode)
}
