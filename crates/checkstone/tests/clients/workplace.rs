//! A scratch repository with a policy, a client in a home of its own, and a scripted model; and the questions that are
//! asked afterwards: what did the model receive, what did the program record.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Once;
use std::time::Duration;

use scripted_model::{Client, Installed, Request, Scenario, Screen, Server, Settings};
use serde_json::{Value, json};
use tempfile::TempDir;

/// No run takes a tenth of this, even on a machine that is busy.
const LIMIT: Duration = Duration::from_secs(120);

/// Code needs `run-tests`, a program of the repository that looks whether the code is right.
const POLICY: &str = r#"
[[category]]
name = "code"
include = ["src/**"]
require = ["tests"]

[action.tests]
order = 10
say = "Run `./run-tests`"
evidence = ["run-tests"]
"#;

/// What the agent is told that changed code and ran no test.
pub(crate) const RUN_TESTS: &str = "[checkstone] Not done yet\n\n\
    Changed: code (`src/calc.py`)\n\n\
    1. Run `./run-tests` (tests)\n\n\
    If a step cannot be done here, say so on a line of its own:\n`checkstone: cannot ACTION: REASON` \
    (actions: tests).";

pub(crate) struct Workplace {
    /// Goes away with the workplace.
    _folder: TempDir,
    pub(crate) program: PathBuf,
    pub(crate) client: Client,
    pub(crate) repository: PathBuf,
    pub(crate) home: PathBuf,
    path: OsString,
}

/// Runs a fact in a workplace of this client, where the client is there.
pub(crate) fn with(client: Client, fact: impl FnOnce(&Workplace)) {
    let variable = format!("CHECKSTONE_TEST_{}", client.agent().to_uppercase());
    match std::env::var_os(&variable) {
        Some(program) => fact(&Workplace::new(client, program.into())),
        None => say_that_nothing_is_tested(&variable),
    }
}

/// Runs a fact where the client is there, and tmux too.
pub(crate) fn with_screen(client: Client, fact: impl FnOnce(&Workplace)) {
    if Command::new("tmux").arg("-V").stdout(Stdio::null()).status().is_ok() {
        with(client, fact);
    }
}

/// Written past the test runner, which shows the output of failed tests only.
fn say_that_nothing_is_tested(variable: &str) {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        let told = "SKIPPED: tests with the real clients; `cargo xtask test` installs them and sets";
        let _ = writeln!(std::io::stderr(), "{told} {variable}");
    });
}

impl Workplace {
    fn new(client: Client, program: PathBuf) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let path = std::env::var_os("PATH").unwrap();
        let workplace = Self {
            program,
            client,
            repository: root.join("repository"),
            home: root.join("home"),
            path,
            _folder: folder,
        };
        fs_err::create_dir(&workplace.repository).unwrap();
        workplace.write("src/calc.py", "def add(a, b):\n    return a - b\n");
        workplace.write("README.md", "# calc\n");
        workplace.write("checkstone.toml", POLICY);
        workplace
            .executable("run-tests", "#!/bin/sh\ngrep -q 'return a + b' src/calc.py && echo '1 passed'\n");
        workplace.executable("lint", "#!/bin/sh\necho 'src/calc.py:1: name is too short'\nexit 3\n");
        workplace.git(&["init", "--quiet", "--initial-branch=main"]);
        workplace.git(&["add", "--all"]);
        workplace.git(&["commit", "--quiet", "--message=begin"]);
        workplace
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.repository.join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs_err::read_to_string(self.repository.join(path)).unwrap()
    }

    /// The user's own configuration.
    pub(crate) fn configure(&self, text: &str) {
        let path = self.home.join(".config/checkstone/config.toml");
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    }

    /// A bare repository as `origin`, which has what was committed so far.
    pub(crate) fn add_origin(&self) -> PathBuf {
        let origin = self.home.parent().unwrap().join("origin.git");
        self.git(&["init", "--quiet", "--bare", "--initial-branch=main", origin.to_str().unwrap()]);
        self.git(&["remote", "add", "origin", origin.to_str().unwrap()]);
        self.git(&["push", "--quiet", "origin", "main"]);
        origin
    }

    fn executable(&self, path: &str, text: &str) {
        self.write(path, text);
        sandbox::make_executable(&self.repository.join(path));
    }

    /// Where the program keeps its journal, as it finds it by itself.
    pub(crate) fn state(&self) -> PathBuf {
        self.home.join(".local/state/checkstone")
    }

    pub(crate) fn installed<'a>(&'a self, address: &'a str) -> Installed<'a> {
        Installed {
            client: self.client,
            program: &self.program,
            path: &self.path,
            home: &self.home,
            folder: &self.repository,
            address,
        }
    }

    /// A program that sees what the client sees.
    fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        self.installed("").environment(&mut command);
        command
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let output = self.command("git").args(arguments).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Plays the steps while the client answers the prompts, one after the other in one session.
    pub(crate) fn play(&self, scenario: Value, prompts: &[&str]) -> Played {
        self.play_with(|_| self.init(), scenario, prompts)
    }

    /// The program registers itself.
    pub(crate) fn init(&self) {
        let told = self.json(&["init", "--agent", self.client.agent(), "--yes", "--json"]);
        assert_eq!(told["clients"][0]["state"], "changed", "{told:#}");
    }

    /// The same, with the status line of the client that has one.
    pub(crate) fn init_with_status_line(&self) {
        let line: &[&str] = if self.client == Client::Claude { &["--statusline"] } else { &[] };
        self.json(&[&["init", "--agent", self.client.agent(), "--yes", "--json"], line].concat());
    }

    /// As `play`, with the hooks registered in another way.
    pub(crate) fn play_with(
        &self,
        register: impl FnOnce(&Installed<'_>),
        scenario: Value,
        prompts: &[&str],
    ) -> Played {
        let steps = scenario["steps"].as_array().unwrap().len();
        let server = self.server(scenario);
        let address = server.address();
        let client = self.installed(&address);
        client.settle().unwrap();
        register(&client);
        for (number, prompt) in prompts.iter().enumerate() {
            let run = client.prompt(prompt, number > 0, LIMIT).unwrap();
            let went_well = run.status.is_some_and(|status| status.success()) && run.turn_ended().is_some();
            assert!(went_well, "{run:#?}\n{}", self.told(&server));
        }
        let played = Played::of(self.client, &server);
        let main = played.requests.iter().filter(|request| request.conversation.is_none()).count();
        assert_eq!(main, steps, "the client went through the scenario once\n{}", self.told(&server));
        played
    }

    /// Opens the client's screen, with a model that plays the steps.
    pub(crate) fn show(&self, scenario: Value, register: impl FnOnce()) -> Shown<'_> {
        let server = self.server(scenario);
        let address = server.address();
        let client = self.installed(&address);
        client.settle().unwrap();
        client.settle_screen().unwrap();
        register();
        let screen = client.screen().unwrap_or_else(|error| panic!("{error}\n{}", self.told(&server)));
        Shown { workplace: self, screen, server }
    }

    pub(crate) fn server(&self, scenario: Value) -> Server {
        let scenario: Scenario = serde_json::from_value(scenario).unwrap();
        let settings = Settings { port: 0, folder: self.repository.clone(), log: None };
        Server::start(scenario, &settings).unwrap()
    }

    /// What a model was asked so far.
    pub(crate) fn played(&self, server: &Server) -> Played {
        Played::of(self.client, server)
    }

    /// Where the client's program is.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// The client's home.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// What the client itself answers to a command of a person, with `input` typed.
    pub(crate) fn client_says(&self, arguments: &[&str], input: &str) -> String {
        // An older version may ask something that nobody answers.
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", "300"]).arg(&self.program);
        // Nobody listens there; a name that cannot be resolved would be waited for.
        self.installed("http://127.0.0.1:9").environment(&mut command);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // It may not ask for anything.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        assert!(output.status.success(), "{arguments:?}: {text}");
        text
    }

    /// What a failed test shows.
    pub(crate) fn told(&self, server: &Server) -> String {
        let log = fs_err::read_to_string(self.state().join("log")).unwrap_or_default();
        let requests = server.requests();
        let asked: Vec<String> = requests
            .iter()
            .map(|request| {
                let last = request.user_texts().pop().unwrap_or_default();
                format!("{} step {:?}, last said: {last:.300}", request.path, request.step)
            })
            .collect();
        format!("--- log\n{log}--- requests\n{}", asked.join("\n"))
    }

    /// What the program prints as JSON.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let mut command = self.command(env!("CARGO_BIN_EXE_checkstone"));
        // The client is on the person's path.
        let folders = self.program.parent().map(Path::to_owned).into_iter();
        let path = std::env::join_paths(folders.chain(std::env::split_paths(&self.path))).unwrap();
        let output = command.args(arguments).env("PATH", path).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The verdicts, oldest first, as `explain` tells them; each can be had again from what was recorded.
    pub(crate) fn verdicts(&self) -> Vec<Value> {
        let status = self.json(&["status", "--json"]);
        let list = self.json(&["explain", "--list", "--json"]);
        assert_eq!(status["verdicts"], list["verdicts"], "both tell of the same verdicts");
        let mut verdicts: Vec<Value> = list["verdicts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|listed| self.json(&["explain", &listed["id"].to_string(), "--json"]))
            .collect();
        verdicts.reverse();
        for verdict in &verdicts {
            assert_eq!(verdict["agent"], self.client.agent());
            assert_eq!(verdict["replay"]["same"], true, "{verdict:#}");
            assert_eq!(verdict["verdict"]["transcript"]["coverage"], "complete", "{verdict:#}");
            assert_eq!(verdict["verdict"]["scope"], "turn-baseline", "{verdict:#}");
        }
        verdicts
    }

    /// The verdict of the only turn. Where it was held, the stop after it is looked at for the record, and passes.
    pub(crate) fn verdict(&self) -> Value {
        let mut verdicts = self.verdicts();
        for after in &verdicts[1..] {
            assert_eq!((&verdicts[0]["answered"], &after["answered"]), (&json!("hold"), &json!("pass")));
        }
        verdicts.swap_remove(0)
    }

    /// What was decided at each stop, in order, by the log.
    pub(crate) fn decisions(&self) -> Vec<String> {
        let decision = |line: &str| line.split(' ').nth(3).map(|word| word.trim_end_matches(':').to_owned());
        self.log().lines().filter_map(decision).collect()
    }

    /// The lines of the log.
    pub(crate) fn log(&self) -> String {
        let output = self.command(env!("CARGO_BIN_EXE_checkstone")).arg("log").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// Makes the journal unusable; the log can still be written.
    pub(crate) fn break_the_journal(&self) {
        fs_err::create_dir_all(self.state().join("journal.db")).unwrap();
    }
}

/// A client at a person's screen.
pub(crate) struct Shown<'a> {
    workplace: &'a Workplace,
    pub(crate) screen: Screen,
    server: Server,
}

impl Shown<'_> {
    /// A person types a prompt.
    #[track_caller]
    pub(crate) fn say(&self, prompt: &str) {
        self.done(self.screen.say(prompt));
    }

    #[track_caller]
    pub(crate) fn wait_until(&self, condition: impl Fn() -> bool) {
        self.done(self.screen.wait_until(|| Ok(condition())));
    }

    /// Waits until the screen shows these words, wherever the client breaks its lines.
    #[track_caller]
    pub(crate) fn wait_for(&self, words: &str) {
        self.done(self.screen.wait_until(|| Ok(agents::shows(&self.screen.text()?, words))));
    }

    /// What the model was asked so far.
    pub(crate) fn played(&self) -> Played {
        Played::of(self.workplace.client, &self.server)
    }

    #[track_caller]
    fn done(&self, deed: std::io::Result<()>) {
        if let Err(error) = deed {
            panic!("{error}\n{}", self.workplace.told(&self.server));
        }
    }
}

/// What the model was asked, in order.
pub(crate) struct Played {
    client: Client,
    pub(crate) requests: Vec<Request>,
}

impl Played {
    fn of(client: Client, server: &Server) -> Self {
        Self { client, requests: server.requests().into_iter().filter(|request| request.is_turn).collect() }
    }

    /// The holds that the model was told, each by the step that answered it.
    pub(crate) fn holds(&self) -> Vec<(usize, String)> {
        let mut holds = Vec::new();
        let mut seen = 0;
        for request in &self.requests {
            let told: Vec<String> = request.user_texts().into_iter().filter_map(|text| hold(&text)).collect();
            // A session that is gone on with has what its transcript has.
            if !agents::host(self.client.host()).can.records_holds && told.is_empty() {
                seen = 0;
            }
            assert!(told.len() >= seen, "the conversation keeps what was said");
            holds.extend(told[seen..].iter().map(|hold| (request.step.unwrap(), hold.clone())));
            seen = told.len();
        }
        holds
    }
}

/// Our message in what a user is said to have said, out of the words that the client puts around it.
fn hold(text: &str) -> Option<String> {
    let begin = text.find("[checkstone]")?;
    let rest = &text[begin..];
    // Claude Code puts it into a reminder; Codex CLI makes an element of it, and escapes it as one.
    match (rest.find("</system-reminder>"), rest.find("</hook_prompt>")) {
        (Some(end), _) => Some(rest[..end].trim_end().to_owned()),
        (_, Some(end)) => Some(rest[..end].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")),
        _ => Some(rest.trim_end().to_owned()),
    }
}
