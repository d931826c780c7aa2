//! A repository's own words, as plain data: its packages, the tasks that it defines, and what each package can verify
//! with. Made from names and texts that a caller hands over; nothing is opened and nothing is run.

mod language;
mod manifest;
mod resolution;
mod task_files;
mod ways;

use std::collections::{BTreeMap, BTreeSet};
use std::iter::{once, successors};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::Deed;
use crate::shell::{Attribution, Intents, SimpleCommand, one_spelling};

pub use crate::table::TaskRunner;
use crate::table::matches_glob;
use crate::test_file::is_test_file;
pub use language::Language;
use manifest::Manifest;
use ways::Ways;

/// In all; a repository with more is generated.
const MOST_TASKS: usize = 3000;
/// Folders whose files are samples for tests, and no packages and tasks of the repository.
const SAMPLES: &str = "fixtures __fixtures__ testdata test-data snapshots templates template";
/// Folders of tests, which are about code that lies elsewhere.
const FOLDERS_OF_TESTS: &str = "test* *_test *-test *_tests *-tests *Tests Test* spec specs e2e* *e2e unit integration* acceptance functional smoke __tests__";
/// Folders with scripts that have no extension.
const SCRIPTS: &str = "bin script scripts tools hack ci .ci dev build";

/// What a repository says of itself. Empty if nothing is known of it: commands then mean what they usually mean.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// Its folder as the session knows it; absolute paths of commands are compared with it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub root: String,
    /// By their folders; the root itself is always one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<Package>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<Task>,
    /// Shell scripts of the repository that tasks or commands run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<Script>,
    /// Hidden folders at the root that its own tasks reach into; what lies in others belongs to a tool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden_in_use: Vec<String>,
    /// Folders whose code has tests beside it or in a folder of tests there, as far as the files were looked at; kept if a
    /// run was confined to some folders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tested: Vec<String>,
    /// Programs that commands name, and that are not there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// A folder with a manifest, or the root. Files belong to the nearest one above them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// From the root, which is the empty text.
    pub folder: String,
    /// What its manifests call it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub languages: Vec<Language>,
    /// Whether its manifest lists other packages, which are then built and tested along with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_workspace: bool,
    /// What it can verify with, the strongest first; none where there is nothing to run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<Way>,
    /// How its dependencies are installed, as its lock files say; none where there is no lock file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub installations: Vec<Way>,
}

/// A command that verifies a package, in the repository's own words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Way {
    /// [`Deed::Tests`], [`Deed::Builds`], [`Deed::TypeChecks`] or [`Deed::Lints`]; [`Deed::Installs`] of an installation.
    pub deed: Deed,
    /// `pnpm test`, `mise run test`, `go test ./...`
    pub command: String,
    /// Where it is to be run, from the root.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
    /// The repository's instructions name it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_instructed: bool,
    /// The languages whose code it verifies; none if that is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub languages: Vec<Language>,
}

/// Something that the repository gave a name to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub runner: TaskRunner,
    pub name: String,
    /// Where the file lies that defines it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
    /// What it runs, as a shell script.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// Tasks of the same runner that run before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// The script that it is itself, from the root; empty if it stands among others in a file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    #[serde(skip)]
    understood: OnceIntents,
}

/// A shell script of the repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    /// From the root.
    pub path: String,
    pub text: String,
    #[serde(skip)]
    understood: OnceIntents,
}

/// What a text would run, worked out when it is first asked for: a session runs the same task again and again. It says
/// nothing that the text does not, so that any two are alike.
#[derive(Clone, Debug, Default)]
struct OnceIntents(OnceLock<Intents>);

impl OnceIntents {
    fn of(&self, text: &str) -> &Intents {
        self.0.get_or_init(|| Intents::read(text))
    }
}

impl PartialEq for OnceIntents {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for OnceIntents {}

/// A file of a repository as a caller found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryFile {
    /// From the root, with `/` between.
    pub path: String,
    /// `None` if only its name is known.
    pub text: Option<String>,
}

/// What a command really runs, one for each program behind its launchers, tasks and scripts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub deed: Deed,
    /// The program of the table, or the task or script where nothing is known of what it runs.
    pub program: String,
    pub covers: Covered,
    /// What was chosen of all that the program could take: files, folders, names, `-k name`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// What the success of the command that was asked about says of this run: a task may ignore a failure, and a hook of
    /// a commit may not be installed.
    pub attribution: Attribution,
}

/// The packages that a run was about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Covered {
    /// Nobody knows where it ran, or which packages there are.
    Unknown,
    /// By their folders; none if it ran outside of the repository.
    Packages(Vec<String>),
    /// Of these packages only these files, from the root; `*` stands for any text.
    Files { paths: Vec<String>, packages: Vec<String> },
    /// Of these packages what lies below these folders, from the root. `tested`: others that have tests of their own; code
    /// without any may be what the tests in the folders are about.
    Below { folders: Vec<String>, tested: Vec<String>, packages: Vec<String> },
}

impl Repository {
    /// What the files of a repository say. `root`: its folder as the session knows it.
    pub fn of_files(root: impl Into<String>, files: &[RepositoryFile]) -> Self {
        let mut repository = Self { root: root.into(), packages: packages(files), ..Self::default() };
        let texts = || files.iter().filter_map(|file| Some((file.path.as_str(), file.text.as_deref()?)));
        repository.tasks =
            texts().flat_map(|(path, text)| task_files::read(path, text)).take(MOST_TASKS).collect();
        let scripts = texts().filter(|(path, text)| is_script(path) && is_shell(text));
        repository.scripts = scripts
            .map(|(path, text)| Script {
                path: path.to_owned(),
                text: text.to_owned(),
                understood: OnceIntents::default(),
            })
            .collect();
        repository.hidden_in_use = hidden_in_use(&repository.tasks);
        repository.tested = tested_folders(files);
        let ways = Ways::new(&repository, files);
        let ways = repository.packages.iter().map(|package| (ways.of(package), ways.installations(package)));
        let ways: Vec<(Vec<Way>, Vec<Way>)> = ways.collect();
        for (package, ways) in repository.packages.iter_mut().zip(ways) {
            (package.ways, package.installations) = ways;
        }
        repository
    }

    /// Whether the text of a file says something about the repository: manifests, task files, scripts, instructions.
    pub fn reads_text(path: &str) -> bool {
        Self::is_manifest(path)
            || task_files::defines_tasks(path)
            || ways::is_instructions(path)
            || is_script(path)
    }

    /// Whether a file makes a package of its folder.
    pub fn is_manifest(path: &str) -> bool {
        Language::of_manifest(folder_of(path).1).is_some()
    }

    /// Whether a file defines tasks.
    pub fn defines_tasks(path: &str) -> bool {
        task_files::defines_tasks(path)
    }

    /// Whether a file can be a script that tasks or commands run.
    pub fn is_script(path: &str) -> bool {
        is_script(path)
    }

    /// Whether a file holds tests, by its name.
    pub fn is_test(path: &str) -> bool {
        is_test_file(path)
    }

    /// Whether the text of a test says by which runner it is to be run; names say nothing about that.
    pub fn is_for_some_runner(path: &str) -> bool {
        path.ends_with(".py") && is_test_file(path)
    }

    /// Whether a file tells the runner of such tests, so that their texts need not be read.
    pub fn names_runner(file: &RepositoryFile) -> bool {
        ways::is_for_pytest(file)
    }

    /// Whether the name of a file says something about the repository, whatever is in it: lock files, settings, tests.
    pub fn reads_name(path: &str) -> bool {
        Self::reads_text(path) || path.ends_with(".py") || ways::is_sign(path)
    }

    /// The package that a file or folder belongs to: the nearest one above it. The path is absolute or from the root;
    /// `None` if it is outside, or if no packages are known.
    pub fn package_of(&self, path: &str) -> Option<&Package> {
        let path = self.relative(path)?;
        once(path.as_str()).chain(folders_above(&path)).find_map(|folder| self.package_at(folder))
    }

    /// The package whose own folder this is.
    fn package_at(&self, folder: &str) -> Option<&Package> {
        let place = self.packages.binary_search_by(|package| package.folder.as_str().cmp(folder)).ok()?;
        self.packages.get(place)
    }

    /// The packages in the folders below this one.
    fn packages_below(&self, folder: &str) -> &[Package] {
        let inside = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let first = self.packages.partition_point(|package| {
            package.folder < inside || (inside.is_empty() && package.folder.is_empty())
        });
        let below = self.packages.get(first..).unwrap_or_default();
        let count = below.iter().take_while(|package| package.folder.starts_with(&inside)).count();
        below.get(..count).unwrap_or_default()
    }

    /// Whether a file belongs to a tool and not to the code: it lies in a hidden folder at the root that is no package, and
    /// into which no task of the repository reaches. A script there is a program all the same, unless it is a hook, which
    /// the tool itself runs.
    pub fn is_of_tool(&self, path: &str) -> bool {
        let Some(folder) = hidden_folder(path) else { return false };
        let is_hook = path.split('/').any(|part| part.ends_with("hooks") || part == ".husky");
        if Language::Shell.writes(path) && !is_hook {
            return false;
        }
        let is_package = self.package_of(path).is_some_and(|package| package.folder.starts_with('.'));
        !is_package && !self.hidden_in_use.iter().any(|used| used == folder)
    }

    /// What a command runs, through tasks and scripts of the repository, in their order. `cwd`: where the command line
    /// began, absolute or from the root.
    pub fn runs(&self, command: &SimpleCommand, cwd: &str) -> Vec<Run> {
        resolution::runs(self, command, cwd)
    }

    /// Whether a command surely executes this script of the repository, itself or by tasks and other scripts.
    pub fn is_executed_by(&self, command: &SimpleCommand, cwd: &str, path: &str) -> bool {
        self.is_known_script(path) && resolution::executed(self, command, cwd).iter().any(|file| file == path)
    }

    fn is_known_script(&self, path: &str) -> bool {
        self.scripts.iter().any(|script| script.path == path)
            || self.tasks.iter().any(|task| task.file == path)
    }

    /// Leaves out the tasks and scripts that none of these commands leads to: what a verdict depends on is small, and is
    /// recorded with it.
    pub fn keep_used<'a>(&mut self, commands: impl IntoIterator<Item = &'a SimpleCommand>, cwd: &str) {
        let (mut tasks, mut scripts, mut is_confined) = (Vec::new(), Vec::new(), false);
        for command in commands {
            let used = resolution::used(self, command, cwd);
            is_confined = is_confined || self.runs(command, cwd).iter().any(|run| run.covers.is_below());
            tasks.extend(used.0);
            scripts.extend(used.1);
        }
        let mut at = 0..;
        self.tasks.retain(|_| at.next().is_some_and(|at| tasks.contains(&at)));
        let mut at = 0..;
        self.scripts.retain(|_| at.next().is_some_and(|at| scripts.contains(&at)));
        self.tested.retain(|_| is_confined);
    }

    /// The file that an interpreter is given, from the root; `None` if it is given none, or if it lies elsewhere.
    pub fn program_file(&self, command: &SimpleCommand, cwd: &str) -> Option<String> {
        let file = command.program_file()?;
        resolution::path_from_root(self, command, cwd, file)
    }

    /// Whether a command is one of the ways in which a package is verified, word for word.
    pub fn is_way(&self, command: &SimpleCommand) -> bool {
        self.ways_spelled(command).next().is_some()
    }

    /// The same in the folder where it is meant to run, given from the root.
    fn is_way_in(&self, command: &SimpleCommand, folder: &str) -> bool {
        self.ways_spelled(command).any(|way| way.folder == folder)
    }

    fn ways_spelled<'a>(&'a self, command: &'a SimpleCommand) -> impl Iterator<Item = &'a Way> {
        let ways = self.packages.iter().flat_map(|package| &package.ways);
        ways.filter(move |way| {
            way.command.contains(command.program.as_str())
                && Intents::read(&way.command)
                    .commands()
                    .iter()
                    .any(|own| own.program == command.program && own.arguments == command.arguments)
        })
    }

    /// The task that a way runs, if it is one.
    pub fn task_of(&self, way: &Way) -> Option<&Task> {
        let is_step = |task: &&Task| task.runner == TaskRunner::Workflow && task.body == way.command;
        let intents = Intents::read(&way.command);
        let mut commands = intents.commands().iter();
        let called = commands.find_map(|command| resolution::task_called(self, command, &way.folder));
        called.or_else(|| self.tasks.iter().find(is_step))
    }

    /// A path from the root; `None` if it is outside.
    fn relative(&self, path: &str) -> Option<String> {
        let path = one_spelling("", path);
        let inside = match path.starts_with('/') {
            true if self.root.is_empty() => return None,
            true => path.strip_prefix(self.root.trim_end_matches('/'))?,
            false => path.as_str(),
        };
        let is_outside = inside.starts_with("..")
            || (path.starts_with('/') && !inside.is_empty() && !inside.starts_with('/'));
        (!is_outside).then(|| inside.trim_start_matches('/').to_owned())
    }
}

impl Package {
    /// Those of its languages that a file can be written in.
    pub fn languages_of(&self, path: &str) -> Vec<Language> {
        self.languages.iter().copied().filter(|language| language.writes(path)).collect()
    }

    /// How to install what a manifest of it names.
    pub fn installation(&self, manifest: &str) -> Option<&Way> {
        let language = Language::of_manifest(folder_of(manifest).1)?;
        self.installations.iter().find(|way| way.languages.contains(&language))
    }

    /// The way that verifies code of these languages as far as it is asked to be: the strongest that the repository's
    /// instructions name, or else the strongest that there is.
    pub fn strongest(&self, languages: &[Language]) -> Option<&Way> {
        let ways = || self.ways.iter().filter(|way| way.verifies(languages));
        let instructed = ways().filter(|way| way.is_instructed).map(|way| way.deed).max();
        let deed = instructed.or_else(|| ways().map(|way| way.deed).max())?;
        ways().find(|way| way.deed == deed)
    }
}

impl Way {
    /// `pnpm test` in `packages/api`
    pub fn step(&self) -> String {
        match self.folder.as_str() {
            "" => format!("`{}`", self.command),
            folder => format!("`{}` in `{folder}`", self.command),
        }
    }

    /// Whether it can be about a file: one of its languages can be written in it, or nobody knows in which language it is.
    pub fn is_for(&self, path: &str) -> bool {
        let writes = |language: &Language| language.writes(path);
        self.languages.is_empty() || self.languages.iter().any(writes) || !Language::is_known(path)
    }

    /// Whether it verifies code of one of these languages; code of none of them may be verified by any.
    pub fn verifies(&self, languages: &[Language]) -> bool {
        self.languages.is_empty()
            || languages.is_empty()
            || languages.iter().any(|language| self.languages.contains(language))
    }
}

impl Covered {
    /// Whether the package in this folder is among them. If nobody knows, it may be.
    pub fn has(&self, folder: &str) -> bool {
        self.packages().is_none_or(|folders| folders.iter().any(|one| one == folder))
    }

    /// By their folders, if they are known.
    pub fn packages(&self) -> Option<&[String]> {
        match self {
            Self::Unknown => None,
            Self::Packages(packages) | Self::Files { packages, .. } | Self::Below { packages, .. } => {
                Some(packages)
            }
        }
    }

    /// Whether the run was confined to some folders of its packages.
    pub fn is_below(&self) -> bool {
        matches!(self, Self::Below { .. })
    }

    /// Whether a file of the packages is among what was looked at.
    pub fn has_file(&self, path: &str) -> bool {
        match self {
            Self::Files { paths, .. } => paths.iter().any(|one| matches_glob(one, path)),
            Self::Below { folders, tested, .. } => {
                let folder = folder_of(path).0;
                folders.iter().any(|one| is_within(path, one)) || !tested.iter().any(|one| one == folder)
            }
            Self::Unknown | Self::Packages(_) => true,
        }
    }
}

/// Whether a path lies in a folder or is it.
fn is_within(path: &str, folder: &str) -> bool {
    folder.is_empty()
        || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn folder_of(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// The folder that tests in this one are about: `app` for `app` and for `app/tests/unit`.
fn tested_by(folder: &str) -> &str {
    let mut own = folder;
    while !own.is_empty() && is_folder_of_tests(folder_of(own).1) {
        own = folder_of(own).0;
    }
    own
}

fn tested_folders(files: &[RepositoryFile]) -> Vec<String> {
    let tests = files.iter().filter(|file| is_test_file(&file.path));
    let folders: BTreeSet<&str> = tests.map(|file| tested_by(folder_of(&file.path).0)).collect();
    folders.into_iter().map(str::to_owned).collect()
}

/// Whether a folder is there for tests, by its name.
fn is_folder_of_tests(name: &str) -> bool {
    FOLDERS_OF_TESTS.split(' ').any(|glob| matches_glob(glob, name))
}

fn is_sample(folder: &str) -> bool {
    folder.split('/').any(|part| crate::table::has(SAMPLES, part))
}

/// The folders that a file or folder lies in, from the nearest to the root.
fn folders_above(path: &str) -> impl Iterator<Item = &str> {
    fn outer<'p>(folder: &&'p str) -> Option<&'p str> {
        (!folder.is_empty()).then(|| folder_of(folder).0)
    }
    successors(outer(&path), outer)
}

/// The hidden folder at the root that a path lies in or is. A worktree in such a folder is a checkout of its own.
fn hidden_folder(path: &str) -> Option<&str> {
    let folder = path.split('/').next().filter(|part| part.starts_with('.') && part.len() > 1)?;
    let inner =
        path.strip_prefix(".worktrees/").or_else(|| path.get(folder.len()..)?.strip_prefix("/worktrees/"));
    match inner.and_then(|inner| inner.split_once('/')) {
        Some((_, path)) => hidden_folder(path),
        None => path.contains('/').then_some(folder),
    }
}

/// The hidden folders at the root that tasks name paths in. What only CI or a commit runs sets these up.
fn hidden_in_use(tasks: &[Task]) -> Vec<String> {
    let is_own = |task: &&Task| !matches!(task.runner, TaskRunner::Workflow | TaskRunner::CommitHook);
    let mut folders = BTreeSet::new();
    for task in tasks.iter().filter(is_own).filter(|task| task.body.contains('.')) {
        let words = task.body.split([' ', '\n', '\t', '"', '\'', ';', '(', ')', '=']);
        let paths = words.filter(|word| word.contains('/')).map(|word| one_spelling(&task.folder, word));
        folders.extend(paths.filter_map(|path| hidden_folder(&path).map(str::to_owned)));
    }
    folders.into_iter().collect()
}

/// The root, and the folders with manifests, by their folders.
fn packages(files: &[RepositoryFile]) -> Vec<Package> {
    let mut packages = BTreeMap::from([(String::new(), Package::default())]);
    let mut manifests: Vec<(&RepositoryFile, Language)> = files
        .iter()
        .filter(|file| !is_sample(folder_of(&file.path).0))
        .filter_map(|file| Some((file, Language::of_manifest(folder_of(&file.path).1)?)))
        .collect();
    manifests.sort_by_key(|(file, _)| file.path.matches('/').count());
    for (file, language) in manifests {
        let (folder, name) = folder_of(&file.path);
        let manifest = Manifest::read(name, file.text.as_deref().unwrap_or_default());
        let is_of_language = |folder: &str| {
            packages.get(folder).is_some_and(|package: &Package| package.languages.contains(&language))
        };
        // What belongs to one build is one package, and a `package.json` without a name and scripts only sets a mode.
        let is_part = language.builds_as_one() && folders_above(folder).any(is_of_language);
        let says_nothing = name == "package.json" && file.text.is_some() && manifest == Manifest::default();
        if is_part || says_nothing {
            continue;
        }
        let new = || Package { folder: folder.to_owned(), ..Package::default() };
        let package = packages.entry(folder.to_owned()).or_insert_with(new);
        package.names.extend(manifest.name);
        package.is_workspace |= manifest.is_workspace;
        if !package.languages.contains(&language) {
            package.languages.push(language);
        }
    }
    add_languages_of_code(&mut packages, files);
    packages.into_values().collect()
}

/// Python and shell need no manifest: tests of theirs, or Python in the package at the root, say enough.
fn add_languages_of_code(packages: &mut BTreeMap<String, Package>, files: &[RepositoryFile]) {
    for file in files {
        let name = folder_of(&file.path).1;
        let is_python = file.path.ends_with(".py");
        let is_test = is_test_file(&file.path) || name == "conftest.py";
        let nearest = folders_above(&file.path).find(|folder| packages.contains_key(*folder));
        let Some(package) = nearest.and_then(|folder| packages.get_mut(folder)) else { continue };
        let language = match is_python {
            true if is_test || package.folder.is_empty() => Language::Python,
            false if file.path.ends_with(".bats") || name == ".shellcheckrc" => Language::Shell,
            _ => continue,
        };
        if !package.languages.contains(&language) {
            package.languages.push(language);
        }
    }
}

/// Whether a file can be a script by its name.
fn is_script(path: &str) -> bool {
    let (folder, name) = folder_of(path);
    let has_no_extension =
        !name.contains('.') && folder.split('/').any(|part| crate::table::has(SCRIPTS, part));
    name.ends_with(".sh") || name.ends_with(".bash") || has_no_extension
}

/// Whether a shell is to read the text.
fn is_shell(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    !first.starts_with("#!") || first.trim_end().ends_with("sh") || first.contains("sh ")
}
