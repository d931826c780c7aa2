//! The code of the project that stages run: the scripts and programs that their commands name, and the Python modules that
//! these import, one through the other. Python is not asked for it, and what was read once is known by its identity, so that
//! looking again costs a few system calls.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::{self, Read as _, Seek as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use checkpoint::{FileHashes, Identity};
use contents::{PythonImport, python_imports, script_ending};
use files::{Links, regular_file};

use crate::plan::{Kind, Program, Stage};

/// A larger file is data, and data is declared as an input.
const LARGEST: u64 = 16 << 20;

/// What a script is known by if it is not executable. Other files that a command names may be what it writes.
const CODE: [&str; 16] =
    ["awk", "bash", "ipynb", "jl", "js", "lua", "m", "mjs", "php", "pl", "py", "r", "R", "rb", "sh", "sql"];

#[derive(Debug, Default)]
pub struct ProjectCode {
    root: PathBuf,
    hashes: Arc<FileHashes>,
    /// What was read, for as long as the file is what it was then.
    known: Mutex<HashMap<PathBuf, (Identity, Arc<CodeFile>)>>,
    /// What was found, for as long as nothing of it changes and nothing can come to it.
    found: Mutex<HashMap<ImportedFrom, FoundModules>>,
}

/// What the modules of a stage begin with: what its code imports, and the folders that it adds to Python's path.
type ImportedFrom = (Vec<OpenImport>, Vec<PathBuf>);

#[derive(Debug)]
struct FoundModules {
    modules: Arc<BTreeMap<String, String>>,
    files: Vec<(PathBuf, Identity)>,
    /// That were looked into; some may not be there.
    folders: Vec<(PathBuf, Option<Identity>)>,
}

impl FoundModules {
    fn is_as_it_was(&self) -> bool {
        self.files.iter().all(|(path, then)| Identity::of_path(path) == Some(*then))
            && self.folders.iter().all(|(path, then)| Identity::of_folder(path) == *then)
    }
}

#[derive(Debug)]
struct CodeFile {
    sha256: String,
    /// None of a file that is no Python.
    imports: Vec<PythonImport>,
}

/// What a stage runs.
#[derive(Debug, Default)]
pub struct StageCode {
    /// The files that its command and its `verify` name, as they name them, each with its hash.
    pub(crate) scripts: Vec<(String, String)>,
    /// By their paths below the root, each with its hash.
    pub(crate) modules: Arc<BTreeMap<String, String>>,
    /// Where all of them lie.
    pub(crate) files: Vec<PathBuf>,
}

impl ProjectCode {
    /// `hashes` says which files can be known by their identity.
    pub fn new(root: &Path, hashes: Arc<FileHashes>) -> Self {
        Self { root: root.to_owned(), hashes, ..Self::default() }
    }

    pub fn of_stage(&self, stage: &Stage) -> StageCode {
        let directory = plain(&self.root.join(&stage.directory));
        let paths = stage.environment.iter().filter(|(name, _)| name == "PYTHONPATH");
        let paths = paths.flat_map(|(_, value)| value.split(':').filter(|path| !path.is_empty()));
        let more: Vec<PathBuf> = paths.map(|path| plain(&directory.join(path))).collect();
        let mut search = ModuleSearch::new(self, more);
        let (mut scripts, mut files) = (Vec::new(), Vec::new());
        // The file of a cell is named from the root, wherever the cell is run.
        let from = if stage.kind == Kind::Python { &self.root } else { &directory };
        for (program, from) in [(Some(&stage.command), from), (stage.verify.as_ref(), &directory)] {
            let Some(program) = program else { continue };
            let is_cell = stage.kind == Kind::Python && std::ptr::eq(program, &stage.command);
            let is_shell = !is_cell && matches!(program, Program::Shell(_));
            // Where a text for the shell goes, with what is written before names in there.
            let mut folders = vec![(String::new(), from.clone())];
            let mut before = "";
            for (position, word) in words(program).into_iter().enumerate() {
                if let Some((prefix, folder)) = folders.last().filter(|_| is_shell && before == "cd") {
                    folders.push((format!("{prefix}{word}/"), plain(&folder.join(word))));
                }
                before = word;
                for (prefix, folder) in &folders {
                    let path = plain(&folder.join(word));
                    let Some(file) = self.script(&path) else { continue };
                    // What a command begins with is not run by an interpreter.
                    let is_program = position == 0 && !is_cell && !is_shell;
                    let may_run = !is_program || is_executable(&path);
                    let sha256 = &file.sha256;
                    let known_by = if may_run { sha256.clone() } else { format!("{sha256} not executable") };
                    scripts.push((format!("{prefix}{word}"), known_by));
                    files.push(path.clone());
                    // A cell finds modules where it is run, a script beside itself.
                    let folder = if is_cell { None } else { path.parent() }.unwrap_or(&directory);
                    search.open(&file.imports, folder, folder);
                }
            }
            let inline = if is_cell { cell(program) } else { inline(program) };
            let first = (String::new(), directory.clone());
            for (_, folder) in [&first].into_iter().chain(folders.iter().skip(1)) {
                search.open(&inline, folder, folder);
            }
        }
        let modules = self.modules(search);
        files.extend(modules.keys().map(|module| self.root.join(module)));
        StageCode { scripts, modules, files }
    }

    fn modules(&self, search: ModuleSearch<'_>) -> Arc<BTreeMap<String, String>> {
        if search.open.is_empty() {
            return Arc::default();
        }
        let found = || self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let from = (search.open.clone(), search.more.clone());
        if let Some(known) = found().get(&from).filter(|known| known.is_as_it_was()) {
            return Arc::clone(&known.modules);
        }
        // Made before anything is looked at, so that whatever changes later has a later time.
        let tick = self.hashes.tick();
        let (modules, looked_at) = search.finish();
        let modules = Arc::new(modules);
        if let (Some(tick), Some((files, folders))) = (tick, looked_at)
            && folders.iter().all(|(_, identity)| identity.is_none_or(|identity| identity.is_settled(&tick)))
        {
            found().insert(from, FoundModules { modules: Arc::clone(&modules), files, folders });
        }
        modules
    }

    /// A file of the project that a command names, if it is code.
    fn script(&self, path: &Path) -> Option<Arc<CodeFile>> {
        let metadata = path.symlink_metadata().ok()?;
        let is_code = metadata.permissions().mode() & 0o111 != 0
            || path.extension().is_some_and(|extension| CODE.iter().any(|code| extension == *code));
        let is_script = metadata.is_file() && is_code && path.starts_with(&self.root);
        is_script.then(|| self.read(path)).flatten()
    }

    fn read(&self, path: &Path) -> Option<Arc<CodeFile>> {
        Some(self.read_with_identity(path)?.0)
    }

    /// With what the file can be known by, if it can.
    fn read_with_identity(&self, path: &Path) -> Option<(Arc<CodeFile>, Option<Identity>)> {
        let identity = Identity::of_path(path);
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((then, file)) = known().get(path)
            && Some(*then) == identity
        {
            return Some((Arc::clone(file), identity));
        }
        let (file, identity) = self.read_anew(path).ok()??;
        let file = Arc::new(file);
        if let Some(identity) = identity {
            known().insert(path.to_owned(), (identity, Arc::clone(&file)));
        }
        Some((file, identity))
    }

    /// With what it can be known by from now on; none for a file that is too large.
    fn read_anew(&self, path: &Path) -> io::Result<Option<(CodeFile, Option<Identity>)>> {
        let mut file = regular_file::open(path, Links::Follow)?;
        if file.metadata()?.len() > LARGEST {
            return Ok(None);
        }
        let name = path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy();
        let content = self.hashes.content(&name, &file, &|| true)?;
        let mut bytes = Vec::new();
        file.rewind()?;
        file.read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let is_python = path.extension().is_some_and(|extension| extension == "py")
            || script_ending(&name, &text) == Some("py");
        let imports = if is_python { python_imports(&text) } else { Vec::new() };
        // A link is not known by what it leads to.
        let identity = content.identity.filter(|identity| Identity::of_path(path) == Some(*identity));
        Ok(Some((CodeFile { sha256: content.sha256, imports }, identity)))
    }
}

pub(crate) fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

pub(crate) fn words(program: &Program) -> Vec<&str> {
    match program {
        Program::Words(words) => words.iter().map(String::as_str).collect(),
        Program::Shell(text) => text
            .split(|c: char| c.is_whitespace() || ";|&()<>\"'`".contains(c))
            .filter(|word| !word.is_empty())
            .collect(),
    }
}

/// What the text of a cell imports.
fn cell(program: &Program) -> Vec<PythonImport> {
    match program {
        Program::Shell(code) => python_imports(code),
        Program::Words(_) => Vec::new(),
    }
}

/// What a command imports that starts Python with a module (`-m`), or with code that stands in the command itself.
fn inline(program: &Program) -> Vec<PythonImport> {
    let words = words(program);
    let is_python = |word: &&str| word.rsplit('/').next().is_some_and(|name| name.starts_with("python"));
    let Some(first) = words.iter().position(is_python) else { return Vec::new() };
    let behind = words.get(first..).unwrap_or_default();
    // `-um` is `-u -m`.
    let is_option = |word: &&str| word.starts_with('-') && !word.starts_with("--") && word.ends_with('m');
    let run = behind.windows(2).filter(|pair| pair.first().is_some_and(is_option));
    let modules = run.filter_map(|pair| pair.get(1)).map(|module| format!("from {module} import __main__"));
    let code: Vec<String> = match program {
        Program::Words(words) => words.clone(),
        // Between quotes for `-c`, or between the lines of a here-document.
        Program::Shell(text) => text.split(['"', '\'']).map(str::to_owned).collect(),
    };
    modules.chain(code).flat_map(|code| python_imports(&code)).collect()
}

/// Without `.` and `..`, links left aside: everybody is to name a file by the same path.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

/// Looks for modules as Python does, in the project alone.
struct ModuleSearch<'a> {
    code: &'a ProjectCode,
    /// What the stage adds to Python's path.
    more: Vec<PathBuf>,
    found: BTreeMap<PathBuf, (Arc<CodeFile>, Option<Identity>)>,
    folders: BTreeSet<PathBuf>,
    /// What is imported and has not been looked for.
    open: Vec<OpenImport>,
    seen: HashSet<OpenImport>,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct OpenImport {
    import: PythonImport,
    /// The folder of the script, in which all of its modules are looked for.
    script: PathBuf,
    /// The folder of the code that imports it, if it is looked for from there.
    own: Option<PathBuf>,
}

/// The files and folders that decide what is found, if each of them can be known by its identity.
type Looked = Option<(Vec<(PathBuf, Identity)>, Vec<(PathBuf, Option<Identity>)>)>;

impl<'a> ModuleSearch<'a> {
    fn new(code: &'a ProjectCode, more: Vec<PathBuf>) -> Self {
        let (found, folders) = (BTreeMap::new(), BTreeSet::new());
        Self { code, more, found, folders, open: Vec::new(), seen: HashSet::new() }
    }

    fn open(&mut self, imports: &[PythonImport], script: &Path, own: &Path) {
        for import in imports {
            let own = (import.level > 0).then(|| own.to_owned());
            let open = OpenImport { import: import.clone(), script: script.to_owned(), own };
            if self.seen.insert(open.clone()) {
                self.open.push(open);
            }
        }
    }

    fn finish(mut self) -> (BTreeMap<String, String>, Looked) {
        while let Some(open) = self.open.pop() {
            self.follow(&open);
        }
        let root = &self.code.root;
        let name = |path: &Path| path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
        let modules = self.found.iter().map(|(path, (file, _))| (name(path), file.sha256.clone())).collect();
        let folders =
            self.folders.into_iter().map(|path| (path.clone(), Identity::of_folder(&path))).collect();
        let files = self.found.into_iter().map(|(path, (_, identity))| Some((path, identity?)));
        (modules, files.collect::<Option<Vec<_>>>().map(|files| (files, folders)))
    }

    fn follow(&mut self, OpenImport { import, script, own }: &OpenImport) {
        let mut folders: Vec<PathBuf> = match own {
            Some(own) => own.ancestors().nth(import.level - 1).map(Path::to_owned).into_iter().collect(),
            None => [script].into_iter().chain(&self.more).cloned().collect(),
        };
        for part in &import.module {
            folders = self.find(&folders, part, script);
        }
        for name in &import.names {
            match name.as_str() {
                "*" => self.find_all(&folders, script),
                name => drop(self.find(&folders, name, script)),
            }
        }
    }

    /// Takes the module in, and returns the folders that its own modules are in: none for one that is a file.
    fn find(&mut self, folders: &[PathBuf], name: &str, script: &Path) -> Vec<PathBuf> {
        let mut without_init = Vec::new();
        for folder in folders {
            self.folders.insert(folder.clone());
            let package = folder.join(name);
            if self.take_in(&package.join("__init__.py"), script) {
                return vec![package];
            }
            // A folder alone is a package too, if no other place has one of that name; and what makes it one may come.
            let is_folder = package.is_dir();
            if is_folder {
                self.folders.insert(package.clone());
            }
            if self.take_in(&folder.join(format!("{name}.py")), script) {
                return Vec::new();
            }
            if is_folder {
                without_init.push(package);
            }
        }
        without_init
    }

    /// `*` may mean every module of a package.
    fn find_all(&mut self, folders: &[PathBuf], script: &Path) {
        let entries = folders.iter().filter_map(|folder| fs_err::read_dir(folder).ok()).flatten();
        let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.sort();
        for path in paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "py")) {
            self.take_in(path, script);
        }
    }

    /// Whether there is such a file in the project.
    fn take_in(&mut self, path: &Path, script: &Path) -> bool {
        if self.found.contains_key(path) {
            return true;
        }
        if !path.starts_with(&self.code.root) {
            return false;
        }
        let Some((file, identity)) = self.code.read_with_identity(path) else { return false };
        self.open(&file.imports, script, path.parent().unwrap_or(path));
        self.found.insert(path.to_owned(), (file, identity));
        true
    }
}
