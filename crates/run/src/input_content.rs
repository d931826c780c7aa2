//! What a stage reads: where an input lies, and what it is known by. It is a file, a folder, or the same output of all
//! instances of a stage.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use checkpoint::hash;
use checkpoint::layout::{Layout, NameError};
use serde::Serialize;

use crate::event::Accepted;
use crate::fingerprint;
use crate::plan::{Input, InputSource, Plan, Scalar};
use crate::publish;

/// An input, found.
#[derive(Debug)]
pub(crate) enum InputContent {
    One(PathBuf),
    Gathered(Vec<GatheredOutput>),
}

/// The output of one instance, as a stage that gathers them reads of it.
#[derive(Debug, Serialize)]
pub(crate) struct GatheredOutput {
    stage: String,
    parameters: BTreeMap<String, Scalar>,
    path: PathBuf,
}

impl InputContent {
    pub(crate) fn of(plan: &Plan, layout: &Layout, source: &InputSource) -> Result<Self, NameError> {
        // Of a plan that was read every stage is there; no name is refused as any other bad one.
        let published = |stage: usize, path: &str| {
            let id = plan.stages.get(stage).map_or("", |stage| &stage.id);
            Ok(layout.published(id)?.join(path))
        };
        Ok(match source {
            InputSource::Project(path) => Self::One(layout.root().join(path)),
            InputSource::Output { stage, path } => Self::One(published(*stage, path)?),
            InputSource::Gathered { stages, path } => {
                let gathered = stages.iter().filter_map(|place| Some((place, plan.stages.get(*place)?)));
                let gathered = gathered.map(|(place, stage)| {
                    Ok(GatheredOutput {
                        stage: stage.id.clone(),
                        parameters: stage.parameters.iter().cloned().collect(),
                        path: published(*place, path)?,
                    })
                });
                Self::Gathered(gathered.collect::<Result<_, NameError>>()?)
            }
        })
    }

    /// What it is known by without reading it; `None` if it has to be read.
    pub(crate) fn identity(&self) -> Option<String> {
        match self {
            Self::One(path) => identity(path),
            Self::Gathered(all) => {
                let each = all.iter().map(|one| Some((&one.stage, &one.parameters, identity(&one.path)?)));
                digest(&each.collect::<Option<Vec<_>>>()?)
            }
        }
    }

    /// The hash of what it holds, for as long as reading may go on.
    pub(crate) fn sha256(&self, may_go_on: &dyn Fn() -> bool) -> io::Result<String> {
        let unwritable = || io::Error::other("its name is not text");
        match self {
            Self::One(path) => sha256(path, may_go_on),
            Self::Gathered(all) => {
                let each =
                    all.iter().map(|one| Ok((&one.stage, &one.parameters, sha256(&one.path, may_go_on)?)));
                digest(&each.collect::<io::Result<Vec<_>>>()?).ok_or_else(unwritable)
            }
        }
    }

    /// As a person names it.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::One(path) => path.display().to_string(),
            Self::Gathered(all) => all.first().map_or(String::new(), |one| one.path.display().to_string()),
        }
    }

    /// What the stage's variable for it is set to; lists are written below `folder`.
    pub(crate) fn value(&self, input: &Input, folder: &Path) -> io::Result<PathBuf> {
        let all = match self {
            Self::One(path) => return Ok(path.clone()),
            Self::Gathered(all) => all,
        };
        let list = folder.join(format!("input-{}.txt", input.name));
        let lines: String = all.iter().map(|one| format!("{}\n", one.path.display())).collect();
        fs_err::write(&list, lines)?;
        Ok(list)
    }
}

/// All gathered inputs of a stage as one JSON document; `None` if it has none.
pub(crate) fn described(inputs: &[(&Input, InputContent)]) -> Option<Vec<u8>> {
    let gathered = inputs.iter().filter_map(|(input, content)| match content {
        InputContent::One(_) => None,
        InputContent::Gathered(all) => Some((&input.name, all)),
    });
    let gathered: BTreeMap<_, _> = gathered.collect();
    if gathered.is_empty() { None } else { serde_json::to_vec_pretty(&gathered).ok() }
}

fn identity(path: &Path) -> Option<String> {
    if !path.is_dir() {
        return publish::identity(path);
    }
    let files = publish::files(path).ok()?;
    let each = files.iter().map(|file| Some((file, publish::identity(&path.join(file))?)));
    digest(&each.collect::<Option<Vec<_>>>()?)
}

fn sha256(path: &Path, may_go_on: &dyn Fn() -> bool) -> io::Result<String> {
    if !path.is_dir() {
        return Ok(fingerprint::of_file_while(path, may_go_on)?.0);
    }
    let files = publish::files(path).map_err(io::Error::other)?;
    let each =
        files.iter().map(|file| Ok((file, fingerprint::of_file_while(&path.join(file), may_go_on)?.0)));
    let each = each.collect::<io::Result<Vec<_>>>()?;
    digest(&each).ok_or_else(|| io::Error::other("its names are not text"))
}

/// The hash that an input has by the acceptance of the stages that make it, as reading it would come to. `None` if that does not
/// say so: for files of the project, and for outputs that were not accepted.
pub(crate) fn accepted_sha256<'a>(
    plan: &Plan,
    source: &InputSource,
    accepted: &dyn Fn(usize) -> Option<&'a Accepted>,
) -> Option<String> {
    let of_stage = |place: usize, path: &str| output_sha256(accepted(place)?, path);
    match source {
        InputSource::Project(_) => None,
        InputSource::Output { stage, path } => of_stage(*stage, path),
        InputSource::Gathered { stages, path } => {
            let each = stages.iter().map(|place| {
                let stage = plan.stages.get(*place)?;
                let parameters: BTreeMap<String, Scalar> = stage.parameters.iter().cloned().collect();
                Some((&stage.id, parameters, of_stage(*place, path)?))
            });
            digest(&each.collect::<Option<Vec<_>>>()?)
        }
    }
}

fn output_sha256(accepted: &Accepted, path: &str) -> Option<String> {
    if let Some(file) = accepted.artifacts.iter().find(|artifact| artifact.path == path) {
        return Some(file.sha256.clone());
    }
    let inside = accepted.artifacts.iter().filter_map(|artifact| {
        let inner = artifact.path.strip_prefix(path)?.strip_prefix('/')?;
        Some((inner.to_owned(), artifact.sha256.clone()))
    });
    let mut inside: Vec<(String, String)> = inside.collect();
    inside.sort();
    if inside.is_empty() { None } else { digest(&inside) }
}

fn digest(parts: &impl Serialize) -> Option<String> {
    serde_json::to_vec(parts).ok().map(|bytes| hash::of_bytes(&bytes))
}
