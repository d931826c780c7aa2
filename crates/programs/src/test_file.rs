//! Which files are tests, by their names as the runners of many languages look for them.

use crate::repository::Language;
use crate::table::matches_glob;

/// Without the extension.
const NAMES: &[&str] = &[
    "test_*",
    "*_test",
    "*-test",
    "*.test",
    "*.spec",
    "*_spec",
    "*-spec",
    "*Test",
    "*Tests",
    "*Spec",
    "*Specs",
    "*TestCase",
    "*IT",
    "runtests",
    "run_tests",
    "run-tests",
    "testthat",
    "tests",
];

/// Extensions of programs; `notes.test.md` is no test.
const CODE: &[&str] = &[
    "py", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "go", "rb", "php", "java", "kt", "kts",
    "scala", "groovy", "cs", "fs", "vb", "swift", "ex", "exs", "dart", "rs", "c", "cc", "cpp", "cxx", "sh",
    "bash", "lua", "jl", "R", "pl", "hs", "ml", "zig", "nim", "clj",
];

/// Whether a file holds code, by its name.
pub(crate) fn is_code_file(path: &str) -> bool {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    CODE.contains(&extension) || Language::is_known(path)
}

/// Whether a file holds tests: `tests/test_a.py`, `a.test.ts`, `a_test.go`, `ATest.php`, `a.bats`.
pub fn is_test_file(path: &str) -> bool {
    let folder = path.bytes().rposition(|byte| matches!(byte, b'/' | b'\\'));
    let name = folder.and_then(|at| path.get(at + 1..)).unwrap_or(path);
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    let is_named = |glob: &&str| matches_glob(glob, stem) && (extension != "py" || !glob.ends_with("spec"));
    matches!(extension, "bats" | "t") || NAMES.iter().any(is_named) && CODE.contains(&extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_by_their_names() {
        for path in [
            "tests/test_a.py",
            "a.test.ts",
            "a_test.go",
            "src/ATest.php",
            "x.bats",
            "spec/a_spec.rb",
            "AppTests.swift",
        ] {
            assert!(is_test_file(path), "{path}");
        }
        for path in [
            "a.py",
            "conftest.py",
            "latest.ts",
            "a.test.md",
            "test",
            "contest.go",
            "testing.go",
            "verify_spec.py",
        ] {
            assert!(!is_test_file(path), "{path}");
        }
    }
}
