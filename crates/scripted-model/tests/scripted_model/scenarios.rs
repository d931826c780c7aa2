//! What is wrong with a scenario is told so that it can be mended.

use sandbox::redacted;
use scripted_model::{Scenario, ScenarioError};

fn told(text: &str) -> String {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let error = Scenario::read(file.path()).unwrap_err();
    error.to_string().replace(file.path().to_str().unwrap(), "F")
}

#[test]
fn mistakes_are_named_with_their_place() {
    for (text, expected) in [
        ("{", "`F` is not a scenario: EOF while parsing an object at line 1 column 1"),
        (
            "{\"steps\": [\n{\"txet\": \"x\"}]}",
            "`F` is not a scenario: unknown field `txet`, expected one of `text`, `calls`, `delay_ms`, `error`, \
             `tokens` at line 2 column 7",
        ),
        (
            r#"{"steps": [{"calls": [{"shell": "x"}]}]}"#,
            "`F` is not a scenario: unknown variant `shell`, expected one of `run`, `read`, `write`, `edit`, `tool` \
             at line 1 column 30",
        ),
        (
            r#"{"steps": [{"calls": [{"edit": {"path": "a", "old": "x"}}]}]}"#,
            "`F` is not a scenario: missing field `new` at line 1 column 56",
        ),
        ("{}", "the scenario has no steps"),
        (
            r#"{"steps": [{"text": "x"}, {"delay_ms": 1}]}"#,
            "step 2 says and does nothing: give it `text`, `calls` or `error`",
        ),
        (
            r#"{"conversations": [{"when": "w", "steps": [{"text": "x", "error": {"status": 500, "message": "m"}}]}]}"#,
            "step 1 of the conversation about `w` has an `error`, which stands alone: take `text` and `calls` away",
        ),
        (
            r#"{"steps": [{"error": {"status": 200, "message": "m"}}]}"#,
            "step 1 has the status 200; an error's is from 400 to 599",
        ),
        (
            r#"{"conversations": [{"when": "", "steps": []}]}"#,
            "a conversation's `when` is empty: give it words of its first message",
        ),
    ] {
        assert_eq!(told(text), expected);
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Scenario::read("/nowhere/at all.json".as_ref()).unwrap_err();
    assert!(matches!(error, ScenarioError::Read(_)));
    let cause = std::error::Error::source(&error).unwrap().to_string();
    insta::assert_snapshot!(redacted(&cause), @"failed to open file `/nowhere/at all.json`: No such file or directory (os error 2)");
}
