//! What is asked for in a repository, in its own words: which command, for which code, in which packages, and why; and where
//! code is that nothing can verify. `init` writes it down, and `doctor` and `status` report if it is nothing.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gate::policy::{Action, Class, PRESETS, Policy, Proof, RuleLevel, Source};
use programs::Deed;
use programs::repository::{Language, Package, Repository, RepositoryFile, TaskRunner, Way};
use stop::changed_texts::script_endings;
use stop::policy_files::{FILE_NAME, preset_of};
use stop::repository_files;
use text::counted;

/// Sentences that a person reads at once.
const MOST_SENTENCES: usize = 5;
/// Folders, or kinds of code, that are named in one sentence.
const MOST_NAMES: usize = 3;
/// What no category names.
const OTHER_CODE: &str = "code";
/// The preset for code that no other preset names.
const FOR_OTHER_CODE: &str = "make";

/// The preset for scripts, which need nothing but a shell to be looked through.
const FOR_SCRIPTS: &str = "shell";

fn any_script() -> Way {
    Way {
        deed: Deed::Lints,
        command: "bash -n".to_owned(),
        folder: String::new(),
        is_instructed: false,
        languages: vec![Language::Shell],
    }
}

/// A repository as far as a policy can ask something of it.
struct Checkout {
    repository: Repository,
    /// With the endings that scripts without one would have.
    paths: Vec<String>,
    /// The languages of the manifests in a folder.
    manifests: BTreeMap<String, Vec<Language>>,
    /// The folders of packages with tests.
    tested: BTreeSet<String>,
}

/// Code of one kind in a package.
struct CodeOfPackage<'a> {
    preset: &'static str,
    package: &'a Package,
    /// `Rust code`
    code: String,
    files: usize,
}

/// The presets for code that is there, in packages that can verify it.
#[derive(Debug, Default)]
pub(crate) struct FittingPresets {
    /// What is asked for, with the preset that does; the most common code first.
    requests: Vec<(&'static str, Request)>,
    /// Code that no command verifies, and the folder of its package.
    unverifiable: Vec<(String, String)>,
    /// Whether there is code at all.
    pub(crate) has_code: bool,
}

/// One command, for one kind of code.
#[derive(Debug, PartialEq)]
struct Request {
    command: String,
    /// Where it is to be run.
    folders: Vec<String>,
    code: String,
    /// The packages of the code.
    packages: Vec<String>,
    because: String,
    /// How many files of such code there are.
    files: usize,
}

impl Checkout {
    fn read(root: &Path) -> Self {
        let files = repository_files::every_file(root);
        let endings = script_endings(root, files.iter().map(|file| file.path.as_str()));
        let named = |path: &String| match endings.get(path) {
            Some(ending) => format!("{path}.{ending}"),
            None => path.clone(),
        };
        let paths: Vec<String> = files.iter().map(|file| named(&file.path)).collect();
        let files: Vec<RepositoryFile> =
            files.into_iter().filter(|file| Repository::reads_name(&file.path)).collect();
        let repository = Repository::of_files(root.to_string_lossy(), &files);
        let mut manifests: BTreeMap<String, Vec<Language>> = BTreeMap::new();
        for path in &paths {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            if let Some(language) = Language::of_manifest(name) {
                manifests.entry(folder.to_owned()).or_default().push(language);
            }
        }
        let tests = paths.iter().filter(|path| Repository::is_test(path));
        let tested = tests.filter_map(|path| Some(repository.package_of(path)?.folder.clone())).collect();
        Self { repository, paths, manifests, tested }
    }

    /// The code of each package, by the presets whose categories it is in; code in none of them last.
    fn code(&self) -> Vec<CodeOfPackage<'_>> {
        let mut found: Vec<CodeOfPackage<'_>> = Vec::new();
        let mut known = Vec::new();
        for (preset, _) in PRESETS.iter().filter(|(preset, _)| *preset != FOR_OTHER_CODE) {
            let before = found.len();
            self.add_code(preset, &[preset], &mut found);
            if found.len() > before {
                known.push(*preset);
            }
        }
        known.push(FOR_OTHER_CODE);
        self.add_code(FOR_OTHER_CODE, &known, &mut found);
        found
    }

    /// Counts the code in the categories of a preset; a manifest in them says that there will be some.
    fn add_code<'a>(&'a self, preset: &'static str, loaded: &[&str], found: &mut Vec<CodeOfPackage<'a>>) {
        let text = format!("presets = {loaded:?}\n");
        let Ok(policy) = Policy::load(&[Source { name: FILE_NAME, text: &text }]) else { return };
        let is_other_code = preset == FOR_OTHER_CODE;
        let mut first =
            policy.categories.iter().filter(|category| verifying(&policy, &category.require).is_some());
        let Some(name) =
            (if is_other_code { Some(OTHER_CODE) } else { first.next().map(|one| one.name.as_str()) })
        else {
            return;
        };
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for path in &self.paths {
            let class = policy.classify(path);
            let is_there = match &class {
                Class::OtherCode => is_other_code,
                Class::Categories(_) => !is_other_code,
                Class::Prose | Class::OtherFile => false,
            };
            let Some(package) = self.repository.package_of(path).filter(|_| is_there) else { continue };
            let files = usize::from(code_to_verify(&policy, &class).is_some());
            let place = *places.entry(&package.folder).or_insert(found.len());
            match found.get_mut(place) {
                Some(code_of_package) => code_of_package.files += files,
                None => found.push(CodeOfPackage { preset, package, code: name.to_owned(), files }),
            }
        }
    }

    /// The strongest command of a package that verifies code of this preset.
    fn way(&self, code: &CodeOfPackage<'_>, is_main_code: bool) -> Option<Way> {
        let package = code.package;
        let is_of_preset = |language: Language| preset_of(language).unwrap_or(FOR_OTHER_CODE) == code.preset;
        let mut manifests = self.manifests.get(&package.folder).into_iter().flatten().copied();
        let is_its_own = is_main_code || manifests.any(is_of_preset);
        let verifies = |way: &&Way| {
            // A linter is of a language, and nobody knows which.
            match way.languages.is_empty() {
                true => is_its_own && way.deed != Deed::Lints,
                false => way.languages.iter().copied().any(is_of_preset),
            }
        };
        let ways = package.ways.iter().filter(verifies).cloned().collect();
        let own = Package { ways, ..package.clone() };
        let way = own.strongest(&[]).cloned();
        let is_script = code.preset == FOR_SCRIPTS && code.files > 0 && !package.ways.is_empty();
        way.or_else(|| is_script.then(any_script))
    }

    /// Why this command is asked for.
    fn reason(&self, package: &Package, way: &Way) -> String {
        if way.is_instructed {
            return "the repository's instructions name it".to_owned();
        }
        if *way == any_script() {
            return "a script that was never run may not even parse".to_owned();
        }
        if let Some(task) = self.repository.task_of(way) {
            let name = &task.name;
            return match task.runner {
                TaskRunner::PackageScript => format!("`package.json` has a script `{name}`"),
                TaskRunner::Composer => format!("`composer.json` has a script `{name}`"),
                TaskRunner::Make => format!("the Makefile has a target `{name}`"),
                TaskRunner::Just => format!("the justfile has a recipe `{name}`"),
                TaskRunner::Workflow => "CI runs it".to_owned(),
                _ => format!("the repository has a task `{name}`"),
            };
        }
        let what = match way.deed {
            Deed::Tests if self.tested.contains(&package.folder) => return "there are tests".to_owned(),
            Deed::Tests => return "that is the usual way to test it".to_owned(),
            Deed::Builds => "can be built",
            Deed::TypeChecks => "has a type check",
            _ => "has a linter",
        };
        match package.ways.iter().any(|way| way.deed == Deed::Tests) {
            true => format!("it {what}"),
            false => format!("it {what} and has no tests"),
        }
    }
}

impl FittingPresets {
    pub(crate) fn of(root: &Path) -> Self {
        let checkout = Checkout::read(root);
        let code = checkout.code();
        let main = MainCode::of(&code);
        let mut fitting = Self { has_code: code.iter().any(|one| one.files > 0), ..Self::default() };
        // A manifest that only lists packages has no code of its own.
        let has_files =
            |one: &CodeOfPackage<'_>| one.files > 0 || main.everywhere.get(one.preset) == Some(&0);
        for one in code.iter().filter(|one| has_files(one)) {
            if one.package.ways.is_empty() && one.preset != FOR_OTHER_CODE && one.files > 0 {
                fitting.unverifiable.push((one.code.clone(), one.package.folder.clone()));
            }
            let Some(way) = checkout.way(one, main.is(one)) else { continue };
            let because = checkout.reason(one.package, &way);
            fitting.add(one, way, because);
        }
        fitting.requests.sort_by_key(|(_, request)| Reverse(request.files));
        fitting
    }

    /// Adds a request, to one that says the same of other folders if there is one.
    fn add(&mut self, code: &CodeOfPackage<'_>, way: Way, because: String) {
        let package = &code.package.folder;
        let new = Request {
            command: way.command,
            folders: vec![way.folder],
            code: code.code.clone(),
            packages: vec![package.clone()],
            because,
            files: code.files,
        };
        let runs_there = |request: &Request| {
            request.folders == request.packages && !request.packages.contains(&String::new())
        };
        let says_the_same = |(_, request): &&mut (&str, Request)| {
            request.command == new.command
                && request.code == new.code
                && request.because == new.because
                && (request.folders == new.folders || (runs_there(request) && runs_there(&new)))
        };
        match self.requests.iter_mut().find(says_the_same) {
            Some((_, request)) => {
                if request.folders != new.folders {
                    request.folders.extend(new.folders);
                }
                request.packages.extend(new.packages);
                request.files += new.files;
            }
            None => self.requests.push((code.preset, new)),
        }
    }

    pub(crate) fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<&str> = Vec::new();
        for (preset, _) in &self.requests {
            if !names.contains(preset) {
                names.push(preset);
            }
        }
        // What is in no category comes last.
        names.sort_by_key(|name| *name == FOR_OTHER_CODE);
        names
    }

    /// What these of them ask for, and where nothing can be asked for; five sentences at most.
    pub(crate) fn sentences(&self, presets: &[String]) -> Vec<String> {
        let requests =
            || self.requests.iter().filter(|(preset, _)| presets.iter().any(|name| name == preset));
        let sentence = |(_, request): &(&str, Request)| {
            let is_only_one = requests().filter(|(_, other)| other.code == request.code).count() == 1;
            request.sentence(is_only_one)
        };
        let mut sentences: Vec<String> = requests().map(sentence).collect();
        let room = MOST_SENTENCES - usize::from(!self.unverifiable.is_empty());
        if sentences.len() > room {
            let more = sentences.len() - (room - 1);
            sentences.truncate(room - 1);
            sentences.push(format!("I will ask for {} in other packages.", counted(more, "more command")));
        }
        sentences.extend(self.where_nothing_is_asked_for());
        sentences
    }

    fn where_nothing_is_asked_for(&self) -> Option<String> {
        let (mut kinds, mut folders): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for (code, folder) in &self.unverifiable {
            if !kinds.contains(code) {
                kinds.push(code.clone());
            }
            if !folders.contains(folder) {
                folders.push(folder.clone());
            }
        }
        let code = if kinds.len() > MOST_NAMES { OTHER_CODE.to_owned() } else { enumerated(&kinds)? };
        let places = places(&folders);
        Some(format!(
            "I will ask for nothing after changes to {code}{places}: I found no tests, type check, build or linter there."
        ))
    }
}

impl Request {
    fn sentence(&self, is_only_one: bool) -> String {
        let Self { command, folders, code, packages, because, .. } = self;
        let code_in =
            if packages.iter().any(String::is_empty) || is_only_one && folders.iter().all(String::is_empty) {
                String::new()
            } else if folders == packages {
                " there".to_owned()
            } else {
                places(packages)
            };
        let run_in = places(folders);
        format!("I will ask for `{command}`{run_in} after changes to {code}{code_in}, because {because}.")
    }
}

/// Which code a package, and for code that no preset names the whole repository, is mostly of.
#[derive(Default)]
struct MainCode<'a> {
    /// By preset, in the whole repository.
    everywhere: BTreeMap<&'a str, usize>,
    /// The most files of one kind, by the folder of the package.
    most: BTreeMap<&'a str, usize>,
}

impl<'a> MainCode<'a> {
    fn of(all: &[CodeOfPackage<'a>]) -> Self {
        let mut main = Self::default();
        for one in all {
            *main.everywhere.entry(one.preset).or_default() += one.files;
            let most = main.most.entry(&one.package.folder).or_default();
            *most = one.files.max(*most);
        }
        main
    }

    fn is(&self, one: &CodeOfPackage<'_>) -> bool {
        match one.preset == FOR_OTHER_CODE {
            true => self.everywhere.values().max() == self.everywhere.get(one.preset),
            false => self.most.get(one.package.folder.as_str()) == Some(&one.files),
        }
    }
}

/// The commands of the repository at `root` that each action of the policy asks for, by its id, in the repository's own words.
pub(crate) fn own_commands(root: &Path, policy: &Policy) -> BTreeMap<String, Vec<String>> {
    let checkout = Checkout::read(root);
    let mut commands: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in &checkout.paths {
        let Some(package) = checkout.repository.package_of(path) else { continue };
        for action in required(policy, &policy.classify(path)) {
            let languages = package.languages_of(path);
            let way = match action.proof {
                Proof::Verification if action.say.is_empty() => {
                    package.strongest(&languages).filter(|way| way.is_for(path))
                }
                Proof::Installation => package.installation(path),
                _ => None,
            };
            let known = commands.entry(action.id.clone()).or_default();
            known.extend(way.map(Way::step).filter(|step| !known.contains(step)));
        }
    }
    commands
}

/// The actions that a file of this class requires.
fn required<'a>(policy: &'a Policy, class: &Class) -> Vec<&'a Action> {
    let ids: Vec<&String> = match class {
        Class::Categories(indices) => {
            let categories = indices.iter().filter_map(|index| policy.categories.get(*index));
            categories.flat_map(|category| &category.require).collect()
        }
        Class::OtherCode => policy.other_code.iter().collect(),
        Class::Prose | Class::OtherFile => Vec::new(),
    };
    ids.into_iter().filter_map(|id| policy.action(id)).collect()
}

/// Why nothing is asked for in the repository at `root`, and what to do about it; `None` if something is.
pub(crate) fn nothing_asked_for(root: &Path, policy: &Policy) -> Option<(String, String)> {
    let required = policy.categories.iter().flat_map(|category| &category.require);
    let required = required.chain(&policy.other_code).chain(&policy.gate.always);
    let required: Vec<&Action> = required.filter_map(|id| policy.action(id)).collect();
    if required.iter().all(|action| action.level == RuleLevel::Off) && policy.checks.count() == 0 {
        if let Some(off) = required.first() {
            let why = "nothing is asked for in this repository: every action that the policy requires is off";
            let advice =
                format!("set `level` of `[action.{}]` to \"hold\" or \"notify\" in `{FILE_NAME}`", off.id);
            return Some((why.to_owned(), advice));
        }
        let why =
            "nothing is asked for in this repository: no category of the policy requires anything".to_owned();
        let presets = FittingPresets::of(root).names();
        let advice = match presets.is_empty() {
            true => format!("add a category of your own to `{FILE_NAME}`"),
            false => format!("`presets = {presets:?}` in `{FILE_NAME}` fits what is here"),
        };
        return Some((why, advice));
    }
    let checkout = Checkout::read(root);
    let mut unverifiable = None;
    for path in &checkout.paths {
        let Some(code) = code_to_verify(policy, &policy.classify(path)) else { continue };
        match checkout.repository.package_of(path) {
            Some(package) if package.ways.is_empty() => unverifiable = unverifiable.or(Some(code)),
            _ => return None,
        }
    }
    let code = unverifiable?;
    Some((
        format!(
            "nothing is asked for in this repository: I found no tests, type check, build or linter for its {code}"
        ),
        format!("if there is a command that verifies it, name it in an action of your own in `{FILE_NAME}`"),
    ))
}

/// The first of these actions that asks for verification.
fn verifying<'a>(policy: &Policy, actions: &'a [String]) -> Option<&'a String> {
    let is_verified = |action: &Action| action.proof == Proof::Verification && action.level != RuleLevel::Off;
    actions.iter().find(|id| policy.action(id).is_some_and(is_verified))
}

/// What a file is called that must be verified when it changes.
fn code_to_verify<'a>(policy: &'a Policy, class: &Class) -> Option<&'a str> {
    match class {
        Class::Categories(indices) => {
            let mut categories = indices.iter().filter_map(|index| policy.categories.get(*index));
            let category = categories.find(|category| verifying(policy, &category.require).is_some());
            category.map(|category| category.name.as_str())
        }
        Class::OtherCode => verifying(policy, &policy.other_code).map(|_| OTHER_CODE),
        Class::Prose | Class::OtherFile => None,
    }
}

/// ` in `a`, `b` and `c``; nothing for the root alone.
fn places(folders: &[String]) -> String {
    if folders.iter().all(String::is_empty) {
        return String::new();
    }
    let shown = if folders.len() > MOST_NAMES { MOST_NAMES - 1 } else { folders.len() };
    let name =
        |folder: &String| if folder.is_empty() { "the root".to_owned() } else { format!("`{folder}`") };
    let mut names: Vec<String> = folders.iter().take(shown).map(name).collect();
    if folders.len() > shown {
        names.push(counted(folders.len() - shown, "other folder"));
    }
    enumerated(&names).map(|names| format!(" in {names}")).unwrap_or_default()
}

/// `a, b and c`
fn enumerated(names: &[String]) -> Option<String> {
    match names {
        [] => None,
        [only] => Some(only.clone()),
        [first @ .., last] => Some(format!("{} and {last}", first.join(", "))),
    }
}
