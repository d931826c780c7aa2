//! Plays a random sequence of deeds of agents and people in a real repository with two worktrees, and asks after each of them
//! whether everybody says what the model says: the library in this process, or the program.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use agents::{Answer, Event, Payload};
use changes::{GitProgram, Repository};
use gate::policy::Policy;
use gate::{ContentProof, Decision};
use jiff::{SignedDuration, Timestamp};
use journal::{Journal, NewTurn, OpenFor};
use sandbox::{RunToEnd as _, Sandbox};
use serde_json::{Value, json};
use stop::{
    AskedBy, ClientEvent, Delivery, ProvingRun, Purpose, Stop, StopCase, StopSettings, Stopwatch,
    VerifiedPart, VerifiedPlace, Workplace,
};
use transcript::Agent;

use super::model::{Contents, FILES, Judgement, Model, Span, Tested, Tree};

const CONTENTS: usize = 4;
/// Deeds of a sequence; those of the soak are longer.
const STEPS: usize = 20;
const STEPS_OF_SOAK: usize = 40;
const POLICY: &str = "presets = [\"python\"]\n";
const TREES: [&str; 2] = ["repository", "worktree"];
/// The working tree of each session: two of them share one.
const SESSIONS: [usize; 3] = [0, 0, 1];
/// The branches that each worktree switches between.
const BRANCHES: [[&str; 2]; 2] = [["main", "side"], ["other", "spare"]];

/// SplitMix64: the same numbers for the same seed, everywhere.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }
}

/// Plays this many sequences, each by a seed of its own, in several worlds at once; the soak asks for more. The program is
/// asked instead of the library if there is one.
pub(crate) fn play(program: Option<&Path>, sequences: u64) {
    let number = |variable: &str| std::env::var(variable).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("CHECKSTONE_LEDGER_SEED").unwrap_or_default();
    let soaked = number("CHECKSTONE_SOAK_LEDGERS");
    let end = first + soaked.unwrap_or(sequences);
    let steps = if soaked.is_some() { STEPS_OF_SOAK } else { STEPS };
    let next = AtomicU64::new(first);
    let players = std::thread::available_parallelism().map_or(2, NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..players {
            scope.spawn(|| {
                let world = World::new(program.map(Path::to_owned));
                let mut seed = next.fetch_add(1, Ordering::Relaxed);
                while seed < end {
                    world.play(seed, steps);
                    seed = next.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
}

/// Where sequences are played, one after the other: each begins with the same repository and an empty journal.
struct World {
    sandbox: Sandbox,
    /// The first commit.
    base: String,
    /// The program that is asked, instead of the library.
    program: Option<PathBuf>,
}

impl World {
    fn new(program: Option<PathBuf>) -> Self {
        // Thousands of small files are made and removed.
        let memory = Path::new("/dev/shm");
        let sandbox = if memory.is_dir() { Sandbox::inside(memory) } else { Sandbox::new() };
        let root = sandbox.path(TREES[0]);
        for file in FILES {
            sandbox.write(root.join(file), text(0));
        }
        for package in ["api", "web"] {
            let manifest = format!("[project]\nname = \"{package}\"\nversion = \"1.0.0\"\n");
            sandbox.write(root.join(package).join("pyproject.toml"), manifest);
        }
        for test in ["api/test_one.py", "api/inner/test_two.py", "web/tests/test_all.py"] {
            sandbox.write(root.join(test), "def test_all():\n    assert True\n");
        }
        sandbox.write(root.join("checkstone.toml"), POLICY);
        sandbox.git(&root, &["init", "--quiet", "--initial-branch=main", "--template="]);
        sandbox.git(&root, &["config", "gc.auto", "0"]);
        sandbox.git(&root, &["add", "--all"]);
        sandbox.git(&root, &["commit", "--quiet", "--message", "begin"]);
        for branch in ["side", "other", "spare"] {
            sandbox.git(&root, &["branch", branch]);
        }
        let worktree = sandbox.path(TREES[1]);
        sandbox.git(&root, &["worktree", "add", "--quiet", worktree.to_str().unwrap(), "other"]);
        let base = sandbox.git(&root, &["rev-parse", "HEAD"]).trim().to_owned();
        drop(Journal::open(&sandbox.path("state"), OpenFor::Command).unwrap());
        sandbox.script(sandbox.path("bin/pytest"), "exit 0");
        for folder in [TREES[0], TREES[1], "state"] {
            copy(&sandbox.path(folder), &sandbox.path("template").join(folder));
        }
        Self { sandbox, base, program }
    }

    /// Plays the sequence of a seed. Panics where somebody says something else than the model.
    fn play(&self, seed: u64, steps: usize) {
        for folder in [TREES[0], TREES[1], "state"] {
            fs_err::remove_dir_all(self.sandbox.path(folder)).unwrap();
            copy(&self.sandbox.path("template").join(folder), &self.sandbox.path(folder));
        }
        let mut numbers = Numbers(seed);
        let mut story = Story::new(self, seed);
        for _ in 0..steps {
            story.step(&mut numbers);
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs_err::create_dir_all(to).unwrap();
    for entry in fs_err::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs_err::copy(entry.path(), target).unwrap()),
        }
    }
}

/// By the machine's clock.
fn now() -> Timestamp {
    Timestamp::try_from(sandbox::now()).unwrap()
}

fn text(content: usize) -> String {
    format!("def work():\n    return result_{content}\n")
}

/// A session of Claude Code, written as it writes.
struct Session {
    id: String,
    tree: usize,
    transcript: PathBuf,
    turns: usize,
    records: usize,
    /// The turns that are judged together, also after the stop.
    span: Option<Span>,
}

impl Session {
    fn is_open(&self) -> bool {
        self.span.as_ref().is_some_and(|span| span.is_open)
    }

    fn turn_key(&self) -> String {
        format!("{}-turn-{}", self.id, self.turns)
    }
}

struct Story<'w> {
    world: &'w World,
    seed: u64,
    roots: [PathBuf; TREES.len()],
    repositories: [Repository; TREES.len()],
    settings: StopSettings,
    journal: RefCell<Journal>,
    policy: Policy,
    /// All of it lies in the past.
    began: Timestamp,
    /// Steps of ten seconds.
    clock: usize,
    sessions: Vec<Session>,
    /// The session that was last heard of in each tree.
    last_seen: [Option<usize>; TREES.len()],
    model: Model,
    told: Vec<String>,
}

impl<'w> Story<'w> {
    fn new(world: &'w World, seed: u64) -> Self {
        let sandbox = &world.sandbox;
        let roots = TREES.map(|tree| sandbox.path(tree));
        let repositories = roots.each_ref().map(|root| Repository::discover(root).unwrap());
        let session = |(number, tree): (usize, usize)| Session {
            id: format!("session-{seed}-{number}"),
            tree,
            transcript: sandbox.path(format!("{seed}-{number}.jsonl")),
            turns: 0,
            records: 0,
            span: None,
        };
        let tree = |tree: usize| Tree {
            disk: [0; FILES.len()],
            written: [0; FILES.len()],
            branch: BRANCHES[tree][0],
        };
        let branches = BRANCHES.iter().flatten().map(|branch| (*branch, vec![[0; FILES.len()]])).collect();
        let git = GitProgram::in_path(&std::env::var_os("PATH").unwrap());
        let policy = Workplace::find(&roots[0], None).found.policy.unwrap().load().unwrap();
        let state = sandbox.path("state");
        Self {
            world,
            seed,
            repositories,
            journal: RefCell::new(Journal::open(&state, OpenFor::Hook).unwrap()),
            settings: StopSettings { state, user_file: None, home: None, git, slug: None },
            policy,
            began: now() - SignedDuration::from_hours(1),
            clock: 0,
            sessions: SESSIONS.into_iter().enumerate().map(session).collect(),
            last_seen: [None; TREES.len()],
            model: Model { trees: (0..TREES.len()).map(tree).collect(), branches, ..Model::default() },
            told: Vec::new(),
            roots,
        }
    }

    fn now(&self) -> Timestamp {
        self.time(self.clock)
    }

    fn time(&self, clock: usize) -> Timestamp {
        self.began + SignedDuration::from_secs(10 * clock as i64)
    }

    fn step(&mut self, numbers: &mut Numbers) {
        self.clock += 1;
        let session = numbers.below(SESSIONS.len());
        let (file, content) = (numbers.below(FILES.len()), numbers.below(CONTENTS));
        let tested = Tested::ANY[numbers.below(Tested::ANY.len())];
        let tree = self.sessions[session].tree;
        let deed = match (numbers.below(20), self.sessions[session].is_open()) {
            (0..=5, true) => self.edit(session, file, content),
            (6..=8, true) => self.run_tests(session, tested, numbers.below(4) > 0),
            (9..=11, true) => self.use_git(tree, Some(session), file, numbers.below(5)),
            (12..=15, true) => self.stop(session, numbers.below(3) > 0),
            (16, true) => self.prompt(session, "is interrupted and prompted again"),
            (0..=11, false) => self.prompt(session, "is prompted"),
            (12 | 13, false) => self.prove(tree, tested),
            (14, false) => self.switch(tree),
            (15 | 17 | 18, _) => self.use_git(tree, None, file, numbers.below(5)),
            _ => {
                self.write(tree, file, content);
                Some(format!("a person writes {content} into {}", FILES[file]))
            }
        };
        let Some(deed) = deed else { return };
        self.told.push(format!("{}: in {tree}, {deed}", self.clock));
        self.compare(tree, numbers.below(4) == 0);
    }

    /// Whoever writes: its time is the story's.
    fn write(&mut self, tree: usize, file: usize, content: usize) {
        self.world.sandbox.write(self.roots[tree].join(FILES[file]), text(content));
        let mut disk = self.model.trees[tree].disk;
        disk[file] = content;
        self.model.trees[tree].written[file] = self.clock;
        self.settle(tree, disk);
    }

    /// The files have these contents now, and were written at the story's time.
    fn settle(&mut self, tree: usize, disk: Contents) {
        for (file, content) in disk.into_iter().enumerate() {
            let path = self.roots[tree].join(FILES[file]);
            assert_eq!(fs_err::read_to_string(&path).unwrap(), text(content), "{}", self.heading());
            let place = &mut self.model.trees[tree];
            if place.disk[file] != content {
                place.disk[file] = content;
                place.written[file] = self.clock;
            }
            let time = self.time(self.model.trees[tree].written[file]);
            let file = fs_err::OpenOptions::new().write(true).open(&path).unwrap();
            if file.metadata().unwrap().modified().unwrap() != std::time::SystemTime::from(time) {
                file.file().set_modified(time.into()).unwrap();
            }
        }
    }

    fn edit(&mut self, session: usize, file: usize, content: usize) -> Option<String> {
        let tree = self.sessions[session].tree;
        let before = self.model.trees[tree].disk[file];
        if before == content {
            return None;
        }
        self.write(tree, file, content);
        let input = json!({
            "file_path": self.roots[tree].join(FILES[file]), "old_string": format!("result_{before}"),
            "new_string": format!("result_{content}"), "replace_all": false,
        });
        // Every other story is of a client that records the whole text.
        let is_whole = self.seed % 2 == 1;
        let original = is_whole.then(|| text(before));
        let result = json!({
            "filePath": input["file_path"], "oldString": input["old_string"], "newString": input["new_string"],
            "originalFile": original, "structuredPatch": [], "replaceAll": false,
        });
        self.call(session, "Edit", &input, "The file has been updated successfully.", false, Some(result));
        let clock = self.clock;
        self.sessions[session].span.as_mut().unwrap().edit(file, clock, (before, content), is_whole);
        Some(format!("{session} writes {content} into {}", FILES[file]))
    }

    fn run_tests(&mut self, session: usize, tested: Tested, is_green: bool) -> Option<String> {
        let command = match tested.folder() {
            "" => "pytest".to_owned(),
            folder => format!("cd {folder} && pytest"),
        };
        let result = match is_green {
            true => "===== 3 passed in 0.01s =====",
            false => "Exit code 1\n===== 1 failed in 0.01s =====",
        };
        self.call(session, "Bash", &json!({ "command": command }), result, !is_green, None);
        let clock = self.clock;
        self.sessions[session].span.as_mut().unwrap().run(tested, clock, is_green);
        Some(format!("{session} runs `{command}`: {}", if is_green { "green" } else { "red" }))
    }

    /// A command of git, by an agent or by a person. `None` if git would refuse it now.
    fn use_git(&mut self, tree: usize, agent: Option<usize>, file: usize, which: usize) -> Option<String> {
        let Tree { disk, branch, .. } = self.model.trees[tree];
        let head = self.model.head(tree);
        let commits = &self.model.branches[branch];
        let is_clean = disk == head;
        let mut after = disk;
        let command = match which {
            0 if !is_clean => {
                self.model.branches.get_mut(branch).unwrap().push(disk);
                "git commit --quiet --all --message work".to_owned()
            }
            1 if disk[file] != head[file] => {
                after[file] = head[file];
                format!("git checkout -- {}", FILES[file])
            }
            2 if !is_clean => {
                self.model.stashes.push((disk, head));
                after = head;
                "git stash".to_owned()
            }
            3 => {
                let (stashed, from) = *self.model.stashes.last()?;
                let files: Vec<usize> =
                    (0..FILES.len()).filter(|file| stashed[*file] != from[*file]).collect();
                if files.iter().any(|file| disk[*file] != from[*file] || head[*file] != from[*file]) {
                    return None;
                }
                self.model.stashes.pop();
                for file in files {
                    after[file] = stashed[file];
                }
                "git stash pop".to_owned()
            }
            4 if is_clean && commits.len() > 1 => {
                after = commits[commits.len() - 2];
                if after == head {
                    return None;
                }
                self.model.branches.get_mut(branch).unwrap().push(after);
                "git revert --no-edit HEAD".to_owned()
            }
            _ => return None,
        };
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        let mut git = self.world.sandbox.git_command(&self.roots[tree], &words);
        if which == 2 {
            // Git keeps two equal stashes of one second as one, so that each needs a time of its own.
            git.env("GIT_COMMITTER_DATE", format!("{} +0000", self.time(self.clock).as_second()));
        }
        let answer = git.answer();
        assert_eq!(answer.code, Some(0), "{}\n`{command}`: {}", self.heading(), answer.stderr);
        self.settle(tree, after);
        let clock = self.clock;
        let Some(session) = agent else { return Some(format!("a person runs `{command}`")) };
        self.call(session, "Bash", &json!({ "command": command }), "", false, None);
        let span = self.sessions[session].span.as_mut().unwrap();
        // A stash, what comes back of it, and a revert.
        if which >= 2 {
            span.moved(clock);
        }
        match which {
            1 => span.check_out(file, clock),
            2 => span.command(Some(true)),
            3 => span.command(Some(false)),
            _ => span.command(None),
        }
        Some(format!("{session} runs `{command}`"))
    }

    /// Nobody but the story knows whose change this is, so that it takes place while no turn is open.
    fn switch(&mut self, tree: usize) -> Option<String> {
        if self.sessions.iter().any(|session| session.tree == tree && session.is_open()) {
            return None;
        }
        let Tree { disk, branch, .. } = self.model.trees[tree];
        if disk != self.model.head(tree) {
            self.use_git(tree, None, 0, 0);
        }
        let to = BRANCHES[tree].into_iter().find(|other| *other != branch).unwrap();
        self.world.sandbox.git(&self.roots[tree], &["switch", "--quiet", to]);
        self.model.trees[tree].branch = to;
        // What the last turn committed is elsewhere now, and `check` would speak of that.
        self.last_seen[tree] = None;
        let head = self.model.head(tree);
        self.settle(tree, head);
        Some(format!("a person commits everything and switches to {to}"))
    }

    /// A person runs the tests through `prove`.
    fn prove(&mut self, tree: usize, tested: Tested) -> Option<String> {
        let folder = self.roots[tree].join(tested.folder());
        match &self.world.program {
            Some(_) => {
                let mut command = self.checkstone(tree, &["prove", "--", "pytest"]);
                let bin = self.world.sandbox.path("bin");
                let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
                let answer = command.current_dir(&folder).env("PATH", path).answer_to("");
                assert_eq!(answer.code, Some(0), "{}{answer}", self.heading());
            }
            None => {
                let (began, ended) = (self.now(), self.now() + SignedDuration::from_secs(1));
                let run = ProvingRun {
                    command: "pytest",
                    cwd: &folder,
                    began,
                    ended,
                    shown: Default::default(),
                    printed: None,
                };
                self.place(tree).prove(&mut self.journal.borrow_mut(), &run).unwrap();
            }
        }
        self.model.prove(tree, tested);
        Some(format!("a person proves {tested:?}"))
    }

    fn prompt(&mut self, session: usize, what: &str) -> Option<String> {
        let is_judged = self.sessions[session].span.as_ref().is_some_and(|span| span.is_judged);
        if self.sessions[session].is_open() {
            // The story's calls lie in the past: after a hold the hook would take them for results that came late.
            if self.world.program.is_some() && is_judged {
                return None;
            }
            let text = json!([{ "type": "text", "text": "[Request interrupted by user]" }]);
            let key = self.sessions[session].turn_key();
            let message = json!({ "role": "user", "content": text });
            self.append(session, "user", json!({ "message": message, "promptId": key }));
        }
        self.sessions[session].turns += 1;
        let key = self.sessions[session].turn_key();
        let message = json!({ "role": "user", "content": "Go on" });
        let mut prompt = json!({ "message": message, "promptSource": "typed", "promptId": key });
        if self.world.program.is_some() {
            // The hook looks at the clock, and the client writes the prompt down when it calls it.
            prompt["timestamp"] = json!(now().to_string());
        }
        self.append(session, "user", prompt);
        let tree = self.sessions[session].tree;
        match &self.world.program {
            Some(_) => drop(self.hook(session, "UserPromptSubmit")),
            None => {
                let event = self.event(session);
                let pending = changes::start_in(self.repositories[tree].clone(), &self.settings.git).unwrap();
                let baseline = serde_json::to_vec(&pending.baseline(self.now()).unwrap()).unwrap();
                self.journal
                    .borrow_mut()
                    .write(|writing| {
                        let seen = writing.see_session(&event.seen(Some(&self.roots[tree])), event.now)?;
                        writing.open_turn(&NewTurn {
                            session: seen.id,
                            key: Some(&key),
                            opened_at: event.now,
                            prompt: "Go on",
                            baseline: Some(&baseline),
                        })
                    })
                    .unwrap();
            }
        }
        self.last_seen[tree] = Some(session);
        let (disk, head) = (self.model.trees[tree].disk, self.model.head(tree));
        let unjudged = self.sessions[session].span.take().filter(|span| !span.is_judged);
        let mut span = unjudged.unwrap_or_else(|| Span::new(disk, head));
        (span.is_open, span.was_held) = (true, false);
        self.sessions[session].span = Some(span);
        Some(format!("{session} {what}"))
    }

    /// The agent wants to stop. If it is held, it may go on.
    fn stop(&mut self, session: usize, goes_on: bool) -> Option<String> {
        let said = json!([{ "type": "text", "text": format!("Done at {}.", self.clock) }]);
        let message = json!({ "id": "m", "role": "assistant", "stop_reason": "end_turn", "content": said });
        self.append(session, "assistant", json!({ "message": message }));
        let tree = self.sessions[session].tree;
        let span = self.sessions[session].span.clone().unwrap();
        let expected = self.model.judge(tree, &span);
        let (decision, message) = match &self.world.program {
            Some(_) => self.hook(session, "Stop"),
            None => self.judge(session, &expected),
        };
        let holds = expected.is_open && !span.was_held;
        assert_eq!(decision == Decision::Hold, holds, "{}{decision:?} {message}", self.heading());
        self.model.record(&expected);
        self.last_seen[tree] = Some(session);
        if holds {
            let key = self.sessions[session].turn_key();
            let message = json!({ "role": "user", "content": format!("Stop hook feedback:\n{message}") });
            self.append(session, "user", json!({ "message": message, "isMeta": true, "promptId": key }));
        }
        let span = self.sessions[session].span.as_mut().unwrap();
        (span.is_judged, span.was_held) = (true, span.was_held || holds);
        span.is_open = holds && goes_on;
        Some(format!("{session} stops: {}", decision.name()))
    }

    /// The library judges, and says of each file what the model says.
    fn judge(&self, session: usize, expected: &Judgement) -> (Decision, String) {
        let root = &self.roots[self.sessions[session].tree];
        let judged = match stop::judge(self.event(session), Workplace::find(root, None), Purpose::Verdict) {
            Stop::Judged(judged) => judged,
            settled @ Stop::Settled { .. } => panic!("{}{settled:?}", self.heading()),
        };
        let of = |is_proven: bool| -> BTreeSet<String> {
            let standings = judged.turn.verdict.standings.iter();
            let is_it = |proof: &ContentProof| matches!(proof, ContentProof::Proven(_)) == is_proven;
            standings.filter(|one| is_it(&one.proof)).map(|one| one.path.clone()).collect()
        };
        let names = |versions: &BTreeSet<(usize, usize)>| -> BTreeSet<String> {
            versions.iter().map(|(file, _)| FILES[*file].to_owned()).collect()
        };
        let expected = (names(&expected.proven), names(&expected.unproven));
        assert_eq!((of(true), of(false)), expected, "{}the stop proves, and leaves", self.heading());
        match judged.conclude(Delivery::Sure) {
            Answer::Pass => (Decision::Pass, String::new()),
            Answer::Notify { to_person } => (Decision::Notify, to_person),
            Answer::Hold { to_agent, .. } => (Decision::Hold, to_agent),
            other => panic!("{}{other:?}", self.heading()),
        }
    }

    /// Whoever is asked says what the model says.
    fn compare(&self, tree: usize, is_asked_everything: bool) {
        // Processes take longer to ask.
        let is_asked = self.world.program.is_none() || is_asked_everything;
        for tree in (0..TREES.len()).filter(|_| is_asked) {
            let live = self.live_unproven(tree);
            assert_eq!(live, self.model.live_unproven(tree), "{}unproven in {tree}", self.heading());
        }
        if !is_asked_everything {
            return;
        }
        let missing = self.verify(tree, &VerifiedPart::Worktree);
        assert_eq!(missing, self.model.missing_in_worktree(tree), "{}verify", self.heading());
        if let Some(expected) = self.model.missing_in_commit(tree) {
            let missing = self.verify(tree, &VerifiedPart::Commit("HEAD".to_owned()));
            assert_eq!(missing, expected, "{}verify HEAD", self.heading());
            let missing = self.verify(tree, &VerifiedPart::Range(format!("{}..HEAD", self.world.base)));
            assert_eq!(missing, self.model.missing_in_branch(tree), "{}verify BASE..", self.heading());
        }
        if let Some(session) = self.last_seen[tree] {
            let expected = self.model.judge(tree, self.sessions[session].span.as_ref().unwrap());
            let (is_held, told) = self.check(tree, session);
            assert_eq!(is_held, expected.is_open, "{}check says {told}", self.heading());
            if self.world.program.is_some() {
                let line = self.status_line(session);
                let unproven = match self.model.live_unproven(tree).len() {
                    0 => None,
                    1 => Some("checkstone: unproven: 1 file\n".to_owned()),
                    files => Some(format!("checkstone: unproven: {files} files\n")),
                };
                let is_said = line.starts_with("checkstone: unproven");
                assert_eq!(is_said.then_some(line), unproven, "{}", self.heading());
            }
        }
    }

    fn live_unproven(&self, tree: usize) -> BTreeSet<String> {
        match &self.world.program {
            Some(_) => paths(&self.printed(tree, &["status", "--json"])["unproven"]),
            None => {
                let repository = &self.repositories[tree];
                let journal = &mut self.journal.borrow_mut();
                let live = stop::live_unproven(journal, repository, &self.policy).unwrap();
                live.iter().map(|standing| standing.version.path.to_string()).collect()
            }
        }
    }

    fn verify(&self, tree: usize, part: &VerifiedPart) -> BTreeSet<String> {
        match (&self.world.program, part) {
            (None, part) => {
                let journal = &mut self.journal.borrow_mut();
                let verified = self.place(tree).verify(Some(journal), part).unwrap();
                verified.missing.into_iter().map(|missing| missing.path).collect()
            }
            (Some(_), VerifiedPart::Commit(name) | VerifiedPart::Range(name)) => {
                paths(&self.printed(tree, &["verify", "--json", name])["missing"])
            }
            (Some(_), _) => paths(&self.printed(tree, &["verify", "--json"])["missing"]),
        }
    }

    /// Whether `check` holds, and what it says.
    fn check(&self, tree: usize, session: usize) -> (bool, String) {
        if self.world.program.is_some() {
            let verdict = self.printed(tree, &["check", "--json"]);
            return (verdict["verdict"] == "hold", verdict.to_string());
        }
        let mut event = self.event(session);
        (event.payload.last_text, event.is_dry_run) = (None, true);
        let mut journal = self.journal.borrow_mut();
        let span = stop::unjudged_turns(&mut journal, &event);
        let reading = stop::read_turns(&event, span.as_ref());
        let workplace = Workplace::find(&self.roots[tree], None);
        let texts = workplace.found.policy.clone().unwrap();
        let case = StopCase {
            policy: texts.load().unwrap(),
            texts,
            asked_by: AskedBy::Person,
            is_gated: true,
            repository: workplace.repository.clone(),
            root: self.roots[tree].clone(),
            span,
            folder: None,
            beside: None,
        };
        let pending = changes::start(&self.roots[tree], &self.settings.git);
        let judged = case.judge_everywhere(&mut event, Some(&mut journal), &workplace, pending, reading);
        let (judged, others) = judged.unwrap();
        assert!(others.is_empty(), "{}", self.heading());
        (judged.verdict.decision == Decision::Hold, format!("{:?}", judged.verdict))
    }

    fn status_line(&self, session: usize) -> String {
        let Session { id, tree, .. } = &self.sessions[session];
        let payload = json!({ "session_id": id, "workspace": { "current_dir": self.roots[*tree] } });
        let line = self.checkstone(*tree, &["statusline"]).answer_to(payload.to_string()).stdout;
        // Colours.
        let mut plain = String::new();
        let mut rest = line.as_str();
        while let Some((before, after)) = rest.split_once('\u{1b}') {
            plain.push_str(before);
            rest = after.split_once('m').map_or("", |(_, rest)| rest);
        }
        plain + rest
    }

    fn place(&self, tree: usize) -> VerifiedPlace<'_> {
        VerifiedPlace { repository: &self.repositories[tree], policy: &self.policy, git: &self.settings.git }
    }

    fn checkstone(&self, tree: usize, arguments: &[&str]) -> Command {
        let program = self.world.program.as_ref().unwrap();
        let mut command = self.world.sandbox.prepared(Command::new(program));
        command.args(arguments).current_dir(&self.roots[tree]);
        command
    }

    fn printed(&self, tree: usize, arguments: &[&str]) -> Value {
        let answer = self.checkstone(tree, arguments).answer_to("");
        serde_json::from_str(&answer.stdout).unwrap_or_else(|_| panic!("{}{answer}", self.heading()))
    }

    /// Calls the hook as the client does.
    fn hook(&self, session: usize, event: &str) -> (Decision, String) {
        let Session { id, tree, transcript, .. } = &self.sessions[session];
        let payload = json!({
            "session_id": id, "transcript_path": transcript, "cwd": self.roots[*tree], "hook_event_name": event,
            "prompt_id": self.sessions[session].turn_key(), "permission_mode": "bypassPermissions",
            "prompt": "Go on", "stop_hook_active": false, "background_tasks": [], "session_crons": [],
            "last_assistant_message": format!("Done at {}.", self.clock),
        });
        let answer = self.checkstone(*tree, &["hook", "claude"]).answer_to(payload.to_string());
        assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""), "{}", self.heading());
        if answer.stdout.is_empty() {
            return (Decision::Pass, String::new());
        }
        let document: Value = serde_json::from_str(&answer.stdout).unwrap();
        match document["reason"].as_str() {
            Some(reason) => (Decision::Hold, reason.to_owned()),
            None => (Decision::Notify, document["systemMessage"].to_string()),
        }
    }

    fn event(&self, session: usize) -> ClientEvent {
        let Session { id, tree, transcript, .. } = &self.sessions[session];
        let payload = Payload {
            transcript: Some(transcript.clone()),
            cwd: Some(self.roots[*tree].clone()),
            turn: Some(self.sessions[session].turn_key()),
            last_text: Some(format!("Done at {}.", self.clock)),
            ..Payload::new(Agent::Claude, Event::Stop)
        };
        ClientEvent {
            payload,
            session: id.clone(),
            cwd: self.roots[*tree].clone(),
            settings: self.settings.clone(),
            now: self.now(),
            stopwatch: Stopwatch::start(),
            is_dry_run: false,
        }
    }

    fn call(
        &mut self,
        session: usize,
        name: &str,
        input: &Value,
        result: &str,
        is_error: bool,
        details: Option<Value>,
    ) {
        let id = format!("toolu_{}", self.sessions[session].records);
        let content = json!([{ "type": "tool_use", "id": id, "name": name, "input": input }]);
        let message =
            json!({ "id": "m", "role": "assistant", "stop_reason": "tool_use", "content": content });
        self.append(session, "assistant", json!({ "message": message }));
        let result =
            json!([{ "type": "tool_result", "tool_use_id": id, "content": result, "is_error": is_error }]);
        let key = self.sessions[session].turn_key();
        let message = json!({ "role": "user", "content": result });
        let mut fields = json!({ "message": message, "promptId": key });
        if let Some(details) = details {
            fields["toolUseResult"] = details;
        }
        self.append(session, "user", fields);
    }

    fn append(&mut self, session: usize, kind: &str, fields: Value) {
        let now = self.now();
        let session = &mut self.sessions[session];
        session.records += 1;
        let mut record = json!({
            "parentUuid": null, "isSidechain": false, "type": kind, "uuid": format!("u{}", session.records),
            "timestamp": now.to_string(), "userType": "external", "entrypoint": "cli",
            "cwd": self.roots[session.tree], "sessionId": session.id, "version": "2.1.325", "gitBranch": "main",
        });
        record.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let mut file =
            fs_err::OpenOptions::new().append(true).create(true).open(&session.transcript).unwrap();
        file.write_all(format!("{record}\n").as_bytes()).unwrap();
    }

    /// What a failure begins with.
    fn heading(&self) -> String {
        format!("seed {}, after {:#?}\n", self.seed, self.told)
    }
}

/// The paths of a list of files in JSON.
fn paths(list: &Value) -> BTreeSet<String> {
    list.as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect()
}
