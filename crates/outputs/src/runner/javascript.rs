//! The runners of JavaScript and TypeScript.

use super::Runner;
use super::counts::{Counts, is_duration, numbered};
use crate::book::Book;

/// `Tests:       1 failed, 5 passed, 6 total` and `Test Suites: …`
pub(super) fn jest(book: &mut Book, line: &str) -> bool {
    if line.starts_with("No tests found, exiting") {
        book.begin(Runner::Jest, 0, 0);
        return true;
    }
    let files = line.strip_prefix("Test Suites:");
    let Some(counts) = files.or_else(|| line.strip_prefix("Tests:")) else { return false };
    if !counts.ends_with(" total") {
        return false;
    }
    tests_and_files(book, Runner::Jest, &Counts::before_words(counts, &[',']), files.is_some());
    true
}

/// `Tests  1 failed | 4 passed (5)` and `Test Files  1 failed (1)`
pub(super) fn vitest(book: &mut Book, line: &str) -> bool {
    if line.starts_with("No test files found") || line.starts_with("Error: No test suite found") {
        book.begin(Runner::Vitest, 0, 0);
        return true;
    }
    let files = line.strip_prefix("Test Files  ");
    let Some(counts) = files.or_else(|| line.strip_prefix("Tests  ")) else {
        let errors = line.strip_prefix("Errors  ").and_then(numbered);
        if errors.is_some_and(|(_, what)| what.starts_with("error")) {
            book.fail(Runner::Vitest);
            return true;
        }
        return false;
    };
    let counts = counts.split_once('(').map_or(counts, |(counts, _)| counts);
    if counts.trim() != "no tests" && Counts::before_words(counts, &['|']).first().is_none() {
        return false;
    }
    tests_and_files(book, Runner::Vitest, &Counts::before_words(counts, &['|']), files.is_some());
    true
}

/// The tests, or the files that hold them: those come first, and only tell that something failed.
fn tests_and_files(book: &mut Book, runner: Runner, counts: &Counts<'_>, are_files: bool) {
    let (passed, failed) = (counts.sum(&["passed"]), counts.sum(&["failed"]));
    if are_files {
        book.begin(runner, 0, 0);
        if failed > 0 {
            book.fail(runner);
        }
    } else if book.last(runner).is_some_and(|last| last.passed == 0 && last.failed == 0) {
        book.extend(runner, passed, failed);
    } else {
        book.begin(runner, passed, failed);
    }
}

/// `5 passing (12ms)`, `1 failing`
pub(super) fn mocha(book: &mut Book, line: &str) -> bool {
    match numbered(line) {
        Some((number, what)) if what.starts_with("passing (") && what.ends_with(')') => {
            book.begin(Runner::Mocha, number, 0);
        }
        Some((number, "failing")) => book.extend(Runner::Mocha, 0, number),
        _ => return false,
    }
    true
}

/// `5 tests passed`, `1 test failed`, each on a line of its own.
pub(super) fn ava(book: &mut Book, line: &str) -> bool {
    match numbered(line) {
        Some((number, "test passed" | "tests passed")) => match book.last(Runner::Ava) {
            Some(last) if last.passed == 0 => book.extend(Runner::Ava, number, 0),
            _ => book.begin(Runner::Ava, number, 0),
        },
        Some((number, "test failed" | "tests failed")) => match book.last(Runner::Ava) {
            Some(last) if last.failed == 0 => book.extend(Runner::Ava, 0, number),
            _ => book.begin(Runner::Ava, 0, number),
        },
        Some((
            _,
            "uncaught exception" | "uncaught exceptions" | "unhandled rejection" | "unhandled rejections",
        )) => {
            book.fail(Runner::Ava);
        }
        None if line.ends_with("find any files to test")
            || line.ends_with("but did not match the filters:") =>
        {
            book.begin(Runner::Ava, 0, 0);
        }
        _ => return false,
    }
    true
}

/// `# pass 5`, `ℹ fail 0`
pub(super) fn node_test(book: &mut Book, line: &str) -> bool {
    let Some(rest) = line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ ")) else { return false };
    let Some((what, number)) = rest.split_once(' ') else { return false };
    let Ok(number) = number.trim().parse::<u64>() else { return false };
    match what {
        // It counts for itself what it also writes as TAP.
        "pass" => {
            book.tap = Default::default();
            book.begin(Runner::Node, number, 0);
        }
        "fail" | "cancelled" if number > 0 => {
            book.tap = Default::default();
            book.extend(Runner::Node, 0, number);
        }
        "tests" | "suites" | "fail" | "cancelled" | "skipped" | "todo" => {}
        _ => return false,
    }
    true
}

/// `5 pass`, then `0 fail`: a pass only if both are seen.
pub(super) fn bun(book: &mut Book, line: &str) -> bool {
    match numbered(line) {
        Some((number, "pass")) => book.bun = Some(number),
        Some((0, "fail")) => {
            if let Some(passed) = book.bun.take() {
                book.begin(Runner::Bun, passed, 0);
            }
        }
        None if line.starts_with("The following filters did not match any test files") => {
            book.begin(Runner::Bun, 0, 0);
        }
        Some((number, "fail")) => {
            let passed = book.bun.take().unwrap_or(0);
            book.begin(Runner::Bun, passed, number);
        }
        _ => return false,
    }
    true
}

/// `ok | 5 passed (2 steps) | 0 failed | 1 ignored (12ms)`
pub(super) fn deno(book: &mut Book, line: &str) -> bool {
    let Some(counts) = line.strip_prefix("ok | ").or_else(|| line.strip_prefix("FAILED | ")) else {
        return false;
    };
    let counts = Counts::before_words(counts, &['|']);
    if !counts.has(&["passed"]) || !counts.has(&["failed"]) {
        return false;
    }
    book.begin(Runner::Deno, counts.sum(&["passed"]), counts.sum(&["failed"]));
    if line.starts_with("FAILED") {
        book.fail(Runner::Deno);
    }
    true
}

/// `1 failed`, then the names of those, then `4 passed (3.2s)`.
pub(super) fn playwright(book: &mut Book, line: &str) -> bool {
    match numbered(line) {
        Some((number, "failed" | "interrupted")) => book.extend(Runner::Playwright, 0, number),
        Some((number, what)) => {
            let time = what.strip_prefix("passed (").and_then(|time| time.strip_suffix(')'));
            if !time.is_some_and(is_duration) {
                return false;
            }
            match book.last(Runner::Playwright) {
                Some(last) if last.passed == 0 => book.extend(Runner::Playwright, number, 0),
                _ => book.begin(Runner::Playwright, number, 0),
            }
        }
        None if line.starts_with("Error: No tests found") => book.begin(Runner::Playwright, 0, 0),
        None => return false,
    }
    true
}

/// `✔  All specs passed!  00:01  2  2  -  -  -`, `✖  1 of 2 failed (50%)  00:02 …`; the tests are counted as Mocha does.
pub(super) fn cypress(book: &mut Book, line: &str) -> bool {
    let line = line.trim_start_matches(['│', ' ']);
    if line.strip_prefix('✔').is_some_and(|rest| rest.trim_start().starts_with("All specs passed!")) {
        book.pass(Runner::Cypress);
        return true;
    }
    let failed = line.strip_prefix('✖').and_then(|rest| numbered(rest.trim_start()));
    let is_failed = |rest: &str| {
        let words: Vec<&str> = rest.split_whitespace().take(4).collect();
        matches!(words.as_slice(), ["of", _, "failed", percent] if percent.ends_with("%)"))
    };
    if failed.is_some_and(|(_, rest)| is_failed(rest)) {
        book.fail(Runner::Cypress);
        return true;
    }
    line.starts_with("Can't run because no spec files were found") && {
        book.begin(Runner::Cypress, 0, 0);
        true
    }
}

/// `Chrome Headless 120.0.0.0 (Linux): Executed 5 of 5 (1 FAILED) (0.01 secs / 0.002 secs)`, said again after each test.
pub(super) fn karma(book: &mut Book, line: &str) -> bool {
    if !line.ends_with(')') {
        return false;
    }
    let Some((_, rest)) = line.split_once("Executed ") else { return false };
    let mut words = rest.split(' ');
    let (Some(executed), Some("of"), Some(all)) = (words.next(), words.next(), words.next()) else {
        return false;
    };
    let (Ok(executed), Ok(all)) = (executed.parse::<u64>(), all.parse::<u64>()) else { return false };
    if executed < all {
        return true;
    }
    let failed = rest.split_once(" FAILED)").and_then(|(before, _)| before.rsplit_once('('));
    let failed = failed.and_then(|(_, number)| number.parse::<u64>().ok()).unwrap_or(0);
    book.restate(Runner::Karma, executed.saturating_sub(failed), failed);
    if rest.contains(" ERROR") && executed > 0 {
        book.fail(Runner::Karma);
    }
    true
}
