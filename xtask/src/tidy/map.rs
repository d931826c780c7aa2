//! The map in ARCHITECTURE.md names every module, in the room where it is, and nothing that is not there.

use std::collections::{BTreeMap, BTreeSet};

use super::Source;

const FILE: &str = "ARCHITECTURE.md";

/// Modules that are missing in the map, and names in it that lead nowhere.
pub(super) fn wrong(sources: &[Source]) -> Result<Vec<String>, String> {
    let text = fs_err::read_to_string(crate::root().join(FILE)).map_err(|error| error.to_string())?;
    let rooms = rooms(&text);
    let mut wrong = Vec::new();
    let mut there: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.package() != "xtask") {
        let name = source.name.rsplit('/').next().unwrap_or_default();
        there.entry(source.package()).or_default().insert(name);
        let Some(room) = rooms.get(source.package()) else {
            wrong.push(format!("{FILE} has no room `{}`", source.package()));
            continue;
        };
        if name != "lib.rs" && name != "main.rs" && !names(room).contains(name) {
            wrong.push(format!("{FILE} does not name {}", source.name));
        }
    }
    for (package, room) in &rooms {
        let there = there.remove(package.as_str()).unwrap_or_default();
        let gone = names(room).into_iter().filter(|name| !there.contains(name));
        wrong.extend(gone.map(|name| format!("{FILE} names `{name}` in `{package}`, which is not there")));
    }
    wrong.dedup();
    Ok(wrong)
}

/// The part of the map that is about each crate.
fn rooms(text: &str) -> BTreeMap<String, String> {
    let mut rooms: BTreeMap<String, String> = BTreeMap::new();
    let mut room = None;
    let map = text.lines().skip_while(|line| *line != "crates/").skip(1);
    for line in map.take_while(|line| line.starts_with("  ")) {
        if let Some(begun) = line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')) {
            room = begun.split_once('/').map(|(name, _)| name.to_owned());
        }
        if let Some(name) = &room {
            let known = rooms.entry(name.clone()).or_default();
            known.push_str(line);
            known.push('\n');
        }
    }
    rooms
}

/// The files that a part of the map names: `a.rs`, and the last name of `a/b.rs`.
fn names(room: &str) -> BTreeSet<&str> {
    let words = room.split(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '_' | '.' | '-'));
    words.map(|word| word.trim_end_matches('.')).filter(|word| word.ends_with(".rs")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_is_what_is_indented_below_its_name() {
        let text = "# Map\n```\ncrates/\n  a/   first\n    one.rs, two/three.rs  they do.\n  b-c/\n    four.rs: it.\nxtask/ five.rs\n";
        let rooms = rooms(text);
        assert_eq!(rooms.keys().collect::<Vec<_>>(), ["a", "b-c"]);
        assert_eq!(names(&rooms["a"]), BTreeSet::from(["one.rs", "three.rs"]));
        assert_eq!(names(&rooms["b-c"]), BTreeSet::from(["four.rs"]));
    }
}
