//! Where the clients keep their transcripts, with the names and first lines that they really have.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use agents::{Notification, transcripts};
use serde_json::json;
use tempfile::TempDir;
use transcript::Agent;

const THREAD: &str = "01a1dd46-616f-7481-a7e0-0a1e66112dfb";

struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap()
    }

    /// A file, changed so many seconds after the first of them.
    fn write(&self, path: &str, line: &serde_json::Value, seconds: u64) -> PathBuf {
        let path = self.path().join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(&path, format!("{line}\n{{}}\n")).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds);
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        path
    }

    fn codex(&self, name: &str, id: &str, folder: &Path, seconds: u64) -> PathBuf {
        let meta = json!({"type": "session_meta", "payload": {
            "session_id": id, "id": id, "cwd": folder, "thread_source": "user",
            "base_instructions": {"text": "x".repeat(50_000)},
        }});
        self.write(&format!("sessions/{name}.jsonl"), &meta, seconds)
    }
}

#[test]
fn a_thread_is_found_by_its_id_and_the_rewound_file_counts() {
    let home = Home::new();
    let first =
        home.codex(&format!("2026/11/14/rollout-2026-11-14T03-35-39-{THREAD}"), THREAD, Path::new("/w"), 0);
    home.codex(
        "2026/11/15/rollout-2026-11-15T03-35-39-01a1dd46-0000-7481-a7e0-0a1e66112dfb",
        "x",
        Path::new("/w"),
        5,
    );
    assert_eq!(transcripts::of_session(Agent::Codex, &home.path(), THREAD), Some(first));
    let rewound =
        format!("2026/11/14/rollout-2026-11-14T03-36-51-{THREAD}_01a1dd46-903b-7792-a896-112ce61bf195");
    let rewound = home.codex(&rewound, THREAD, Path::new("/w"), 1);
    assert_eq!(transcripts::of_session(Agent::Codex, &home.path(), THREAD), Some(rewound));
    for unknown in ["", "01a1dd46", "../../../etc/passwd", "0a1e66112dfb_"] {
        assert_eq!(transcripts::of_session(Agent::Codex, &home.path(), unknown), None, "{unknown}");
    }
    assert_eq!(transcripts::of_session(Agent::Codex, Path::new("/nonexistent"), THREAD), None);
}

#[test]
fn the_newest_transcripts_of_a_folder_come_first() {
    let home = Home::new();
    let work = home.path().join("work");
    fs_err::create_dir(&work).unwrap();
    let of_folder = |agent| transcripts::of_folder(agent, &home.path(), &work, 2);
    let older = home.codex("2026/11/15/rollout-2026-11-15T03-00-00-b", "b", &work, 10);
    let resumed = home.codex("2026/11/01/rollout-2026-11-01T03-00-00-a", "a", &work, 20);
    home.codex("2026/11/15/rollout-2026-11-15T04-00-00-c", "c", Path::new("/elsewhere"), 30);
    let subagent =
        json!({"type": "session_meta", "payload": {"id": "s", "cwd": work, "parent_thread_id": "a"}});
    let subagent = home.write("sessions/2026/11/15/rollout-2026-11-15T05-00-00-s.jsonl", &subagent, 40);
    assert!(transcripts::introduction(Agent::Codex, &subagent).is_subagent);
    assert_eq!(of_folder(Agent::Codex), [resumed.clone(), older]);
    assert_eq!(transcripts::introduction(Agent::Codex, &resumed).session.as_deref(), Some("a"));

    let name = work.to_str().unwrap().replace(|character: char| !character.is_ascii_alphanumeric(), "-");
    let claude = home.write(&format!("projects/{name}/9f3c.jsonl"), &json!({}), 0);
    assert_eq!(of_folder(Agent::Claude), std::slice::from_ref(&claude));
    assert_eq!(transcripts::introduction(Agent::Claude, &claude).session.as_deref(), Some("9f3c"));

    let header = json!({"sessionId": "g-1", "projectHash": "5a", "kind": "main"});
    let gemini = home.write("tmp/work/chats/session-2026-11-15T01-07-g.jsonl", &header, 0);
    home.write("tmp/other/chats/session-2026-11-15T01-07-h.jsonl", &header, 9);
    fs_err::write(home.path().join("tmp/work/.project_root"), work.to_str().unwrap()).unwrap();
    assert_eq!(of_folder(Agent::Gemini), std::slice::from_ref(&gemini));
    assert_eq!(transcripts::introduction(Agent::Gemini, &gemini).session.as_deref(), Some("g-1"));
}

/// W14, W29: a sub-agent that forked a session is none, unless the person goes on in its thread.
#[test]
fn w14_w29_a_forked_thread_is_a_session_if_the_person_goes_on() {
    let home = Home::new();
    let event = |time: &str, kind: &str| json!({"timestamp": format!("2026-11-15T10:{time}Z"), "type": "event_msg", "payload": {"type": kind}});
    let source = json!({"subagent": {"thread_spawn": {"parent_thread_id": "p"}}});
    let meta = json!({"id": "s", "cwd": "C:\\work", "timestamp": "2026-11-15T10:00:00Z", "source": source});
    let mut records = vec![
        json!({"timestamp": "2026-11-15T10:00:00Z", "type": "session_meta", "payload": meta}),
        event("00:01", "user_message"),
        event("00:01", "task_complete"),
        event("00:01", "user_message"),
        event("02:00", "task_complete"),
    ];
    let path = home.path().join("rollout-2026-11-15T10-00-00-s.jsonl");
    let introduction = |records: &[serde_json::Value]| {
        let lines: Vec<String> = records.iter().map(|record| format!("{record}\n")).collect();
        fs_err::write(&path, lines.concat()).unwrap();
        transcripts::introduction(Agent::Codex, &path)
    };
    let forked = introduction(&records);
    assert_eq!((forked.is_subagent, forked.folder.as_deref()), (true, Some(Path::new("/c/work"))));
    records.push(event("09:00", "user_message"));
    assert!(!introduction(&records).is_subagent);
}

/// The arguments that Codex CLI 0.166.0 gave to its `notify` program.
#[test]
fn a_notification_is_the_end_of_a_turn() {
    let argument = r#"{"type":"agent-turn-complete","thread-id":"01a1dcc0-0623-7a63-b9f4-1dba8c6d466d","turn-id":"01a1dcc0-3829-70d3-9451-709057139bfd","cwd":"/home/dev/proj-cdx","client":"codex_exec","input-messages":["Fix the bug in calc.py","Now show me the git status"],"last-assistant-message":"Second turn finished."}"#;
    let notification = Notification::parse(Agent::Codex, argument.as_bytes()).unwrap().unwrap();
    assert_eq!(notification.client.as_deref(), Some("codex_exec"));
    assert!(notification.is_shown_on("› Now show me the git status\n• Second turn finished.\n"));
    assert!(
        !notification.is_shown_on("› Something else\n• Second turn finished.\n"),
        "few words need the prompt too"
    );
    let stop = notification.into_stop(Agent::Codex, PathBuf::from("/rollout.jsonl"));
    assert_eq!(stop.session.as_deref(), Some("01a1dcc0-0623-7a63-b9f4-1dba8c6d466d"));
    assert_eq!(stop.turn.as_deref(), Some("01a1dcc0-3829-70d3-9451-709057139bfd"));
    assert_eq!(stop.cwd, Some(PathBuf::from("/home/dev/proj-cdx")));
    assert_eq!(stop.last_text.as_deref(), Some("Second turn finished."));
    assert!(!stop.stop_hook_active);
}

#[test]
fn what_is_no_end_of_a_turn_is_nothing_or_an_error() {
    for nothing in [
        r#"{"type":"approval-requested"}"#,
        r#"{"type":"agent-turn-complete"}"#,
        r#"{"type":"agent-turn-complete","thread-id":7,"cwd":"/w"}"#,
    ] {
        assert_eq!(Notification::parse(Agent::Codex, nothing.as_bytes()).unwrap(), None, "{nothing}");
    }
    for bad in ["", "[]", "{", "null", "\"x\"", "{\"type\":1}", "{\"type\":\"\"}", "\u{feff}{}"] {
        assert!(Notification::parse(Agent::Codex, bad.as_bytes()).is_err(), "{bad}");
    }
    assert!(Notification::parse(Agent::Codex, &[0xff, 0xfe]).is_err());
    assert!(Notification::parse(Agent::Codex, b"{\"type\":\"\xff\"}").is_err());
}

/// T6: Droid runs a sub-agent as a session of its own, which calls the hooks; the first line says whose it is.
#[test]
fn t6_a_session_of_a_sub_agent_is_known() {
    let home = Home::new();
    let start = |caller: Option<&str>| json!({"type": "session_start", "id": "x", "callingSessionId": caller, "cwd": "/w"});
    let own = home.write("sessions/-w/own.jsonl", &start(None), 0);
    let child = home.write("sessions/-w/child.jsonl", &start(Some("own")), 1);
    let elsewhere = home.write("elsewhere/child.jsonl", &start(Some("own")), 1);
    let known = [&own, &child, &elsewhere].map(|file| transcripts::is_subagent(Agent::Droid, file));
    assert_eq!(known, [false, true, false]);
    assert!(transcripts::introduction(Agent::Droid, &child).is_subagent);
    assert!(!transcripts::is_subagent(Agent::Droid, &home.path().join("sessions/-w/missing.jsonl")));
}
