//! What a command line shows of a command whose exit status it hides: whether it ran at all, its output or the end of it,
//! and its status in the words of `echo`.

use programs::shell::{Intents, Output, SimpleCommand, ToldStatus};

/// The programs of the commands of which this is true.
fn programs(command: &str, is: impl Fn(&SimpleCommand) -> bool) -> Vec<String> {
    let intents = Intents::read(command);
    intents.commands().iter().filter(|command| is(command)).map(|command| command.program.clone()).collect()
}

#[test]
fn what_runs_only_after_a_silent_condition_may_be_skipped() {
    for (command, expected) in [
        ("[ -f setup.cfg ] && pytest; echo done", &["pytest"][..]),
        ("[[ -f setup.cfg ]] && pytest; echo done", &["pytest"]),
        ("which tool > /dev/null && pytest || echo none", &["pytest"]),
        ("command -v tool && pytest; true", &["pytest"]),
        ("grep -q x a.txt && pytest; true", &["pytest"]),
        ("grep x a.txt > /dev/null && pytest; true", &["pytest"]),
        ("! grep x a.txt && pytest; true", &["pytest"]),
        ("cd tests 2> /dev/null && pytest; true", &["pytest"]),
        ("[ -f a ] && cd b && pytest; true", &["cd", "pytest"]),
        ("while false; do pytest; done", &["pytest"]),
        ("while [ -f a ]; do pytest; done", &["pytest"]),
        ("bash -c '[ -f a ] && pytest; true'", &["pytest"]),
        // What failed would say so.
        ("cd tests && pytest; echo done", &[]),
        ("source venv/bin/activate && pytest; echo done", &[]),
        ("make build && cargo test | tail -5; echo done", &[]),
        ("grep x a.txt && pytest; echo done", &[]),
        ("echo testing && pytest; echo done", &[]),
        ("while read file; do pytest $file; done", &[]),
        ("while true; do pytest; break; done", &[]),
        // What fails silently is not what decides.
        ("[ -f a ] || make a && pytest; echo done", &[]),
        ("{ [ -f a ]; make a; } && pytest; echo done", &[]),
        // The status of the whole says that it ran.
        ("[ -f setup.cfg ] && pytest", &[]),
        ("[[ -f setup.cfg ]] && pytest | tail -5", &[]),
        ("cd tests 2> /dev/null && pytest 2>&1 | tail -5", &[]),
    ] {
        assert_eq!(programs(command, |command| command.may_be_skipped), expected, "{command}");
    }
}

#[test]
fn the_end_of_an_output_goes_through_tail() {
    for (command, expected) in [
        ("pytest | tail", true),
        ("pytest | tail -3", true),
        ("pytest | tail -n 20", true),
        ("pytest | tail -n +2", true),
        ("pytest | tee log | tail --lines=5", true),
        ("(cd a && pytest) 2>&1 | tail -5", true),
        ("pytest | tail -1", false),
        ("pytest | tail -c 100", false),
        ("pytest | head -5", false),
        ("pytest | grep passed", false),
        ("pytest | tail -5 | grep passed", false),
        ("pytest | tail -5 > log", false),
        ("pytest | tee log > /dev/null; grep -c FAILED log", false),
        ("pytest", false),
    ] {
        let found = programs(command, |command| command.shows_end && command.program == "pytest");
        assert_eq!(!found.is_empty(), expected, "{command}");
    }
}

#[test]
fn what_is_captured_is_shown_by_who_prints_it() {
    for (command, expected) in [
        ("echo \"$(pytest 2>&1)\"", true),
        ("printf '%s' \"$(pytest 2>&1 | tail -3)\"", true),
        ("out=$(pytest 2>&1); echo \"$out\" | tail -3", true),
        ("out=$(pytest 2>&1); code=$?; echo \"${out}\"; exit $code", true),
        ("echo \"$(echo \"$(pytest)\")\"", true),
        ("out=$(pytest 2>&1)", false),
        ("out=$(pytest 2>&1); echo $output", false),
        ("out=$(pytest 2>&1); out=; echo $out", false),
        ("out=$(pytest > log); echo \"$out\"", false),
        ("echo \"$(pytest)\" > log", false),
        ("out=$(pytest); echo \"$out\" | grep -c passed", false),
        ("git commit -m \"$(pytest)\"", false),
        // What only counts the lines of a log shows none of them.
        ("pytest > log 2>&1; tail -3 log", true),
        ("pytest > log 2>&1; wc -l log", false),
        ("pytest > log 2>&1; grep -c passed log", false),
    ] {
        let is_shown =
            |command: &SimpleCommand| command.program == "pytest" && command.output == Output::Filtered;
        assert_eq!(!programs(command, is_shown).is_empty(), expected, "{command}");
    }
}

#[test]
fn an_exit_status_is_told_of_those_that_it_is_of() {
    let told = |before: &str, after: &str, succeeded: &[usize], failed: &[usize]| {
        let (before, after) = (before.to_owned(), after.to_owned());
        Some(ToldStatus { before, after, succeeded: succeeded.to_vec(), failed: failed.to_vec() })
    };
    for (command, expected) in [
        ("pytest; echo \"exit: $?\"", told("exit: ", "", &[0], &[0])),
        ("pytest; echo \"== $? ==\"", told("== ", " ==", &[0], &[0])),
        ("pytest; echo $?", told("", "", &[0], &[0])),
        ("pytest | tail -5; echo \"exit ${PIPESTATUS[0]}\"", told("exit ", "", &[0], &[0])),
        ("pytest | tail -5; echo $?", told("", "", &[1], &[1])),
        ("cd a && pytest; echo rc=$?", told("rc=", "", &[0, 1], &[0, 1])),
        ("pytest > log; rc=$?; tail log; echo \"rc=$rc\"", told("rc=", "", &[0], &[0])),
        ("pytest > log; rc=$?; tail log; echo \"rc=${rc}\"", told("rc=", "", &[0], &[0])),
        ("pytest || echo \"failed: $?\"", told("failed: ", "", &[0], &[0])),
        // What a filter lets through of a number alone may be another's.
        ("{ pytest 2>&1; echo \"exit: $?\"; } | tail -5", told("exit: ", "", &[0], &[0])),
        ("pytest > log 2>&1; echo \"exit: $?\" | tee -a log", told("exit: ", "", &[0], &[0])),
        ("pytest > log 2>&1; echo \"exit: $?\" >> log; tail log", told("exit: ", "", &[0], &[0])),
        ("{ pytest 2>&1; echo $?; } | tail -5", None),
        ("pytest > log 2>&1; echo $? >> log; tail log", None),
        ("if pytest; then echo fine; else echo \"failed: $?\"; fi", told("failed: ", "", &[0], &[0])),
        ("if pytest; then echo \"exit: $?\"; fi", told("exit: ", "", &[0], &[0])),
        // A number alone may be another's if this one was not printed.
        ("pytest || echo $?", None),
        ("pytest && echo $?", None),
        ("if pytest; then echo $?; fi", None),
        ("for a in b; do pytest; echo $?; done", None),
        ("pytest; echo \"exit: $?\" > rc", None),
        // The other branch is not what ran before.
        ("if grep -q x a; then pytest; else echo \"none ($?)\"; fi", told("none (", ")", &[0], &[0])),
        ("case $a in b) pytest;; *) echo \"none ($?)\";; esac", None),
        ("make; case $a in b) pytest;; *) echo \"made: $?\";; esac", told("made: ", "", &[0], &[0])),
        ("pytest; echo $rc", None),
        ("pytest; echo \"$name: $?\"", None),
        ("[[ -f a ]]; echo $?", None),
        ("echo \"exit: 0\"", None),
    ] {
        let intents = Intents::read(command);
        let found = intents.commands().iter().find_map(|command| command.tells.clone());
        assert_eq!(found, expected, "{command}");
    }
}
