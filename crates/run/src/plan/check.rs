//! From a draft to a plan: what can only be seen when all of it is read. Names and paths that leave their place,
//! inputs that nobody makes, outputs that collide, cycles.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};

use checkpoint::layout::Segment;

use super::file::{At, Draft, Places, StageDraft};
use super::problem::Problem;
use super::{
    DEFAULT_DURATION, Input, InputSource, Kind, LONGEST_WITHOUT_CHECKPOINT, Output, Plan, Program, Stage,
    is_stage_id, order,
};

pub(super) fn check(draft: Draft<'_>, root: &Path, problems: &mut Vec<Problem>) -> Plan {
    let Draft { places, title, python, stages, is_text_sound } = draft;
    let mut checker = Checker {
        places,
        root,
        resolved_root: fs_err::canonicalize(root).unwrap_or_else(|_| root.to_owned()),
        problems,
        ids: HashMap::new(),
        outputs: HashMap::new(),
    };
    let mut plan = Plan { title: String::new(), python, stages: Vec::new(), warnings: Vec::new() };
    if !is_text_sound {
        return plan;
    }
    match title {
        Some(title) => plan.title = checker.title(&title),
        None => checker.problem(&(0..0), "the plan has no `title`"),
    }
    if stages.is_empty() {
        checker.problem(&(0..0), "the plan has no `[[stage]]`");
    }
    checker.learn(&stages);
    for (index, stage) in stages.iter().enumerate() {
        if let Some(warning) = checker.warning(stage) {
            plan.warnings.push(warning);
        }
        let stage = checker.stage(index, stage);
        plan.stages.push(stage);
    }
    checker.cycles(&stages, &plan);
    plan
}

struct Checker<'a, 'p> {
    places: Places<'a>,
    root: &'a Path,
    resolved_root: PathBuf,
    problems: &'p mut Vec<Problem>,
    /// The place of every stage, by its id.
    ids: HashMap<String, usize>,
    /// What every stage declares to make.
    outputs: HashMap<usize, Vec<String>>,
}

impl Checker<'_, '_> {
    fn problem(&mut self, span: &std::ops::Range<usize>, message: impl Into<String>) {
        self.problems.push(self.places.problem(span, message.into()));
    }

    fn title(&mut self, title: &At<String>) -> String {
        match Segment::visible("report title", &title.value) {
            Ok(segment) => segment.as_str().to_owned(),
            Err(error) => {
                self.problem(&title.span, error.to_string());
                String::new()
            }
        }
    }

    /// The ids and outputs of all, before any of them is looked at closely.
    fn learn(&mut self, stages: &[StageDraft]) {
        let mut first: HashMap<&str, usize> = HashMap::new();
        for (index, stage) in stages.iter().enumerate() {
            let declared =
                stage.outputs.iter().filter_map(|(_, path)| inner_path(&path.value).ok()).collect();
            self.outputs.insert(index, declared);
            let Some(id) = &stage.id else { continue };
            if let Some(earlier) = first.get(id.value.as_str()) {
                let line = self.places.line(&stages.get(*earlier).map_or(0..0, |stage| stage.span.clone()));
                self.problem(
                    &id.span,
                    format!("`{}` stands here again; it is already the stage on line {line}", id.value),
                );
                continue;
            }
            first.insert(&id.value, index);
            self.ids.insert(id.value.clone(), index);
        }
    }

    fn warning(&self, stage: &StageDraft) -> Option<Problem> {
        let limit = stage.max_duration.as_ref()?;
        let is_long = limit.value > LONGEST_WITHOUT_CHECKPOINT;
        (is_long && stage.mid_stage_checkpoints != Some(true)).then(|| {
            self.places.problem(
                &limit.span,
                format!(
                    "`{}` may run for {} s without a checkpoint; split it, or let it print `[CHECKPOINT:saved:…]` and \
                     say `midStageCheckpoints = true`",
                    stage.name(),
                    limit.value.as_secs()
                ),
            )
        })
    }

    fn stage(&mut self, index: usize, draft: &StageDraft) -> Stage {
        for key in ["stageId", "goal", "command"] {
            if !draft.written.iter().any(|written| written == key) {
                self.problem(&draft.span, format!("{} has no `{key}`", draft.name()));
            }
        }
        if let Some(id) = &draft.id {
            if !is_stage_id(&id.value) {
                self.problem(
                    &id.span,
                    format!(
                        "`{}` is no stage id; write it like `S01_load_data`: number, verb, noun",
                        id.value
                    ),
                );
            } else if let Err(error) = Segment::visible("stage", &id.value) {
                self.problem(&id.span, error.to_string());
            }
        }
        if let Some(goal) = &draft.goal {
            let length = goal.value.chars().count();
            if !(10..=200).contains(&length) {
                self.problem(
                    &goal.span,
                    format!("a goal is 10 to 200 characters long; this one has {length}"),
                );
            }
        }
        if let Some(command) = &draft.command
            && draft.kind.as_ref().is_some_and(|kind| kind.value == Kind::Python)
            && let Program::Words(words) = &command.value
        {
            let is_file = match words.as_slice() {
                [word] => self.inside_root(word).is_ok_and(|path| path.is_file()),
                _ => false,
            };
            if !is_file {
                self.problem(
                    &command.span,
                    "a stage of kind `python` is its code as one string, or `[\"FILE\"]` below the project's root",
                );
            }
        }
        let is_retryable = draft.is_retryable.unwrap_or(true);
        if let Some(retries) = &draft.retries
            && retries.value > 0
            && !is_retryable
        {
            self.problem(&retries.span, "a stage with `retryable = false` has no `retries`");
        }
        let mut dependencies = self.dependencies(index, draft);
        let inputs = self.inputs(draft, &mut dependencies);
        dependencies.sort_unstable();
        dependencies.dedup();
        Stage {
            id: draft.id.as_ref().map(|id| id.value.clone()).unwrap_or_default(),
            goal: draft.goal.as_ref().map(|goal| goal.value.clone()).unwrap_or_default(),
            kind: draft.kind.as_ref().map_or(Kind::Command, |kind| kind.value),
            command: draft
                .command
                .as_ref()
                .map_or_else(|| Program::Words(Vec::new()), |command| command.value.clone()),
            verify: draft.verify.as_ref().map(|verify| verify.value.clone()),
            environment: self.environment(draft),
            directory: self.directory(draft),
            inputs,
            outputs: self.outputs(draft),
            max_duration: draft.max_duration.as_ref().map_or(DEFAULT_DURATION, |limit| limit.value),
            dependencies,
            is_retryable,
            retries: draft.retries.as_ref().map_or(0, |retries| retries.value),
            checkpoint_after: draft.checkpoint_after.unwrap_or(true),
            stall: draft.stall,
            grace: draft.grace,
        }
    }

    fn dependencies(&mut self, index: usize, draft: &StageDraft) -> Vec<usize> {
        let mut dependencies = Vec::new();
        for name in &draft.dependencies {
            match self.ids.get(&name.value).copied() {
                Some(on) if on == index => self.problem(&name.span, "a stage cannot depend on itself"),
                Some(on) => dependencies.push(on),
                None => {
                    let meant = self.places.meant(&name.value, self.ids.keys().map(String::as_str));
                    self.problem(&name.span, format!("there is no stage `{}`{meant}", name.value));
                }
            }
        }
        dependencies
    }

    fn environment(&mut self, draft: &StageDraft) -> Vec<(String, String)> {
        for (name, value) in &draft.environment {
            let text = &name.value;
            if text.is_empty() || text.contains(['=', '\0']) || value.contains('\0') {
                self.problem(&name.span, format!("`{text}` cannot be an environment variable"));
            } else if text.starts_with("CHECKSTONE_") {
                self.problem(&name.span, format!("`{text}` is set by checkstone itself; take another name"));
            }
        }
        draft.environment.iter().map(|(name, value)| (name.value.clone(), value.clone())).collect()
    }

    fn directory(&mut self, draft: &StageDraft) -> PathBuf {
        let Some(directory) = &draft.directory else { return PathBuf::new() };
        match self.inside_root(&directory.value) {
            Ok(resolved) if resolved.is_dir() => {}
            Ok(_) => self.problem(&directory.span, format!("`{}` is not a folder", directory.value)),
            Err(message) => self.problem(&directory.span, message),
        }
        PathBuf::from(&directory.value)
    }

    fn inputs(&mut self, draft: &StageDraft, dependencies: &mut Vec<usize>) -> Vec<Input> {
        let mut inputs = Vec::new();
        let mut variables = HashSet::new();
        for (name, path) in &draft.inputs {
            let is_name = name.value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if name.value.is_empty() || !is_name {
                self.problem(
                    &name.span,
                    format!(
                        "`{}` cannot be part of a variable's name; use letters, digits and `_`",
                        name.value
                    ),
                );
            } else if !variables.insert(name.value.to_ascii_uppercase()) {
                self.problem(
                    &name.span,
                    format!(
                        "two inputs would both be `CHECKSTONE_INPUT_{}`",
                        name.value.to_ascii_uppercase()
                    ),
                );
            }
            if let Some(source) = self.input(path) {
                if let InputSource::Output { stage, .. } = source {
                    dependencies.push(stage);
                }
                inputs.push(Input { name: name.value.clone(), source });
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
            let meant = self.places.meant(output, declared.iter().map(String::as_str));
            self.problem(&path.span, format!("`{stage}` has no output `{output}`{meant}"));
            return None;
        }
        match self.inside_root(&path.value) {
            Ok(resolved) if resolved.is_file() => Some(InputSource::File(PathBuf::from(&path.value))),
            Ok(_) => {
                self.problem(&path.span, format!("the input `{}` is not a regular file", path.value));
                None
            }
            Err(message) => {
                let stage = path.value.split('/').next().unwrap_or_default();
                let meant = if is_stage_id(stage) {
                    self.places.meant(stage, self.ids.keys().map(String::as_str))
                } else {
                    String::new()
                };
                self.problem(&path.span, format!("{message}{meant}"));
                None
            }
        }
    }

    /// Where a path of the plan leads, which is below the root.
    fn inside_root(&self, path: &str) -> Result<PathBuf, String> {
        let stays = Path::new(path)
            .components()
            .all(|component| matches!(component, Component::Normal(_) | Component::CurDir));
        if path.is_empty() || !stays || path.contains('\0') {
            return Err(format!("`{path}` must be relative to the project's root and stay inside it"));
        }
        let resolved = fs_err::canonicalize(self.root.join(path)).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => format!("`{path}` does not exist"),
            _ => format!("`{path}` cannot be looked at: {error}"),
        })?;
        if resolved.starts_with(&self.resolved_root) {
            Ok(resolved)
        } else {
            Err(format!("`{path}` leads out of the project"))
        }
    }

    fn outputs(&mut self, draft: &StageDraft) -> Vec<Output> {
        let mut outputs: Vec<Output> = Vec::new();
        for (name, path) in &draft.outputs {
            let inner = match inner_path(&path.value) {
                Ok(inner) => inner,
                Err(message) => {
                    self.problem(&path.span, format!("the output `{}`: {message}", path.value));
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
                self.problem(&path.span, message);
                continue;
            }
            outputs.push(Output { name: name.value.clone(), path: inner });
        }
        outputs
    }

    fn cycles(&mut self, drafts: &[StageDraft], plan: &Plan) {
        let dependencies: Vec<&[usize]> =
            plan.stages.iter().map(|stage| stage.dependencies.as_slice()).collect();
        for cycle in order::cycles(&dependencies) {
            let Some(first) = cycle.first().copied() else { continue };
            let names: Vec<&str> = cycle
                .iter()
                .chain([&first])
                .filter_map(|index| plan.stages.get(*index).map(|stage| stage.id.as_str()))
                .collect();
            let span = drafts.get(first).map_or(0..0, |draft| draft.span.clone());
            self.problem(&span, format!("these stages wait for each other: {}", names.join(" → ")));
        }
    }
}

impl StageDraft {
    fn name(&self) -> &str {
        self.id.as_ref().map_or("the stage", |id| &id.value)
    }
}

/// A path below a stage's artifacts, each part of it a name that is safe everywhere.
fn inner_path(path: &str) -> Result<String, String> {
    let parts: Vec<String> = path
        .split('/')
        .map(|part| Segment::new("file", part).map(|segment| segment.as_str().to_owned()))
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())?;
    Ok(parts.join("/"))
}
