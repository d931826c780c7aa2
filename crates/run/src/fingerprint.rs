//! Whether a stage would do today what it did then: a hash over what it runs and over the contents of what it reads.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use checkpoint::hash;
use files::{FileError, Links, regular_file};
use serde::{Deserialize, Serialize};

use crate::plan::{Kind, Plan, Program, Python, Stage};

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
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    dependencies: &'a BTreeMap<String, BTreeSet<String>>,
    /// Absent where the stage is a command, as it was before there were other kinds.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    kernel: Option<KernelBasis<'a>>,
}

#[derive(Serialize)]
struct KernelBasis<'a> {
    kind: &'static str,
    interpreter: Option<&'a str>,
    seed: Option<u32>,
    variables: bool,
    /// Absent for the first, as it was when nobody asked what came before.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
}

/// What a stage comes after, besides what it reads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Preceding {
    /// What the session that a cell runs in is known by (`Accepted::session` of the Python stage before it).
    pub session: Option<String>,
    /// The fingerprints of the stages that it names in `dependencies`, by their ids in the plan. What they leave besides their
    /// outputs is seen by nobody, so that they count as a whole.
    pub dependencies: BTreeMap<String, BTreeSet<String>>,
}

impl Preceding {
    /// `fingerprint` is what a stage, by its place, is known by.
    pub fn of<'a>(
        plan: &Plan,
        stage: &Stage,
        session: Option<String>,
        fingerprint: impl Fn(usize) -> Option<&'a str>,
    ) -> Self {
        let mut dependencies: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (named, place) in named_dependencies(plan, stage) {
            let fingerprints = dependencies.entry(named.template.clone()).or_default();
            fingerprints.extend(fingerprint(place).map(str::to_owned));
        }
        Self { session, dependencies }
    }
}

/// The stages that count as a whole, with their places. What a cell knows of other cells is in the session.
pub(crate) fn named_dependencies<'a>(
    plan: &'a Plan,
    stage: &'a Stage,
) -> impl Iterator<Item = (&'a Stage, usize)> {
    let named = stage.named_dependencies.iter().filter_map(|place| Some((plan.stages.get(*place)?, *place)));
    named.filter(|(named, _)| stage.kind == Kind::Command || named.kind == Kind::Command)
}

/// `inputs` are the hashes of the stage's inputs, by name. Scripts and programs of the project that the command names count
/// with their contents as well. `python` is what the plan says of all cells.
pub fn of_stage(
    stage: &Stage,
    python: &Python,
    root: &Path,
    inputs: &[(String, String)],
    preceding: &Preceding,
) -> String {
    let basis = Basis {
        version: 1,
        // Which letter an instance has does not matter: what it is run for stands in its texts.
        stage: &stage.template,
        command: &stage.command,
        verify: stage.verify.as_ref(),
        environment: &stage.environment,
        directory: &stage.directory,
        outputs: stage.outputs.iter().map(|output| output.path.as_str()).collect(),
        inputs,
        scripts: scripts(stage, root),
        dependencies: &preceding.dependencies,
        kernel: (stage.kind == Kind::Python).then_some(KernelBasis {
            kind: "python",
            interpreter: python.interpreter.as_deref(),
            seed: python.seed,
            variables: python.saves_variables,
            session: preceding.session.as_deref(),
        }),
    };
    // Strings and paths from a text are always JSON.
    hash::of_bytes(&serde_json::to_vec(&basis).unwrap_or_default())
}

/// The scripts and programs of the project that a stage names, each with its hash.
pub(crate) fn scripts(stage: &Stage, root: &Path) -> Vec<(String, String)> {
    let directory = root.join(&stage.directory);
    let mut scripts = match stage.kind {
        Kind::Command => named_files(&stage.command, root, &directory),
        // The file of a cell is named from the root, wherever the cell is run.
        Kind::Python => named_files(&stage.command, root, root),
    };
    if let Some(verify) = &stage.verify {
        scripts.extend(named_files(verify, root, &directory));
    }
    scripts
}

/// What the session is known by after an accepted attempt of a Python stage. Another attempt may have left other variables,
/// although its fingerprint is the same.
pub(crate) fn of_session(fingerprint: &str, run: &str, attempt: u32) -> String {
    hash::of_bytes(format!("{fingerprint} {run} {attempt}").as_bytes())
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
        is_script.then(|| of_file(&path).ok()).flatten()
    };
    words.into_iter().filter_map(|word| Some((word.to_owned(), hashed(word)?))).collect()
}

fn of_file(path: &Path) -> io::Result<String> {
    Ok(hash::of_file(&open_regular(path)?)?.sha256)
}

/// A file to read that has an end. Callers name it in their own sentence, so that the error need not.
pub fn open_regular(path: &Path) -> io::Result<File> {
    regular_file::open(path, Links::Follow).map_err(|error| match error {
        FileError::NotAFile { .. } => io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"),
        FileError::NotFound { .. } => io::ErrorKind::NotFound.into(),
        FileError::Failed { source, .. } => source,
        other => other.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    fn fingerprint(root: &Path, python: &str, stage: &str) -> String {
        let text = format!(
            "title = \"t\"\n[python]\n{python}\n[[stage]]\nstageId = \"S01_do_work\"\ngoal = \"Do the work\"\n{stage}\n"
        );
        let plan = Plan::read("plan.toml", &text, root).unwrap();
        of_stage(plan.stages.first().unwrap(), &plan.python, root, &[], &Preceding::default())
    }

    /// What decides what a cell does makes it another one.
    #[test]
    fn kind_and_kernel_are_part_of_what_a_stage_is() {
        let root = tempfile::tempdir().unwrap();
        let of = |python: &str, stage: &str| fingerprint(root.path(), python, stage);
        let cell = "kind = \"python\"\ncommand = 'true'";
        let all = [
            of("", "command = 'true'"),
            of("", cell),
            of("seed = 1", cell),
            of("seed = 2", cell),
            of("variables = false", cell),
            of("interpreter = \"python3\"", cell),
        ];
        let different: BTreeSet<&String> = all.iter().collect();
        assert_eq!(different.len(), all.len(), "{all:?}");
        assert_eq!(
            of("seed = 1", "command = 'true'"),
            of("seed = 2", "command = 'true'"),
            "a command has no kernel"
        );
        assert_eq!(of("", cell), of("", &format!("{cell}\nmaxDurationSec = 9")), "limits do not matter");
    }

    /// The file is named from the root, also where the cell is run in another folder.
    #[test]
    fn the_file_of_a_cell_counts_with_its_content() {
        let root = tempfile::tempdir().unwrap();
        fs_err::create_dir(root.path().join("stages")).unwrap();
        let file = root.path().join("stages/one.py");
        let stage = "kind = \"python\"\ncommand = [\"stages/one.py\"]\ndirectory = \"stages\"";
        fs_err::write(&file, "1").unwrap();
        let before = fingerprint(root.path(), "", stage);
        fs_err::write(&file, "2").unwrap();
        assert_ne!(fingerprint(root.path(), "", stage), before);
    }
}
