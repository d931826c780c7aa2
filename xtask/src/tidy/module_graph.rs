//! Modules that need each other can only be read together: in the crates named here there is no such circle. A module and
//! those inside it are read together anyway.

use std::collections::{BTreeMap, BTreeSet};

use super::Source;

/// The crates whose modules stand in an order.
const ORDERED: &[&str] = &["autosave", "checkstone", "gate", "journal", "stop"];

/// Which modules of a crate each of its modules names.
type Graph<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Each circle of modules in one of these crates.
pub(super) fn wrong(sources: &[Source]) -> Vec<String> {
    let circles = ORDERED.iter().flat_map(|package| {
        let graph = graph(sources.iter().filter(|source| source.package() == *package));
        circles(&graph)
            .into_iter()
            .map(move |circle| format!("`{package}`: modules need each other: {circle}"))
    });
    circles.collect()
}

/// A crate's own file is no module of it: it names them all.
fn graph<'a>(sources: impl Iterator<Item = &'a Source>) -> Graph<'a> {
    let sources: Vec<(&str, &Source)> =
        sources.filter_map(|source| Some((module(&source.name)?, source))).collect();
    let modules: BTreeSet<&str> = sources.iter().map(|(module, _)| *module).collect();
    let named = |module: &'a str, source: &'a Source| {
        let code = source.own_lines().filter(|(_, line)| !line.trim_start().starts_with("//"));
        let paths = code.flat_map(move |(_, line)| paths(line, module));
        let named = paths.filter_map(|path| nearest(path, &modules));
        named.filter(|named| !is_inside(named, module) && !is_inside(module, named)).collect()
    };
    sources.iter().map(|(module, source)| (*module, named(module, source))).collect()
}

fn is_inside(module: &str, other: &str) -> bool {
    module.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// `crates/checkstone/src/hook/stop.rs` is `hook/stop`.
fn module(file: &str) -> Option<&str> {
    let (_, inside) = file.split_once("/src/")?;
    inside.strip_suffix(".rs").filter(|module| !matches!(*module, "lib" | "main"))
}

/// The paths in a line of a module, from the root of the crate: in `hook/stop`, `super::prompt` is `hook/prompt`.
fn paths(line: &str, module: &str) -> impl Iterator<Item = String> {
    let words = line.split(|character: char| !character.is_alphanumeric() && !"_:".contains(character));
    words.filter_map(move |word| {
        let (mut word, mut inside) = match word.strip_prefix("crate::") {
            Some(path) => (path, ""),
            None => (word.starts_with("super::").then_some(word)?, module),
        };
        while let Some(path) = word.strip_prefix("super::") {
            (word, inside) = (path, inside.rsplit_once('/').map_or("", |(parent, _)| parent));
        }
        Some(format!("{inside}/{}", word.replace("::", "/")))
    })
}

/// The module that a path such as `hook/stop/decide` leads into.
fn nearest<'a>(mut path: String, modules: &BTreeSet<&'a str>) -> Option<&'a str> {
    loop {
        if let Some(module) = modules.get(path.trim_matches('/')) {
            return Some(module);
        }
        path.truncate(path.rfind('/')?);
    }
}

/// The groups of modules each of which reaches all others of its group.
fn circles(graph: &Graph<'_>) -> Vec<String> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|module| (*module, reached_from(module, graph))).collect();
    let reaches = |from: &str, to: &str| reached.get(from).is_some_and(|modules| modules.contains(to));
    let groups: BTreeSet<Vec<&str>> = graph
        .keys()
        .filter(|module| reaches(module, module))
        .map(|module| {
            let others = graph.keys().filter(|other| reaches(module, other) && reaches(other, module));
            others.copied().collect()
        })
        .collect();
    groups.into_iter().map(|group| group.join(", ")).collect()
}

fn reached_from<'a>(module: &str, graph: &Graph<'a>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![module];
    while let Some(next) = open.pop() {
        let new = graph.get(next).into_iter().flatten().filter(|named| reached.insert(**named));
        open.extend(new.copied().collect::<Vec<_>>());
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_that_need_each_other_are_found() {
        let source = |name: &str, text: &str| Source {
            name: format!("crates/stop/src/{name}.rs"),
            text: format!("//! A file, see crate::a.\n{text}\n"),
        };
        let sources = [
            source("lib", "pub use crate::a::One;"),
            source("a", "use crate::b::inner::{self, Two};"),
            source("b", "use crate::c;\nuse inner::Two;"),
            source("b/inner", "fn three(b: super::B) -> crate::a::One { crate::c::four() }"),
            source("c", "use crate::Elsewhere;\n#[cfg(test)]\nmod tests {\nuse crate::a;\n}"),
            source("d/one", "use super::two::Two;\nuse super::super::c;"),
            source("d/two", "use crate::d::one;"),
        ];
        assert_eq!(
            wrong(&sources),
            ["`stop`: modules need each other: a, b/inner", "`stop`: modules need each other: d/one, d/two"]
        );
    }
}
