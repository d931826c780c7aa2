//! From a draft to a stage: what can only be seen when all of the plan is read. Names and paths that leave their place,
//! inputs that nobody makes, outputs that collide.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use checkpoint::layout::{NameError, Segment};
use settings::{At, Place, Problem, Reader, TableOfKeys as _};

use super::expansion::{Expansion, Reference, StageOfDraft, WrittenPlan, stage_id};
use super::fan_out::{ForEachLayer, Instance};
use super::keys::{Grace, Kind, PlanLayer, Python, StageLayer, Stall, Storing};
use super::parameters::{self, Filling, Parameters, TextFor};
use super::{
    DEFAULT_DURATION, Input, InputSource, LONGEST_DURATION, LONGEST_WITHOUT_CHECKPOINT, Output, Plan,
    Program, SetParameter, Stage, is_stage_id, resources,
};
use crate::publish::{self, PublishError};

pub(super) fn check(
    layer: PlanLayer,
    (file, text): (&str, &str),
    root: &Path,
    set: &[SetParameter],
    reader: &mut Reader<'_>,
) -> Plan {
    let python = Python::finish(layer.python.unwrap_or_default());
    let most_files = layer.most_files.unwrap_or(publish::MOST_FILES);
    let cluster = layer.cluster.unwrap_or_default();
    let mut plan = Plan { python, cluster, most_files, ..Plan::default() };
    match layer.title {
        Some(title) => match Segment::visible("report title", &title.value) {
            Ok(segment) => plan.title = segment.as_str().to_owned(),
            Err(error) => reader.problems.push(title.place.problem(error.to_string())),
        },
        None => reader.problem(0..0, "the plan has no `title`"),
    }
    let drafts = layer.stages.unwrap_or_default();
    if drafts.is_empty() {
        reader.problem(0..0, "the plan has no `[[stage]]`");
    }
    plan.warnings = drafts.iter().filter_map(|draft| warning(&draft.value)).collect();
    let written = WrittenPlan {
        file: file.to_owned(),
        text: text.to_owned(),
        root: root.to_owned(),
        resolved_root: fs_err::canonicalize(root).unwrap_or_else(|_| root.to_owned()),
        parameters: Parameters::new(layer.parameters.unwrap_or_default(), set, reader),
        set: SetParameter::arguments(set),
        most_instances: layer.most_instances.unwrap_or(super::keys::MOST_INSTANCES),
        ids: ids(&drafts, reader),
        most_files,
        drafts,
    };
    let mut checker = Checker::new(&written, reader, Expansion::default());
    checker.cycles();
    checker.expand(&mut plan);
    plan.written = written.into();
    plan
}

/// The place of every draft, by its id.
fn ids(drafts: &[At<StageLayer>], reader: &mut Reader<'_>) -> HashMap<String, usize> {
    let mut ids: HashMap<String, usize> = HashMap::new();
    for (index, draft) in drafts.iter().enumerate() {
        let Some(id) = &draft.value.id else { continue };
        if let Some(earlier) = ids.get(&id.value) {
            let line = drafts.get(*earlier).map_or(1, |stage| stage.place.line);
            let again = format!("`{}` is defined twice; the first is the stage on line {line}", id.value);
            reader.problems.push(id.place.problem(again));
        } else {
            ids.insert(id.value.clone(), index);
        }
    }
    ids
}

pub(super) struct Checker<'a, 'r, 't> {
    pub(super) written: &'a WrittenPlan,
    pub(super) reader: &'r mut Reader<'t>,
    pub(super) expansion: Expansion,
    pub(super) warnings: Vec<Problem>,
}

fn warning(stage: &StageLayer) -> Option<Problem> {
    let limit = stage.max_duration.as_ref()?;
    let is_long = limit.value > LONGEST_WITHOUT_CHECKPOINT;
    let is_unchecked = stage.is_unchecked == Some(true);
    (is_long && (is_unchecked || stage.mid_stage_checkpoints != Some(true))).then(|| {
        let id = stage.id.as_ref().map_or("the stage", |id| &id.value);
        let (longest, most) = (limit.value.as_secs(), LONGEST_WITHOUT_CHECKPOINT.as_secs());
        limit.place.problem(match is_unchecked {
            true => format!("`{id}` may run for {longest} s without a checkpoint (`unchecked = true`)"),
            false => format!(
                "`{id}` may run for {longest} s: it is interrupted after {most} s without a checkpoint. Split it, or let it \
                 print `[CHECKPOINT:saved:…]` at least that often and set `midStageCheckpoints = true`; `unchecked = true` \
                 lets it run without"
            ),
        })
    })
}

impl<'a, 'r, 't> Checker<'a, 'r, 't> {
    pub(super) fn new(written: &'a WrittenPlan, reader: &'r mut Reader<'t>, expansion: Expansion) -> Self {
        Self { written, reader, expansion, warnings: Vec::new() }
    }

    pub(super) fn draft(&self, index: usize) -> Option<&'a StageLayer> {
        self.written.drafts.get(index).map(|draft| &draft.value)
    }

    pub(super) fn problem(&mut self, place: &Place, message: impl Into<String>) {
        self.reader.problems.push(place.problem(message));
    }

    /// A stage that is none of those there are.
    fn unknown_stage(&mut self, place: &Place, message: String, written: &str) {
        self.reader.unknown(place.clone(), message, written, self.written.ids.keys().map(String::as_str));
    }

    pub(super) fn unknown_output(&mut self, place: &Place, index: usize, output: &str) {
        let message = format!("`{}` has no output `{output}`", self.written.id(index));
        let outputs = self.draft(index).into_iter().flat_map(|draft| draft.outputs.iter().flatten());
        let paths: Vec<&str> = outputs.map(|(_, path)| path.value.as_str()).collect();
        self.reader.unknown(place.clone(), message, output, paths.into_iter());
    }

    /// The draft with its values filled in.
    fn filled(&mut self, draft: &StageLayer, instance: &Instance) -> StageLayer {
        let later = match &draft.for_each {
            // One that is looked at before its values are known.
            Some(ForEachLayer::Axes(axes)) if instance.suffix.is_none() => {
                axes.iter().map(|axis| axis.name.value.clone()).collect()
            }
            Some(ForEachLayer::Stage(stage)) if instance.suffix.is_none() => self.names_of(&stage.value),
            _ => HashSet::new(),
        };
        let own = &instance.parameters;
        let filling = Filling { parameters: &self.written.parameters, own, later: &later };
        let problems = &mut self.reader.problems;
        let mut fill = |text: &mut String, place: &Place, read_by| match filling.fill(text, read_by) {
            Ok(filled) => *text = filled,
            Err(error) => problems.push(parameters::problem(&error, place, &filling)),
        };
        let mut filled = draft.clone();
        let texts = [&mut filled.goal, &mut filled.directory];
        texts.into_iter().flatten().for_each(|text| fill(&mut text.value, &text.place, TextFor::Program));
        for program in [&mut filled.command, &mut filled.verify].into_iter().flatten() {
            match &mut program.value {
                Program::Shell(text) => fill(text, &program.place, TextFor::Interpreter),
                Program::Words(words) => {
                    words.iter_mut().for_each(|word| fill(word, &program.place, TextFor::Program));
                }
            }
        }
        let pairs = [&mut filled.environment, &mut filled.inputs].into_iter().flatten().flatten();
        pairs.for_each(|(_, value)| fill(&mut value.value, &value.place, TextFor::Program));
        filled
    }

    /// The parameters that the instances of a stage have.
    fn names_of(&self, stage: &str) -> HashSet<String> {
        let mut stage = stage;
        for _ in 0..self.written.drafts.len() {
            let Some(index) = self.written.ids.get(stage) else { break };
            match self.draft(*index).and_then(|draft| draft.for_each.as_ref()) {
                Some(ForEachLayer::Axes(axes)) => {
                    return axes.iter().map(|axis| axis.name.value.clone()).collect();
                }
                Some(ForEachLayer::Stage(next)) => stage = &next.value,
                None => break,
            }
        }
        HashSet::new()
    }

    pub(super) fn stage(&mut self, index: usize, instance: &Instance) -> Stage {
        let draft = self.draft(index).cloned().unwrap_or_default();
        let draft = &self.filled(&draft, instance);
        let suffix = instance.suffix.as_deref();
        let template = draft.id.as_ref().map(|id| id.value.clone()).unwrap_or_default();
        if let Some(At { value: id, place }) = &draft.id {
            if !is_stage_id(id) {
                let advice = "write it like `S01_load_data`: number, verb, noun";
                self.problem(place, format!("`{id}` is not a stage id; {advice}"));
            } else if let Err(error) = Segment::visible("stage", &stage_id(id, suffix)) {
                self.problem(place, error.to_string());
            }
        }
        if let Some(ForEachLayer::Stage(stage)) = &draft.for_each
            && !self.written.ids.contains_key(&stage.value)
        {
            self.unknown_stage(&stage.place, format!("there is no stage `{}`", stage.value), &stage.value);
        }
        let length = draft.goal.as_ref().map_or(10, |goal| goal.value.chars().count());
        if let Some(goal) = draft.goal.as_ref().filter(|_| !(10..=200).contains(&length)) {
            let message = format!("a goal is 10 to 200 characters long; this one has {length}");
            self.problem(&goal.place, message);
        }
        if let Some(command) = &draft.command
            && draft.kind == Some(Kind::Python)
            && let Program::Words(words) = &command.value
        {
            let form = "a stage of kind `python` is its code as one string, or `[\"FILE\"]` below the project's root";
            let wrong = match words.as_slice() {
                [word] if parameters::waits(word) => None,
                [word] => match self.inside_root(word) {
                    Ok(path) if path.is_file() => None,
                    Ok(_) => Some(format!("`{word}` is not a file; {form}")),
                    Err(error) => Some(format!("{error}; {form}")),
                },
                _ => Some(form.to_owned()),
            };
            if let Some(wrong) = wrong {
                self.problem(&command.place, wrong);
            }
        }
        if let Some(limit) = &draft.max_duration
            && limit.value > Duration::from_secs(LONGEST_DURATION.unsigned_abs())
            && draft.mid_stage_checkpoints != Some(true)
        {
            let message = format!(
                "a stage may take more than {LONGEST_DURATION} s only if it prints `[CHECKPOINT:saved:…]` along the way and \
                 sets `midStageCheckpoints = true`"
            );
            self.problem(&limit.place, message);
        }
        let is_retryable = draft.is_retryable.unwrap_or(true);
        if let Some(retries) = &draft.retries
            && retries.value > 0
            && !is_retryable
        {
            self.problem(&retries.place, "a stage with `retryable = false` has no `retries`");
        }
        let named_dependencies = self.dependencies(index, draft, suffix);
        let mut dependencies = named_dependencies.clone();
        let inputs = self.inputs(index, draft, suffix, &mut dependencies);
        dependencies.sort_unstable();
        dependencies.dedup();
        Stage {
            id: stage_id(&template, suffix),
            template,
            parameters: instance.parameters.clone(),
            goal: draft.goal.clone().unwrap_or_default().value,
            kind: draft.kind.unwrap_or(Kind::Command),
            command: draft.command.clone().unwrap_or_default().value,
            verify: draft.verify.clone().map(|verify| verify.value),
            environment: self.environment(draft),
            directory: self.directory(draft),
            inputs,
            outputs: self.outputs(draft),
            max_duration: draft.max_duration.as_ref().map_or(DEFAULT_DURATION, |limit| limit.value),
            dependencies,
            named_dependencies,
            is_retryable,
            is_unchecked: draft.is_unchecked.unwrap_or(false),
            retries: draft.retries.as_ref().map_or(0, |retries| retries.value),
            resources: resources::finish(&draft.resources.clone().unwrap_or_default()),
            backoff: draft.backoff.unwrap_or_default(),
            checkpoint_after: draft.checkpoint_after.unwrap_or(true),
            store: draft.store.unwrap_or(Storing::Copy),
            stall: Stall::finish(draft.stall.clone().unwrap_or_default()),
            grace: Grace::finish(draft.grace.clone().unwrap_or_default()),
        }
    }

    /// The stages of a draft that a stage with this suffix means: its own one if the two have the same instances.
    fn stages_of(&self, from: usize, to: usize, suffix: Option<&str>) -> Vec<usize> {
        let Some(stages) = self.expansion.stages.get(to).and_then(Option::as_ref) else { return Vec::new() };
        let is_pair = self.is_pair(from, to);
        let is_meant = |stage: &&StageOfDraft| !is_pair || stage.suffix.as_deref() == suffix;
        stages.iter().filter(is_meant).map(|stage| stage.place).collect()
    }

    /// Whether two drafts have the same instances, because one says so of the other or both of a third.
    fn is_pair(&self, from: usize, to: usize) -> bool {
        let first = |index: usize| {
            let mut at = index;
            for _ in 0..self.written.drafts.len() {
                match self.draft(at).and_then(|draft| draft.for_each.as_ref()) {
                    Some(ForEachLayer::Stage(stage)) => match self.written.ids.get(&stage.value) {
                        Some(next) => at = *next,
                        None => break,
                    },
                    _ => break,
                }
            }
            at
        };
        from != to && first(from) == first(to)
    }

    fn dependencies(&mut self, index: usize, draft: &StageLayer, suffix: Option<&str>) -> Vec<usize> {
        let mut dependencies = Vec::new();
        for name in draft.dependencies.iter().flatten() {
            match self.written.ids.get(&name.value).copied() {
                Some(on) if on == index => self.problem(&name.place, "a stage cannot depend on itself"),
                Some(on) => dependencies.extend(self.stages_of(index, on, suffix)),
                None => {
                    let message = format!("there is no stage `{}`", name.value);
                    self.unknown_stage(&name.place, message, &name.value);
                }
            }
        }
        dependencies
    }

    fn environment(&mut self, draft: &StageLayer) -> Vec<(String, String)> {
        for (name, value) in draft.environment.iter().flatten() {
            let text = &name.value;
            if text.is_empty() || text.contains(['=', '\0']) || value.value.contains('\0') {
                self.problem(&name.place, format!("`{text}` cannot be an environment variable"));
            } else if text.starts_with("CHECKSTONE_") {
                self.problem(
                    &name.place,
                    format!("`{text}` is set by checkstone itself; choose another name"),
                );
            }
        }
        let pairs = draft.environment.iter().flatten();
        pairs.map(|(name, value)| (name.value.clone(), value.value.clone())).collect()
    }

    fn directory(&mut self, draft: &StageLayer) -> PathBuf {
        let Some(directory) = &draft.directory else { return PathBuf::new() };
        match self.inside_root(&directory.value) {
            _ if parameters::waits(&directory.value) => {}
            Ok(resolved) if resolved.is_dir() => {}
            Ok(_) => self.problem(&directory.place, format!("`{}` is not a folder", directory.value)),
            Err(error) => self.problem(&directory.place, error.to_string()),
        }
        PathBuf::from(&directory.value)
    }

    fn inputs(
        &mut self,
        index: usize,
        draft: &StageLayer,
        suffix: Option<&str>,
        dependencies: &mut Vec<usize>,
    ) -> Vec<Input> {
        let mut inputs = Vec::new();
        let mut variables = HashSet::new();
        for (At { value: name, place }, path) in draft.inputs.iter().flatten() {
            let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            let variable = name.to_ascii_uppercase();
            if name.is_empty() || !is_name {
                let advice = "use letters, digits and `_`";
                self.problem(place, format!("`{name}` cannot be part of a variable's name; {advice}"));
            } else if !variables.insert(variable.clone()) {
                self.problem(place, format!("two inputs would both be `CHECKSTONE_INPUT_{variable}`"));
            }
            let source = match self.written.reference(&path.value) {
                Some(reference) => self.output_of(index, &reference, suffix, &path.place),
                None => self.project_input(path),
            };
            if let Some(source) = source {
                dependencies.extend(source.stages());
                inputs.push(Input { name: name.clone(), source });
            }
        }
        inputs
    }

    fn output_of(
        &mut self,
        index: usize,
        reference: &Reference,
        suffix: Option<&str>,
        place: &Place,
    ) -> Option<InputSource> {
        let Reference { draft, is_gathered, path } = reference;
        let (draft, stage) = (*draft, self.written.id(reference.draft));
        let Some(path) = self.written.declared(draft, path) else {
            self.unknown_output(place, draft, path);
            return None;
        };
        if *is_gathered {
            if !self.is_fan_out(draft) {
                self.problem(place, format!("`{stage}` has no instances; write `{stage}/{path}`"));
                return None;
            }
            let stages = self.expansion.stages.get(draft).and_then(Option::as_ref);
            let stages = stages.into_iter().flatten().map(|stage| stage.place).collect();
            return Some(InputSource::Gathered { stages, path });
        }
        if self.is_fan_out(draft) && !self.is_pair(index, draft) && index != draft {
            let message = format!(
                "`{stage}` has instances; write `{stage}/*/{path}` for all of them, or `forEach = \"{stage}\"` for each"
            );
            self.problem(place, message);
            return None;
        }
        let stage = self.stages_of(index, draft, suffix).first().copied()?;
        Some(InputSource::Output { stage, path })
    }

    fn project_input(&mut self, path: &At<String>) -> Option<InputSource> {
        let source = InputSource::Project(PathBuf::from(&path.value));
        if parameters::waits(&path.value) {
            return Some(source);
        }
        match self.inside_root(&path.value) {
            Ok(resolved) if resolved.is_file() => Some(source),
            Ok(resolved) if resolved.is_dir() => {
                match publish::files_up_to(&resolved, self.written.most_files) {
                    Ok(files) if files.is_empty() => {
                        self.problem(&path.place, format!("the folder `{}` has no files", path.value));
                        None
                    }
                    Ok(_) => Some(source),
                    Err(error) => {
                        let why = match &error {
                            PublishError::SymbolicLink { path } => {
                                let link = path.strip_prefix(&resolved).unwrap_or(path).display();
                                format!(
                                    "`{link}` in it is a symbolic link, which is not followed; put a file in its place"
                                )
                            }
                            error => error.to_string(),
                        };
                        self.problem(&path.place, format!("the input `{}`: {why}", path.value));
                        None
                    }
                }
            }
            Ok(_) => {
                let message = format!("the input `{}` is neither a file nor a folder", path.value);
                self.problem(&path.place, message);
                None
            }
            Err(error) => {
                if let Some(index) = self.written.ids.get(&path.value).copied() {
                    let message = self.stage_as_input(index, &path.value);
                    self.problem(&path.place, message);
                    return None;
                }
                let message = match &error {
                    PlanPathError::NotRelative(_) | PlanPathError::LeadsOut(_) => {
                        format!("{error}; {}", self.instead_of(&path.value))
                    }
                    PlanPathError::Missing(path) if path.contains(['*', '?', '[']) => {
                        format!(
                            "{error}; patterns are not expanded: name the folder, and all its files are read"
                        )
                    }
                    error => error.to_string(),
                };
                let stage = path.value.split('/').next().unwrap_or_default();
                match is_stage_id(stage) {
                    true => self.unknown_stage(&path.place, message, stage),
                    false => self.problem(&path.place, message),
                }
                None
            }
        }
    }

    /// What to write for an input that is a stage as a whole.
    fn stage_as_input(&self, index: usize, id: &str) -> String {
        let outputs = self.draft(index).into_iter().flat_map(|draft| draft.outputs.iter().flatten());
        let outputs: Vec<String> = outputs.map(|(_, output)| format!("{id}/{}", output.value)).collect();
        match outputs.is_empty() {
            true => format!("`{id}` is a stage without `outputs`; name it in `dependencies`"),
            false => format!("`{id}` is a stage; an input is one of its outputs: {}", text::listed(outputs)),
        }
    }

    /// What to write for an input that does not lie in the project, or is written as if it did not.
    fn instead_of(&self, path: &str) -> String {
        let resolved = fs_err::canonicalize(self.written.root.join(path)).ok();
        let inside = resolved.as_ref().and_then(|path| path.strip_prefix(&self.written.resolved_root).ok());
        match inside.filter(|inside| !inside.as_os_str().is_empty()) {
            Some(inside) => format!("write `{}`", inside.display()),
            None => "copy it into the project, or pass its path in `environment`, where its content does not count".to_owned(),
        }
    }

    /// Where a path of the plan leads, which is below the root.
    pub(super) fn inside_root(&self, path: &str) -> Result<PathBuf, PlanPathError> {
        let refused = |why: fn(String) -> PlanPathError| Err(why(path.to_owned()));
        let stays = Path::new(path)
            .components()
            .all(|component| matches!(component, Component::Normal(_) | Component::CurDir));
        if path.is_empty() || !stays || path.contains('\0') {
            return refused(PlanPathError::NotRelative);
        }
        match fs_err::canonicalize(self.written.root.join(path)) {
            Ok(resolved) if resolved.starts_with(&self.written.resolved_root) => Ok(resolved),
            Ok(_) => refused(PlanPathError::LeadsOut),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => refused(PlanPathError::Missing),
            Err(source) => Err(PlanPathError::Failed { path: path.to_owned(), source }),
        }
    }

    fn outputs(&mut self, draft: &StageLayer) -> Vec<Output> {
        let mut outputs: Vec<Output> = Vec::new();
        for (name, path) in draft.outputs.iter().flatten() {
            let inner = match inner_path(&path.value) {
                Ok(inner) => inner,
                Err(error) => {
                    let leads_out =
                        path.value.starts_with('/') || path.value.split('/').any(|part| part == "..");
                    let name = path.value.rsplit('/').find(|name| !name.is_empty()).unwrap_or("table.csv");
                    let why = match leads_out {
                        true => {
                            format!("outputs are written into `$CHECKSTONE_ARTIFACT_DIR`; write `{name}`")
                        }
                        false => error.to_string(),
                    };
                    self.problem(&path.place, format!("the output `{}`: {why}", path.value));
                    continue;
                }
            };
            let collides = |other: &Output| {
                let (one, other) = (&inner, &other.path);
                one == other
                    || one.strip_prefix(other.as_str()).is_some_and(|rest| rest.starts_with('/'))
                    || other.strip_prefix(one.as_str()).is_some_and(|rest| rest.starts_with('/'))
            };
            if let Some(other) = outputs.iter().find(|other| collides(other)) {
                let message = format!("the output `{}` collides with `{}`", path.value, other.path);
                self.problem(&path.place, message);
                continue;
            }
            outputs.push(Output { name: name.value.clone(), path: inner, place: path.place.clone() });
        }
        outputs
    }
}

/// A path below a stage's artifacts, each part of it a name that is safe everywhere.
pub(super) fn inner_path(path: &str) -> Result<String, NameError> {
    // `parts/` is a folder.
    let path = path.strip_suffix('/').unwrap_or(path);
    let parts = path.split('/').map(|part| Segment::new("file", part));
    let parts: Vec<String> =
        parts.map(|part| Ok(part?.as_str().to_owned())).collect::<Result<_, NameError>>()?;
    Ok(parts.join("/"))
}

#[derive(Debug, thiserror::Error)]
pub(super) enum PlanPathError {
    #[error("`{0}` must be relative to the project's root and stay inside it")]
    NotRelative(String),
    #[error("`{0}` does not exist")]
    Missing(String),
    #[error("`{0}` leads outside the project")]
    LeadsOut(String),
    #[error("`{path}` cannot be inspected: {source}")]
    Failed { path: String, source: std::io::Error },
}
