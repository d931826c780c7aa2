//! What a turn changed, by the contents in real repositories: which of it needs proof, and which repository is judged.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use agents::{Answer, Event, Payload};
use changes::GitProgram;
use jiff::{SignedDuration, Timestamp};
use journal::{Journal, NewTurn, OpenFor};
use sandbox::{RunToEnd as _, Sandbox};
use serde_json::{Value, json};
use stop::{
    ClientEvent, Delivery, Purpose, Stop, StopSettings, Stopwatch, VerifiedPart, VerifiedPlace, Workplace,
};
use transcript::Agent;

const CODE: &str = "def add(a, b):\n    return a + b\n";
const EDITED: &str = "def add(a, b):\n    return b + a\n";
const HOLDS: &str = "hold: calc.py";

/// One turn of Claude Code in a repository, minute by minute.
struct Story {
    sandbox: Sandbox,
    root: PathBuf,
    settings: StopSettings,
    journal: Journal,
    began: Timestamp,
    minute: i64,
}

impl Story {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let root = sandbox.path("repository");
        sandbox.write(root.join("calc.py"), CODE);
        sandbox.write(root.join("test_calc.py"), "def test_add():\n    assert True\n");
        sandbox.write(root.join("pyproject.toml"), "[project]\nname = \"calc\"\n");
        sandbox.write(root.join("checkstone.toml"), "presets = [\"python\"]\n");
        sandbox.git(&root, &["init", "--quiet", "--initial-branch=main"]);
        sandbox.git(&root, &["add", "--all"]);
        sandbox.git(&root, &["commit", "--quiet", "--message", "begin"]);
        let git = GitProgram::in_path(&std::env::var_os("PATH").unwrap());
        let state = sandbox.path("state");
        drop(Journal::open(&state, OpenFor::Command).unwrap());
        let began = Timestamp::try_from(sandbox::now()).unwrap() - SignedDuration::from_hours(1);
        let journal = Journal::open(&state, OpenFor::Hook).unwrap();
        let settings = StopSettings { state, user_file: None, home: None, git, slug: None };
        Self { sandbox, root, settings, journal, began, minute: 0 }
    }

    /// The same, and the turn begins.
    fn begun() -> Self {
        let mut story = Self::new();
        story.prompt();
        story
    }

    fn prompt(&mut self) {
        let prompt = json!({ "message": { "role": "user", "content": "Go on" }, "promptSource": "typed" });
        self.append("user", prompt);
        let event = self.event(&self.root);
        let pending = changes::start(&self.root, &self.settings.git).unwrap();
        let baseline = serde_json::to_vec(&pending.baseline(self.now()).unwrap()).unwrap();
        let opened = self.journal.write(|writing| {
            let seen = writing.see_session(&event.seen(Some(&self.root)), event.now)?;
            writing.open_turn(&NewTurn {
                session: seen.id,
                key: None,
                opened_at: event.now,
                prompt: "Go on",
                baseline: Some(&baseline),
            })
        });
        opened.unwrap();
    }

    fn now(&self) -> Timestamp {
        self.began + SignedDuration::from_mins(self.minute)
    }

    fn event(&self, cwd: &Path) -> ClientEvent {
        let payload = Payload {
            transcript: Some(self.transcript()),
            cwd: Some(cwd.to_owned()),
            last_text: Some("Done.".to_owned()),
            ..Payload::new(Agent::Claude, Event::Stop)
        };
        ClientEvent {
            payload,
            session: "session".to_owned(),
            cwd: cwd.to_owned(),
            settings: self.settings.clone(),
            now: self.now(),
            stopwatch: Stopwatch::start(),
            is_dry_run: false,
        }
    }

    fn transcript(&self) -> PathBuf {
        self.sandbox.path("session.jsonl")
    }

    fn append(&mut self, kind: &str, fields: Value) {
        let mut record = json!({
            "parentUuid": null, "isSidechain": false, "type": kind, "uuid": format!("u{}", self.minute),
            "timestamp": self.now().to_string(), "userType": "external", "entrypoint": "cli",
            "cwd": self.root, "sessionId": "session", "version": "2.1.325", "gitBranch": "main",
        });
        record.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let mut file = fs_err::OpenOptions::new().append(true).create(true).open(self.transcript()).unwrap();
        file.write_all(format!("{record}\n").as_bytes()).unwrap();
    }

    fn call(&mut self, name: &str, input: &Value, output: &str, result: &Value) {
        let id = format!("toolu_{}", self.minute);
        let content = json!([{ "type": "tool_use", "id": id, "name": name, "input": input }]);
        let message =
            json!({ "id": "m", "role": "assistant", "stop_reason": "tool_use", "content": content });
        self.append("assistant", json!({ "message": message }));
        let content = json!([{ "type": "tool_result", "tool_use_id": id, "content": output }]);
        let message = json!({ "role": "user", "content": content });
        self.append("user", json!({ "message": message, "toolUseResult": result }));
    }

    /// The file has the time of the story, as if it had been written now.
    fn settle(&self, file: &str) {
        if let Ok(file) = fs_err::OpenOptions::new().write(true).open(self.root.join(file)) {
            file.file().set_modified(self.now().into()).unwrap();
        }
    }

    /// The agent writes the file with its tool.
    fn write(&mut self, file: &str, text: &str) {
        self.minute += 1;
        let path = self.root.join(file);
        let before = fs_err::read_to_string(&path).ok();
        self.sandbox.write(&path, text);
        self.settle(file);
        let kind = if before.is_some() { "update" } else { "create" };
        let result = json!({
            "type": kind, "filePath": path, "content": text, "structuredPatch": [], "originalFile": before,
        });
        self.call("Write", &json!({ "file_path": path, "content": text }), "File written", &result);
    }

    /// The agent runs a command, which leaves `calc.py` as written now.
    fn run(&mut self, command: &str) {
        self.minute += 1;
        let mut shell = self.sandbox.prepared(std::process::Command::new("sh"));
        let answer = shell.args(["-c", command]).current_dir(&self.root).answer();
        assert_eq!(answer.code, Some(0), "{command}: {}", answer.stderr);
        self.settle("calc.py");
        self.tell(command, "");
    }

    fn test(&mut self) {
        self.minute += 1;
        self.tell("pytest -q", "===== 3 passed in 0.01s =====");
    }

    fn tell(&mut self, command: &str, output: &str) {
        let result = json!({ "stdout": output, "stderr": "", "interrupted": false, "isImage": false });
        self.call("Bash", &json!({ "command": command }), output, &result);
    }

    fn stop(&mut self) -> String {
        self.stop_in(&self.root.clone())
    }

    /// What is said at the stop, and of which files something is missing.
    fn stop_in(&mut self, cwd: &Path) -> String {
        self.minute += 1;
        let said = json!([{ "type": "text", "text": "Done." }]);
        let message = json!({ "id": "m", "role": "assistant", "stop_reason": "end_turn", "content": said });
        self.append("assistant", json!({ "message": message }));
        let judged = match stop::judge(self.event(cwd), Workplace::find(cwd, None), Purpose::Verdict) {
            Stop::Judged(judged) => judged,
            Stop::Settled { reason, .. } => return format!("settled: {reason}"),
        };
        let standings = judged.turn.verdict.standings.iter();
        let unproven = standings.filter(|one| one.proof == gate::ContentProof::Unproven);
        let files: Vec<String> = unproven.map(|one| one.path.clone()).collect();
        let reason = judged.turn.verdict.reason.clone();
        match judged.conclude(Delivery::Sure) {
            Answer::Hold { .. } => format!("hold: {}", files.join(" ")),
            Answer::Pass | Answer::Notify { .. } => format!("passes: {reason}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn content_that_git_or_anybody_wrote_again_keeps_its_tests() {
    for (command, expected) in [
        ("git stash -q; git stash pop -q", "passes: all clear"),
        ("git commit -qam x; git checkout -q HEAD~1; git checkout -q main", "passes: all clear"),
        ("touch calc.py", "passes: all clear"),
        ("cp calc.py kept; git checkout -q -- calc.py; mv kept calc.py", "passes: all clear"),
        ("echo 'x = 1' >> calc.py", HOLDS),
        ("git stash -q; git stash pop -q; echo 'x = 1' >> calc.py", HOLDS),
    ] {
        let mut story = Story::begun();
        story.write("calc.py", EDITED);
        story.test();
        story.run(command);
        assert_eq!(story.stop(), expected, "{command}");
    }
}

#[test]
fn only_comments_changed_whoever_wrote_them() {
    let quiet = "passes: no action is required for these changes";
    for (command, expected) in [
        ("sed -i '1i # a comment' calc.py", quiet),
        ("sed -i '1i # a comment' calc.py; git add -A", quiet),
        ("sed -i '1i # a comment' calc.py; git commit -qam comment", quiet),
        ("echo '# only words' > new.py; printf '\\n' >> calc.py", quiet),
        ("sed -i '1i # a comment' calc.py; echo 'x = 1' >> calc.py", HOLDS),
        (
            "echo 'x = 1' >> calc.py; git commit -qam code; git checkout -q -b elsewhere HEAD~1; echo '# x' >> calc.py",
            HOLDS,
        ),
        ("echo 'x = 1' >> calc.py; git add -A; git show HEAD:calc.py > calc.py", HOLDS),
    ] {
        let mut story = Story::begun();
        story.run(command);
        assert_eq!(story.stop(), expected, "{command}");
    }
}

/// What a file held when the turn began is known if git has it; what HEAD has says nothing then.
#[test]
fn comments_in_a_file_that_was_dirty_before_are_compared_with_what_it_held() {
    for (is_staged, expected) in [(true, "passes: no action is required for these changes"), (false, HOLDS)] {
        let mut story = Story::new();
        story.sandbox.write(story.root.join("calc.py"), EDITED);
        story.settle("calc.py");
        if is_staged {
            story.sandbox.git(&story.root, &["add", "calc.py"]);
        }
        story.prompt();
        story.run("sed -i '1i # a comment' calc.py; git add calc.py");
        assert_eq!(story.stop(), expected, "{is_staged}");
    }
}

#[test]
fn the_executable_bit_alone_needs_no_proof() {
    for (command, expected) in [
        ("chmod +x calc.py", "passes: no action is required for these changes"),
        ("chmod +x calc.py; git commit -qam mode", "passes: no action is required for these changes"),
        (
            "echo 'x = 1' >> calc.py; git commit -qam code; git checkout -q -b elsewhere HEAD~1; chmod +x calc.py",
            HOLDS,
        ),
        ("echo 'x = 1' >> calc.py; git add -A; git show HEAD:calc.py > calc.py; chmod +x calc.py", HOLDS),
    ] {
        let mut story = Story::begun();
        story.run(command);
        assert_eq!(story.stop(), expected, "{command}");
    }
}

/// L9: the shell's folder at the stop decides nothing.
#[test]
fn a_shell_in_dot_git_or_a_bare_repository_leaves_the_turn_where_it_began() {
    for folder in
        [".git/hooks", ".git", "fixtures/bare.git", "fixtures/bare.git/refs", ".git/modules/sub/refs"]
    {
        let mut story = Story::begun();
        story.run("git init -q --bare fixtures/bare.git; mkdir -p .git/modules; git init -q --bare .git/modules/sub");
        story.write("calc.py", EDITED);
        let cwd = story.root.join(folder);
        fs_err::create_dir_all(&cwd).unwrap();
        assert_eq!(story.stop_in(&cwd), HOLDS, "{folder}");
    }
}

#[test]
fn an_index_with_conflicts_is_not_proven() {
    let story = Story::new();
    for (branch, line) in [("side", "x = 1"), ("main", "x = 2")] {
        story.sandbox.git(&story.root, &["checkout", "--quiet", "-B", branch, "main"]);
        story.sandbox.write(story.root.join("calc.py"), format!("{CODE}{line}\n"));
        story.sandbox.git(&story.root, &["commit", "--quiet", "--all", "--message", branch]);
        if branch == "side" {
            story.sandbox.git(&story.root, &["branch", "--quiet", "--force", "main", "HEAD~1"]);
        }
    }
    let merged = story.sandbox.git_command(&story.root, &["merge", "side"]).answer();
    assert_eq!(merged.code, Some(1));
    let workplace = Workplace::find(&story.root, None);
    let policy = workplace.found.policy.unwrap().load().unwrap();
    let repository = workplace.repository.unwrap();
    let place = VerifiedPlace { repository: &repository, policy: &policy, git: &story.settings.git };
    for part in [VerifiedPart::Staged, VerifiedPart::Worktree] {
        let verified = place.verify(None, &part).unwrap();
        let missing: Vec<&str> = verified.missing.iter().map(|one| one.path.as_str()).collect();
        assert_eq!((verified.needed, missing), (1, vec!["calc.py"]), "{part:?}");
    }
}
