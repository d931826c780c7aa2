//! What real sessions showed that others read wrongly, each named after its case.

use outputs::{
    ErrorKind, ErrorLines, NotStarted, RunResult, RunSummary, Runner, Scan, Shown, Summary, Tool, ToolResult,
};

fn shown(output: &str) -> Shown {
    let mut scan = Scan::new();
    scan.feed(output);
    scan.finish()
}

fn passed(runner: Runner, passed: u64, line: u64) -> RunSummary {
    RunSummary { runner, result: RunResult::Passed, passed, failed: 0, line }
}

fn kinds(output: &str) -> Vec<ErrorKind> {
    shown(output).errors.into_iter().map(|lines| lines.kind).collect()
}

/// The summary stands in the middle of an output of megabytes.
#[test]
fn w4_a_summary_far_from_both_ends_is_seen() {
    let around = "a line of a log that says nothing at all\n".repeat(50_000);
    let shown = shown(&format!("{around}ok  \texample.com/x\t0.003s\n{around}"));
    assert_eq!(shown.summaries, [passed(Runner::Go, 0, 50_001)]);
    assert_eq!(shown.lines, 100_001);
}

/// What is kept of a line does not grow with it.
#[test]
fn w4_a_line_of_megabytes_hides_nothing() {
    let mut scan = Scan::new();
    for _ in 0..100_000 {
        scan.feed("..............................");
    }
    scan.feed("\n==== 7 passed in 0.10s ====");
    assert_eq!(scan.finish().summaries, [passed(Runner::Pytest, 7, 2)]);
}

/// W9: a task that is looked at over and over prints without end; what is kept of it does not grow, and forgets no failure.
#[test]
fn w9_many_parts_of_one_output_are_kept_in_constant_memory() {
    let part = |failed: u64| {
        shown(&format!(
            "== {failed} failed, 1 passed in 0.1s ==\nBUILD FAILED\nbash: x: command not found\na.c:1:2: error: b\n"
        ))
    };
    let mut whole = part(0);
    for number in 1..10_000 {
        whole.append(part(u64::from(number == 9_000)));
    }
    assert_eq!(whole.summary(), Some(Summary::Failed { tests: Some(1) }));
    let Shown { summaries, tools, errors, not_started, lines } = whole;
    let last = RunSummary {
        runner: Runner::Pytest,
        result: RunResult::Failed,
        passed: 10_000 - 31,
        failed: 1,
        line: 39_997,
    };
    assert_eq!(summaries.last(), Some(&last));
    assert_eq!((summaries.len(), tools.len(), not_started.len(), lines), (32, 8, 4, 40_000));
    assert_eq!(tools.last(), Some(&ToolResult { tool: Tool::Gradle, succeeded: false, line: 39_998 }));
    let located = ErrorLines { kind: ErrorKind::Located, count: 10_000, first: 4, last: 40_000 };
    assert_eq!(errors, [located]);
}

#[test]
fn w8_pytest_without_its_summary_is_known_by_its_progress() {
    let progress =
        "........................................................................ [ 96%]\n...       [100%]\n";
    assert_eq!(shown(progress).summaries, [passed(Runner::Pytest, 75, 2)]);
    let failing = shown("..F.   [ 50%]\n....   [100%]\n");
    assert_eq!(failing.summary(), Some(Summary::Failed { tests: Some(1) }));
    // Half of the way proves nothing.
    assert_eq!(shown("....   [ 50%]\n").summary(), None);
}

#[test]
fn w24_a_compiler_error_is_seen_in_its_last_lines() {
    let output =
        "/project/Sources/App/main.swift:3:4: error: cannot find 'missing' in scope\n  3 |    missing()\n";
    assert_eq!(kinds(output), [ErrorKind::Located]);
    assert_eq!(shown(output).summary(), None);
}

/// L8: sessions of tox and nox may be anything, so that their success is no test that passed.
#[test]
fn l8_a_session_that_lints_is_no_test() {
    let shown = shown("nox > Session lint was successful.\n");
    assert_eq!(shown.tools, [ToolResult { tool: Tool::Nox, succeeded: true, line: 1 }]);
    assert_eq!(shown.summary(), None);
}

#[test]
fn l8_tests_that_were_only_listed_did_not_run() {
    for output in [
        "====== 3 tests collected in 0.01s ======\n",
        "3/5 tests collected (2 deselected) in 0.01s\n",
        "5 tests, 0 benchmarks\n",
    ] {
        assert_eq!(shown(output).summary(), Some(Summary::NoTestsRan), "{output}");
    }
}

#[test]
fn l8_failures_that_were_ignored_are_failures() {
    let maven = "[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS\n";
    assert_eq!(shown(maven).summary(), Some(Summary::Failed { tests: Some(1) }));
    let gradle =
        "> There were failing tests. See the report at: file:///project/index.html\nBUILD SUCCESSFUL in 1s\n";
    assert_eq!(shown(gradle).summary(), Some(Summary::Failed { tests: None }));
}

/// A test that fails as it should has run.
#[test]
fn tests_that_fail_as_expected_ran() {
    for (output, expected) in [
        ("1 xfailed in 0.02s\n", Some(Summary::Passed { tests: None })),
        ("2 passed, 1 xfailed in 0.02s\n", Some(Summary::Passed { tests: Some(2) })),
        ("1 failed, 1 xfailed in 0.02s\n", Some(Summary::Failed { tests: Some(1) })),
        ("1 skipped in 0.02s\n", Some(Summary::NoTestsRan)),
    ] {
        assert_eq!(shown(output).summary(), expected, "{output}");
    }
}

#[test]
fn ctest_says_in_its_last_line_that_it_failed() {
    assert_eq!(shown("Errors while running CTest\n").summary(), Some(Summary::Failed { tests: None }));
}

/// The lines tell which of two commands printed what.
#[test]
fn l11_a_summary_has_its_place_in_the_output() {
    let shown = shown("4 passed in 0.2s\ncollected 2 items\n\n2 passed in 0.1s\n");
    assert_eq!(shown.summaries, [passed(Runner::Pytest, 4, 1), passed(Runner::Pytest, 2, 4)]);
}

#[test]
fn e7_nothing_ran_is_no_pass() {
    for output in [
        "Ran 0 tests in 0.000s\n\nOK\n",
        "testing: warning: no tests to run\nok  \tx\t0.1s [no tests to run]\n",
        "No tests found, exiting with code 1\n",
    ] {
        assert_eq!(shown(output).summary(), Some(Summary::NoTestsRan), "{output}");
    }
}

#[test]
fn what_stands_in_front_of_a_line_hides_nothing() {
    for front in [
        "",
        "web:test: ",
        "@scope/web:test: ",
        "[1] ",
        "[web] ",
        "[INFO] ",
        "web-1  | ",
        "│ ",
        "packages/api test: ",
        "12:00:01 ",
        "[12:00:01] ",
        "2026-01-05T10:00:00.123Z ",
        "2026-01-05 10:00:00,123 ",
        "12:00:01 web.1  | ",
        "10:00:00 [INFO] ",
        "\u{1b}[36mweb:test: \u{1b}[0m",
        "\u{1b}]8;;https://example.com\u{7}web:test:\u{1b}]8;;\u{7} ",
        "10%\r50%\r",
    ] {
        let shown = shown(&format!(
            "{front}===== 3 passed in 0.10s =====\r\n{front}Tests:       5 passed, 5 total\n"
        ));
        let found: Vec<_> = shown.summaries.iter().map(|one| (one.runner, one.passed, one.line)).collect();
        assert_eq!(found, [(Runner::Pytest, 3, 1), (Runner::Jest, 5, 2)], "{front:?}");
    }
}

#[test]
fn what_is_no_result_of_tests() {
    for output in [
        "All checks passed!\n",
        "=========================== short test summary info ============================\n",
        "all 5 tests passed, I promise\n",
        "The build passed in 3s\n",
        "12 files checked, all passed\n",
        "password failed\n",
        "#[test]\nfn ok() { pass(); }\n",
        "src/a.rs:3:test result: ok. 5 passed; 0 failed\n",
    ] {
        assert_eq!(shown(output).summaries, [], "{output}");
    }
}

#[test]
fn errors_by_their_shape() {
    for (output, kind) in [
        ("error[E0308]: mismatched types\n", ErrorKind::Coded),
        ("error TS5083: Cannot read file\n", ErrorKind::Coded),
        ("src/a.ts(3,4): error TS2304: Cannot find name 'x'.\n", ErrorKind::Located),
        ("src/a.ts:3:4 - error TS2304: Cannot find name 'x'.\n", ErrorKind::Located),
        ("./a.go:3:4: undefined: x\n", ErrorKind::Located),
        ("a.c:3:4: fatal error: x.h: No such file or directory\n", ErrorKind::Located),
        ("a.py:3: error: Name \"x\" is not defined  [name-defined]\n", ErrorKind::Located),
        ("a.py:3:4: F401 `os` imported but unused\n", ErrorKind::Located),
        ("  3:4  error  'x' is not defined  no-undef\n", ErrorKind::Located),
        ("A.java:3: error: cannot find symbol\n", ErrorKind::Located),
        ("/project/A.cs(3,4): error CS0103: The name 'x' does not exist\n", ErrorKind::Located),
        ("✖ 5 problems (2 errors, 3 warnings)\n", ErrorKind::Counted),
        ("Found 3 errors in 2 files (checked 9 source files)\n", ErrorKind::Counted),
        ("3 files inspected, 2 offenses detected\n", ErrorKind::Counted),
        ("FAILED tests/test_a.py::test_x - assert 1 == 2\n", ErrorKind::FailedTest),
        ("FAIL  src/a.test.ts > adds\n", ErrorKind::FailedTest),
        ("make[1]: *** [Makefile:2: test] Error 1\n", ErrorKind::GaveUp),
        (" ELIFECYCLE  Command failed with exit code 1.\n", ErrorKind::GaveUp),
        ("npm error code 1\n", ErrorKind::GaveUp),
        (
            "Traceback (most recent call last):\n  File \"a.py\", line 1\nValueError: no\n",
            ErrorKind::Uncaught,
        ),
        ("thread 'main' panicked at src/main.rs:3:5:\n", ErrorKind::Uncaught),
        ("thread 'tests::adds' (4242) panicked at src/lib.rs:7:9:\n", ErrorKind::Uncaught),
        ("AssertionError: expected 4 to be 3\nexit: 1\n", ErrorKind::Uncaught),
        ("  File \"a.py\", line 1\n    f(\n     ^\nSyntaxError: '(' was never closed\n", ErrorKind::Uncaught),
        ("Sorry: IndentationError: unexpected indent (a.py, line 2)\n", ErrorKind::Uncaught),
        ("Fatal Python error: Segmentation fault\n", ErrorKind::Uncaught),
        ("Segmentation fault (core dumped)\n", ErrorKind::Uncaught),
        ("bash: line 1:  4242 Segmentation fault      (core dumped) ./a.out\n", ErrorKind::Uncaught),
        ("*** Error compiling './a.py'...\n", ErrorKind::Located),
        ("test_a.py:4: AssertionError\n", ErrorKind::Located),
        ("E       assert 4 == 3\n", ErrorKind::FailedTest),
        ("  ● adds › two numbers\n", ErrorKind::FailedTest),
        ("● Test suite failed to run\n", ErrorKind::FailedTest),
        ("error during build:\n", ErrorKind::GaveUp),
        ("[!] (plugin typescript) RollupError: a.ts: no\n", ErrorKind::GaveUp),
        (
            "[ERROR] [Help 1] http://cwiki.apache.org/confluence/display/MAVEN/MojoFailureException\n",
            ErrorKind::GaveUp,
        ),
        ("webpack 5.90.0 compiled with 1 error in 812 ms\n", ErrorKind::Counted),
        ("error: no\n", ErrorKind::Plain),
    ] {
        assert_eq!(kinds(output), [kind], "{output}");
    }
    for output in [
        "a.c:3:4: warning: unused variable\n",
        "a.go:3:4:\tfmt.Println(x)\n",
        "src/a.rs:12:    let error = 3;\n",
        "✖ 3 problems (0 errors, 3 warnings)\n",
        "Found 0 errors.\n",
        "Found 3 errors (3 fixed, 0 remaining).\n",
        "\t\tError: err.Error(),\n",
        "3 files inspected, no offenses detected\n",
        "Traceback (most recent call last):\n  File \"a.py\", line 1\nValueError: no\ngoing on\nand on\nand on\nand on\nto the end\n",
        "the error was handled\n",
        "[ERROR] c.e.Service - cannot connect, trying again\n",
        "  ● Console\n",
        "  E   what stands further in is shown code\n",
        "webpack 5.90.0 compiled with 2 warnings in 812 ms\n",
        "thread pool panicked and went on\n",
        "NAME   TYPE   READY\n",
        "ValueError: no\ngoing on\nand on\nand on\nand on\nto the end\n",
        "the word Segmentation fault stands here\n",
    ] {
        assert_eq!(kinds(output), [], "{output}");
    }
}

#[test]
fn programs_that_could_not_be_started() {
    for (output, program) in [
        ("bash: line 1: pytest: command not found\n", "pytest"),
        ("/bin/sh: 1: jest: not found\n", "jest"),
        ("zsh:1: command not found: jest\n", "jest"),
        ("bash: ./run: No such file or directory\n", "./run"),
        ("env: ‘node’: No such file or directory\n", "node"),
        ("/usr/bin/python3: No module named pytest\n", "pytest"),
        ("error: no such command: `nextest`\n", "nextest"),
        ("error: unexpected argument 'two' found\n", ""),
        ("flag provided but not defined: -runn\n", ""),
        ("pytest: error: unrecognized arguments: --fast\n", "pytest"),
        ("grep: invalid option -- 'q'\n", "grep"),
    ] {
        assert_eq!(
            shown(output).not_started,
            [NotStarted { program: program.to_owned(), line: 1 }],
            "{output}"
        );
    }
    for output in
        ["cat: notes.txt: No such file or directory\n", "404: page not found\n", "uv binary not found.\n"]
            .into_iter()
            .chain(["expected: unknown option 'x'\n", "the word unexpected argument stands here\n"])
    {
        assert_eq!(shown(output).not_started, [], "{output}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_without_failing(text in "(\\PC{0,40}|[0-9]{1,25} (passed|failed|errors?) in [0-9.]{1,5}s|not ok 1|1..99999999999999999999|\u{1b}\\[|\r|\n){0,30}") {
        let _ = shown(&text);
    }
}
