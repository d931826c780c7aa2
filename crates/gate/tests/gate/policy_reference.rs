//! What the reference says of the keys is what is read, and what counts if they are left out.

use gate::policy::{PRESETS, Policy, Source, reference};
use settings::{Shape, TableReference};

fn load(text: &str) -> Policy {
    match Policy::load(&[Source { name: "checkstone.toml", text }]) {
        Ok(policy) => policy,
        Err(problems) => panic!("{problems}\n{text}"),
    }
}

/// Every key with a default, set to it, in the tables that may stand once.
fn defaults(heading: &str, reference: &TableReference, text: &mut String) -> usize {
    let mut told = 0;
    for key in &reference.keys {
        let default = key.default.as_deref().and_then(|default| default.strip_prefix('`')?.strip_suffix('`'));
        if let Some(default) = default.filter(|_| !matches!(key.shape, Shape::Table(_))) {
            text.push_str(&format!("{heading}.{} = {default}\n", key.name));
            told += 1;
        }
    }
    for key in &reference.keys {
        if let Shape::Table(table) = &key.shape {
            told += defaults(&format!("{heading}.{}", key.name), table, text);
        }
    }
    told
}

/// What the reference calls a default is what counts where the key is left out.
#[test]
fn the_defaults_that_are_told_are_those_that_count() {
    let mut text = String::new();
    let mut told = 0;
    for key in &reference().keys {
        if let Shape::Table(table) = &key.shape {
            told += defaults(key.name, table, &mut text);
        }
    }
    assert_eq!(told, 45, "{text}");
    let (with, without) = (load(&text), load(""));
    assert_eq!(serde_json::to_value(&with).unwrap(), serde_json::to_value(&without).unwrap());
}

/// A value of each shape, for every key of a table.
fn example(reference: &TableReference, separator: &str) -> String {
    let keys = reference.keys.iter().filter_map(|key| {
        let value = match &key.shape {
            Shape::Boolean => "true".to_owned(),
            Shape::Whole => "7".to_owned(),
            Shape::Text
                if ["min_turn", "keep_for", "timeout", "hook_timeout", "wait"].contains(&key.name) =>
            {
                "'7s'".to_owned()
            }
            Shape::Text | Shape::TextOrTexts => "'a'".to_owned(),
            Shape::OneOf(words) => format!("'{}'", words[0]),
            Shape::WordByPattern(words) => format!("{{ 'a/*' = '{}' }}", words[0]),
            Shape::Texts => "['a']".to_owned(),
            Shape::TextsOf(words) => format!("['{}']", words[0]),
            Shape::Table(table) => format!("{{ {} }}", example(table, ", ")),
            Shape::Tables(table) | Shape::MergedTables { table, .. } => {
                format!("[{{ {} }}]", example(table, ", "))
            }
            Shape::NamedTables(Some(table)) => format!("{{ a = {{ {} }} }}", example(table, ", ")),
            Shape::NamedTables(None) => return None,
        };
        Some(format!("{} = {value}", key.name))
    });
    keys.collect::<Vec<_>>().join(separator)
}

#[test]
fn the_schema_knows_the_keys_that_are_read() {
    let of_preset = load(&format!("presets = [{:?}]", PRESETS[0].0)).actions;
    // No action can come after itself.
    let after = format!("after = '{}'", of_preset[0].id);
    let policy = load(&example(&reference(), "\n").replace("after = 'a'", &after));
    assert_eq!((policy.gate.blast_radius, policy.actions.len()), (7, 1 + of_preset.len()));
    let keys: Vec<&str> = reference().keys.iter().map(|key| key.name).collect();
    assert_eq!(
        keys,
        [
            "presets",
            "prose",
            "other_code",
            "gate",
            "plan",
            "snapshot",
            "category",
            "action",
            "error",
            "check",
            "message",
            "autosave",
            "integrations",
            "storage",
            "mcp",
            "team"
        ]
    );
}
