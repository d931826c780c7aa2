//! Which keys two texts differ in, as a person would name them.

use std::collections::BTreeSet;

use toml::{Table, Value};

/// The keys whose values differ, with a dot between a table and its keys; lists count as one value. `None` if one of the
/// texts is not TOML.
pub fn changed_keys(before: &str, after: &str) -> Option<Vec<String>> {
    let mut changed = Vec::new();
    compare(&before.parse().ok()?, &after.parse().ok()?, "", &mut changed);
    Some(changed)
}

fn compare(before: &Table, after: &Table, within: &str, changed: &mut Vec<String>) {
    let nothing = Table::new();
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for key in keys {
        let name = format!("{within}{key}");
        match (before.get(key), after.get(key)) {
            (before, after) if before == after => {}
            (Some(Value::Table(before)), Some(Value::Table(after))) => {
                compare(before, after, &format!("{name}."), changed);
            }
            (Some(Value::Table(before)), None) => compare(before, &nothing, &format!("{name}."), changed),
            (None, Some(Value::Table(after))) => compare(&nothing, after, &format!("{name}."), changed),
            _ => changed.push(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_named_from_the_root() {
        let before = "presets = [\"python\"]\n[gate]\nenabled = true\n[gate.rules]\nred = \"hold\"\n[action.tests]\nsay = \"a\"\n";
        for (after, expected) in [
            (before, &[][..]),
            (&format!("# nothing else\n\n{before}"), &[]),
            ("", &["action.tests.say", "gate.enabled", "gate.rules.red", "presets"]),
            (&before.replace("true", "false").replace("hold", "off"), &["gate.enabled", "gate.rules.red"]),
            (&format!("{before}[[category]]\nname = \"a\"\n"), &["category"]),
        ] {
            assert_eq!(changed_keys(before, after).unwrap(), expected, "{after}");
        }
        assert_eq!(changed_keys(before, "presets = ["), None);
    }
}
