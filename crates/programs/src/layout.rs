//! Commands that only lay code out anew. What they rewrite is the code that was tested, so that tests before
//! them stay fresh; holding for `cargo test && cargo fmt` would teach people to switch the gate off.

use crate::shell::{SimpleCommand, Word};

/// Whether the command formats and does nothing else. Fixers (`--fix`, import sorters) change what code does.
pub fn only_formats(command: &SimpleCommand) -> bool {
    let words: Vec<&str> = command.arguments.iter().map(Word::text).collect();
    let plain = words.iter().find(|word| !word.starts_with(['-', '+'])).copied().unwrap_or_default();
    match command.program.as_str() {
        "rustfmt" | "black" | "prettier" | "gofmt" | "shfmt" | "clang-format" | "yapf" | "taplo"
        | "stylua" => true,
        "cargo" | "zig" | "terraform" | "go" | "deno" | "nix" | "buf" => plain == "fmt",
        "ruff" | "dart" | "mix" | "biome" | "swift" => plain == "format",
        "make" | "just" | "task" => words.iter().all(|word| is_layout_target(word)) && !plain.is_empty(),
        "npm" | "pnpm" | "yarn" | "bun" => {
            let script = words.iter().find(|word| !word.starts_with('-') && **word != "run");
            script.is_some_and(|word| is_layout_target(word))
        }
        _ => false,
    }
}

/// A commit runs the owner's hooks, which may lay files out anew.
pub fn commits(command: &SimpleCommand) -> bool {
    command.program == "git" && command.arguments.iter().any(|word| word.text() == "commit")
}

/// Whether the command, beside a formatter or a commit, writes no file of its own: what was written meanwhile was
/// laid out anew. A script before the commit may have done more than that.
pub fn stands_by(command: &SimpleCommand) -> bool {
    const ONLY_SPEAK: &[&str] = &[
        "cd", "echo", "printf", "true", ":", "set", "export", "sleep", "cat", "head", "tail", "grep", "rg",
        "ls", "wc",
    ];
    const GIT: &[&str] = &[
        "add",
        "commit",
        "push",
        "fetch",
        "tag",
        "status",
        "diff",
        "log",
        "show",
        "rev-parse",
        "branch",
        "config",
    ];
    only_formats(command)
        || commits(command)
        || ONLY_SPEAK.contains(&command.program.as_str())
        || (command.program == "git"
            && command
                .arguments
                .iter()
                .map(Word::text)
                .find(|word| !word.starts_with('-'))
                .is_some_and(|word| GIT.contains(&word)))
}

fn is_layout_target(word: &str) -> bool {
    matches!(word, "fmt" | "format" | "prettier" | "format:fix" | "format:write")
}
