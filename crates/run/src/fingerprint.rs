//! Whether a stage would do today what it did then: a hash over what it runs and over the contents of what it reads.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde::Serialize;

use crate::hash;
use crate::plan::{Program, Stage};

/// A file that a command names is read up to this size; larger ones are data, and data is declared as an input.
const LARGEST_SCRIPT: u64 = 16 << 20;

/// What a script is known by, where it is not executable. Other files that a command names may be what it writes.
const CODE: [&str; 16] =
    ["awk", "bash", "ipynb", "jl", "js", "lua", "m", "mjs", "php", "pl", "py", "r", "R", "rb", "sh", "sql"];

#[derive(Serialize)]
struct Basis<'a> {
    version: u32,
    stage: &'a str,
    command: &'a Program,
    verify: Option<&'a Program>,
    environment: &'a [(String, String)],
    directory: &'a Path,
    outputs: Vec<&'a str>,
    inputs: &'a [(String, String)],
    scripts: Vec<(String, String)>,
}

/// `inputs` are the hashes of the stage's inputs, by name. Scripts and programs of the project that the command names count
/// with their contents as well.
pub fn of_stage(stage: &Stage, root: &Path, inputs: &[(String, String)]) -> String {
    let directory = root.join(&stage.directory);
    let mut scripts = named_files(&stage.command, root, &directory);
    if let Some(verify) = &stage.verify {
        scripts.extend(named_files(verify, root, &directory));
    }
    let basis = Basis {
        version: 1,
        stage: &stage.id,
        command: &stage.command,
        verify: stage.verify.as_ref(),
        environment: &stage.environment,
        directory: &stage.directory,
        outputs: stage.outputs.iter().map(|output| output.path.as_str()).collect(),
        inputs,
        scripts,
    };
    // Strings and paths from a text are always JSON.
    hash::of_bytes(&serde_json::to_vec(&basis).unwrap_or_default())
}

fn named_files(program: &Program, root: &Path, directory: &Path) -> Vec<(String, String)> {
    let words: Vec<&str> = match program {
        Program::Words(words) => words.iter().map(String::as_str).collect(),
        Program::Shell(text) => text
            .split(|c: char| c.is_whitespace() || ";|&()<>\"'`".contains(c))
            .filter(|word| !word.is_empty())
            .collect(),
    };
    let hashed = |word: &str| {
        let path = directory.join(word);
        let metadata = path.symlink_metadata().ok()?;
        let is_code = metadata.permissions().mode() & 0o111 != 0
            || path.extension().is_some_and(|extension| CODE.iter().any(|code| extension == *code));
        let is_script =
            metadata.is_file() && is_code && metadata.len() <= LARGEST_SCRIPT && path.starts_with(root);
        is_script.then(|| of_file(&path).ok().map(|(sha256, _)| sha256)).flatten()
    };
    words.into_iter().filter_map(|word| Some((word.to_owned(), hashed(word)?))).collect()
}

/// The hash and the size of a regular file.
pub fn of_file(path: &Path) -> io::Result<(String, u64)> {
    let hashed = hash::of_file(fs_err::File::open(path)?.file())?;
    Ok((hashed.sha256, hashed.bytes))
}
