//! The runners of Rust, Go, C and C++, Swift, Dart, Zig and Haskell.

use super::Runner;
use super::counts::{Counts, begins_with_number, is_duration, labelled, numbered};
use crate::book::Book;

/// `test result: ok. 5 passed; 0 failed; …`, one for each test binary.
pub(super) fn cargo(book: &mut Book, line: &str) -> bool {
    // What stands further in was printed by a test.
    if let Some(result) = line.strip_prefix("test result: ").filter(|_| !book.is_indented) {
        let counts = Counts::before_words(result, &['.', ';']);
        book.extend(Runner::Cargo, counts.sum(&["passed", "measured"]), counts.sum(&["failed"]));
        if result.starts_with("FAILED") {
            book.fail(Runner::Cargo);
        }
    } else if line.starts_with("error: test failed") || is_failing_targets(line) {
        book.fail(Runner::Cargo);
    } else if begins_with_number(line)
        && let Some((_, "benchmarks" | "benchmark")) =
            line.split_once(", ").and_then(|(_, rest)| numbered(rest))
    {
        // `5 tests, 0 benchmarks`: they were listed and not run (L8).
        book.extend(Runner::Cargo, 0, 0);
    } else {
        return false;
    }
    true
}

/// `error: 2 targets failed:`
fn is_failing_targets(line: &str) -> bool {
    let what = line.strip_prefix("error: ").and_then(numbered).map(|(_, what)| what);
    matches!(what, Some("target failed:" | "targets failed:"))
}

/// `Summary [   0.123s] 5 tests run: 4 passed (1 slow), 1 failed, 0 skipped`
pub(super) fn nextest(book: &mut Book, line: &str) -> bool {
    if line == "error: no tests to run" {
        if book.last(Runner::Nextest).is_none() {
            book.begin(Runner::Nextest, 0, 0);
        }
        return true;
    }
    let summary = line.strip_prefix("Summary [").and_then(|rest| rest.split_once(" run: "));
    let Some((_, counts)) = summary else { return false };
    let counts = Counts::before_words(counts, &[',']);
    let failed = counts.sum(&["failed", "timed out", "exec failed"]);
    book.begin(Runner::Nextest, counts.sum(&["passed"]), failed);
    true
}

/// `ok package 0.003s` and `FAIL package 0.01s` with tabs between, `--- FAIL: TestX (0.00s)`, and the same as JSON.
pub(super) fn go(book: &mut Book, line: &str) -> bool {
    if line.starts_with('{') {
        return go_json(book, line);
    }
    if line.starts_with("--- FAIL: ") {
        book.extend(Runner::Go, 0, 1);
    } else if line == "FAIL" || line.starts_with("FAIL\t") {
        book.fail(Runner::Go);
    } else if let Some(package) = line.strip_prefix("ok  \t") {
        if package.contains("[no tests to run]") {
            book.extend(Runner::Go, 0, 0);
        } else {
            book.pass(Runner::Go);
        }
    } else if line.ends_with("[no test files]") {
        book.extend(Runner::Go, 0, 0);
    } else {
        return false;
    }
    true
}

/// `{"Time":…,"Action":"pass","Package":"example.com/x","Test":"TestX","Elapsed":0}`
fn go_json(book: &mut Book, line: &str) -> bool {
    let Some((_, action)) = line.split_once("\"Action\":\"").filter(|_| line.contains("\"Package\":\""))
    else {
        return false;
    };
    let is_test = line.contains("\"Test\":\"");
    match action.split('"').next() {
        Some("pass") if is_test => book.extend(Runner::Go, 1, 0),
        Some("fail") if is_test => book.extend(Runner::Go, 0, 1),
        Some("fail" | "build-fail") => book.fail(Runner::Go),
        Some("skip") if !is_test => book.extend(Runner::Go, 0, 0),
        _ => {}
    }
    true
}

/// `DONE 5 tests, 1 skipped, 1 failure in 0.12s`
pub(super) fn gotestsum(book: &mut Book, line: &str) -> bool {
    let Some((counts, _)) = line.strip_prefix("DONE ").and_then(|rest| rest.rsplit_once(" in ")) else {
        return false;
    };
    let counts = Counts::before_words(counts, &[',']);
    if !counts.has(&["test"]) {
        return false;
    }
    let failed = counts.sum(&["failure", "error"]);
    let passed = counts.sum(&["test"]).saturating_sub(failed).saturating_sub(counts.sum(&["skipped"]));
    book.begin(Runner::Gotestsum, passed, failed);
    true
}

/// `100% tests passed, 0 tests failed out of 5`, `Errors while running CTest`
pub(super) fn ctest(book: &mut Book, line: &str) -> bool {
    if line == "The following tests FAILED:" || line == "Errors while running CTest" {
        book.fail(Runner::Ctest);
        return true;
    }
    if line.starts_with("No tests were found") {
        book.begin(Runner::Ctest, 0, 0);
        return true;
    }
    if !begins_with_number(line) {
        return false;
    }
    let Some((_, rest)) = line.split_once("% tests passed, ") else { return false };
    let failed = numbered(rest).map_or(0, |(number, _)| number);
    let total = rest.rsplit(' ').next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(0);
    book.begin(Runner::Ctest, total.saturating_sub(failed), failed);
    true
}

/// `[  PASSED  ] 4 tests.`, then `[  FAILED  ] 1 test, listed below:`
pub(super) fn gtest(book: &mut Book, line: &str) -> bool {
    let rest = |tag: &str| line.strip_prefix(tag).and_then(numbered);
    if let Some((number, "test." | "tests.")) = rest("[  PASSED  ] ") {
        book.begin(Runner::Gtest, number, 0);
    } else if let Some((number, "test, listed below:" | "tests, listed below:")) = rest("[  FAILED  ] ") {
        book.extend(Runner::Gtest, 0, number);
    } else {
        return false;
    }
    true
}

/// `All tests passed (3 assertions in 2 test cases)`, `test cases: 2 | 1 passed | 1 failed`, `No tests ran`
pub(super) fn catch2(book: &mut Book, line: &str) -> bool {
    if let Some(counts) = line.strip_prefix("All tests passed (").and_then(|line| line.strip_suffix(')')) {
        let cases = counts.rsplit_once(" in ").and_then(|(_, cases)| numbered(cases));
        let Some((cases, "test case" | "test cases")) = cases else { return false };
        book.begin(Runner::Catch2, cases, 0);
    } else if let Some(counts) = line.trim_start_matches("[doctest] ").strip_prefix("test cases: ") {
        let counts = Counts::before_words(counts, &['|']);
        if !counts.has(&["passed", "failed"]) {
            return false;
        }
        book.begin(Runner::Catch2, counts.sum(&["passed"]), counts.sum(&["failed"]));
    } else if line == "No tests ran" {
        book.begin(Runner::Catch2, 0, 0);
    } else {
        return false;
    }
    true
}

/// `Executed 5 tests, with 1 failure (0 unexpected) in 0.003 (0.004) seconds`, for each suite and those around it, and
/// `Test run with 5 tests passed after 0.001 seconds.` of the newer library.
pub(super) fn swift(book: &mut Book, line: &str) -> bool {
    let unmarked = line.trim_start_matches(|mark: char| !mark.is_ascii()).trim_start();
    if let Some(rest) = unmarked.strip_prefix("Test run with ") {
        let Some((number, rest)) = numbered(rest) else { return false };
        let passed = rest.contains(" passed after ");
        if !passed && !rest.contains(" failed after ") {
            return false;
        }
        let issues = rest.rsplit_once(" with ").and_then(|(_, issues)| numbered(issues));
        let failed = if passed { 0 } else { issues.map_or(1, |(number, _)| number.clamp(1, number.max(1))) };
        book.begin(Runner::Swift, number.saturating_sub(failed), failed);
        return true;
    }
    let Some((number, rest)) = line.strip_prefix("Executed ").and_then(numbered) else { return false };
    let Some((_, failures)) = rest.split_once("with ").filter(|_| rest.starts_with("test")) else {
        return false;
    };
    let skipped = numbered(failures).filter(|(_, what)| what.contains("skipped and "));
    let failures = failures.split_once(" skipped and ").map_or(failures, |(_, failures)| failures);
    let Some((failed, what)) = numbered(failures) else { return false };
    if !what.starts_with("failure") {
        return false;
    }
    let idle = skipped.map_or(0, |(number, _)| number);
    book.restate(Runner::Swift, number.saturating_sub(failed).saturating_sub(idle), failed);
    true
}

/// `** TEST SUCCEEDED **`
pub(super) fn xcodebuild(book: &mut Book, line: &str) -> bool {
    match line {
        "** TEST SUCCEEDED **" | "** TEST EXECUTE SUCCEEDED **" => book.pass(Runner::Xcodebuild),
        "** TEST FAILED **" | "** TEST EXECUTE FAILED **" => book.fail(Runner::Xcodebuild),
        _ => return false,
    }
    true
}

/// `00:01 +4 -1: Some tests failed.`, `00:01 +5: All tests passed!`
pub(super) fn dart(book: &mut Book, line: &str) -> bool {
    if !line.ends_with(['!', '.']) {
        return false;
    }
    let (counts, words) = line.split_once(": ").unwrap_or(("", line));
    let count = |sign: char| {
        counts
            .split(' ')
            .filter_map(|word| word.strip_prefix(sign))
            .find_map(|number| number.parse::<u64>().ok())
    };
    let (passed, failed) = (count('+').unwrap_or(0), count('-').unwrap_or(0));
    match words {
        "All tests passed!" if count('+').is_some() => book.begin(Runner::Dart, passed, failed),
        "Some tests failed." if count('-').is_some() => book.begin(Runner::Dart, passed, failed),
        "No tests ran." | "No tests match the requested tag selectors." | "All tests skipped." => {
            book.begin(Runner::Dart, 0, 0);
        }
        _ => return false,
    }
    true
}

/// `All 5 tests passed.`, `4 passed; 0 skipped; 1 failed.`, `Build Summary: 3/3 steps succeeded; 5/5 tests passed`
pub(super) fn zig(book: &mut Book, line: &str) -> bool {
    if let Some((number, "tests passed." | "test passed.")) = line.strip_prefix("All ").and_then(numbered) {
        book.begin(Runner::Zig, number, 0);
        return true;
    }
    if let Some(steps) = line.strip_prefix("Build Summary: ") {
        let tests = steps.split("; ").find_map(|part| part.strip_suffix(" tests passed")?.split_once('/'));
        let Some((passed, all)) =
            tests.and_then(|(passed, all)| Some((passed.parse::<u64>().ok()?, all.parse::<u64>().ok()?)))
        else {
            return false;
        };
        let skipped = steps.rsplit_once(" tests passed").map_or("", |(_, rest)| rest);
        let skipped = Counts::before_words(skipped, &[';']).sum(&["skipped"]);
        book.begin(Runner::Zig, passed, all.saturating_sub(passed).saturating_sub(skipped));
        return true;
    }
    let counts = line.strip_suffix('.').filter(|line| line.contains(" passed; "));
    let counts = counts.map(|line| Counts::before_words(line, &[';']));
    let Some(counts) = counts.filter(|counts| counts.has(&["passed"]) && counts.has(&["failed"])) else {
        return false;
    };
    book.begin(Runner::Zig, counts.sum(&["passed"]), counts.sum(&["failed"]));
    true
}

/// `1 of 1 test suites (2 of 2 test cases) passed.`; of what cabal's suites print: `All 3 tests passed (0.00s)`,
/// `1 out of 3 tests failed (0.00s)`, `Cases: 3  Tried: 3  Errors: 0  Failures: 1`.
pub(super) fn cabal(book: &mut Book, line: &str) -> bool {
    let is_share = |(_, what): (u64, &str)| what.starts_with("of ") || what.starts_with("out of ");
    if !numbered(line).is_some_and(is_share) && !line.starts_with("All ") && !line.starts_with("Cases: ") {
        return false;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |place: usize| words.get(place).and_then(|word| word.parse::<u64>().ok());
    let in_time = |place: usize| {
        words.get(place).and_then(|time| time.strip_prefix('(')?.strip_suffix(')')).is_some_and(is_duration)
    };
    match words.as_slice() {
        [passed, "of", all, "test", "suites", .., "test", "cases)", "passed."] => {
            if passed == all && *all != "0" {
                book.pass(Runner::Cabal);
            } else {
                book.fail(Runner::Cabal);
            }
        }
        ["All", _, "tests", "passed", _] if in_time(4) => {
            book.begin(Runner::Cabal, number(1).unwrap_or(0), 0)
        }
        [_, "out", "of", _, "tests", "failed", _] if in_time(6) => {
            let (failed, all) = (number(0).unwrap_or(0), number(3).unwrap_or(0));
            book.begin(Runner::Cabal, all.saturating_sub(failed), failed);
        }
        ["Cases:", _, "Tried:", _, "Errors:", _, "Failures:", _] => {
            let failed = number(5).unwrap_or(0).saturating_add(number(7).unwrap_or(0));
            // It is said again and again while they run.
            if number(1) == number(3) {
                book.begin(Runner::Cabal, number(3).unwrap_or(0).saturating_sub(failed), failed);
            }
        }
        _ => return false,
    }
    true
}

/// `Tests run: 5, Failures: 0, Errors: 0, Skipped: 1`, for each class and once more for all.
pub(super) fn maven(book: &mut Book, line: &str) -> bool {
    if !line.starts_with("Tests run: ") || !line.contains(", Failures: ") {
        return false;
    }
    let counts = Counts::behind_labels(line);
    let failed = counts.sum(&["Failures", "Errors"]);
    let passed = counts.sum(&["Tests run"]).saturating_sub(failed).saturating_sub(counts.sum(&["Skipped"]));
    book.restate(Runner::Maven, passed, failed);
    true
}

/// `5 tests completed, 1 failed`, `> Task :test NO-SOURCE`, `There were failing tests. See the report at: …`
pub(super) fn gradle(book: &mut Book, line: &str) -> bool {
    if let Some((all, rest)) = numbered(line) {
        let completed =
            rest.strip_prefix("tests completed, ").or_else(|| rest.strip_prefix("test completed, "));
        let Some(counts) = completed else { return false };
        let counts = Counts::before_words(counts, &[',']);
        let failed = counts.sum(&["failed"]);
        let passed = all.saturating_sub(failed).saturating_sub(counts.sum(&["skipped"]));
        book.begin(Runner::Gradle, passed, failed);
    } else if line.trim_start_matches("> ").starts_with("There were failing tests. See the ") {
        // It says so if failures are ignored, and then succeeds (L8).
        book.fail(Runner::Gradle);
    } else if line.starts_with("> Task :") && line.ends_with("est NO-SOURCE") {
        book.extend(Runner::Gradle, 0, 0);
    } else {
        return false;
    }
    true
}

/// `Tests: succeeded 5, failed 1, canceled 0, ignored 0, pending 0`, `Passed: Total 5, Failed 0, Errors 0, Passed 5`
pub(super) fn sbt(book: &mut Book, line: &str) -> bool {
    let counts = match line.split_once(": ") {
        Some(("Tests", counts)) if counts.starts_with("succeeded ") => counts,
        Some(("Passed" | "Failed" | "Error", counts)) if counts.starts_with("Total ") => counts,
        _ if line == "No tests were executed" || line == "No tests to run for Test / test" => "",
        _ => return false,
    };
    let count = |words: &[&str]| {
        let parts = counts.split(", ").filter_map(|part| part.split_once(' '));
        let asked = parts.filter(|(word, _)| words.contains(word));
        asked.filter_map(|(_, number)| number.parse::<u64>().ok()).fold(0, u64::saturating_add)
    };
    book.restate(Runner::Sbt, count(&["succeeded", "Passed"]), count(&["failed", "Failed", "Errors"]));
    true
}

/// `Passed!  - Failed:     0, Passed:     5, Skipped:     0, Total:     5`, `Test summary: total: 5, failed: 0, …`
pub(super) fn dotnet(book: &mut Book, line: &str) -> bool {
    if let Some(counts) = line.strip_prefix("Test summary: ") {
        let counts = Counts::behind_labels(counts);
        book.begin(Runner::Dotnet, counts.sum(&["succeeded"]), counts.sum(&["failed"]));
        return true;
    }
    if line.starts_with("No test is available in ")
        || line.starts_with("No test matches the given testcase filter")
    {
        book.extend(Runner::Dotnet, 0, 0);
        return true;
    }
    match line {
        "Test Run Successful." => book.pass(Runner::Dotnet),
        "Test Run Failed." => book.fail(Runner::Dotnet),
        _ => {
            let tagged = ["Passed!", "Failed!", "Skipped!"].iter().find_map(|tag| line.strip_prefix(tag));
            let tagged = tagged.and_then(|rest| rest.trim_start().strip_prefix("- Failed:"));
            let Some(counts) = tagged else { return false };
            let failed = counts.split(',').next().and_then(|number| number.trim().parse().ok()).unwrap_or(0);
            let passed = counts.split(',').filter_map(labelled).find(|(what, _)| *what == "Passed");
            book.extend(Runner::Dotnet, passed.map_or(0, |(_, number)| number), failed);
        }
    }
    true
}
