//! What a repository requires: categories of files, the actions each needs, what counts as evidence. Read
//! from TOML: the presets first, then the repository's own file, which overrides by name. Every mistake is
//! found in one go and told with its place; a broken policy never blocks an agent.

mod autosave;
mod file;
mod paths;
mod presets;
mod problem;
#[cfg(feature = "schema")]
mod schema;
mod user_file;

use std::time::Duration;

use programs::shell::Pattern;
use serde::Serialize;

use file::{At, Layer};

pub use autosave::{Autosave, AutosaveMode, Include};
pub(crate) use paths::is_source;
pub use paths::{Class, Globs};
pub use presets::PRESETS;
pub use problem::{Problem, ProblemKind, Problems};
#[cfg(feature = "schema")]
pub use schema::json_schema;
pub use user_file::UserFile;

/// A policy file: how it is called in messages, and its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source<'a> {
    pub name: &'a str,
    pub text: &'a str,
}

/// The whole of what is required.
#[derive(Debug, Serialize)]
pub struct Policy {
    /// The presets that take part, in the order in which they apply.
    pub presets: Vec<String>,
    pub gate: Gate,
    pub plan: Plan,
    /// Snapshots that are taken without being asked for.
    pub snapshot: NeedsTrust<SnapshotSettings>,
    /// In the order in which they were first named.
    pub categories: Vec<Category>,
    /// By `order`, then by id.
    pub actions: Vec<Action>,
    /// Actions that code in no category needs.
    pub other_code: Vec<String>,
    /// In the order in which they were first named.
    pub errors: Vec<ErrorText>,
    pub messages: Messages,
    /// Commands that would run at the stop.
    pub checks: NeedsTrust<Vec<Check>>,
    /// What commits and pushes when the context fills up.
    pub autosave: NeedsTrust<Autosave>,
    #[serde(skip)]
    paths: paths::PathClasses,
}

/// Something that runs, commits, pushes or sends: out of reach until the user trusted the file it is from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct NeedsTrust<T>(T);

/// Whether the user said `checkstone trust` to the file as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    Given,
    Withheld,
}

impl<T> NeedsTrust<T> {
    /// The thing itself, where it is trusted.
    pub fn with(&self, trust: Trust) -> Option<&T> {
        match trust {
            Trust::Given => Some(&self.0),
            Trust::Withheld => None,
        }
    }
}

impl<T> NeedsTrust<Vec<T>> {
    /// How many there are, to tell the person what was ignored.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

/// How the gate behaves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gate {
    pub enabled: bool,
    /// Shorter turns pass.
    pub min_turn: Duration,
    pub scope: Scope,
    /// What to do where everything required was seen.
    pub all_clear: Telling,
    /// What to do where only prose changed.
    pub docs_only: Telling,
    pub no_git: NoGit,
    pub second_stop: SecondStop,
    /// The closing reminder to write down what was learnt.
    pub capture: bool,
    /// The step that says to commit last.
    pub commit: bool,
    /// More top-level folders than this are a wide blast radius.
    pub blast_radius: u64,
    /// Ask again for an action that was asked for in the turn before, and neither done nor touched since.
    pub ask_again: bool,
    /// Accept `checkstone: cannot <action>: <reason>`.
    pub waivers: bool,
    /// What settles an error.
    pub resolved_by: ResolvedBy,
    /// Actions that any change needs, prose too.
    pub always: Vec<String>,
    pub rules: Rules,
}

/// What each rule may do where it is alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rules {
    pub errors: RuleLevel,
    pub hygiene: RuleLevel,
    pub drift: RuleLevel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleLevel {
    Hold,
    Notify,
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// What this turn changed.
    Turn,
    /// The whole dirty tree.
    Worktree,
    /// `git diff --name-only HEAD`: the dirty tree without untracked files.
    Diff,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Telling {
    Silent,
    Notify,
    Hold,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoGit {
    Silent,
    /// The generic checkpoint.
    Generic,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SecondStop {
    Pass,
    /// Hold once more where changes are not committed.
    HoldUncommitted,
}

/// What settles an error that a call ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResolvedBy {
    /// The same thing went well later.
    Success,
    /// Something about it was tried later, whatever came of it.
    Attempt,
}

/// Which snapshots are taken by themselves, and how long those are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SnapshotSettings {
    /// At the start of every turn.
    pub at_turn_start: bool,
    /// The newest so many of each working tree.
    pub keep: usize,
    pub keep_for: Duration,
}

/// Where the plan of the work item is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// A branch name with `{slug}` in it, or empty.
    pub slug_from_branch: String,
    /// A path with `{slug}` in it.
    pub path: String,
}

/// Files that need the same actions.
#[derive(Clone, Debug, Serialize)]
pub struct Category {
    pub name: String,
    pub include: Vec<String>,
    pub exclude: Vec<String>,
    /// Ids of actions.
    pub require: Vec<String>,
    /// Counts only where no other category and no other code changed.
    pub alone: bool,
}

/// Something that has to be done, and what proves that it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Action {
    pub id: String,
    /// Smaller comes first.
    pub order: i64,
    /// The instruction. `{since}` is the log window of the turn.
    pub say: String,
    /// What is added to the instruction of `after` where both are required, in place of a step of its own.
    pub say_after: Option<String>,
    /// The observation where no evidence was seen. `{category}` is what changed.
    pub gap: Option<String>,
    pub evidence: Vec<Pattern>,
    pub fresh: Fresh,
    /// The evidence must come after that of this action.
    pub after: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fresh {
    /// After the last change that it covers.
    AfterChange,
    /// Anywhere in the turn.
    ThisTurn,
}

/// What to say about an unresolved error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorText {
    /// One of these texts is in the output; empty: any output.
    pub contains: Vec<String>,
    /// One of these was what failed; empty: anything.
    pub ran: Vec<Pattern>,
    pub say: String,
}

/// Fixed sentences of the message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Messages {
    pub all_clear: String,
    pub docs_only: String,
    pub capture: String,
    pub commit: String,
    pub generic: String,
    pub uncommitted: String,
}

/// A command to run at the stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Globs of the changed files that it is for.
    pub when: Vec<String>,
    pub run: String,
    pub timeout: Duration,
}

impl Policy {
    /// Merges the sources in their order, each after the presets it names.
    pub fn load(sources: &[Source<'_>]) -> Result<Self, Problems> {
        Self::load_with_presets(sources, &|name| presets::text(name))
    }

    /// As `load`, with presets from elsewhere: those that were recorded with a verdict.
    pub fn load_with_presets<'a>(
        sources: &[Source<'_>],
        preset: &dyn Fn(&str) -> Option<&'a str>,
    ) -> Result<Self, Problems> {
        let mut loading = Loading {
            preset,
            problems: Vec::new(),
            loaded: Vec::new(),
            open: Vec::new(),
            merged: Merged::default(),
        };
        for source in sources {
            loading.source(source.name, source.text);
        }
        let Loading { mut problems, loaded, merged, .. } = loading;
        let policy = merged.finish(loaded, &mut problems);
        if problems.is_empty() { Ok(policy) } else { Err(Problems::sorted(problems, Problem::place)) }
    }

    /// Makes ready for [`Self::classify`], for a caller who has time now and none later.
    pub fn prepare(&self) {
        self.paths.prepare();
    }

    /// What a path, relative to the root of the repository, is.
    pub fn classify(&self, path: &str) -> Class {
        self.paths.classify(path)
    }

    /// The checks for what changed, where they are trusted.
    pub fn checks_for(&self, trust: Trust, changed: &[String]) -> Vec<&Check> {
        let checks = self.checks.with(trust).map(Vec::as_slice).unwrap_or_default();
        checks.iter().filter(|check| Globs::any_matches(&check.when, changed)).collect()
    }

    pub fn action(&self, id: &str) -> Option<&Action> {
        self.actions.iter().find(|action| action.id == id)
    }
}

struct Loading<'p, 'a> {
    preset: &'p dyn Fn(&str) -> Option<&'a str>,
    problems: Vec<Problem>,
    loaded: Vec<String>,
    /// The presets that are being loaded, outermost first.
    open: Vec<String>,
    merged: Merged,
}

impl Loading<'_, '_> {
    fn source(&mut self, name: &str, text: &str) {
        let layer = file::read(name, text, &mut self.problems);
        for preset in &layer.presets {
            self.preset(preset);
        }
        self.merged.add(layer);
    }

    fn preset(&mut self, name: &At<String>) {
        if self.open.contains(&name.value) {
            let mut cycle = self.open.clone();
            cycle.push(name.value.clone());
            self.problems.push(name.problem(ProblemKind::PresetCycle { cycle }));
            return;
        }
        // Two presets may build on a third; it applies once, at its first place.
        if self.loaded.contains(&name.value) {
            return;
        }
        let Some(text) = (self.preset)(&name.value) else {
            let known = PRESETS.iter().map(|(name, _)| *name);
            let nearest = text::nearest(&name.value, known);
            self.problems.push(name.problem(ProblemKind::UnknownPreset { nearest }));
            return;
        };
        self.open.push(name.value.clone());
        self.source(&format!("preset {}", name.value), text);
        self.open.pop();
        self.loaded.push(name.value.clone());
    }
}

/// The layers so far, each key from the last one that has it.
#[derive(Default)]
struct Merged {
    layer: Layer,
}

impl Merged {
    fn add(&mut self, newer: Layer) {
        let layer = &mut self.layer;
        replace(&mut layer.prose, newer.prose);
        replace(&mut layer.other_code, newer.other_code);
        layer.gate.merge(newer.gate);
        layer.plan.merge(newer.plan);
        layer.snapshot.merge(newer.snapshot);
        layer.messages.merge(newer.messages);
        layer.autosave.merge(newer.autosave);
        for category in newer.categories {
            match layer.categories.iter_mut().find(|known| known.name.value == category.name.value) {
                Some(known) => known.merge(category),
                None => layer.categories.push(category),
            }
        }
        for action in newer.actions {
            match layer.actions.iter_mut().find(|known| known.id.value == action.id.value) {
                Some(known) => known.merge(action),
                None => layer.actions.push(action),
            }
        }
        for error in newer.errors {
            match layer
                .errors
                .iter_mut()
                .find(|known| known.contains == error.contains && known.ran == error.ran)
            {
                Some(known) => *known = error,
                None => layer.errors.push(error),
            }
        }
        for check in newer.checks {
            match layer.checks.iter_mut().find(|known| known.run == check.run) {
                Some(known) => *known = check,
                None => layer.checks.push(check),
            }
        }
    }

    fn finish(self, presets: Vec<String>, problems: &mut Vec<Problem>) -> Policy {
        let layer = self.layer;
        let ids: Vec<String> = layer.actions.iter().map(|action| action.id.value.clone()).collect();
        let mut known = |name: At<String>| {
            if !ids.contains(&name.value) {
                let nearest = text::nearest(&name.value, ids.iter().map(String::as_str));
                problems.push(name.problem(ProblemKind::UnknownAction { nearest }));
            }
            name.value
        };
        let categories: Vec<(file::CategoryLayer, Vec<String>)> = layer
            .categories
            .into_iter()
            .map(|mut category| {
                let require =
                    category.require.take().unwrap_or_default().into_iter().map(&mut known).collect();
                (category, require)
            })
            .collect();
        let after: Vec<Option<String>> =
            layer.actions.iter().map(|action| action.after.clone().map(&mut known)).collect();
        let always = layer.gate.always.clone().unwrap_or_default().into_iter().map(&mut known).collect();
        let other_code = match layer.other_code {
            Some(names) => names.into_iter().map(&mut known).collect(),
            None if ids.iter().any(|id| id == "tests") => vec!["tests".to_owned()],
            None => Vec::new(),
        };
        let mut actions: Vec<Action> = Vec::new();
        for (action, after) in layer.actions.into_iter().zip(after) {
            if action.say.is_none() {
                problems.push(action.id.problem(ProblemKind::Missing { key: "say" }));
            }
            if action.evidence.is_none() {
                problems.push(action.id.problem(ProblemKind::Missing { key: "evidence" }));
            }
            actions.push(Action {
                id: action.id.value,
                order: action.order.unwrap_or(50),
                say: action.say.unwrap_or_default(),
                say_after: action.say_after,
                gap: action.gap,
                evidence: action.evidence.unwrap_or_default(),
                fresh: action.fresh.unwrap_or(Fresh::AfterChange),
                after,
            });
        }
        actions.sort_by(|one, other| one.order.cmp(&other.order).then_with(|| one.id.cmp(&other.id)));
        let mut paths = paths::PathClasses::new(layer.prose.unwrap_or_else(Globs::default_prose));
        let mut finished = Vec::new();
        for (category, require) in categories {
            let include = category.include.unwrap_or_else(|| {
                problems.push(category.name.problem(ProblemKind::Missing { key: "include" }));
                Globs::default()
            });
            let exclude = category.exclude.unwrap_or_default();
            finished.push(Category {
                name: category.name.value,
                include: include.texts(),
                exclude: exclude.texts(),
                require,
                alone: category.alone.unwrap_or(false),
            });
            paths.category(include, exclude);
        }
        Policy {
            presets,
            gate: layer.gate.finish(always),
            plan: layer.plan.finish(),
            snapshot: NeedsTrust(layer.snapshot.finish()),
            categories: finished,
            actions,
            other_code,
            errors: layer.errors,
            messages: layer.messages.finish(),
            checks: NeedsTrust(layer.checks),
            autosave: NeedsTrust(layer.autosave.finish()),
            paths,
        }
    }
}

/// The newer value wins where there is one.
fn replace<T>(slot: &mut Option<T>, newer: Option<T>) {
    if newer.is_some() {
        *slot = newer;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circular(name: &str) -> Option<&'static str> {
        match name {
            "a" => Some("presets = [\"b\"]"),
            "b" => Some("\npresets = [\"c\"]"),
            "c" => Some("presets = [\"a\", \"d\"]"),
            "d" => Some("[gate]\ncapture = true"),
            "twice" => Some("presets = [\"d\", \"d\"]"),
            _ => None,
        }
    }

    fn load(text: &str) -> Result<Policy, Problems> {
        Policy::load_with_presets(&[Source { name: "checkstone.toml", text }], &circular)
    }

    #[test]
    fn presets_that_go_in_a_circle_are_told() {
        let problems = load("presets = [\"a\"]").unwrap_err();
        assert_eq!(problems.to_string(), "preset c:1:12: the presets go in a circle: a → b → c → a");
    }

    #[test]
    fn a_preset_applies_once_whoever_asks_for_it() {
        let policy = load("presets = [\"d\", \"twice\"]\n[gate]\ncapture = false").unwrap();
        assert_eq!(policy.presets, ["d", "twice"]);
        assert!(!policy.gate.capture, "the file comes after its presets");
    }
}
