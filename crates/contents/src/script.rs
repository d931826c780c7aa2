//! Scripts whose names have no ending: which one they would have, by the program that their first line names.

/// Programs that run scripts, and the ending of what they run.
const PROGRAMS: &[(&str, &str)] = &[
    ("sh bash dash ash ksh mksh", "sh"),
    ("zsh", "zsh"),
    ("fish", "fish"),
    ("bats", "bats"),
    ("python pypy uv", "py"),
    ("node nodejs", "js"),
    ("deno bun tsx ts-node", "ts"),
    ("ruby", "rb"),
    ("perl", "pl"),
    ("php", "php"),
    ("lua luajit", "lua"),
    ("Rscript", "r"),
    ("julia", "jl"),
    ("elixir", "exs"),
    ("swift", "swift"),
    ("dart", "dart"),
    ("pwsh", "ps1"),
];

/// A first line that is longer names no program.
const LONGEST: usize = 200;

/// The ending that a script without one would have: `sh` for `#!/usr/bin/env bash`. `None` for a file whose name has an ending,
/// and for a text that does not begin with the name of a program.
pub fn script_ending(path: &str, text: &str) -> Option<&'static str> {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    if name.contains('.') {
        return None;
    }
    let line = text.strip_prefix("#!")?.lines().next()?;
    let words = line.get(..line.len().min(LONGEST))?.split_whitespace();
    // `env` sets variables and takes options before the name.
    let is_name = |word: &&str| !word.starts_with('-') && !word.contains('=') && !word.ends_with("/env");
    let program = words.into_iter().find(is_name)?.rsplit('/').next()?;
    let program = program.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.');
    let runs = |programs: &str| programs.split(' ').any(|known| known == program);
    PROGRAMS.iter().find(|(programs, _)| runs(programs)).map(|(_, ending)| *ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_names_the_language() {
        for (path, text, ending) in [
            ("bin/deploy", "#!/bin/sh\nset -e\n", Some("sh")),
            ("deploy", "#! /usr/bin/env bash", Some("sh")),
            ("tools/run", "#!/usr/bin/env -S PYTHONUNBUFFERED=1 python3.12 -u\r\n", Some("py")),
            ("x", "#!/usr/bin/env -S uv run --script\n", Some("py")),
            ("bin/cli", "#!/usr/bin/env node\n", Some("js")),
            ("bin/cli.js", "#!/usr/bin/env node\n", None),
            ("LICENSE", "All rights\n", None),
            ("x", "#!/opt/own/program\n", None),
            ("x", "#!", None),
            ("x", "", None),
        ] {
            assert_eq!(script_ending(path, text), ending, "{path} {text}");
        }
    }
}
