//! What a plan needs of the machine it is run on, as far as that can be seen before anything runs: the programs of its
//! commands, and the modules that its Python stages and scripts import.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use files::{BoundedChild, Bounds, Links, regular_file};
use serde::Serialize;

use crate::plan::{Kind, Plan, Program, Stage};

const IMPORTS: &str = include_str!("needs/imports.py");
/// Python itself starts in well under a second; with a cold disk it may take some.
const LIMIT: Duration = Duration::from_secs(20);
const LARGEST_SCRIPT: u64 = 1 << 20;

/// Modules whose package has another name.
const PACKAGES: &[(&str, &str)] = &[
    ("PIL", "pillow"),
    ("bs4", "beautifulsoup4"),
    ("cv2", "opencv-python"),
    ("dateutil", "python-dateutil"),
    ("skimage", "scikit-image"),
    ("sklearn", "scikit-learn"),
    ("yaml", "pyyaml"),
];

/// Something that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// A sentence that names it and the stages.
    pub what: String,
    /// The command that installs it, where there is one.
    pub install: Option<String>,
}

/// Python code of a stage, and the folder that it can import from.
#[derive(Clone, Debug, Serialize)]
struct Source {
    #[serde(skip)]
    stage: String,
    code: String,
    folder: PathBuf,
}

/// `environment` is what the stages are given.
pub fn missing(plan: &Plan, root: &Path, environment: &[(OsString, OsString)]) -> Vec<Missing> {
    let search_path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let mut missing = Vec::new();
    let mut programs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut scripts: BTreeMap<PathBuf, Vec<Source>> = BTreeMap::new();
    for stage in plan.stages.iter().filter(|stage| stage.kind == Kind::Command) {
        let Program::Words(words) = &stage.command else { continue };
        let Some((program, arguments)) = words.split_first() else { continue };
        match found(program, &root.join(&stage.directory), search_path) {
            Some(path) => {
                let source = script(stage, &path, arguments, root);
                scripts.entry(path).or_default().extend(source);
            }
            None => programs.entry(program.clone()).or_default().push(stage.template.clone()),
        }
    }
    for (program, mut stages) in programs {
        stages.dedup();
        let what = format!("there is no program `{program}`, which {} would run", text::listed(stages));
        missing.push(Missing { what, install: None });
    }
    for (python, sources) in scripts.into_iter().filter(|(_, sources)| !sources.is_empty()) {
        let install = |packages: &str| installing(&python, packages);
        missing.extend(missing_modules(&python, &sources, environment, &install));
    }
    #[cfg(feature = "python")]
    missing.extend(missing_in_kernel(plan, root, environment));
    missing
}

/// As the system finds it: by name in `PATH`, or by a path from the folder that the stage runs in.
fn found(program: &str, folder: &Path, search_path: Option<&OsStr>) -> Option<PathBuf> {
    match program.contains('/') {
        true => Some(folder.join(program)).filter(|path| path.is_file()),
        false => files::find_program(program.as_ref(), search_path?),
    }
}

/// The script that a Python is started with.
fn script(stage: &Stage, program: &Path, arguments: &[String], root: &Path) -> Option<Source> {
    let is_python = program.file_name()?.to_str()?.starts_with("python");
    let path = arguments.first().filter(|path| is_python && path.ends_with(".py"))?;
    let path = root.join(&stage.directory).join(path);
    let code = regular_file::read(&path, Links::Follow, LARGEST_SCRIPT).ok()?;
    Some(Source {
        stage: stage.template.clone(),
        code: String::from_utf8(code).ok()?,
        folder: path.parent()?.to_owned(),
    })
}

/// How packages come into a Python that is not the project's by name.
fn installing(python: &Path, packages: &str) -> String {
    let is_own =
        python.parent().and_then(Path::parent).is_some_and(|folder| folder.join("pyvenv.cfg").is_file());
    match is_own {
        true => format!("{} -m pip install {packages}", python.display()),
        // Systems do not like packages to be installed into their own Python.
        false => {
            format!("python3 -m venv .venv && . .venv/bin/activate && python3 -m pip install {packages}")
        }
    }
}

#[cfg(feature = "python")]
fn missing_in_kernel(plan: &Plan, root: &Path, environment: &[(OsString, OsString)]) -> Option<Missing> {
    use kernel::python_environment::{self, Surroundings};

    let cells: Vec<&Stage> = plan.stages.iter().filter(|stage| stage.kind == Kind::Python).collect();
    let first = cells.first()?;
    let surroundings = Surroundings::of(environment, plan.python.interpreter.as_deref());
    let python = match python_environment::find(root, &surroundings) {
        Ok(python) => python,
        Err(error) => return Some(Missing { what: text::error_chain(&error), install: None }),
    };
    let code = |stage: &Stage| match &stage.command {
        Program::Shell(code) => Some(code.clone()),
        Program::Words(words) => {
            let file = regular_file::read(&root.join(words.first()?), Links::Follow, LARGEST_SCRIPT).ok()?;
            String::from_utf8(file).ok()
        }
    };
    let source = |stage: &Stage, code: String| Source {
        stage: stage.template.clone(),
        code,
        folder: root.join(&stage.directory),
    };
    let mut sources = vec![source(first, "import ipykernel".to_owned())];
    sources.extend(cells.iter().filter_map(|stage| Some(source(stage, code(stage)?))));
    let install = |packages: &str| python.install(packages);
    missing_modules(Path::new(python.argv.first()?), &sources, environment, &install)
}

fn package(module: &str) -> &str {
    PACKAGES.iter().find(|(known, _)| *known == module).map_or(module, |(_, name)| name)
}

/// One sentence about all modules that a Python does not have. One that does not answer is not complained about: its run will.
fn missing_modules(
    python: &Path,
    sources: &[Source],
    environment: &[(OsString, OsString)],
    install: &dyn Fn(&str) -> String,
) -> Option<Missing> {
    let mut command = Command::new(python);
    command.args(["-c", IMPORTS]).env_clear().envs(environment.iter().map(|(name, value)| (name, value)));
    let input = serde_json::to_vec(sources).ok()?;
    let ended = BoundedChild::run(&mut command, &input, Bounds::within(LIMIT)).ok()?;
    let answer: Vec<Vec<String>> = serde_json::from_slice(&ended.stdout).ok()?;
    let mut stages: Vec<&str> = Vec::new();
    let mut modules: Vec<&str> = Vec::new();
    for (source, of_source) in sources.iter().zip(&answer).filter(|(_, of_source)| !of_source.is_empty()) {
        stages.push(&source.stage);
        for module in of_source {
            if !modules.contains(&module.as_str()) {
                modules.push(module);
            }
        }
    }
    stages.dedup();
    if modules.is_empty() {
        return None;
    }
    let packages: Vec<&str> = modules.iter().map(|module| package(module)).collect();
    let what = format!(
        "`{}` has no {}, which {} would import",
        python.display(),
        text::listed(&modules),
        text::listed(stages)
    );
    Some(Missing { what, install: Some(install(&packages.join(" "))) })
}
