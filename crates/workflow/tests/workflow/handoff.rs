use proptest::prelude::*;
use serde_json::{Value, json};
use workflow::handoff::{
    CUT, ChangedFile, CommandOutcome, CommandRun, Document, Facts, Kind, Limits, Oversized, Report, check,
    find, truncate,
};
use workflow::tokens;

fn words(number: usize) -> String {
    vec!["word"; number].join(" ")
}

fn request() -> Value {
    json!({
        "task_id": "T002",
        "phase": "write",
        "mode": "code",
        "context": {
            "feature": "parser",
            "spec_path": "specs/parser.md",
            "relevant_files": ["src/parser.rs"],
            "constraints": ["no new dependency"],
            "previous_summary": "The grammar is settled.",
        },
        "instructions": "Write the parser.",
        "expected_output": "files_changed",
    })
}

fn response() -> Value {
    json!({
        "task_id": "T002",
        "phase": "write",
        "status": "complete",
        "decision": "PROCEED",
        "findings": {"files": ["src/parser.rs"]},
        "context_summary": "The parser is written and tested.",
        "tokens_used": 1200,
        "issues": ["one warning is left", {"severity": "low"}],
    })
}

fn with(mut document: Value, place: &str, value: Value) -> Value {
    let (parent, name) = place.rsplit_once('/').unwrap();
    document.pointer_mut(parent).unwrap().as_object_mut().unwrap().insert(name.to_owned(), value);
    document
}

fn without(mut document: Value, place: &str) -> Value {
    let (parent, name) = place.rsplit_once('/').unwrap();
    document.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(name);
    document
}

fn checked(document: Value) -> Report {
    check(document, None, &Limits::default(), Oversized::Warn)
}

/// The one problem of a document that has one.
fn problem(document: Value) -> (String, String) {
    let report = checked(document);
    assert_eq!(report.problems.len(), 1, "{report:#?}");
    assert!(!report.accepted && report.document.is_none());
    let problem = report.problems.into_iter().next().unwrap();
    (problem.field, problem.message)
}

fn written(report: &Report) -> Value {
    serde_json::to_value(report.document.as_ref().unwrap()).unwrap()
}

#[test]
fn documents_of_the_protocol_are_accepted_as_they_are() {
    let report = checked(request());
    assert_eq!((report.kind, report.accepted), (Kind::Request, true));
    assert_eq!(written(&report), request());
    let summary = report.summary.unwrap();
    assert_eq!((summary.tokens, summary.limit), (4, 500));
    let report = checked(response());
    assert_eq!((report.kind, report.accepted), (Kind::Response, true));
    assert_eq!(written(&report), response());
    assert!(report.warnings.is_empty());
}

#[test]
fn every_mode_is_taken_and_none_is_missing() {
    for mode in ["plan", "code", "ui", "docs", "eval", "reconcile", "research"] {
        assert!(checked(with(request(), "/mode", json!(mode))).accepted, "{mode}");
    }
    let (field, message) = problem(without(request(), "/mode"));
    assert_eq!(field, "mode");
    assert_eq!(
        message,
        "`mode` is missing: it is one of `plan`, `code`, `ui`, `docs`, `eval`, `reconcile`, `research`"
    );
    let (_, message) = problem(with(request(), "/mode", json!("cod")));
    assert!(message.starts_with("`mode` is `cod`: did you mean `code`?"), "{message}");
    let (_, message) = problem(with(request(), "/mode", json!(7)));
    assert!(message.starts_with("`mode` is a number: it must be one of"), "{message}");
}

/// P6: 500 tokens pass, 501 do not. A request is rejected.
#[test]
fn a_request_over_the_limit_is_rejected_with_the_count() {
    let place = "/context/previous_summary";
    assert!(checked(with(request(), place, json!(words(500)))).accepted);
    let (field, message) = problem(with(request(), place, json!(words(501))));
    assert_eq!(field, "context.previous_summary");
    assert_eq!(message, "Context summary exceeds 500 token limit (actual: 501 tokens)");
    // What becomes of a response that is too long does not matter to a request.
    let too_long = with(request(), place, json!(words(501)));
    assert!(!check(too_long, None, &Limits::default(), Oversized::Truncate).accepted);
}

/// P6: a response is warned about, cut or rejected, as the caller chooses.
#[test]
fn a_response_over_the_limit_is_warned_about_cut_or_rejected() {
    let too_long = with(response(), "/context_summary", json!(words(750)));
    let message = "Context summary exceeds 500 token limit (actual: 750 tokens)";
    let warned = checked(too_long.clone());
    assert!(warned.accepted);
    assert_eq!(warned.warnings[0].message, message);
    assert_eq!(written(&warned), too_long);

    let rejected = check(too_long.clone(), None, &Limits::default(), Oversized::Reject);
    assert!(!rejected.accepted && rejected.document.is_none());
    assert_eq!(rejected.problems[0].message, message);

    let cut =
        check(with(too_long, "/own", json!({"kept": true})), None, &Limits::default(), Oversized::Truncate);
    assert!(cut.accepted);
    assert_eq!(cut.summary.as_ref().unwrap().truncated_to, Some(500));
    let document = written(&cut);
    let summary = document["context_summary"].as_str().unwrap();
    assert_eq!((tokens::count(summary), summary.ends_with(CUT)), (500, true));
    assert_eq!(document["own"]["kept"], true);
}

/// P6: Japanese text is not one token.
#[test]
fn a_summary_without_spaces_is_warned_about_by_the_estimate() {
    let report = checked(with(response(), "/context_summary", json!("型を検査する".repeat(300))));
    assert!(report.accepted);
    let summary = report.summary.unwrap();
    assert_eq!(summary.tokens, 1);
    assert!(summary.estimate > 1000, "{}", summary.estimate);
    insta::assert_snapshot!(report.warnings[0].message, @"`context_summary` has 1 word, but a model would count about 1440 tokens: shorten it");
}

#[test]
fn the_old_name_of_the_summary_is_read_and_written_as_the_new_one() {
    let old = without(request(), "/context/previous_summary");
    let old = with(old, "/context/previous_findings", json!("The grammar is settled."));
    let report = checked(old.clone());
    assert!(report.accepted, "{report:#?}");
    assert_eq!(written(&report)["context"]["previous_summary"], "The grammar is settled.");
    assert_eq!(written(&report)["context"].get("previous_findings"), None);
    // The limit holds under either name.
    let (_, message) = problem(with(old, "/context/previous_findings", json!(words(501))));
    insta::assert_snapshot!(message, @"Context summary exceeds 500 token limit (actual: 501 tokens)");
    // Both with one text is one summary; with two texts nobody knows which one is meant.
    let both = with(request(), "/context/previous_findings", json!("The grammar is settled."));
    assert!(checked(both).accepted);
    let null = with(request(), "/context/previous_findings", Value::Null);
    assert!(checked(null).accepted);
    let (field, _) = problem(with(request(), "/context/previous_findings", json!("Another.")));
    assert_eq!(field, "context.previous_findings");
}

#[test]
fn fields_that_the_protocol_does_not_know_are_kept() {
    let more = with(request(), "/deadline", json!({"at": "noon"}));
    let more = with(more, "/context/budget", json!(12.5));
    let report = checked(more.clone());
    assert_eq!(written(&report), more);
    assert!(report.warnings.is_empty());
}

#[test]
fn a_slip_in_a_name_is_pointed_out() {
    let slipped = with(without(request(), "/context/spec_path"), "/context/spec_paht", json!("x.md"));
    let report = checked(slipped);
    assert!(report.accepted);
    assert_eq!(
        report.warnings[0].message,
        "`context.spec_paht` is not a field of the protocol: did you mean `spec_path`?"
    );
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let report = checked(json!({
        "task_id": " ", "phase": "writing", "mode": "codes", "expected_output": "files",
        "context": {"relevant_files": ["a", 2, null], "constraints": "one", "feature": 3},
    }));
    let fields: Vec<&str> = report.problems.iter().map(|problem| problem.field.as_str()).collect();
    assert_eq!(
        fields,
        [
            "task_id",
            "phase",
            "mode",
            "instructions",
            "expected_output",
            "context.feature",
            "context.relevant_files[1]",
            "context.relevant_files[2]",
            "context.constraints",
        ]
    );
}

#[test]
fn a_response_needs_its_summary_and_sound_fields() {
    assert_eq!(problem(without(response(), "/context_summary")).0, "context_summary");
    assert_eq!(problem(with(response(), "/context_summary", json!("  "))).0, "context_summary");
    assert_eq!(problem(with(response(), "/decision", json!("proceed"))).0, "decision");
    assert_eq!(problem(with(response(), "/tokens_used", json!(-1))).0, "tokens_used");
    assert_eq!(problem(with(response(), "/issues", json!("none"))).0, "issues");
    assert!(checked(without(without(response(), "/issues"), "/tokens_used")).accepted);
}

#[test]
fn what_is_no_object_is_no_hand_off() {
    for document in [json!([]), json!("x"), json!(1), Value::Null] {
        let report = checked(document);
        assert!(!report.accepted);
        assert_eq!(report.problems[0].field, "");
    }
}

/// Models put their JSON into a fence, or a sentence before it.
#[test]
fn the_document_is_found_in_a_fence_and_among_prose() {
    let (wanted, pretty) = (response(), serde_json::to_string_pretty(&response()).unwrap());
    let draft = with(response(), "/context_summary", json!("a draft"));
    let partial = without(response(), "/status");
    for text in [
        format!("```json\n{pretty}\n```"),
        format!("Here is the result {{as asked}}:\n\n```\n{pretty}\n```\nAnything else?"),
        format!("~~~~\n{wanted}\n~~~~"),
        format!("I set `{{}}` and {{\"task_id\": 1}} aside.\n{pretty}"),
        format!("{wanted}\n\nDone: the map is {{\"a\": {{\"b\": [1]}}}}."),
        format!("First {draft}, then\n{wanted}\n"),
        format!("{wanted}\nwhat it would be without a status: {partial}"),
        format!("\u{feff}```json\n{pretty}\n```"),
        format!("{{\"cut off\": [{{\n{wanted}"),
    ] {
        let found = find(text.as_bytes()).unwrap();
        assert_eq!((&found.document, found.surrounded), (&wanted, true), "{text}");
    }
    for alone in [wanted.to_string(), format!("\u{feff}\n{pretty}\n")] {
        let found = find(alone.as_bytes()).unwrap();
        assert_eq!((&found.document, found.surrounded), (&wanted, false), "{alone}");
    }
    for none in ["", "no json", "{", "a set {} of {\"other\": \"things\"}", "```json\n{\"task_id\": \n```"] {
        assert!(find(none.as_bytes()).is_err(), "{none}");
    }
    // What is wrong is said of the document, not of the prose before it.
    for (text, wrong) in [
        ("no json", "is not JSON: expected ident at line 1 column 2"),
        (
            "a {set} of\n```json\n{\n  \"task_id\": \"T1\",\n  // so\n}\n```",
            "contains no valid JSON: in the object that begins at line 3, key must be a string at line 5",
        ),
        ("{\"task_id\": \"T1\",}", "is not JSON: trailing comma at line 1 column 18"),
    ] {
        assert_eq!(find(text.as_bytes()).unwrap_err().to_string(), wrong);
    }
    // Half a character is no reason to lose the answer.
    let cut = find(br#"so: {"task_id": "T1", "context_summary": "cut \ud83c"}"#).unwrap();
    assert_eq!(cut.document["context_summary"], "cut \u{fffd}");
}

#[test]
fn the_kind_can_be_said_instead_of_guessed() {
    let report = check(response(), Some(Kind::Request), &Limits::default(), Oversized::Warn);
    assert_eq!((report.kind, report.accepted), (Kind::Request, false));
    assert!(report.problems.iter().any(|problem| problem.field == "mode"));
}

#[test]
fn facts_are_bounded_and_say_what_they_leave_out() {
    let facts = Facts {
        files_changed: (0..150)
            .map(|number| ChangedFile { path: number.to_string(), change: None })
            .collect(),
        commands: (0..50)
            .map(|number| CommandRun {
                command: format!("{number} {}", "x".repeat(400)),
                outcome: CommandOutcome::Ok,
                exit_code: Some(0),
            })
            .collect(),
        ..Facts::default()
    }
    .bounded();
    assert_eq!((facts.files_changed.len(), facts.files_left_out), (100, 50));
    assert_eq!((facts.commands.len(), facts.commands_left_out), (30, 20));
    assert!(facts.commands[29].command.starts_with("49 "), "the last ones are kept");
    assert_eq!(facts.commands[0].command.chars().count(), 300);
    let document = with(request(), "/checkstone", serde_json::to_value(&facts).unwrap());
    match checked(document).document.unwrap() {
        Document::Request(request) => assert_eq!(request.checkstone, Some(facts)),
        Document::Response(_) => panic!("a request is a request"),
    }
    assert_eq!(problem(with(request(), "/checkstone", json!({"verdict": "x"}))).0, "checkstone");
}

proptest! {
    /// A cut text is never longer than the limit, is what the text begins with, and is marked.
    #[test]
    fn cutting_keeps_the_limit_and_the_beginning(
        text in "([a-z日\\[…\\]]{0,4}[ \\n\\t\u{feff}\u{85}\u{3000}]{0,2}){0,60}",
        limit in 0_usize..70,
    ) {
        let cut = truncate(&text, limit);
        prop_assert!(tokens::count(&cut) <= limit);
        if tokens::count(&text) <= limit {
            prop_assert_eq!(&cut, &text);
        } else if limit > 0 {
            prop_assert_eq!(tokens::count(&cut), limit);
            let beginning = cut.strip_suffix(CUT).unwrap();
            let beginning = beginning.strip_suffix(' ').unwrap_or(beginning);
            prop_assert!(text.starts_with(beginning));
            prop_assert_eq!(truncate(&cut, limit), cut.clone(), "cutting again changes nothing");
        }
    }

    /// Accepted or not depends on the count alone, and the count is told exactly.
    #[test]
    fn the_count_decides(number in 0_usize..1200, limit in 1_usize..1000) {
        let limits = Limits { summary: limit, ..Limits::default() };
        let report = check(
            with(request(), "/context/previous_summary", json!(words(number))), None, &limits, Oversized::Warn,
        );
        prop_assert_eq!(report.accepted, number <= limit);
        prop_assert_eq!(report.summary.unwrap().tokens, number);
    }

    /// Whatever is put where a field should be, the check answers, and what it accepts is read again as the same.
    #[test]
    fn no_document_breaks_the_check(place in 0_usize..10, value in any_json()) {
        let places = ["/task_id", "/phase", "/mode", "/context", "/context/feature", "/context/relevant_files",
            "/context/previous_summary", "/instructions", "/expected_output", "/checkstone"];
        let report = checked(with(request(), places[place], value));
        prop_assert_eq!(report.accepted, report.problems.is_empty());
        prop_assert_eq!(report.accepted, report.document.is_some());
        if report.accepted {
            let again = checked(written(&report));
            prop_assert_eq!(again.document, report.document);
        }
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(|number| json!(number)),
        "[a-z ]{0,12}".prop_map(Value::String),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec(("[a-z_]{1,8}", inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}
