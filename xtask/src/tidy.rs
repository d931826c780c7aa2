//! House rules that no linter knows, checked over every tracked file.

mod test_code;

use std::process::Command;

use crate::links;
use crate::process;
use crate::root;
use crate::steps::Done;

/// A source file longer than this has more than one purpose.
const LONGEST_SOURCE: usize = 900;

pub(crate) fn check() -> Result<Done, String> {
    let listed = process::output(Command::new("git").args(["ls-files", "-z"]).current_dir(root()))?;
    let mut wrong = Vec::new();
    let mut sources = Vec::new();
    for name in listed.split('\0').filter(|name| name.ends_with(".rs")) {
        let text = fs_err::read_to_string(root().join(name)).map_err(|error| error.to_string())?;
        let is_entry = name.ends_with("main.rs") || name.contains("/tests/") || name.starts_with("fuzz/");
        if !text.starts_with("//!") && !is_entry {
            wrong.push(format!("{name}: does not say at its top what it is responsible for"));
        }
        if text.lines().count() > LONGEST_SOURCE && !name.contains("/tests/") {
            wrong.push(format!("{name}: {} lines", text.lines().count()));
        }
        if name.ends_with("/mod.rs") {
            wrong.push(format!("{name}: modules are named after what they hold"));
        }
        sources.push((name, text));
    }
    wrong.extend(test_code::wrong(sources.iter().map(|(name, text)| (*name, text.as_str()))));
    for name in listed.split('\0').filter(|name| name.ends_with(".md")) {
        let text = fs_err::read_to_string(root().join(name)).map_err(|error| error.to_string())?;
        wrong.extend(links::broken(name, &text));
    }
    if wrong.is_empty() { Ok(Done::Passed) } else { Err(wrong.join("\n")) }
}
