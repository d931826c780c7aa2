//! The project's Python: which one a run uses, what it has installed, and what has changed since a checkpoint (R13).
//!
//! The search, first found wins:
//! 1. what the user named: an interpreter's path, or the name of a Jupyter kernelspec;
//! 2. the virtual environment that is active (`VIRTUAL_ENV`);
//! 3. the environment that uv made for the project, where there is a `uv.lock`;
//! 4. `.venv` and `venv` in the project;
//! 5. the conda environment that is active (`CONDA_PREFIX`);
//! 6. the kernelspec `python3`;
//! 7. `python3` in `PATH`.
//!
//! The one found is used or refused, never passed over: a run in another Python than the project's would be a surprise.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use checkpoint::manifest;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::json::{at, text};
use crate::{Kernel, KernelError};

/// Python code that says what it runs in, in `RESULT`.
const DESCRIBE: &str = include_str!("python_environment/describe.py");
const IMPORTS: &str = include_str!("python_environment/imports.py");

/// The key of a manifest's environment that has the modules which the session knew by a name.
pub(crate) const IMPORTS_KEY: &str = "imports";

#[derive(Debug, thiserror::Error)]
pub enum FindError {
    #[error(
        "`{wanted}` is neither a Python interpreter nor a Jupyter kernelspec: give the path of one, or install it"
    )]
    Wanted { wanted: String },
    #[error("the kernelspec `{}` cannot be read", path.display())]
    Kernelspec { path: PathBuf, source: std::io::Error },
    #[error("the kernelspec `{}` is damaged", path.display())]
    KernelspecJson { path: PathBuf, source: serde_json::Error },
    #[error("the kernelspec `{}` is for {language}: name one for Python", path.display())]
    Language { path: PathBuf, language: String },
    #[error("{what} `{}` has no `bin/python` that can be run: create it again, or name another Python in the plan (`interpreter`)", folder.display())]
    NoPython { what: &'static str, folder: PathBuf },
    #[error(
        "the project has a `uv.lock`, and its environment `{}` does not exist yet: create it with `uv sync`, or name another \
         Python in the plan (`interpreter`)",
        folder.display()
    )]
    NoUvEnvironment { folder: PathBuf },
    #[error(
        "there is no Python here: create an environment with `python3 -m venv .venv`, and install ipykernel with \
         `.venv/bin/python -m pip install ipykernel`"
    )]
    Nothing,
}

/// What the program knows of its environment; nothing is read from it here.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// An interpreter or a kernelspec that the user named.
    pub wanted: Option<String>,
    pub virtual_env: Option<PathBuf>,
    pub conda_prefix: Option<PathBuf>,
    /// Where uv keeps a project's environment, if not in `.venv`.
    pub uv_project_environment: Option<PathBuf>,
    /// The value of `PATH`.
    pub path: OsString,
    /// Folders that hold `kernels/NAME/kernel.json`, in Jupyter's order.
    pub jupyter: Vec<PathBuf>,
}

impl Surroundings {
    /// From the environment that the caller gives to stages.
    pub fn of(environment: &[(OsString, OsString)], wanted: Option<&str>) -> Self {
        let get = |name: &str| environment.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        let folder = |name: &str| get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folders =
            |name: &str| get(name).map(|paths| std::env::split_paths(paths).collect()).unwrap_or_default();
        let mut jupyter: Vec<PathBuf> = folders("JUPYTER_PATH");
        let data = folder("XDG_DATA_HOME").or_else(|| Some(folder("HOME")?.join(".local/share")));
        jupyter.extend(folder("JUPYTER_DATA_DIR").or_else(|| Some(data?.join("jupyter"))));
        jupyter.extend(["/usr/local/share/jupyter", "/usr/share/jupyter"].map(PathBuf::from));
        Self {
            wanted: wanted.map(str::to_owned),
            virtual_env: folder("VIRTUAL_ENV"),
            conda_prefix: folder("CONDA_PREFIX"),
            uv_project_environment: folder("UV_PROJECT_ENVIRONMENT"),
            path: get("PATH").cloned().unwrap_or_default(),
            jupyter,
        }
    }
}

/// How to start the kernel of the Python that was found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FoundPython {
    /// With `{connection_file}` in it.
    pub argv: Vec<OsString>,
    pub environment: Vec<(OsString, OsString)>,
    /// For people: where it comes from.
    pub origin: String,
    /// For people: the command that installs packages there, without their names.
    install: String,
}

impl FoundPython {
    /// The command that installs packages there.
    pub fn install(&self, packages: &str) -> String {
        format!("{} {packages}", self.install)
    }

    /// What to install where its kernel could not be started because it has none.
    pub fn remedy(&self, error: &KernelError) -> Option<String> {
        match error {
            // Python's own words for `-m` with a module that it does not have.
            KernelError::EndedEarly { said, .. } if said.contains("No module named ipykernel") => {
                Some(format!(
                    "`{}` ({}) has no ipykernel: install it with `{}`",
                    self.argv.first().map(|program| program.to_string_lossy()).unwrap_or_default(),
                    self.origin,
                    self.install("ipykernel")
                ))
            }
            _ => None,
        }
    }
}

pub fn find(root: &Path, surroundings: &Surroundings) -> Result<FoundPython, FindError> {
    if let Some(wanted) = &surroundings.wanted {
        let path = root.join(wanted);
        if is_program(&path) {
            return Ok(interpreter(&path, "named in the plan"));
        }
        let spec = kernelspec(wanted, surroundings)?;
        return spec.ok_or_else(|| FindError::Wanted { wanted: wanted.clone() });
    }
    if let Some(folder) = &surroundings.virtual_env {
        let what = "the active virtual environment";
        return Ok(interpreter(&python_in(what, folder)?, what));
    }
    // Not by `uv run`, which would stand between us and the kernel, and fetch packages in the middle of a run.
    let locked = root.join("uv.lock").is_file().then(|| {
        root.join(surroundings.uv_project_environment.as_deref().unwrap_or_else(|| Path::new(".venv")))
    });
    if let Some(folder) = locked.as_deref().filter(|folder| folder.join("pyvenv.cfg").is_file()) {
        let found = interpreter(&python_in("uv's environment", folder)?, "the project's environment of uv");
        return Ok(FoundPython { install: "uv add --dev".to_owned(), ..found });
    }
    for name in [".venv", "venv"] {
        let folder = root.join(name);
        if folder.join("pyvenv.cfg").is_file() || is_program(&folder.join("bin/python")) {
            let python = python_in("the virtual environment", &folder)?;
            let found = interpreter(&python, &format!("the project's `{name}`"));
            // Those of uv have no pip.
            let made_by = fs_err::read_to_string(folder.join("pyvenv.cfg")).unwrap_or_default();
            return Ok(match made_by.lines().any(|line| line.starts_with("uv =")) {
                true => {
                    let install = format!("uv pip install --python {}", python.display());
                    FoundPython { install, ..found }
                }
                false => found,
            });
        }
    }
    if let Some(folder) = locked {
        return Err(FindError::NoUvEnvironment { folder });
    }
    if let Some(folder) = &surroundings.conda_prefix {
        let what = "the active conda environment";
        return Ok(interpreter(&python_in(what, folder)?, what));
    }
    if let Some(found) = kernelspec("python3", surroundings)? {
        return Ok(found);
    }
    let python = files::find_program("python3".as_ref(), &surroundings.path);
    let found = interpreter(&python.ok_or(FindError::Nothing)?, "found in `PATH`");
    // Systems do not like packages to be installed into their own Python.
    let install = "python3 -m venv .venv && .venv/bin/python -m pip install".to_owned();
    Ok(FoundPython { install, ..found })
}

fn python_in(what: &'static str, folder: &Path) -> Result<PathBuf, FindError> {
    let python = Some(folder.join("bin/python")).filter(|path| is_program(path));
    python.ok_or_else(|| FindError::NoPython { what, folder: folder.to_owned() })
}

/// Whether it has ipykernel is seen when its kernel is started: to ask before would cost a start of Python every time.
fn interpreter(python: &Path, origin: &str) -> FoundPython {
    let words = ["-m", "ipykernel_launcher", "-f", "{connection_file}"].map(OsString::from);
    FoundPython {
        argv: std::iter::once(python.into()).chain(words).collect(),
        environment: Vec::new(),
        origin: origin.to_owned(),
        install: format!("{} -m pip install", python.display()),
    }
}

#[derive(Deserialize)]
struct Kernelspec {
    argv: Vec<String>,
    #[serde(default)]
    language: String,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

fn kernelspec(name: &str, surroundings: &Surroundings) -> Result<Option<FoundPython>, FindError> {
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if !is_name || name.starts_with('.') {
        return Ok(None);
    }
    for folder in &surroundings.jupyter {
        let folder = folder.join("kernels").join(name);
        let path = folder.join("kernel.json");
        if !path.is_file() {
            continue;
        }
        let text =
            fs_err::read(&path).map_err(|source| FindError::Kernelspec { path: path.clone(), source })?;
        let spec: Kernelspec = serde_json::from_slice(&text)
            .map_err(|source| FindError::KernelspecJson { path: path.clone(), source })?;
        if !spec.language.eq_ignore_ascii_case("python") {
            return Err(FindError::Language { path, language: spec.language });
        }
        let fill = |text: String| text.replace("{resource_dir}", &folder.to_string_lossy()).into();
        let program = spec.argv.first().map_or("python3", String::as_str);
        return Ok(Some(FoundPython {
            install: format!("{program} -m pip install"),
            argv: spec.argv.into_iter().map(fill).collect(),
            environment: spec.env.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            origin: format!("the kernelspec `{name}`"),
        }));
    }
    Ok(None)
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs_err::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// What a kernel runs in, as manifests have it; `seeds` are what the run gave to the random generators.
pub fn describe(
    kernel: &mut Kernel,
    seeds: &[(&str, u64)],
) -> Result<manifest::PythonEnvironment, KernelError> {
    let said = kernel.run_apart(DESCRIBE, &[], Duration::from_secs(30))?;
    let packages = at(&said, "packages").as_array().into_iter().flatten();
    let seeds: Map<String, Value> =
        seeds.iter().map(|(name, seed)| ((*name).to_owned(), json!(seed))).collect();
    Ok(manifest::PythonEnvironment {
        python_path: text(&said, "python").to_owned(),
        packages: packages.filter_map(Value::as_str).map(str::to_owned).collect(),
        platform: text(&said, "platform").to_owned(),
        random_seeds: Some(seeds).filter(|seeds| !seeds.is_empty()),
        unknown: Map::from_iter([("pythonVersion".to_owned(), at(&said, "version").clone())]),
    })
}

/// Notes which modules the session knows by a name: stages are used to having them, so that a rehydrated session has to
/// have them too.
pub fn note_imports(
    kernel: &mut Kernel,
    environment: &mut manifest::PythonEnvironment,
) -> Result<(), KernelError> {
    let imports = kernel.run_apart(IMPORTS, &[], Duration::from_secs(30))?;
    environment.unknown.insert(IMPORTS_KEY.to_owned(), imports);
    Ok(())
}

/// What changed since a checkpoint, a sentence each, in a stable order. What is not known of either is no difference.
pub fn drift(then: &manifest::PythonEnvironment, now: &manifest::PythonEnvironment) -> Vec<String> {
    let program = |environment: &manifest::PythonEnvironment| match environment.python_path.as_str() {
        "" | manifest::NONE => String::new(),
        path => format!("`{path}`"),
    };
    let version = |environment: &manifest::PythonEnvironment| {
        environment.unknown.get("pythonVersion").and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let (before, after) = (by_name(&then.packages), by_name(&now.packages));
    let mut drift: Vec<String> = [
        ("the interpreter", program(then), program(now)),
        ("Python", version(then), version(now)),
        ("the platform", then.platform.clone(), now.platform.clone()),
    ]
    .into_iter()
    .filter(|(_, then, now)| !then.is_empty() && !now.is_empty() && then != now)
    .map(|(what, then, now)| format!("{what} was {then} and is {now} now"))
    .collect();
    for (name, (package, then)) in &before {
        match after.get(name) {
            Some((_, now)) if now == then => {}
            Some((_, now)) => drift.push(format!("`{package}` was {then} and is {now} now")),
            None => drift.push(format!("`{package}` {then} is gone")),
        }
    }
    for (name, (package, now)) in &after {
        if !before.is_empty() && !before.contains_key(name) {
            drift.push(format!("`{package}` {now} is new"));
        }
    }
    drift
}

/// Names of packages are the same in any case, and with `-`, `_` and `.` alike.
fn by_name(packages: &[String]) -> BTreeMap<String, (String, String)> {
    let parts = packages.iter().map(|package| package.split_once("==").unwrap_or((package, "")));
    parts
        .map(|(name, version)| {
            (name.to_ascii_lowercase().replace(['-', '.'], "_"), (name.to_owned(), version.to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(packages: &[&str]) -> manifest::PythonEnvironment {
        manifest::PythonEnvironment {
            python_path: "/v/bin/python".to_owned(),
            packages: packages.iter().map(|package| (*package).to_owned()).collect(),
            platform: "linux".to_owned(),
            ..manifest::PythonEnvironment::default()
        }
    }

    /// R13
    #[test]
    fn drift_names_what_changed() {
        let then = environment(&["pandas==2.0.0", "numpy==1.24.0", "typing_extensions==4.0", "gone==1"]);
        let mut now = environment(&["pandas==3.1.1", "numpy==1.24.0", "Typing-Extensions==4.0", "new==2"]);
        now.python_path = "/w/bin/python".to_owned();
        assert_eq!(
            drift(&then, &now),
            [
                "the interpreter was `/v/bin/python` and is `/w/bin/python` now",
                "`gone` 1 is gone",
                "`pandas` was 2.0.0 and is 3.1.1 now",
                "`new` 2 is new",
            ]
        );
        assert_eq!(drift(&then, &then), Vec::<String>::new());
    }

    #[test]
    fn a_checkpoint_that_says_nothing_of_packages_has_not_drifted() {
        assert_eq!(drift(&environment(&[]), &environment(&["pandas==3"])), Vec::<String>::new());
    }
}
