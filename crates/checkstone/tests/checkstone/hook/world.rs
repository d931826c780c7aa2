//! A home, a state directory and a real repository of their own, and the hook run in them as a client runs it.

use std::path::PathBuf;
use std::process::Command;

use sandbox::{Answer, RunToEnd as _, Sandbox};
use serde_json::Value;

/// The policy of most tests: code in `*.py` needs `pytest`.
pub(crate) const PYTHON: &str = "presets = [\"python\"]\n";

/// What an agent is told that changed one Python file and ran no test.
pub(crate) const RUN_TESTS: &str = "[checkstone] Not verified yet\n\n\
    Changed: Python code (`calc.py`)\n\n\
    1. Run `pytest` (python-tests)\n\n\
    If a step cannot be done here, say so on a line of its own:\n`checkstone: cannot ACTION: REASON` \
    (actions: python-tests).";

/// What the person is told of an agent that went on without the tests.
pub(crate) const IGNORED: &str = "[checkstone] Unproven: `calc.py` needs `python-tests`. The agent was asked for this \
    and did not do it.";

/// What they are told in every later turn while that lasts.
pub(crate) const STILL_UNPROVEN: &str = "[checkstone] Still unproven: `calc.py` needs `python-tests`.";

/// How the line begins that tells the person how to switch a session off.
const OFF_SWITCH: &str =
    "[checkstone] To switch this off for the session, run in a terminal: `checkstone session";

pub(crate) struct World {
    pub(crate) sandbox: Sandbox,
    pub(crate) repository: PathBuf,
    pub(crate) state: PathBuf,
    pub(crate) home: PathBuf,
}

impl World {
    /// A repository with `calc.py`, its tests, `README.md` and this policy, committed.
    pub(crate) fn new(policy: &str) -> Self {
        let world = Self::bare();
        world.write("calc.py", "def add(a, b):\n    return a - b\n");
        world.write(
            "tests/test_calc.py",
            "from calc import add\n\n\ndef test_add():\n    assert add(1, 1) == 2\n",
        );
        world.write("README.md", "# calc\n");
        world.write("checkstone.toml", policy);
        world.git(&["init", "--quiet", "--initial-branch=main"]);
        world.commit("begin");
        world
    }

    /// Folders only, no repository.
    pub(crate) fn bare() -> Self {
        let sandbox = Sandbox::new();
        let world = Self {
            repository: sandbox.path("repository"),
            state: sandbox.path("state"),
            home: sandbox.home(),
            sandbox,
        };
        fs_err::create_dir(&world.repository).unwrap();
        world
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        self.sandbox.write(self.repository.join(path), text);
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    #[track_caller]
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.sandbox.git(&self.repository, arguments)
    }

    /// `checkstone hook <agent>`; nothing of the caller's environment reaches it.
    pub(crate) fn hook(&self, agent: &str) -> Command {
        self.checkstone(&["hook", agent])
    }

    /// Any command, in the same way.
    pub(crate) fn checkstone(&self, arguments: &[&str]) -> Command {
        let mut command = self.sandbox.prepared(Command::new(env!("CARGO_BIN_EXE_checkstone")));
        command.args(arguments).current_dir(&self.repository);
        command
    }

    /// A folder with a program called `git` that is this shell script.
    pub(crate) fn fake_git(&self, script: &str) -> PathBuf {
        self.sandbox.script(self.home.join("bin/git"), script);
        self.home.join("bin")
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
#[track_caller]
pub(crate) fn answer(mut command: Command, payload: &Value) -> HookAnswer {
    HookAnswer(command.answer_to(payload.to_string()))
}

/// What a client sees of a hook.
pub(crate) struct HookAnswer(pub(crate) Answer);

impl HookAnswer {
    /// H2: not a word, and success.
    #[track_caller]
    pub(crate) fn passes(&self) {
        assert_eq!((self.0.stdout.as_str(), self.0.stderr.as_str(), self.0.code), ("", "", Some(0)));
    }

    /// H1: exactly the keys of a hold.
    #[track_caller]
    pub(crate) fn holds(&self) -> String {
        let (document, keys) = self.document();
        // The person reads how to switch it off, if their client shows that beside the reason.
        let to_person =
            document["systemMessage"].as_str().map(|text| text.split_once(" --agent ").unwrap().0);
        match keys.len() {
            2 => assert_eq!(keys, ["decision", "reason"], "{document}"),
            _ => assert_eq!((keys.len(), to_person), (3, Some(OFF_SWITCH)), "{document}"),
        }
        assert_eq!(document["decision"], "block");
        document["reason"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(crate) fn notifies(&self) -> String {
        let (document, keys) = self.document();
        assert_eq!(keys, ["systemMessage"], "{document}");
        document["systemMessage"].as_str().unwrap().to_owned()
    }

    /// A hold, and what the person is told beside it and how to switch it off.
    #[track_caller]
    pub(crate) fn holds_and_tells(&self) -> (String, String) {
        let (document, keys) = self.document();
        assert_eq!(keys, ["decision", "reason", "systemMessage"], "{document}");
        assert_eq!(document["decision"], "block");
        let text = |key: &str| document[key].as_str().unwrap();
        // Gemini CLI shows this text instead of the reason, which therefore stands in it.
        let said = text("systemMessage");
        let said = said.strip_prefix(text("reason")).map_or(said, str::trim_start);
        let told = said.lines().filter(|line| !line.starts_with(OFF_SWITCH));
        (text("reason").to_owned(), told.collect::<Vec<_>>().join("\n"))
    }

    pub(crate) fn is_hold(&self) -> bool {
        self.0.stdout.contains("\"block\"")
    }

    #[track_caller]
    fn document(&self) -> (Value, Vec<String>) {
        assert_eq!((self.0.stderr.as_str(), self.0.code), ("", Some(0)));
        let text = &self.0.stdout;
        let document: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: `{text}`"));
        let keys = document.as_object().unwrap().keys().cloned().collect();
        (document, keys)
    }
}
