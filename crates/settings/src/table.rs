//! A table of keys: one row says how a key is called, what it may be set to, what counts if it is left out, and what it
//! means. Reading, merging, the nearest name, the JSON schema and the reference all come from the rows.

use std::fmt::Debug;

use crate::document::{Document, Table};
use crate::kind::{Kind, Nested};
use crate::problem::Problems;
use crate::reader::{Entry, Quoting, Reader};

/// A table whose keys are known. [`table!`](crate::table!) makes one.
pub trait TableOfKeys: Debug + Sized {
    /// What one file sets.
    type Layer: Clone + Debug + Default;

    /// Every key, and whether it has to be there.
    const KEYS: &'static [(&'static str, bool)];

    /// Sets a key; false if there is none of that name.
    fn set(layer: &mut Self::Layer, entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> bool;

    /// What the newer layer sets wins.
    fn merge(older: &mut Self::Layer, newer: Self::Layer);

    /// Keys that have to be there, and that no layer sets.
    fn missing(layer: &Self::Layer) -> Vec<&'static str>;

    fn finish(layer: Self::Layer) -> Self;

    fn reference() -> TableReference;

    /// Every key as it would be written in a file, in the order of [`Self::KEYS`]; `None` if it is left out.
    fn written(&self) -> Vec<Option<String>>;

    /// The keys that are set to something else than in `other`, each as it would be written in a file.
    fn set_otherwise(&self, other: &Self) -> Vec<(KeyReference, String)> {
        let changed = self.written().into_iter().zip(other.written());
        let changed = changed.map(|(own, other)| own.filter(|own| other.as_ref() != Some(own)));
        let rows = Self::reference().keys.into_iter().zip(changed);
        rows.filter_map(|(row, value)| Some((row, value?))).collect()
    }

    fn read(table: &Table<'_>, reader: &mut Reader<'_>) -> Self::Layer {
        let mut layer = Self::Layer::default();
        for (key, value) in table {
            if !Self::set(&mut layer, Entry { key, value }, reader) {
                reader.unknown_key(key, Self::KEYS.iter().map(|(name, _)| *name));
            }
        }
        layer
    }
}

/// The rows of a table, for whoever writes them down.
#[derive(Clone, Debug)]
pub struct TableReference {
    pub keys: Vec<KeyReference>,
}

#[derive(Clone, Debug)]
pub struct KeyReference {
    pub name: &'static str,
    pub about: String,
    pub shape: Shape,
    /// What counts if it is left out, as Markdown; `None`: it has to be there.
    pub default: Option<String>,
}

/// What a key may be set to.
#[derive(Clone, Debug)]
pub enum Shape {
    Boolean,
    Whole,
    Text,
    OneOf(Vec<&'static str>),
    Texts,
    TextsOf(Vec<&'static str>),
    TextOrTexts,
    /// One of these words, true or false, or a table of patterns, each with one of the words.
    WordByPattern(Vec<&'static str>),
    Table(TableReference),
    /// `[[key]]`, each whole in itself.
    Tables(TableReference),
    /// `[[key]]`, merged by what the key `name` is set to.
    MergedTables {
        table: TableReference,
        name: &'static str,
    },
    /// `[key.ID]`, merged by id; `None`: what stands in them is known elsewhere.
    NamedTables(Option<TableReference>),
}

pub fn merge_key<K: Kind>(older: &mut Option<K::Written>, newer: Option<K::Written>) {
    match (older, newer) {
        (Some(older), Some(newer)) => K::merge(older, newer),
        (older @ None, newer) => *older = newer,
        (Some(_), None) => {}
    }
}

/// The table under one key of a file, everything else left to others; as if it were empty if the key is not there.
pub fn read_table<T: TableOfKeys>(
    file: &str,
    text: &str,
    key: &str,
    quoting: Quoting,
) -> Result<T, Problems> {
    let document = Document::parse(file, text)?;
    let mut reader = Reader::new(file, text, quoting);
    let layer = match document.root().get_key_value(key) {
        Some((key, value)) => Nested::<T>::read(Entry { key, value }, &mut reader),
        None => None,
    };
    match reader.problems.is_empty() {
        true => Ok(T::finish(layer.unwrap_or_default())),
        false => Err(Problems::sorted(reader.problems)),
    }
}

/// Declares a table of keys: the struct that is used, and the layer that one file sets. A row is
///
/// ```text
/// /// What it means.
/// field as "key": Kind = default;
/// ```
///
/// `as "key"` is left out if the key is called as the field; `, or "words"` in place of the default makes it an option and says
/// what counts without it; with neither, the key has to be there. `named id` adds a field for the name of the table.
#[macro_export]
macro_rules! table {
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident, layer $layer:ident $(, named $id:ident)? {
            $(
                $(#[doc = $about:literal])+
                $field:ident $(as $key:literal)? : $kind:ty $(= $default:expr)? $(, or $otherwise:literal)? ;
            )+
        }
    ) => {
        $(#[$meta])*
        $visibility struct $name {
            $(pub $id: String,)?
            $(
                $(#[doc = $about])+
                pub $field: $crate::table_row!(type $kind $(= $default)? $(, or $otherwise)?),
            )+
        }

        #[derive(Clone, Debug, Default)]
        $visibility struct $layer {
            $(pub(crate) $id: Option<$crate::At<String>>,)?
            $(pub(crate) $field: Option<<$kind as $crate::Kind>::Written>,)+
        }

        impl $crate::TableOfKeys for $name {
            type Layer = $layer;

            const KEYS: &'static [(&'static str, bool)] = &[$((
                $crate::table_row!(name $field $(as $key)?),
                $crate::table_row!(required $(= $default)? $(, or $otherwise)?),
            )),+];

            fn set(
                layer: &mut $layer,
                entry: $crate::Entry<'_, '_>,
                reader: &mut $crate::Reader<'_>,
            ) -> bool {
                let key: &str = entry.key.get_ref();
                $(
                    if key == $crate::table_row!(name $field $(as $key)?) {
                        layer.$field = <$kind as $crate::Kind>::read(entry, reader);
                        return true;
                    }
                )+
                false
            }

            fn merge(older: &mut $layer, newer: $layer) {
                $($crate::merge_key::<$kind>(&mut older.$field, newer.$field);)+
            }

            fn missing(layer: &$layer) -> Vec<&'static str> {
                let set = [$(layer.$field.is_some()),+];
                let keys = Self::KEYS.iter().zip(set);
                keys.filter(|((_, required), set)| *required && !set).map(|((name, _), _)| *name).collect()
            }

            fn finish(layer: $layer) -> Self {
                Self {
                    $($id: layer.$id.map(|id| id.value).unwrap_or_default(),)?
                    $(
                        $field: $crate::table_row!(
                            value layer.$field.map(<$kind as $crate::Kind>::value), $(= $default)? $(, or $otherwise)?
                        ),
                    )+
                }
            }

            fn written(&self) -> Vec<Option<String>> {
                vec![$(
                    $crate::table_row!(written $kind, &self.$field $(, = $default)? $(, or $otherwise)?),
                )+]
            }

            fn reference() -> $crate::TableReference {
                $crate::TableReference {
                    keys: vec![$($crate::KeyReference {
                        name: $crate::table_row!(name $field $(as $key)?),
                        about: concat!($($about),+).trim().to_owned(),
                        shape: <$kind as $crate::Kind>::shape(),
                        default: $crate::table_row!(default $kind $(= $default)? $(, or $otherwise)?),
                    }),+],
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                <Self as $crate::TableOfKeys>::finish(Default::default())
            }
        }
    };
}

/// What [`table!`](crate::table!) makes of the parts of a row.
#[doc(hidden)]
#[macro_export]
macro_rules! table_row {
    (name $field:ident) => { stringify!($field) };
    (name $field:ident as $key:literal) => { $key };
    (type $kind:ty, or $otherwise:literal) => { Option<<$kind as $crate::Kind>::Value> };
    (type $kind:ty $(= $default:expr)?) => { <$kind as $crate::Kind>::Value };
    (required) => { true };
    (required = $default:expr) => { false };
    (required, or $otherwise:literal) => { false };
    (value $value:expr,) => { $value.unwrap_or_default() };
    (value $value:expr, = $default:expr) => { $value.unwrap_or_else(|| $default) };
    (value $value:expr, , or $otherwise:literal) => { $value };
    (written $kind:ty, $value:expr, or $otherwise:literal) => {
        Option::as_ref($value).map(<$kind as $crate::Kind>::written)
    };
    (written $kind:ty, $value:expr $(, = $default:expr)?) => { Some(<$kind as $crate::Kind>::written($value)) };
    (default $kind:ty, or $otherwise:literal) => { Some($otherwise.to_owned()) };
    (default $kind:ty = $default:expr) => { Some(format!("`{}`", <$kind as $crate::Kind>::written(&$default))) };
    (default $kind:ty) => { None };
}

/// An enum whose variants are the words that a key may be set to.
#[macro_export]
macro_rules! choices {
    ($(#[$meta:meta])* $visibility:vis enum $name:ident {
        $($(#[$about:meta])* $variant:ident = $word:literal),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, ::serde::Serialize)]
        $visibility enum $name {
            $($(#[$about])* #[serde(rename = $word)] $variant),+
        }

        impl $crate::Choices for $name {
            type Choice = Self;
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, Self::$variant)),+];
        }
    };
}
