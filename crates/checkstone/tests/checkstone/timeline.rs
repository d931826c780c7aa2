use std::process::Stdio;

use sandbox::RunToEnd as _;
use serde_json::{Value, json};

use crate::program::{checkstone, run, samples};
use crate::workplace::Workplace;

#[test]
fn a_table_for_people() {
    insta::assert_snapshot!(
        "table_claude",
        run(&["timeline", "--transcript", "claude/2.1.325-at-stop-slowhook.jsonl"]).to_string()
    );
    insta::assert_snapshot!(
        "table_gemini",
        run(&["timeline", "--transcript", "gemini/0.61.0-at-stop.jsonl"]).to_string()
    );
    insta::assert_snapshot!(
        "table_codex",
        run(&["timeline", "--transcript", "codex/0.166.0-code-mode.jsonl"]).to_string()
    );
}

#[test]
fn the_table_fits_the_terminal() {
    let path = "claude/2.1.325-subagents/e491e1c7-0c0a-4224-a245-b8ea395a0ba8.jsonl";
    for columns in ["40", "60", "100"] {
        let output = checkstone(&["timeline", "--transcript", path]).env("COLUMNS", columns).answer();
        let text = output.stdout;
        // The heading and the last line are sentences, which the terminal may wrap.
        for line in text.lines().filter(|line| line.starts_with("  ")) {
            assert!(line.chars().count() <= columns.parse().unwrap(), "{line}");
        }
    }
}

#[test]
fn colour_only_where_it_is_wanted() {
    let path = "claude/2.1.325-main.jsonl";
    let coloured = checkstone(&["timeline", "--transcript", path]).env("CLICOLOR_FORCE", "1").answer();
    let refused = checkstone(&["timeline", "--transcript", path]).env("NO_COLOR", "1").answer();
    assert_ne!(coloured.stdout, refused.stdout);
    assert_eq!(refused.stdout, run(&["timeline", "--transcript", path]).stdout);
}

#[test]
fn a_plain_rendering() {
    insta::assert_snapshot!(
        run(&["timeline", "--plain", "--transcript", "claude/2.1.325-at-stop-slowhook.jsonl"]).to_string()
    );
}

#[test]
fn what_cannot_be_read_is_said_in_one_sentence() {
    insta::assert_snapshot!("missing", run(&["timeline", "--transcript", "nowhere.jsonl"]).to_string());
    insta::assert_snapshot!("folder", run(&["timeline", "--transcript", "claude"]).to_string());
    insta::assert_snapshot!(
        "wrong_agent",
        run(&["timeline", "--agent", "codex", "--transcript", "claude/2.1.325-main.jsonl"]).to_string()
    );
    let notes = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(notes.path(), "just notes\n").unwrap();
    let output = run(&["timeline", "--transcript", notes.path().to_str().unwrap()]);
    let told = output.to_string().replace(notes.path().to_str().unwrap(), "NOTES");
    insta::assert_snapshot!("foreign", told);
}

fn schema() -> jsonschema::Validator {
    let text = include_str!("../../../../schemas/timeline.schema.json");
    jsonschema::validator_for(&serde_json::from_str(text).unwrap()).unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let output = run(arguments);
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    assert!(output.stdout.ends_with('\n'));
    serde_json::from_str(&output.stdout).unwrap()
}

/// Every sample, and what cannot be read, prints JSON that fits the published schema.
#[test]
fn the_json_fits_its_schema() {
    let schema = schema();
    let mut paths = vec!["nowhere.jsonl".to_owned(), "claude".to_owned()];
    let read = transcript::Agent::ALL.into_iter().filter(|agent| transcript::is_read(*agent));
    for client in read.map(transcript::Agent::name) {
        for entry in std::fs::read_dir(samples().join(client)).unwrap() {
            paths.push(format!("{client}/{}", entry.unwrap().file_name().to_str().unwrap()));
        }
    }
    for path in paths {
        let value = json(&["timeline", "--json", "--transcript", &path]);
        let errors: Vec<String> = schema.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{path}: {errors:?}");
    }
}

/// The keys that other tools rely on, word for word.
#[test]
fn the_json_has_the_documented_keys() {
    let value = json(&["timeline", "--json", "--transcript", "claude/2.1.325-at-stop-slowhook.jsonl"]);
    assert_eq!(value["agent"], "claude");
    assert_eq!(value["turn"]["prompt"], "Fix the bug in calc.py");
    assert_eq!(value["turn"]["started_at"], "2026-11-15T00:54:54.624Z");
    assert_eq!(
        value["transcript"],
        serde_json::json!({ "coverage": "complete", "records": 56, "understood": 56 })
    );
    assert_eq!((&value["usage"]["tokens"], &value["usage"]["percent"]), (&3892.into(), &0.into()));
    let call = &value["calls"][0];
    for (key, expected) in [
        ("tool", Value::from("Bash")),
        ("kind", "shell".into()),
        ("command", "ls -la".into()),
        ("path", Value::Null),
        ("outcome", "ok".into()),
        ("exit_code", 0.into()),
        ("at", "2026-11-15T00:54:54.982Z".into()),
        ("ended_at", "2026-11-15T00:54:55.354Z".into()),
        ("subagent", Value::Null),
        ("line", 24.into()),
    ] {
        assert_eq!(call[key], expected, "{key}");
    }
    let missing = json(&["timeline", "--json", "--transcript", "nowhere.jsonl"]);
    assert_eq!(
        (&missing["transcript"]["coverage"], &missing["turn"], &missing["usage"]),
        (&"unavailable".into(), &Value::Null, &Value::Null)
    );
}

/// A reader that goes away is no error.
#[test]
fn a_closed_stdout_is_no_error() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = checkstone(&["timeline", "--json", "--transcript", "claude/2.1.325-main.jsonl"])
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(Stdio::piped())
        .answer();
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
}

#[test]
fn without_a_transcript_it_is_that_of_the_last_session() {
    let workplace = Workplace::new(None);
    let answer = workplace.run(&["timeline"]);
    let expected = format!(
        "error: no session with a transcript was seen in `{}`\nhint: name a transcript with `--transcript FILE`\n",
        workplace.repo().display()
    );
    assert_eq!((answer.code, answer.stdout, answer.stderr), (Some(3), String::new(), expected));
    workplace.turn(&[("cargo test", true)]);
    workplace.hook("UserPromptSubmit", json!({"prompt": "Fix it"}));
    let transcript = workplace.transcript();
    let named = workplace.run(&["timeline", "--transcript", transcript.to_str().unwrap()]);
    assert_eq!(workplace.run(&["timeline"]), named);
    assert_eq!(named.code, Some(0));
}
