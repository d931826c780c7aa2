//! Payloads that are not what a client should send. On an error the caller passes.

use agents::{Event, Payload, PayloadError};
use serde_json::json;
use transcript::Agent;

use crate::samples::{bytes, names};

/// H10: not JSON, not an object, cut off.
#[test]
fn h10_what_is_no_object_is_an_error() {
    let deep = "[".repeat(1_000_000);
    for text in ["", " \n", "null", "1", "\"Stop\"", "[]", r#"["Stop","s"]"#, "Stop", "\u{feff}{}", &deep] {
        let result = Payload::parse(Agent::Claude, text.as_bytes());
        assert!(matches!(result, Err(PayloadError::NotAnObject)), "{:.40}: {result:?}", text);
    }
    for bytes in [
        &b"{"[..],
        b"{}{}",
        b"{\"hook_event_name\":\"Stop\"",
        b"{\"hook_event_name\":\"Stop\",\"cwd\":\"\xff\xfe\"}",
        b"{\"hook_event_name\":\"Stop\",\"hook_event_name\":\"SessionEnd\"}",
        b"{'hook_event_name':'Stop'}",
    ] {
        let result = Payload::parse(Agent::Claude, bytes);
        assert!(matches!(result, Err(PayloadError::Malformed(_))), "{}", String::from_utf8_lossy(bytes));
    }
    for text in ["{}", r#"{"hook_event_name":""}"#, r#"{"hook_event_name":7}"#] {
        let result = Payload::parse(Agent::Claude, text.as_bytes());
        assert!(matches!(result, Err(PayloadError::NoEvent)), "{text}");
    }
}

/// H10: a real payload cut anywhere is an error, never half a payload.
#[test]
fn h10_a_payload_that_is_cut_off_is_an_error() {
    for agent in Agent::ALL {
        for name in names(agent) {
            let whole = bytes(agent, &name);
            let end = whole.trim_ascii_end().len();
            for cut in 0..end {
                assert!(Payload::parse(agent, &whole[..cut]).is_err(), "{name} cut at {cut}");
            }
        }
    }
}

/// H10: megabytes of fields that are used and of fields that are not.
#[test]
fn h10_of_a_huge_payload_only_what_is_used_is_kept() {
    let megabytes = "ü\n".repeat(4_000_000);
    let nested = format!("{}1{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    let payload = format!(
        r#"{{"tool_response":{text},"nested":{nested},"background_tasks":{nested},"model":{nested},
        "hook_event_name":"AfterAgent","prompt":{text},"prompt_response":{text},"cwd":"/p"}}"#,
        text = json!(megabytes + "end"),
    );
    let payload = Payload::parse(Agent::Gemini, payload.as_bytes()).unwrap();
    assert_eq!(payload.event, Event::Stop);
    assert!(payload.prompt.unwrap().len() <= 16 * 1024);
    let last = payload.last_text.unwrap();
    assert!(last.len() <= 256 * 1024 && last.ends_with("end"));
    assert_eq!((payload.model, payload.background_tasks), (None, 1));
}

#[test]
fn a_field_of_another_type_is_absent_and_the_rest_stays() {
    let wrong = [json!(7), json!(null), json!([1]), json!({ "a": 1 }), json!(true), json!("")];
    for value in wrong {
        let payload = json!({
            "hook_event_name": "Stop", "session_id": "s", "cwd": value, "prompt_id": value,
            "transcript_path": value, "permission_mode": value, "model": value, "agent_id": value,
            "context_window": value, "unheard_of": value,
        });
        let payload = Payload::parse(Agent::Claude, payload.to_string().as_bytes()).unwrap();
        let mut expected = Payload::new(Agent::Claude, Event::Stop);
        expected.session = Some("s".to_owned());
        assert_eq!(payload, expected, "{value}");
    }
    let flags = json!({ "hook_event_name": "Stop", "stop_hook_active": "yes", "background_tasks": 3 });
    let payload = Payload::parse(Agent::Claude, flags.to_string().as_bytes()).unwrap();
    assert_eq!(payload, Payload::new(Agent::Claude, Event::Stop));
}

/// A task that is listed without a status we know is waited for; silence is the mistake that costs less.
#[test]
fn background_tasks_count_unless_they_are_over() {
    let tasks = json!([
        { "id": "a", "status": "running" }, { "id": "b" }, { "id": "c", "status": 1 }, "d",
        { "id": "e", "status": "completed" }, { "id": "f", "status": "failed" }, { "id": "g", "status": "killed" },
    ]);
    let payload = json!({ "hook_event_name": "Stop", "background_tasks": tasks }).to_string();
    assert_eq!(Payload::parse(Agent::Claude, payload.as_bytes()).unwrap().background_tasks, 4);
}

/// One client's event names mean nothing in another.
#[test]
fn events_are_known_by_the_names_of_their_own_client() {
    for (agent, name) in [
        (Agent::Claude, "AfterAgent"),
        (Agent::Codex, "BeforeAgent"),
        (Agent::Gemini, "Stop"),
        (Agent::Gemini, "SubagentStop"),
        (Agent::Gemini, "PreCompress"),
        (Agent::Gemini, "PreCompact"),
        (Agent::Claude, "StopFailure"),
        (Agent::Codex, "Interrupt"),
        (Agent::Claude, "stop"),
    ] {
        assert_eq!(Event::from_name(agent, name), Event::Other(name.to_owned()));
    }
}
