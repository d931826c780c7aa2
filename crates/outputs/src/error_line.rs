//! Lines that only something broken prints, known by their shape: an error with its place or its code, the name of a test
//! that failed, a tool that gave up.

use crate::book::Book;
use crate::shown::ErrorKind;

pub(crate) fn reads(book: &mut Book, line: &str) -> bool {
    if line == "Traceback (most recent call last):" {
        (book.traceback, book.exception) = (Some(book.line), None);
        return true;
    }
    if book.traceback.is_some() && !book.is_indented && is_exception(line) {
        (book.traceback, book.exception) = (None, Some(book.line));
        return true;
    }
    if !book.is_indented && is_named_exception(line) {
        book.exception = Some(book.line);
        return true;
    }
    let kind = kind(line).or_else(|| match book.is_indented {
        true => None,
        // `E       assert 4 == 3`: pytest marks what a test failed with.
        false if line.starts_with("E   ") => Some(ErrorKind::FailedTest),
        false => is_plain(line).then_some(ErrorKind::Plain),
    });
    if let Some(kind) = kind {
        book.error(kind);
    }
    kind.is_some()
}

/// `package.SomeError: message`, `KeyboardInterrupt`
fn is_exception(line: &str) -> bool {
    let name = line.split(':').next().unwrap_or_default();
    let is_name = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '.');
    let class = name.rsplit('.').next().unwrap_or_default();
    name.chars().all(is_name) && class.starts_with(|first: char| first.is_ascii_uppercase())
}

/// The same without the traceback, which a filter has cut off or which Python leaves out if it only compiles: `SyntaxError: '('
/// was never closed`, `Sorry: IndentationError: …`
fn is_named_exception(line: &str) -> bool {
    is_error_class(line.strip_prefix("Sorry: ").unwrap_or(line).split(": ").next().unwrap_or_default())
}

/// `AssertionError`, `json.decoder.JSONDecodeError`, and not the bare word `Error`.
fn is_error_class(name: &str) -> bool {
    let class = name.rsplit('.').next().unwrap_or_default();
    let kind = class.strip_suffix("Error").or_else(|| class.strip_suffix("Exception"));
    kind.is_some_and(|kind| !kind.is_empty()) && is_exception(name)
}

fn kind(line: &str) -> Option<ErrorKind> {
    if is_located(line) {
        return Some(ErrorKind::Located);
    }
    if is_coded(line) {
        return Some(ErrorKind::Coded);
    }
    if gave_up(line) {
        return Some(ErrorKind::GaveUp);
    }
    if counts_errors(line) {
        return Some(ErrorKind::Counted);
    }
    if is_failed_test(line) {
        return Some(ErrorKind::FailedTest);
    }
    if ENDS.iter().any(|end| line.starts_with(end)) || is_panic(line) || is_crash(line) {
        return Some(ErrorKind::Uncaught);
    }
    None
}

/// What stands further in is a part of something else, such as code that is shown.
fn is_plain(line: &str) -> bool {
    ["error: ", "ERROR: ", "Error: ", "fatal: "].iter().any(|word| line.starts_with(word))
}

/// How lines begin that a program of its language prints last.
const ENDS: &[&str] =
    &["panic: ", "Exception in thread \"main\" ", "Unhandled exception", "Node.js v", "Fatal Python error: "];

/// `thread 'main' panicked at src/main.rs:3:5:`, `thread 'tests::adds' (4242) panicked at src/lib.rs:7:9:`
fn is_panic(line: &str) -> bool {
    line.strip_prefix("thread '").is_some_and(|rest| rest.contains(" panicked at "))
}

/// `Segmentation fault (core dumped)`, `bash: line 1:  4242 Segmentation fault      ./a.out`
fn is_crash(line: &str) -> bool {
    line.starts_with("Segmentation fault")
        || line.split_once(" Segmentation fault ").is_some_and(|(shell, _)| shell.contains("line "))
}

/// What a compiler says that is no error.
const NO_ERRORS: &[&str] = &["warning", "note", "info", "help", "hint", "remark", "style", "suggestion"];

/// `src/a.c:3:4: error: …`, `a.py:3: error: …`, `a.go:3:4: undefined: x`, `a.ts(3,4): error TS2304: …`,
/// `/a.py:3:4 - error: …`, `3:4  error  …`, `e: file:///a.kt:3:4 …`, `test_a.py:4: AssertionError`
fn is_located(line: &str) -> bool {
    if line.starts_with("e: file://") || line.starts_with("*** Error compiling '") {
        return true;
    }
    let Some((place, rest)) = place(line) else { return false };
    let says_error = |text: &str| ["error", "fatal error", "Error"].iter().any(|word| text.starts_with(word));
    if place.file.is_empty() {
        return place.has_column && rest.starts_with("  ") && says_error(rest.trim_start());
    }
    if !place.file.contains(['.', '/', '\\']) {
        return false;
    }
    let Some(message) = rest.strip_prefix(": ").or_else(|| rest.strip_prefix(" - ")) else { return false };
    if says_error(message) || is_error_class(message) {
        return true;
    }
    let lower = message.trim_start_matches(['[', '(']).to_ascii_lowercase();
    // Code that a search has found is indented; messages are not.
    let is_message = message.starts_with(|first: char| !first.is_whitespace());
    place.has_column
        && rest.starts_with(": ")
        && is_message
        && !NO_ERRORS.iter().any(|word| lower.starts_with(word))
}

struct Place<'line> {
    file: &'line str,
    has_column: bool,
}

/// The place that the line begins with, and what comes after it.
fn place(line: &str) -> Option<(Place<'_>, &str)> {
    let word = line.split([' ', '\t']).next()?;
    if let Some((file, numbers)) = word.split_once('(')
        && let Some((numbers, _)) = numbers.split_once(')')
        && numbers.split(',').all(is_number)
    {
        let rest = line.get(file.len() + numbers.len() + 2..)?;
        return Some((Place { file, has_column: numbers.contains(',') }, rest));
    }
    let digits = |text: &str| text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (file_end, behind) = if is_number(word.split(':').next()?) {
        (0, line)
    } else {
        let colon = word.match_indices(':').map(|(at, _)| at).find(|at| {
            word.get(at + 1..).is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
        })?;
        (colon, line.get(colon + 1..)?)
    };
    let rest = behind.get(digits(behind)..)?;
    let column = rest.strip_prefix(':').map(digits).filter(|length| *length > 0);
    let rest = rest.get(column.map_or(0, |length| length + 1)..)?;
    Some((Place { file: line.get(..file_end)?, has_column: column.is_some() }, rest))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `error[E0308]: …`, `error TS2304: …`, `MSBUILD : error MSB1009: …`
fn is_coded(line: &str) -> bool {
    let before = ["MSBUILD : ", "fatal "]
        .iter()
        .find(|before| line.starts_with(*before))
        .map_or(0, |before| before.len());
    let Some(code) = line.get(before..).and_then(|line| line.strip_prefix("error")) else { return false };
    let code = match code.as_bytes().first() {
        Some(b'[') => code.get(1..).and_then(|code| code.split_once("]:")),
        Some(b' ') => code.get(1..).and_then(|code| code.split_once(": ")),
        _ => None,
    };
    let is_code = |code: &str| {
        let number = code.trim_start_matches(|letter: char| letter.is_ascii_uppercase());
        number.len() < code.len() && is_number(number)
    };
    code.is_some_and(|(code, _)| is_code(code))
}

/// `make: *** [Makefile:2: test] Error 1`, `npm error code 1`, `ELIFECYCLE  Command failed with exit code 1.`
fn gave_up(line: &str) -> bool {
    let makes = |line: &str| {
        let (program, rest) = line.split_once(": *** ")?;
        let is_make = program.split('[').next().is_some_and(|program| program.ends_with("make"));
        (is_make && !rest.starts_with("Waiting for")).then_some(())
    };
    (line.starts_with(['m', 'g']) && makes(line).is_some())
        || line.starts_with("npm ERR! ")
        || line.starts_with("npm error ")
        || line.starts_with("ninja: build stopped")
        || line.starts_with("Failed to compile")
        || line.starts_with("ELIFECYCLE")
        || line.starts_with("error Command failed with exit code ")
        || line.starts_with("error: script \"") && line.contains(" exited with code ")
        || line.starts_with("error: Recipe `") && line.contains(" failed ")
        || line.starts_with("ERR_PNPM_")
        || line.starts_with("error during build:")
        || line.starts_with("[!] ") && line.contains("Error: ")
        || line.strip_prefix("[ERROR] ").is_some_and(is_end_of_maven)
}

/// What Maven prints below the error that ended it; a test that went well may log an error too.
fn is_end_of_maven(line: &str) -> bool {
    const BEGINNINGS: [&str; 4] = [
        "Failed to execute goal ",
        "To see the full stack trace of the errors",
        "For more information about the errors and possible solutions",
        "[Help 1] http",
    ];
    BEGINNINGS.iter().any(|beginning| line.starts_with(beginning))
}

/// `3 files inspected, 2 offenses detected`, `Found 3 errors in 2 files`, `✖ 5 problems (2 errors, 3 warnings)`, `2 errors generated.`, `1 error, 0 warnings`
fn counts_errors(line: &str) -> bool {
    let begins_with_number = line.as_bytes().first().is_some_and(u8::is_ascii_digit);
    if begins_with_number && let Some((_, offenses)) = line.split_once(" inspected, ") {
        return offenses.contains(" detected") && !offenses.starts_with("no ");
    }
    // `webpack 5.90.0 compiled with 1 error in 812 ms`
    let compiled = line.strip_prefix("webpack ").and_then(|rest| rest.split_once(" compiled with "));
    let line = compiled.map_or(line, |(_, counts)| counts).trim_start_matches(['✖', ' ']);
    let counts = line.strip_prefix("Found ").unwrap_or(line);
    let Some((number, what)) = counts.split_once(' ') else { return false };
    let Ok(number) = number.parse::<u64>() else { return false };
    // `5 problems (2 errors, 3 warnings)`
    let inside = what.strip_prefix("problem").and_then(|inside| inside.split_once('(')?.1.split_once(' '));
    let (number, what) = match inside {
        Some((errors, what)) => (errors.parse::<u64>().unwrap_or(0), what),
        None => (number, what),
    };
    // `Found 3 errors (3 fixed, 0 remaining).`
    if what.ends_with("fixed, 0 remaining).") {
        return false;
    }
    let word = what.split([' ', ',', '.', ')']).next().unwrap_or_default();
    number > 0 && matches!(word, "error" | "errors")
}

/// `FAILED tests/test_a.py::test_x - assert …`, `FAIL  src/a.test.ts`, `ERROR tests/test_a.py`, `● adds › two numbers`
fn is_failed_test(line: &str) -> bool {
    if let Some(name) = line.strip_prefix("● ") {
        return name.contains(" › ") || name == "Test suite failed to run";
    }
    let named = ["FAILED ", "FAIL ", "ERROR "].iter().find_map(|word| line.strip_prefix(word));
    let first = named.and_then(|rest| rest.split_whitespace().next());
    first.is_some_and(|name| name.contains('.') && name.contains(['/', ':']) || name.contains("::"))
        || (line.starts_with("test ") && line.ends_with(" ... FAILED"))
}
