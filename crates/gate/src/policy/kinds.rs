//! What the keys of a policy may be set to beside the usual: globs, evidence patterns, presets.

use programs::shell::Pattern;
use settings::{At, Entry, Kind, Names, Reader, Shape};

use super::PRESETS;
use super::paths::Globs;

impl Kind for Globs {
    type Written = Self;
    type Value = Vec<String>;

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<Self> {
        let mut globs = Self::default();
        for text in reader.strings(entry)? {
            match globs.push(&text.value) {
                Ok(()) => reader.noted.push(text),
                Err(error) => {
                    let message = format!("bad glob `{}`: {error}", text.value);
                    reader.problems.push(text.place.problem(message));
                }
            }
        }
        Some(globs)
    }

    fn value(written: Self) -> Vec<String> {
        written.texts()
    }

    fn shape() -> Shape {
        Shape::Texts
    }
}

/// Evidence patterns.
pub(crate) struct Patterns;

impl Kind for Patterns {
    settings::used_as_written!(Vec<Pattern>);

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<Vec<Pattern>> {
        let mut patterns = Vec::new();
        for text in reader.strings(entry)? {
            match Pattern::parse(&text.value) {
                Ok(pattern) => patterns.push(pattern),
                Err(error) => {
                    reader.problems.push(text.place.problem(format!("bad evidence pattern: {error}")));
                }
            }
        }
        Some(patterns)
    }

    fn shape() -> Shape {
        Shape::Texts
    }
}

/// A path inside of the repository, whatever the file says.
pub(crate) struct PathInside;

impl Kind for PathInside {
    settings::used_as_written!(String);

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<String> {
        let path = reader.string(entry)?;
        if path.starts_with('/') || path.split('/').any(|part| part == "..") {
            let expected = "it must be relative to the root of the repository and stay inside it";
            reader.problem(entry.value.span(), format!("bad path `{path}`: {expected}"));
            return None;
        }
        Some(path)
    }
}

/// Names of presets; whether they exist shows when they are loaded.
pub(crate) struct Presets;

impl Kind for Presets {
    type Written = Vec<At<String>>;
    type Value = Vec<String>;

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<Vec<At<String>>> {
        reader.strings(entry)
    }

    fn value(written: Vec<At<String>>) -> Vec<String> {
        Names::value(written)
    }

    fn shape() -> Shape {
        Shape::TextsOf(PRESETS.iter().map(|(name, _)| *name).collect())
    }
}

/// What only the user's own configuration may set, and no policy.
pub(crate) struct UsersOwn;

impl Kind for UsersOwn {
    type Written = ();
    type Value = ();

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<()> {
        let message = format!("`{}` works only in your own `config.toml`", entry.key.get_ref());
        reader.problem(entry.key.span(), message);
        None
    }

    fn value((): ()) {}

    fn shape() -> Shape {
        Shape::NamedTables(None)
    }
}
