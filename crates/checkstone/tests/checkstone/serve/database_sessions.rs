//! Sessions of a client that keeps them all in one database: found and watched as those are that have a file each.

use rusqlite::Connection;
use sandbox::wait_for;
use serde_json::{Value, json};

use super::{POLICY, serve};
use crate::workplace::Workplace;

const SCHEMA: &str = "
    CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT NOT NULL, time_updated INTEGER NOT NULL, revert TEXT);
    CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, time_created INTEGER NOT NULL, data TEXT NOT NULL);
    CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT NOT NULL, session_id TEXT NOT NULL, data TEXT NOT NULL);
    INSERT INTO session VALUES ('ses_one', NULL, '/r', 0, NULL)";

/// Adds a message of the session with one part, as opencode does.
fn add(database: &Connection, number: i64, role: &str, part: &Value) {
    let at = jiff::Timestamp::now().as_millisecond();
    let (message, part_id) = (format!("msg_{number}"), format!("prt_{number}"));
    let info = json!({"id": message, "role": role, "sessionID": "ses_one", "time": {"created": at}});
    let insert = "INSERT INTO message VALUES (?1, 'ses_one', ?2, ?3)";
    database.execute(insert, (&message, number, info.to_string())).unwrap();
    let insert = "INSERT INTO part VALUES (?1, ?2, 'ses_one', ?3)";
    database.execute(insert, (part_id, &message, part.to_string())).unwrap();
}

/// A command that has ended.
fn command(text: &str) -> Value {
    let at = jiff::Timestamp::now().as_millisecond();
    json!({"type": "tool", "callID": text, "tool": "bash", "state": {"status": "completed", "input": {"command": text},
        "output": "", "metadata": {"exit": 0}, "title": text, "time": {"start": at, "end": at}}})
}

#[test]
fn a_session_in_a_database_is_seen_while_it_works() {
    let workplace = Workplace::new(Some(POLICY));
    let path = workplace.path("opencode.db");
    let database = Connection::open(&path).unwrap();
    database.execute_batch(&format!("PRAGMA journal_mode = WAL; {SCHEMA}")).unwrap();
    add(&database, 1, "user", &json!({"type": "text", "text": "Fix it"}));
    let prompt = json!({"session_id": "ses_one", "transcript_path": path.join("ses_one"), "prompt": "Fix it",
        "prompt_id": "msg_1"});
    workplace.called(&mut workplace.checkstone(&["hook", "opencode"]), "chat.message", prompt);
    add(&database, 2, "assistant", &command("git status"));
    let server = serve(&workplace);
    let doing = || server.page("/").texts_behind("<p class=\"detail\">");
    assert_eq!(doing(), ["git status"]);
    add(&database, 3, "assistant", &command("cargo test"));
    wait_for("the next command is on the page", || doing() == ["cargo test"]);
    // Whoever names no transcript means this one.
    let timeline = workplace.run(&["timeline", "--json"]);
    let timeline: Value = serde_json::from_str(&timeline.stdout).unwrap();
    assert_eq!(
        (&timeline["agent"], &timeline["calls"][1]["command"]),
        (&json!("opencode"), &json!("cargo test"))
    );
    let check = workplace.run(&["check", "--json"]);
    let check: Value = serde_json::from_str(&check.stdout).unwrap();
    assert_eq!(check["transcript"]["coverage"], "complete", "{check:#}");
}
