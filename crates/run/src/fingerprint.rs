//! Whether a stage would do today what it did then: a hash over what it runs and over the contents of what it reads.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::path::Path;

use checkpoint::hash;
use files::{FileError, Links, regular_file};
use serde::{Deserialize, Serialize};

use crate::plan::{Kind, Plan, Program, Python, Stage};
#[cfg(feature = "planted-faults")]
use crate::planted_fault;
use crate::planted_fault::{Oversight, overlooks};
use crate::project_code::StageCode;

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
    scripts: &'a [(String, String)],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    modules: &'a BTreeMap<String, String>,
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
    /// What the stages that it names in `dependencies` are known by, by their ids in the plan. What an attempt of them leaves
    /// besides its outputs is seen by nobody, so that each counts as a whole.
    pub dependencies: BTreeMap<String, BTreeSet<String>>,
}

impl Preceding {
    /// `known_by` is what a stage, by its place, is known by.
    pub fn of<'a>(
        plan: &Plan,
        stage: &Stage,
        session: Option<String>,
        known_by: impl Fn(usize) -> Option<&'a str>,
    ) -> Self {
        let mut dependencies: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (named, place) in named_dependencies(plan, stage) {
            dependencies
                .entry(named.template.clone())
                .or_default()
                .extend(known_by(place).map(str::to_owned));
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

/// `inputs` are the hashes of the stage's inputs, by name. `code` is what the command runs of the project, `python` what the plan
/// says of all cells.
pub fn of_stage(
    stage: &Stage,
    python: &Python,
    code: &StageCode,
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
        scripts: &code.scripts,
        modules: &code.modules,
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
    hash::of_bytes(&basis.written().unwrap_or_default())
}

impl Basis<'_> {
    #[cfg(not(feature = "planted-faults"))]
    fn written(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }

    #[cfg(feature = "planted-faults")]
    fn written(&self) -> serde_json::Result<Vec<u8>> {
        let mut parts = serde_json::to_value(self)?;
        if let (Some(left_out), Some(parts)) = (planted_fault::part_left_out(), parts.as_object_mut()) {
            parts.shift_remove(left_out);
        }
        serde_json::to_vec(&parts)
    }
}

/// What a fingerprint is made of, by the names that the parts have there.
#[cfg(feature = "planted-faults")]
pub(crate) fn part_names() -> Vec<String> {
    let (nothing, one) = (Program::Words(Vec::new()), BTreeMap::from([Default::default()]));
    // A part that may be absent is there.
    let whole = Basis {
        version: 1,
        stage: "",
        command: &nothing,
        verify: Some(&nothing),
        environment: &[],
        directory: Path::new(""),
        outputs: Vec::new(),
        inputs: &[],
        scripts: &[],
        modules: &one,
        dependencies: &BTreeMap::from([Default::default()]),
        kernel: Some(KernelBasis {
            kind: "",
            interpreter: Some(""),
            seed: Some(0),
            variables: true,
            session: Some(""),
        }),
    };
    let parts = serde_json::to_value(&whole).unwrap_or_default();
    parts.as_object().into_iter().flat_map(|parts| parts.keys().cloned()).collect()
}

/// What an accepted attempt is known by. Another one may have left other variables or other files, although its fingerprint is the
/// same.
pub(crate) fn of_attempt(fingerprint: &str, run: &str, attempt: u32) -> String {
    if overlooks(Oversight::Attempt) {
        return fingerprint.to_owned();
    }
    hash::of_bytes(format!("{fingerprint} {run} {attempt}").as_bytes())
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
    use std::sync::Arc;

    use super::*;
    use crate::plan::Plan;
    use crate::project_code::ProjectCode;

    fn fingerprint(root: &Path, python: &str, stage: &str) -> String {
        let text = format!(
            "title = \"t\"\n[python]\n{python}\n[[stage]]\nstageId = \"S01_do_work\"\ngoal = \"Do the work\"\n{stage}\n"
        );
        let plan = Plan::read("plan.toml", &text, root).unwrap();
        let stage = plan.stages.first().unwrap();
        let code = ProjectCode::new(root, Arc::default()).of_stage(stage);
        of_stage(stage, &plan.python, &code, &[], &Preceding::default())
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
