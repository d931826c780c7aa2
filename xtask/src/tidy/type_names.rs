//! Within a crate no two types share a name: a name that needs its module to be understood is the wrong name. A type that each
//! platform has for itself, in `linux` and in `macos`, is one type.

use std::collections::BTreeMap;

use super::{Source, platforms};

/// Each name that two types of one crate have on one platform, with the places.
pub(super) fn wrong(sources: &[Source]) -> Vec<String> {
    let mut wrong: Vec<String> =
        platforms::on_each_platform(sources).flat_map(|sources| shared(&sources)).collect();
    wrong.sort();
    wrong.dedup();
    wrong
}

fn shared(sources: &[&Source]) -> Vec<String> {
    let mut places: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for source in sources {
        for (number, line) in source.own_lines() {
            if let Some(name) = type_name(line) {
                let place = format!("{}:{number}", source.name);
                places.entry((source.package(), name)).or_default().push(place);
            }
        }
    }
    let shared = places.into_iter().filter(|(_, places)| places.len() > 1);
    shared
        .map(|((_, name), places)| format!("two types are called `{name}`: {}", places.join(", ")))
        .collect()
}

/// The type that a line declares, inside of a function too; an indented `type` belongs to an `impl` and is none.
fn type_name(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let mut word = words.next()?;
    if word.starts_with("pub") {
        word = words.find(|word| !word.ends_with(')') || !word.contains("crate"))?;
    }
    let is_associated = word == "type" && line.starts_with(char::is_whitespace);
    let declares = matches!(word, "struct" | "enum" | "trait" | "type" | "union") && !is_associated;
    let name = declares.then(|| words.next())??;
    let end = name.find(|character: char| !character.is_alphanumeric() && character != '_');
    name.get(..end.unwrap_or(name.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_known_by_its_declaration() {
        let lines = [
            "pub struct Call<'a> {",
            "pub(crate) enum Kind {",
            "pub(in crate::shell) struct Word(String);",
            "type Table = Vec<Row>;",
            "    struct Head {",
            "    type Value = Row;",
            "// struct Comment",
            "fn structure() {",
        ];
        assert_eq!(
            lines.map(type_name),
            [Some("Call"), Some("Kind"), Some("Word"), Some("Table"), Some("Head"), None, None, None]
        );
    }

    #[test]
    fn two_of_one_name_in_a_crate_are_found() {
        let source = |name: &str, text: &str| Source { name: name.to_owned(), text: text.to_owned() };
        let sources = [
            source("crates/a/src/one.rs", "struct Place;\n#[cfg(test)]\nmod tests {\nstruct Test;\n}\n"),
            source("crates/a/src/two.rs", "struct Test;\nenum Place {}\n"),
            source("crates/b/src/one.rs", "struct Place;\n"),
            source("crates/b/src/linux.rs", "struct Child;\n"),
            source("crates/b/src/macos/child.rs", "struct Child;\nstruct Place;\n"),
        ];
        assert_eq!(
            wrong(&sources),
            [
                "two types are called `Place`: crates/a/src/one.rs:1, crates/a/src/two.rs:2",
                "two types are called `Place`: crates/b/src/one.rs:1, crates/b/src/macos/child.rs:2",
            ]
        );
    }
}
