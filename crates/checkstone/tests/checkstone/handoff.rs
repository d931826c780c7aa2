use sandbox::{Answer, RunToEnd as _, redacted};
use serde_json::{Value, json};

use crate::workplace::{SESSION, Workplace, valid};

const RUST: &str = "presets = [\"rust\"]\n";
const REQUEST: &str = "handoff-request.schema.json";
const RESPONSE: &str = "handoff-response.schema.json";
const CHECK: &str = "handoff-check.schema.json";

fn with_input(workplace: &Workplace, arguments: &[&str], input: &str) -> Answer {
    workplace.checkstone(arguments).answer_to(input)
}

fn words(number: usize) -> String {
    vec!["word"; number].join(" ")
}

fn response(summary: &str) -> String {
    json!({
        "task_id": "T7", "phase": "validate", "status": "complete", "decision": "PROCEED", "findings": {},
        "context_summary": summary, "issues": [], "own": {"kept": [1, 2]},
    })
    .to_string()
}

/// The facts are those of the turn: what changed, what was run and how it ended, what is open, and the commit.
#[test]
fn a_request_carries_what_was_recorded() {
    let workplace = Workplace::new(Some(RUST));
    workplace.held_turn(&[("cargo fmt", true), ("cargo test", false)]);
    let arguments = [
        "handoff",
        "new",
        "--mode",
        "eval",
        "--task-id",
        "T7",
        "--instructions",
        "Make the tests pass",
        "--file",
        "docs/parser.md",
        "--constraint",
        "no new dependency",
        "--summary",
        "The parser is written.",
        "--json",
    ];
    let value = workplace.json(&arguments, REQUEST);
    assert_eq!((&value["mode"], &value["phase"]), (&json!("eval"), &json!("validate")));
    assert_eq!(value["expected_output"], "validation_result");
    assert_eq!(value["context"]["relevant_files"], json!(["docs/parser.md", "src/lib.rs"]));
    assert_eq!(value["context"]["previous_summary"], "The parser is written.");
    let facts = &value["checkstone"];
    assert_eq!((&facts["decision"], &facts["session"]), (&json!("hold"), &json!(SESSION)));
    assert_eq!(facts["files_changed"], json!([{"path": "src/lib.rs", "change": "modified"}]));
    let commands = facts["commands"].as_array().unwrap();
    let run =
        |command: &str| commands.iter().find(|run| run["command"] == command).unwrap()["outcome"].clone();
    assert_eq!((run("cargo fmt"), run("cargo test")), (json!("ok"), json!("error")));
    assert_eq!(facts["open_errors"].as_array().unwrap().len(), 1, "{facts:#}");
    assert!(!facts["open_actions"].as_array().unwrap().is_empty(), "{facts:#}");
    assert_eq!((facts["head"].as_str().unwrap().len(), &facts["head_moved"]), (40, &json!(false)));
    workplace.git(&["commit", "--quiet", "--all", "--message=second"]);
    assert_eq!(workplace.json(&arguments, REQUEST)["checkstone"]["head_moved"], true);
    // What is built is what the check accepts.
    let built = workplace.run(&arguments).stdout;
    let checked = with_input(&workplace, &["handoff", "check", "-", "--json"], &built);
    assert_eq!(valid(&checked.stdout, CHECK)["accepted"], true);
}

/// S1: a hand-off may be kept or sent on.
#[test]
fn no_secret_of_a_command_is_handed_over() {
    let workplace = Workplace::new(Some(RUST));
    workplace.held_turn(&[("DB_PASSWORD=swordfish cargo test", false), ("cargo fmt", true)]);
    let facts = &workplace
        .json(&["handoff", "new", "--mode", "code", "--instructions", "x", "--json"], REQUEST)["checkstone"];
    let commands: Vec<&str> =
        facts["commands"].as_array().unwrap().iter().map(|run| run["command"].as_str().unwrap()).collect();
    assert_eq!(commands, ["DB_PASSWORD=(withheld)", "cargo fmt", "./generate"]);
}

/// An agent hands over its own work, not that of another session in the same repository.
#[test]
fn the_session_that_calls_is_asked_first() {
    let workplace = Workplace::new(Some(RUST));
    workplace.held_turn(&[]);
    let mut other =
        workplace.checkstone(&["handoff", "new", "--mode", "code", "--instructions", "x", "--json"]);
    let output = other.env("CLAUDE_CODE_SESSION_ID", SESSION).answer();
    assert_eq!(valid(&output.stdout, REQUEST)["checkstone"]["verdict"], 1);
    let named = ["handoff", "new", "--mode", "code", "--instructions", "x", "--verdict", "77"];
    insta::assert_snapshot!("unknown_verdict", workplace.shown(&named));
}

#[test]
fn without_a_record_there_are_only_the_words() {
    let workplace = Workplace::new(None);
    let output = workplace.run(&["handoff", "new", "--mode", "plan", "--instructions", "Think", "--json"]);
    let value = valid(&output.stdout, REQUEST);
    assert_eq!(value.get("checkstone"), None);
    assert!(value["task_id"].as_str().unwrap().starts_with("plan-20"));
    insta::assert_snapshot!(redacted(&output.stderr), @"
    warning: nothing is recorded here: the hand-off has only your words
    hint: hooks record facts; pass `--no-facts` to leave them out on purpose
    ");
    assert!(!workplace.path("state").exists(), "looking creates nothing");
    // On purpose it is no warning.
    workplace.json(
        &["handoff", "new", "--mode", "plan", "--instructions", "Think", "--no-facts", "--json"],
        REQUEST,
    );
}

#[test]
fn a_response_is_built_with_findings_as_json_or_text() {
    let workplace = Workplace::new(None);
    let given = [
        "handoff",
        "new",
        "--response",
        "--no-facts",
        "--task-id",
        "T7",
        "--phase",
        "validate",
        "--status",
        "partial",
        "--decision",
        "CLARIFY",
        "--summary",
        "-",
        "--issue",
        "one test is slow",
        "--tokens-used",
        "900",
        "--json",
        "--findings",
    ];
    let built = |findings: &str| {
        let output = with_input(&workplace, &[&given[..], &[findings]].concat(), "Half of it is done.\n");
        valid(&output.stdout, RESPONSE)
    };
    let value = built(r#"{"failed": ["slow"]}"#);
    assert_eq!(value["findings"], json!({"failed": ["slow"]}));
    assert_eq!(value["context_summary"], "Half of it is done.");
    assert_eq!((&value["issues"], &value["tokens_used"]), (&json!(["one test is slow"]), &json!(900)));
    assert_eq!(built("just words")["findings"], "just words");
}

/// P6: nothing over the limit is created.
#[test]
fn a_summary_over_the_limit_is_not_created() {
    let workplace = Workplace::new(None);
    let new = |summary: &str| {
        let arguments =
            ["handoff", "new", "--mode", "code", "--no-facts", "--instructions", "x", "--summary", summary];
        workplace.shown(&arguments)
    };
    assert!(new(&words(500)).starts_with("exit code: 0"));
    insta::assert_snapshot!("new_too_long", new(&words(501)));
}

#[test]
fn what_is_missing_is_said_in_one_sentence() {
    let workplace = Workplace::new(None);
    for (name, arguments) in [
        ("no_mode", &["handoff", "new", "--instructions", "x"][..]),
        ("unknown_mode", &["handoff", "new", "--mode", "cod", "--instructions", "x"]),
        ("no_instructions", &["handoff", "new", "--mode", "code"]),
        ("bare_response", &["handoff", "new", "--response", "--task-id", "T7"]),
        ("two_inputs", &["handoff", "new", "--mode", "code", "--instructions", "-", "--summary", "-"]),
    ] {
        insta::assert_snapshot!(name, workplace.shown(arguments));
    }
}

/// P6: a request is rejected, a response warned about, cut or rejected, each with the exact count.
#[test]
fn the_check_tells_the_exact_count() {
    let workplace = Workplace::new(None);
    let request = json!({
        "task_id": "T7", "phase": "write", "mode": "cod", "context": {"previous_findings": words(501)},
        "instructions": "x", "expected_output": "files_changed",
    });
    workplace.write("request.json", &request.to_string());
    insta::assert_snapshot!("check_request", workplace.shown(&["handoff", "check", "request.json"]));
    workplace.write("response.json", &response(&words(750)));
    insta::assert_snapshot!("check_response", workplace.shown(&["handoff", "check", "response.json"]));
    let rejected = workplace.run(&["handoff", "check", "response.json", "--oversized", "reject", "--json"]);
    assert_eq!(rejected.code, Some(1));
    let value = valid(&rejected.stdout, CHECK);
    assert_eq!(
        value["problems"][0]["message"],
        "Context summary exceeds 500 token limit (actual: 750 tokens)"
    );
    let more = workplace.json(&["handoff", "check", "response.json", "--max-tokens", "750", "--json"], CHECK);
    assert_eq!((&more["accepted"], &more["warnings"]), (&json!(true), &json!([])));
}

#[test]
fn a_response_that_is_cut_is_printed_with_all_its_fields() {
    let workplace = Workplace::new(None);
    let cut =
        with_input(&workplace, &["handoff", "check", "-", "--oversized", "truncate"], &response(&words(750)));
    assert_eq!(cut.code, Some(0));
    insta::assert_snapshot!(redacted(&cut.stderr), @"warning: Context summary exceeds 500 token limit (actual: 750 tokens); it was cut");
    let value = valid(&cut.stdout, RESPONSE);
    assert_eq!(value["own"], json!({"kept": [1, 2]}));
    let summary = value["context_summary"].as_str().unwrap();
    assert_eq!((summary.split_whitespace().count(), summary.ends_with(" […]")), (500, true));
    let again = with_input(&workplace, &["handoff", "check", "-", "--oversized", "reject"], &cut.stdout);
    assert_eq!(again.code, Some(0), "{again}");
}

/// What a model wrote around its JSON is reported, and left out of what is handed over.
#[test]
fn a_document_in_a_fence_is_found() {
    let workplace = Workplace::new(None);
    let fenced = format!("Done, see below.\n\n```json\n{}\n```\n", response("Ended."));
    let told = with_input(&workplace, &["handoff", "check", "-"], &fenced);
    insta::assert_snapshot!(told.to_string(), @"
    exit code: 0
    --- stdout
    ✓ response T7 is accepted
      warning  there is other text around the JSON: only the JSON counts
      `context_summary` has 1 of 500 tokens, about 2 for a model
    --- stderr
    ");
    let json = with_input(&workplace, &["handoff", "check", "-", "--json"], &fenced);
    let report = valid(&json.stdout, CHECK);
    assert_eq!(report["document"], serde_json::from_str::<Value>(&response("Ended.")).unwrap());
    let passed = with_input(&workplace, &["handoff", "check", "-", "--oversized", "truncate"], &fenced);
    assert_eq!(valid(&passed.stdout, RESPONSE), report["document"]);
    assert_eq!(passed.stderr, "warning: there is other text around the JSON: only the JSON counts\n");
}

#[test]
fn what_is_no_document_is_said_in_one_sentence() {
    let workplace = Workplace::new(None);
    let check = |arguments: &[&str]| workplace.shown(&[&["handoff", "check"], arguments].concat());
    insta::assert_snapshot!("missing_file", check(&["none.json"]));
    insta::assert_snapshot!("a_folder", check(&["src"]));
    workplace.write("binary", "\u{0}\u{1}no json");
    insta::assert_snapshot!("no_json", check(&["binary"]));
    workplace.write("deep.json", &"[".repeat(100_000));
    assert!(check(&["deep.json"]).starts_with("exit code: 2"));
    workplace.write("large.json", &format!("\"{}\"", "x".repeat(1_100_000)));
    insta::assert_snapshot!("too_large", check(&["large.json"]));
    workplace.write("list.json", "[]");
    insta::assert_snapshot!("a_list", check(&["list.json"]));
    // A terminal is not moved by what a document says.
    workplace.write("evil.json", &json!({"task_id": "\u{1b}[2J", "mode": "\u{1b}]0;x\u{7}"}).to_string());
    insta::assert_snapshot!(redacted(check(&["evil.json"])), @"
    exit code: 1
    --- stdout
    ✗ request ␛[2J is rejected
      problem  `phase` is missing: it is one of `research`, `write`, `validate`, `parallel`
      problem  `mode` is `␛]0;x␇`: it must be one of `plan`, `code`, `ui`, `docs`, `eval`,
               `reconcile`, `research`
      problem  `instructions` is missing: say it in a few words
      problem  `expected_output` is missing: it is one of `structured_findings`,
               `files_changed`, `validation_result`, `aggregated_results`
      problem  `context` is missing: an object with what the sub-agent must know
    --- stderr
    ");
}

/// An empty field is a mistake in the arguments, and no summary that is too long.
#[test]
fn a_field_without_content_is_named() {
    let workplace = Workplace::new(None);
    let arguments =
        ["handoff", "new", "--mode", "code", "--instructions", "Write it", "--task-id", "", "--no-facts"];
    insta::assert_snapshot!(workplace.shown(&arguments), @"
    exit code: 2
    --- stdout
    --- stderr
    error: `task_id` is empty: say it in a few words
    hint: `checkstone handoff new --help` explains what each field takes
    ");
}
