//! What a test runner itself says at the end of its output. It is the only proof of a pass where the shell
//! hides the runner's exit status (E3), and it tells when nothing ran (E7).

/// What the output proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Summary {
    /// `None`: the runner does not say how many.
    Passed { tests: Option<u64> },
    /// `None`: the runner does not say how many, or it did not come that far.
    Failed { tests: Option<u64> },
    /// A runner ran and found nothing to do. It proves nothing.
    NoTestsRan,
}

macro_rules! runners {
    ($($runner:ident => $reads:ident,)*) => {
        /// Whose summary a line is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Runner {
            $($runner),*
        }

        impl Runner {
            pub(crate) const ALL: &[Self] = &[$(Self::$runner),*];

            /// Whether the line is of this runner's summary; what it says is added to the tally.
            fn reads(self, tally: &mut Tally, line: &str) -> bool {
                match self {
                    $(Self::$runner => tally.$reads(line)),*
                }
            }
        }
    };
}

// In the order in which a line is offered to them.
runners! {
    Pytest => pytest,
    Unittest => unittest,
    Cargo => cargo,
    Nextest => nextest,
    Jest => jest,
    Vitest => vitest,
    Mocha => mocha,
    Go => go,
    Gotestsum => gotestsum,
    Node => node_test,
    Bun => bun,
    Deno => deno,
    CountedPhrase => counted_phrase,
    Phpunit => phpunit,
    Ctest => ctest,
    Dotnet => dotnet,
    Maven => maven,
    Gradle => gradle,
    Tap => tap_line,
}

/// Stands where the middle of a long output was cut out.
const CUT: char = '…';

/// Reads a snippet of output: the whole of it, or head and tail with [`CUT`] between. What is missing may
/// have been a failure, so of a cut output only the tail can prove a pass: runners put their summary last.
pub fn read(snippet: &str) -> Option<Summary> {
    let plain = without_colours(snippet);
    let Some((head, tail)) = plain.rsplit_once(CUT) else { return Tally::of(&plain).summary() };
    // The lines next to the cut are torn: "1…5 passed" may have been anything.
    let head = head.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let tail = tail.split_once('\n').map_or("", |(_, whole)| whole);
    let (head, tail) = (Tally::of(head), Tally::of(tail));
    if head.failed.is_some() || tail.failed.is_some() {
        let tests = head.failed.unwrap_or(0).max(tail.failed.unwrap_or(0));
        return Tally { failed: Some(tests), ..Tally::default() }.summary();
    }
    // That nothing ran in the tail says nothing about the rest.
    tail.summary().filter(|summary| *summary != Summary::NoTestsRan)
}

/// Sums over all the summaries in an output: a workspace has several.
#[derive(Debug, Default)]
struct Tally {
    passed: u64,
    /// A pass without a number.
    success: bool,
    /// A failure, and how many where that is known.
    failed: Option<u64>,
    nothing_ran: bool,
    /// What unittest ran and has not judged yet.
    ran: Option<u64>,
    /// What Bun passed; its next lines tell how many failed.
    bun: Option<u64>,
    /// The largest of Maven's sums: the one for all classes repeats the others.
    maven: u64,
    tap: Tap,
    /// The line stands further in, as the results of nested tests do.
    indented: bool,
    /// Node's runner counts for itself what it also writes as TAP.
    counts_tap: bool,
}

/// The lines of the Test Anything Protocol, which has a plan and no summary.
#[derive(Debug, Default)]
struct Tap {
    plan: Option<u64>,
    passed: u64,
    skipped: u64,
    failed: u64,
}

impl Tally {
    fn of(output: &str) -> Self {
        let mut tally = Self::default();
        for line in output.lines() {
            tally.indented = line.starts_with([' ', '\t']);
            Runner::ALL.iter().any(|runner| runner.reads(&mut tally, line.trim()));
        }
        tally.passed += tally.maven;
        tally.finish_tap();
        tally
    }

    fn summary(&self) -> Option<Summary> {
        let counted = |tests| if tests > 0 { Some(tests) } else { None };
        match self.failed {
            Some(tests) => Some(Summary::Failed { tests: counted(tests) }),
            None if self.passed > 0 || self.success => Some(Summary::Passed { tests: counted(self.passed) }),
            None if self.nothing_ran => Some(Summary::NoTestsRan),
            None => None,
        }
    }

    fn fail(&mut self, tests: u64) {
        self.failed = Some(self.failed.unwrap_or(0) + tests);
    }

    /// One summary: so many passed, so many failed.
    fn add(&mut self, passed: u64, failed: u64) {
        self.passed += passed;
        if failed > 0 {
            self.fail(failed);
        }
        self.nothing_ran |= passed == 0 && failed == 0;
    }

    /// `==== 1 failed, 4 passed, 2 warnings in 0.12s ====`
    fn pytest(&mut self, line: &str) -> bool {
        let line = line.trim_matches(['=', ' ']);
        let Some((counts, time)) = line.rsplit_once(" in ") else { return false };
        let seconds = time.split(' ').next().unwrap_or_default();
        if seconds.strip_suffix('s').and_then(|number| number.parse::<f64>().ok()).is_none() {
            return false;
        }
        if counts == "no tests ran" {
            self.nothing_ran = true;
            return true;
        }
        let (mut passed, mut failed) = (0, 0);
        for part in counts.split(", ") {
            let Some((number, what)) = numbered(part) else { return false };
            match what {
                "passed" | "xpassed" | "subtests passed" => passed += number,
                "failed" | "error" | "errors" | "subtests failed" => failed += number,
                "skipped" | "deselected" | "xfailed" | "warning" | "warnings" | "rerun" => {}
                _ => return false,
            }
        }
        self.add(passed, failed);
        true
    }

    /// `Ran 5 tests in 0.003s`, then `OK` or `FAILED (failures=1)`.
    fn unittest(&mut self, line: &str) -> bool {
        if let Some(rest) = line.strip_prefix("Ran ")
            && let Some((number, what)) = numbered(rest)
            && (what.starts_with("tests in ") || what.starts_with("test in "))
        {
            self.ran = Some(number);
        } else if line == "OK"
            || line.starts_with("OK (skipped=")
            || line.starts_with("OK (expected failures=")
        {
            if let Some(number) = self.ran.take() {
                self.add(number, 0);
            }
        } else if line.starts_with("FAILED (") && line.contains('=') {
            let counts = line.trim_start_matches("FAILED (").trim_end_matches(')').split(", ");
            let bad = counts.filter_map(|part| part.split_once('=')).filter(|(what, _)| *what != "skipped");
            self.fail(bad.filter_map(|(_, number)| number.parse::<u64>().ok()).sum());
        } else if line.starts_with("NO TESTS RAN") {
            self.nothing_ran = true;
        } else {
            return false;
        }
        true
    }

    /// `test result: ok. 5 passed; 0 failed; …`, one for each test binary.
    fn cargo(&mut self, line: &str) -> bool {
        if let Some(result) = line.strip_prefix("test result: ") {
            let counts: Vec<_> = result.split(['.', ';']).filter_map(|part| numbered(part.trim())).collect();
            let count = |what| counts.iter().find(|(_, word)| *word == what).map_or(0, |(number, _)| *number);
            self.add(count("passed") + count("measured"), count("failed"));
            if result.starts_with("FAILED") && count("failed") == 0 {
                self.fail(0);
            }
        } else if line.starts_with("error: test failed") || line.starts_with("error: could not compile") {
            self.fail(0);
        } else {
            return false;
        }
        true
    }

    /// `Summary [   0.123s] 5 tests run: 4 passed (1 slow), 1 failed, 0 skipped`
    fn nextest(&mut self, line: &str) -> bool {
        if line == "error: no tests to run" {
            self.nothing_ran = true;
            return true;
        }
        let Some((_, counts)) = line.split_once(" tests run: ").or_else(|| line.split_once(" test run: "))
        else {
            return false;
        };
        let (mut passed, mut failed) = (0, 0);
        for (number, what) in counts.split(", ").filter_map(numbered) {
            match what.split(' ').next() {
                Some("passed") => passed += number,
                Some("failed" | "timed") => failed += number,
                _ => {}
            }
        }
        self.add(passed, failed);
        true
    }

    /// `Tests:       1 failed, 5 passed, 6 total` and `Test Suites: …`
    fn jest(&mut self, line: &str) -> bool {
        if line.starts_with("No tests found") {
            self.nothing_ran = true;
            return true;
        }
        let suites = line.strip_prefix("Test Suites:");
        let Some(counts) = suites.or_else(|| line.strip_prefix("Tests:")) else { return false };
        if !counts.ends_with(" total") {
            return false;
        }
        self.counts(counts.split(','), suites.is_some());
        true
    }

    /// `Tests  1 failed | 4 passed (5)` and `Test Files  1 failed (1)`
    fn vitest(&mut self, line: &str) -> bool {
        if line.starts_with("No test files found") || line.starts_with("No test suite found") {
            self.nothing_ran = true;
            return true;
        }
        let files = line.strip_prefix("Test Files  ");
        let Some(counts) = files.or_else(|| line.strip_prefix("Tests  ")) else {
            let errors = line.strip_prefix("Errors  ").and_then(numbered);
            if errors.is_some_and(|(_, what)| what.starts_with("error")) {
                self.fail(0);
                return true;
            }
            return false;
        };
        let counts = counts.split_once('(').map_or(counts, |(counts, _)| counts);
        self.counts(counts.split('|'), files.is_some());
        true
    }

    /// `1 failed`, `4 passed`: tests, or the files that hold them, which only tell that something failed.
    fn counts<'text>(&mut self, parts: impl Iterator<Item = &'text str>, are_files: bool) {
        let counts: Vec<_> = parts.filter_map(|part| numbered(part.trim())).collect();
        let count = |what| counts.iter().find(|(_, word)| *word == what).map_or(0, |(number, _)| *number);
        match are_files {
            true if count("failed") > 0 => self.fail(0),
            true => {}
            false => self.add(count("passed"), count("failed")),
        }
    }

    /// `5 passing (12ms)`, `1 failing`
    fn mocha(&mut self, line: &str) -> bool {
        match numbered(line) {
            Some((number, what)) if what.starts_with("passing (") && what.ends_with(')') => {
                self.add(number, 0)
            }
            Some((number, "failing")) => self.fail(number),
            _ => return false,
        }
        true
    }

    /// `ok package 0.003s` and `FAIL package 0.01s` with tabs between, `--- FAIL: TestX (0.00s)`
    fn go(&mut self, line: &str) -> bool {
        if line.starts_with("--- FAIL: ") {
            self.fail(1);
        } else if line == "FAIL" || line.starts_with("FAIL\t") {
            self.fail(0);
        } else if let Some(package) = line.strip_prefix("ok  \t") {
            if package.contains("[no tests to run]") {
                self.nothing_ran = true;
            } else {
                self.success = true;
            }
        } else if line.ends_with("[no test files]") {
            self.nothing_ran = true;
        } else {
            return false;
        }
        true
    }

    /// `DONE 5 tests, 1 skipped, 1 failure in 0.12s`
    fn gotestsum(&mut self, line: &str) -> bool {
        let Some(counts) = line.strip_prefix("DONE ").and_then(|rest| rest.rsplit_once(" in ")) else {
            return false;
        };
        let counts: Vec<_> = counts.0.split(", ").filter_map(numbered).collect();
        let count = |words: &[&str]| -> u64 {
            counts.iter().filter(|(_, what)| words.contains(what)).map(|(number, _)| number).sum()
        };
        if !counts.iter().any(|(_, what)| matches!(*what, "test" | "tests")) {
            return false;
        }
        let failed = count(&["failure", "failures", "error", "errors"]);
        let passed = count(&["test", "tests"]).saturating_sub(failed).saturating_sub(count(&["skipped"]));
        self.add(passed, failed);
        true
    }

    /// `5 pass`, then `0 fail`: a pass only where both are seen.
    fn bun(&mut self, line: &str) -> bool {
        match numbered(line) {
            Some((number, "pass")) => self.bun = Some(number),
            Some((0, "fail")) => {
                if let Some(passed) = self.bun.take() {
                    self.add(passed, 0);
                }
            }
            Some((number, "fail")) => self.fail(number),
            _ => return false,
        }
        true
    }

    /// `ok | 5 passed (2 steps) | 0 failed | 1 ignored (12ms)`
    fn deno(&mut self, line: &str) -> bool {
        let Some(counts) = line.strip_prefix("ok | ").or_else(|| line.strip_prefix("FAILED | ")) else {
            return false;
        };
        let counts: Vec<_> = counts.split(" | ").filter_map(numbered).collect();
        let count = |word: &str| {
            counts.iter().find(|(_, what)| what.split(' ').next() == Some(word)).map(|(number, _)| *number)
        };
        let Some((passed, failed)) = count("passed").zip(count("failed")) else { return false };
        self.add(passed, failed);
        if line.starts_with("FAILED") && failed == 0 {
            self.fail(0);
        }
        true
    }

    /// `# pass 5`, `ℹ fail 0`
    fn node_test(&mut self, line: &str) -> bool {
        let Some(rest) = line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ ")) else { return false };
        let Some((what, number)) = rest.split_once(' ') else { return false };
        match (what, number.trim().parse::<u64>()) {
            ("pass", Ok(number)) => {
                self.counts_tap = true;
                self.add(number, 0);
            }
            ("fail" | "cancelled", Ok(number)) if number > 0 => {
                self.counts_tap = true;
                self.fail(number);
            }
            ("tests" | "suites" | "fail" | "cancelled" | "skipped" | "todo", Ok(_)) => {}
            _ => return false,
        }
        true
    }

    /// `5 examples, 1 failure` (rspec), `5 tests, 0 failures` (bats), `5 runs, 9 assertions, 0 failures, 0 errors` (minitest)
    fn counted_phrase(&mut self, line: &str) -> bool {
        let counts: Vec<_> = line.split(", ").filter_map(numbered).collect();
        let Some((total, what)) = counts.first().copied() else { return false };
        if !matches!(what, "example" | "examples" | "test" | "tests" | "run" | "runs") {
            return false;
        }
        let bad = |word: &str| word.starts_with("failure") || word.starts_with("error");
        if !counts.iter().any(|(_, word)| bad(word)) {
            return false;
        }
        let failed: u64 = counts.iter().filter(|(_, word)| bad(word)).map(|(number, _)| number).sum();
        let idle = |word: &str| word.starts_with("pending") || word.starts_with("skip");
        let idle: u64 = counts.iter().filter(|(_, word)| idle(word)).map(|(number, _)| number).sum();
        self.add(total.saturating_sub(failed).saturating_sub(idle), failed);
        true
    }

    /// `OK (5 tests, 10 assertions)`, `Tests: 5, Assertions: 9, Failures: 1.`
    fn phpunit(&mut self, line: &str) -> bool {
        if let Some(counts) = line.strip_prefix("OK (")
            && let Some((tests, what)) = numbered(counts)
            && what.starts_with("test")
        {
            self.add(tests, 0);
        } else if line.starts_with("Tests: ") && line.contains(", Assertions: ") {
            let counts: Vec<_> = line.trim_end_matches('.').split(", ").filter_map(labelled).collect();
            let count = |what| counts.iter().find(|(word, _)| *word == what).map_or(0, |(_, number)| *number);
            let failed = count("Failures") + count("Errors");
            self.add(count("Tests").saturating_sub(failed).saturating_sub(count("Skipped")), failed);
        } else if line == "No tests executed!" {
            self.nothing_ran = true;
        } else {
            return false;
        }
        true
    }

    /// `100% tests passed, 0 tests failed out of 5`
    fn ctest(&mut self, line: &str) -> bool {
        if line.starts_with("No tests were found") {
            self.nothing_ran = true;
            return true;
        }
        let Some((_, rest)) = line.split_once("% tests passed, ") else { return false };
        let failed = numbered(rest).map_or(0, |(number, _)| number);
        let total = rest.rsplit(' ').next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(0);
        self.add(total.saturating_sub(failed), failed);
        true
    }

    /// `Passed!  - Failed:     0, Passed:     5, Skipped:     0, Total:     5`
    fn dotnet(&mut self, line: &str) -> bool {
        let Some((_, counts)) = line.split_once("!  - Failed:").or_else(|| line.split_once("! - Failed:"))
        else {
            return false;
        };
        let failed = counts.split(',').next().and_then(|number| number.trim().parse().ok()).unwrap_or(0);
        let passed = counts.split(',').filter_map(labelled).find(|(what, _)| *what == "Passed");
        self.add(passed.map_or(0, |(_, number)| number), failed);
        true
    }

    /// `Tests run: 5, Failures: 0, Errors: 0, Skipped: 1`, for each class and once more for all.
    fn maven(&mut self, line: &str) -> bool {
        let line = line.trim_start_matches(|character: char| !character.is_ascii_alphabetic());
        let line =
            ["INFO] ", "ERROR] ", "WARNING] "].iter().find_map(|tag| line.strip_prefix(tag)).unwrap_or(line);
        if line == "BUILD FAILURE" {
            self.fail(0);
            return true;
        }
        if !line.starts_with("Tests run: ") || !line.contains(", Failures: ") {
            return false;
        }
        let counts: Vec<_> = line.split(", ").filter_map(labelled).collect();
        let count = |what| counts.iter().find(|(word, _)| *word == what).map_or(0, |(_, number)| *number);
        let failed = count("Failures") + count("Errors");
        let passed = count("Tests run").saturating_sub(failed).saturating_sub(count("Skipped"));
        self.maven = self.maven.max(passed);
        self.nothing_ran |= passed == 0;
        if failed > 0 {
            self.failed = Some(self.failed.unwrap_or(0).max(failed));
        }
        true
    }

    /// `5 tests completed, 1 failed`, `BUILD SUCCESSFUL in 5s`
    fn gradle(&mut self, line: &str) -> bool {
        if let Some((_, counts)) =
            line.split_once(" tests completed, ").or_else(|| line.split_once(" test completed, "))
        {
            self.fail(numbered(counts).map_or(0, |(number, _)| number));
        } else if line.starts_with("BUILD SUCCESSFUL in ") {
            self.success = true;
        } else if line.starts_with("BUILD FAILED in ") {
            self.fail(0);
        } else {
            return false;
        }
        true
    }

    fn tap_line(&mut self, line: &str) -> bool {
        if !self.indented {
            self.tap.line(line);
        }
        true
    }

    /// `1..2`, `ok 1 - name`, `not ok 2 - name`: a pass only where the plan is fulfilled.
    fn finish_tap(&mut self) {
        if self.counts_tap {
            return;
        }
        let Tap { plan, passed, skipped, failed } = self.tap;
        if failed > 0 {
            self.fail(failed);
        } else if plan.is_some_and(|plan| plan == passed + skipped) {
            self.add(passed, 0);
        }
    }
}

impl Tap {
    fn line(&mut self, line: &str) {
        let is_numbered = |rest: &str| rest.starts_with(|first: char| first.is_ascii_digit());
        let excused = ["# TODO", "# SKIP", "# skip", "# todo"].iter().any(|mark| line.contains(mark));
        if let Some(plan) = line.strip_prefix("1..") {
            self.plan = plan.split(' ').next().and_then(|number| number.parse().ok());
        } else if excused && (line.starts_with("ok ") || line.starts_with("not ok ")) {
            self.skipped += 1;
        } else if line.strip_prefix("not ok ").is_some_and(is_numbered) {
            self.failed += 1;
        } else if line.strip_prefix("ok ").is_some_and(is_numbered) {
            self.passed += 1;
        }
    }
}

/// `5 passed` → 5, `passed`
fn numbered(text: &str) -> Option<(u64, &str)> {
    let (number, what) = text.split_once(' ')?;
    Some((number.parse().ok()?, what))
}

/// `Failures: 1` → `Failures`, 1
fn labelled(text: &str) -> Option<(&str, u64)> {
    let (what, number) = text.split_once(':')?;
    let number = number.trim();
    let digits = number.find(|character: char| !character.is_ascii_digit()).unwrap_or(number.len());
    Some((what.trim(), number.get(..digits)?.parse().ok()?))
}

/// Without the escape sequences of a terminal.
fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\u{1b}' {
            plain.push(character);
        } else if characters.next() == Some('[') {
            for end in characters.by_ref() {
                if end.is_ascii_alphabetic() {
                    break;
                }
            }
        }
    }
    plain
}
