//! Messages as opencode keeps them, the cases of CASES that make sense for it, and its database.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::{Value, json};
use transcript::{Agent, Extent, Kind, Options, Outcome, Reading};

use crate::samples;
use crate::write::{call, lines, prompt_of, read};

const AT: i64 = 1_767_261_600_000;

pub(crate) fn message(role: &str, parts: Value) -> Value {
    let info = json!({
        "role": role, "time": { "created": AT }, "agent": "build", "modelID": "m",
        "path": { "cwd": "/r", "root": "/r" },
    });
    json!({ "id": "msg_1", "info": info, "parts": parts })
}

pub(crate) fn prompt(text: &str) -> Value {
    message("user", json!([{ "type": "text", "text": text }]))
}

pub(crate) fn said(text: &str) -> Value {
    message("assistant", json!([{ "type": "text", "text": text, "time": { "start": AT, "end": AT } }]))
}

/// A call that has ended.
pub(crate) fn tool(id: &str, name: &str, input: Value, metadata: Value) -> Value {
    let state = json!({
        "status": "completed", "input": input, "output": "done", "metadata": metadata, "title": name,
        "time": { "start": AT, "end": AT + 5 },
    });
    message("assistant", json!([{ "type": "tool", "callID": id, "tool": name, "state": state }]))
}

pub(crate) fn shell(id: &str, command: &str, exit: Value, output: &str) -> Value {
    let mut called = tool(id, "bash", json!({ "command": command }), json!({ "exit": exit }));
    called["parts"][0]["state"]["output"] = json!(output);
    called
}

/// The lines of one prompt.
pub(crate) fn prompt_lines(_id: usize, text: &str) -> Vec<Value> {
    vec![prompt(text)]
}

/// A prompt with a picture.
pub(crate) fn picture_lines(text: &str, picture: &str) -> Vec<Value> {
    let url = format!("data:image/png;base64,{picture}");
    let image = json!({ "type": "file", "mime": "image/png", "filename": "a.png", "url": url });
    vec![message("user", json!([{ "type": "text", "text": text }, image]))]
}

/// A command, and its end.
pub(crate) fn command_lines(id: &str, command: &str, end: super::CommandEnd<'_>) -> Vec<Value> {
    vec![shell(id, command, json!(end.exit_code), end.output)]
}

/// Any record, of a few ids and texts.
pub(crate) fn any_record() -> BoxedStrategy<Value> {
    let (id, text) = (super::ID, super::TEXT);
    prop_oneof![
        text.prop_map(|text| prompt(&text)),
        text.prop_map(|text| said(&text)),
        (id, text).prop_map(|(id, text)| shell(&id, &text, json!(0), &text)),
        (id, text).prop_map(|(id, text)| tool(&id, "edit", json!({ "filePath": text }), json!({}))),
        text.prop_map(|text| message("user", json!([{ "type": "text", "text": text, "synthetic": true }]))),
    ]
    .boxed()
}

/// T1: calls that ran side by side are parts of one message, each with its own result.
#[test]
fn t1_parallel_calls_have_their_own_results() {
    let parts = [shell("a", "run a", json!(0), "1 passed"), shell("b", "run b", json!(3), "bad")];
    let parts: Vec<Value> = parts.iter().map(|message| message["parts"][0].clone()).collect();
    let reading = read(Agent::Opencode, &[prompt("go"), message("assistant", json!(parts))]);
    let ends = ["a", "b"].map(|id| (call(&reading, id).outcome, call(&reading, id).exit_code));
    assert_eq!(ends, [(Outcome::Ok, Some(0)), (Outcome::Error, Some(3))]);
    assert_eq!(call(&reading, "a").snippet.as_deref(), Some("1 passed"));
    assert_eq!(call(&reading, "a").cwd.as_deref(), Some("/r"));
    assert_eq!(reading.turn.unwrap().id.as_deref(), Some("msg_1"));
}

/// T2, T5: what the client says in the person's name opens no turn.
#[test]
fn t2_t5_only_a_persons_words_open_a_turn() {
    let told = |text: &str| message("user", json!([{ "type": "text", "text": text, "synthetic": true }]));
    let reading = read(
        Agent::Opencode,
        &[
            prompt("go"),
            said("on it"),
            told("Continue if you have next steps"),
            message("user", json!([{ "type": "compaction", "auto": true }])),
            message("user", json!([{ "type": "text", "text": " \n" }])),
        ],
    );
    assert_eq!(prompt_of(&reading), Some("go"));
    assert_eq!((reading.coverage.understood, reading.coverage.records), (5, 5));
}

/// T4: our plugin sends the hold as a prompt. What ran before it and after it is one turn.
#[test]
fn t4_our_own_hold_continues_the_turn() {
    let options = Options { mark: crate::write::MARK, agent: Some(Agent::Opencode), ..Options::default() };
    let mut hold = prompt("[checkstone] Not done yet\n\n1. Run `make test`");
    hold["id"] = json!("msg_2");
    let turn = [
        prompt("go"),
        shell("before", "x", json!(0), "ok"),
        said("done"),
        hold,
        shell("after", "y", json!(0), "ok"),
    ];
    let reading = transcript::read_bytes(&lines(&turn), &options);
    let calls: Vec<&str> = reading.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(
        (prompt_of(&reading), calls, reading.has_marked_prompt),
        (Some("go"), vec!["before", "after"], true)
    );
}

/// T13, T14: the exit status is the client's own record; a killed or interrupted command did not pass.
#[test]
fn t13_t14_how_a_command_ended() {
    let ended = |exit: Value, output: &str| shell("a", "run", exit, output);
    let with = |status: &str, error: &str, metadata: Value| {
        let mut called = ended(json!(0), "");
        called["parts"][0]["state"] =
            json!({ "status": status, "input": { "command": "run" }, "error": error, "metadata": metadata });
        called
    };
    let aborted = "x\n\n<shell_metadata>\nUser aborted the command\n</shell_metadata>";
    for (message, expected) in [
        (ended(json!(0), "ok"), (Outcome::Ok, Some(0), false)),
        (ended(json!(2), "bad"), (Outcome::Error, Some(2), false)),
        (ended(json!(null), "<shell_metadata>\nterminated after timeout"), (Outcome::Error, None, false)),
        (ended(json!(null), aborted), (Outcome::Error, None, true)),
        (with("running", "", json!({})), (Outcome::Unknown, None, false)),
        (with("pending", "", json!({})), (Outcome::Unknown, None, false)),
        (with("completed", "", json!({})), (Outcome::Unknown, None, false)),
        (
            with("error", "Tool execution aborted", json!({ "interrupted": true })),
            (Outcome::Error, None, true),
        ),
        (with("error", "The user rejected permission to use this", json!({})), (Outcome::Error, None, true)),
        (with("error", "No such file", json!({})), (Outcome::Error, None, false)),
    ] {
        let reading = read(Agent::Opencode, &[prompt("go"), message.clone()]);
        let call = call(&reading, "a");
        assert_eq!((call.outcome, call.exit_code, call.user_stopped), expected, "{message}");
    }
}

/// T17: what was done to files, one by one or by a patch.
#[test]
fn t17_edits_and_files() {
    let files = json!([
        { "filePath": "/r/c.py", "relativePath": "c.py", "type": "add", "patch": "@@ -0,0 +1 @@\n+x = 1\n" },
        { "filePath": "/r/d.py", "relativePath": "d.py", "type": "update", "patch": "@@ -1 +1 @@\n-# a\n+# b\n" },
    ]);
    let edit = json!({ "filePath": "/r/a.py", "oldString": "a", "newString": "b" });
    let reading = read(
        Agent::Opencode,
        &[
            prompt("go"),
            tool("r", "read", json!({ "filePath": "/r/a.py" }), json!({})),
            tool("e", "edit", edit, json!({})),
            tool(
                "w",
                "write",
                json!({ "filePath": "/r/b.py", "content": "x\n" }),
                json!({ "exists": false }),
            ),
            tool("p", "apply_patch", json!({ "patchText": "…" }), json!({ "files": files })),
        ],
    );
    let calls = reading.calls.iter().map(|call| (call.kind, call.paths.join(" "), call.edits.len()));
    let expected = [
        (Kind::Read, "/r/a.py".to_owned(), 0),
        (Kind::Edit, "/r/a.py".to_owned(), 1),
        (Kind::Write, "/r/b.py".to_owned(), 1),
        (Kind::Edit, "/r/c.py /r/d.py".to_owned(), 2),
    ];
    assert_eq!(calls.collect::<Vec<_>>(), expected);
    assert_eq!(call(&reading, "w").created, ["/r/b.py"]);
    assert_eq!(call(&reading, "p").created, ["/r/c.py"]);
}

/// T19, T20: unknown messages lower the coverage; the usage is that of the last response.
#[test]
fn t19_t20_coverage_and_usage() {
    let unknown = || message("oracle", json!([]));
    let reading = read(Agent::Opencode, &[prompt("go"), unknown(), unknown(), unknown()]);
    assert_eq!(reading.coverage.extent, Extent::Unavailable);
    assert_eq!((reading.coverage.understood, reading.coverage.records), (1, 4));
    let finished = |input: u64| {
        let tokens =
            json!({ "input": input, "output": 40, "reasoning": 2, "cache": { "read": 10, "write": 5 } });
        message("assistant", json!([{ "type": "step-finish", "reason": "stop", "tokens": tokens }]))
    };
    let reading = read(Agent::Opencode, &[prompt("go"), finished(1000), finished(1200)]);
    assert_eq!(reading.usage.map(|usage| (usage.tokens, usage.answered)), Some((1257, 42)));
}

/// A turn that the person interrupted is known as one.
#[test]
fn an_interrupted_turn_is_known() {
    let mut last = said("I was about to");
    last["info"]["error"] = json!({ "name": "MessageAbortedError", "data": {} });
    assert!(read(Agent::Opencode, &[prompt("go"), last]).interrupted);
}

const SCHEMA: &str = "
    CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text NOT NULL, time_updated integer NOT NULL, revert text);
    CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, data text NOT NULL);
    CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, data text NOT NULL);
    CREATE INDEX message_session ON message (session_id, time_created, id);
    CREATE INDEX part_message ON part (message_id, id);";

/// Puts messages into a database as the client does, in WAL mode.
struct StoredMessages {
    connection: Connection,
    count: i64,
}

impl StoredMessages {
    fn new(path: &Path) -> Self {
        let connection = Connection::open(path).unwrap();
        connection.execute_batch(&format!("PRAGMA journal_mode = WAL; {SCHEMA}")).unwrap();
        Self { connection, count: 0 }
    }

    fn session(&self, id: &str, parent: Option<&str>) {
        let insert = "INSERT INTO session VALUES (?1, ?2, '/r', ?3, NULL)";
        self.connection.execute(insert, (id, parent, self.count)).unwrap();
    }

    fn add(&mut self, session: &str, message: &Value) {
        self.count += 1;
        let id = format!("msg_{:04}", self.count);
        let insert = "INSERT INTO message VALUES (?1, ?2, ?3, ?4)";
        self.connection.execute(insert, (&id, session, self.count, message["info"].to_string())).unwrap();
        for (number, part) in message["parts"].as_array().unwrap().iter().enumerate() {
            let insert = "INSERT INTO part VALUES (?1, ?2, ?3, ?4)";
            let part_id = format!("prt_{:04}_{number:03}", self.count);
            self.connection.execute(insert, (part_id, &id, session, part.to_string())).unwrap();
        }
        let touch = "UPDATE session SET time_updated = ?2 WHERE id = ?1";
        self.connection.execute(touch, (session, self.count)).unwrap();
    }
}

fn sample() -> Vec<Value> {
    let text = std::fs::read_to_string(samples::folder().join("opencode/1.18.33-main.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What counts in a reading, without where it stands in the file.
fn essence(mut reading: Reading) -> Reading {
    for call in &mut reading.calls {
        (call.offset, call.line) = (0, None);
    }
    if let Some(turn) = &mut reading.turn {
        (turn.line, turn.id) = (None, None);
    }
    reading
}

/// Everything in a folder, to the byte. The index of a log is left out: the writer is in this process, and within one process SQLite
/// shares it.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let entries = entries.filter(|path| !path.to_str().unwrap().ends_with("-shm"));
    let mut files: Vec<_> = entries.map(|path| (path.clone(), std::fs::read(&path).unwrap())).collect();
    files.sort();
    files
}

/// A session is read as the same lines would be, while the client has its database open and after it has closed it, and nothing
/// is written either way.
#[test]
fn a_session_is_read_from_the_database_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("a b%?#.db");
    let mut stored = StoredMessages::new(&database);
    stored.session("ses_other", None);
    stored.add("ses_other", &prompt("something else"));
    stored.session("ses_main", None);
    for message in sample() {
        stored.add("ses_main", &message);
    }
    let of_lines = transcript::read_bytes(
        &lines(&sample()),
        &Options { mark: "[checkstone]", agent: Some(Agent::Opencode), ..Options::default() },
    );
    assert_eq!(of_lines.calls.len(), 1);
    let options = Options { mark: "[checkstone]", ..Options::default() };
    let is_read = || {
        let before = contents(folder.path());
        for window in [1, 100, 5000, 1 << 20] {
            let options = Options { first_window: window, ..options.clone() };
            // By its name, or as the one that was written to last.
            for path in [database.join("ses_main"), database.clone()] {
                assert_eq!(essence(transcript::read(&path, &options)), essence(of_lines.clone()), "{window}");
            }
        }
        assert_eq!(contents(folder.path()), before, "nothing was written");
    };
    is_read();
    drop(stored);
    is_read();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing was made beside it");
    let walked: Vec<_> = transcript::walk(&database.join("ses_main"), &options).unwrap().collect();
    assert_eq!(walked.len(), 2);
    let sessions = transcript::sessions(&database).into_iter().map(|session| session.id);
    assert_eq!(sessions.collect::<Vec<_>>(), ["ses_main", "ses_other"]);
    assert_eq!(transcript::stored_session(&database.join("ses_other")).unwrap().folder, Some("/r".into()));
    // Whoever waits for more of it waits for the database and its log.
    let log = format!("{}-wal", database.display());
    assert_eq!(transcript::written_files(&database.join("ses_main")), [database.clone(), log.into()]);
    let paths = [database.join("ses_main"), database.clone(), folder.path().join("none.db/ses_main")];
    assert_eq!(paths.map(|path| transcript::is_there(&path)), [true, true, false]);
}

/// T6: a sub-agent's session lies beside that of its parent, and its calls count for the parent's turn.
#[test]
fn t6_a_sub_agents_calls_count() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("opencode.db");
    let mut stored = StoredMessages::new(&database);
    stored.session("ses_child", Some("ses_main"));
    stored.session("ses_main", None);
    stored.add("ses_main", &prompt("go"));
    stored.add("ses_child", &prompt("run the tests"));
    stored.add("ses_child", &shell("inner", "pytest", json!(0), "1 passed"));
    let task = tool("task", "task", json!({}), json!({ "sessionId": "ses_child" }));
    stored.add("ses_main", &task);
    let reading = transcript::read(&database.join("ses_main"), &Options::default());
    let calls = reading.calls.iter().map(|call| (call.id.as_str(), call.subagent.as_deref()));
    assert_eq!(calls.collect::<Vec<_>>(), [("task", None), ("inner", Some("ses_child"))]);
    assert!(transcript::stored_session(&database.join("ses_child")).unwrap().is_subagent);
}

/// T12: what the person has taken back is no part of the session, from a message or from a part of it on; until then, and whatever else is
/// written there, everything is.
#[test]
fn t12_what_was_taken_back_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("opencode.db");
    let mut stored = StoredMessages::new(&database);
    stored.session("ses_main", None);
    let both: Vec<Value> =
        ["a", "b"].iter().map(|id| shell(id, "run", json!(0), "x")["parts"][0].clone()).collect();
    for message in [
        prompt("first"),
        message("assistant", json!(both)),
        prompt("second"),
        shell("c", "run", json!(0), "x"),
    ] {
        stored.add("ses_main", &message);
    }
    for (revert, expected) in [
        (json!(null), (Some("second"), vec!["c"])),
        (json!({ "messageID": "msg_0004", "snapshot": "s", "diff": "d" }), (Some("second"), vec![])),
        (json!({ "messageID": "msg_0003" }), (Some("first"), vec!["a", "b"])),
        (json!({ "messageID": "msg_0002", "partID": "prt_0002_001" }), (Some("first"), vec!["a"])),
        (json!({ "messageID": "msg_0002" }), (Some("first"), vec![])),
        // Nobody deletes what is not there.
        (json!({ "messageID": "msg_0000" }), (Some("second"), vec!["c"])),
        (json!({}), (Some("second"), vec!["c"])),
        (json!("broken"), (Some("second"), vec!["c"])),
    ] {
        let text = revert.as_str().map_or_else(|| revert.to_string(), str::to_owned);
        stored.connection.execute("UPDATE session SET revert = ?1", [text]).unwrap();
        for path in [database.join("ses_main"), database.clone()] {
            let reading = transcript::read(&path, &Options::default());
            let calls: Vec<&str> = reading.calls.iter().map(|call| call.id.as_str()).collect();
            assert_eq!((prompt_of(&reading), calls), expected, "{revert}");
            assert_eq!(reading.coverage.records, reading.coverage.understood, "{revert}");
        }
    }
}

/// T9: a database that is broken anywhere, or is something else, is unreadable or read in part; the reader never fails. A view
/// that never ends is ended.
#[test]
fn t9_a_broken_database_never_fails_the_reader() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("opencode.db");
    let mut stored = StoredMessages::new(&database);
    stored.session("ses_main", None);
    for message in sample() {
        stored.add("ses_main", &message);
    }
    drop(stored);
    let whole = std::fs::read(&database).unwrap();
    let read = |bytes: &[u8]| {
        std::fs::write(&database, bytes).unwrap();
        for path in
            [database.clone(), database.join("ses_main"), database.join("nobody"), database.join("a/b")]
        {
            let _ = transcript::read(&path, &Options::default());
            let _ = transcript::walk(&path, &Options::default()).map(Iterator::count);
        }
        let _ = transcript::sessions(&database);
    };
    let mut seed = 7_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    for _ in 0..150 {
        let mut bytes = whole.clone();
        for _ in 0..1 + random(8) {
            let at = random(bytes.len());
            bytes[at] = random(256) as u8;
        }
        read(&bytes);
        read(&whole[..random(whole.len())]);
    }
    read(b"");
    read(b"SQLite format 3\0");
    std::fs::remove_file(&database).unwrap();
    let hostile = Connection::open(&database).unwrap();
    hostile
        .execute_batch(
            "CREATE TABLE session (id text, parent_id text, directory text, time_updated integer, revert text);
             INSERT INTO session VALUES ('ses_main', NULL, '/r', 1, NULL);
             CREATE TABLE part (id text, message_id text, data text);
             CREATE TABLE numbers (rowid_ integer);
             CREATE VIEW message AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
               SELECT i AS rowid, i AS id, 'ses_main' AS session_id, i AS time_created, 'x' AS data FROM n;",
        )
        .unwrap();
    drop(hostile);
    let reading = transcript::read(&database.join("ses_main"), &Options::default());
    assert_eq!(reading.coverage.extent, Extent::Unavailable);
    assert_eq!(reading.coverage.reason.as_deref(), Some("the database cannot be read: interrupted"));
}

/// What another program writes meanwhile belongs to the next reading, and does not disturb this one.
#[test]
fn a_writer_beside_the_reader_does_not_disturb_it() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("opencode.db");
    let mut stored = StoredMessages::new(&database);
    stored.session("ses_main", None);
    stored.add("ses_main", &prompt("go"));
    for number in 0..20 {
        stored.add("ses_main", &shell(&number.to_string(), "run", json!(0), "ok"));
        let reading = transcript::read(&database.join("ses_main"), &Options::default());
        assert_eq!((reading.coverage.extent, reading.calls.len()), (Extent::Complete, number + 1));
    }
}
