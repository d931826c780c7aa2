//! The files of a checkout that say what its own words mean: manifests, task files, scripts, instructions, and the names
//! of tests. Read with bounds on number, size and depth, never through a link, vendored folders left out; nothing is run.
//!
//! At a stop only the folders of the changed files and those above them are looked at, so that the cost does not grow with
//! the repository. Nothing is cached from one stop to the next: reading these few files again costs less than finding out
//! whether they changed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

use files::Folder;
use programs::repository::{Repository, RepositoryFile};
use programs::shell::{Directory, SimpleCommand, one_spelling};
use rustix::fs::FileType;

const MOST_ENTRIES: usize = 20_000;
const MOST_ENTRIES_AT_STOP: usize = 2_000;
const MOST_TEXTS: usize = 1_000;
const LARGEST_TEXT: u64 = 256 * 1024;
const MOST_BYTES: usize = 8 * 1024 * 1024;
const DEEPEST: usize = 8;
const MOST_NAMED_SCRIPTS: usize = 40;
/// Of one command.
const MOST_NAMED_PLACES: usize = 16;
/// The first ones tell for which runner a repository's tests are written.
const MOST_TEST_TEXTS: usize = 4;

/// Folders with the work of others, and with what was made.
const VENDORED: &[&str] = &[
    "node_modules",
    "bower_components",
    "vendor",
    "third_party",
    "third-party",
    "external",
    "Pods",
    "Carthage",
    "target",
    "dist",
    "build",
    "out",
    "_build",
    "coverage",
    "DerivedData",
    "site-packages",
    "venv",
    "env",
    "__pycache__",
    "elm-stuff",
];
/// Folders that begin with a dot and say something; all others are left out.
const HIDDEN: &[&str] =
    &[".github", ".husky", ".githooks", ".cargo", ".mise", ".mise-tasks", ".config", ".ci", ".claude"];
/// Folders in which tasks lie. What CI runs is looked for only if these say nothing: others are nearer.
const OF_TASKS: &[&str] =
    &[".husky", ".githooks", ".cargo", ".mise", ".mise-tasks", ".config", "mise", "mise-tasks"];
/// Where tests are found first.
const OF_TESTS: &[&str] = &["tests", "test", "spec", "__tests__", "Tests", "src", "lib", "internal", "pkg"];

/// Folders that were listed before it was known which of them matter, by their paths from the root.
#[derive(Debug, Default)]
pub(crate) struct Listings(BTreeMap<String, Listing>);

/// What a folder holds, as far as it says something: folders and files by their names.
#[derive(Debug, Default)]
struct Listing {
    entries: Vec<(String, FileType)>,
    /// How many there are in all.
    count: usize,
}

/// What was found so far, and what may still be looked at.
struct RepositoryFiles<'a> {
    root: &'a Path,
    listings: Listings,
    files: Vec<RepositoryFile>,
    /// The folders that were looked at, with the folders in them.
    listed: BTreeMap<String, Vec<String>>,
    reads_texts: bool,
    /// Those of files that say nothing too.
    keeps_every_name: bool,
    /// The scripts whose texts are read, if not all.
    scripts: Option<BTreeSet<String>>,
    /// What the repository's own `.gitignore` names plainly.
    ignored: Vec<IgnoredName>,
    entries: usize,
    texts: usize,
    bytes: usize,
}

/// A line of `.gitignore` without wildcards.
enum IgnoredName {
    /// `name`: a file or folder anywhere.
    Anywhere(String),
    /// `/name` or `folder/name`: from the root.
    FromRoot(String),
}

impl IgnoredName {
    fn read(line: &str) -> Option<Self> {
        let line = line.trim_end();
        let name = line.trim_matches('/');
        let is_plain = !name.is_empty() && !name.contains(['*', '!', '#', '?', '[', '\\']);
        let is_anchored = line.trim_end_matches('/').contains('/');
        let ignored = if is_anchored { Self::FromRoot } else { Self::Anywhere };
        is_plain.then(|| ignored(name.to_owned()))
    }

    /// Whether it names the path, or a folder above it.
    fn has(&self, path: &str) -> bool {
        match self {
            Self::Anywhere(name) => path.split('/').any(|part| part == name),
            Self::FromRoot(name) => {
                path.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }
        }
    }
}

/// What says something in the whole checkout, within bounds.
pub fn of_checkout(root: &Path) -> Vec<RepositoryFile> {
    let mut files = every_file(root);
    files.retain(|file| Repository::reads_name(&file.path));
    files
}

/// The whole checkout, within bounds; the files that say nothing too.
pub fn every_file(root: &Path) -> Vec<RepositoryFile> {
    let mut found = RepositoryFiles::new(root, MOST_ENTRIES);
    found.keeps_every_name = true;
    let mut waiting = VecDeque::from([(String::new(), 0)]);
    while let Some((folder, depth)) = waiting.pop_front() {
        let below = found.list(&folder);
        if depth < DEEPEST {
            waiting.extend(below.into_iter().map(|folder| (folder, depth + 1)));
        }
    }
    found.read_tests();
    found.files
}

/// What CI runs, for where nothing nearer says how the code is verified.
pub fn of_ci(root: &Path) -> Vec<RepositoryFile> {
    let mut found = RepositoryFiles::new(root, MOST_ENTRIES_AT_STOP);
    for folder in [".github", ".github/workflows"] {
        if !found.is_left_out(folder) {
            found.list(folder);
        }
    }
    found.files.retain(|file| Repository::defines_tasks(&file.path));
    found.files
}

/// The folders of the repository in which commands ran or which they named, and the scripts that they started, from the root. `cwd`: where the
/// command lines began.
pub fn ran<'a>(
    root: &Path,
    cwd: &str,
    commands: impl IntoIterator<Item = &'a SimpleCommand>,
) -> BTreeSet<String> {
    let root = root.to_string_lossy();
    let inside =
        |path: String| Some(path.strip_prefix(root.trim_end_matches('/'))?.strip_prefix('/')?.to_owned());
    let mut paths = BTreeSet::new();
    for command in commands.into_iter().filter(|command| !command.only_looks()) {
        let folder = match &command.directory {
            Directory::Start => one_spelling("", cwd),
            Directory::At(folder) => one_spelling(cwd, folder),
            Directory::Unknown => continue,
        };
        let script = command.path.as_ref().and_then(|path| inside(one_spelling(&folder, path)));
        paths.extend(script);
        let named = command.named_places().into_iter().take(MOST_NAMED_PLACES);
        // A folder that is none is not found.
        paths.extend(named.filter_map(|path| inside(one_spelling(&folder, &path))).map(|path| path + "/"));
        paths.extend(inside(folder).map(|folder| format!("{folder}/")));
    }
    paths
}

/// The programs among these, given from the root, that are not there.
pub(crate) fn missing(root: &Path, programs: impl IntoIterator<Item = String>) -> Vec<String> {
    let programs: BTreeSet<String> = programs.into_iter().take(MOST_NAMED_SCRIPTS).collect();
    programs.into_iter().filter(|program| root.join(program).symlink_metadata().is_err()).collect()
}

/// Lists the folders in which tests are looked for whatever has changed, for a caller who is waiting for git.
pub(crate) fn listed_ahead(root: &Path) -> Listings {
    let mut found = RepositoryFiles::new(root, MOST_ENTRIES_AT_STOP);
    found.find_tests();
    found.listings
}

/// What matters for these files, given by their paths from the root: the folders above them, with the tasks there and the
/// scripts that these name, and whether their packages have tests. A path that ends with `/` is a folder.
pub fn around<'a>(root: &Path, paths: impl IntoIterator<Item = &'a str>) -> Vec<RepositoryFile> {
    around_with(root, paths, Listings::default())
}

/// The same, with folders that were listed before.
pub(crate) fn around_with<'a>(
    root: &Path,
    paths: impl IntoIterator<Item = &'a str>,
    listings: Listings,
) -> Vec<RepositoryFile> {
    let mut found = RepositoryFiles::new(root, MOST_ENTRIES_AT_STOP);
    found.listings = listings;
    let mut folders = BTreeSet::from([String::new()]);
    found.scripts = Some(BTreeSet::new());
    for path in paths {
        if Repository::is_script(path) {
            found.scripts.get_or_insert_default().insert(path.to_owned());
        }
        let places = path.match_indices('/').map(|(at, _)| at);
        folders.extend(places.filter_map(|at| path.get(..at)).map(str::to_owned));
    }
    folders.retain(|folder| !found.is_left_out(folder));
    for folder in &folders {
        for below in found.list(folder) {
            let name = below.rsplit('/').next().unwrap_or(&below);
            if OF_TASKS.contains(&name) {
                found.list_tasks(&below, 0);
            }
        }
    }
    found.read_named_scripts();
    found.find_tests();
    found.read_tests();
    found.files
}

fn path_in(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { [folder, "/", name].concat() }
}

impl<'a> RepositoryFiles<'a> {
    fn new(root: &'a Path, entries: usize) -> Self {
        let mut found = Self {
            root,
            listings: Listings::default(),
            files: Vec::new(),
            listed: BTreeMap::new(),
            reads_texts: true,
            keeps_every_name: false,
            scripts: None,
            ignored: Vec::new(),
            entries,
            texts: MOST_TEXTS,
            bytes: MOST_BYTES,
        };
        let ignored = found.text(".gitignore").unwrap_or_default();
        found.ignored = ignored.lines().filter_map(IgnoredName::read).collect();
        found
    }

    /// Notes the files of a folder, and gives the folders in it.
    fn list(&mut self, folder: &str) -> Vec<String> {
        if let Some(below) = self.listed.get(folder) {
            return below.clone();
        }
        let mut below = Vec::new();
        let Some((listing, mut opened)) = self.listing(folder) else { return below };
        self.entries -= listing.count;
        for (name, kind) in &listing.entries {
            let path = path_in(folder, name);
            if kind.is_dir() && !self.is_left_out(&path) {
                // Xcode's projects are folders.
                if name.ends_with(".xcodeproj") || name.ends_with(".xcworkspace") {
                    self.files.push(RepositoryFile { path, text: None });
                } else {
                    below.push(path);
                }
            } else if kind.is_file() {
                let is_other = self.scripts.as_ref().is_some_and(|scripts| !scripts.contains(&path));
                let is_left = is_other && Repository::is_script(&path) && !Repository::defines_tasks(&path);
                let is_text = self.reads_texts && Repository::reads_text(&path) && !is_left;
                if is_text && opened.is_none() {
                    opened = self.open(folder);
                }
                let text = opened.as_ref().filter(|_| is_text).and_then(|opened| self.text_in(opened, name));
                self.files.push(RepositoryFile { path, text });
            }
        }
        self.listings.0.insert(folder.to_owned(), listing);
        self.listed.insert(folder.to_owned(), below.clone());
        below
    }

    /// What a folder holds, and the folder itself if it was opened for that.
    fn listing(&mut self, folder: &str) -> Option<(Listing, Option<Folder>)> {
        if let Some(known) = self.listings.0.remove(folder).filter(|known| known.count <= self.entries) {
            return Some((known, None));
        }
        let opened = self.open(folder)?;
        let mut entries = opened.entries_up_to(self.entries).unwrap_or_default();
        let count = entries.len();
        // Nothing of a virtual environment, whatever it is called.
        if entries.iter().any(|(name, _)| name == "pyvenv.cfg") {
            entries.clear();
        }
        let says_something = |name: &String, kind: &FileType| {
            !kind.is_file() || self.keeps_every_name || Repository::reads_name(&path_in(folder, name))
        };
        entries.retain(|(name, kind)| says_something(name, kind));
        entries.sort_by(|one, other| one.0.cmp(&other.0));
        Some((Listing { entries, count }, Some(opened)))
    }

    /// A folder of the checkout, if no link leads to it.
    fn open(&self, folder: &str) -> Option<Folder> {
        Folder::open(self.root).ok()?.below(folder).ok()
    }

    fn is_left_out(&self, path: &str) -> bool {
        let is_left_out =
            |name: &str| (name.starts_with('.') && !HIDDEN.contains(&name)) || VENDORED.contains(&name);
        path.split('/').any(is_left_out) || self.ignored.iter().any(|ignored| ignored.has(path))
    }

    fn text(&mut self, path: &str) -> Option<String> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        self.text_in(&self.open(folder)?, name)
    }

    fn text_in(&mut self, folder: &Folder, name: &str) -> Option<String> {
        self.texts = self.texts.checked_sub(1)?;
        let bytes = folder.read(name, LARGEST_TEXT).ok()?;
        self.bytes = self.bytes.checked_sub(bytes.len())?;
        String::from_utf8(bytes).ok()
    }

    fn list_tasks(&mut self, folder: &str, depth: usize) {
        for below in self.list(folder) {
            if depth < 2 {
                self.list_tasks(&below, depth + 1);
            }
        }
    }

    /// Reads the scripts that task files name.
    fn read_named_scripts(&mut self) {
        let mut named = BTreeSet::new();
        for file in self.files.iter().filter(|file| Repository::defines_tasks(&file.path)) {
            let words =
                file.text.as_deref().unwrap_or_default().split([' ', '\n', '\t', '"', '\'', ';', '(', ')']);
            let paths =
                words.filter(|word| word.contains('/') && word.len() < 200 && Repository::is_script(word));
            let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            named.extend(paths.map(|path| one_spelling(folder, path)));
        }
        for path in named.into_iter().filter(|path| !path.starts_with(['.', '/'])).take(MOST_NAMED_SCRIPTS) {
            let known = self.files.iter().position(|file| file.path == path);
            if known.is_some_and(|at| self.files.get(at).is_some_and(|file| file.text.is_some())) {
                continue;
            }
            let Some(text) = self.text(&path) else { continue };
            known.map(|at| self.files.remove(at));
            self.files.push(RepositoryFile { path, text: Some(text) });
        }
    }

    /// Reads the first tests of a language that has several runners, unless something else tells which one is used.
    fn read_tests(&mut self) {
        if self.files.iter().any(Repository::names_runner) {
            return;
        }
        let tests =
            self.files.iter().enumerate().filter(|(_, file)| Repository::is_for_some_runner(&file.path));
        let places: Vec<usize> = tests.map(|(place, _)| place).take(MOST_TEST_TEXTS).collect();
        for place in places {
            let Some(path) = self.files.get(place).map(|file| file.path.clone()) else { continue };
            let text = self.text(&path);
            if let Some(file) = self.files.get_mut(place) {
                file.text = text;
            }
        }
    }

    /// Looks below each folder with a manifest until a test is there: a package without tests cannot be asked for them.
    fn find_tests(&mut self) {
        self.reads_texts = false;
        let folder =
            |file: &RepositoryFile| file.path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        let is_manifest = |file: &&RepositoryFile| Repository::is_manifest(&file.path);
        let mut folders: BTreeSet<String> = self.files.iter().filter(is_manifest).map(folder).collect();
        // Python needs no manifest (W29).
        folders.insert(String::new());
        for folder in folders.into_iter().rev() {
            let is_within = |file: &RepositoryFile| {
                folder.is_empty() || file.path.strip_prefix(&folder).is_some_and(|rest| rest.starts_with('/'))
            };
            let (mut waiting, mut seen) = (VecDeque::from([folder.clone()]), 0);
            while let Some(next) = waiting.pop_front() {
                let is_deep = next.matches('/').count() > folder.matches('/').count() + DEEPEST;
                let new = self.files.get(seen..).unwrap_or_default();
                if new.iter().any(|file| is_within(file) && Repository::is_test(&file.path)) || is_deep {
                    break;
                }
                seen = self.files.len();
                for below in self.list(&next) {
                    let name = below.rsplit('/').next().unwrap_or(&below);
                    if name.starts_with('.') {
                        continue;
                    }
                    if OF_TESTS.contains(&name) {
                        waiting.push_front(below)
                    } else {
                        waiting.push_back(below)
                    }
                }
            }
        }
    }
}
