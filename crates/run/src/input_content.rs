//! What a stage reads: where an input lies, and what it is known by. It is a file, a folder, or the same output of all
//! instances of a stage.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use checkpoint::layout::{Layout, NameError};
use checkpoint::{FileHashes, Identity, hash};
use serde::Serialize;

use crate::event::Accepted;
use crate::fingerprint;
use crate::plan::{Input, InputSource, Plan, Scalar};
use crate::planted_fault::{Oversight, overlooks};
use crate::project_code::is_executable;
use crate::publish::{self, PublishError};

/// An input, found.
#[derive(Debug)]
pub(crate) enum InputContent {
    One(PathBuf, Maker),
    Gathered(Vec<GatheredOutput>),
}

/// Who made a file or a folder that is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Maker {
    /// A person: it also counts whether a file can be executed, and which folders are empty.
    Person,
    /// A stage, whose results are known by the contents of files alone.
    Stage,
}

impl Maker {
    /// What counts in a folder.
    fn entries(self, folder: &Path, most: usize) -> Result<Vec<String>, PublishError> {
        match self {
            Self::Person if !overlooks(Oversight::EmptyFolders) => publish::entries_up_to(folder, most),
            _ => publish::files_up_to(folder, most),
        }
    }
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
            InputSource::Project(path) => Self::One(layout.root().join(path), Maker::Person),
            InputSource::Output { stage, path } => Self::One(published(*stage, path)?, Maker::Stage),
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
    pub(crate) fn identity(&self, most_files: usize) -> Option<String> {
        match self {
            Self::One(path, maker) => identity(path, *maker, most_files),
            Self::Gathered(all) => {
                let each = all.iter().map(|one| {
                    Some((
                        &one.stage,
                        counted(&one.parameters),
                        identity(&one.path, Maker::Stage, most_files)?,
                    ))
                });
                digest(&each.collect::<Option<Vec<_>>>()?)
            }
        }
    }

    /// What differs once somebody has written to it, also if it is the same again. None of what stages made: what is theirs is
    /// linked to and restored by others.
    pub(crate) fn last_written(&self, most_files: usize) -> Option<String> {
        let Self::One(path, Maker::Person) = self else { return None };
        let written = |path: &Path| Some(Identity::of_path(path)?.written());
        if !path.is_dir() {
            return digest(&written(path));
        }
        let files = publish::files_up_to(path, most_files).ok()?;
        digest(&files.iter().map(|file| (file, written(&path.join(file)))).collect::<Vec<_>>())
    }

    /// What it holds now.
    pub(crate) fn read(&self, reader: &InputReader<'_>) -> io::Result<ReadInput> {
        match self {
            Self::One(path, maker) => reader.read(path, *maker),
            Self::Gathered(all) => {
                let each = all.iter().map(|one| Ok((one, reader.read(&one.path, Maker::Stage)?)));
                together(each.collect::<io::Result<_>>()?, |one, part| {
                    (&one.stage, counted(&one.parameters), part)
                })
            }
        }
    }

    /// All files that it consists of, and the folders that are to be there, also if nothing is in them.
    pub(crate) fn files_and_folders(
        &self,
        most_files: usize,
    ) -> Result<(Vec<PathBuf>, Vec<PathBuf>), PublishError> {
        let all: Vec<(&PathBuf, Maker)> = match self {
            Self::One(path, maker) => vec![(path, *maker)],
            Self::Gathered(all) => all.iter().map(|one| (&one.path, Maker::Stage)).collect(),
        };
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        for (path, maker) in all {
            if !path.is_dir() {
                files.push(path.clone());
                continue;
            }
            folders.push(path.clone());
            for entry in maker.entries(path, most_files)? {
                match entry.strip_suffix('/') {
                    Some(folder) => folders.push(path.join(folder)),
                    None => files.push(path.join(entry)),
                }
            }
        }
        Ok((files, folders))
    }

    /// As a person names it.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::One(path, _) => path.display().to_string(),
            Self::Gathered(all) => all.first().map_or(String::new(), |one| one.path.display().to_string()),
        }
    }

    /// What the stage's variable for it is set to; lists are written below `folder`.
    pub(crate) fn value(&self, input: &Input, folder: &Path) -> io::Result<PathBuf> {
        let all = match self {
            Self::One(path, _) => return Ok(path.clone()),
            Self::Gathered(all) => all,
        };
        let list = folder.join(format!("input-{}.txt", input.name));
        let lines: String = all.iter().map(|one| format!("{}\n", one.path.display())).collect();
        fs_err::write(&list, lines)?;
        Ok(list)
    }
}

/// What an instance was run for counts although its output may not show it: whoever gathers it is told.
fn counted(parameters: &BTreeMap<String, Scalar>) -> &BTreeMap<String, Scalar> {
    static NONE: BTreeMap<String, Scalar> = BTreeMap::new();
    if overlooks(Oversight::GatheredParameters) { &NONE } else { parameters }
}

/// All gathered inputs of a stage as one JSON document; `None` if it has none.
pub(crate) fn described(inputs: &[(&Input, InputContent)]) -> Option<Vec<u8>> {
    let gathered = inputs.iter().filter_map(|(input, content)| match content {
        InputContent::One(..) => None,
        InputContent::Gathered(all) => Some((&input.name, all)),
    });
    let gathered: BTreeMap<_, _> = gathered.collect();
    if gathered.is_empty() { None } else { serde_json::to_vec_pretty(&gathered).ok() }
}

fn identity(path: &Path, maker: Maker, most_files: usize) -> Option<String> {
    if !path.is_dir() {
        return publish::identity(path);
    }
    let entries = maker.entries(path, most_files).ok()?;
    let of_entry = |entry: &str| match entry.ends_with('/') {
        true => Some(String::new()),
        false => publish::identity(&path.join(entry)),
    };
    let each = entries.iter().map(|entry| Some((entry, of_entry(entry)?)));
    digest(&each.collect::<Option<Vec<_>>>()?)
}

/// What an input held when it was read.
#[derive(Debug)]
pub(crate) struct ReadInput {
    pub(crate) sha256: String,
    /// What it can be known by from now on, as [`InputContent::identity`] has it; none if it could change without a trace.
    pub(crate) identity: Option<String>,
}

/// Reads inputs, and those not again that are known.
pub(crate) struct InputReader<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) hashes: &'a FileHashes,
    /// Folders of more files are not read.
    pub(crate) most_files: usize,
    /// Large files take their time.
    pub(crate) may_go_on: &'a dyn Fn() -> bool,
}

impl InputReader<'_> {
    fn read(&self, path: &Path, maker: Maker) -> io::Result<ReadInput> {
        if !path.is_dir() {
            let file = fingerprint::open_regular(path)?;
            let content = self.hashes.content(&self.layout.relative(path), &file, self.may_go_on)?;
            // A link is not known by what it leads to.
            let identity = content.identity.map(|identity| identity.to_string());
            let identity = identity.filter(|identity| publish::identity(path).as_ref() == Some(identity));
            let is_program = maker == Maker::Person && is_executable(path);
            let sha256 = match is_program && !overlooks(Oversight::ExecutableBit) {
                true => hash::of_bytes(format!("{} executable", content.sha256).as_bytes()),
                false => content.sha256,
            };
            return Ok(ReadInput { sha256, identity });
        }
        let entries = maker.entries(path, self.most_files).map_err(io::Error::other)?;
        let read = |entry: &String| match entry.ends_with('/') {
            true => Ok(ReadInput { sha256: String::new(), identity: Some(String::new()) }),
            false => self.read(&path.join(entry), maker),
        };
        let each = entries.iter().map(|entry| Ok((entry, read(entry)?)));
        let is_nameless = maker == Maker::Person && overlooks(Oversight::NamesInFolder);
        let name = |entry| if is_nameless { "" } else { entry };
        together(each.collect::<io::Result<_>>()?, |entry: &String, part| (name(entry), part))
    }
}

/// Many as one: `named` is how each of them counts.
fn together<'a, K, T: Serialize>(
    each: Vec<(&'a K, ReadInput)>,
    named: impl Fn(&'a K, String) -> T,
) -> io::Result<ReadInput> {
    let identities = each.iter().map(|(of, read)| Some(named(of, read.identity.clone()?)));
    let identity = identities.collect::<Option<Vec<T>>>().and_then(|identities| digest(&identities));
    let contents: Vec<T> = each.into_iter().map(|(of, read)| named(of, read.sha256)).collect();
    let sha256 = digest(&contents).ok_or_else(|| io::Error::other("its names are not text"))?;
    Ok(ReadInput { sha256, identity })
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
                Some((&stage.id, counted(&parameters).clone(), of_stage(*place, path)?))
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
