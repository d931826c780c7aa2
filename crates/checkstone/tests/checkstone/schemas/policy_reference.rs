//! `docs/policy.md` and `schemas/policy.schema.json`: every key of `checkstone.toml`, written from the rows by which it is read.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use settings::{KeyReference, Shape, TableReference};

const BEGINNING: &str = "# The policy, key by key

What a repository requires of an agent stands in `checkstone.toml` at its root; what you want in all of them, in
`~/.config/checkstone/config.toml`. Later presets override earlier ones, and the file overrides its presets. How the gate uses
it is in [gate.md](gate.md), what autosave does in [autosave.md](autosave.md).

```console
$ checkstone policy check     # every mistake, with its line and the nearest valid name
$ checkstone policy show      # what counts here, presets and all
```

This page is written by `cargo xtask schemas` from the rows by which the file is read.
[schemas/policy.schema.json](../schemas/policy.schema.json) is the same for editors.
";

/// The page.
pub(crate) fn page(reference: &TableReference) -> String {
    let mut page = BEGINNING.to_owned();
    table(&mut page, "", reference);
    page
}

/// The table that stands under `heading`, and the tables in it.
fn table(page: &mut String, heading: &str, reference: &TableReference) {
    let (mut rows, mut inner) = (String::new(), Vec::new());
    for key in &reference.keys {
        let path = if heading.is_empty() { key.name.to_owned() } else { format!("{heading}.{}", key.name) };
        match &key.shape {
            Shape::Table(table) => inner.push((format!("[{path}]"), path, key, Some(table))),
            Shape::Tables(table) | Shape::MergedTables { table, .. } => {
                inner.push((format!("[[{path}]]"), path, key, Some(table)));
            }
            Shape::NamedTables(Some(table)) => inner.push((format!("[{path}.ID]"), path, key, Some(table))),
            Shape::NamedTables(None) => inner.push((format!("[{path}]"), path, key, None)),
            shape => {
                let default = key.default.as_deref().unwrap_or("required");
                let _ = writeln!(rows, "| `{}` | {} | {default} | {} |", key.name, words(shape), key.about);
            }
        }
    }
    if !rows.is_empty() {
        let _ = write!(page, "\n| key | type | default | meaning |\n|---|---|---|---|\n{rows}");
    }
    for (heading, path, key, reference) in inner {
        let _ = write!(page, "\n## `{heading}`\n\n{}\n", key.about);
        if let Some(reference) = reference {
            table(page, &path, reference);
        }
    }
}

/// What a key may be set to, in a person's words.
fn words(shape: &Shape) -> String {
    let listed = |words: &[&str]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    match shape {
        Shape::Boolean => "true or false".to_owned(),
        Shape::Whole => "whole number".to_owned(),
        Shape::Text => "text".to_owned(),
        Shape::OneOf(words) => listed(words),
        Shape::Texts => "list of texts".to_owned(),
        Shape::TextsOf(words) => format!("list of {}", listed(words)),
        Shape::TextOrTexts => "text, or a list of texts".to_owned(),
        Shape::WordByPattern(words) => format!("{}, or a table of patterns", listed(words)),
        Shape::Table(_) | Shape::Tables(_) | Shape::MergedTables { .. } | Shape::NamedTables(_) => {
            "table".to_owned()
        }
    }
}

/// The JSON schema, for editors.
pub(crate) fn schema(reference: &TableReference) -> Value {
    let mut schema = object(reference, &[]);
    let head = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "PolicyFile",
        "description": "What a repository requires of an agent before it may stop.",
    });
    if let (Some(schema), Value::Object(mut whole)) = (schema.as_object_mut(), head) {
        whole.append(schema);
        return Value::Object(whole);
    }
    schema
}

fn object(reference: &TableReference, required: &[&str]) -> Value {
    let properties: Map<String, Value> =
        reference.keys.iter().map(|key| (key.name.to_owned(), property(key))).collect();
    let mut object = json!({"type": "object", "properties": properties, "additionalProperties": false});
    if let Some(object) = object.as_object_mut().filter(|_| !required.is_empty()) {
        object.insert("required".to_owned(), json!(required));
    }
    object
}

fn property(key: &KeyReference) -> Value {
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let mut property = match &key.shape {
        Shape::Boolean => json!({"type": "boolean"}),
        Shape::Whole => json!({"type": "integer"}),
        Shape::Text => json!({"type": "string"}),
        Shape::OneOf(words) => json!({"enum": words}),
        Shape::Texts => texts,
        Shape::TextsOf(words) => json!({"type": "array", "items": {"enum": words}}),
        Shape::TextOrTexts => json!({"anyOf": [{"type": "string"}, texts]}),
        Shape::WordByPattern(words) => json!({"anyOf": [
            {"enum": words}, {"type": "boolean"},
            {"type": "object", "additionalProperties": {"enum": words}}]}),
        Shape::Table(table) => object(table, &[]),
        Shape::Tables(table) => {
            let required = table.keys.iter().filter(|key| key.default.is_none());
            let required: Vec<&str> = required.map(|key| key.name).collect();
            json!({"type": "array", "items": object(table, &required)})
        }
        // What a file leaves out, an earlier one may have.
        Shape::MergedTables { table, name } => json!({"type": "array", "items": object(table, &[name])}),
        Shape::NamedTables(Some(table)) => {
            json!({"type": "object", "additionalProperties": object(table, &[])})
        }
        Shape::NamedTables(None) => json!({"type": "object"}),
    };
    if let Some(property) = property.as_object_mut() {
        let default = key.default.as_ref().map(|default| format!(" Default: {default}."));
        let default = default.filter(|_| !property.contains_key("properties"));
        property.insert("description".to_owned(), json!(key.about.clone() + &default.unwrap_or_default()));
    }
    property
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference() -> TableReference {
        let key = |name, about: &str, shape, default: Option<&str>| KeyReference {
            name,
            about: about.to_owned(),
            shape,
            default: default.map(str::to_owned),
        };
        let part = TableReference { keys: vec![key("name", "Its name.", Shape::Text, None)] };
        TableReference {
            keys: vec![
                key("on", "The switch.", Shape::Boolean, Some("`true`")),
                key("part", "Parts.", Shape::Tables(part), Some("`[]`")),
            ],
        }
    }

    #[test]
    fn every_key_has_a_row() {
        let page = page(&reference());
        assert_eq!(
            page.strip_prefix(BEGINNING),
            Some(
                "\n| key | type | default | meaning |\n|---|---|---|---|\n| `on` | true or false | `true` | The switch. |\n\
                 \n## `[[part]]`\n\nParts.\n\n| key | type | default | meaning |\n|---|---|---|---|\n\
                 | `name` | text | required | Its name. |\n"
            )
        );
    }

    #[test]
    fn the_schema_has_every_key() {
        let schema = schema(&reference());
        assert_eq!(
            schema.get("properties"),
            Some(&json!({
                "on": {"type": "boolean", "description": "The switch. Default: `true`."},
                "part": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"name": {"type": "string", "description": "Its name."}},
                        "additionalProperties": false,
                        "required": ["name"],
                    },
                    "description": "Parts. Default: `[]`.",
                },
            }))
        );
    }
}
