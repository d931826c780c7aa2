//! Which crate may know which: the rooms in the order of the map, the gate below everything that starts a process, and
//! one door to git.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Source;
use crate::process::{self, cargo_command};

/// The rooms from the bottom up: a crate knows only crates that stand before it. Cargo itself refuses cycles; this also
/// refuses an arrow that would turn the order around.
const ROOMS: &[&str] = &[
    "text",
    "contents",
    "machine",
    "files",
    "settings",
    "outputs",
    "transcript",
    "programs",
    "change-set",
    "changes",
    "keeping",
    "gate",
    "journal",
    "agents",
    "stop",
    "autosave",
    "workflow",
    "supervise",
    "lease",
    "database",
    "team",
    "bucket",
    "checkpoint",
    "kernel",
    "run",
    "live",
    "checkstone",
    "scripted-model",
    "sandbox",
    "xtask",
];

/// The one crate that runs git; those that are no part of the program may do it as a person would.
const DOOR: &str = "changes";
const NO_PART_OF_THE_PROGRAM: &[&str] = &["sandbox", "xtask"];

/// What is wrong with the crates as they are.
pub(super) fn wrong(sources: &[Source]) -> Result<Vec<String>, String> {
    let graph = graph()?;
    let mut wrong = order(&graph, ROOMS);
    let starting = starting_processes(sources);
    for reached in reached_from("gate", &graph) {
        if starting.contains(reached) {
            wrong.push(format!("`gate` knows `{reached}`, which starts processes"));
        }
    }
    wrong.extend(second_doors(sources));
    Ok(wrong)
}

/// The crates of the workspace, each with those that it needs outside of its tests.
fn graph() -> Result<BTreeMap<String, Vec<String>>, String> {
    let text = process::output(cargo_command().args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let packages = metadata.get("packages").and_then(Value::as_array).ok_or("cargo names no packages")?;
    let name = |value: &Value| value.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let ours: BTreeSet<String> = packages.iter().map(name).collect();
    let needed = |package: &Value| {
        let all = package.get("dependencies").and_then(Value::as_array).cloned().unwrap_or_default();
        let normal = all.iter().filter(|dependency| dependency.get("kind").is_none_or(Value::is_null));
        normal.map(name).filter(|needed| ours.contains(needed)).collect()
    };
    Ok(packages.iter().map(|package| (name(package), needed(package))).collect())
}

fn order(graph: &BTreeMap<String, Vec<String>>, rooms: &[&str]) -> Vec<String> {
    let place = |name: &str| rooms.iter().position(|room| *room == name);
    let mut wrong = Vec::new();
    for (name, needed) in graph {
        let Some(own) = place(name) else {
            wrong.push(format!("`{name}` has no place in the order of the crates"));
            continue;
        };
        let above = needed.iter().filter(|needed| place(needed).is_none_or(|place| place >= own));
        wrong.extend(above.map(|above| format!("`{name}` knows `{above}`, which stands above it")));
    }
    let gone = rooms.iter().filter(|room| !graph.contains_key(**room));
    wrong.extend(gone.map(|room| format!("the order of the crates names `{room}`, which is not there")));
    wrong
}

fn reached_from<'a>(name: &str, graph: &'a BTreeMap<String, Vec<String>>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = vec![name];
    while let Some(next) = open.pop() {
        for needed in graph.get(next).into_iter().flatten() {
            if reached.insert(needed.as_str()) {
                open.push(needed);
            }
        }
    }
    reached
}

/// The crates whose own code, not their tests, can start a process.
fn starting_processes(sources: &[Source]) -> BTreeSet<&str> {
    let starts = |source: &&Source| {
        let mut lines = source.own_lines();
        lines.any(|(_, line)| line.contains("process::Command") || line.contains("libc::fork"))
    };
    sources.iter().filter(starts).map(|source| source.package()).collect()
}

/// Places outside of the door that start a program by the name `git`.
fn second_doors(sources: &[Source]) -> Vec<String> {
    let ours = sources
        .iter()
        .filter(|source| source.package() != DOOR && !NO_PART_OF_THE_PROGRAM.contains(&source.package()));
    let by_name = |source: &Source| {
        let doors = source.own_lines().filter(|(_, line)| line.contains("Command::new(\"git\")"));
        doors.map(|(number, _)| format!("{}:{number}: a second door to git", source.name)).collect::<Vec<_>>()
    };
    ours.flat_map(by_name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph_of(arrows: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
        let owned = |needed: &[&str]| needed.iter().map(|name| (*name).to_owned()).collect();
        arrows.iter().map(|(name, needed)| ((*name).to_owned(), owned(needed))).collect()
    }

    #[test]
    fn an_arrow_upwards_a_stranger_and_a_missing_room_are_found() {
        let graph = graph_of(&[("low", &["high"]), ("high", &[]), ("stranger", &[])]);
        assert_eq!(
            order(&graph, &["low", "high", "gone"]),
            [
                "`low` knows `high`, which stands above it",
                "`stranger` has no place in the order of the crates",
                "the order of the crates names `gone`, which is not there",
            ]
        );
    }

    #[test]
    fn what_is_reached_is_reached_through_others_too() {
        let graph =
            graph_of(&[("gate", &["programs"]), ("programs", &["text"]), ("text", &[]), ("git", &[])]);
        assert_eq!(reached_from("gate", &graph), BTreeSet::from(["programs", "text"]));
    }

    #[test]
    fn git_is_started_in_one_crate() {
        let source = |name: &str| Source {
            name: name.to_owned(),
            text: "//! A file.\nfn look() { Command::new(\"git\"); }\n".to_owned(),
        };
        let sources = [source("crates/changes/src/git.rs"), source("crates/stop/src/plan.rs")];
        assert_eq!(second_doors(&sources), ["crates/stop/src/plan.rs:2: a second door to git"]);
    }
}
