//! Where the words of a command line stand that say what the program shall do: after its global options and
//! their values. `npm install test` does not test, and `cargo run -- test` does not either.

use super::SimpleCommand;
use crate::table::{Grammar, Program};

/// The arguments that the words of a pattern are compared with: without the values of options that the pattern does
/// not name, and without what comes after `--` unless it has that.
pub(crate) fn significant<'a>(
    command: &'a SimpleCommand,
    row: Option<&Program>,
    pattern: &[String],
) -> Vec<&'a str> {
    let names = |option: &str| pattern.iter().any(|word| word == option);
    let has_subcommands = row.is_some_and(Program::has_subcommands);
    let mut words = Vec::with_capacity(command.arguments.len());
    let mut arguments = command.arguments.iter();
    while let Some(argument) = arguments.next() {
        let text = argument.text();
        if text == "--" && !names("--") {
            break;
        }
        // Global options stand before the subcommand and are no part of what a pattern asks for.
        let is_global = has_subcommands && words.is_empty() && text.starts_with(['-', '+']);
        if !is_global {
            // Where something stands that is not known, nothing matches it.
            words.push(argument.known().unwrap_or("\0"));
        }
        let is_valued = row.is_some_and(|row| row.takes_value(text));
        if is_valued && (is_global || !names(text)) {
            arguments.next();
        }
    }
    scripts_by_name(row, words)
}

/// `npm run test` is `npm test`, and `yarn workspace web test` is `yarn test`.
pub(crate) fn scripts_by_name<'a>(row: Option<&Program>, mut words: Vec<&'a str>) -> Vec<&'a str> {
    if row.is_none_or(|row| row.grammar != Grammar::Scripts) {
        return words;
    }
    if words.first() == Some(&"workspace") && words.len() > 2 {
        words.drain(..2);
    }
    if matches!(words.first(), Some(&("run" | "run-script"))) && words.len() > 1 {
        words.remove(0);
        // Options of `run` itself: `npm run -s test`, `npm run --silent test`.
        while words.len() > 1 && words.first().is_some_and(|word| word.starts_with('-')) {
            words.remove(0);
        }
    }
    if matches!(words.first(), Some(&("t" | "tst"))) {
        words.splice(..1, ["test"]);
    }
    words
}
