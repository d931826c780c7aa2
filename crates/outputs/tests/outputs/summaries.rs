//! What runners print, and what it proves.

use outputs::{Summary, read};

const fn passed(tests: u64) -> Option<Summary> {
    Some(Summary::Passed { tests: Some(tests) })
}

const fn failed(tests: u64) -> Option<Summary> {
    Some(Summary::Failed { tests: Some(tests) })
}

const PASSED: Option<Summary> = Some(Summary::Passed { tests: None });
const FAILED: Option<Summary> = Some(Summary::Failed { tests: None });
/// E7
const NOTHING: Option<Summary> = Some(Summary::NoTestsRan);

#[test]
fn summaries_of_the_runners() {
    let mut wrong = Vec::new();
    for (output, expected) in [
        // pytest
        ("============================== 5 passed in 0.03s ===============================", passed(5)),
        ("..... [100%]\n5 passed in 0.03s", passed(5)),
        ("=================== 1 failed, 4 passed, 2 warnings in 0.12s ====================", failed(1)),
        ("==== 12 passed, 1 skipped, 3 deselected, 1 xfailed in 61.20s (0:01:01) ====", passed(12)),
        ("==== 2 errors in 0.40s ====", failed(2)),
        ("==== no tests ran in 0.01s ====", NOTHING),
        ("==== 3 deselected in 0.01s ====", NOTHING),
        ("==== 3 skipped in 0.01s ====", NOTHING),
        (
            "\u{1b}[32m===== \u{1b}[32m\u{1b}[1m7 passed\u{1b}[0m\u{1b}[32m in 0.10s\u{1b}[0m\u{1b}[32m =====\u{1b}[0m",
            passed(7),
        ),
        // unittest
        (
            "....\n----------------------------------------------------------------------\nRan 4 tests in 0.003s\n\nOK",
            passed(4),
        ),
        ("Ran 4 tests in 0.003s\n\nOK (skipped=1)", passed(4)),
        ("Ran 4 tests in 0.003s\n\nFAILED (failures=1, errors=2, skipped=1)", failed(3)),
        ("Ran 0 tests in 0.000s\n\nOK", NOTHING),
        ("Ran 0 tests in 0.000s\n\nNO TESTS RAN", NOTHING),
        ("Ran 4 tests in 0.003s", None),
        // cargo test: one line for each binary
        (
            "running 5 tests\n.....\ntest result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n   Doc-tests x\n\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            passed(5),
        ),
        (
            "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s\ntest result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s\n\nerror: test failed, to rerun pass `--lib`",
            failed(1),
        ),
        (
            "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 40 filtered out; finished in 0.00s",
            NOTHING,
        ),
        (
            "error[E0425]: cannot find value\nerror: could not compile `x` (lib test) due to 1 previous error",
            FAILED,
        ),
        // nextest
        ("------------\n     Summary [   0.123s] 5 tests run: 5 passed, 0 skipped", passed(5)),
        ("     Summary [   0.123s] 5 tests run: 4 passed (1 slow), 1 failed, 2 skipped", failed(1)),
        ("     Summary [   0.003s] 1 test run: 1 passed, 0 skipped", passed(1)),
        ("     Summary [   0.003s] 0 tests run: 0 passed, 7 skipped\nerror: no tests to run", NOTHING),
        // jest
        (
            "Test Suites: 1 passed, 1 total\nTests:       5 passed, 5 total\nSnapshots:   0 total\nTime:        0.5 s",
            passed(5),
        ),
        ("Test Suites: 1 failed, 1 total\nTests:       1 failed, 5 passed, 6 total", failed(1)),
        ("Test Suites: 1 failed, 1 total\nTests:       0 total", FAILED),
        ("No tests found, exiting with code 1", NOTHING),
        // vitest
        (
            " Test Files  1 passed (1)\n      Tests  5 passed (5)\n   Start at  10:00:00\n   Duration  320ms",
            passed(5),
        ),
        (" Test Files  1 failed | 2 passed (3)\n      Tests  1 failed | 4 passed (5)", failed(1)),
        ("No test files found, exiting with code 1", NOTHING),
        // mocha
        ("  5 passing (12ms)", passed(5)),
        ("  5 passing (12ms)\n  1 failing\n\n  1) thing", failed(1)),
        ("  0 passing (1ms)", NOTHING),
        // go
        ("ok  \texample.com/x\t0.003s", PASSED),
        ("ok  \texample.com/x\t(cached)\n?   \texample.com/y\t[no test files]", PASSED),
        ("--- FAIL: TestX (0.00s)\n    x_test.go:3: no\nFAIL\nFAIL\texample.com/x\t0.01s\nFAIL", failed(1)),
        ("?   \texample.com/y\t[no test files]", NOTHING),
        ("ok  \texample.com/x\t0.003s [no tests to run]", NOTHING),
        ("FAIL\texample.com/x [build failed]", FAILED),
        // node --test
        ("ℹ tests 5\nℹ suites 1\nℹ pass 5\nℹ fail 0\nℹ cancelled 0", passed(5)),
        ("TAP version 13\nok 1 - a\nnot ok 2 - b\n1..2\n# tests 2\n# pass 1\n# fail 1", failed(1)),
        ("# tests 0\n# pass 0\n# fail 0", NOTHING),
        // TAP, bats
        ("1..2\nok 1 a\nok 2 b", passed(2)),
        ("1..2\nok 1 a\nnot ok 2 b\n# (in test file)", failed(1)),
        ("1..3\nok 1 a\nok 2 b # skip\nok 3 c", passed(2)),
        ("1..5\nok 1 a\nok 2 b", None),
        ("1..0", NOTHING),
        (" ✓ a\n ✓ b\n\n2 tests, 0 failures", passed(2)),
        ("2 tests, 1 failure", failed(1)),
        // Bun: how many failed has to be seen
        (" 14 pass\n 0 fail\n 30 expect() calls\nRan 14 tests across 3 files. [120.00ms]", passed(14)),
        (" 13 pass\n 1 fail\nRan 14 tests across 3 files. [120.00ms]", failed(1)),
        (" 14 pass", None),
        (" 0 pass\n 0 fail\nRan 0 tests across 1 file. [12.00ms]", NOTHING),
        // Deno
        ("ok | 4 passed (16 steps) | 0 failed (25ms)", passed(4)),
        ("ok | 1 passed | 0 failed | 1 ignored (8ms)", passed(1)),
        ("FAILED | 1 passed | 1 failed (130ms)", failed(1)),
        ("ok | 0 passed | 0 failed | 3 filtered out (8ms)", NOTHING),
        // gotestsum
        ("✓  store (10ms)\n\nDONE 34 tests in 2.100s", passed(34)),
        ("DONE 34 tests, 2 skipped, 1 failure in 2.100s", failed(1)),
        ("DONE 1 tests, 1 error in 0.100s", failed(1)),
        ("DONE 2 runs, 34 tests in 2.100s", passed(34)),
        ("DONE 0 tests in 0.100s", NOTHING),
        ("DONE in 2s", None),
        // rspec, minitest
        ("Finished in 0.01 seconds\n5 examples, 0 failures", passed(5)),
        ("5 examples, 2 failures, 1 pending", failed(2)),
        ("0 examples, 0 failures", NOTHING),
        ("5 runs, 9 assertions, 0 failures, 1 errors, 0 skips", failed(1)),
        // phpunit
        ("OK (5 tests, 10 assertions)", passed(5)),
        ("FAILURES!\nTests: 5, Assertions: 9, Failures: 1.", failed(1)),
        ("OK, but there were issues!\nTests: 5, Assertions: 10, Warnings: 1.", passed(5)),
        ("No tests executed!", NOTHING),
        // ctest
        ("100% tests passed, 0 tests failed out of 5", passed(5)),
        ("80% tests passed, 1 tests failed out of 5", failed(1)),
        ("No tests were found!!!", NOTHING),
        // dotnet
        (
            "Passed!  - Failed:     0, Passed:     5, Skipped:     0, Total:     5, Duration: 10 ms - x.dll (net8.0)",
            passed(5),
        ),
        ("Failed!  - Failed:     1, Passed:     4, Skipped:     0, Total:     5, Duration: 10 ms", failed(1)),
        // Maven
        (
            "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in A\n[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in B\n[INFO] Results:\n[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS",
            passed(5),
        ),
        ("[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 0\n[INFO] BUILD FAILURE", failed(2)),
        // Gradle
        ("BUILD SUCCESSFUL in 5s\n4 actionable tasks: 4 executed", PASSED),
        ("5 tests completed, 1 failed\n\nBUILD FAILED in 3s", failed(1)),
        // Nothing of the kind
        ("", None),
        ("all 5 tests passed, I promise", None),
        ("The build passed in 3s", None),
        ("commit 5 passed in review", None),
        ("ok", None),
        ("Tests: fine", None),
        ("5 tests, all good", None),
    ] {
        let found = read(output);
        if found != expected {
            wrong.push(format!("{output}\n  {found:?} instead of {expected:?}"));
        }
    }
    assert_eq!(wrong, [""; 0]);
}

/// The middle of a long output is missing: only what cannot be otherwise counts.
#[test]
fn a_cut_output_is_read_honestly() {
    let mut wrong = Vec::new();
    for (output, expected) in [
        (
            "collected 900 items\n\ntests/test_a.py ...…........ [100%]\n\n===== 900 passed in 9.12s =====",
            passed(900),
        ),
        // The number itself is torn.
        ("collected…5 passed in 9.12s", None),
        ("==== 2 failed, 1…5 passed in 9.12s ====", None),
        // A pass before the cut: something else may have failed after it.
        ("===== 3 passed in 0.1s =====\nmore\n…\nlast words", None),
        ("===== 3 failed in 0.1s =====\nmore\n…\nlast words", failed(3)),
        // The last binary of a workspace had none; the others are not seen.
        (
            "running…\n   Doc-tests x\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
            None,
        ),
        ("running…\ntest result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out", passed(7)),
        (
            "running…\ntest result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\nerror: test failed, to rerun pass `-p x --lib`",
            FAILED,
        ),
        // A plan that lost its lines proves nothing.
        ("1..50\nok 1 a\nok 2…\nok 49 y\nok 50 z", None),
    ] {
        let found = read(output);
        if found != expected {
            wrong.push(format!("{output}\n  {found:?} instead of {expected:?}"));
        }
    }
    assert_eq!(wrong, [""; 0]);
}
