//! What a plan needs of the machine it is run on, as far as that can be seen before anything runs: the programs of its
//! commands, and the modules that its Python stages and scripts import.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use checkpoint::layout::REPORTS;
use files::{BoundedChild, Bounds, Links, regular_file};
use serde::{Deserialize, Serialize};

use crate::plan::{Kind, Place, Plan, Problem, Problems, Program, Stage};
use crate::project_code;

const IMPORTS: &str = include_str!("needs/imports.py");
/// Python itself starts in well under a second; with a cold disk it may take some.
const LIMIT: Duration = Duration::from_secs(20);
const LARGEST_SCRIPT: u64 = 1 << 20;
/// A module of the project is looked for in so many folders of it.
const MOST_FOLDERS: usize = 1000;

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

/// What keeps a plan from running here.
#[derive(Debug)]
pub struct Needs {
    /// Mistakes in the plan and in its code, each with its place.
    pub mistakes: Problems,
    pub missing: Vec<Missing>,
}

/// Something that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// A sentence that names it and the stages.
    pub what: String,
    /// What to do about it, where that is known.
    pub hint: Option<String>,
}

/// Python code of a stage, and the folder that it can import from.
#[derive(Clone, Debug, Serialize)]
struct Source {
    #[serde(skip)]
    stage: String,
    /// The file that has it, below the root; the plan itself if there is none.
    #[serde(skip)]
    file: Option<String>,
    code: String,
    folder: PathBuf,
    is_cell: bool,
}

/// What Python says of it.
#[derive(Debug, Deserialize)]
struct Answer {
    missing: Vec<String>,
    error: Option<CodeError>,
}

#[derive(Debug, Deserialize)]
struct CodeError {
    line: usize,
    message: String,
}

/// `environment` is what the stages are given.
pub fn look(plan: &Plan, root: &Path, environment: &[(OsString, OsString)]) -> Needs {
    let search_path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let mut looked =
        Inspection { plan, root, environment, mistakes: plan.mistyped_placeholders(), missing: Vec::new() };
    let mut programs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut scripts: BTreeMap<PathBuf, Vec<Source>> = BTreeMap::new();
    for stage in plan.stages.iter().filter(|stage| stage.kind == Kind::Command) {
        looked.mistakes.extend(missing_script(plan, stage, root));
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
        looked.missing.push(Missing { what, hint: None });
    }
    for (python, sources) in scripts.into_iter().filter(|(_, sources)| !sources.is_empty()) {
        looked.ask(&python, &sources, &|packages| installing(&python, packages));
    }
    #[cfg(feature = "python")]
    looked.ask_kernel();
    let mut mistakes = Problems::sorted(looked.mistakes);
    // All instances of a stage have the same.
    mistakes.0.dedup();
    Needs { mistakes, missing: looked.missing }
}

/// A script that an interpreter is started with, and that nobody has made. What a stage names in `dependencies` may make it.
fn missing_script(plan: &Plan, stage: &Stage, root: &Path) -> Option<Problem> {
    if !stage.named_dependencies.is_empty() {
        return None;
    }
    let words = project_code::words(&stage.command);
    // The table of what runs the scripts of a language reads first lines.
    let is_interpreter = |word: &str| contents::script_ending("", &format!("#!{word}")).is_some();
    let is_named_once = |script: &str| words.iter().filter(|word| **word == script).count() == 1;
    let is_script = |script: &str| {
        script.contains('.')
            && !script.starts_with('-')
            && !script.contains(['$', '*', '{'])
            && is_named_once(script)
    };
    let folder = root.join(&stage.directory);
    // Where a text for the shell goes is followed by nobody here.
    let goes_elsewhere = matches!(stage.command, Program::Shell(_)) && words.contains(&"cd");
    let pairs = words.iter().zip(words.iter().skip(1)).filter(|_| !goes_elsewhere);
    let mut missing = pairs.filter(|(program, script)| {
        is_interpreter(program) && is_script(script) && !folder.join(script).exists()
    });
    let (_, script) = missing.next()?;
    let message = format!("there is no `{script}`, which `{}` would run", stage.template);
    Some(plan.command_place(&stage.template).problem(message))
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
    let file = stage.directory.join(path);
    let path = root.join(&file);
    let code = regular_file::read(&path, Links::Follow, LARGEST_SCRIPT).ok()?;
    Some(Source {
        stage: stage.template.clone(),
        file: Some(file.to_str()?.to_owned()),
        code: String::from_utf8(code).ok()?,
        folder: path.parent()?.to_owned(),
        is_cell: false,
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

fn package(module: &str) -> &str {
    PACKAGES.iter().find(|(known, _)| *known == module).map_or(module, |(_, name)| name)
}

/// A plan, and what was found so far.
struct Inspection<'a> {
    plan: &'a Plan,
    root: &'a Path,
    environment: &'a [(OsString, OsString)],
    mistakes: Vec<Problem>,
    missing: Vec<Missing>,
}

impl Inspection<'_> {
    #[cfg(feature = "python")]
    fn ask_kernel(&mut self) {
        use kernel::python_environment::{self, Surroundings};

        let Self { plan, root, environment, .. } = *self;
        let cells = plan.stages.iter().filter(|stage| stage.kind == Kind::Python);
        let cells: Vec<Source> = cells.filter_map(|stage| cell(stage, root)).collect();
        let Some(first) = cells.first() else { return };
        let surroundings = Surroundings::of(environment, plan.python.interpreter.as_deref());
        let python = match python_environment::find(root, &surroundings) {
            Ok(python) => python,
            Err(error) => {
                return self.missing.push(Missing { what: text::error_chain(&error), hint: None });
            }
        };
        let kernel = Source { code: "import ipykernel".to_owned(), ..first.clone() };
        let sources: Vec<Source> = [kernel].into_iter().chain(cells).collect();
        if let Some(program) = python.argv.first() {
            self.ask(Path::new(program), &sources, &|packages| python.install(packages));
        }
    }

    /// One that does not answer is not complained about: its run will.
    fn ask(&mut self, python: &Path, sources: &[Source], install: &dyn Fn(&str) -> String) {
        let Some(answers) = answers(python, sources, self.environment) else { return };
        let mut stages: Vec<&str> = Vec::new();
        let mut modules: Vec<&str> = Vec::new();
        for (source, Answer { missing, error }) in sources.iter().zip(&answers) {
            let mistake = error.as_ref().map(|error| self.mistake(source, error));
            self.mistakes.extend(mistake);
            for module in missing {
                if let Some(elsewhere) = misplaced(self.root, module) {
                    let told = self.told_of_misplaced(source, module, &elsewhere);
                    if !self.missing.contains(&told) {
                        self.missing.push(told);
                    }
                    continue;
                }
                stages.push(&source.stage);
                if !modules.contains(&module.as_str()) {
                    modules.push(module);
                }
            }
        }
        stages.dedup();
        if modules.is_empty() {
            return;
        }
        let packages: Vec<&str> = modules.iter().map(|module| package(module)).collect();
        let what = format!(
            "`{}` has no {}, which {} would import",
            python.display(),
            text::listed(&modules),
            text::listed(stages)
        );
        let hint = format!("install it: `{}`", install(&packages.join(" ")));
        self.missing.push(Missing { what, hint: Some(hint) });
    }

    fn mistake(&self, source: &Source, CodeError { line, message }: &CodeError) -> Problem {
        let place = match &source.file {
            Some(file) => Place { file: file.as_str().into(), line: *line, column: 1 },
            None => self.plan.cell_place(&source.stage, *line),
        };
        place.problem(format!("the code of `{}` is not valid Python: {message}", source.stage))
    }

    fn told_of_misplaced(&self, source: &Source, module: &str, elsewhere: &Path) -> Missing {
        let below = |path: &Path| match path.strip_prefix(self.root).unwrap_or(path).to_str() {
            Some("") | None => ".".to_owned(),
            Some(path) => path.to_owned(),
        };
        let (found, from) = (below(elsewhere), below(&source.folder));
        let folder = elsewhere.ancestors().nth(if found.ends_with("__init__.py") { 2 } else { 1 });
        let what = format!(
            "`{}` would import `{module}`, which is not found from `{from}`: it is `{found}`",
            source.stage
        );
        // Relative paths begin in the folder that the stage runs in.
        let up = source.folder.strip_prefix(self.root).map_or(0, |inner| inner.components().count());
        let up = if source.is_cell { "../".repeat(up) } else { String::new() };
        let hint = folder
            .map(|folder| format!("add `environment = {{ PYTHONPATH = \"{up}{}\" }}` to it", below(folder)));
        Missing { what, hint }
    }
}

/// The code of a Python stage.
#[cfg(feature = "python")]
fn cell(stage: &Stage, root: &Path) -> Option<Source> {
    let (file, code) = match &stage.command {
        Program::Shell(code) => (None, code.clone()),
        Program::Words(words) => {
            let file = words.first()?;
            let code = regular_file::read(&root.join(file), Links::Follow, LARGEST_SCRIPT).ok()?;
            (Some(file.clone()), String::from_utf8(code).ok()?)
        }
    };
    let folder = root.join(&stage.directory);
    Some(Source { stage: stage.template.clone(), file, code, folder, is_cell: true })
}

fn answers(python: &Path, sources: &[Source], environment: &[(OsString, OsString)]) -> Option<Vec<Answer>> {
    let mut command = Command::new(python);
    command.args(["-c", IMPORTS]).env_clear().envs(environment.iter().map(|(name, value)| (name, value)));
    let input = serde_json::to_vec(sources).ok()?;
    let ended = BoundedChild::run(&mut command, &input, Bounds::within(LIMIT)).ok()?;
    serde_json::from_slice(&ended.stdout).ok()
}

/// Where the project has a module of this name, in a folder that Python does not look into.
fn misplaced(root: &Path, module: &str) -> Option<PathBuf> {
    let is_left_aside = |folder: &Path| {
        let name = folder.file_name().and_then(OsStr::to_str).unwrap_or_default();
        name.starts_with('.') || name == REPORTS || folder.join("pyvenv.cfg").exists()
    };
    let mut folders = VecDeque::from([root.to_owned()]);
    let mut looked_into = 0;
    while let Some(folder) = folders.pop_front().filter(|_| looked_into < MOST_FOLDERS) {
        looked_into += 1;
        let candidates = [folder.join(format!("{module}.py")), folder.join(module).join("__init__.py")];
        if let Some(found) = candidates.into_iter().find(|path| path.is_file()) {
            return Some(found);
        }
        let entries = fs_err::read_dir(&folder).into_iter().flatten().flatten();
        let inner = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let mut inner: Vec<PathBuf> = inner.map(|entry| entry.path()).collect();
        inner.retain(|folder| !is_left_aside(folder));
        inner.sort();
        folders.extend(inner);
    }
    None
}
