//! A home, a state directory and a real repository of their own, and the hook run in them as a client runs it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// The policy of most tests: code in `*.py` needs `pytest`.
pub(crate) const PYTHON: &str = "presets = [\"python\"]\n";

/// What an agent is told that changed one Python file and ran no test.
pub(crate) const RUN_TESTS: &str = "[checkstone] Context-aware checkpoint\n\n\
    Changed: Python code (1 file)\n\n\
    Required actions:\n\
    1. Run the tests for what changed, for example with `pytest`\n\n\
    If a step cannot be done here, say so in a line of its own:\n`checkstone: cannot ACTION: REASON` \
    (actions: python-tests).";

pub(crate) struct World {
    pub(crate) folder: TempDir,
    pub(crate) repository: PathBuf,
    pub(crate) state: PathBuf,
    pub(crate) home: PathBuf,
}

impl World {
    /// A repository with `calc.py`, `README.md` and this policy, committed.
    pub(crate) fn new(policy: &str) -> Self {
        let world = Self::bare();
        world.write("calc.py", "def add(a, b):\n    return a - b\n");
        world.write("README.md", "# calc\n");
        world.write("checkstone.toml", policy);
        world.git(&["init", "--quiet", "--initial-branch=main"]);
        world.commit("begin");
        world
    }

    /// Folders only, no repository.
    pub(crate) fn bare() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let world = Self {
            repository: root.join("repository"),
            state: root.join("state"),
            home: root.join("home"),
            folder,
        };
        fs_err::create_dir(&world.repository).unwrap();
        fs_err::create_dir(&world.home).unwrap();
        world
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.repository.join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=T", "-c", "user.email=t@example.org"])
            .args(arguments)
            .current_dir(&self.repository)
            .env_clear()
            .envs(self.environment())
            .output()
            .unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn environment(&self) -> [(&'static str, std::ffi::OsString); 4] {
        [
            ("PATH", std::env::var_os("PATH").unwrap()),
            ("HOME", self.home.clone().into_os_string()),
            ("GIT_CONFIG_GLOBAL", "/dev/null".into()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
        ]
    }

    /// `checkstone hook <agent>` with pipes; nothing of the caller's environment reaches it.
    pub(crate) fn hook(&self, agent: &str) -> Command {
        self.checkstone(&["hook", agent])
    }

    /// Any command, in the same way.
    pub(crate) fn checkstone(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_checkstone"));
        command
            .args(arguments)
            .current_dir(&self.repository)
            .env_clear()
            .envs(self.environment())
            .env("CHECKSTONE_STATE_DIR", &self.state)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// A folder with a program called `git` that is this shell script.
    pub(crate) fn fake_git(&self, script: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = self.home.join("bin");
        fs_err::create_dir_all(&folder).unwrap();
        let program = folder.join("git");
        fs_err::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs_err::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        folder
    }

    pub(crate) fn log(&self) -> String {
        fs_err::read_to_string(self.state.join("log")).unwrap_or_default()
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.state.join("journal.db")
    }

    pub(crate) fn database(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.journal()).unwrap()
    }

    /// How often each turn was held, by the journal.
    pub(crate) fn holds(&self) -> Vec<u32> {
        let database = self.database();
        let mut statement = database.prepare("SELECT holds FROM turns ORDER BY id").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }
}

/// Runs a hook to its end with this payload.
pub(crate) fn answer(mut command: Command, payload: &Value) -> Answer {
    finish(send(&mut command, payload.to_string().as_bytes()))
}

/// Starts a hook and writes its payload.
pub(crate) fn send(command: &mut Command, payload: &[u8]) -> Child {
    let mut child = command.spawn().unwrap();
    // The program may end before it has read everything.
    let _ = child.stdin.take().unwrap().write_all(payload);
    child
}

pub(crate) fn finish(child: Child) -> Answer {
    Answer(child.wait_with_output().unwrap())
}

/// What a client sees of a hook.
pub(crate) struct Answer(pub(crate) Output);

impl Answer {
    /// H2: not a word, and success.
    #[track_caller]
    pub(crate) fn passes(&self) {
        assert_eq!(
            (self.stdout(), self.stderr(), self.0.status.code()),
            (String::new(), String::new(), Some(0))
        );
    }

    /// H1: exactly the keys of a hold.
    #[track_caller]
    pub(crate) fn holds(&self) -> String {
        let (document, keys) = self.document();
        assert_eq!(keys, ["decision", "reason"], "{document}");
        assert_eq!(document["decision"], "block");
        document["reason"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(crate) fn notifies(&self) -> String {
        let (document, keys) = self.document();
        assert_eq!(keys, ["systemMessage"], "{document}");
        document["systemMessage"].as_str().unwrap().to_owned()
    }

    pub(crate) fn is_hold(&self) -> bool {
        self.stdout().contains("\"block\"")
    }

    #[track_caller]
    fn document(&self) -> (Value, Vec<String>) {
        assert_eq!((self.stderr(), self.0.status.code()), (String::new(), Some(0)));
        let text = self.stdout();
        let document: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: `{text}`"));
        let keys = document.as_object().unwrap().keys().cloned().collect();
        (document, keys)
    }

    pub(crate) fn stdout(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }

    fn stderr(&self) -> String {
        String::from_utf8(self.0.stderr.clone()).unwrap()
    }
}

/// Every file below a folder with its bytes and the time of its last change.
pub(crate) fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>, std::time::SystemTime)> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs_err::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs_err::symlink_metadata(&path).unwrap();
            let bytes = if metadata.is_file() { fs_err::read(&path).unwrap() } else { Vec::new() };
            files.push((path.clone(), bytes, metadata.modified().unwrap()));
            if metadata.is_dir() {
                folders.push(path);
            }
        }
    }
    files.sort();
    files
}

/// For what the system does a moment later, such as ending a process that was killed.
#[track_caller]
pub(crate) fn wait_until(condition: impl Fn() -> bool, otherwise: &str) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while !condition() {
        assert!(Instant::now() < deadline, "{otherwise}");
        std::thread::yield_now();
    }
}
