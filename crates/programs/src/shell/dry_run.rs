//! Commands that look like the deed and do not do it (E7): `pytest --collect-only`, `cargo test --no-run`,
//! `make -n restart`.

use super::SimpleCommand;

/// Options that keep a program from doing its work, whatever the program.
const ANY_PROGRAM: &[&str] = &["--help", "--version", "--dry-run"];

/// Options that keep these programs from doing their work.
const BY_PROGRAM: &[(&str, &[&str])] = &[
    ("ava", &["-h"]),
    ("bats", &["-c", "--count", "-h"]),
    ("bun", &["-h"]),
    ("cargo", &["--no-run", "--list", "-h", "-V"]),
    ("ctest", &["-N", "--show-only", "--print-labels", "-h"]),
    ("dotnet", &["--list-tests", "-lt", "-h"]),
    ("go", &["-c", "-list", "-n", "-h", "-help"]),
    ("gradle", &["-m", "-h"]),
    ("gradlew", &["-m", "-h"]),
    ("jest", &["--listTests", "--showConfig", "--init", "-h", "-v"]),
    ("just", &["--list", "-l", "--summary", "--show", "--evaluate", "-n", "-h", "-V"]),
    ("make", &["-n", "--just-print", "--recon", "-q", "--question", "-t", "--touch", "-h", "-v"]),
    ("mocha", &["--list-files", "--list-reporters", "--list-interfaces", "-h", "-V"]),
    ("mvn", &["-DskipTests", "-DskipTests=true", "-Dmaven.test.skip", "-Dmaven.test.skip=true", "-h", "-v"]),
    ("nox", &["-l", "--list", "--list-sessions", "-h"]),
    ("phpunit", &["--list-tests", "--list-suites", "--list-groups", "-h"]),
    ("playwright", &["--list", "-h", "-V"]),
    (
        "pytest",
        &[
            "--collect-only",
            "--co",
            "--collectonly",
            "--fixtures",
            "--fixtures-per-test",
            "--markers",
            "--setup-plan",
            "--setup-only",
            "--cache-show",
            "-h",
            "-V",
        ],
    ),
    ("rspec", &["-h", "-v"]),
    ("task", &["--list", "-l", "--list-all", "-a", "-n", "--dry", "-h"]),
    ("tox", &["-l", "--listenvs", "-a", "--listenvs-all", "--notest", "-n", "-h", "list", "l"]),
    ("unittest", &["-h"]),
    ("vitest", &["list", "-h", "-v"]),
];

/// The argument that keeps the command from doing what it names, if there is one.
pub(crate) fn flag(command: &SimpleCommand) -> Option<&str> {
    let program = command.program.as_str();
    let own = BY_PROGRAM.iter().find(|(name, _)| *name == program).map_or(&[][..], |(_, flags)| flags);
    let mut previous = "";
    for argument in command.known_arguments() {
        let found = ANY_PROGRAM.contains(&argument)
            || own.contains(&argument)
            || (program == "make" && cluster_has(argument, &['n', 'q', 't']))
            || (program == "go" && previous == "-run" && matches!(argument, "^$" | "NONE" | "XXX"))
            || (program == "go" && (argument.starts_with("-list=") || argument == "-run=^$"))
            || (program == "gradlew" || program == "gradle") && previous == "-x" && argument == "test";
        if found {
            return Some(argument);
        }
        previous = argument;
    }
    None
}

/// `-nB`, but neither `-j4` nor `--trace`.
fn cluster_has(argument: &str, letters: &[char]) -> bool {
    argument.strip_prefix('-').is_some_and(|cluster| {
        cluster.len() > 1
            && cluster.bytes().all(|byte| byte.is_ascii_alphabetic())
            && cluster.starts_with(letters)
    })
}
