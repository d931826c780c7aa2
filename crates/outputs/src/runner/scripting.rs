//! The runners of Ruby, PHP, Elixir and the shell, and the Test Anything Protocol.

use super::Runner;
use super::counts::{Counts, begins_with_number, numbered};
use crate::book::Book;

/// `5 examples, 1 failure, 1 pending`; hspec says the same.
pub(super) fn rspec(book: &mut Book, line: &str) -> bool {
    if line == "Failed examples:" {
        book.fail(Runner::Rspec);
        return true;
    }
    counted(book, Runner::Rspec, line, &["example", "examples"])
}

/// `5 runs, 9 assertions, 0 failures, 0 errors, 0 skips`; test-unit says `tests`.
pub(super) fn minitest(book: &mut Book, line: &str) -> bool {
    let all: &[&str] = if begins_with_number(line) && line.contains(" assertions, ") {
        &["run", "runs", "test", "tests"]
    } else {
        &["run", "runs"]
    };
    counted(book, Runner::Minitest, line, all)
}

/// `5 specs, 0 failures`
pub(super) fn jasmine(book: &mut Book, line: &str) -> bool {
    if line == "No specs found" {
        book.begin(Runner::Jasmine, 0, 0);
        return true;
    }
    counted(book, Runner::Jasmine, line, &["spec", "specs"])
}

/// `2 doctests, 5 tests, 1 failure, 1 excluded`; without doctests only the line before tells it from bats.
pub(super) fn exunit(book: &mut Book, line: &str) -> bool {
    const OTHERS: &[&str] = &["doctest", "doctests", "property", "properties", "feature", "features"];
    if line.starts_with("Finished in ") && line.ends_with("s sync)") {
        book.is_exunit = true;
        return true;
    }
    let is_summary = counted(book, Runner::Exunit, line, OTHERS)
        || (book.is_exunit && counted(book, Runner::Exunit, line, &["test", "tests"]));
    book.is_exunit &= !is_summary;
    is_summary
}

/// `5 tests, 1 failure, 1 skipped`
pub(super) fn bats(book: &mut Book, line: &str) -> bool {
    counted(book, Runner::Bats, line, &["test", "tests"])
}

/// All, then those that failed, then those that did not run. The first number must be of one of the given words.
fn counted(book: &mut Book, runner: Runner, line: &str, all: &[&str]) -> bool {
    if !begins_with_number(line) {
        return false;
    }
    let first = line.split(',').find_map(|part| numbered(part.trim()));
    if !first.is_some_and(|(_, what)| all.contains(&what)) {
        return false;
    }
    let counts = Counts::before_words(line, &[',']);
    if !counts.has(&["failure", "error"]) {
        return false;
    }
    let failed = counts.sum(&["failure", "error"]);
    let idle = counts.sum(&["pending", "skip", "omission", "excluded", "not run"]);
    let whole = counts.sum(&["example", "run", "spec", "test", "doctest", "propert", "feature"]);
    book.begin(runner, whole.saturating_sub(failed).saturating_sub(idle), failed);
    true
}

/// `OK (5 tests, 10 assertions)`, `Tests: 5, Assertions: 9, Failures: 1.`
pub(super) fn phpunit(book: &mut Book, line: &str) -> bool {
    if let Some((tests, what)) = line.strip_prefix("OK (").and_then(numbered)
        && what.starts_with("test")
    {
        book.begin(Runner::Phpunit, tests, 0);
    } else if line.starts_with("Tests: ") && line.contains(", Assertions: ") {
        let counts = Counts::behind_labels(line);
        let failed = counts.sum(&["Failures", "Errors"]);
        let passed = counts.sum(&["Tests"]).saturating_sub(failed).saturating_sub(counts.sum(&["Skipped"]));
        book.begin(Runner::Phpunit, passed, failed);
    } else if line == "No tests executed!" {
        book.begin(Runner::Phpunit, 0, 0);
    } else {
        return false;
    }
    true
}

/// `Tests:    1 failed, 4 passed (9 assertions)`
pub(super) fn pest(book: &mut Book, line: &str) -> bool {
    if line == "INFO  No tests found." {
        book.begin(Runner::Pest, 0, 0);
        return true;
    }
    let counts = line.strip_prefix("Tests:").and_then(|line| line.strip_suffix(" assertions)"));
    let Some((counts, _)) = counts.and_then(|counts| counts.rsplit_once(" (")) else { return false };
    let counts = Counts::before_words(counts, &[',']);
    book.begin(Runner::Pest, counts.sum(&["passed"]), counts.sum(&["failed"]));
    true
}

/// `1..2`, `ok 1 - name`, `not ok 2 - name`; what stands further in are the results of nested tests. `prove` counts them.
pub(super) fn tap(book: &mut Book, line: &str) -> bool {
    if let Some(result) = line.strip_prefix("Result: ") {
        match result {
            "PASS" => book.pass(Runner::Tap),
            "FAIL" => book.fail(Runner::Tap),
            "NOTESTS" => book.begin(Runner::Tap, 0, 0),
            _ => return false,
        }
        return true;
    }
    let is_numbered = |rest: &str| rest.starts_with(|first: char| first.is_ascii_digit());
    let (passed, rest) = match line.strip_prefix("not ok ") {
        Some(rest) => (false, rest),
        None => match line.strip_prefix("ok ") {
            Some(rest) => (true, rest),
            None => {
                let plan = line.strip_prefix("1..").and_then(|plan| plan.split(' ').next()?.parse().ok());
                if plan.is_none() || book.is_indented {
                    return false;
                }
                if book.tap.plan.is_some() {
                    book.finish_tap();
                }
                book.tap.plan = plan;
                book.tap.line = book.line;
                return true;
            }
        },
    };
    if book.is_indented || !is_numbered(rest) {
        return false;
    }
    // The next run begins to count anew.
    let is_first = rest.strip_prefix('1').is_some_and(|rest| !is_numbered(rest));
    if is_first && book.tap.passed + book.tap.skipped + book.tap.failed > 0 {
        book.finish_tap();
    }
    let is_excused = ["# TODO", "# SKIP", "# skip", "# todo"].iter().any(|mark| rest.contains(mark));
    let count = match (is_excused, passed) {
        (true, _) => &mut book.tap.skipped,
        (false, true) => &mut book.tap.passed,
        (false, false) => &mut book.tap.failed,
    };
    *count += 1;
    book.tap.line = book.line;
    true
}
