//! From what is written to the stages that run: which instances a stage has, who refers to whom, and what has to wait for a
//! list that an earlier stage makes.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use settings::{At, Place, Problems, Quoting, Reader};

use super::check::{Checker, inner_path};
use super::fan_out::{self, Axis, AxisValues, ForEachLayer, Instance, ListError, ListKind, ListValues};
use super::keys::{Kind, StageLayer};
use super::parameters::{self, Filling, Parameters, Scalar};
use super::{DEFAULT_DURATION, Plan, WaitingStage, order};

/// The plan file, read but not expanded. A *draft* is a `[[stage]]` of it.
#[derive(Clone, Debug, Default)]
pub(super) struct WrittenPlan {
    /// How it is called in messages.
    pub(super) file: String,
    pub(super) text: String,
    pub(super) root: PathBuf,
    pub(super) resolved_root: PathBuf,
    pub(super) parameters: Parameters,
    /// What of them was set from outside, as NAME=VALUE.
    pub(super) set: Vec<String>,
    pub(super) most_instances: usize,
    pub(super) most_files: usize,
    pub(super) drafts: Vec<At<StageLayer>>,
    /// Where each draft is, by its id.
    pub(super) ids: HashMap<String, usize>,
}

/// How far a plan is expanded.
#[derive(Clone, Debug, Default)]
pub(super) struct Expansion {
    /// The stages of each draft, as places in `Plan::stages`; `None` while it waits.
    pub(super) stages: Vec<Option<Vec<StageOfDraft>>>,
    /// Drafts that have no stages yet.
    waiting: usize,
    /// Lists that stages have made, by draft and name.
    lists: HashMap<(usize, String), Vec<Scalar>>,
}

impl Expansion {
    /// It has no stages, and none will come.
    fn is_left_out(&self, draft: usize) -> bool {
        matches!(self.stages.get(draft), Some(Some(stages)) if stages.is_empty())
    }
}

/// Whose turn it is in the Python session.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum SessionTurn {
    /// A place in `Plan::stages`.
    Stage(usize),
    /// The instances of this stage of the file, which are not known yet.
    Waiting(String),
}

#[derive(Clone, Debug)]
pub(super) struct StageOfDraft {
    pub(super) suffix: Option<String>,
    pub(super) place: usize,
}

/// An output of another draft that a text names.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    pub(super) draft: usize,
    /// `STAGE/*/PATH`: of all its instances.
    pub(super) is_gathered: bool,
    pub(super) path: String,
}

impl WrittenPlan {
    fn draft(&self, index: usize) -> Option<&StageLayer> {
        self.drafts.get(index).map(|draft| &draft.value)
    }

    pub(super) fn id(&self, index: usize) -> &str {
        self.draft(index).and_then(|draft| draft.id.as_ref()).map_or("", |id| &id.value)
    }

    /// Where a piece of a text stands that begins at `from`.
    pub(super) fn place_of(&self, piece: &str, from: &Place) -> Place {
        let lines = self.text.lines().enumerate().skip(from.line.saturating_sub(1));
        let mut found = lines.filter_map(|(index, line)| Some((index + 1, line, line.find(piece)?)));
        found.next().map_or_else(
            || from.clone(),
            |(line, text, at)| {
                let column = text.get(..at).unwrap_or_default().chars().count() + 1;
                Place { line, column, ..from.clone() }
            },
        )
    }

    /// The draft whose output a path names.
    pub(super) fn reference(&self, path: &str) -> Option<Reference> {
        let (stage, rest) = path.split_once('/')?;
        let draft = *self.ids.get(stage)?;
        let (is_gathered, rest) = match rest.strip_prefix("*/") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        Some(Reference { draft, is_gathered, path: rest.trim_end_matches('/').to_owned() })
    }

    /// The path of an output that the draft declares: by its path, by its name, or below a folder that it declares.
    pub(super) fn declared(&self, index: usize, wanted: &str) -> Option<String> {
        let outputs = || self.draft(index).into_iter().flat_map(|draft| draft.outputs.iter().flatten());
        let path = |path: &At<String>| inner_path(&path.value).ok();
        if let Some((_, named)) = outputs().find(|(name, _)| name.value == wanted) {
            return path(named);
        }
        // What is filled in later is looked for then.
        let inner = if parameters::waits(wanted) { wanted.to_owned() } else { inner_path(wanted).ok()? };
        let is_in = |output: String| {
            output == inner || inner.strip_prefix(&output).is_some_and(|rest| rest.starts_with('/'))
        };
        outputs().filter_map(|(_, output)| path(output)).any(is_in).then_some(inner)
    }

    /// Lists of a draft that are outputs of other ones: the name, and where it comes from.
    fn lists_of(&self, index: usize) -> Vec<(&Axis, ListKind, Reference)> {
        let Some(ForEachLayer::Axes(axes)) = self.draft(index).and_then(|draft| draft.for_each.as_ref())
        else {
            return Vec::new();
        };
        let from = |axis: &'_ Axis| match &axis.values {
            AxisValues::In(kind, path) => self.reference(&path.value).map(|reference| (*kind, reference)),
            _ => None,
        };
        axes.iter().filter_map(|axis| from(axis).map(|(kind, reference)| (axis, kind, reference))).collect()
    }

    /// The drafts that have to be complete before this one, as far as they are named in it.
    fn references(&self, index: usize) -> Vec<usize> {
        let Some(draft) = self.draft(index) else { return Vec::new() };
        let named = draft.dependencies.iter().flatten().filter_map(|name| self.ids.get(&name.value).copied());
        // A stage that names itself is another mistake.
        let named = named.filter(|on| *on != index);
        let inputs = draft.inputs.iter().flatten();
        let inputs = inputs.filter_map(|(_, path)| self.reference(&path.value)).map(|found| found.draft);
        let lists = self.lists_of(index).into_iter().map(|(_, _, reference)| reference.draft);
        let paired = match &draft.for_each {
            Some(ForEachLayer::Stage(stage)) => self.ids.get(&stage.value).copied(),
            _ => None,
        };
        let mut all: Vec<usize> = named.chain(inputs).chain(lists).chain(paired).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Drafts that cannot be expanded before some list is there.
    fn later(&self, expansion: &Expansion) -> Vec<bool> {
        let is_unknown = |index: usize| {
            // Nobody waits for a list that is not made at all.
            let mut lists = self.lists_of(index).into_iter();
            lists.any(|(axis, _, reference)| {
                !expansion.lists.contains_key(&(index, axis.name.value.clone()))
                    && !expansion.is_left_out(reference.draft)
            })
        };
        let mut later: Vec<bool> = (0..self.drafts.len()).map(is_unknown).collect();
        let mut is_changing = later.contains(&true);
        let is_later = |later: &[bool], index: usize| later.get(index).copied().unwrap_or(false);
        while is_changing {
            is_changing = false;
            for index in 0..self.drafts.len() {
                if !is_later(&later, index) && self.references(index).iter().any(|on| is_later(&later, *on)) {
                    if let Some(here) = later.get_mut(index) {
                        *here = true;
                    }
                    is_changing = true;
                }
            }
        }
        later
    }
}

impl Plan {
    /// With what can be expanded now that a stage is complete, whose artifacts lie in `published`. `None` if no stage
    /// waits for it. The stages that there are stay where they are.
    pub fn grown(&self, stage: usize, published: &Path) -> Result<Option<Self>, Problems> {
        let is_it = |(_, stages): &(usize, &Option<Vec<StageOfDraft>>)| {
            stages.iter().flatten().any(|known| known.place == stage)
        };
        let Some((draft, _)) = self.expansion.stages.iter().enumerate().find(is_it) else { return Ok(None) };
        let is_new = |(index, (axis, _, reference)): &(usize, (&Axis, ListKind, Reference))| {
            reference.draft == draft && !self.expansion.lists.contains_key(&(*index, axis.name.value.clone()))
        };
        let lists = (0..self.written.drafts.len())
            .flat_map(|index| self.written.lists_of(index).into_iter().map(move |list| (index, list)));
        let lists: Vec<(usize, (&Axis, ListKind, Reference))> = lists.filter(is_new).collect();
        if lists.is_empty() {
            return Ok(None);
        }
        let mut plan = self.clone();
        let mut reader = Reader::new(&self.written.file, &self.written.text, Quoting::Values);
        for (index, (axis, kind, reference)) in lists {
            let key = (index, axis.name.value.clone());
            let shown = format!("{}/{}", self.written.id(draft), reference.path);
            let path = published.join(self.written.declared(draft, &reference.path).unwrap_or_default());
            match fan_out::items(kind, &path, &shown, self.written.most_instances) {
                Ok(ListValues { values, repeated }) => {
                    plan.warnings.extend(repeated.map(|told| list_place(axis).problem(told)));
                    plan.expansion.lists.insert(key, values);
                }
                Err(error) => reader.problems.push(list_place(axis).problem(error.to_string())),
            }
        }
        if reader.problems.is_empty() {
            let written = std::sync::Arc::clone(&self.written);
            Checker::new(&written, &mut reader, std::mem::take(&mut plan.expansion)).expand(&mut plan);
        }
        if reader.problems.is_empty() { Ok(Some(plan)) } else { Err(Problems::sorted(reader.problems)) }
    }

    /// The stages of the session, in the order of the file as far as dependencies allow: with a place for those that are
    /// not known yet, so that it does not matter when they become known.
    pub(crate) fn session_turns(&self) -> Vec<SessionTurn> {
        let references: Vec<Vec<usize>> =
            (0..self.written.drafts.len()).map(|index| self.written.references(index)).collect();
        let references: Vec<&[usize]> = references.iter().map(Vec::as_slice).collect();
        let is_python =
            |index: &usize| self.written.draft(*index).is_some_and(|draft| draft.kind == Some(Kind::Python));
        let drafts = order::sorted(&references).into_iter().filter(is_python);
        let turns = drafts.flat_map(|index| match self.expansion.stages.get(index) {
            Some(Some(stages)) => stages.iter().map(|stage| SessionTurn::Stage(stage.place)).collect(),
            _ => vec![SessionTurn::Waiting(self.written.id(index).to_owned())],
        });
        turns.collect()
    }

    /// Whether all its stages are known.
    pub(crate) fn is_whole(&self) -> bool {
        self.expansion.waiting == 0
    }

    /// The stages with their goals, in the order of the file; a fan-out that waits for its list by the id that the plan has.
    pub fn goals(&self) -> Vec<(String, String)> {
        let of_draft = |index: usize| self.written.draft(index)?.goal.as_ref().map(|goal| goal.value.clone());
        let drafts = self.expansion.stages.iter().enumerate();
        drafts
            .flat_map(|(index, known)| match known {
                Some(known) => {
                    let stages = known.iter().filter_map(|known| self.stages.get(known.place));
                    stages.map(|stage| (stage.id.clone(), stage.goal.clone())).collect()
                }
                None => vec![(self.written.id(index).to_owned(), of_draft(index).unwrap_or_default())],
            })
            .collect()
    }

    /// What is to run, and cannot be said yet: it waits for a list that a stage makes.
    pub fn waiting(&self) -> Vec<WaitingStage> {
        let drafts = self.expansion.stages.iter().enumerate().filter(|(_, stages)| stages.is_none());
        let waiting = drafts.map(|(index, _)| WaitingStage {
            id: self.written.id(index).to_owned(),
            max_duration: (self.written.draft(index).and_then(|draft| draft.max_duration.as_ref()))
                .map_or(DEFAULT_DURATION, |limit| limit.value),
            waits_for: (self.written.references(index).into_iter())
                .map(|on| self.written.id(on).to_owned())
                .collect(),
            is_fan_out: self.written.draft(index).is_some_and(|draft| draft.for_each.is_some()),
        });
        waiting.collect()
    }
}

/// Where a list is written.
fn list_place(axis: &Axis) -> &Place {
    match &axis.values {
        AxisValues::In(_, at) | AxisValues::Parameter(at) => &at.place,
        AxisValues::List(_) => &axis.name.place,
    }
}

impl Checker<'_, '_, '_> {
    /// Stages that wait for each other, fan-outs included.
    pub(super) fn cycles(&mut self) {
        let references: Vec<Vec<usize>> =
            (0..self.written.drafts.len()).map(|index| self.written.references(index)).collect();
        let references: Vec<&[usize]> = references.iter().map(Vec::as_slice).collect();
        for cycle in order::cycles(&references) {
            let Some(first) = cycle.first().copied() else { continue };
            let names: Vec<&str> =
                cycle.iter().chain([&first]).map(|index| self.written.id(*index)).collect();
            let place = self.written.drafts.get(first).map(|draft| draft.place.clone()).unwrap_or_default();
            self.problem(&place, format!("these stages wait for each other: {}", names.join(" → ")));
        }
    }

    /// Expands every draft that nothing keeps from it, in the order of the file, and looks at the others as far as that goes.
    pub(super) fn expand(mut self, plan: &mut Plan) {
        self.expansion.stages.resize(self.written.drafts.len(), None);
        let mut found: Vec<(usize, Vec<Instance>)> = Vec::new();
        let mut later = Vec::new();
        let mut count = usize::MAX;
        // What is left out may have been all that others waited for.
        while count != found.len() {
            count = found.len();
            later = self.written.later(&self.expansion);
            for (index, is_later) in later.iter().enumerate() {
                let is_new = self.expansion.stages.get(index).is_none_or(Option::is_none)
                    && !found.iter().any(|(known, _)| *known == index);
                if !is_later && is_new {
                    let instances = self.instances(index);
                    found.push((index, instances));
                }
            }
            self.leave_out(&mut found);
            for (index, _) in found.iter().filter(|(_, instances)| instances.is_empty()) {
                if let Some(stages) = self.expansion.stages.get_mut(*index) {
                    *stages = Some(Vec::new());
                }
            }
        }
        found.sort_by_key(|(index, _)| *index);
        let left_out = found.iter().filter(|(_, instances)| instances.is_empty());
        plan.left_out.extend(left_out.map(|(index, _)| self.written.id(*index).to_owned()));
        let mut ids: HashSet<String> = self.written.ids.keys().cloned().collect();
        ids.extend(plan.stages.iter().map(|stage| stage.id.clone()));
        let mut place = plan.stages.len();
        for (index, instances) in &found {
            let of_draft = instances.iter().map(|instance| {
                place += 1;
                StageOfDraft { suffix: instance.suffix.clone(), place: place - 1 }
            });
            let of_draft: Vec<StageOfDraft> = of_draft.collect();
            for stage in of_draft.iter().filter(|stage| stage.suffix.is_some()) {
                self.taken_id(*index, stage, &mut ids);
            }
            if let Some(stages) = self.expansion.stages.get_mut(*index) {
                *stages = Some(of_draft);
            }
        }
        let mut unknown: Vec<usize> =
            (0..later.len()).filter(|index| later.get(*index) == Some(&true)).collect();
        for (index, instances) in found {
            if instances.is_empty() {
                unknown.push(index);
            }
            for instance in instances {
                plan.stages.push(self.stage(index, &instance));
            }
        }
        // What has no instances is looked at with one in the place of all, whose values are not known.
        for index in unknown {
            self.check_lists(index);
            self.stage(index, &Instance::default());
        }
        self.expansion.waiting = self.expansion.stages.iter().filter(|stages| stages.is_none()).count();
        plan.expansion = self.expansion;
        plan.warnings.extend(self.warnings);
    }

    fn taken_id(&mut self, index: usize, stage: &StageOfDraft, ids: &mut HashSet<String>) {
        let id = stage_id(self.written.id(index), stage.suffix.as_deref());
        if !ids.insert(id.clone()) {
            let place = self.draft(index).and_then(|draft| draft.id.as_ref()).map(|id| id.place.clone());
            let message = format!("an instance would be called `{id}`, which is another stage");
            self.problem(&place.unwrap_or_default(), message);
        }
    }

    /// The instances of a draft whose lists are all known, without those whose condition does not hold.
    fn instances(&mut self, index: usize) -> Vec<Instance> {
        let Some(draft) = self.draft(index) else { return Vec::new() };
        let lists = self.written.lists_of(index);
        if lists.iter().any(|(_, _, reference)| self.expansion.is_left_out(reference.draft)) {
            return Vec::new();
        }
        let mut instances = match &draft.for_each {
            None => vec![Instance::default()],
            Some(ForEachLayer::Stage(stage)) => match self.written.ids.get(&stage.value).copied() {
                // Of a stage that has no instances there is one.
                Some(on) if on != index && !self.is_paired_with(on, index) => self.instances(on),
                _ => Vec::new(),
            },
            Some(ForEachLayer::Axes(axes)) => self.combinations(index, axes),
        };
        if let Some(when) = &draft.when {
            instances.retain(|instance| self.holds(when, &instance.parameters));
        }
        instances
    }

    /// Whether going from stage to stage by `forEach` leads from the one to the other.
    fn is_paired_with(&self, from: usize, to: usize) -> bool {
        let mut at = from;
        for _ in 0..self.written.drafts.len() {
            if at == to {
                return true;
            }
            match self.draft(at).and_then(|draft| draft.for_each.as_ref()) {
                Some(ForEachLayer::Stage(stage)) => match self.written.ids.get(&stage.value) {
                    Some(next) => at = *next,
                    None => return false,
                },
                _ => return false,
            }
        }
        true
    }

    fn combinations(&mut self, index: usize, axes: &[Axis]) -> Vec<Instance> {
        let mut lists = Vec::new();
        let mut is_whole = true;
        for axis in axes {
            match self.list(index, axis) {
                Ok(ListValues { values, repeated }) => {
                    lists.push((axis.name.value.clone(), values));
                    let warning = repeated.map(|told| list_place(axis).problem(told));
                    // Stages that have the same instances ask for them again.
                    self.warnings.extend(warning.filter(|warning| !self.warnings.contains(warning)));
                }
                Err(error) => {
                    is_whole = false;
                    self.list_problem(axis, &error);
                }
            }
        }
        if !is_whole {
            return Vec::new();
        }
        fan_out::combinations(&lists, self.written.most_instances).unwrap_or_else(|error| {
            let empty = lists.iter().position(|(_, values)| values.is_empty()).unwrap_or(0);
            if let Some(axis) = axes.get(empty) {
                self.list_problem(axis, &error);
            }
            Vec::new()
        })
    }

    fn list(&mut self, index: usize, axis: &Axis) -> Result<ListValues, ListError> {
        if let Some(values) = self.expansion.lists.get(&(index, axis.name.value.clone())) {
            return Ok(ListValues { values: values.clone(), repeated: None });
        }
        if let Some(values) = fan_out::in_plan(&axis.values, &self.written.parameters) {
            return values;
        }
        let AxisValues::In(kind, path) = &axis.values else { return Ok(ListValues::default()) };
        let found = match self.inside_root(&path.value) {
            Ok(found) => found,
            Err(error) => {
                self.problem(&path.place, error.to_string());
                // It is told; one instance stands for all, so that the rest of it is looked at.
                return Ok(ListValues { values: vec![Scalar::Boolean(true)], repeated: None });
            }
        };
        fan_out::items(*kind, &found, &path.value, self.written.most_instances)
    }

    fn list_problem(&mut self, axis: &Axis, error: &ListError) {
        let place = list_place(axis).clone();
        if let ListError::NoParameter(name) = error {
            let known = self.written.parameters.names();
            self.reader.unknown(place, error.to_string(), name, known);
        } else {
            self.problem(&place, error.to_string());
        }
    }

    /// Lists that other stages make: of one stage, and of an output that it has.
    fn check_lists(&mut self, index: usize) {
        for (axis, _, reference) in self.written.lists_of(index) {
            let stage = self.written.id(reference.draft);
            if self.is_fan_out(reference.draft) {
                let message = format!("`{stage}` has instances; a list must come from a single stage");
                self.problem(list_place(axis), message);
            } else if self.written.declared(reference.draft, &reference.path).is_none() {
                self.unknown_output(list_place(axis), reference.draft, &reference.path);
            }
        }
    }

    pub(super) fn is_fan_out(&self, index: usize) -> bool {
        match self.draft(index).and_then(|draft| draft.for_each.as_ref()) {
            None => false,
            Some(ForEachLayer::Axes(_)) => true,
            Some(ForEachLayer::Stage(stage)) => match self.written.ids.get(&stage.value) {
                Some(on) => !self.is_paired_with(*on, index) && self.is_fan_out(*on),
                None => false,
            },
        }
    }

    fn holds(&mut self, when: &At<String>, own: &[(String, Scalar)]) -> bool {
        let later = HashSet::new();
        let filling = Filling { parameters: &self.written.parameters, own, later: &later };
        match filling.holds(&when.value) {
            Some(Ok(holds)) => holds,
            Some(Err(error)) => {
                self.reader.problems.push(parameters::problem(&error, &when.place, &filling));
                true
            }
            None => {
                let message = format!(
                    "`{}` is not a condition; write `params.NAME`, `not params.NAME`, `params.NAME == VALUE` or `!=`",
                    when.value
                );
                self.problem(&when.place, message);
                true
            }
        }
    }

    /// Stages that read what nobody makes, since a condition does not hold, are left out as well.
    fn leave_out(&self, found: &mut [(usize, Vec<Instance>)]) {
        let is_conditional = |(index, _): &(usize, Vec<Instance>)| {
            self.draft(*index).is_some_and(|draft| draft.when.is_some())
        };
        let stages = |found: &[(usize, Vec<Instance>)], index: usize| -> HashSet<Option<String>> {
            match self.expansion.stages.get(index).and_then(Option::as_ref) {
                Some(stages) => stages.iter().map(|stage| stage.suffix.clone()).collect(),
                None => (found.iter().filter(|(draft, _)| *draft == index))
                    .flat_map(|(_, instances)| instances.iter().map(|instance| instance.suffix.clone()))
                    .collect(),
            }
        };
        let mut is_changing =
            found.iter().any(is_conditional) || self.expansion.stages.iter().flatten().any(Vec::is_empty);
        while is_changing {
            is_changing = false;
            for at in 0..found.len() {
                let Some((index, _)) = found.get(at) else { continue };
                let Some(draft) = self.draft(*index) else { continue };
                let inputs = draft.inputs.iter().flatten();
                let references: Vec<(Reference, HashSet<Option<String>>)> = inputs
                    .filter_map(|(_, path)| self.written.reference(&path.value))
                    .filter(|reference| reference.draft != *index)
                    .map(|reference| (reference.clone(), stages(found, reference.draft)))
                    .collect();
                let is_there = |instance: &Instance| {
                    references.iter().all(|(reference, made)| {
                        let is_one = reference.is_gathered || !self.is_fan_out(reference.draft);
                        if is_one { !made.is_empty() } else { made.contains(&instance.suffix) }
                    })
                };
                if let Some((_, instances)) = found.get_mut(at) {
                    let before = instances.len();
                    instances.retain(is_there);
                    is_changing |= instances.len() != before;
                }
            }
        }
    }
}

/// The id of an instance.
pub(super) fn stage_id(draft: &str, suffix: Option<&str>) -> String {
    suffix.map_or_else(|| draft.to_owned(), |suffix| format!("{draft}_{suffix}"))
}
