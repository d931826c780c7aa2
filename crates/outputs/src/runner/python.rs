//! pytest, and unittest with its like.

use super::Runner;
use super::counts::{begins_with_number, is_duration, numbered};
use crate::book::{Book, Progress};

/// `==== 1 failed, 4 passed, 2 warnings in 0.12s ====`
pub(super) fn pytest(book: &mut Book, line: &str) -> bool {
    if line.ends_with("%]") {
        return pytest_progress(book, line);
    }
    let line = line.trim_matches(['=', ' ']);
    if !begins_with_number(line) && !line.starts_with("no tests ran") {
        return false;
    }
    let Some((counts, time)) = line.rsplit_once(" in ") else { return false };
    if !is_duration(time.split(" (").next().unwrap_or_default()) {
        return false;
    }
    if counts == "no tests ran" || is_listing(counts) {
        book.progress = None;
        book.begin(Runner::Pytest, 0, 0);
        return true;
    }
    let (mut passed, mut failed, mut fails_as_expected) = (0_u64, 0_u64, false);
    for part in counts.split(", ") {
        let Some((number, what)) = numbered(part) else { return false };
        match what {
            "passed" | "xpassed" | "subtests passed" => passed = passed.saturating_add(number),
            "failed" | "error" | "errors" | "subtests failed" => failed = failed.saturating_add(number),
            "xfailed" => fails_as_expected = true,
            "skipped" | "deselected" | "warning" | "warnings" | "rerun" => {}
            _ => return false,
        }
    }
    book.progress = None;
    book.begin(Runner::Pytest, passed, failed);
    // It ran, and ended as it should.
    if fails_as_expected {
        book.pass(Runner::Pytest);
    }
    true
}

/// `5 tests collected`, `3/5 tests collected (2 deselected)`: they were listed and not run (L8).
fn is_listing(counts: &str) -> bool {
    let Some((number, rest)) = counts.split_once(' ') else { return false };
    number.starts_with(|first: char| first.is_ascii_digit())
        && (rest.starts_with("tests collected") || rest.starts_with("test collected"))
}

/// `tests/test_a.py ..F.  [ 80%]`, `tests/test_a.py::test_x PASSED [100%]`: all there is if `-q` was given twice (W8).
fn pytest_progress(book: &mut Book, line: &str) -> bool {
    let Some((before, percent)) = line.strip_suffix("%]").and_then(|line| line.rsplit_once('[')) else {
        return false;
    };
    let Ok(percent) = percent.trim().parse::<u64>() else { return false };
    // `SKIPPED (why)`
    let before = before.split_once(" (").map_or(before, |(before, _)| before);
    let mut words = before.split_whitespace();
    let (Some(last), earlier) = (words.next_back(), words.next_back()) else { return false };
    let is_file = |word: &str| word.ends_with(".py") || word.contains(".py::");
    if words.next().is_some() || earlier.is_some_and(|earlier| !is_file(earlier)) {
        return false;
    }
    let (passed, failed) = match last {
        "PASSED" | "XPASS" => (1, 0),
        "FAILED" | "ERROR" => (0, 1),
        "SKIPPED" | "XFAIL" => (0, 0),
        letters if letters.chars().all(|letter| ".FEsxXR".contains(letter)) => {
            let count = |wanted: &str| letters.chars().filter(|letter| wanted.contains(*letter)).count();
            (count(".X") as u64, count("FE") as u64)
        }
        _ => return false,
    };
    let before = book.progress.take().filter(|progress| !progress.is_complete).unwrap_or_default();
    book.progress = Some(Progress {
        passed: before.passed + passed,
        failed: before.failed + failed,
        is_complete: percent == 100,
        line: book.line,
    });
    true
}

/// `Ran 5 tests in 0.003s`, then `OK` or `FAILED (failures=1)`.
pub(super) fn unittest(book: &mut Book, line: &str) -> bool {
    if let Some(rest) = line.strip_prefix("Ran ")
        && let Some((number, what)) = numbered(rest)
        && (what.starts_with("tests in ") || what.starts_with("test in "))
    {
        book.ran = Some(number);
    } else if line == "OK" || line.starts_with("OK (skipped=") || line.starts_with("OK (expected failures=") {
        if let Some(number) = book.ran.take() {
            book.begin(Runner::Unittest, number, 0);
        }
    } else if let Some(counts) = line.strip_prefix("FAILED (")
        && counts.contains('=')
    {
        let counts = counts.trim_end_matches(')').split(", ").filter_map(|part| part.split_once('='));
        let bad = counts.filter(|(what, _)| !matches!(*what, "skipped" | "expected failures"));
        let failed = bad.filter_map(|(_, number)| number.parse::<u64>().ok()).fold(0, u64::saturating_add);
        let passed = book.ran.take().unwrap_or(0).saturating_sub(failed);
        book.begin(Runner::Unittest, passed, failed);
        book.fail(Runner::Unittest);
    } else if line.starts_with("NO TESTS RAN") {
        book.ran = None;
        book.begin(Runner::Unittest, 0, 0);
    } else {
        return false;
    }
    true
}
