//! House rules that no linter knows, checked over every tracked file.

mod crate_graph;
pub(crate) mod host_folders;
mod map;
mod module_graph;
mod platforms;
mod test_code;
mod type_names;

use std::process::Command;

use crate::book;
use crate::links;
use crate::process;
use crate::root;
use crate::steps::Done;

/// A source file longer than this has more than one purpose.
const LONGEST_SOURCE: usize = 900;

/// A Rust file that is no test.
pub(crate) struct Source {
    /// Its path from the root.
    pub(crate) name: String,
    text: String,
}

impl Source {
    /// The crate that it belongs to.
    pub(crate) fn package(&self) -> &str {
        let mut parts = self.name.split('/');
        match parts.next() {
            Some("crates") => parts.next().unwrap_or_default(),
            first => first.unwrap_or_default(),
        }
    }

    /// Its lines with their numbers, up to its own tests.
    pub(crate) fn own_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().zip(1..).map(|(line, number)| (number, line));
        lines.take_while(|(_, line)| *line != "#[cfg(test)]")
    }
}

pub(crate) fn check() -> Result<Done, String> {
    let tracked = tracked()?;
    let mut wrong = Vec::new();
    let mut rust = Vec::new();
    for name in tracked.iter().filter(|name| name.ends_with(".rs")) {
        let text = read(name)?;
        let is_entry = name.ends_with("main.rs") || name.contains("/tests/") || name.starts_with("fuzz/");
        if !text.starts_with("//!") && !is_entry {
            wrong.push(format!("{name}: does not say at its top what it is responsible for"));
        }
        if text.lines().count() > LONGEST_SOURCE && !name.contains("/tests/") {
            wrong.push(format!("{name}: {} lines", text.lines().count()));
        }
        if name.ends_with("/mod.rs") && !host_folders::is_row(name) {
            wrong.push(format!("{name}: modules are named after what they hold"));
        }
        rust.push((name.as_str(), text));
    }
    wrong.extend(test_code::wrong(rust.iter().map(|(name, text)| (*name, text.as_str()))));
    for name in tracked.iter().filter(|name| name.ends_with(".md")) {
        wrong.extend(links::broken(name, &read(name)?));
    }
    wrong.extend(book::left_out(&tracked, &read("docs/SUMMARY.md")?));
    let sources = sources()?;
    wrong.extend(crate_graph::wrong(&sources)?);
    wrong.extend(module_graph::wrong(&sources));
    wrong.extend(type_names::wrong(&sources));
    wrong.extend(platforms::wrong(&sources));
    wrong.extend(host_folders::wrong(&sources));
    wrong.extend(map::wrong(&sources)?);
    if wrong.is_empty() { Ok(Done::Passed) } else { Err(wrong.join("\n")) }
}

/// Every file that git tracks.
pub(crate) fn tracked() -> Result<Vec<String>, String> {
    let listed = process::output(Command::new("git").args(["ls-files", "-z"]).current_dir(root()))?;
    Ok(listed.split('\0').filter(|name| root().join(name).is_file()).map(str::to_owned).collect())
}

/// The sources of every crate: each crate's own file first, then its modules, a folder after the file of its name.
pub(crate) fn sources() -> Result<Vec<Source>, String> {
    let mut names: Vec<String> = tracked()?;
    names.retain(|name| name.ends_with(".rs") && name.contains("/src/") && !name.starts_with("fuzz/"));
    names.sort_by_key(|name| {
        let entry = !(name.ends_with("/src/lib.rs") || name.ends_with("/src/main.rs"));
        let package = name.split("/src/").next().unwrap_or_default().to_owned();
        (package, entry, name.trim_end_matches(".rs").replace('/', "\0"))
    });
    names.into_iter().map(|name| read(&name).map(|text| Source { name, text })).collect()
}

pub(crate) fn read(name: &str) -> Result<String, String> {
    fs_err::read_to_string(root().join(name)).map_err(|error| error.to_string())
}
