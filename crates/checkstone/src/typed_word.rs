//! A value that is typed by the word that it is written with in files.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// One of these words, or one that stands for it, as the type itself reads it.
pub(crate) fn word<Word: DeserializeOwned + Clone + Send + Sync + 'static>(
    words: impl Into<PossibleValuesParser>,
) -> impl TypedValueParser<Value = Word> {
    words.into().try_map(|word| serde_json::from_value::<Word>(Value::String(word)))
}
