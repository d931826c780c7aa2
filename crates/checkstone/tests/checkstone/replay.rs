//! `checkstone replay`: every turn of every transcript, and a page that says the same as the JSON.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use agents::rehearsed_turn::{RehearsedTurn, Tests};
use sandbox::{RunToEnd as _, finish, redacted, shown_by_browser, wait_for};
use serde_json::{Value, json};
use transcript::Agent;

use crate::program::without_clients;
use crate::workplace::Workplace;

const SCHEMA: &str = "replay.schema.json";
const POLICY: &str = "presets = [\"rust\"]\n";

/// A transcript of Claude Code that is being written.
struct Session {
    lines: Vec<Value>,
    cwd: PathBuf,
    turn: String,
    seconds: i64,
}

impl Session {
    fn new(cwd: PathBuf) -> Self {
        Self { lines: Vec::new(), cwd, turn: String::new(), seconds: 0 }
    }

    fn push(&mut self, kind: &str, more: Value) -> &mut Self {
        self.seconds += 7;
        let at = jiff::Timestamp::from_second(1_793_000_000 + self.seconds).unwrap();
        let mut line = json!({
            "type": kind, "uuid": format!("u{}", self.lines.len()), "isSidechain": false, "sessionId": "s",
            "cwd": self.cwd, "timestamp": at.to_string(), "version": "2.1.325",
        });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.lines.push(line);
        self
    }

    fn prompt(&mut self, id: &str, text: &str) -> &mut Self {
        self.turn = id.to_owned();
        self.push("user", json!({ "promptId": id, "promptSource": "typed", "message": { "role": "user", "content": text } }))
    }

    fn call(&mut self, tool: &str, input: Value, output: &str) -> &mut Self {
        let id = format!("toolu_{}", self.lines.len());
        let call = json!([{ "type": "tool_use", "id": id, "name": tool, "input": input }]);
        self.push("assistant", json!({ "message": { "role": "assistant", "content": call } }));
        let result =
            json!([{ "type": "tool_result", "tool_use_id": id, "content": output, "is_error": false }]);
        let turn = self.turn.clone();
        self.push("user", json!({ "promptId": turn, "message": { "role": "user", "content": result }, "toolUseResult": {} }))
    }

    fn edit(&mut self, path: &str) -> &mut Self {
        let file = self.cwd.join(path);
        self.call("Read", json!({ "file_path": file }), "text").call(
            "Edit",
            json!({ "file_path": file }),
            "ok",
        )
    }

    fn bash(&mut self, command: &str, output: &str) -> &mut Self {
        self.call("Bash", json!({ "command": command }), output)
    }

    fn said(&mut self, text: &str) -> &mut Self {
        self.push(
            "assistant",
            json!({ "message": { "role": "assistant", "content": [{ "type": "text", "text": text }] } }),
        )
    }

    fn held(&mut self) -> &mut Self {
        let text = "Stop hook feedback:\n[checkstone] Context-aware checkpoint\n\n1. Run the tests";
        let turn = self.turn.clone();
        self.push(
            "user",
            json!({ "promptId": turn, "isMeta": true, "message": { "role": "user", "content": text } }),
        )
    }

    fn write(&self, path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text: String = self.lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(path, text).unwrap();
    }
}

const PASSED: &str = "test result: ok. 3 passed; 0 failed; 0 ignored";
const HOSTILE: &str = "Fix </script><script>document.title='owned'</script> \"'><img src=x onerror=alert(1)> \u{1b}[2Jand\u{202e}it";

/// A folder with two sessions: five turns, of which two would have been held, one of them then as well.
fn recorded(workplace: &Workplace) -> PathBuf {
    let folder = workplace.path("recorded");
    let mut first = Session::new(workplace.repo());
    first.prompt("p1", HOSTILE).edit("src/lib.rs").said("Done.");
    first.prompt("p2", "Test it").edit("src/lib.rs").bash("cargo test", PASSED).said("Passed.");
    first.prompt("p3", "What does it do?").said("It adds.");
    first
        .prompt("p4", "Once more")
        .edit("src/lib.rs")
        .said("Done.")
        .held()
        .bash("cargo test", PASSED)
        .said("Now.");
    first.write(&folder.join("project/11111111-2222-4333-8444-555555555555.jsonl"));
    let mut elsewhere = Session::new(PathBuf::from("/nowhere/at/all"));
    elsewhere.prompt("q1", "Edit").edit("src/lib.rs").said("Done.");
    elsewhere.write(&folder.join("other/66666666-2222-4333-8444-555555555555.jsonl"));
    std::fs::write(folder.join("settings.json"), "{\"theme\": \"dark\"}").unwrap();
    folder
}

#[test]
fn every_turn_is_judged_by_the_policy_of_its_repository() {
    let workplace = Workplace::new(Some(POLICY));
    let folder = recorded(&workplace);
    let report = workplace.json(&["replay", folder.to_str().unwrap(), "--json"], SCHEMA);
    let expected = json!({ "total": 5, "hold": 2, "notify": 1, "pass": 1, "not_judged": 1, "held": 1, "then_tested": 1 });
    assert_eq!(report["turns"], expected, "{report:#}");
    assert_eq!(report["held_then"], json!({ "turns": 1, "hold_now": 1 }));
    assert_eq!(
        report["actions"],
        json!([{ "action": "rust-tests", "required": 2, "satisfied": 1, "waived": 0 }])
    );
    assert_eq!(report["rules"], json!([{ "rule": "missing-action", "hold": 2, "notify": 0 }]));
    assert_eq!(report["not_judged"], json!([{ "reason": "its repository has no policy", "turns": 1 }]));
    assert_eq!(report["totals"]["others"], 1);
    let hold = &report["holds"][1];
    assert_eq!((&hold["prompt"], &hold["held_then"]), (&json!("Once more"), &json!(true)));
    assert_eq!((&hold["then_tested"], &hold["project"]), (&json!(true), &json!(workplace.repo())));
    let others: Vec<&str> =
        report["others"].as_array().unwrap().iter().map(|turn| turn["verdict"].as_str().unwrap()).collect();
    assert_eq!(others, ["notify", "pass"]);
    let projects: Vec<(&Value, &Value)> = report["projects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (&one["project"], &one["turns"]["total"]))
        .collect();
    let repository = json!(workplace.repo());
    assert_eq!(projects, [(&repository, &json!(4)), (&json!("/nowhere/at/all"), &json!(1))]);
    assert_eq!(hold["verdict"]["scope"], "transcript");
    assert_eq!(hold["verdict"]["changed"][0]["files"], json!(["src/lib.rs"]));
}

#[test]
fn a_policy_file_judges_all_sessions() {
    let workplace = Workplace::new(None);
    let folder = recorded(&workplace);
    let policy = workplace.path("strict.toml");
    std::fs::write(&policy, POLICY).unwrap();
    let arguments = ["replay", folder.to_str().unwrap(), "--policy", policy.to_str().unwrap(), "--json"];
    let report = workplace.json(&arguments, SCHEMA);
    assert_eq!((&report["turns"]["hold"], &report["turns"]["not_judged"]), (&json!(3), &json!(0)));
    // However many threads: the same report.
    for threads in ["1", "8"] {
        let again = workplace.json(&[&arguments[..], &["--threads", threads]].concat(), SCHEMA);
        assert_eq!(again, report, "{threads} threads");
    }
    std::fs::write(&policy, "presets = [\"rusty\"]\n").unwrap();
    let shown = workplace.shown(&arguments);
    insta::assert_snapshot!(redacted(&shown), @"
    exit code: 2
    --- stdout
    --- stderr
    error: the policy has 1 mistake:
    strict.toml:1:12: unknown preset `rusty`; did you mean `rust`?
    ");
}

/// A checkout need not be a repository, and its policy counts if no other is given.
#[test]
fn a_checkout_says_what_its_words_mean_and_which_policy_holds() {
    let workplace = Workplace::new(None);
    let folder = workplace.path("recorded");
    let mut session = Session::new(PathBuf::from("/nowhere/at/all"));
    session.prompt("p1", "Edit").edit("src/lib.rs").bash("just verify", "done").said("Done.");
    session.prompt("p2", "Edit").edit("src/lib.rs").said("Done.");
    session.write(&folder.join("other/66666666-2222-4333-8444-555555555555.jsonl"));
    let checkout = workplace.path("checkout");
    std::fs::create_dir(&checkout).unwrap();
    std::fs::write(checkout.join("Cargo.toml"), "[package]\nname = \"a\"\n").unwrap();
    std::fs::write(checkout.join("justfile"), "verify:\n    cargo test\n").unwrap();
    let (recorded, checkout) = (folder.to_str().unwrap(), checkout.to_str().unwrap());
    let policy = workplace.path("strict.toml");
    std::fs::write(&policy, POLICY).unwrap();
    let arguments = ["replay", recorded, "--repo", checkout, "--json", "--policy", policy.to_str().unwrap()];
    let counts = |report: &Value| (report["turns"]["hold"].clone(), report["turns"]["not_judged"].clone());
    let given = workplace.json(&arguments, SCHEMA);
    assert_eq!(counts(&given), (json!(1), json!(0)), "{given:#}");
    assert_eq!(given["holds"][0]["verdict"]["actions"][0]["say"], "Run `just verify`");
    assert_eq!(counts(&workplace.json(&arguments[..5], SCHEMA)), (json!(0), json!(2)));
    std::fs::copy(&policy, PathBuf::from(checkout).join("checkstone.toml")).unwrap();
    assert_eq!(counts(&workplace.json(&arguments[..5], SCHEMA)), (json!(1), json!(0)));
}

/// A script is known by its first line: of the file as it was written, or as it lies in the checkout.
#[test]
fn a_script_without_an_ending_is_a_script() {
    let workplace = Workplace::new(None);
    let folder = workplace.path("recorded");
    let mut session = Session::new(PathBuf::from("/nowhere/at/all"));
    let write = |text: &str| json!({ "file_path": "/nowhere/at/all/deploy", "content": text });
    session.prompt("p1", "Write it").call("Write", write("#!/bin/sh\nscp a b:\n"), "ok").said("Done.");
    session.prompt("p2", "Edit it").edit("deploy").said("Done.");
    session.prompt("p3", "Edit the other").edit("bin/build-all").said("Done.");
    session.prompt("p4", "Edit the list").edit("bin/hosts").said("Done.");
    session.write(&folder.join("other/66666666-2222-4333-8444-555555555555.jsonl"));
    let checkout = workplace.path("checkout");
    std::fs::create_dir_all(checkout.join("bin")).unwrap();
    std::fs::write(checkout.join("go.mod"), "module a\n").unwrap();
    std::fs::write(checkout.join("bin/build-all"), "#!/bin/bash\ngo build ./...\n").unwrap();
    std::fs::write(checkout.join("bin/hosts"), "a\nb\n").unwrap();
    std::fs::write(checkout.join("checkstone.toml"), "presets = [\"go\", \"shell\"]\n").unwrap();
    let arguments = ["replay", folder.to_str().unwrap(), "--repo", checkout.to_str().unwrap(), "--json"];
    let report = workplace.json(&arguments, SCHEMA);
    let holds = report["holds"].as_array().unwrap().iter();
    let held: Vec<&Value> = holds.map(|hold| &hold["verdict"]["changed"]).collect();
    let scripts = |file: &str| json!([{ "category": "shell scripts", "files": [file] }]);
    assert_eq!(held, [&scripts("deploy"), &scripts("deploy"), &scripts("bin/build-all")], "{report:#}");
}

/// A turn in `folder` after which the tests should have run, in the words of a client.
fn rehearsed(agent: Agent, tests: Tests, folder: &Path) -> String {
    let now = "2026-11-01T10:00:00.000Z".to_owned();
    RehearsedTurn { agent, tests, repository: folder, transcript: folder, now }.transcript()
}

/// The transcript of some clients does not name the folder; what was edited tells under which path the checkout lay then.
#[test]
fn a_session_that_names_no_folder_worked_in_the_given_checkout() {
    let workplace = Workplace::new(Some("presets = [\"python\"]\n"));
    workplace.write("tests/test_calc.py", "def test_one(): pass\n");
    workplace.write("app/calc.py", "x = 1\n");
    let (repo, folder) = (workplace.repo(), workplace.path("recorded"));
    let report = |file: &Path| {
        let arguments = ["replay", file.to_str().unwrap(), "--repo", repo.to_str().unwrap(), "--json"];
        workplace.json(&arguments, SCHEMA)
    };
    for agent in Agent::ALL.into_iter().filter(|agent| transcript::is_read(*agent)) {
        // Where the checkout is now, elsewhere with a file that it has, and elsewhere with a new one.
        for (root, place) in
            [(repo.clone(), ""), ("/nowhere/one".into(), "app"), ("/nowhere/two".into(), "tests")]
        {
            let file = folder.join(format!("{}{place}.jsonl", agent.name()));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&file, rehearsed(agent, Tests::NeverRan, &root.join(place))).unwrap();
            let report = report(&file);
            assert_eq!(
                (&report["turns"]["total"], &report["turns"]["hold"]),
                (&json!(1), &json!(1)),
                "{agent:?} {report:#}"
            );
            let changed = &report["holds"][0]["verdict"]["changed"][0]["files"][0];
            assert!(changed.as_str().unwrap().ends_with("calc.py"), "{agent:?} {changed}");
        }
    }
}

/// All sessions of a client are in one database: by its path, by that of a session, or found in its folder.
#[test]
fn the_sessions_of_a_database_are_judged() {
    let workplace = Workplace::new(Some("presets = [\"python\"]\n"));
    workplace.write("tests/test_calc.py", "def test_one(): pass\n");
    let folder = workplace.path("opencode");
    std::fs::create_dir(&folder).unwrap();
    let database = folder.join("opencode.db");
    let connection = rusqlite::Connection::open(&database).unwrap();
    let tables = "CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text, revert text, time_updated integer);
        CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text);
        CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, data text);";
    connection.execute_batch(tables).unwrap();
    for (session, parent, tests) in [
        ("ses_a", None, Tests::NeverRan),
        ("ses_b", None, Tests::Passed),
        ("ses_c", Some("ses_b"), Tests::NeverRan),
    ] {
        let repository = workplace.repo();
        let insert = "INSERT INTO session VALUES (?1, ?2, ?3, NULL, 1)";
        connection.execute(insert, (session, parent, repository.to_str())).unwrap();
        for (at, line) in (0_i64..).zip(rehearsed(Agent::Opencode, tests, &repository).lines()) {
            let record: Value = serde_json::from_str(line).unwrap();
            let id = format!("{session}_{at}");
            let insert = "INSERT INTO message VALUES (?1, ?2, ?3, ?4)";
            connection.execute(insert, (&id, session, at, record["info"].to_string())).unwrap();
            for (number, part) in record["parts"].as_array().unwrap().iter().enumerate() {
                let insert = "INSERT INTO part VALUES (?1, ?2, ?3, ?4)";
                connection
                    .execute(insert, (format!("{id}_{number}"), &id, session, part.to_string()))
                    .unwrap();
            }
        }
    }
    drop(connection);
    let before = std::fs::read(&database).unwrap();
    let counts = |path: &Path| {
        let report = workplace.json(&["replay", path.to_str().unwrap(), "--json"], SCHEMA);
        let turns = ["total", "hold", "not_judged"].map(|name| report["turns"][name].as_u64().unwrap());
        (report["totals"]["sessions"].as_u64().unwrap(), turns)
    };
    for path in [&folder, &database] {
        assert_eq!(counts(path), (2, [2, 1, 0]), "{}", path.display());
    }
    assert_eq!(counts(&database.join("ses_a")), (1, [1, 1, 0]));
    assert_eq!(counts(&database.join("ses_b")), (1, [1, 0, 0]));
    assert_eq!(std::fs::read(&database).unwrap(), before);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "nothing was made beside it");
    let shown = workplace.shown(&["replay", database.join("ses_x").to_str().unwrap()]);
    insta::assert_snapshot!(redacted(&shown), @"
    exit code: 3
    --- stdout
    --- stderr
    error: there is no `[folder]/opencode/opencode.db/ses_x`
    hint: `checkstone doctor` prints the newest transcript of each installed client
    ");
}

/// What cannot be read is an error that says so, and never a report of nothing.
#[test]
fn what_is_no_checkout_no_policy_and_no_transcript_is_reported() {
    let workplace = Workplace::new(Some(POLICY));
    let folder = recorded(&workplace);
    let path = folder.to_str().unwrap();
    let file = workplace.repo().join("checkstone.toml");
    let file = file.to_str().unwrap();
    let mut shown = String::new();
    for arguments in [
        &["replay", path, "--repo", "/nowhere/at/all"][..],
        &["replay", path, "--repo", file],
        &["replay", path, "--policy", "/nowhere/at/all"],
        &["replay", path, "--policy", path],
        &["replay", file],
        &["replay", file, "--json"],
    ] {
        shown.push_str(&workplace.shown(arguments));
    }
    insta::assert_snapshot!(redacted(&shown), @"
    exit code: 3
    --- stdout
    --- stderr
    error: there is no folder `/nowhere/at/all`
    exit code: 2
    --- stdout
    --- stderr
    error: `[folder]/repo/checkstone.toml` is not a folder
    exit code: 3
    --- stdout
    --- stderr
    error: there is no policy file `/nowhere/at/all`
    exit code: 2
    --- stdout
    --- stderr
    error: `[folder]/recorded` is not a policy: it is not a regular file
    exit code: 2
    --- stdout
    --- stderr
    error: `[folder]/repo/checkstone.toml` is not a transcript: the content is not a transcript of a known client
    hint: `checkstone doctor` prints the newest transcript of each installed client
    exit code: 2
    --- stdout
    --- stderr
    error: `[folder]/repo/checkstone.toml` is not a transcript: the content is not a transcript of a known client
    hint: `checkstone doctor` prints the newest transcript of each installed client
    ");
    // Beside sessions it is no more than a remark.
    let report = workplace.json(&["replay", path, file, "--json"], SCHEMA);
    assert_eq!((&report["totals"]["sessions"], &report["unread"][0]["path"]), (&json!(2), &json!(file)));
}

/// T6: what a sub-agent ran is evidence for the turn that started it, and its file is no session.
#[test]
fn t6_sub_agents_belong_to_their_parents() {
    let workplace = Workplace::new(Some(POLICY));
    let folder = workplace.path("recorded");
    let mut session = Session::new(workplace.repo());
    session.prompt("p1", "Fix it with a helper").edit("src/lib.rs");
    let mut helper = Session::new(workplace.repo());
    helper.seconds = session.seconds;
    helper.bash("cargo test", PASSED);
    session.seconds = helper.seconds;
    session.said("Done.").prompt("p2", "And now?").edit("src/lib.rs").said("Done.");
    session.write(&folder.join("project/s1.jsonl"));
    helper.write(&folder.join("project/s1/subagents/agent-a1.jsonl"));
    helper.write(&folder.join("project/agent-old.jsonl"));
    let report = workplace.json(&["replay", folder.to_str().unwrap(), "--json"], SCHEMA);
    assert_eq!(report["totals"]["sessions"], 1);
    assert_eq!(
        report["turns"],
        json!({ "total": 2, "hold": 1, "notify": 1, "pass": 0, "not_judged": 0, "held": 0, "then_tested": 0 }),
        "{report:#}"
    );
    assert_eq!(report["holds"][0]["prompt"], "And now?");
}

#[test]
fn turns_and_clients_are_chosen() {
    let workplace = Workplace::new(Some(POLICY));
    let folder = recorded(&workplace);
    let path = folder.to_str().unwrap();
    let hold = workplace.json(&["replay", path, "--json"], SCHEMA)["holds"][1]["started_at"].clone();
    let since = workplace.json(&["replay", path, "--json", "--since", hold.as_str().unwrap()], SCHEMA);
    assert_eq!(since["turns"]["total"], 1);
    assert_eq!(workplace.json(&["replay", path, "--json", "--agent", "codex"], SCHEMA)["turns"]["total"], 0);
    let missing = workplace.shown(&["replay", "/nowhere/at/all"]);
    insta::assert_snapshot!(redacted(&missing), @"
    exit code: 3
    --- stdout
    --- stderr
    error: there is no `/nowhere/at/all`
    hint: `checkstone doctor` prints the newest transcript of each installed client
    ");
}

/// Nothing from a transcript steers the terminal, no git runs, and nothing is left behind.
#[test]
fn the_table_is_safe_and_nothing_is_recorded() {
    let workplace = Workplace::new(Some(POLICY));
    let folder = recorded(&workplace);
    let output = workplace
        .checkstone(&["replay", folder.to_str().unwrap()])
        .env("PATH", "")
        .env("COLUMNS", "300")
        .answer();
    let shown = output.stdout;
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!(redacted(&shown), @r#"
    5 turns in 2 sessions (0.0 MB)
           2  would have been held
           1  reported to the person
           1  passed silently
           1  not judged

    Projects (turns: held, reported, passed, not judged)
         2      1      1      0  [folder]/repo
         0      0      0      1  /nowhere/at/all

    Rules (turns held, turns reported)
      missing-action          2      0  ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇

    Actions (turns: missing, done, waived)
      rust-tests              2      1      0

    1 turn was held when it took place; in 1 of these, what was missing ran after the hold. This policy would hold 1.

    Would have been held
      [time] claude missing: rust-tests
                              › Fix </script><script>document.title='owned'</script> "'><img src=x onerror=alert(1)> ␛[2Jand�it
                              [folder]/recorded/project/11111111-2222-4333-8444-555555555555.jsonl:1
      [time] claude missing: rust-tests (as it was then)
                              › Once more
                              [folder]/recorded/project/11111111-2222-4333-8444-555555555555.jsonl:17

    Not held because
           1  all clear
           1  nothing changed

    Not judged because
           1  its repository has no policy
    "#);
    assert!(!workplace.path("state").exists() && !workplace.path("home/.local").exists());
}

/// The page, as a browser shows it, has the numbers of the JSON; what a prompt says stays text.
#[test]
fn the_page_says_what_the_json_says() {
    let workplace = Workplace::new(Some(POLICY));
    let folder = recorded(&workplace);
    let page = workplace.path("page.html");
    let report = workplace
        .json(&["replay", folder.to_str().unwrap(), "--json", "--html", page.to_str().unwrap()], SCHEMA);
    let text = std::fs::read_to_string(&page).unwrap();
    // A prompt that would be code is text, and nothing is fetched from the network.
    let parts = ["<script>", "<img", "\u{1b}", "://"].map(|part| text.matches(part).count());
    assert_eq!((parts, text.matches("&lt;/script&gt;").count() > 0), ([1, 0, 0, 0], true));
    let Some(dom) = shown_by_browser(&page) else {
        println!("skipped: there is no Chromium here");
        return;
    };
    let count = |name: &str| number_behind(&dom, &format!("data-count=\"{name}\">"));
    let turns = &report["turns"];
    for (name, expected) in [
        ("total", &turns["total"]),
        ("hold", &turns["hold"]),
        ("notify", &turns["notify"]),
        ("pass", &turns["pass"]),
        ("not-judged", &turns["not_judged"]),
        ("sessions", &report["totals"]["sessions"]),
        ("held-then", &report["held_then"]["turns"]),
        ("held-then-now", &report["held_then"]["hold_now"]),
    ] {
        assert_eq!(count(name), expected.as_u64(), "{name}");
    }
    assert_eq!(
        number_behind(&dom, "data-rule-hold=\"missing-action\">"),
        report["rules"][0]["hold"].as_u64()
    );
    assert_eq!(
        number_behind(&dom, "data-action-required=\"rust-tests\">"),
        report["actions"][0]["required"].as_u64()
    );
    assert_eq!(dom.matches("<details class=\"hold\"").count(), report["holds"].as_array().unwrap().len());
    // Its own script ran, and no other.
    assert_eq!(text_behind(&dom, "<output>"), Some("4 of 4"));
    assert_eq!(count("then-tested"), turns["then_tested"].as_u64());
    assert_eq!(
        (dom.matches("<details class=\"notify\"").count(), dom.matches("<details class=\"pass\"").count()),
        (1, 1)
    );
    let options = text_between(&dom, "<option value=\"\">every project</option>", "</select>").unwrap();
    assert_eq!(options.matches("<option>").count(), report["projects"].as_array().unwrap().len());
    assert_eq!(text_behind(&dom, "<title>"), Some("checkstone replay"));
}

/// What stands there up to the next tag.
fn text_behind<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(mark)?;
    rest.split('<').next()
}

fn text_between<'a>(text: &'a str, mark: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(mark)?;
    rest.split(end).next()
}

fn number_behind(text: &str, mark: &str) -> Option<u64> {
    text_behind(text, mark)?.parse().ok()
}

/// Ctrl-C ends the work without a page and without a half of one.
#[test]
fn an_interruption_leaves_nothing() {
    let workplace = Workplace::new(Some(POLICY));
    let mut session = Session::new(workplace.repo());
    let long = "x".repeat(2000);
    for turn in 0..6000 {
        session.prompt(&format!("p{turn}"), "again").bash("ls", &long);
    }
    let transcript = workplace.path("recorded/long.jsonl");
    session.write(&transcript);
    let page = workplace.path("page.html");
    let arguments = ["replay", transcript.to_str().unwrap(), "--html", page.to_str().unwrap()];
    let mut child =
        workplace.checkstone(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let descriptors = PathBuf::from(format!("/proc/{}/fd", child.id()));
    let is_open = || {
        let open = std::fs::read_dir(&descriptors).into_iter().flatten().flatten();
        open.filter_map(|entry| std::fs::read_link(entry.path()).ok()).any(|target| target == transcript)
    };
    wait_for("the transcript to be opened", || is_open() || child.try_wait().unwrap().is_some());
    let process = rustix::process::Pid::from_child(&child);
    let _ = rustix::process::kill_process(process, rustix::process::Signal::INT);
    let output = finish(child);
    assert_eq!(output.code, Some(130), "{output:?}");
    assert!(!page.exists() && output.stdout.is_empty());
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let workplace = Workplace::new(None);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = workplace.run(&["completions", shell]);
        let script = output.stdout.clone();
        assert!(output.succeeded() && script.contains("resume-point"), "{shell}");
        if shell == "bash" {
            let file = workplace.path("completions.bash");
            std::fs::write(&file, script).unwrap();
            assert!(Command::new("bash").arg("-n").arg(&file).status().unwrap().success());
        }
    }
    std::fs::create_dir(workplace.path("man")).unwrap();
    assert!(workplace.run(&["man", workplace.path("man").to_str().unwrap()]).succeeded());
    let page = std::fs::read_to_string(workplace.path("man/checkstone-replay.1")).unwrap();
    insta::assert_snapshot!("manual_page", without_clients(&page));
}

/// The same sources give the same words: no path, no date.
#[test]
fn the_version_says_what_it_was_built_for() {
    let workplace = Workplace::new(None);
    let shown = workplace.run(&["--version"]).stdout;
    let (version, built) = shown.trim().split_once(" (").unwrap();
    assert_eq!(version, format!("checkstone {}", env!("CARGO_PKG_VERSION")));
    assert_eq!(built, format!("{}-unknown-linux-gnu)", std::env::consts::ARCH));
}
