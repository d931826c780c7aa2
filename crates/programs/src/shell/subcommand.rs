//! Where the words of a command line stand that say what the program shall do: after its global options and
//! their values. `npm install test` does not test, and `cargo run -- test` does not either.

use super::SimpleCommand;

/// Programs whose first word is a subcommand, and their global options that take the next word as a value.
const SUBCOMMANDS: &[(&str, &[&str])] = &[
    ("bun", &["--cwd", "--filter", "-F"]),
    ("cargo", &["--manifest-path", "--config", "-Z", "--color", "-C"]),
    ("deno", &[]),
    ("docker", &["--context", "-H"]),
    ("dotnet", &[]),
    ("git", &["-C", "-c", "--git-dir", "--work-tree"]),
    ("go", &["-C"]),
    ("hatch", &["-e", "--env", "-p", "--project"]),
    ("npm", &["--prefix", "-w", "--workspace", "-C"]),
    ("pip", &["--python", "--proxy", "--log", "--cache-dir"]),
    ("pnpm", &["-C", "--dir", "--filter", "-F", "--prefix"]),
    ("poetry", &["-C", "-P"]),
    ("swift", &["--package-path"]),
    ("telec", &[]),
    ("uv", &["--directory", "--project"]),
    ("yarn", &["--cwd"]),
    ("zig", &[]),
];

/// Options of other programs whose value could be taken for a word.
const VALUED: &[(&str, &[&str])] = &[
    ("make", &["-C", "-f", "-I", "-o", "-W", "--directory", "--file", "--makefile"]),
    ("just", &["-f", "--justfile", "-d", "--working-directory", "--set"]),
    ("task", &["-d", "--dir", "-t", "--taskfile"]),
    ("pytest", &["-k", "-m", "-c", "-p", "-o", "--rootdir", "--ignore", "-n"]),
];

/// Whether the first word of a pattern for this program has to be the subcommand.
pub fn has_subcommands(program: &str) -> bool {
    SUBCOMMANDS.iter().any(|(name, _)| *name == program)
}

/// The arguments that a pattern is compared with. `with_rest`: also those after `--`.
pub(crate) fn significant(command: &SimpleCommand, with_rest: bool) -> Vec<&str> {
    let program = command.program.as_str();
    let subcommands = SUBCOMMANDS.iter().find(|(name, _)| *name == program);
    let valued = VALUED
        .iter()
        .find(|(name, _)| *name == program)
        .or(subcommands)
        .map_or(&[][..], |(_, valued)| valued);
    let mut words = Vec::with_capacity(command.arguments.len());
    let mut arguments = command.arguments.iter();
    while let Some(argument) = arguments.next() {
        let text = argument.text();
        if text == "--" && !with_rest {
            break;
        }
        // Global options stand before the subcommand and are no part of what a pattern asks for.
        let global = subcommands.is_some() && words.is_empty() && text.starts_with(['-', '+']);
        if valued.contains(&text) {
            if !global {
                words.push(text);
            }
            arguments.next();
        } else if !global && let Some(known) = argument.known() {
            words.push(known);
        } else if !global {
            // Something stands here, and it is not known what.
            words.push("\0");
        }
    }
    scripts_by_name(program, words)
}

/// `npm run test` is `npm test`, and `yarn workspace web test` is `yarn test`.
pub(crate) fn scripts_by_name<'a>(program: &str, mut words: Vec<&'a str>) -> Vec<&'a str> {
    if matches!(program, "npm" | "pnpm" | "yarn" | "bun") {
        if program == "yarn" && words.first() == Some(&"workspace") && words.len() > 2 {
            words.drain(..2);
        }
        if matches!(words.first(), Some(&("run" | "run-script"))) && words.len() > 1 {
            words.remove(0);
            // Options of `run` itself: `npm run -s test`, `npm run --silent test`.
            while words.len() > 1 && words.first().is_some_and(|word| word.starts_with('-')) {
                words.remove(0);
            }
        }
        if program == "npm" && matches!(words.first(), Some(&("t" | "tst"))) {
            words.splice(..1, ["test"]);
        }
    }
    words
}
