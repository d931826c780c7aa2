//! Input that no client writes, or that cannot be read: no panic, bounded work, and a coverage that tells.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;
use transcript::{Agent, Extent, Options, Reading};

use crate::host::{claude, codex};
use crate::write::{lines, prompt_of};

fn unavailable(reading: &Reading, reason: &str) {
    assert_eq!(reading.coverage.extent, Extent::Unavailable, "{reading:?}");
    assert!(reading.turn.is_none() && reading.calls.is_empty() && reading.usage.is_none());
    let told = reading.coverage.reason.as_deref().unwrap_or_default();
    assert!(told.contains(reason), "{told}");
}

fn read(bytes: &[u8]) -> Reading {
    transcript::read_bytes(bytes, &Options::default())
}

/// T10: missing, empty, a folder, a pipe that nobody writes to, a dangling link.
#[test]
fn t10_what_cannot_be_read_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let read = |name: &str| transcript::read(&path(name), &Options::default());
    unavailable(&read("missing.jsonl"), "No such file");
    fs::write(path("empty.jsonl"), "").unwrap();
    unavailable(&read("empty.jsonl"), "empty");
    fs::create_dir(path("folder")).unwrap();
    unavailable(&read("folder"), "it is a folder");
    assert!(std::process::Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
    unavailable(&read("pipe"), "not a regular file");
    unavailable(&transcript::read("/dev/zero".as_ref(), &Options::default()), "not a regular file");
    symlink(path("nowhere"), path("dangling")).unwrap();
    unavailable(&read("dangling"), "No such file");
    symlink(path("loop"), path("loop")).unwrap();
    unavailable(&read("loop"), "cannot be opened");
    fs::write(path("blank.jsonl"), "\n\n  \n").unwrap();
    unavailable(&read("blank.jsonl"), "not a transcript");
}

/// T10: a file without permission. The superuser reads it all the same.
#[test]
fn t10_an_unreadable_file_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret.jsonl");
    fs::write(&path, lines(&[claude::prompt("go")])).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    let reading = transcript::read(&path, &Options::default());
    if rustix::process::geteuid().is_root() {
        assert_eq!(prompt_of(&reading), Some("go"));
    } else {
        unavailable(&reading, "Permission denied");
    }
}

/// T10: a link to a transcript is followed: people keep their client's folder elsewhere.
#[test]
fn t10_a_symlinked_transcript_is_read() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("real.jsonl"), lines(&[claude::prompt("go")])).unwrap();
    symlink("real.jsonl", folder.path().join("link.jsonl")).unwrap();
    let reading = transcript::read(&folder.path().join("link.jsonl"), &Options::default());
    assert_eq!(prompt_of(&reading), Some("go"));
}

/// T10: half a gigabyte in front of the turn costs nothing; a sparse file makes it without the disk.
#[test]
fn t10_half_a_gigabyte_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.jsonl");
    let file = fs::File::create(&path).unwrap();
    file.set_len(512 * 1024 * 1024).unwrap();
    std::os::unix::fs::FileExt::write_at(&file, b"\n", 512 * 1024 * 1024).unwrap();
    let tail = lines(&[claude::prompt("go"), claude::bash("a", "x")]);
    std::os::unix::fs::FileExt::write_all_at(&file, &tail, 512 * 1024 * 1024 + 1).unwrap();
    let reading = transcript::read(&path, &Options::default());
    assert_eq!((prompt_of(&reading), reading.calls.len()), (Some("go"), 1));
    // Where the turn does not begin at the end, the bound ends the search.
    file.set_len(600 * 1024 * 1024).unwrap();
    let reading = transcript::read(&path, &Options { agent: Some(Agent::Claude), ..Options::default() });
    assert_eq!(reading.coverage.extent, Extent::Unavailable, "{:?}", reading.coverage);
}

#[test]
fn binary_and_foreign_content_is_no_transcript() {
    unavailable(&read(&[0; 4096]), "not a transcript");
    unavailable(&read(b"\x7fELF\x02\x01\x01\n\x00\x00"), "not a transcript");
    unavailable(&read(b"just some notes\nof a person\n"), "not a transcript");
    unavailable(&read(br#"{"a":1}"#), "not a transcript");
    unavailable(&read(b"[1,2,3]\n"), "not a transcript");
    unavailable(&read(br#"{"name":"package","version":"1.0.0"}"#), "not a transcript");
}

/// A transcript of another client than the caller says is not understood, rather than read as an empty turn.
#[test]
fn the_wrong_agent_is_noticed() {
    let claude_file = lines(&[claude::prompt("go"), claude::bash("a", "x"), claude::said("done")]);
    let codex_file =
        lines(&[codex::prompt("go"), codex::function("c", "shell", json!({ "command": ["ls"] }))]);
    for (bytes, wrong) in [
        (&claude_file, Agent::Codex),
        (&claude_file, Agent::Gemini),
        (&codex_file, Agent::Claude),
        (&codex_file, Agent::Gemini),
    ] {
        unavailable(
            &transcript::read_bytes(bytes, &Options { agent: Some(wrong), ..Options::default() }),
            "understood 0 of",
        );
    }
}

/// A file of a million foreign lines is given up early.
#[test]
fn a_hopeless_file_is_given_up() {
    let bytes = b"{\"type\":\"quantum\",\"uuid\":\"u\",\"sessionId\":\"s\"}\n".repeat(200_000);
    let reading =
        transcript::read_bytes(&bytes, &Options { agent: Some(Agent::Claude), ..Options::default() });
    unavailable(&reading, "understood 0 of 1000 records");
}

/// Nesting without end neither overflows the stack nor takes the record's neighbours with it.
#[test]
fn nesting_bombs_are_records_like_others() {
    let deep = 200_000;
    let bomb = format!(
        "{{\"type\":\"user\",\"uuid\":\"u\",\"sessionId\":\"s\",\"x\":{}{}}}\n",
        "[".repeat(deep),
        "]".repeat(deep)
    );
    let open = format!(
        "{{\"type\":\"user\",\"uuid\":\"u\",\"sessionId\":\"s\",\"message\":{}\n",
        "{\"a\":".repeat(deep)
    );
    for agent in Agent::ALL {
        let options = Options { agent: Some(agent), ..Options::default() };
        let _ = transcript::read_bytes(bomb.as_bytes(), &options);
        let _ = transcript::read_bytes(open.as_bytes(), &options);
    }
    let mut bytes = lines(&[claude::prompt("go"), claude::bash("a", "x")]);
    bytes.extend_from_slice(open.as_bytes());
    bytes.extend_from_slice(&lines(&[claude::said("done")]));
    let reading = read(&bytes);
    assert_eq!((prompt_of(&reading), reading.calls.len()), (Some("go"), 1));
    assert_eq!((reading.coverage.understood, reading.coverage.records), (3, 4));
}

/// Fields of the wrong type make a record that is not understood, and nothing worse.
#[test]
fn fields_of_the_wrong_type_are_not_understood() {
    let broken = [
        json!({ "type": "user", "uuid": "u", "message": 7 }),
        json!({ "type": 7, "uuid": "u" }),
        json!({ "type": "assistant", "uuid": "u", "message": { "content": [7] } }),
        json!({ "type": "assistant", "uuid": "u", "timestamp": {}, "message": { "content": "x" } }),
    ];
    for record in broken {
        let reading =
            read(&lines(&[claude::prompt("go"), claude::said("x"), record.clone(), claude::said("y")]));
        assert_eq!((reading.coverage.understood, reading.coverage.records), (3, 4), "{record}");
        assert_eq!(prompt_of(&reading), Some("go"));
    }
}

/// Numbers beyond all measure in token counts do not overflow.
#[test]
fn absurd_token_counts_do_not_overflow() {
    let record = claude::record(
        "assistant",
        json!({ "message": { "model": "claude-3-opus", "content": [], "usage": {
        "input_tokens": u64::MAX, "cache_read_input_tokens": u64::MAX, "output_tokens": 5 } } }),
    );
    let reading = read(&lines(&[claude::prompt("go"), record]));
    assert_eq!(reading.usage.unwrap().tokens, u64::MAX);
}

/// The old single document beyond the bound is refused, not loaded; a torn one gives what stands before the tear.
#[test]
fn documents_are_bounded_and_may_be_torn() {
    let messages: Vec<_> = (0..50)
        .map(|number| json!({ "id": number.to_string(), "type": "user", "content": format!("prompt {number}"), "timestamp": "2026-01-01T10:00:00Z" }))
        .collect();
    let document =
        serde_json::to_string_pretty(&json!({ "sessionId": "s", "projectHash": "h", "messages": messages }))
            .unwrap();
    let small = Options { max_bytes: 1000, ..Options::default() };
    unavailable(&transcript::read_bytes(document.as_bytes(), &small), "too large");
    let torn = document.split_once(r#""prompt 30""#).unwrap().0;
    let reading = read(torn.as_bytes());
    assert_eq!(prompt_of(&reading), Some("prompt 29"));
    assert_eq!((reading.coverage.understood, reading.coverage.records), (1, 2));
}
