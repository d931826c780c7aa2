//! What a package can verify with, in the repository's own words: what its instructions name, the tasks that it defines,
//! what its language offers where there is something for it to do, and what CI runs. A package without tests has no way to
//! test, and a script that only says so is none.

use std::collections::{BTreeMap, HashSet};
use std::iter::once;
use std::sync::LazyLock;

use super::{
    Covered, Language, Package, Repository, RepositoryFile, Run, Task, TaskRunner, Way, folder_of,
    folders_above, is_sample, resolution,
};
use crate::Deed;
use crate::shell::Intents;
use crate::table::{self, matches_glob, usual_deed};
use crate::test_file::is_test_file;

/// What verifies, from the strongest on.
const VERIFYING: [Deed; 4] = [Deed::Tests, Deed::Builds, Deed::TypeChecks, Deed::Lints];

/// Of one text of instructions.
const MOST_COMMANDS: usize = 200;
const LONGEST_COMMAND: usize = 160;

/// What a language offers.
struct Offer {
    language: Language,
    deed: Deed,
    command: &'static str,
    /// One of these files must lie in the package's folder; `name:text` if the text must stand in it. All do if empty.
    with: &'static str,
    /// One of these files must be somewhere in the package; `tests:` before a glob means tests alone.
    needs: &'static str,
}

const fn offer(
    language: Language,
    deed: Deed,
    command: &'static str,
    with: &'static str,
    needs: &'static str,
) -> Offer {
    Offer { language, deed, command, with, needs }
}

/// In order: the first of a deed that applies is taken.
const OFFERS: &[Offer] = {
    use Deed::*;
    use Language::*;
    &[
        offer(JavaScript, Tests, "npx vitest run", "vitest.config.*", "tests:*"),
        offer(JavaScript, Tests, "npx jest", "jest.config.*", "tests:*"),
        offer(JavaScript, TypeChecks, "npx tsc --noEmit", "tsconfig.json", ""),
        offer(JavaScript, Lints, "npx eslint .", "eslint.config.* .eslintrc*", ""),
        offer(JavaScript, Lints, "npx biome check", "biome.json biome.jsonc", ""),
        offer(Deno, Tests, "deno test", "", "tests:*.ts tests:*.js tests:*.tsx"),
        offer(Deno, TypeChecks, "deno check .", "", ""),
        offer(Rust, Tests, "cargo test", "", ""),
        offer(Rust, TypeChecks, "cargo check", "", ""),
        offer(Go, Tests, "go test ./...", "", "*_test.go"),
        offer(Go, Builds, "go build ./...", "", ""),
        offer(Go, Lints, "go vet ./...", "", ""),
        offer(Python, Tests, "python manage.py test", "manage.py", "tests:*.py"),
        offer(Python, Tests, UNITTEST, "", "tests:*.py"),
        offer(Python, Tests, "pytest", "", "tests:*.py conftest.py"),
        offer(
            Python,
            TypeChecks,
            "mypy .",
            "mypy.ini .mypy.ini pyproject.toml:[tool.mypy setup.cfg:[mypy",
            "",
        ),
        offer(Python, TypeChecks, "pyright", "pyrightconfig.json pyproject.toml:[tool.pyright", ""),
        offer(Python, Lints, "ruff check .", "ruff.toml .ruff.toml pyproject.toml:[tool.ruff", ""),
        offer(Python, Lints, "flake8", ".flake8 setup.cfg:[flake8 tox.ini:[flake8", ""),
        offer(Python, Lints, "pylint .", ".pylintrc pyproject.toml:[tool.pylint", ""),
        offer(
            Java,
            Tests,
            "./gradlew test",
            "gradlew",
            "tests:*.java tests:*.kt tests:*.groovy tests:*.scala",
        ),
        offer(
            Java,
            Tests,
            "gradle test",
            "build.gradle build.gradle.kts",
            "tests:*.java tests:*.kt tests:*.groovy",
        ),
        offer(Java, Tests, "./mvnw test", "mvnw", "tests:*.java tests:*.kt tests:*.scala"),
        offer(Java, Tests, "mvn test", "pom.xml", "tests:*.java tests:*.kt tests:*.scala"),
        offer(Java, Tests, "sbt test", "build.sbt", "tests:*.scala tests:*.java"),
        offer(Java, Builds, "./gradlew build", "gradlew", ""),
        offer(Java, Builds, "gradle build", "build.gradle build.gradle.kts", ""),
        offer(Java, Builds, "./mvnw compile", "mvnw", ""),
        offer(Java, Builds, "mvn compile", "pom.xml", ""),
        offer(Java, Builds, "sbt compile", "build.sbt", ""),
        offer(DotNet, Tests, "dotnet test", "", "tests:*.cs tests:*.fs tests:*.vb *Test*.csproj"),
        offer(DotNet, Builds, "dotnet build", "", ""),
        offer(
            C,
            Tests,
            "ctest --test-dir build",
            "CMakeLists.txt:enable_testing CMakeLists.txt:add_test CMakeLists.txt:CTest",
            "",
        ),
        offer(C, Tests, "meson test -C build", "meson.build:test(", ""),
        offer(C, Builds, "cmake --build build", "CMakeLists.txt", ""),
        offer(C, Builds, "meson compile -C build", "meson.build", ""),
        offer(C, Builds, "make", "configure configure.ac", ""),
        offer(Ruby, Tests, "bundle exec rspec", "", "*_spec.rb"),
        offer(Ruby, Tests, "bundle exec rake test", "Rakefile", "tests:*.rb"),
        offer(Ruby, Lints, "bundle exec rubocop", ".rubocop.yml", ""),
        offer(Php, Tests, "vendor/bin/pest", "composer.json:pestphp/pest", "tests:*.php"),
        offer(Php, Tests, "vendor/bin/phpunit", "composer.json:phpunit phpunit.xml*", "tests:*.php"),
        offer(Php, Lints, "vendor/bin/phpstan analyse", "phpstan.neon* composer.json:phpstan", ""),
        offer(Swift, Tests, "swift test", "Package.swift", "tests:*.swift"),
        offer(Swift, Builds, "swift build", "Package.swift", ""),
        offer(Swift, Builds, "xcodebuild build", "*.xcodeproj *.xcworkspace", ""),
        offer(Elixir, Tests, "mix test", "", "*_test.exs"),
        offer(Elixir, Builds, "mix compile", "", ""),
        offer(Dart, Tests, "flutter test", "pubspec.yaml:flutter:", "*_test.dart"),
        offer(Dart, Tests, "dart test", "", "*_test.dart"),
        offer(Dart, Lints, "flutter analyze", "pubspec.yaml:flutter:", ""),
        offer(Dart, Lints, "dart analyze", "", ""),
        offer(OCaml, Tests, "dune test", "", "tests:*.ml"),
        offer(OCaml, Builds, "dune build", "", ""),
        offer(Haskell, Tests, "stack test", "stack.yaml", "tests:*.hs"),
        offer(Haskell, Tests, "cabal test", "", "tests:*.hs"),
        offer(Haskell, Builds, "stack build", "stack.yaml", ""),
        offer(Haskell, Builds, "cabal build", "", ""),
        offer(Zig, Tests, "zig build test", "build.zig:\"test\"", ""),
        offer(Zig, Builds, "zig build", "", ""),
        offer(Shell, Tests, "bats .", "", "*.bats"),
        offer(Shell, Lints, "shellcheck *.sh", ".shellcheckrc", "*.sh"),
    ]
};

/// Offered only where tests are written for it and nothing is for pytest.
const UNITTEST: &str = "python -m unittest";
/// Files that only pytest reads.
const OF_PYTEST: &[&str] = &["conftest.py", "pytest.ini"];

/// A file in a folder, and the program in whose words commands are said there.
const MANAGERS: &[(&str, &str)] = &[
    ("pnpm-lock.yaml", "pnpm"),
    ("pnpm-workspace.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("bun.lock", "bun"),
    ("bun.lockb", "bun"),
    ("package-lock.json", "npm"),
];
const ENVIRONMENTS: &[(&str, &str)] = &[
    ("uv.lock", "uv run "),
    ("poetry.lock", "poetry run "),
    ("pdm.lock", "pdm run "),
    ("Pipfile", "pipenv run "),
];
const INSTRUCTIONS: &[&str] = &["CLAUDE.md", "AGENTS.md", "GEMINI.md", "CONTRIBUTING.md"];

pub(super) fn is_instructions(path: &str) -> bool {
    INSTRUCTIONS.contains(&path.rsplit('/').next().unwrap_or(path))
}

/// The names of files that matter although their texts may not, without and with a `*` in them; made once, because every
/// file of a checkout is asked for.
static SIGNS: LazyLock<(HashSet<&str>, Vec<&str>)> = LazyLock::new(|| {
    let marks = MANAGERS.iter().chain(ENVIRONMENTS).map(|(mark, _)| *mark);
    let with = OFFERS
        .iter()
        .flat_map(|offer| offer.with.split(' '))
        .map(|sign| sign.split(':').next().unwrap_or(sign));
    let needs = OFFERS.iter().flat_map(|offer| offer.needs.split(' '));
    let signs = marks
        .chain(with)
        .chain(needs)
        .chain(OF_PYTEST.iter().copied())
        .filter(|sign| !sign.is_empty() && !sign.starts_with("tests:"));
    let (globs, plain): (HashSet<&str>, HashSet<&str>) = signs.partition(|sign| sign.contains('*'));
    (plain, globs.into_iter().filter(|glob| !is_test_file(&glob.replace('*', "x"))).collect())
});

/// Whether the name of a file matters, although its text may not.
pub(super) fn is_sign(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (plain, globs) = &*SIGNS;
    is_test_file(path) || plain.contains(name) || globs.iter().any(|glob| matches_glob(glob, name))
}

/// How far a way is from what the package itself says; the nearest is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Instructions,
    OwnTask,
    Language,
    TaskAbove,
    Workflow,
}

/// A way that is not of one package's language.
struct SharedWay<'a> {
    source: Source,
    way: Way,
    /// The name of the task.
    name: &'a str,
}

/// The files of a repository, by what ways ask them.
pub(super) struct Ways<'a> {
    repository: &'a Repository,
    /// The files of each package, by its folder.
    files: BTreeMap<&'a str, Vec<&'a RepositoryFile>>,
    /// The names of the files that say in whose words commands are said, by their folders.
    marks: BTreeMap<&'a str, Vec<&'a str>>,
    shared: Vec<SharedWay<'a>>,
    /// Something in the repository is for pytest.
    has_pytest: bool,
    /// The places in `shared` of what covers a package, by its folder.
    shared_by: BTreeMap<String, Vec<usize>>,
}

impl<'a> Ways<'a> {
    pub(super) fn new(repository: &'a Repository, files: &'a [RepositoryFile]) -> Self {
        let mut ways = Self {
            repository,
            files: BTreeMap::new(),
            marks: BTreeMap::new(),
            shared: Vec::new(),
            has_pytest: files.iter().any(is_for_pytest),
            shared_by: BTreeMap::new(),
        };
        for file in files {
            if let Some(package) = repository.package_of(&file.path) {
                ways.files.entry(&package.folder).or_default().push(file);
            }
            let (folder, name) = folder_of(&file.path);
            if MANAGERS.iter().chain(ENVIRONMENTS).any(|(mark, _)| *mark == name) {
                ways.marks.entry(folder).or_default().push(name);
            }
        }
        // A task that verifies is called so; what others run besides is no way to ask for it.
        let is_usual =
            |task: &&Task| task.runner == TaskRunner::Workflow || VERIFYING.contains(&usual_deed(&task.name));
        for task in repository.tasks.iter().filter(is_usual).filter(|task| !is_sample(&task.folder)) {
            let (source, command) = match task.runner {
                // Several commands are more than a person would type.
                TaskRunner::Workflow => (
                    Source::Workflow,
                    Some(task.body.clone()).filter(|body| Intents::read(body).commands().len() == 1),
                ),
                _ => (Source::OwnTask, ways.call(task)),
            };
            let Some(command) = command else { continue };
            ways.share(source, &command, &task.folder, resolution::task_runs(repository, task), &task.name);
        }
        for file in files.iter().filter(|file| is_instructions(&file.path)) {
            // What stands in `.github` or `docs` is about the package around it.
            let folder = repository.package_of(&file.path).map_or("", |package| package.folder.as_str());
            let named = commands(file.text.as_deref().unwrap_or_default());
            for command in named.into_iter().filter(|command| names_program(command)) {
                let intents = Intents::read(command);
                let runs = intents.commands().iter().flat_map(|one| repository.runs(one, folder)).collect();
                ways.share(Source::Instructions, command, folder, runs, "");
            }
        }
        ways
    }

    /// Notes the strongest that a command does, if it does all of it: not one file, and not a task that is not there.
    fn share(&mut self, source: Source, command: &str, folder: &'a str, runs: Vec<Run>, name: &'a str) {
        let is_there =
            |run: &Run| table::find(&run.program).is_none_or(|row| !row.runs_tasks() || run.program == "bun");
        let verifies = |run: &Run| VERIFYING.contains(&run.deed) && is_there(run);
        let mut runs: Vec<Run> = runs.into_iter().filter(verifies).collect();
        let Some(deed) = runs.iter().map(|run| run.deed).max() else { return };
        runs.retain(|run| run.deed == deed);
        let is_whole =
            |target: &String| matches!(target.as_str(), "." | "./..." | "tests" | "test" | "src" | "tests/");
        // One word is a mention of a program or a file, unless it runs tests.
        let is_mention = !command.contains(' ') && (deed != Deed::Tests || command.contains('/'));
        if source == Source::Instructions
            && (is_mention || !runs.iter().flat_map(|run| &run.targets).all(is_whole))
        {
            return;
        }
        let mut languages: Vec<Language> =
            runs.iter().filter_map(|run| Language::of_program(&run.program)).collect();
        if languages.is_empty() {
            let intents = Intents::read(command);
            let named = intents.commands().iter().filter_map(|one| Language::of_program(&one.program));
            languages.extend(named);
        }
        languages.sort_unstable();
        languages.dedup();
        let is_of_code = runs.iter().any(|run| Language::is_of_program(&run.program));
        let way = Way {
            deed,
            command: command.to_owned(),
            folder: folder.to_owned(),
            is_instructed: source == Source::Instructions,
            languages,
        };
        for covered in runs.into_iter().map(|run| run.covers) {
            let all = || self.repository.packages.iter().map(|package| package.folder.clone()).collect();
            let folders: Vec<String> = match covered {
                Covered::Packages(folders)
                | Covered::Files { packages: folders, .. }
                | Covered::Below { packages: folders, .. } => folders,
                Covered::Unknown => all(),
            };
            let has_no_code = |folder: &String| {
                self.repository.package_at(folder).is_none_or(|one| one.languages.is_empty())
            };
            for folder in folders.into_iter().filter(|folder| is_of_code || has_no_code(folder)) {
                let places = self.shared_by.entry(folder).or_default();
                if places.last() != Some(&self.shared.len()) {
                    places.push(self.shared.len());
                }
            }
        }
        self.shared.push(SharedWay { source, way, name });
    }

    /// The command that runs a task.
    fn call(&self, task: &Task) -> Option<String> {
        let name = &task.name;
        let folder = &task.folder;
        Some(match task.runner {
            TaskRunner::PackageScript => match (self.manager(folder), name.as_str()) {
                (manager @ ("npm" | "pnpm" | "yarn"), "test") => format!("{manager} test"),
                ("yarn", name) => format!("yarn {name}"),
                (manager, name) => format!("{manager} run {name}"),
            },
            TaskRunner::Make => format!("make {name}"),
            TaskRunner::Just => format!("just {name}"),
            TaskRunner::Taskfile => format!("task {name}"),
            TaskRunner::Mise => format!("mise run {name}"),
            TaskRunner::Poe => format!("{}poe {name}", self.near(ENVIRONMENTS, folder).unwrap_or_default()),
            TaskRunner::Pdm => format!("pdm run {name}"),
            TaskRunner::Hatch => format!("hatch run {name}"),
            TaskRunner::Rye => format!("rye run {name}"),
            TaskRunner::Pixi => format!("pixi run {name}"),
            TaskRunner::Tox => format!("tox -e {name}"),
            TaskRunner::Nox => format!("nox -s {name}"),
            TaskRunner::Composer => format!("composer run {name}"),
            TaskRunner::Rake => format!("bundle exec rake {name}"),
            TaskRunner::Deno => format!("deno task {name}"),
            TaskRunner::Devbox => format!("devbox run {name}"),
            TaskRunner::Cargo => format!("cargo {name}"),
            TaskRunner::Nx | TaskRunner::Moon => {
                let package = self.repository.package_at(folder);
                let project = package.and_then(|package| package.names.first());
                let project =
                    project.map_or_else(|| folder.rsplit('/').next().unwrap_or_default(), String::as_str);
                match task.runner {
                    TaskRunner::Nx => format!("npx nx run {project}:{name}"),
                    _ => format!("moon run {project}:{name}"),
                }
            }
            TaskRunner::CommitHook | TaskRunner::Workflow => return None,
        })
    }

    /// The word that goes with the first of these files in the folder or above it.
    fn near(&self, marks: &[(&str, &'static str)], folder: &str) -> Option<&'static str> {
        self.nearest_mark(marks, folder).map(|(_, word)| word)
    }

    /// The same, with the folder in which the file lies.
    fn nearest_mark<'f>(
        &self,
        marks: &[(&str, &'static str)],
        folder: &'f str,
    ) -> Option<(&'f str, &'static str)> {
        let word = |name: &&str| Some(marks.iter().find(|(mark, _)| mark == name)?.1);
        let in_folder =
            |folder: &'f str| Some((folder, self.marks.get(folder)?.iter().rev().find_map(word)?));
        once(folder).chain(folders_above(folder)).find_map(in_folder)
    }

    /// How the dependencies of a package are installed, where a lock file says with what.
    pub(super) fn installations(&self, package: &Package) -> Vec<Way> {
        let installation = |language: &Language| {
            let (folder, command) = match language {
                Language::JavaScript => {
                    let (folder, manager) = self.nearest_mark(MANAGERS, &package.folder)?;
                    (folder, format!("{manager} install"))
                }
                Language::Python => {
                    let (folder, environment) = self.nearest_mark(ENVIRONMENTS, &package.folder)?;
                    let manager = environment.split(' ').next()?;
                    (folder, format!("{manager} {}", if manager == "uv" { "sync" } else { "install" }))
                }
                _ => return None,
            };
            Some(Way {
                deed: Deed::Installs,
                command,
                folder: folder.to_owned(),
                is_instructed: false,
                languages: vec![*language],
            })
        };
        package.languages.iter().filter_map(installation).collect()
    }

    fn manager(&self, folder: &str) -> &'static str {
        self.near(MANAGERS, folder).unwrap_or("npm")
    }

    /// What the package can verify with; what CI runs counts only where there is nothing else.
    pub(super) fn of(&self, package: &Package) -> Vec<Way> {
        let nearer = self.nearest(package, |source| source < Source::Workflow);
        if nearer.is_empty() { self.nearest(package, |source| source == Source::Workflow) } else { nearer }
    }

    fn nearest(&self, package: &Package, counts: impl Fn(Source) -> bool) -> Vec<Way> {
        let mut ways: Vec<Way> = Vec::new();
        let places = self.shared_by.get(&package.folder).map(Vec::as_slice).unwrap_or_default();
        let shared = || places.iter().filter_map(|place| self.shared.get(*place));
        for deed in VERIFYING {
            let fits = |shared: &&SharedWay<'_>| shared.way.deed == deed && counts(shared.source);
            let nearness = |shared: &&SharedWay<'_>| {
                let source = match shared.source {
                    Source::OwnTask if shared.way.folder != package.folder => Source::TaskAbove,
                    source => source,
                };
                let name = shared.name;
                (source, usual_deed(name) != deed, is_odd(name), name.len().max(shared.way.command.len()))
            };
            let mut offered = self.offered(package, deed);
            offered.retain(|_| counts(Source::Language));
            // Each language by what is nearest to it, and others where that is all there is.
            let first = ways.len();
            for languages in package.languages.iter().map(std::slice::from_ref).chain(once(&[][..])) {
                if ways.iter().skip(first).any(|way| way.verifies(languages)) {
                    continue;
                }
                let speaks = |shared: &&SharedWay<'_>| shared.way.verifies(languages);
                let nearest = shared().filter(fits).filter(speaks).min_by_key(nearness);
                let offer = offered.iter().find(|way| way.verifies(languages));
                let is_near = |shared: &&SharedWay<'_>| nearness(shared).0 < Source::Language;
                let own = nearest.filter(is_near).map(|shared| &shared.way);
                ways.extend(own.or(offer).or(nearest.map(|shared| &shared.way)).cloned());
            }
        }
        ways
    }

    /// What each language of the package offers.
    fn offered(&self, package: &Package, deed: Deed) -> Vec<Way> {
        let own = self.files.get(package.folder.as_str()).map(Vec::as_slice).unwrap_or_default();
        let name = |file: &RepositoryFile| folder_of(&file.path).1.to_owned();
        let lies_in_folder = |file: &RepositoryFile| folder_of(&file.path).0 == package.folder;
        let has = |sign: &str| {
            let (glob, text) = sign.split_once(':').unwrap_or((sign, ""));
            own.iter().any(|file| {
                let holds = text.is_empty() || file.text.as_deref().is_some_and(|whole| whole.contains(text));
                lies_in_folder(file) && matches_glob(glob, &name(file)) && holds
            })
        };
        let contains = |sign: &str| match sign.strip_prefix("tests:") {
            Some(glob) => own.iter().any(|file| matches_glob(glob, &name(file)) && is_test_file(&file.path)),
            None => own.iter().any(|file| matches_glob(sign, &name(file))),
        };
        let unittest = own.iter().copied().find(|file| !self.has_pytest && is_of_unittest(file));
        let applies = |offer: &&Offer| {
            offer.deed == deed
                && (offer.command != UNITTEST || unittest.is_some())
                && package.languages.contains(&offer.language)
                && (offer.with.is_empty() || offer.with.split(' ').any(has))
                && (offer.needs.is_empty() || offer.needs.split(' ').any(contains))
        };
        let mut offers: Vec<&Offer> = OFFERS.iter().filter(applies).collect();
        offers.dedup_by_key(|offer| offer.language);
        let command = |offer: &Offer| match unittest.filter(|_| offer.command == UNITTEST) {
            Some(test) => discovery(test, own, package),
            None => offer.command.to_owned(),
        };
        let offered = offers.into_iter().map(|offer| Way {
            deed,
            command: self.in_environment(package, offer.language, command(offer)),
            folder: package.folder.clone(),
            is_instructed: false,
            languages: vec![offer.language],
        });
        offered.collect()
    }

    /// The command of an offer as it is typed here.
    fn in_environment(&self, package: &Package, language: Language, command: String) -> String {
        match language {
            Language::Python => {
                format!("{}{command}", self.near(ENVIRONMENTS, &package.folder).unwrap_or_default())
            }
            Language::JavaScript => match self.manager(&package.folder) {
                "pnpm" => command.replace("npx", "pnpm exec"),
                "yarn" => command.replace("npx", "yarn"),
                "bun" => command.replace("npx", "bunx"),
                _ => command,
            },
            _ => command,
        }
    }
}

/// Whether a file is there for pytest, or speaks of it.
pub(super) fn is_for_pytest(file: &RepositoryFile) -> bool {
    OF_PYTEST.contains(&folder_of(&file.path).1)
        || file.text.as_deref().is_some_and(|text| {
            // Functions are tests for pytest alone.
            text.contains("pytest") || (is_test_file(&file.path) && text.contains("\ndef test_"))
        })
}

/// Whether a file of tests is written for unittest.
fn is_of_unittest(file: &RepositoryFile) -> bool {
    let is_written_for_it = |text: &str| text.contains("unittest") && text.contains("TestCase");
    is_test_file(&file.path) && file.text.as_deref().is_some_and(is_written_for_it)
}

/// The command with which unittest finds a test: from its own folder on it looks in those below that are packages of Python.
fn discovery(test: &RepositoryFile, own: &[&RepositoryFile], package: &Package) -> String {
    let (mut folder, name) = folder_of(&test.path);
    let is_importable = |folder: &str| own.iter().any(|file| file.path == format!("{folder}/__init__.py"));
    while folder != package.folder && is_importable(folder) {
        folder = folder_of(folder).0;
    }
    let start = folder.strip_prefix(package.folder.as_str()).unwrap_or(folder).trim_start_matches('/');
    let from = if start.is_empty() { String::new() } else { format!(" -s {start}") };
    let pattern = match name {
        name if name.starts_with("test") => "",
        name if name.ends_with("_test.py") => " -p '*_test.py'",
        _ => " -p '*.py'",
    };
    match [from.as_str(), pattern].concat().as_str() {
        "" => UNITTEST.to_owned(),
        options => format!("{UNITTEST} discover{options}"),
    }
}

/// Whether a task is one of many uses of its kind, or never ends.
fn is_odd(name: &str) -> bool {
    let parts = "watch debug ui update dev coverage cov e2e bench clean open fix";
    name.split([':', '-', '_', '.']).any(|part| table::has(parts, part))
}

/// Whether a program of the table is among the words; most code spans are names of other things.
fn names_program(command: &str) -> bool {
    command
        .split([' ', ';'])
        .any(|word| table::find(table::base_name(word)).is_some_and(|row| row.deed >= Deed::Other))
}

/// The commands that a text names: the lines of its code blocks and its code spans.
fn commands(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut block: Option<bool> = None;
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(language) = trimmed.strip_prefix("```").or_else(|| trimmed.strip_prefix("~~~")) {
            let is_shell = table::has("bash sh shell console zsh shell-session", language.trim())
                || language.trim().is_empty();
            block = if block.is_some() { None } else { Some(is_shell) };
        } else if block == Some(true) {
            found.push(trimmed.trim_start_matches("$ "));
        } else if block.is_none() {
            found.extend(line.split('`').skip(1).step_by(2));
        }
        if found.len() >= MOST_COMMANDS {
            break;
        }
    }
    let plain = found.into_iter().map(|command| command.split(" #").next().unwrap_or_default().trim());
    // What stands in angle brackets is to be filled in.
    plain
        .filter(|command| {
            !command.is_empty() && command.len() <= LONGEST_COMMAND && !command.contains(['<', '['])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_name_commands_in_spans_and_blocks() {
        let text = "Run `npm test` and `src/a.ts`.\n```bash\n$ make check  # all\npytest <file>\n```\n```python\nimport os\n```\n";
        assert_eq!(commands(text), ["npm test", "src/a.ts", "make check"]);
    }
}
