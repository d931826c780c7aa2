//! What a command really runs: tasks and scripts of the repository are followed to the programs in them, and each run
//! is about the packages of the folder, flags and targets that it was started with.

use std::iter::{once, successors};

use super::{
    Covered, Language, Package, Repository, Run, Task, folder_of, folders_above, is_folder_of_tests,
    is_script, is_within,
};
use crate::Deed;
use crate::meaning::TaskCall;
use crate::shell::{Attribution, Directory, Intents, Mask, SimpleCommand, Word, is_installed, one_spelling};
use crate::table::{self, Fact, Program, TaskRunner, matches_glob, usual_deed};
use crate::test_file::is_code_file;

/// Tasks that call tasks; deeper is a cycle or a riddle.
const DEEPEST: usize = 8;
/// Of one command.
const MOST_RUNS: usize = 64;
/// Targets by which `make` makes no program.
const NOT_MADE: &str = "*clean* help install* uninstall* dist* doc* tags";
/// Options that choose all packages.
const ALL: &str = "-r --recursive --workspaces -ws --workspace --all";
/// Options that choose the package at the root.
const ROOT: &str = "-w --workspace-root";

/// A command, followed to its end.
fn resolved<'a>(repository: &'a Repository, command: &SimpleCommand, cwd: &str) -> Resolution<'a> {
    let mut resolution = Resolution::new(repository);
    let place = resolution.place(&command.directory, cwd);
    resolution.command(command, &place, Attribution::Decides);
    resolution
}

pub(super) fn runs(repository: &Repository, command: &SimpleCommand, cwd: &str) -> Vec<Run> {
    resolved(repository, command, cwd).runs
}

/// The tasks and scripts that a command leads to, by their places in the repository.
pub(super) fn used(repository: &Repository, command: &SimpleCommand, cwd: &str) -> (Vec<usize>, Vec<usize>) {
    let resolution = resolved(repository, command, cwd);
    let tasks = repository
        .tasks
        .iter()
        .enumerate()
        .filter(|(_, task)| resolution.followed.contains(&identity(*task)));
    let scripts = repository.scripts.iter().enumerate();
    let scripts = scripts.filter(|(_, script)| resolution.followed.contains(&identity(*script)));
    (tasks.map(|(place, _)| place).collect(), scripts.map(|(place, _)| place).collect())
}

/// The scripts that a command surely executes, from the root.
pub(super) fn executed(repository: &Repository, command: &SimpleCommand, cwd: &str) -> Vec<String> {
    resolved(repository, command, cwd).executed
}

/// A path that a command names, from the root; `None` if it is outside, or nobody knows where.
pub(super) fn path_from_root(
    repository: &Repository,
    command: &SimpleCommand,
    cwd: &str,
    path: &str,
) -> Option<String> {
    let resolution = Resolution::new(repository);
    let place = resolution.place(&command.directory, cwd);
    match resolution.in_folder_of_option(command, &place) {
        _ if command.is_elsewhere => None,
        Place::At(folder) | Place::Outside(folder) => repository.relative(&one_spelling(&folder, path)),
        Place::Unknown => None,
    }
}

/// What a task runs.
pub(super) fn task_runs<'a>(repository: &'a Repository, task: &'a Task) -> Vec<Run> {
    let mut resolution = Resolution::new(repository);
    resolution.follow(task, Attribution::Decides, &[]);
    resolution.runs
}

/// The first task that a command names.
pub(super) fn task_called<'a>(
    repository: &'a Repository,
    command: &SimpleCommand,
    folder: &str,
) -> Option<&'a Task> {
    let row = command.row()?;
    let call = command.task_call(row)?;
    call.names.iter().find_map(|name| Resolution::new(repository).nearest(row, name, folder))
}

/// Where something runs.
#[derive(Clone, Debug, PartialEq)]
enum Place {
    /// From the root.
    At(String),
    /// By its absolute path.
    Outside(String),
    Unknown,
}

struct Resolution<'a> {
    repository: &'a Repository,
    runs: Vec<Run>,
    /// How many tasks and scripts are being followed, each within the one before.
    depth: usize,
    /// All tasks and scripts that were followed.
    followed: Vec<Identity>,
    /// The scripts among them whose failure would be the command's.
    executed: Vec<String>,
}

/// Where a task or script lies in memory: several hooks of one commit have the same runner, folder and name.
type Identity = *const ();

fn identity<T>(task_or_script: &T) -> Identity {
    std::ptr::from_ref(task_or_script).cast()
}

impl<'a> Resolution<'a> {
    fn new(repository: &'a Repository) -> Self {
        Self { repository, runs: Vec::new(), depth: 0, followed: Vec::new(), executed: Vec::new() }
    }

    /// Whether a task or script is to be followed now: not too deep, and each once, as the runners do, so that tasks that need
    /// each other crosswise cost no more than there are of them.
    fn enters(&mut self, identity: Identity) -> bool {
        let enters = self.depth < DEEPEST && !self.followed.contains(&identity);
        if enters {
            self.depth += 1;
            self.followed.push(identity);
        }
        enters
    }

    fn place(&self, directory: &Directory, base: &str) -> Place {
        let path = match directory {
            Directory::Start => one_spelling("", base),
            Directory::At(path) => one_spelling(base, path),
            Directory::Unknown => return Place::Unknown,
        };
        match self.repository.relative(&path) {
            Some(folder) => Place::At(folder),
            None if self.repository.root.is_empty() => Place::Unknown,
            None => Place::Outside(path),
        }
    }

    fn command(&mut self, command: &SimpleCommand, place: &Place, attribution: Attribution) {
        let Some(deed) = command.deed_done() else { return };
        let idles = matches!(deed, Deed::Prints | Deed::Steers | Deed::Looks | Deed::Asks | Deed::Ends);
        if idles || self.runs.len() >= MOST_RUNS {
            return;
        }
        let place = self.in_folder_of_option(command, place);
        if let Some(row) = command.row()
            && let Some(call) = command.task_call(row)
            && self.tasks(command, row, &call, &place, attribution)
        {
            return;
        }
        if self.script(command, &place, attribution) {
            return;
        }
        if deed == Deed::Commits
            && !command.known_arguments().any(|word| matches!(word, "-n" | "--no-verify"))
        {
            // Whether the hooks are installed is not known.
            let hooks = self.tasks_of(&[TaskRunner::CommitHook]);
            hooks.for_each(|hook| self.follow(hook, Attribution::Masked(Mask::Conditional), &[]));
        }
        let covers = self.covered(command, &place);
        let makes = command.row().filter(|row| row.tasks.contains(&TaskRunner::Make));
        let deed = match (&place, makes.and_then(|row| command.task_call(row))) {
            (Place::At(folder), Some(call)) if deed == Deed::Other => {
                let made = call.names.iter().map(|name| self.usual_deed_in(TaskRunner::Make, name, folder));
                made.max().unwrap_or(deed)
            }
            _ if deed == Deed::Other && self.is_own_program(&command.program) => Deed::Runs,
            _ => deed,
        };
        self.add(deed, &command.program, covers, command.targets(), attribution);
    }

    /// Whether a program is called as a package of the repository is: `python -m app`, `app --serve`.
    fn is_own_program(&self, program: &str) -> bool {
        let spelled = |name: &str| name.to_lowercase().replace('_', "-");
        let mut names = self.repository.packages.iter().flat_map(|package| &package.names);
        names.any(|name| spelled(name) == spelled(program))
    }

    fn add(
        &mut self,
        deed: Deed,
        program: &str,
        covers: Covered,
        targets: Vec<String>,
        attribution: Attribution,
    ) {
        self.runs.push(Run { deed, program: program.to_owned(), covers, targets, attribution });
    }

    /// `make -C web`, `npm --prefix web`, `cargo --manifest-path web/Cargo.toml`
    fn in_folder_of_option(&self, command: &SimpleCommand, place: &Place) -> Place {
        match (command.chosen_folder(), place) {
            (Some(folder), Place::At(base) | Place::Outside(base)) => {
                self.place(&Directory::At(folder), base)
            }
            _ => place.clone(),
        }
    }

    fn tasks_of(&self, runners: &'a [TaskRunner]) -> impl Iterator<Item = &'a Task> + use<'a> {
        self.repository.tasks.iter().filter(move |task| runners.contains(&task.runner))
    }

    /// Follows the tasks that a command names; `false` if the repository defines none of them.
    fn tasks(
        &mut self,
        command: &SimpleCommand,
        row: &'static Program,
        call: &TaskCall<'_>,
        place: &Place,
        attribution: Attribution,
    ) -> bool {
        let is_task = |name: &&str| self.tasks_of(row.tasks).any(|task| task.name == **name);
        let (names, mut others): (Vec<&str>, Vec<&str>) = call.names.iter().partition(|name| is_task(name));
        let folders = self.folders(command, row, &others, place);
        let picks_packages = row.is(Fact::EveryPackage) || self.selected(command).is_some();
        if row.is(Fact::EveryPackage) {
            let is_package = |word: &str| self.repository.packages.iter().any(|one| is_called(one, word));
            others.retain(|word| !is_package(word));
        }
        let mut found: Vec<&Task> = Vec::new();
        for name in &names {
            found.extend(folders.iter().filter_map(|folder| match picks_packages {
                true => self.task_in(row, name, folder),
                false => self.nearest(row, name, folder),
            }));
        }
        // `nx run web:test`, `turbo run web#test`
        others.retain(|name| {
            let Some((package, name)) = name.rsplit_once([':', '#']) else { return true };
            let fits = |one: &&Package| package.is_empty() || is_called(one, package);
            let before = found.len();
            let packages = self.repository.packages.iter().filter(fits);
            found.extend(packages.filter_map(|package| self.task_in(row, name, &package.folder)));
            found.len() == before
        });
        if call.names.is_empty()
            && row.tasks.iter().any(|runner| runner.has_default_task())
            && let [folder] = folders.as_slice()
        {
            found.extend(self.tasks_of(row.tasks).find(|task| task.folder == *folder));
        }
        let mut once: Vec<&Task> = Vec::new();
        found.retain(|task| {
            let is_new = !once.iter().any(|other| std::ptr::eq(*other, *task));
            once.push(task);
            is_new
        });
        let arguments: Vec<String> =
            call.arguments.iter().chain(&others).map(|word| (*word).to_owned()).collect();
        for task in &found {
            self.follow(task, attribution, &arguments);
        }
        !found.is_empty()
    }

    /// The folders in which a task is looked for.
    fn folders(&self, command: &SimpleCommand, row: &Program, words: &[&str], place: &Place) -> Vec<String> {
        let folders =
            |packages: Vec<&Package>| packages.into_iter().map(|package| package.folder.clone()).collect();
        if let Some(selected) = self.selected(command) {
            return folders(selected);
        }
        let Place::At(folder) = place else { return Vec::new() };
        if row.is(Fact::EveryPackage) {
            let packages = self.repository.packages.iter();
            let named = |package: &&Package| words.iter().any(|word| is_called(package, word));
            let chosen: Vec<&Package> = packages.clone().filter(named).collect();
            let mut below: Vec<&Package> =
                packages.filter(|package| is_within(&package.folder, folder)).collect();
            if below.len() > 1 {
                // The script of the same name at the root is what started this.
                below.retain(|package| package.folder != *folder);
            }
            return folders(if chosen.is_empty() { below } else { chosen });
        }
        vec![folder.clone()]
    }

    fn task_in(&self, row: &'static Program, name: &str, folder: &str) -> Option<&'a Task> {
        self.tasks_of(row.tasks).find(|task| task.name == name && task.folder == folder)
    }

    /// The task of this name in the folder or in the nearest one above it that has it. `make` only looks where it is.
    fn nearest(&self, row: &'static Program, name: &str, folder: &str) -> Option<&'a Task> {
        if row.tasks.contains(&TaskRunner::Make) {
            return self.task_in(row, name, folder);
        }
        let fits = |task: &&Task| task.name == name && is_within(folder, &task.folder);
        self.tasks_of(row.tasks).filter(fits).max_by_key(|task| task.folder.len())
    }

    fn follow(&mut self, task: &'a Task, attribution: Attribution, arguments: &[String]) {
        if !self.enters(identity(task)) {
            return;
        }
        if attribution == Attribution::Decides && !task.file.is_empty() {
            self.executed.push(task.file.clone());
        }
        let first = self.runs.len();
        let mut knows_needs = true;
        for need in &task.needs {
            let fits = |other: &&Task| {
                other.runner == task.runner && other.folder == task.folder && other.name == *need
            };
            match self.repository.tasks.iter().find(fits) {
                Some(needed) => self.follow(needed, attribution, &[]),
                None => knows_needs = false,
            }
        }
        let own = self.runs.len();
        let is_understood =
            self.body(task.understood.of(&task.body), &task.folder, attribution) && knows_needs;
        self.depth -= 1;
        let usual = match arguments.first() {
            // `cargo xtask lint` is a program that runs tasks.
            Some(name) if task.runner == TaskRunner::Cargo => usual_deed(name),
            _ => self.usual_deed_in(task.runner, &task.name, &task.folder),
        };
        let says_more = |run: &Run| (run.deed >= Deed::Lints || usual <= run.deed) && surely_ran(run);
        let runs = self.runs.get(first..).unwrap_or_default();
        let runs_something =
            runs.iter().any(|run| matches!(run.deed, Deed::Other | Deed::Runs) || !surely_ran(run));
        // The steps of a job are not all what the job is named after.
        let is_named = !matches!(task.runner, TaskRunner::Workflow | TaskRunner::CommitHook);
        if is_named && usual > Deed::Runs && !runs.iter().any(says_more) && (runs_something || !is_understood)
        {
            // `"test": "node scripts/run.js"`: the name says more than the body.
            let covers = self.below(&task.folder, None);
            self.add(usual, &task.name, covers, Vec::new(), attribution);
        }
        if let Some(last) = self.runs.get_mut(own..).and_then(<[Run]>::last_mut) {
            last.targets.extend(arguments.iter().cloned());
        }
    }

    /// What a task of this name does: of a Makefile beside C it makes a program, whatever that is called.
    fn usual_deed_in(&self, runner: TaskRunner, name: &str, folder: &str) -> Deed {
        let builds = || {
            let package = folders_above(folder)
                .chain(once(folder))
                .find_map(|folder| self.repository.package_at(folder));
            runner == TaskRunner::Make
                && package.is_some_and(|package| package.languages.contains(&Language::C))
                && !NOT_MADE.split(' ').any(|other| matches_glob(other, name))
        };
        match usual_deed(name) {
            Deed::Other if builds() => Deed::Builds,
            deed => deed,
        }
    }

    /// What a script runs that begins in this folder; `false` if it was not understood.
    fn body(&mut self, intents: &Intents, folder: &str, attribution: Attribution) -> bool {
        for inner in intents.commands() {
            let place = match self.place(&inner.directory, folder) {
                // `cd "$(dirname "$0")/.."`
                Place::Unknown => Place::At(folder.to_owned()),
                place => place,
            };
            let attribution = match attribution {
                Attribution::Decides => inner.attribution,
                masked => masked,
            };
            self.command(inner, &place, attribution);
        }
        matches!(intents, Intents::Understood(_))
    }

    /// `./scripts/run-tests.sh`: by its text if that is known, by its name otherwise.
    fn script(&mut self, command: &SimpleCommand, place: &Place, attribution: Attribution) -> bool {
        let (Some(path), None) = (&command.path, command.row()) else { return false };
        let first = self.runs.len();
        if let Place::At(folder) = place
            && let Some(path) = self.repository.relative(&one_spelling(folder, path))
            && let Some(script) = self.repository.scripts.iter().find(|script| script.path == path)
            && self.enters(identity(script))
        {
            if attribution == Attribution::Decides {
                self.executed.push(path);
            }
            self.body(script.understood.of(&script.text), folder, attribution);
            self.depth -= 1;
        }
        let runs = self.runs.get(first..).unwrap_or_default();
        if !runs.iter().any(|run| run.deed >= Deed::Lints && surely_ran(run)) {
            let name = command.program.split('.').next().unwrap_or_default().replace('_', "-");
            // What it does is not known; that it is a program of the repository is, if it lies there and was not installed.
            let lies_here = |folder: &String| self.repository.relative(&one_spelling(folder, path)).is_some();
            let is_own = match place {
                Place::At(folder) => {
                    !self.repository.packages.is_empty() && lies_here(folder) && !is_installed(path)
                }
                Place::Outside(_) | Place::Unknown => false,
            };
            let at_least = if is_own { Deed::Runs } else { Deed::Other };
            let usual =
                if is_script(path) { usual_deed(name.trim_start_matches("run-")) } else { Deed::Other };
            let deed = usual.max(at_least);
            let covers = self.covered(command, place);
            self.add(deed, &command.program, covers, command.targets(), attribution);
        }
        true
    }

    /// The packages that flags choose; `None` if there are no such flags.
    fn selected(&self, command: &SimpleCommand) -> Option<Vec<&'a Package>> {
        let row = command.row();
        let mut names = command.packages.clone();
        names.extend(row.map(|row| option_values(command, row.package)).unwrap_or_default());
        let left_out = row.map(|row| option_values(command, row.leaves_out)).unwrap_or_default();
        names.extend(left_out.iter().map(|name| format!("!{name}")));
        let mut words = command.known_arguments();
        if words.by_ref().any(|word| word == "workspace" && command.program == "yarn") {
            names.extend(words.next().map(str::to_owned));
        }
        let packages = &self.repository.packages;
        let names: Vec<&str> = names.iter().flat_map(|names| names.split(',')).map(str::trim).collect();
        // What is not understood narrows nothing: a range of commits, a module of a build that is one package.
        let is_one_build = Language::of_program(&command.program).is_some_and(Language::builds_as_one);
        if is_one_build || names.iter().any(|name| name.contains('[')) {
            return None;
        }
        if !names.is_empty() {
            let excluded = names.iter().filter_map(|name| name.strip_prefix('!'));
            let (excluded, chosen): (Vec<&str>, Vec<&str>) =
                (excluded.collect(), names.iter().copied().filter(|name| !name.starts_with('!')).collect());
            let is_any =
                |package: &Package, names: &[&str]| names.iter().any(|name| is_called(package, name));
            let fits = |package: &&Package| {
                (chosen.is_empty() || is_any(package, &chosen)) && !is_any(package, &excluded)
            };
            return Some(packages.iter().filter(fits).collect());
        }
        let valued = |option: &str| row.is_some_and(|row| row.takes_value(option));
        let has =
            |options: &str| command.known_arguments().any(|word| table::has(options, word) && !valued(word));
        if row.is_some_and(|row| row.tasks.contains(&TaskRunner::PackageScript)) && has(ROOT) {
            return Some(packages.iter().filter(|package| package.folder.is_empty()).collect());
        }
        (row.is_some_and(|row| !row.package.is_empty()) && has(ALL)).then(|| packages.iter().collect())
    }

    fn covered(&self, command: &SimpleCommand, place: &Place) -> Covered {
        if self.repository.packages.is_empty() {
            return Covered::Unknown;
        }
        let language = Language::of_program(&command.program);
        let speaks =
            |package: &&Package| language.is_none_or(|language| package.languages.contains(&language));
        if let Some(selected) = self.selected(command) {
            let folders = selected.into_iter().filter(speaks).map(|package| package.folder.clone());
            return Covered::Packages(folders.collect());
        }
        if let Some(files) = self.checked_files(command, place) {
            return files;
        }
        if let Some(below) = self.confined(command, place, language) {
            return below;
        }
        let folder = match place {
            Place::At(folder) => folder,
            // What runs elsewhere may still name something here: `pytest ../lib/tests`.
            Place::Outside(folder) => return Covered::Packages(self.packages_of_targets(command, folder)),
            Place::Unknown => return Covered::Unknown,
        };
        let targets = self.packages_of_targets(command, folder);
        if !targets.is_empty() {
            return Covered::Packages(targets);
        }
        self.below(folder, language)
    }

    /// What a check of single files is about. A task, and a way in which a package is verified, stand for the whole of it.
    fn checked_files(&self, command: &SimpleCommand, place: &Place) -> Option<Covered> {
        let (Place::At(folder) | Place::Outside(folder)) = place else { return None };
        let files = command.checked_files().filter(|_| self.depth == 0)?;
        let inside =
            files.into_iter().filter_map(|file| self.repository.relative(&one_spelling(folder, file)));
        // Folders in between may be none.
        let paths: Vec<String> = inside.map(|path| path.replace("**/", "*")).collect();
        let mut of_files: Vec<&Package> =
            paths.iter().filter_map(|path| self.repository.package_of(path)).collect();
        of_files.dedup();
        let packages = of_files.into_iter().map(|package| package.folder.clone()).collect();
        (!self.repository.is_way(command)).then_some(Covered::Files { paths, packages })
    }

    /// What a run of tests is about that takes the tests below some folders alone. A task, and a way in which a package is
    /// verified, stand for the whole of it, and so do files and folders of tests: what they are about lies elsewhere.
    fn confined(
        &self,
        command: &SimpleCommand,
        place: &Place,
        language: Option<Language>,
    ) -> Option<Covered> {
        let is_confined = command.row().is_some_and(|row| row.is(Fact::StaysBelow))
            && self.depth == 0
            && !command.is_in_container
            && command.deed_done() == Some(Deed::Tests);
        let (Place::At(base) | Place::Outside(base)) = place else { return None };
        let is_confined = is_confined && !self.repository.is_way_in(command, base);
        let named = command.named_paths().filter(|_| is_confined)?;
        let mut paths = Vec::new();
        for path in &named {
            match (command.is_import_path(path), place) {
                (true, Place::At(folder)) => paths.extend(self.imported(path, folder)),
                (true, _) => return None,
                (false, _) => paths.push(self.repository.relative(&one_spelling(base, path))?),
            }
        }
        match place {
            Place::At(folder) if named.is_empty() => paths.push(folder.clone()),
            _ if named.is_empty() => return None,
            _ => {}
        }
        let (mut folders, mut packages, mut is_whole) = (Vec::new(), Vec::new(), true);
        for path in paths {
            let package = self.repository.package_of(&path)?.folder.as_str();
            let inner = path.get(package.len()..).unwrap_or_default().trim_matches('/');
            let is_file = is_code_file(&path);
            let is_for_tests = is_file || inner.split('/').any(is_folder_of_tests);
            is_whole &= inner.is_empty() || is_for_tests;
            let place = if is_for_tests && !is_file { package } else { path.as_str() };
            let Covered::Packages(own) = self.below(place, language) else { return None };
            packages.extend(own.into_iter().filter(|folder| !packages.contains(folder)).collect::<Vec<_>>());
            folders.push(if is_for_tests { package.to_owned() } else { path });
        }
        if is_whole {
            return Some(Covered::Packages(packages));
        }
        let is_elsewhere = |tested: &&String| !folders.iter().any(|folder| is_within(tested, folder));
        let tested = self.repository.tested.iter().filter(is_elsewhere).cloned().collect();
        Some(Covered::Below { folders, tested, packages })
    }

    /// The folders of what Go calls by this import path, from the root; none if it is a package of others: `fmt`.
    fn imported(&self, path: &str, folder: &str) -> Vec<String> {
        let modules = self.modules();
        let around = modules.iter().filter(|(name, _)| is_within(path, name));
        if let Some((name, module)) = around.max_by_key(|(name, _)| name.len()) {
            let inside = path.get(name.len()..).unwrap_or_default().trim_start_matches('/');
            return vec![one_spelling(module, inside)];
        }
        let below = modules.iter().filter(|(name, _)| is_within(name, path));
        let below: Vec<String> = below.map(|(_, module)| (*module).to_owned()).collect();
        if !below.is_empty() {
            return below;
        }
        // Of a module without a known name, any package may be.
        let here = || self.repository.package_of(folder).map(|own| own.folder.clone());
        let is_here = path == "all" || modules.is_empty();
        self.folder_by_end(path).or_else(|| here().filter(|_| is_here)).into_iter().collect()
    }

    /// The modules of Go by their names, with their folders.
    fn modules(&self) -> Vec<(&'a str, &'a str)> {
        let packages = self.repository.packages.iter();
        let of_go = packages.filter(|package| package.languages.contains(&Language::Go));
        let named = of_go.flat_map(|package| package.names.iter().map(|name| (name, &package.folder)));
        // A comment may follow the name in its line.
        let named = named.filter_map(|(name, folder)| Some((name.split(' ').next()?, folder.as_str())));
        named.filter(|(name, _)| !name.is_empty()).collect()
    }

    /// The folder that an import path ends with, for a module whose name its manifest does not tell.
    fn folder_by_end(&self, path: &str) -> Option<String> {
        let packages = self.repository.packages.iter().map(|package| &package.folder);
        let known: Vec<&String> = packages.chain(&self.repository.tested).collect();
        let is_known = |end: &&str| known.iter().any(|folder| is_within(folder, end));
        let mut ends = successors(Some(path), |path| path.split_once('/').map(|(_, end)| end));
        ends.find(|end| !end.is_empty() && is_known(end)).map(str::to_owned)
    }

    /// The packages that paths among the arguments lie in, if these are not all in the package of the folder.
    fn packages_of_targets(&self, command: &SimpleCommand, folder: &str) -> Vec<String> {
        let mut folders = Vec::new();
        for target in command.targets() {
            let path = target.split("::").next().unwrap_or_default().trim_end_matches("...");
            if path.starts_with('-') || !path.contains(['/', '.']) {
                continue;
            }
            let path = match path {
                // `tsc -b tsconfig.json` is about all that lies below.
                file if is_settings_file(file) => one_spelling(folder, folder_of(file).0),
                path => one_spelling(folder, path),
            };
            let path = if folder.starts_with('/') { self.repository.relative(&path) } else { Some(path) };
            let Some(path) = path else { continue };
            if let Some(package) = self.repository.package_of(&path)
                && path != folder
                && !folders.contains(&package.folder)
            {
                folders.push(package.folder.clone());
            }
        }
        folders
    }

    /// The package that a program without further words finds from a folder, and the packages below that it takes along.
    fn below(&self, folder: &str, language: Option<Language>) -> Covered {
        let packages = &self.repository.packages;
        if packages.is_empty() {
            return Covered::Unknown;
        }
        let speaks =
            |package: &&Package| language.is_none_or(|language| package.languages.contains(&language));
        let above = || {
            let folders = once(folder).chain(folders_above(folder));
            folders.filter_map(|folder| self.repository.package_at(folder))
        };
        let own = above().find(speaks).or_else(|| above().next());
        // Go stays inside of its module, and cargo inside of its package unless it is a workspace of others.
        let stays = match language {
            Some(Language::Go) => true,
            Some(Language::Rust) => !own.is_some_and(|own| own.is_workspace),
            _ => false,
        };
        let here = self.repository.package_at(folder).filter(|_| !stays);
        let below = here.into_iter().chain(if stays { &[] } else { self.repository.packages_below(folder) });
        let own_folder = own.map(|own| own.folder.as_str());
        let taken_along = below.filter(speaks).filter(|package| own_folder != Some(package.folder.as_str()));
        Covered::Packages(own.into_iter().chain(taken_along).map(|package| package.folder.clone()).collect())
    }
}

/// Whether a flag means this package: by its name, by the last part of it, or by its folder.
fn is_called(package: &Package, selector: &str) -> bool {
    let selector = selector.trim_start_matches("...").trim_end_matches("...").trim_end_matches('^');
    let selector = selector.trim_start_matches("./").trim_matches(['{', '}', '/', ':']);
    let last = |name: &'_ str| name.rsplit('/').next().unwrap_or_default().to_owned();
    package.names.iter().any(|name| matches_glob(selector, name) || last(name) == selector)
        || matches_glob(selector, &package.folder)
        || last(&package.folder) == selector
}

impl SimpleCommand {
    /// The folder that it is told to work in: `web` in `make -C web` and in `cargo test --manifest-path web/Cargo.toml`.
    pub fn chosen_folder(&self) -> Option<String> {
        let folder = option_values(self, self.row()?.folder).pop()?;
        Some(if is_settings_file(&folder) { folder_of(&folder).0.to_owned() } else { folder })
    }
}

/// `tsconfig.json`, `packages/a/Cargo.toml`: a file that says what is to be done in its folder.
fn is_settings_file(path: &str) -> bool {
    let name = folder_of(path).1;
    let ending = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, ending)| ending);
    Language::of_manifest(name).is_some()
        || ending.is_some_and(|ending| table::has("json jsonc toml yaml yml xml cfg ini", ending))
}

/// The values of some options: `-C web`, `--prefix=web`.
fn option_values(command: &SimpleCommand, options: &str) -> Vec<String> {
    let mut values = Vec::new();
    let mut arguments = command.arguments.iter().map(Word::text).take_while(|word| *word != "--").peekable();
    while let Some(argument) = arguments.next() {
        let own = command.row().map(|row| row.option(argument));
        match own.unwrap_or((argument, None)) {
            (name, Some(value)) if table::has(options, name) => values.push(value.to_owned()),
            (name, None) if table::has(options, name) => {
                let value = arguments.peek().filter(|value| !value.starts_with('-'));
                values.extend(value.map(|value| (*value).to_owned()))
            }
            _ => {}
        }
    }
    values
}

/// Whether a run that stands in a body took place if the body ran to its end. Of one that may have been left out, the name
/// of the whole says more.
fn surely_ran(run: &Run) -> bool {
    !matches!(
        run.attribution,
        Attribution::Masked(Mask::Conditional | Mask::Condition | Mask::Negated | Mask::Function)
    )
}
