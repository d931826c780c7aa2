//! A repository of its own for each test, real git, and a watch over everything that must not be written.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use change_set::{Change, ChangeSet, ChangedFile};
use changes::{Baseline, Error, GitProgram, Request};
use jiff::Timestamp;
use tempfile::TempDir;

pub(crate) struct Sandbox {
    folder: TempDir,
    /// Where git runs, and where the library is asked.
    pub(crate) repo: PathBuf,
    pub(crate) program: GitProgram,
}

impl Sandbox {
    /// A repository with one old commit of `a`, `b` and `sub/c`, a few lines each.
    pub(crate) fn new() -> Self {
        let sandbox = Self::empty(&[]);
        for name in ["a", "b", "sub/c"] {
            sandbox.write(name, &text(name));
        }
        sandbox.commit_all("first");
        sandbox
    }

    /// The same, with a clone of itself as submodule `module`.
    pub(crate) fn with_submodule() -> Self {
        let sandbox = Self::new();
        let library = sandbox.root().join("library");
        let library = library.to_str().unwrap();
        sandbox.git(&["clone", "--quiet", ".", library]);
        let allow = "protocol.file.allow=always";
        sandbox.git(&["-c", allow, "submodule", "--quiet", "add", library, "module"]);
        sandbox.commit_all("module");
        sandbox
    }

    /// A repository without a commit.
    pub(crate) fn empty(init: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs_err::create_dir_all(folder.path().join("home")).unwrap();
        let root = fs_err::canonicalize(folder.path()).unwrap();
        let repo = root.join("repo");
        fs_err::create_dir_all(&repo).unwrap();
        let mut sandbox = Self { folder, repo, program: GitProgram::in_path("".as_ref()) };
        sandbox.use_git("git.sh");
        sandbox.git(&[&["init", "--quiet", "--initial-branch=main"], init].concat());
        sandbox
    }

    pub(crate) fn root(&self) -> PathBuf {
        fs_err::canonicalize(self.folder.path()).unwrap()
    }

    /// The library runs this script of the tests' folders as git.
    pub(crate) fn use_git(&mut self, script: &str) {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut folders = ["keeping/tests/keeping", "changes/tests/changes"].into_iter();
        let script =
            folders.find_map(|folder| Some(crates.join(folder).join(script)).filter(|it| it.is_file()));
        let link = self.root().join("git");
        let _ = fs_err::remove_file(&link);
        // A link, not a copy: a file that was just written cannot always be executed at once.
        fs_err::os::unix::fs::symlink(script.unwrap(), &link).unwrap();
        self.program = GitProgram::in_path(self.root().as_os_str()).within(Duration::from_secs(120));
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.git_in(&self.repo, arguments)
    }

    /// Git as a person or an agent would run it, now.
    pub(crate) fn git_in(&self, directory: &Path, arguments: &[&str]) -> String {
        let output = self.command(directory, arguments).output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {complaint}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The same for commands that end in a conflict.
    pub(crate) fn git_fails(&self, arguments: &[&str]) {
        assert!(!self.command(&self.repo, arguments).output().unwrap().status.success());
    }

    pub(crate) fn command(&self, directory: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        let name = ["AUTHOR", "COMMITTER"];
        command.args(arguments).current_dir(directory);
        for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_CONFIG_PARAMETERS", "GIT_PREFIX"]
        {
            command.env_remove(variable);
        }
        command.env("HOME", self.root().join("home")).env("GIT_CONFIG_GLOBAL", "/dev/null");
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_EDITOR", "true");
        for role in name {
            command.env(format!("GIT_{role}_NAME"), "A").env(format!("GIT_{role}_EMAIL"), "a@example.com");
        }
        command
    }

    /// A commit of everything, dated long before any turn of these tests.
    pub(crate) fn commit_all(&self, message: &str) {
        self.git(&["add", "--all"]);
        let mut command = self.command(&self.repo, &["commit", "--quiet", "--message", message]);
        let old = "2020-01-01T00:00:00Z";
        let status = command.env("GIT_COMMITTER_DATE", old).env("GIT_AUTHOR_DATE", old).status().unwrap();
        assert!(status.success());
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        self.write_bytes(path.as_bytes(), content.as_bytes());
    }

    pub(crate) fn write_bytes(&self, path: &[u8], content: &[u8]) {
        let full = self.repo.join(OsStr::from_bytes(path));
        fs_err::create_dir_all(full.parent().unwrap()).unwrap();
        fs_err::write(full, content).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        fs_err::remove_file(self.repo.join(path)).unwrap();
    }

    pub(crate) fn set_executable(&self, path: &str) {
        fs_err::set_permissions(self.repo.join(path), PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// The baseline, after a way through JSON as the journal would send it.
    pub(crate) fn baseline(&self) -> Baseline {
        let baseline = self.unwatched_baseline(&self.repo).unwrap();
        serde_json::from_str(&serde_json::to_string(&baseline).unwrap()).unwrap()
    }

    pub(crate) fn unwatched_baseline(&self, cwd: &Path) -> Result<Baseline, Error> {
        let before = self.everything();
        let baseline = changes::start(cwd, &self.program)?.baseline(Timestamp::now());
        assert_same(&before, &self.everything());
        baseline
    }

    pub(crate) fn turn(&self, baseline: &Baseline) -> ChangeSet {
        self.ask(Request::Turn { baseline: Some(baseline), touched: None }).unwrap()
    }

    /// Asks, and checks that nothing at all was written: not the index, not a reference, not a lock that came
    /// and went (C8).
    pub(crate) fn ask(&self, request: Request<'_>) -> Result<ChangeSet, Error> {
        self.ask_in(&self.repo, request)
    }

    pub(crate) fn ask_in(&self, cwd: &Path, request: Request<'_>) -> Result<ChangeSet, Error> {
        let before = self.everything();
        let changes = changes::start(cwd, &self.program)?.change_set(request);
        assert_same(&before, &self.everything());
        changes
    }

    /// The git processes that the library has started since this was called last.
    pub(crate) fn calls(&self) -> Vec<String> {
        let log = self.root().join("calls");
        let calls = fs_err::read_to_string(&log).unwrap_or_default();
        let _ = fs_err::remove_file(log);
        calls.lines().map(str::to_owned).collect()
    }

    /// Every file and folder of the repository, `.git` included: content, mode, and times. A folder's time tells
    /// of a file that was made in it and removed again.
    pub(crate) fn everything(&self) -> BTreeMap<PathBuf, (u32, i64, i64, Vec<u8>)> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.repo.clone()];
        while let Some(folder) = folders.pop() {
            for entry in folder.read_dir().into_iter().flatten().flatten() {
                let metadata = entry.metadata().unwrap();
                // The many files of one test are not read again and again.
                let read = metadata.is_file() && metadata.len() < 1_000_000 && found.len() < 5000;
                let content = if read { fs_err::read(entry.path()).unwrap_or_default() } else { Vec::new() };
                found.insert(
                    entry.path(),
                    (metadata.mode(), metadata.mtime(), metadata.mtime_nsec(), content),
                );
                if metadata.is_dir() {
                    folders.push(entry.path());
                }
            }
        }
        found
    }
}

pub(crate) fn assert_same<T: PartialEq>(before: &BTreeMap<PathBuf, T>, after: &BTreeMap<PathBuf, T>) {
    let differing: Vec<&PathBuf> =
        before.keys().chain(after.keys()).filter(|path| before.get(*path) != after.get(*path)).collect();
    assert!(differing.is_empty(), "written by a read path: {differing:?}");
}

/// A few lines, enough for git to recognise a renamed file.
pub(crate) fn text(name: &str) -> String {
    (0..20).map(|line| format!("{name} line {line}\n")).collect()
}

/// `modified a [unstaged]`, one line for each file.
pub(crate) fn lines(files: &[ChangedFile]) -> Vec<String> {
    files.iter().map(line).collect()
}

fn line(file: &ChangedFile) -> String {
    let change = match &file.change {
        Change::Renamed { from } => format!("renamed {from} ->"),
        other => format!("{other:?}").to_lowercase(),
    };
    let how = serde_json::to_value(&file.how).unwrap();
    let how: Vec<&str> = how.as_array().unwrap().iter().map(|how| how.as_str().unwrap()).collect();
    format!("{change} {} [{}]", file.path, how.join(" "))
}
