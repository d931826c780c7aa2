//! The cell that brings a checkpoint's artifacts back into a fresh kernel, and says so with a marker.
//!
//! It is always made anew from the list of artifacts: the text that a manifest carries came from wherever the manifest
//! came from, and is never run. Paths are relative to the project's root, where the kernel starts. What can run code on
//! loading (pickles) is left out where the checkpoint is not this machine's own, until a person confirms (R9).

mod names;
mod variables;

use std::collections::BTreeSet;

use checkpoint::layout::VARIABLES_FOLDER;
use checkpoint::manifest::{self, Manifest, TrustLevel};
use serde_json::Value;
use supervise::marker::Marker;

use crate::python_environment::IMPORTS_KEY;
use crate::python_literal::python_literal;
pub use variables::{
    ArrayCopy, ImportedModule, SavedVariable, SavedVariables, UnsavedVariable, VariablesError, Way,
};

#[derive(Clone, Debug, Default)]
pub struct Checkpoint<'a> {
    pub id: &'a str,
    /// Artifacts by their paths relative to the project's root, already checked to lie below it.
    pub artifacts: Vec<&'a str>,
    /// `name==version`, as the manifest has them.
    pub packages: Vec<&'a str>,
    /// Modules by the names that the session had for them.
    pub imports: Vec<(&'a str, &'a str)>,
    /// By generator: `random` and `numpy`; others are told as unknown.
    pub seeds: Vec<(&'a str, u64)>,
    /// What the kernel saved of its variables (`with_vars`).
    pub variables: Option<&'a SavedVariables>,
}

impl<'a> Checkpoint<'a> {
    /// `variables` is the index that the manifest's artifacts hold, where they hold one and its state is wanted.
    pub fn of(manifest: &'a Manifest, variables: Option<&'a SavedVariables>) -> Self {
        let seeds = manifest.python_env.random_seeds.iter().flatten();
        let imports = manifest.python_env.unknown.get(IMPORTS_KEY).and_then(Value::as_object);
        let imports = imports.into_iter().flatten();
        Self {
            imports: imports.filter_map(|(name, module)| Some((name.as_str(), module.as_str()?))).collect(),
            id: &manifest.checkpoint_id,
            artifacts: manifest.artifacts.iter().map(|artifact| artifact.relative_path.as_str()).collect(),
            packages: manifest.python_env.packages.iter().map(String::as_str).collect(),
            seeds: seeds.filter_map(|(generator, seed)| Some((generator.as_str(), seed.as_u64()?))).collect(),
            variables,
        }
    }
}

/// What a manifest says of its own rehydration, for tools that read it; ours makes the cell anew. Where the kernel saved its
/// variables as well, the text leaves them out: they are in an artifact, and `resume` brings them back.
pub fn in_manifest(manifest: &Manifest) -> manifest::Rehydration {
    let made = cell(&Checkpoint::of(manifest, None), Pickles::for_trust(manifest.trust()));
    let mode = match SavedVariables::index_of(manifest) {
        Some(_) => manifest::RehydrationMode::WithVars,
        None => manifest::RehydrationMode::ArtifactsOnly,
    };
    manifest::Rehydration { mode, rehydration_cell_source: made.source, unknown: Default::default() }
}

/// Whether code may be made that unpickles.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pickles {
    Load,
    /// The checkpoint is imported or untrusted, and nobody has confirmed it.
    Withhold,
}

impl Pickles {
    /// What a checkpoint allows by itself, before a person has confirmed anything.
    pub fn for_trust(trust: TrustLevel) -> Self {
        match trust {
            TrustLevel::Local => Self::Load,
            TrustLevel::Imported | TrustLevel::Untrusted => Self::Withhold,
        }
    }
}

#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RehydrationCell {
    /// One line each, without line breaks.
    pub source: Vec<String>,
    /// What the cell assigns, in its order.
    pub variables: Vec<Variable>,
    /// What it does not load, and why.
    pub withheld: Vec<WithheldArtifact>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Variable {
    pub name: String,
    pub path: String,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WithheldArtifact {
    pub path: String,
    /// For people: the variable, the file or the import.
    pub what: String,
    pub why: WhyWithheld,
}

impl WithheldArtifact {
    /// It would be loaded if a person confirmed the checkpoint.
    pub fn needs_trust(&self) -> bool {
        matches!(self.why, WhyWithheld::Imports | WhyWithheld::Unpickles)
    }
}

text::named! {
    pub enum WhyWithheld {
        Imports = "importing can run code, and this checkpoint is not confirmed",
        Unpickles = "loading it can run code, and this checkpoint is not confirmed",
        PythonsOwnName = "its name is reserved by Python",
        NotAnArtifact = "it is not among the checkpoint's artifacts",
    }
}

impl RehydrationCell {
    pub fn text(&self) -> String {
        self.source.join("\n")
    }
}

/// The marker that the cell prints last.
pub fn marker(id: &str) -> String {
    Marker::new("REHYDRATED", None).with("from", id).to_string()
}

pub fn cell(checkpoint: &Checkpoint<'_>, pickles: Pickles) -> RehydrationCell {
    let saved = checkpoint.variables;
    let is_plain = |path: &&&str| path.rsplit('/').nth(1).is_none_or(|folder| folder != VARIABLES_FOLDER);
    let plain: Vec<&str> = checkpoint.artifacts.iter().filter(is_plain).copied().collect();
    let reserved: BTreeSet<String> = saved.map(SavedVariables::names).unwrap_or_default();
    let names = names::variable_names(&plain, &reserved);

    let mut cell = RehydrationCell::default();
    let mut loads = Loads { pickles, imports: BTreeSet::new(), lines: Vec::new() };
    for (path, name) in plain.iter().zip(names) {
        let pillow = has_package(checkpoint, "pillow");
        match loads.artifact(&name, path, pillow) {
            true => cell.variables.push(Variable { name, path: (*path).to_owned() }),
            false => {
                let what = format!("`{path}`");
                cell.withheld.push(WithheldArtifact {
                    path: (*path).to_owned(),
                    what,
                    why: WhyWithheld::Unpickles,
                });
            }
        }
    }
    let seeds = seed_lines(checkpoint, &mut loads.imports);
    if let Some(saved) = saved {
        variables::load(saved, &checkpoint.artifacts, &mut loads, &mut cell);
    }

    let source = &mut cell.source;
    source.push(format!("# What checkpoint {} had, loaded again.", python_literal(checkpoint.id)));
    source.extend(loads.imports.iter().map(|import| (*import).to_owned()));
    source.extend(import_lines(checkpoint, &loads));
    source.extend(seeds);
    source.append(&mut loads.lines);
    for withheld in &cell.withheld {
        source.push(format!("# Not loaded: {}: {}.", python_literal(&withheld.path), withheld.why));
    }
    source.push(format!("print({})", python_literal(&marker(checkpoint.id))));
    cell
}

const JSON: &str = "import json";
const NUMPY: &str = "import numpy as np";
const PANDAS: &str = "import pandas as pd";
const PATHLIB: &str = "import pathlib";
const PILLOW: &str = "import PIL.Image";

/// How files are loaded: by which extensions they are known, what that imports, and the code, in which `{name}` is the
/// variable, `{path}` the literal of the path, and `{pickles}` whether code may be unpickled.
const LOADERS: &[(&str, &[&str], &str)] = &[
    ("parquet", &[PANDAS], "{name} = pd.read_parquet({path})"),
    ("csv", &[PANDAS], "{name} = pd.read_csv({path})"),
    ("tsv", &[PANDAS], "{name} = pd.read_csv({path}, sep=\"\\t\")"),
    ("feather", &[PANDAS], "{name} = pd.read_feather({path})"),
    ("json", &[JSON, PATHLIB], "{name} = json.loads(pathlib.Path({path}).read_text(encoding=\"utf-8\"))"),
    (
        "jsonl ndjson",
        &[JSON, PATHLIB],
        "with pathlib.Path({path}).open(encoding=\"utf-8\") as _checkstone_file:\n    \
         {name} = [json.loads(_checkstone_line) for _checkstone_line in _checkstone_file if _checkstone_line.strip()]",
    ),
    ("npy", &[NUMPY], "{name} = np.load({path}, allow_pickle={pickles})"),
    (
        "npz",
        &[NUMPY],
        "with np.load({path}, allow_pickle={pickles}) as _checkstone_file:\n    \
         {name} = {_checkstone_name: _checkstone_file[_checkstone_name] for _checkstone_name in _checkstone_file.files}",
    ),
    ("joblib", &["import joblib"], "{name} = joblib.load({path})"),
    ("pkl pickle", &[PATHLIB, "import pickle"], "{name} = pickle.loads(pathlib.Path({path}).read_bytes())"),
    (
        "png jpg jpeg gif webp bmp tif tiff",
        &[PILLOW],
        "with PIL.Image.open({path}) as _checkstone_file:\n    {name} = _checkstone_file.copy()",
    ),
    (
        "txt md log html svg xml yaml yml toml ini tex sql py",
        &[PATHLIB],
        "{name} = pathlib.Path({path}).read_text(encoding=\"utf-8\")",
    ),
];

struct Loads {
    pickles: Pickles,
    imports: BTreeSet<&'static str>,
    lines: Vec<String>,
}

impl Loads {
    /// Adds the lines for one artifact; false where they would unpickle and may not.
    fn artifact(&mut self, name: &str, path: &str, pillow: bool) -> bool {
        let lower = path.to_ascii_lowercase();
        let (stem, extension) = names::split(&lower);
        let extension = match extension {
            "gz" | "bz2" | "xz" | "zst" if stem.ends_with(".csv") => "csv",
            other => other,
        };
        if self.pickles == Pickles::Withhold && ["joblib", "pickle", "pkl"].contains(&extension) {
            return false;
        }
        let is_meant = |(extensions, imports, _): &&(&str, &[&'static str], &str)| {
            extensions.split(' ').any(|known| known == extension) && (pillow || !imports.contains(&PILLOW))
        };
        // Not for us to open: the variable says where it is.
        let other = ("", &[PATHLIB][..], "{name} = pathlib.Path({path})");
        let (_, imports, code) = LOADERS.iter().find(is_meant).copied().unwrap_or(other);
        self.imports.extend(imports);
        let allowed = if self.pickles == Pickles::Load { "True" } else { "False" };
        // The path last, which may hold anything.
        let code = code.replace("{pickles}", allowed).replace("{name}", name);
        self.lines.extend(code.replace("{path}", &python_literal(path)).lines().map(str::to_owned));
        true
    }
}

/// What stages are used to having. Where it is gone by now, a stage that needs it says so.
fn import_lines(checkpoint: &Checkpoint<'_>, loads: &Loads) -> Vec<String> {
    let installed = [("np", "numpy"), ("pd", "pandas")];
    let mut wanted: Vec<(&str, &str)> =
        installed.into_iter().filter(|(_, module)| has_package(checkpoint, module)).collect();
    // The variables bring their own; and what is not confirmed is not imported, since an artifact can be a module.
    if checkpoint.variables.is_none() && loads.pickles == Pickles::Load {
        let is_path = |module: &str| module.split('.').all(names::is_identifier);
        let imports = checkpoint.imports.iter();
        wanted.extend(imports.filter(|(name, module)| names::is_identifier(name) && is_path(module)));
    }
    let mut lines: Vec<String> = wanted
        .into_iter()
        .map(|(name, module)| match name == module {
            true => format!("import {module}"),
            false => format!("import {module} as {name}"),
        })
        .filter(|line| !loads.imports.contains(line.as_str()))
        .flat_map(|line| ["with contextlib.suppress(ImportError):".to_owned(), format!("    {line}")])
        .collect();
    if !lines.is_empty() {
        lines.insert(0, "import contextlib".to_owned());
    }
    lines
}

fn seed_lines(checkpoint: &Checkpoint<'_>, imports: &mut BTreeSet<&'static str>) -> Vec<String> {
    let mut lines = Vec::new();
    for (generator, seed) in &checkpoint.seeds {
        lines.push(match *generator {
            "random" | "python" => {
                imports.insert("import random");
                format!("random.seed({seed})")
            }
            "numpy" | "np" => {
                imports.insert(NUMPY);
                format!("np.random.seed({seed})")
            }
            other => format!("# It is not known how to set the seed {seed} of {}.", python_literal(other)),
        });
    }
    lines
}

fn has_package(checkpoint: &Checkpoint<'_>, wanted: &str) -> bool {
    let name = |package: &&str| {
        package.split_once("==").map_or(*package, |(name, _)| name).trim().to_ascii_lowercase()
    };
    checkpoint.packages.iter().any(|package| name(package) == wanted)
}

#[cfg(test)]
mod tests {
    use super::{Checkpoint, Pickles, cell};

    fn checkpoint<'a>(artifacts: &[&'a str]) -> Checkpoint<'a> {
        Checkpoint { id: "ckpt-001", artifacts: artifacts.to_vec(), ..Checkpoint::default() }
    }

    #[test]
    fn artifacts_are_loaded_by_their_type_and_the_marker_comes_last() {
        let mut known =
            checkpoint(&["reports/t/r/S01_load_data/data.csv", "reports/t/r/S01_load_data/data.json"]);
        known.seeds = vec![("random", 42), ("numpy", 7)];
        let cell = cell(&known, Pickles::Load);
        assert_eq!(
            cell.text(),
            "# What checkpoint \"ckpt-001\" had, loaded again.\n\
             import json\n\
             import numpy as np\n\
             import pandas as pd\n\
             import pathlib\n\
             import random\n\
             random.seed(42)\n\
             np.random.seed(7)\n\
             data_csv = pd.read_csv(\"reports/t/r/S01_load_data/data.csv\")\n\
             data_json = json.loads(pathlib.Path(\"reports/t/r/S01_load_data/data.json\").read_text(encoding=\"utf-8\"))\n\
             print(\"[REHYDRATED:from=ckpt-001]\")"
        );
        let names: Vec<&str> = cell.variables.iter().map(|variable| variable.name.as_str()).collect();
        assert_eq!(names, ["data_csv", "data_json"]);
    }

    /// R9
    #[test]
    fn an_unconfirmed_checkpoint_yields_no_code_that_unpickles() {
        let artifacts = ["a.pkl", "b.PICKLE", "c.joblib", "d.npy", "e.npz", "f.csv"];
        let withheld = cell(&checkpoint(&artifacts), Pickles::Withhold);
        let text = withheld.text();
        for unpickling in
            ["pickle.load", "joblib.load", "allow_pickle=True", "import pickle", "import joblib"]
        {
            assert!(!text.contains(unpickling), "{unpickling} in {text}");
        }
        let paths: Vec<&str> = withheld.withheld.iter().map(|withheld| withheld.path.as_str()).collect();
        assert_eq!(paths, ["a.pkl", "b.PICKLE", "c.joblib"]);
        assert_eq!(withheld.variables.len(), 3);
        assert!(cell(&checkpoint(&artifacts), Pickles::Load).withheld.is_empty());
    }
}
