//! Looks through programs that only run another program (E6): `timeout 60 cargo test` is `cargo test`,
//! `uv run python3 -m pytest` is `pytest`, `bash -lc '…'` is the script in it.

use super::Mask;
use super::word::Word;

/// What is left of a command without its wrappers.
#[derive(Debug, PartialEq)]
pub(crate) enum Peeled {
    /// `mask`: a wrapper that hides the exit status.
    Command {
        words: Vec<Word>,
        mask: Option<Mask>,
    },
    Script {
        text: String,
        errexit: bool,
        pipefail: bool,
    },
    /// A shell that reads its script from standard input, if there is one.
    ScriptFromInput {
        words: Vec<Word>,
        errexit: bool,
    },
    /// `find … -exec command`
    PerFile {
        words: Vec<Word>,
        command: Vec<Word>,
        mask: Option<Mask>,
    },
}

/// A wrapper that takes options and then the command.
struct Wrapper {
    program: &'static str,
    /// Words between the program and the command: `uv run`.
    subcommands: &'static [&'static str],
    /// Options whose value is the next word.
    valued: &'static [&'static str],
    /// Words before the command that are no options: the duration of `timeout`, the container of `docker exec`.
    operands: usize,
}

const fn wrapper(
    program: &'static str,
    subcommands: &'static [&'static str],
    valued: &'static [&'static str],
    operands: usize,
) -> Wrapper {
    Wrapper { program, subcommands, valued, operands }
}

const UV_RUN: &[&str] = &[
    "--with",
    "--python",
    "-p",
    "--extra",
    "--group",
    "--only-group",
    "--no-group",
    "--project",
    "--directory",
    "--env-file",
    "--package",
    "--with-requirements",
    "--with-editable",
    "--index",
    "--index-url",
    "--from",
    "-w",
    "--color",
    "--config-file",
    "--cache-dir",
    "--no-extra",
    "-C",
];
const NPX: &[&str] = &["-p", "--package", "-w", "--workspace", "--prefix", "-c", "--call"];
const PNPM: &[&str] = &["-C", "--dir", "--filter", "-F", "--package", "-w"];
const DOCKER: &[&str] = &[
    "-u",
    "--user",
    "-w",
    "--workdir",
    "-e",
    "--env",
    "--env-file",
    "-v",
    "--volume",
    "-p",
    "--publish",
    "--name",
    "--network",
    "--net",
    "--entrypoint",
    "--platform",
    "--mount",
    "-m",
    "--memory",
    "--cpus",
    "-h",
    "--hostname",
    "-l",
    "--label",
    "--index",
    "--detach-keys",
    "--add-host",
    "--gpus",
    "--shm-size",
    "--ulimit",
    "--cap-add",
    "--security-opt",
    "--device",
    "--tmpfs",
    "--pull",
    "--ipc",
    "--pid",
];
const COMPOSE: &[&str] =
    &["-f", "--file", "-p", "--project-name", "--profile", "--project-directory", "--env-file"];

/// Longer subcommands come before shorter ones of the same program.
const WRAPPERS: &[Wrapper] = &[
    wrapper("time", &[], &["-f", "--format", "-o", "--output"], 0),
    wrapper("timeout", &[], &["-k", "--kill-after", "-s", "--signal"], 1),
    wrapper("gtimeout", &[], &["-k", "--kill-after", "-s", "--signal"], 1),
    wrapper("nice", &[], &["-n", "--adjustment"], 0),
    wrapper("ionice", &[], &["-c", "-n", "--class", "--classdata"], 0),
    wrapper("chrt", &[], &[], 1),
    wrapper("taskset", &[], &[], 1),
    wrapper(
        "sudo",
        &[],
        &["-u", "--user", "-g", "--group", "-h", "--host", "-C", "-D", "--chdir", "-p", "-r", "-t"],
        0,
    ),
    wrapper("doas", &[], &["-u", "-C"], 0),
    wrapper("env", &[], &["-u", "--unset", "-C", "--chdir"], 0),
    wrapper("command", &[], &[], 0),
    wrapper("builtin", &[], &[], 0),
    wrapper("exec", &[], &["-a"], 0),
    wrapper("nohup", &[], &[], 0),
    wrapper("stdbuf", &[], &["-i", "-o", "-e", "--input", "--output", "--error"], 0),
    wrapper("unbuffer", &[], &[], 0),
    wrapper("setsid", &[], &[], 0),
    wrapper("flock", &[], &["-w", "--timeout", "-E"], 1),
    wrapper("xvfb-run", &[], &["-n", "-s", "-f", "-e", "-w"], 0),
    wrapper("cross-env", &[], &[], 0),
    wrapper("dotenv", &[], &["-f", "-e"], 0),
    wrapper("uv", &["tool", "run"], UV_RUN, 0),
    wrapper("uv", &["run"], UV_RUN, 0),
    wrapper("uvx", &[], UV_RUN, 0),
    wrapper("pipx", &["run"], &["--spec", "--python"], 0),
    wrapper("poetry", &["run"], &["-C", "-P"], 0),
    wrapper("pipenv", &["run"], &[], 0),
    wrapper("pdm", &["run"], &["-p", "--project"], 0),
    wrapper("rye", &["run"], &[], 0),
    wrapper("hatch", &["run"], &[], 0),
    wrapper("pixi", &["run"], &["-e", "--environment"], 0),
    wrapper("conda", &["run"], &["-n", "--name", "-p", "--prefix", "--cwd"], 0),
    wrapper("mamba", &["run"], &["-n", "--name", "-p", "--prefix", "--cwd"], 0),
    wrapper(
        "coverage",
        &["run"],
        &["--source", "--omit", "--include", "--rcfile", "--data-file", "--context"],
        0,
    ),
    wrapper("bundle", &["exec"], &[], 0),
    wrapper("npx", &[], NPX, 0),
    wrapper("bunx", &[], &[], 0),
    wrapper("bun", &["x"], &[], 0),
    wrapper("npm", &["exec"], NPX, 0),
    wrapper("npm", &["x"], NPX, 0),
    wrapper("pnpm", &["exec"], PNPM, 0),
    wrapper("pnpm", &["dlx"], PNPM, 0),
    wrapper("yarn", &["exec"], &["--cwd"], 0),
    wrapper("yarn", &["dlx"], &["-p", "--package"], 0),
    wrapper("nyc", &[], &["--reporter"], 0),
    wrapper("c8", &[], &["--reporter", "-r"], 0),
    wrapper("mise", &["exec"], &[], 0),
    wrapper("mise", &["x"], &[], 0),
    wrapper("asdf", &["exec"], &[], 0),
    wrapper("direnv", &["exec"], &[], 1),
    wrapper("docker", &["compose", "exec"], DOCKER, 1),
    wrapper("docker", &["compose", "run"], DOCKER, 1),
    wrapper("docker-compose", &["exec"], DOCKER, 1),
    wrapper("docker-compose", &["run"], DOCKER, 1),
    wrapper("docker", &["exec"], DOCKER, 1),
    wrapper("docker", &["run"], DOCKER, 1),
    wrapper("podman", &["exec"], DOCKER, 1),
    wrapper("podman", &["run"], DOCKER, 1),
];

/// Tools of Node that `yarn`, `pnpm` and `bun` run by their name alone.
const NODE_TOOLS: &[&str] = &[
    "jest",
    "vitest",
    "mocha",
    "ava",
    "tap",
    "playwright",
    "cypress",
    "karma",
    "tsc",
    "eslint",
    "prettier",
    "biome",
    "node",
    "tsx",
    "ts-node",
    "turbo",
    "nx",
];

const SHELLS: &[&str] = &["bash", "sh", "zsh", "dash", "ksh", "ash"];

/// The name that a program goes by, whatever its folder and version: `python` for `/usr/bin/python3.12`.
pub(crate) fn base_name(program: &str) -> String {
    let name = program.trim_end_matches('/').rsplit(['/', '\\']).next().unwrap_or(program);
    let name = [".exe", ".cmd", ".bat"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
    let versionless = name.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.');
    match name {
        "py.test" => "pytest",
        "nodejs" => "node",
        "gmake" => "make",
        _ if matches!(versionless, "python" | "pip" | "pytest-") => versionless.trim_end_matches('-'),
        _ => name,
    }
    .to_owned()
}

/// Nobody wraps deeper, and each one copies the words.
const MOST_WRAPPERS: usize = 16;

/// Takes one wrapper after the other off.
pub(crate) fn peel(mut words: Vec<Word>) -> Peeled {
    let mut mask = None;
    for _ in 0..MOST_WRAPPERS {
        let Some(program) = words.first().map(|word| base_name(word.text())) else {
            return Peeled::Command { words, mask };
        };
        if SHELLS.contains(&program.as_str()) {
            match shell(&words) {
                Some(Peeled::Command { words: inner, .. }) => {
                    words = inner;
                    return Peeled::Command { words, mask };
                }
                Some(script) if mask.is_none() => return script,
                _ => return Peeled::Command { words, mask },
            }
        }
        match program.as_str() {
            "eval" if mask.is_none() => {
                let text: Vec<&str> = words.iter().skip(1).map(Word::text).collect();
                return Peeled::Script { text: text.join(" "), errexit: false, pipefail: false };
            }
            "find" => match find(words) {
                Ok(per_file) => return per_file,
                Err(plain) => return Peeled::Command { words: plain, mask },
            },
            "command" if words.get(1).is_some_and(|word| matches!(word.known(), Some("-v" | "-V"))) => {
                return Peeled::Command { words, mask };
            }
            // Without `--wait` it may leave at once.
            "setsid" if !words.iter().any(|word| matches!(word.known(), Some("-w" | "--wait"))) => {
                mask = Some(Mask::Background);
            }
            "docker" | "podman" | "docker-compose"
                if words.iter().any(|word| matches!(word.known(), Some("-d" | "--detach"))) =>
            {
                return Peeled::Command { words, mask };
            }
            _ => {}
        }
        let inner = match program.as_str() {
            "xargs" => xargs(&words, &mut mask),
            "python" => module(&words),
            "uv" if known(&words, 1) == Some("pip") => words.get(1..).map(<[_]>::to_vec),
            "yarn" | "pnpm" | "bun" => node_tool(&words).or_else(|| unwrap(&program, &words)),
            "nix" | "nix-shell" => nix(&words),
            _ => unwrap(&program, &words),
        };
        match inner {
            Some(inner) if !inner.is_empty() => {
                words = inner;
                // `env A=b cmd`, `sudo A=b cmd`
                let assignments = words.iter().take_while(|word| is_assignment(word.text())).count();
                if assignments < words.len() {
                    words.drain(..assignments);
                }
            }
            _ => return Peeled::Command { words, mask },
        }
    }
    Peeled::Command { words, mask }
}

fn known(words: &[Word], index: usize) -> Option<&str> {
    words.get(index).and_then(Word::known)
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|first: char| first.is_ascii_digit())
            && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
    })
}

/// The place of the first word from `at` on that is neither an option nor an option's value.
fn skip_options(words: &[Word], mut at: usize, valued: &[&str]) -> usize {
    while let Some(text) = words.get(at).map(Word::text) {
        if text == "--" {
            return at + 1;
        }
        if !text.starts_with('-') || text == "-" {
            return at;
        }
        at += if valued.contains(&text) { 2 } else { 1 };
    }
    at
}

fn unwrap(program: &str, words: &[Word]) -> Option<Vec<Word>> {
    for wrapper in WRAPPERS.iter().filter(|wrapper| wrapper.program == program) {
        let mut at = 1;
        let global = if program.starts_with("docker") { COMPOSE } else { wrapper.valued };
        let matched = wrapper.subcommands.iter().all(|subcommand| {
            at = skip_options(words, at, global);
            at += 1;
            known(words, at - 1) == Some(subcommand)
        });
        if !matched {
            continue;
        }
        at = skip_options(words, at, wrapper.valued);
        if wrapper.operands > 0 {
            at += wrapper.operands;
            // `flock file -c`, `docker exec box -- cmd` are rare; `timeout 60 -- cmd` is not.
            if known(words, at) == Some("--") {
                at += 1;
            }
        }
        if program == "env" || program == "sudo" {
            while words.get(at).is_some_and(|word| is_assignment(word.text())) {
                at += 1;
            }
        }
        let inner = words.get(at..).unwrap_or_default();
        // `coverage run -m pytest` runs a module, `coverage run x.py` a script.
        if program == "coverage"
            && !words.get(1..at).unwrap_or_default().iter().any(|word| word.text() == "-m")
        {
            return None;
        }
        return Some(inner.to_vec());
    }
    None
}

/// `python -m module …`
fn module(words: &[Word]) -> Option<Vec<Word>> {
    let at = words.iter().skip(1).position(|word| !word.text().starts_with('-') || word.text() == "-m")? + 1;
    let at = if matches!(known(words, at - 1), Some("-W" | "-X")) { at + 1 } else { at };
    (known(words, at) == Some("-m")).then(|| words.get(at + 1..).unwrap_or_default().to_vec())
}

/// `yarn jest`, `pnpm vitest run`, `bun run mocha`
fn node_tool(words: &[Word]) -> Option<Vec<Word>> {
    let mut at = skip_options(words, 1, PNPM);
    if known(words, at) == Some("run") {
        at += 1;
    }
    let tool = known(words, at)?;
    NODE_TOOLS.contains(&tool).then(|| words.get(at..).unwrap_or_default().to_vec())
}

/// `nix develop -c cmd …`, `nix develop --command cmd …`
fn nix(words: &[Word]) -> Option<Vec<Word>> {
    let at = words.iter().position(|word| matches!(word.known(), Some("-c" | "--command")))?;
    words.get(at + 1..).map(<[_]>::to_vec)
}

/// The command gets more arguments than are written.
fn xargs(words: &[Word], mask: &mut Option<Mask>) -> Option<Vec<Word>> {
    const VALUED: &[&str] =
        &["-n", "-P", "-I", "-L", "-d", "-E", "-s", "-a", "--max-args", "--max-procs", "--delimiter"];
    let at = skip_options(words, 1, VALUED);
    let options = words.get(1..at).unwrap_or_default();
    // With `-r` it may run nothing at all.
    if options
        .iter()
        .any(|word| matches!(word.known(), Some("--no-run-if-empty")) || short_flags(word).contains('r'))
    {
        *mask = Some(Mask::Conditional);
    }
    let mut inner = words.get(at..).unwrap_or_default().to_vec();
    if inner.is_empty() {
        return None;
    }
    // `-I{}` names the place of the arguments.
    for word in &mut inner {
        if word.known().is_some_and(|text| text.contains("{}")) {
            *word = Word::Unexpanded { unexpanded: word.text().to_owned() };
        }
    }
    inner.push(Word::unknown());
    Some(inner)
}

fn short_flags(word: &Word) -> &str {
    match word.known().and_then(|text| text.strip_prefix('-')) {
        Some(letters) if letters.bytes().all(|byte| byte.is_ascii_alphabetic()) => letters,
        _ => "",
    }
}

/// `bash -lc 'script'`, `bash script.sh`, `bash <<EOF`.
fn shell(words: &[Word]) -> Option<Peeled> {
    let (mut errexit, mut pipefail, mut reads_command) = (false, false, false);
    let mut at = 1;
    while let Some(text) = words.get(at).map(Word::text) {
        let letters = match text.strip_prefix('-').or_else(|| text.strip_prefix('+')) {
            Some("-") | Some("") => {
                at += 1;
                break;
            }
            Some(letters) => letters,
            None => break,
        };
        at += 1;
        if letters.starts_with('-') {
            if matches!(letters, "-rcfile" | "-init-file") {
                at += 1;
            }
            continue;
        }
        // `-n` only reads the script.
        if letters.contains('n') {
            return None;
        }
        errexit |= letters.contains('e');
        reads_command |= letters.contains('c');
        if letters.ends_with(['o', 'O']) {
            pipefail |= known(words, at) == Some("pipefail");
            errexit |= known(words, at) == Some("errexit");
            at += 1;
        }
    }
    if reads_command {
        let script = words.get(at)?;
        return Some(Peeled::Script { text: script.text().to_owned(), errexit, pipefail });
    }
    match words.get(at..) {
        Some([script, ..]) if script.text() != "-" => {
            Some(Peeled::Command { words: words.get(at..).unwrap_or_default().to_vec(), mask: None })
        }
        _ => Some(Peeled::ScriptFromInput { words: words.to_vec(), errexit }),
    }
}

/// `find … -exec command {} \;` or `+`; the words themselves where there is no such thing.
fn find(words: Vec<Word>) -> Result<Peeled, Vec<Word>> {
    let Some(exec) = words.iter().position(|word| matches!(word.known(), Some("-exec" | "-execdir"))) else {
        return Err(words);
    };
    let Some(length) = words.iter().skip(exec + 1).position(|word| matches!(word.known(), Some(";" | "+")))
    else {
        return Err(words);
    };
    let command = words.get(exec + 1..exec + 1 + length).unwrap_or_default();
    let command: Vec<Word> = command
        .iter()
        .map(|word| {
            if word.text().contains("{}") {
                Word::Unexpanded { unexpanded: word.text().to_owned() }
            } else {
                word.clone()
            }
        })
        .collect();
    if command.is_empty() {
        return Err(words);
    }
    Ok(Peeled::PerFile { words, command, mask: Some(Mask::Loop) })
}
