//! Lines about a program that could not be started, or did not understand its command line.

use crate::book::Book;

pub(crate) fn reads(book: &mut Book, line: &str) -> bool {
    let program = not_started(line).or_else(|| refuses_its_words(line));
    if let Some(program) = program {
        book.not_started(program);
    }
    program.is_some()
}

/// The program that a shell could not start: `bash: line 1: pytest: command not found`, `sh: 1: jest: not found`,
/// `zsh: command not found: jest`, `bash: ./run: No such file or directory`.
fn not_started(line: &str) -> Option<&str> {
    if line.starts_with("zsh:") || line.starts_with("(eval):") {
        return line.split_once(": command not found: ").map(|(_, program)| program);
    }
    for ending in [": command not found", ": not found", ": No such file or directory", ": Permission denied"]
    {
        if let Some(before) = line.strip_suffix(ending) {
            let (shell, program) = before.rsplit_once(": ")?;
            let is_program = !program.contains(' ') && is_shell(shell.split(": ").next()?);
            return is_program.then_some(program.trim_matches(['‘', '’', '\'']));
        }
    }
    let quoted = |ending: &str| line.strip_suffix(ending)?.strip_prefix('\'')?.strip_suffix('\'');
    if let Some(program) = quoted(" is not recognized as an internal or external command,") {
        return Some(program);
    }
    if let Some(program) = line.strip_prefix("error: no such command: `") {
        return program.strip_suffix('`');
    }
    if let Some(program) = line.strip_prefix("error: Failed to spawn: `") {
        return program.strip_suffix('`');
    }
    // `/usr/bin/python3: No module named pytest`
    let (python, module) = line.split_once(": ").filter(|(python, _)| python.contains("python"))?;
    let module = module.strip_prefix("No module named ")?;
    (python.rsplit('/').next()?.starts_with("python") && !python.contains(' '))
        .then(|| module.trim_matches('\''))
}

/// The program, if it names itself, that does not understand its own command line and so did nothing. Each is how a library
/// for command lines says it.
fn refuses_its_words(line: &str) -> Option<&str> {
    const BEGINNINGS: [&str; 6] = [
        "error: unexpected argument '",
        "error: unknown option '",
        "Error: No such option: ",
        "Error: unknown flag: ",
        "unknown flag: ",
        "flag provided but not defined: ",
    ];
    const MIDDLES: [&str; 3] =
        [": error: unrecognized arguments: ", ": unrecognized option '", ": invalid option -- '"];
    if BEGINNINGS.iter().any(|words| line.starts_with(words)) {
        return Some("");
    }
    let program = MIDDLES.iter().find_map(|words| line.split_once(words))?.0;
    (!program.contains(' ')).then_some(program)
}

fn is_shell(name: &str) -> bool {
    let base = name.rsplit('/').next().unwrap_or(name);
    matches!(
        base.trim_start_matches('-'),
        "bash"
            | "sh"
            | "zsh"
            | "dash"
            | "ash"
            | "ksh"
            | "fish"
            | "env"
            | "timeout"
            | "nice"
            | "xargs"
            | "time"
            | "sudo"
            | "nohup"
            | "exec"
    ) || base.ends_with(".sh")
}
