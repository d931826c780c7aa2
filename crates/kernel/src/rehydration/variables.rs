//! Variables that the kernel itself saved at a checkpoint (`with_vars`): the index of what it saved and what it could
//! not, and the lines that bring them back. The index is a file like any other, so nothing in it is trusted: names must be
//! identifiers, ways of loading are a closed list, and files must be among the checkpoint's artifacts.

use std::collections::BTreeSet;

use std::path::Path;
use std::time::Duration;

use checkpoint::layout::VARIABLES_FOLDER;
use checkpoint::manifest::Manifest;
use serde::Deserialize;

use super::{Loads, NUMPY, Pickles, RehydrationCell, Variable, WhyWithheld, WithheldArtifact, names};
use crate::python_literal::python_literal;
use crate::{Kernel, KernelError};

/// Run in the kernel with `FOLDER` set: saves what can be saved there, and writes the index last.
const SAVE_VARIABLES: &str = include_str!("save_variables.py");

#[derive(Debug, thiserror::Error)]
pub enum VariablesError {
    #[error("the kernel could not save its variables")]
    Kernel(#[source] KernelError),
    #[error("cannot read the index of saved variables")]
    Read(#[source] std::io::Error),
    #[error("the index of saved variables is damaged")]
    Parse(#[source] serde_json::Error),
}

/// What the kernel wrote into `checkstone-variables/index.json`.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq)]
pub struct SavedVariables {
    /// The index's own path, relative to the project's root; its files lie beside it.
    #[serde(skip)]
    pub index: String,
    pub saved: Vec<SavedVariable>,
    /// Modules that were imported under a name.
    pub modules: Vec<ImportedModule>,
    pub unsaved: Vec<UnsavedVariable>,
    /// Generators whose state is in `values.json`: `random`, `numpy`.
    #[serde(default)]
    pub generators: Vec<String>,
    /// What else of the process is in `values.json`: `environment`, `path`, `submodules`.
    #[serde(default)]
    pub surroundings: Vec<String>,
    /// What cells set in libraries, in `settings.pickle`.
    #[serde(default)]
    pub settings: Vec<String>,
    /// Arrays that share their memory with another one, and will not after a resume.
    #[serde(default)]
    pub copies: Vec<ArrayCopy>,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
pub struct ArrayCopy {
    pub name: String,
    pub of: String,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
pub struct SavedVariable {
    pub name: String,
    #[serde(rename = "as")]
    pub way: Way,
    /// The file's name; none for values, which share one file.
    #[serde(default)]
    pub file: String,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    Value,
    Npy,
    Parquet,
    Series,
    /// A file of its own, as version 1 of the index has it.
    Pickle,
    /// In the one pickle of the session.
    Session,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
pub struct ImportedModule {
    pub name: String,
    pub module: String,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
pub struct UnsavedVariable {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub why: String,
}

impl SavedVariables {
    /// Lets the kernel save its variables into `checkstone-variables` below the artifacts' folder, which is relative to the
    /// project's root, the folder that the kernel was started in.
    pub fn save(
        kernel: &mut Kernel,
        root: &Path,
        artifacts: &str,
        limit: Duration,
    ) -> Result<Self, VariablesError> {
        let folder = format!("{artifacts}/{VARIABLES_FOLDER}");
        let absolute = root.join(&folder);
        let given = [("FOLDER", absolute.to_str().unwrap_or(&folder))];
        kernel.run_apart(SAVE_VARIABLES, &given, limit).map_err(VariablesError::Kernel)?;
        Self::read(root, &format!("{folder}/index.json"))
    }

    /// `index` is the path relative to the project's root.
    pub fn read(root: &Path, index: &str) -> Result<Self, VariablesError> {
        let text = fs_err::read(root.join(index)).map_err(VariablesError::Read)?;
        let mut saved: Self = serde_json::from_slice(&text).map_err(VariablesError::Parse)?;
        saved.index = index.to_owned();
        Ok(saved)
    }

    /// The artifact that is the index to use, among a manifest's: that of its own stage, or else that of the last one
    /// before it.
    pub fn index_of(manifest: &Manifest) -> Option<&str> {
        let wanted = format!("/{VARIABLES_FOLDER}/index.json");
        let paths = || manifest.artifacts.iter().map(|artifact| artifact.relative_path.as_str());
        Self::index_among(manifest, &manifest.stage_id)
            .or_else(|| paths().rev().find(|path| path.ends_with(&wanted)))
    }

    /// That of the stage, where the manifest has it.
    pub fn index_among<'a>(manifest: &'a Manifest, stage: &str) -> Option<&'a str> {
        let wanted = format!("/{stage}/{VARIABLES_FOLDER}/index.json");
        let mut paths = manifest.artifacts.iter().map(|artifact| artifact.relative_path.as_str());
        paths.find(|path| path.ends_with(&wanted))
    }

    pub(super) fn names(&self) -> BTreeSet<String> {
        let saved = self.saved.iter().map(|saved| saved.name.clone());
        saved.chain(self.modules.iter().map(|module| module.name.clone())).collect()
    }
}

pub(super) fn load(
    saved: &SavedVariables,
    artifacts: &[&str],
    loads: &mut Loads,
    cell: &mut RehydrationCell,
) {
    let folder = saved.index.rsplit_once('/').map_or("", |(folder, _)| folder);
    let beside = |file: &str| format!("{folder}/{file}");
    let uses_values = saved.saved.iter().any(|saved| saved.way == Way::Value)
        || !saved.generators.is_empty()
        || !saved.surroundings.is_empty();
    let values = beside("values.json");
    let has_values = uses_values && artifacts.contains(&values.as_str());
    if has_values {
        loads.imports.extend(["import json", "import pathlib"]);
        loads.lines.push(format!(
            "_checkstone_values = json.loads(pathlib.Path({}).read_text(encoding=\"utf-8\"))",
            python_literal(&values)
        ));
    }
    // Where modules are found decides what can be loaded.
    for known in ["environment", "path"] {
        if has_values && loads.pickles == Pickles::Load && saved.surroundings.iter().any(|name| name == known)
        {
            load_surroundings(known, loads);
        }
    }
    let mut late = Vec::new();
    let mut has_session = false;
    for variable in &saved.saved {
        let path = if variable.way == Way::Value { values.clone() } else { beside(&variable.file) };
        let name = &variable.name;
        let target = if names::is_identifier(name) {
            name.clone()
        } else {
            format!("globals()[{}]", python_literal(name))
        };
        let why = if name.starts_with("__") {
            Some(WhyWithheld::PythonsOwnName)
        } else if !artifacts.contains(&path.as_str()) {
            Some(WhyWithheld::NotAnArtifact)
        } else if matches!(variable.way, Way::Pickle | Way::Session) && loads.pickles == Pickles::Withhold {
            Some(WhyWithheld::Unpickles)
        } else {
            None
        };
        if let Some(why) = why {
            cell.withheld.push(WithheldArtifact { path, what: format!("the variable `{name}`"), why });
            continue;
        }
        let literal = python_literal(&path);
        let line = match variable.way {
            Way::Value => format!("{target} = _checkstone_values[\"values\"][{}]", python_literal(name)),
            Way::Npy => {
                loads.imports.insert(NUMPY);
                format!("{target} = np.load({literal}, allow_pickle=False)")
            }
            Way::Parquet | Way::Series => {
                loads.imports.insert(super::PANDAS);
                let column = if variable.way == Way::Series { ".iloc[:, 0]" } else { "" };
                format!("{target} = pd.read_parquet({literal}){column}")
            }
            Way::Pickle => {
                loads.imports.extend(["import pathlib", "import pickle"]);
                format!("{target} = pickle.loads(pathlib.Path({literal}).read_bytes())")
            }
            Way::Session => format!("{target} = _checkstone_session[{}]", python_literal(name)),
        };
        if variable.way == Way::Session && !std::mem::replace(&mut has_session, true) {
            load_pickle("_checkstone_session", &literal, loads);
        }
        // A session may use the name of a module that other lines need for something else.
        if names::is_taken(name) {
            late.push(line)
        } else {
            loads.lines.push(line)
        }
        cell.variables.push(Variable { name: name.clone(), path });
    }
    // After the variables, since loading may draw random numbers.
    for generator in saved.generators.iter().filter(|_| has_values) {
        match generator.as_str() {
            "random" => {
                loads.imports.insert("import random");
                loads.lines.push("_checkstone_state = _checkstone_values[\"random\"]".to_owned());
                loads.lines.push("random.setstate((_checkstone_state[0], tuple(_checkstone_state[1]), _checkstone_state[2]))".to_owned());
            }
            "numpy" => {
                loads.imports.insert(NUMPY);
                loads.lines.push("_checkstone_state = _checkstone_values[\"numpy\"]".to_owned());
                loads.lines.push(
                    "np.random.set_state((_checkstone_state[0], np.array(_checkstone_state[1], dtype=np.uint32), *_checkstone_state[2:]))"
                        .to_owned(),
                );
            }
            _ => {}
        }
    }
    // A session may use the names of modules that the lines above need for other things.
    for module in &saved.modules {
        let is_path = module.module.split('.').all(names::is_identifier);
        if loads.pickles == Pickles::Withhold {
            // An artifact can be a module, below the folder that the kernel starts in.
            let path = format!("{}: import {}", saved.index, module.module);
            let what = format!("`import {}`", module.module);
            cell.withheld.push(WithheldArtifact { path, what, why: WhyWithheld::Imports });
        } else if is_path && names::is_identifier(&module.name) {
            loads.lines.push(format!("import {} as {}", module.module, module.name));
        }
    }
    if has_values
        && loads.pickles == Pickles::Load
        && saved.surroundings.iter().any(|name| name == "submodules")
    {
        load_surroundings("submodules", loads);
    }
    let settings = beside("settings.pickle");
    if !saved.settings.is_empty() && artifacts.contains(&settings.as_str()) {
        if loads.pickles == Pickles::Load {
            load_settings(&saved.settings, &settings, loads);
        } else {
            let (what, why) = ("the settings of libraries".to_owned(), WhyWithheld::Unpickles);
            cell.withheld.push(WithheldArtifact { path: settings, what, why });
        }
    }
    loads.lines.append(&mut late);
    if has_session {
        loads.lines.push("del _checkstone_session".to_owned());
    }
}

/// Everything that is in one pickle; functions of the session have the session as their globals again.
fn load_pickle(name: &str, path: &str, loads: &mut Loads) {
    const CLASS: &str = "class _checkstone_Unpickler(pickle.Unpickler):";
    loads.imports.extend(["import pathlib", "import pickle"]);
    if !loads.lines.iter().any(|line| line == CLASS) {
        let lines = [CLASS, "    def persistent_load(self, _):", "        return globals()"];
        loads.lines.extend(lines.map(str::to_owned));
    }
    loads.lines.push(format!("with pathlib.Path({path}).open(\"rb\") as _checkstone_file:"));
    loads.lines.push(format!("    {name} = _checkstone_Unpickler(_checkstone_file).load()"));
}

/// Another version of a library may not have them all, which is no reason to lose the rest.
fn load_settings(settings: &[String], path: &str, loads: &mut Loads) {
    loads.imports.extend(["import contextlib", "import importlib"]);
    load_pickle("_checkstone_settings", &python_literal(path), loads);
    // None of the libraries gets a name in the session by it.
    for (name, library, call) in [
        ("numpy-errors", "numpy", "seterr(**_checkstone_settings[\"numpy-errors\"])"),
        ("numpy-printing", "numpy", "set_printoptions(**_checkstone_settings[\"numpy-printing\"])"),
        (
            "pandas",
            "pandas",
            "set_option(*[_part for _pair in _checkstone_settings[\"pandas\"].items() for _part in _pair])",
        ),
        ("matplotlib", "matplotlib", "rcParams.update(_checkstone_settings[\"matplotlib\"])"),
    ] {
        if settings.iter().any(|known| known == name) {
            loads.lines.push("with contextlib.suppress(Exception):".to_owned());
            loads.lines.push(format!("    importlib.import_module(\"{library}\").{call}"));
        }
    }
}

/// What cells had changed of the process: can run code as a pickle can.
fn load_surroundings(name: &str, loads: &mut Loads) {
    let lines: &[&str] = match name {
        "environment" => {
            loads.imports.insert("import os");
            &[
                "os.environ.update(_checkstone_values[\"environment\"][\"set\"])",
                "for _checkstone_name in _checkstone_values[\"environment\"][\"removed\"]:",
                "    os.environ.pop(_checkstone_name, None)",
            ]
        }
        "path" => {
            loads.imports.insert("import sys");
            &[
                "sys.path[:0] = _checkstone_values[\"path\"][\"front\"]",
                "sys.path.extend(_checkstone_values[\"path\"][\"back\"])",
            ]
        }
        _ => {
            loads.imports.extend(["import contextlib", "import importlib"]);
            &[
                "for _checkstone_name in _checkstone_values[\"submodules\"]:",
                "    with contextlib.suppress(Exception):",
                "        importlib.import_module(_checkstone_name)",
            ]
        }
    };
    loads.lines.extend(lines.iter().map(|line| (*line).to_owned()));
}
