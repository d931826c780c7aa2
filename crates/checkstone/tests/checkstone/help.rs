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

#[test]
fn help_about_help_is_the_help() {
    for asked in [["help", "--help"], ["help", "-h"]] {
        assert_eq!(program::run(&asked).to_string(), program::run(&["help"]).to_string());
    }
    assert_eq!(program::run(&["help", "init", "--help"]).stdout, program::run(&["help", "init"]).stdout);
}

/// Commands that only other programs call are no help at a prompt.
#[test]
fn completions_offer_what_people_type() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = program::run(&["completions", shell]).stdout;
        let offered = ["snapshot", "stage-exec", "man"].map(|name| {
            let is_word = |word: &str| word == name;
            script.split(|character: char| !character.is_alphanumeric() && character != '-').any(is_word)
        });
        assert_eq!(offered, [true, false, false], "{shell}");
        let version = if shell == "fish" { "-l version" } else { "--version" };
        assert!(script.contains(version), "{shell}");
    }
}

/// Each line can be copied: a long one goes on behind a backslash, and what is quoted stays in one piece.
#[test]
fn examples_fit_a_narrow_terminal_and_can_still_be_typed() {
    let help = program::checkstone(&["handoff", "new", "--help"]).env("COLUMNS", "60").answer().stdout;
    let (_, examples) = help.split_once("Examples:\n").unwrap();
    insta::assert_snapshot!(examples, @r"
    checkstone handoff new --mode code --instructions \
        'Write the parser in src/parser.rs'
    git diff | checkstone handoff new --mode eval --task-id \
        T7 --instructions - --constraint 'change no code'
    checkstone handoff new --response --task-id T7 --phase \
        validate --status complete \
        --decision PROCEED --summary 'All 41 tests pass.'
    ");
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
