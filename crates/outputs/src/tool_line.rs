//! What tools that run other things say about the whole.

use crate::book::Book;
use crate::shown::Tool;

/// How lines begin that tell how it ended.
const LINES: &[(&str, Tool, bool)] = &[
    ("BUILD SUCCESSFUL", Tool::Gradle, true),
    ("BUILD FAILED", Tool::Gradle, false),
    ("BUILD SUCCESS", Tool::Maven, true),
    ("BUILD FAILURE", Tool::Maven, false),
    ("Build succeeded", Tool::Dotnet, true),
    ("Build FAILED.", Tool::Dotnet, false),
    ("Build failed with ", Tool::Dotnet, false),
    ("Build complete!", Tool::Swift, true),
    ("** BUILD SUCCEEDED **", Tool::Xcodebuild, true),
    ("** BUILD FAILED **", Tool::Xcodebuild, false),
    ("congratulations :)", Tool::Tox, true),
    ("evaluation failed :(", Tool::Tox, false),
    ("error: could not compile ", Tool::Cargo, false),
];

/// Whether the line tells how the work of a tool ended.
pub(crate) fn reads(book: &mut Book, line: &str) -> bool {
    let found = LINES.iter().find(|(beginning, ..)| line.starts_with(beginning));
    let found = found.map(|(_, tool, succeeded)| (*tool, *succeeded)).or_else(|| nox(line));
    if let Some((tool, succeeded)) = found {
        book.tool(tool, succeeded);
    }
    found.is_some()
}

/// `nox > Session tests-3.12 was successful in 2 seconds.`, `nox > Session lint failed.`
fn nox(line: &str) -> Option<(Tool, bool)> {
    let (_, result) = line.strip_prefix("nox > Session ")?.split_once(' ')?;
    match result.trim_end_matches('.') {
        "failed" | "aborted" => Some((Tool::Nox, false)),
        result if result.starts_with("was successful") => Some((Tool::Nox, true)),
        _ => None,
    }
}
