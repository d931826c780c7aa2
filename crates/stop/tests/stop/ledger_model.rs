//! Random edits, reverts, runs, commits, branch switches and sessions, compared step by step with a simple model of what is
//! proven. The model is the definition in docs/gate.md.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::PathBuf;

use agents::{Event, Payload};
use changes::{GitProgram, Repository};
use jiff::{SignedDuration, Timestamp};
use journal::{Journal, NewTurn, OpenFor};
use sandbox::Sandbox;
use serde_json::{Value, json};
use stop::{
    ClientEvent, Delivery, ProvingRun, Purpose, Stop, StopSettings, Stopwatch, VerifiedPart, VerifiedPlace,
    Workplace,
};
use transcript::Agent;

const FILES: [&str; 3] = ["one.py", "two.py", "three.py"];
const CONTENTS: usize = 4;
const SESSIONS: usize = 2;
const STEPS: usize = 24;
const POLICY: &str = "presets = [\"python\"]\n";

/// How many sequences are played; the soak asks for more.
fn sequences() -> u64 {
    std::env::var("CHECKSTONE_SOAK_LEDGERS").ok().and_then(|text| text.parse().ok()).unwrap_or(12)
}

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

type Version = (usize, usize);

/// What is proven, in a few lines.
#[derive(Default)]
struct Model {
    proven: BTreeSet<Version>,
    unproven: BTreeSet<Version>,
    /// The content and the time of each file on disk.
    disk: [(usize, usize); FILES.len()],
    branches: BTreeMap<&'static str, [usize; FILES.len()]>,
}

/// The turn of a session that is open.
#[derive(Clone, Default)]
struct OpenTurn {
    began_with: [usize; FILES.len()],
    /// When the turn edited a file last.
    edits: BTreeMap<usize, usize>,
    /// Time and colour of its test runs.
    runs: Vec<(usize, bool)>,
}

impl Model {
    /// What a stop of the turn makes of the contents that lie there.
    fn stop(&mut self, turn: &OpenTurn) {
        let is_its = |file: usize| !turn.runs.is_empty() || turn.edits.contains_key(&file);
        let now: Vec<Version> = self.disk.iter().map(|(content, _)| *content).enumerate().collect();
        let changed: Vec<Version> = now
            .iter()
            .copied()
            .filter(|(file, content)| *content != turn.began_with[*file] && is_its(*file))
            .collect();
        let kept: Vec<Version> =
            now.iter().copied().filter(|one| !changed.contains(one) && self.unproven.contains(one)).collect();
        let last_red = turn.runs.last().filter(|(_, is_green)| !is_green).map(|(at, _)| *at);
        let edited_after = |file: usize, at: usize| turn.edits.get(&file).is_some_and(|edit| *edit > at);
        let is_red = last_red.is_some_and(|at| {
            !changed.is_empty() && changed.iter().all(|(file, _)| !edited_after(*file, at))
        });
        let is_covered = |files: &[Version]| {
            let is_fresh = |at: usize| {
                files.iter().all(|(file, _)| !edited_after(*file, at) && self.disk[*file].1 <= at)
            };
            turn.runs.iter().any(|(at, is_green)| *is_green && is_fresh(*at))
        };
        let open: Vec<Version> = changed.iter().copied().filter(|one| !self.proven.contains(one)).collect();
        let (open_proven, kept_proven) = (is_covered(&open), is_covered(&kept) && last_red.is_none());
        if is_red {
            for one in changed {
                self.proven.remove(&one);
                self.unproven.insert(one);
            }
        } else {
            for one in open {
                self.stand(one, open_proven);
            }
        }
        for one in kept {
            self.stand(one, kept_proven);
        }
    }

    fn stand(&mut self, one: Version, is_proven: bool) {
        if is_proven {
            self.unproven.remove(&one);
            self.proven.insert(one);
        } else {
            self.unproven.insert(one);
        }
    }

    fn names(files: impl Iterator<Item = usize>) -> BTreeSet<String> {
        files.map(|file| FILES[file].to_owned()).collect()
    }

    fn live_unproven(&self) -> BTreeSet<String> {
        let files = self.disk.iter().enumerate();
        Self::names(files.filter(|(file, now)| self.unproven.contains(&(*file, now.0))).map(|(file, _)| file))
    }

    /// What is not committed and not proven.
    fn missing(&self, branch: &str) -> BTreeSet<String> {
        let committed = self.branches[branch];
        let is_missing = |(file, now): &(usize, &(usize, usize))| {
            now.0 != committed[*file] && !self.proven.contains(&(*file, now.0))
        };
        Self::names(self.disk.iter().enumerate().filter(is_missing).map(|(file, _)| file))
    }
}

/// A session of Claude Code, written as it writes.
struct Session {
    id: String,
    transcript: PathBuf,
    turns: usize,
    records: usize,
    open: Option<OpenTurn>,
}

struct Story {
    sandbox: Sandbox,
    root: PathBuf,
    repository: Repository,
    settings: StopSettings,
    began: Timestamp,
    /// Steps of ten seconds.
    clock: usize,
    branch: &'static str,
    sessions: Vec<Session>,
    model: Model,
    told: Vec<String>,
}

impl Story {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let root = sandbox.path("repository");
        for file in FILES {
            sandbox.write(root.join(file), text(0));
        }
        sandbox.write(root.join("tests/test_all.py"), "def test_all():\n    assert True\n");
        sandbox.write(root.join("checkstone.toml"), POLICY);
        sandbox.git(&root, &["init", "--quiet", "--initial-branch=main"]);
        sandbox.git(&root, &["add", "--all"]);
        sandbox.git(&root, &["commit", "--quiet", "--message", "begin"]);
        sandbox.git(&root, &["branch", "other"]);
        let repository = Repository::discover(&root).unwrap();
        let session = |number: usize| Session {
            id: format!("session-{number}"),
            transcript: sandbox.path(format!("{number}.jsonl")),
            turns: 0,
            records: 0,
            open: None,
        };
        let sessions = (0..SESSIONS).map(session).collect();
        let (state, git) = (sandbox.path("state"), GitProgram::in_path(&std::env::var_os("PATH").unwrap()));
        let branches = BTreeMap::from([("main", [0; FILES.len()]), ("other", [0; FILES.len()])]);
        Self {
            root: repository.root.clone(),
            repository,
            settings: StopSettings { state, user_file: None, home: None, git, slug: None },
            began: Timestamp::now(),
            clock: 0,
            branch: "main",
            sessions,
            model: Model { branches, ..Model::default() },
            told: Vec::new(),
            sandbox,
        }
    }

    fn now(&self) -> Timestamp {
        self.began + SignedDuration::from_secs(10 * self.clock as i64)
    }

    /// Writes a file, by whomever; its time is the story's.
    fn write(&mut self, file: usize, content: usize) {
        let path = self.sandbox.write(self.root.join(FILES[file]), text(content));
        self.date(&path);
        self.model.disk[file] = (content, self.clock);
    }

    fn date(&self, path: &std::path::Path) {
        let file = fs_err::OpenOptions::new().write(true).open(path).unwrap();
        file.file().set_modified(self.now().into()).unwrap();
    }

    fn append(&mut self, session: usize, kind: &str, fields: Value) {
        let (now, cwd) = (self.now(), self.root.clone());
        let session = &mut self.sessions[session];
        session.records += 1;
        let mut record = json!({
            "parentUuid": null, "isSidechain": false, "type": kind, "uuid": format!("u{}", session.records),
            "timestamp": now.to_string(), "userType": "external", "entrypoint": "cli", "cwd": cwd,
            "sessionId": session.id, "version": "2.1.325", "gitBranch": "main",
        });
        record.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let mut file =
            fs_err::OpenOptions::new().append(true).create(true).open(&session.transcript).unwrap();
        file.write_all(format!("{record}\n").as_bytes()).unwrap();
    }

    fn call(&mut self, session: usize, name: &str, input: Value, result: &str, is_error: bool) {
        let id = format!("toolu_{}", self.sessions[session].records);
        let content = json!([{ "type": "tool_use", "id": id, "name": name, "input": input }]);
        let message =
            json!({ "id": "m", "role": "assistant", "stop_reason": "tool_use", "content": content });
        self.append(session, "assistant", json!({ "message": message }));
        let result =
            json!([{ "type": "tool_result", "tool_use_id": id, "content": result, "is_error": is_error }]);
        let turn = self.turn_key(session);
        let message = json!({ "role": "user", "content": result });
        self.append(session, "user", json!({ "message": message, "promptId": turn }));
    }

    fn turn_key(&self, session: usize) -> String {
        format!("{}-turn-{}", self.sessions[session].id, self.sessions[session].turns)
    }

    fn event(&self, session: usize, event: Event) -> ClientEvent {
        let Session { id, transcript, .. } = &self.sessions[session];
        let payload = Payload {
            transcript: Some(transcript.clone()),
            cwd: Some(self.root.clone()),
            turn: Some(self.turn_key(session)),
            last_text: Some(format!("Done at {}.", self.clock)),
            ..Payload::new(Agent::Claude, event)
        };
        ClientEvent {
            payload,
            session: id.clone(),
            cwd: self.root.clone(),
            settings: self.settings.clone(),
            now: self.now(),
            stopwatch: Stopwatch::start(),
            is_dry_run: false,
        }
    }

    fn journal(&self) -> Journal {
        Journal::open(&self.settings.state, OpenFor::Command).unwrap()
    }

    fn prompt(&mut self, session: usize) {
        self.sessions[session].turns += 1;
        let key = self.turn_key(session);
        let message = json!({ "role": "user", "content": "Go on" });
        self.append(session, "user", json!({ "message": message, "promptSource": "typed", "promptId": key }));
        let event = self.event(session, Event::Stop);
        let pending = changes::start_in(self.repository.clone(), &self.settings.git).unwrap();
        let baseline = serde_json::to_vec(&pending.baseline(self.now()).unwrap()).unwrap();
        self.journal()
            .write(|writing| {
                let seen = writing.see_session(&event.seen(Some(&self.root)), event.now)?;
                writing.open_turn(&NewTurn {
                    session: seen.id,
                    key: Some(&key),
                    opened_at: event.now,
                    prompt: "Go on",
                    baseline: Some(&baseline),
                })
            })
            .unwrap();
        let began_with = self.model.disk.map(|(content, _)| content);
        self.sessions[session].open = Some(OpenTurn { began_with, ..OpenTurn::default() });
    }

    fn stop(&mut self, session: usize) {
        let said = json!([{ "type": "text", "text": format!("Done at {}.", self.clock) }]);
        let message = json!({ "id": "m", "role": "assistant", "stop_reason": "end_turn", "content": said });
        self.append(session, "assistant", json!({ "message": message }));
        let event = self.event(session, Event::Stop);
        let workplace = Workplace::find(&self.root, None);
        match stop::judge(event, workplace, Purpose::Verdict) {
            Stop::Judged(judged) => drop(judged.conclude(Delivery::Sure)),
            settled @ Stop::Settled { .. } => panic!("{settled:?}"),
        }
        let turn = self.sessions[session].open.take().unwrap();
        self.model.stop(&turn);
    }

    fn step(&mut self, numbers: &mut Numbers) {
        self.clock += 1;
        let session = numbers.below(SESSIONS);
        let (file, content) = (numbers.below(FILES.len()), numbers.below(CONTENTS));
        let is_idle = self.sessions.iter().all(|session| session.open.is_none());
        let deed = numbers.below(10);
        let told = match (deed, self.sessions[session].open.is_some()) {
            (0..=3, true) => {
                self.write(file, content);
                let clock = self.clock;
                let input = json!({
                    "file_path": self.root.join(FILES[file]), "old_string": format!("was_{clock}"),
                    "new_string": format!("is_{clock}"), "replace_all": false,
                });
                self.call(session, "Edit", input, "The file has been updated successfully.", false);
                let turn = self.sessions[session].open.as_mut().unwrap();
                turn.edits.insert(file, clock);
                format!("{session} writes {content} into {file}")
            }
            (4 | 5, true) => {
                let is_green = numbers.below(4) > 0;
                let (result, input) = match is_green {
                    true => ("===== 3 passed in 0.01s =====", json!({ "command": "pytest" })),
                    false => ("Exit code 1\n===== 1 failed in 0.01s =====", json!({ "command": "pytest" })),
                };
                self.call(session, "Bash", input, result, !is_green);
                let clock = self.clock;
                self.sessions[session].open.as_mut().unwrap().runs.push((clock, is_green));
                format!("{session} runs the tests: {is_green}")
            }
            (6 | 7, true) => {
                self.stop(session);
                format!("{session} stops")
            }
            (0..=6, false) => {
                self.prompt(session);
                format!("{session} is prompted")
            }
            // Nobody but the story knows whose these are, so that they take place while no turn is open.
            (8, _) if is_idle => {
                let branch = if self.branch == "main" { "other" } else { "main" };
                self.commit();
                self.sandbox.git(&self.root, &["switch", "--quiet", branch]);
                self.branch = branch;
                for (file, content) in self.model.branches[branch].into_iter().enumerate() {
                    self.model.disk[file].0 = content;
                }
                format!("everybody is on {branch}")
            }
            (8 | 7, _) if is_idle => {
                self.commit();
                "all is committed".to_owned()
            }
            (9, _) if is_idle => {
                let (began, ended) = (self.now(), self.now() + SignedDuration::from_secs(1));
                self.clock += 1;
                let policy = gate_policy();
                let place =
                    VerifiedPlace { repository: &self.repository, policy: &policy, git: &self.settings.git };
                let run = ProvingRun { command: "pytest", cwd: &self.root, began, ended };
                place.prove(&mut self.journal(), &run).unwrap();
                for (file, (content, _)) in self.model.disk.into_iter().enumerate() {
                    self.model.stand((file, content), true);
                }
                "a person runs the tests".to_owned()
            }
            _ => return,
        };
        self.told.push(told);
    }

    fn commit(&mut self) {
        self.sandbox.git(&self.root, &["commit", "--quiet", "--allow-empty", "--all", "--message", "work"]);
        self.model.branches.insert(self.branch, self.model.disk.map(|(content, _)| content));
    }

    /// Whoever is asked says what the model says.
    fn compare(&self, seed: u64) {
        let policy = gate_policy();
        let mut journal = self.journal();
        let live = stop::live_unproven(&mut journal, &self.repository, &policy).unwrap();
        let live: BTreeSet<String> = live.iter().map(|standing| standing.version.path.to_string()).collect();
        assert_eq!(live, self.model.live_unproven(), "seed {seed}: unproven after {:#?}", self.told);
        let place = VerifiedPlace { repository: &self.repository, policy: &policy, git: &self.settings.git };
        let verified = place.verify(Some(&mut journal), &VerifiedPart::Worktree).unwrap();
        let missing: BTreeSet<String> = verified.missing.into_iter().map(|missing| missing.path).collect();
        assert_eq!(missing, self.model.missing(self.branch), "seed {seed}: verify after {:#?}", self.told);
    }
}

fn gate_policy() -> gate::policy::Policy {
    crate::turns::policy(POLICY)
}

fn text(content: usize) -> String {
    format!("def work():\n    return result_{content}\n")
}

#[test]
fn what_is_proven_is_what_the_model_says() {
    let first: u64 =
        std::env::var("CHECKSTONE_LEDGER_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    for seed in first..first + sequences() {
        let mut numbers = Numbers(seed);
        let mut story = Story::new();
        for _ in 0..STEPS {
            story.step(&mut numbers);
            if story.sessions.iter().all(|session| session.open.is_none()) {
                story.compare(seed);
            }
        }
    }
}
