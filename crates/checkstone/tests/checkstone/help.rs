//! What people meet first: the help, and the program called without a command.

use sandbox::RunToEnd as _;

use crate::program;
use crate::workplace::Workplace;

#[test]
fn commands_stand_below_what_they_are_for() {
    insta::assert_snapshot!("grouped", program::run(&["--help"]).to_string());
    let narrow = program::checkstone(&["help", "--all"]).env("COLUMNS", "60").answer();
    insta::assert_snapshot!("all_in_60_columns", narrow.to_string());
    assert_eq!(program::run(&["help"]).stdout, program::run(&["-h"]).stdout);
}

/// A person asks for it; no client calls a hook so.
#[test]
fn the_hook_has_help_too() {
    let asked = program::run(&["hook", "--help"]);
    assert_eq!(asked.code, Some(0));
    assert_eq!(asked.stdout, program::run(&["help", "hook"]).stdout);
}

#[test]
fn alone_it_shows_what_is_on_and_what_to_do_next() {
    let workplace = Workplace::new(None);
    insta::assert_snapshot!("no_policy", workplace.shown(&[]));
    let outside = workplace.checkstone(&[]).current_dir(workplace.path("home")).answer();
    insta::assert_snapshot!("outside", outside.to_string());
    let workplace = Workplace::new(Some("presetz = 1\n"));
    insta::assert_snapshot!("broken_policy", workplace.shown(&[]));
    let workplace = Workplace::new(Some("presets = [\"rust\"]\n"));
    insta::assert_snapshot!("not_called", workplace.shown(&[]));
    workplace.held_turn(&[]);
    insta::assert_snapshot!("unproven", workplace.shown(&[]));
}
