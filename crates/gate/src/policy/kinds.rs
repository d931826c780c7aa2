//! What the keys of a policy may be set to beside the usual: globs, evidence patterns, presets, categories and actions.

use programs::shell::Pattern;
use settings::{At, Choices as _, Entry, Kind, Names, Reader, Shape, TableOfKeys};

use super::PRESETS;
use super::keys::{Action, ActionLayer, Category, CategoryLayer, Proof};
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
            let expected = "it must be relative to the root of the repository and stay inside";
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
        let message = format!("`{}` counts only in your own `config.toml`", entry.key.get_ref());
        reader.problem(entry.key.span(), message);
        None
    }

    fn value((): ()) {}

    fn shape() -> Shape {
        Shape::NamedTables(None)
    }
}

/// `[[category]]`, merged by name.
pub(crate) struct Categories;

impl Kind for Categories {
    type Written = Vec<CategoryLayer>;
    type Value = Vec<Category>;

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<Vec<CategoryLayer>> {
        let mut categories: Vec<CategoryLayer> = Vec::new();
        for (entry, table) in reader.tables(entry) {
            let category = Category::read(table, reader);
            let Some(name) = &category.name else {
                if !table.contains_key("name") {
                    reader.problem(entry.value.span(), format!("`{}` has no `name`", reader.found(entry)));
                }
                continue;
            };
            let mut known = categories.iter().filter_map(|known| known.name.as_ref());
            if let Some(first) = known.find(|known| known.value == name.value) {
                let line = first.place.line;
                let message = format!("`{}` stands here again; it is already on line {line}", name.value);
                reader.problems.push(name.place.problem(message));
                continue;
            }
            categories.push(category);
        }
        Some(categories)
    }

    fn value(written: Vec<CategoryLayer>) -> Vec<Category> {
        written.into_iter().map(Category::finish).collect()
    }

    fn merge(older: &mut Vec<CategoryLayer>, newer: Vec<CategoryLayer>) {
        merge_named::<Category>(older, newer, |category| category.name.as_ref());
    }

    fn shape() -> Shape {
        Shape::MergedTables { table: Category::reference(), name: "name" }
    }
}

/// `[action.ID]`, merged by id.
pub(crate) struct Actions;

impl Kind for Actions {
    type Written = Vec<ActionLayer>;
    type Value = Vec<Action>;

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<Vec<ActionLayer>> {
        let actions = reader.table(entry)?.iter().filter_map(|(key, value)| {
            let id = At { value: key.get_ref().to_string(), place: reader.place(key.span()) };
            let table = reader.table(Entry { key, value })?;
            let action = Action::read(table, reader);
            let has_evidence = action.evidence.as_ref().is_some_and(|evidence| !evidence.is_empty());
            if let Some(proof) = action.proof.filter(|proof| has_evidence && *proof != Proof::Evidence) {
                let word = Proof::word(proof);
                let message =
                    format!("`proof = \"{word}\"` does not count beside `evidence`; leave one of them out");
                reader.warnings.push(id.place.problem(message));
            }
            Some(ActionLayer { id: Some(id), ..action })
        });
        Some(actions.collect())
    }

    fn value(written: Vec<ActionLayer>) -> Vec<Action> {
        written.into_iter().map(Action::finish).collect()
    }

    fn merge(older: &mut Vec<ActionLayer>, newer: Vec<ActionLayer>) {
        merge_named::<Action>(older, newer, |action| action.id.as_ref());
    }

    fn shape() -> Shape {
        Shape::NamedTables(Some(Action::reference()))
    }
}

fn merge_named<T: TableOfKeys>(
    older: &mut Vec<T::Layer>,
    newer: Vec<T::Layer>,
    name: impl Fn(&T::Layer) -> Option<&At<String>>,
) {
    for layer in newer {
        let is_same =
            |known: &T::Layer| name(known).map(|name| &name.value) == name(&layer).map(|name| &name.value);
        match older.iter_mut().find(|known| is_same(known)) {
            Some(known) => T::merge(known, layer),
            None => older.push(layer),
        }
    }
}
