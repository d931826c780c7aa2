//! What a repository requires: categories of files, the actions each needs, what counts as evidence. Read
//! from TOML: the presets first, then the repository's own file, which overrides by name. Every mistake is
//! found in one go and told with its place; a broken policy never blocks an agent.

mod keys;
mod kinds;
mod paths;
mod presets;
mod push_rules;
mod user_file;

use serde::Serialize;
use settings::{At, Kind as _, List, Names, Quoting, Reader, TableOfKeys as _, TableReference};

use keys::{ActionLayer, PolicyFile, PolicyLayer};

pub use keys::{
    Action, Autosave, AutosaveMode, Category, Check, ErrorText, Fresh, Gate, Include, JudgedScope, Messages,
    NoGit, NotUnderstood, Plan, Proof, ResolvedBy, RuleLevel, Rules, SecondStop, SnapshotSettings, Telling,
};
pub use paths::{Class, Globs};
pub(crate) use paths::{is_source, needs_no_proof};
pub use presets::PRESETS;
pub use push_rules::{PushRules, PushWhen};
pub use settings::{Problem, Problems, changed_keys};
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
    /// The globs of the files themselves, without those of presets.
    #[serde(skip)]
    globs: Vec<At<String>>,
    /// What the files say and hardly mean.
    #[serde(skip)]
    doubts: Vec<Problem>,
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

/// Every key of a policy file, for whoever writes them down.
pub fn reference() -> TableReference {
    PolicyFile::reference()
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
            globs: Vec::new(),
            doubts: Vec::new(),
            loaded: Vec::new(),
            open: Vec::new(),
            layer: PolicyLayer::default(),
        };
        for source in sources {
            loading.source(source.name, source.text);
        }
        let (policy, problems) = loading.finish();
        if problems.is_empty() { Ok(policy) } else { Err(Problems::sorted(problems)) }
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

    /// What is allowed and probably not meant, globs that can match no file among it. `is_folder` says whether a path is a folder of the repository.
    pub fn warnings(&self, is_folder: impl Fn(&str) -> bool) -> Vec<Problem> {
        let instead = |glob: &At<String>| {
            let instead = paths::instead_of(&glob.value, &is_folder)?;
            let message = format!("the glob `{}` matches no file; write `{instead}`", glob.value);
            Some(glob.place.problem(message))
        };
        let globs = self.globs.iter().filter_map(instead);
        Problems::sorted(globs.chain(self.doubts.iter().cloned()).collect()).0
    }

    pub fn action(&self, id: &str) -> Option<&Action> {
        self.actions.iter().find(|action| action.id == id)
    }
}

struct Loading<'p, 'a> {
    preset: &'p dyn Fn(&str) -> Option<&'a str>,
    problems: Vec<Problem>,
    globs: Vec<At<String>>,
    doubts: Vec<Problem>,
    loaded: Vec<String>,
    /// The presets that are being loaded, outermost first.
    open: Vec<String>,
    /// The files so far, each key from the last one that has it.
    layer: PolicyLayer,
}

impl Loading<'_, '_> {
    fn source(&mut self, name: &str, text: &str) {
        let mut reader = Reader::new(name, text, Quoting::Values);
        let layer = reader.read::<PolicyFile>().unwrap_or_default();
        self.problems.extend(reader.problems);
        if self.open.is_empty() {
            self.globs.extend(reader.noted);
            self.doubts.extend(reader.warnings);
        }
        for preset in layer.presets.iter().flatten() {
            self.preset(preset);
        }
        PolicyFile::merge(&mut self.layer, layer);
    }

    fn preset(&mut self, name: &At<String>) {
        if self.open.contains(&name.value) {
            let cycle = [self.open.as_slice(), std::slice::from_ref(&name.value)].concat().join(" → ");
            self.problems.push(name.place.problem(format!("the presets form a cycle: {cycle}")));
            return;
        }
        // Two presets may build on a third; it applies once, at its first place.
        if self.loaded.contains(&name.value) {
            return;
        }
        let Some(text) = (self.preset)(&name.value) else {
            let known = PRESETS.iter().map(|(name, _)| *name);
            self.problems.push(unknown("preset", name, known));
            return;
        };
        self.open.push(name.value.clone());
        self.source(&format!("preset {}", name.value), text);
        self.open.pop();
        self.loaded.push(name.value.clone());
    }

    fn finish(self) -> (Policy, Vec<Problem>) {
        let Self { mut problems, globs, doubts, loaded, layer, .. } = self;
        let mut gate = layer.gate.unwrap_or_default();
        // Who says what errors may do, and nothing of red, means all of them.
        if let Some(rules) = &mut gate.rules {
            rules.red = rules.red.or(rules.errors);
        }
        let actions = layer.actions.unwrap_or_default();
        let categories = layer.categories.unwrap_or_default();
        let ids: Vec<&str> =
            actions.iter().flat_map(|action| &action.id).map(|id| id.value.as_str()).collect();
        let required = categories.iter().flat_map(|category| category.require.iter().flatten());
        let after = actions.iter().flat_map(|action| &action.after);
        let named = required.chain(after).chain(gate.always.iter().flatten());
        let named: Vec<&At<String>> = named.chain(layer.other_code.iter().flatten()).collect();
        for name in named.iter().filter(|name| !ids.contains(&name.value.as_str())) {
            problems.push(unknown("action", name, ids.iter().copied()));
        }
        for problem in &mut problems {
            if let Some(id) = problem.unknown.take_if(|key| ids.contains(&key.as_str())) {
                problem.message =
                    format!("unknown key `{id}`; it is an action: set its `level` in `[action.{id}]`");
                problem.nearest = None;
            }
        }
        problems.extend(halves(&actions, &named));
        problems.extend(circles(&actions));
        let other_code = match layer.other_code {
            Some(names) => Names::value(names),
            None => ids.iter().filter(|id| **id == "tests").map(|id| (*id).to_owned()).collect(),
        };
        for category in &categories {
            let lacks =
                |name: &At<String>, key| name.place.problem(format!("`{}` has no `{key}`", name.value));
            let missing = Category::missing(category).into_iter();
            problems.extend(missing.filter_map(|key| Some(lacks(category.name.as_ref()?, key))));
        }
        let mut actions: Vec<Action> = actions.into_iter().map(Action::finish).collect();
        actions.sort_by(|one, other| one.order.cmp(&other.order).then_with(|| one.id.cmp(&other.id)));
        let mut paths = paths::PathClasses::new(layer.prose.unwrap_or_else(Globs::default_prose));
        let categories = categories.into_iter().map(|mut category| {
            let include = category.include.take().unwrap_or_default();
            let exclude = category.exclude.take().unwrap_or_default();
            let (include_texts, exclude_texts) = (include.texts(), exclude.texts());
            paths.category(include, exclude);
            Category { include: include_texts, exclude: exclude_texts, ..Category::finish(category) }
        });
        let categories = categories.collect();
        let errors = List::<ErrorText>::value(layer.errors.unwrap_or_default());
        let checks = List::<Check>::value(layer.checks.unwrap_or_default());
        let policy = Policy {
            presets: loaded,
            gate: Gate::finish(gate),
            plan: Plan::finish(layer.plan.unwrap_or_default()),
            snapshot: NeedsTrust(SnapshotSettings::finish(layer.snapshot.unwrap_or_default())),
            categories,
            actions,
            other_code,
            errors: latest(errors, |one, other| one.contains == other.contains && one.ran == other.ran),
            messages: Messages::finish(layer.messages.unwrap_or_default()),
            checks: NeedsTrust(latest(checks, |one, other| one.run == other.run)),
            autosave: NeedsTrust(Autosave::finish(layer.autosave.unwrap_or_default())),
            paths,
            globs,
            doubts,
        };
        (policy, problems)
    }
}

/// What is wrong with actions that say in no way what to do, or what proves it. One that is off needs neither, and one that
/// nobody requires is probably another one, misspelt.
fn halves(actions: &[ActionLayer], named: &[&At<String>]) -> Vec<Problem> {
    let whole = actions.iter().filter(|action| lacks(action).is_empty());
    let whole: Vec<&str> = whole.filter_map(|action| Some(action.id.as_ref()?.value.as_str())).collect();
    let mut problems = Vec::new();
    for action in actions {
        let (Some(id), lacks) = (&action.id, lacks(action)) else { continue };
        let is_named = named.iter().any(|name| name.value == id.value);
        let nearest =
            if is_named || lacks.is_empty() { None } else { text::nearest(&id.value, whole.iter().copied()) };
        if action.level == Some(RuleLevel::Off) {
            let slip = nearest.map(|_| unknown("action", id, whole.iter().copied()));
            problems.extend(slip);
            continue;
        }
        let half = |what: &&str| id.place.problem(format!("`{}` has {what}", id.value));
        problems
            .extend(lacks.iter().map(half).map(|problem| Problem { nearest: nearest.clone(), ..problem }));
    }
    problems
}

/// Actions that would have to come after themselves: no run could ever prove them. A circle is named once, at the first of its
/// actions.
fn circles(actions: &[ActionLayer]) -> Vec<Problem> {
    let before = |id: &str| -> Option<&At<String>> {
        let is_called = |action: &&ActionLayer| action.id.as_ref().is_some_and(|known| known.value == id);
        actions.iter().find(is_called)?.after.as_ref()
    };
    let mut problems = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for action in actions {
        let Some(id) = &action.id else { continue };
        let mut way: Vec<&str> = vec![&id.value];
        let mut at: &str = &id.value;
        while let Some(earlier) = before(at).filter(|_| !seen.contains(&at)) {
            seen.push(at);
            at = &earlier.value;
            if let Some(start) = way.iter().position(|known| *known == at) {
                let circle = way.split_off(start);
                let place = circle.first().and_then(|first| before(first)).unwrap_or(earlier).place.clone();
                let circle = [circle.as_slice(), &[at]].concat().join(" → ");
                problems.push(place.problem(format!("the actions form a cycle by `after`: {circle}")));
                break;
            }
            way.push(at);
        }
    }
    problems
}

fn lacks(action: &ActionLayer) -> Vec<&'static str> {
    let says = action.say.is_some() || action.usual.is_some();
    let proves = action.evidence.is_some() || action.proof.is_some_and(|proof| proof != Proof::Evidence);
    let evidence =
        "no `evidence`; if any run that verifies code is enough, set `proof = \"verification\"` instead";
    let lacks = [(says, "neither `say` nor `usual`"), (proves, evidence)];
    lacks.iter().filter(|(is_there, _)| !is_there).map(|(_, what)| *what).collect()
}

fn unknown<'n>(what: &str, name: &At<String>, known: impl Iterator<Item = &'n str>) -> Problem {
    let nearest = text::nearest(&name.value, known);
    Problem { nearest, ..name.place.problem(format!("unknown {what} `{}`", name.value)) }
}

/// Of those that are the same, the last, in the place of the first.
fn latest<T>(all: Vec<T>, is_same: impl Fn(&T, &T) -> bool) -> Vec<T> {
    let mut latest: Vec<T> = Vec::new();
    for newer in all {
        match latest.iter_mut().find(|known| is_same(known, &newer)) {
            Some(known) => *known = newer,
            None => latest.push(newer),
        }
    }
    latest
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
        assert_eq!(problems.to_string(), "preset c:1:12: the presets form a cycle: a → b → c → a");
    }

    #[test]
    fn a_preset_applies_once_whoever_asks_for_it() {
        let policy = load("presets = [\"d\", \"twice\"]\n[gate]\ncapture = false").unwrap();
        assert_eq!(policy.presets, ["d", "twice"]);
        assert!(!policy.gate.capture, "the file comes after its presets");
    }
}
