//! Every row proves itself: without it a labelled command means something else.

use std::cell::Cell;

use outputs::Runner;

use super::{Grammar, Program, checkers, compiled, files, git, launchers, node, python, rust, shell, tasks};
use crate::shell::{Intents, SimpleCommand};

/// Lines of `command => what it means`.
const LABELLED: &str = include_str!("commands.txt");

const NAMES: &[&[&[&str]]] = &[
    files::NAMES,
    shell::NAMES,
    git::NAMES,
    launchers::NAMES,
    python::NAMES,
    node::NAMES,
    rust::NAMES,
    compiled::NAMES,
    checkers::NAMES,
    tasks::NAMES,
];

thread_local! {
    static LEFT_OUT: Cell<Option<&'static Program>> = const { Cell::new(None) };
}

pub(super) fn is_left_out(row: &Program) -> bool {
    LEFT_OUT.get().is_some_and(|left_out| std::ptr::eq(left_out, row))
}

fn labelled() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = LABELLED.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split_once(" => ").unwrap())
}

/// Each command that would run: its name, what it does, and all that the table knows of it.
fn meaning(command: &str) -> String {
    let one = |command: &SimpleCommand| {
        let mut text = format!("{} {:?}", command.program, command.deed());
        if let Some(idle) = command.idle_argument() {
            text.push_str(&format!(" idle({idle})"));
        }
        if let Some(row) = command.row() {
            if row.grammar != Grammar::Operands {
                text.push_str(&format!(" {:?}", row.grammar));
            }
            text.extend(row.facts.iter().map(|fact| format!(" {fact:?}")));
            if !row.already.is_empty() {
                text.push_str(&format!(" already({})", row.already));
            }
            if !row.prints.is_empty() {
                text.push_str(&format!(" prints{:?}", row.prints));
            }
        }
        if !command.reads.is_empty() {
            text.push_str(&format!(" <{}", command.reads.join(",")));
        }
        if !command.edits.is_nothing() {
            let others = if command.edits.others { "*" } else { "" };
            text.push_str(&format!(" >{}{others}", command.edits.paths.join(",")));
        }
        text
    };
    Intents::read(command).commands().iter().map(one).collect::<Vec<_>>().join("; ")
}

#[test]
fn commands_mean_what_they_are_labelled_with() {
    let lines = labelled().map(|(command, label)| (command, label, meaning(command)));
    let wrong = lines.filter(|(_, label, found)| found != label);
    let wrong: Vec<String> = wrong.map(|(command, _, found)| format!("{command} => {found}")).collect();
    assert!(wrong.is_empty(), "these are read otherwise:\n{}", wrong.join("\n"));
}

#[test]
fn no_row_can_be_taken_out_unnoticed() {
    let rows = || NAMES.iter().copied().flatten();
    for names in rows() {
        LEFT_OUT.set(super::find(names[0]));
        let noticed = labelled().any(|(command, label)| meaning(command) != label);
        LEFT_OUT.set(None);
        assert!(noticed, "no labelled command needs the row of {names:?}");
    }
    let words: Vec<&str> =
        labelled().flat_map(|(command, _)| command.split_whitespace()).map(super::base_name).collect();
    for name in rows().copied().flatten() {
        assert!(words.contains(name), "no labelled command has `{name}`");
    }
}

#[test]
fn every_summary_that_is_read_is_printed_by_a_program() {
    let rows = NAMES.iter().copied().flatten().filter_map(|names| super::find(names[0]));
    let printed: Vec<Runner> = rows.flat_map(|row| row.prints).copied().collect();
    for runner in Runner::ALL {
        assert!(printed.contains(runner), "no row prints {runner:?}");
    }
}
