//! `docs/policy.md`: every key of `checkstone.toml`, written from the schema of the policy, which is made from its types.

use std::fmt::Write as _;

use serde_json::Value;

const BEGINNING: &str = "# The policy, key by key

What a repository requires of an agent stands in `checkstone.toml` at its root; what you want in all of them, in
`~/.config/checkstone/config.toml`. Later presets override earlier ones, and the file overrides its presets. How the gate uses
it is in [gate.md](gate.md), what autosave does in [autosave.md](autosave.md).

```console
$ checkstone policy check     # every mistake, with its line and the nearest valid name
$ checkstone policy show      # what counts here, presets and all
```

This page is written by `cargo xtask schemas` from the types that read the file.
[schemas/policy.schema.json](../schemas/policy.schema.json) is the same for editors.
";

/// The page.
pub(crate) fn page(schema: &Value) -> Result<String, String> {
    let mut page = BEGINNING.to_owned();
    table(&mut page, schema, "", schema)?;
    Ok(page)
}

/// The table `schema`, which stands under `[heading]`, and the tables in it.
fn table(page: &mut String, schema: &Value, heading: &str, whole: &Value) -> Result<(), String> {
    let keys = schema.get("properties").and_then(Value::as_object).ok_or("a table without keys")?;
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let (mut rows, mut inner) = (String::new(), Vec::new());
    for (key, property) in keys {
        let about = property.get("description").and_then(Value::as_str);
        let about =
            about.ok_or_else(|| format!("`{key}` in `[{heading}]` has no sentence"))?.replace('\n', " ");
        if let Some((heading, found)) = table_in(key, property, heading, whole) {
            inner.push((heading, about, found));
            continue;
        }
        let (about, default) = match about.rsplit_once(" Default: ") {
            Some((about, default)) => {
                (about.to_owned(), default.strip_suffix('.').unwrap_or(default).to_owned())
            }
            None if required.contains(&key.as_str()) => (about, "required".to_owned()),
            None => (about, "none".to_owned()),
        };
        let _ = writeln!(rows, "| `{key}` | {} | {default} | {about} |", kind(property, whole));
    }
    if !rows.is_empty() {
        let _ = write!(page, "\n| key | type | default | meaning |\n|---|---|---|---|\n{rows}");
    }
    for (heading, about, found) in inner {
        let _ = write!(page, "\n## `{heading}`\n\n{about}\n");
        let name = heading.trim_matches(['[', ']']);
        table(page, found, name, whole)?;
    }
    Ok(())
}

/// What a `$ref` leads to.
fn referred<'a>(value: &'a Value, whole: &'a Value) -> &'a Value {
    let name = value.get("$ref").and_then(Value::as_str).and_then(|name| name.rsplit('/').next());
    name.and_then(|name| whole.get("$defs")?.get(name)).unwrap_or(value)
}

/// A property as it is where it is given: an optional one is written as one of its schema and null.
fn given<'a>(property: &'a Value, whole: &'a Value) -> &'a Value {
    let first = property.get("anyOf").and_then(Value::as_array).and_then(|all| all.first());
    let is_optional =
        |all: &Vec<Value>| all.iter().any(|one| one.get("type").is_some_and(|kind| kind == "null"));
    match (first, property.get("anyOf").and_then(Value::as_array)) {
        (Some(first), Some(all)) if is_optional(all) => referred(first, whole),
        _ => referred(property, whole),
    }
}

/// The heading and the schema of a property that is a table, a list of tables, or tables by name.
fn table_in<'a>(
    key: &str,
    property: &'a Value,
    heading: &str,
    whole: &'a Value,
) -> Option<(String, &'a Value)> {
    let path = if heading.is_empty() { key.to_owned() } else { format!("{heading}.{key}") };
    let is_table = |schema: &Value| schema.get("properties").is_some();
    let found = given(property, whole);
    if is_table(found) {
        return Some((format!("[{path}]"), found));
    }
    if let Some(items) =
        property.get("items").map(|items| referred(items, whole)).filter(|items| is_table(items))
    {
        return Some((format!("[[{path}]]"), items));
    }
    let named = property.get("additionalProperties").map(|named| referred(named, whole))?;
    is_table(named).then(|| (format!("[{path}.ID]"), named))
}

/// The type in a person's words.
fn kind(property: &Value, whole: &Value) -> String {
    let found = given(property, whole);
    if let Some(words) = found.get("enum").and_then(Value::as_array) {
        let words: Vec<String> =
            words.iter().filter_map(Value::as_str).map(|word| format!("`{word}`")).collect();
        return words.join(", ");
    }
    if found.get("anyOf").is_some() {
        return "text, or a list of texts".to_owned();
    }
    let names = match found.get("type") {
        Some(Value::Array(names)) => names.first().and_then(Value::as_str),
        Some(name) => name.as_str(),
        None => None,
    };
    match names {
        Some("array") => match found.get("items").map(|items| kind(items, whole)) {
            Some(item) if item.starts_with('`') => format!("list of {item}"),
            _ => "list of texts".to_owned(),
        },
        Some("boolean") => "true or false".to_owned(),
        Some("integer") => "whole number".to_owned(),
        _ => "text".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_a_row_and_a_key_without_a_sentence_is_refused() {
        let schema = serde_json::json!({
            "properties": {
                "on": {"description": "The switch. Default: `true`.", "type": ["boolean", "null"]},
                "part": {"description": "Parts.", "type": ["array", "null"], "items": {"$ref": "#/$defs/Part"}},
            },
            "$defs": {"Part": {
                "properties": {"name": {"description": "Its name.", "type": "string"}},
                "required": ["name"],
            }},
        });
        let page = page(&schema).unwrap();
        assert!(page.contains("| `on` | true or false | `true` | The switch. |"), "{page}");
        assert!(page.contains("## `[[part]]`\n\nParts.\n"), "{page}");
        assert!(page.contains("| `name` | text | required | Its name. |"), "{page}");
        let silent = serde_json::json!({"properties": {"on": {"type": "boolean"}}});
        assert!(super::page(&silent).is_err());
    }
}
