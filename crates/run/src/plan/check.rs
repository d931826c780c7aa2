//! From a draft to a plan: what can only be seen when all of it is read. Names and paths that leave their place,
//! inputs that nobody makes, outputs that collide, cycles.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};

use checkpoint::layout::{NameError, Segment};
use settings::{At, Place, Problem, Reader, TableOfKeys as _};

use super::keys::{Grace, Kind, PlanLayer, Python, StageLayer, Stall};
use super::{
    DEFAULT_DURATION, Input, InputSource, LONGEST_WITHOUT_CHECKPOINT, Output, Plan, Program, Stage,
    is_stage_id, order,
};

pub(super) fn check(layer: PlanLayer, root: &Path, reader: &mut Reader<'_>) -> Plan {
    let mut checker = Checker {
        root,
        resolved_root: fs_err::canonicalize(root).unwrap_or_else(|_| root.to_owned()),
        reader,
        ids: HashMap::new(),
        outputs: HashMap::new(),
    };
    let python = Python::finish(layer.python.unwrap_or_default());
    let mut plan = Plan { python, ..Plan::default() };
    match layer.title {
        Some(title) => plan.title = checker.title(&title),
        None => checker.reader.problem(0..0, "the plan has no `title`"),
    }
    let stages = layer.stages.unwrap_or_default();
    if stages.is_empty() {
        checker.reader.problem(0..0, "the plan has no `[[stage]]`");
    }
    checker.learn(&stages);
    for (index, stage) in stages.iter().enumerate() {
        plan.warnings.extend(warning(&stage.value));
        plan.stages.push(checker.stage(index, &stage.value));
    }
    checker.cycles(&stages, &plan);
    plan
}

struct Checker<'a, 'r, 't> {
    root: &'a Path,
    resolved_root: PathBuf,
    reader: &'r mut Reader<'t>,
    /// The place of every stage, by its id.
    ids: HashMap<String, usize>,
    /// What every stage declares to make.
    outputs: HashMap<usize, Vec<String>>,
}

fn warning(stage: &StageLayer) -> Option<Problem> {
    let limit = stage.max_duration.as_ref()?;
    let is_long = limit.value > LONGEST_WITHOUT_CHECKPOINT;
    (is_long && stage.mid_stage_checkpoints != Some(true)).then(|| {
        limit.place.problem(format!(
            "`{}` may run for {} s without a checkpoint; split it, or let it print `[CHECKPOINT:saved:…]` and say \
             `midStageCheckpoints = true`",
            stage.id.as_ref().map_or("the stage", |id| &id.value),
            limit.value.as_secs()
        ))
    })
}

impl Checker<'_, '_, '_> {
    fn problem(&mut self, place: &Place, message: impl Into<String>) {
        self.reader.problems.push(place.problem(message));
    }

    /// A stage that is none of those there are.
    fn unknown_stage(&mut self, place: &Place, message: String, written: &str) {
        self.reader.unknown(place.clone(), message, written, self.ids.keys().map(String::as_str));
    }

    fn title(&mut self, title: &At<String>) -> String {
        match Segment::visible("report title", &title.value) {
            Ok(segment) => segment.as_str().to_owned(),
            Err(error) => {
                self.problem(&title.place, error.to_string());
                String::new()
            }
        }
    }

    /// The ids and outputs of all, before any of them is looked at closely.
    fn learn(&mut self, stages: &[At<StageLayer>]) {
        let mut first: HashMap<&str, usize> = HashMap::new();
        for (index, stage) in stages.iter().enumerate() {
            let declared = stage.value.outputs.iter().flatten();
            let declared = declared.filter_map(|(_, path)| inner_path(&path.value).ok()).collect();
            self.outputs.insert(index, declared);
            let Some(id) = &stage.value.id else { continue };
            if let Some(earlier) = first.get(id.value.as_str()) {
                let line = stages.get(*earlier).map_or(1, |stage| stage.place.line);
                let again =
                    format!("`{}` stands here again; it is already the stage on line {line}", id.value);
                self.problem(&id.place, again);
                continue;
            }
            first.insert(&id.value, index);
            self.ids.insert(id.value.clone(), index);
        }
    }

    fn stage(&mut self, index: usize, draft: &StageLayer) -> Stage {
        if let Some(At { value: id, place }) = &draft.id {
            if !is_stage_id(id) {
                let advice = "write it like `S01_load_data`: number, verb, noun";
                self.problem(place, format!("`{id}` is no stage id; {advice}"));
            } else if let Err(error) = Segment::visible("stage", id) {
                self.problem(place, error.to_string());
            }
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
            let is_file = |word: &String| self.inside_root(word).is_ok_and(|path| path.is_file());
            if words.len() != 1 || !words.iter().all(is_file) {
                let message = "a stage of kind `python` is its code as one string, or `[\"FILE\"]` below the project's root";
                self.problem(&command.place, message);
            }
        }
        let is_retryable = draft.is_retryable.unwrap_or(true);
        if let Some(retries) = &draft.retries
            && retries.value > 0
            && !is_retryable
        {
            self.problem(&retries.place, "a stage with `retryable = false` has no `retries`");
        }
        let mut dependencies = self.dependencies(index, draft);
        let inputs = self.inputs(draft, &mut dependencies);
        dependencies.sort_unstable();
        dependencies.dedup();
        Stage {
            id: draft.id.clone().unwrap_or_default().value,
            goal: draft.goal.clone().unwrap_or_default().value,
            kind: draft.kind.unwrap_or(Kind::Command),
            command: draft.command.clone().unwrap_or_default().value,
            verify: draft.verify.clone(),
            environment: self.environment(draft),
            directory: self.directory(draft),
            inputs,
            outputs: self.outputs(draft),
            max_duration: draft.max_duration.as_ref().map_or(DEFAULT_DURATION, |limit| limit.value),
            dependencies,
            is_retryable,
            retries: draft.retries.as_ref().map_or(0, |retries| retries.value),
            checkpoint_after: draft.checkpoint_after.unwrap_or(true),
            stall: Stall::finish(draft.stall.clone().unwrap_or_default()),
            grace: Grace::finish(draft.grace.clone().unwrap_or_default()),
        }
    }

    fn dependencies(&mut self, index: usize, draft: &StageLayer) -> Vec<usize> {
        let mut dependencies = Vec::new();
        for name in draft.dependencies.iter().flatten() {
            match self.ids.get(&name.value).copied() {
                Some(on) if on == index => self.problem(&name.place, "a stage cannot depend on itself"),
                Some(on) => dependencies.push(on),
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
                self.problem(&name.place, format!("`{text}` is set by checkstone itself; take another name"));
            }
        }
        let pairs = draft.environment.iter().flatten();
        pairs.map(|(name, value)| (name.value.clone(), value.value.clone())).collect()
    }

    fn directory(&mut self, draft: &StageLayer) -> PathBuf {
        let Some(directory) = &draft.directory else { return PathBuf::new() };
        match self.inside_root(&directory.value) {
            Ok(resolved) if resolved.is_dir() => {}
            Ok(_) => self.problem(&directory.place, format!("`{}` is not a folder", directory.value)),
            Err(error) => self.problem(&directory.place, error.to_string()),
        }
        PathBuf::from(&directory.value)
    }

    fn inputs(&mut self, draft: &StageLayer, dependencies: &mut Vec<usize>) -> Vec<Input> {
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
            if let Some(source) = self.input(path) {
                if let InputSource::Output { stage, .. } = source {
                    dependencies.push(stage);
                }
                inputs.push(Input { name: name.clone(), source });
            }
        }
        inputs
    }

    fn input(&mut self, path: &At<String>) -> Option<InputSource> {
        if let Some((stage, output)) = path.value.split_once('/')
            && let Some(index) = self.ids.get(stage).copied()
        {
            let declared = self.outputs.get(&index).cloned().unwrap_or_default();
            // The same file may be written in two ways.
            let wanted = inner_path(output).unwrap_or_default();
            if declared.contains(&wanted) {
                return Some(InputSource::Output { stage: index, path: wanted });
            }
            let message = format!("`{stage}` has no output `{output}`");
            self.reader.unknown(path.place.clone(), message, output, declared.iter().map(String::as_str));
            return None;
        }
        match self.inside_root(&path.value) {
            Ok(resolved) if resolved.is_file() => Some(InputSource::File(PathBuf::from(&path.value))),
            Ok(_) => {
                self.problem(&path.place, format!("the input `{}` is not a regular file", path.value));
                None
            }
            Err(error) => {
                let message = error.to_string();
                let stage = path.value.split('/').next().unwrap_or_default();
                match is_stage_id(stage) {
                    true => self.unknown_stage(&path.place, message, stage),
                    false => self.problem(&path.place, message),
                }
                None
            }
        }
    }

    /// Where a path of the plan leads, which is below the root.
    fn inside_root(&self, path: &str) -> Result<PathBuf, PlanPathError> {
        let refused = |why: fn(String) -> PlanPathError| Err(why(path.to_owned()));
        let stays = Path::new(path)
            .components()
            .all(|component| matches!(component, Component::Normal(_) | Component::CurDir));
        if path.is_empty() || !stays || path.contains('\0') {
            return refused(PlanPathError::NotRelative);
        }
        match fs_err::canonicalize(self.root.join(path)) {
            Ok(resolved) if resolved.starts_with(&self.resolved_root) => Ok(resolved),
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
                    self.problem(&path.place, format!("the output `{}`: {error}", path.value));
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
            outputs.push(Output { name: name.value.clone(), path: inner });
        }
        outputs
    }

    fn cycles(&mut self, stages: &[At<StageLayer>], plan: &Plan) {
        let dependencies: Vec<&[usize]> =
            plan.stages.iter().map(|stage| stage.dependencies.as_slice()).collect();
        for cycle in order::cycles(&dependencies) {
            let Some(first) = cycle.first().copied() else { continue };
            let names: Vec<&str> = cycle
                .iter()
                .chain([&first])
                .filter_map(|index| plan.stages.get(*index).map(|stage| stage.id.as_str()))
                .collect();
            let place = stages.get(first).map(|stage| stage.place.clone()).unwrap_or_default();
            self.problem(&place, format!("these stages wait for each other: {}", names.join(" → ")));
        }
    }
}

/// A path below a stage's artifacts, each part of it a name that is safe everywhere.
fn inner_path(path: &str) -> Result<String, NameError> {
    let parts = path.split('/').map(|part| Segment::new("file", part));
    let parts: Vec<String> =
        parts.map(|part| Ok(part?.as_str().to_owned())).collect::<Result<_, NameError>>()?;
    Ok(parts.join("/"))
}

#[derive(Debug, thiserror::Error)]
enum PlanPathError {
    #[error("`{0}` must be relative to the project's root and stay inside it")]
    NotRelative(String),
    #[error("`{0}` does not exist")]
    Missing(String),
    #[error("`{0}` leads out of the project")]
    LeadsOut(String),
    #[error("`{path}` cannot be looked at: {source}")]
    Failed { path: String, source: std::io::Error },
}
